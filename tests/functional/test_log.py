"""Standard error is a pipe that nobody reads: everything goes on, and what could not be said is counted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from typing import Any

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import NAMESPACE, Rig, program

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/haproxy-k8s-sync"


class PipedDaemon(Daemon):
    """Its log is a pipe, whose other end is ours: nobody reads but drain()."""

    def __init__(self, rig: Rig, **settings: str):
        super().__init__(rig.home / "daemon", rig.settings(**settings), program())
        file = self.log_path
        self.log_path = file.with_name("pipe")
        os.mkfifo(self.log_path)
        self.reader = os.open(self.log_path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, 4096)
        self.start()
        self.log_path = file  # what a test reads of it to explain a failure: what was drained

    def drain(self) -> str:
        with contextlib.suppress(BlockingIOError):
            while got := os.read(self.reader, 65536):
                with open(self.log_path, "ab") as file:
                    file.write(got)
        return self.log()

    def dropped(self) -> float:
        return self.metrics().sum("log_lines_dropped_total")


@contextlib.contextmanager
def piped(rig: Rig, **settings: str) -> Iterator[PipedDaemon]:
    daemon = PipedDaemon(rig, **settings)
    rig.daemon = daemon  # ended with the rig
    try:
        yield daemon
    finally:
        os.close(daemon.reader)


def test_a_pipe_that_nobody_reads_holds_nothing_up(rig: Rig) -> None:
    def lease() -> dict[str, Any]:
        return dict(rig.kube.control("GET", LEASE)["spec"])

    with piped(rig, LEADER_ELECT="true", RESYNC_PERIOD="1s") as daemon:
        rig.wait_in_sync()
        for i in (2, 3, 4):
            rig.pods(1, i)
            rig.wait_servers(1, i)
        daemon.wait_metric("log_lines_dropped_total", 1)
        holder = lease()["holderIdentity"]
        for _ in range(3):
            renewed = lease()["renewTime"]
            wait_until(lambda: lease()["renewTime"] != renewed, 20, "a Lease that is renewed")  # noqa: B023
        assert lease()["leaseTransitions"] in (0, 1) and lease()["holderIdentity"] == holder
        assert daemon.get("/healthz")[0] == 200
        rig.pods(1, 5)
        rig.wait_servers(1, 5)

        dropped = daemon.dropped()
        wait_until(lambda: re.search(r"log lines dropped.* dropped=(\d+)", daemon.drain()), 20, "the count")
        told = [int(n) for n in re.findall(r" dropped=(\d+)", daemon.drain())]
        assert sum(told) >= dropped
        lines = daemon.drain().split("\n")
        assert lines.pop() == "" and all(re.match(r"time=\S+ level=\w+ msg=", line) for line in lines), lines


def test_a_pipe_that_nobody_reads_does_not_keep_it_from_ending(rig: Rig) -> None:
    with piped(rig, RESYNC_PERIOD="1s") as daemon:
        rig.wait_in_sync()
        for i in (2, 3, 4):
            rig.pods(1, i)
            rig.wait_servers(1, i)
        daemon.wait_metric("log_lines_dropped_total", 1)
        daemon.stop()

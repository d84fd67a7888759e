"""Out of file descriptors: no spinning, what is open goes on, and all comes back by itself."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import socket
import time
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import Rig

# Of one processor. Spinning takes all that the machine gives.
BUSY = 0.25


@contextlib.contextmanager
def limited(daemon: Daemon, limit: int) -> Iterator[None]:
    """It gets no descriptor from this one up; what is open stays."""
    before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def flood(daemon: Daemon, count: int = 80) -> Iterator[None]:
    """Connections to its pages that say nothing and stay, and new ones for those that it ends."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            s = stack.enter_context(socket.socket())
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", daemon.port))
        yield


def busy(daemon: Daemon, seconds: float = 2.0) -> float:
    """The share of a processor that it took over some time."""
    started, cpu = time.monotonic(), daemon.cpu_seconds()
    time.sleep(seconds)  # what is measured is what happens while nothing is awaited
    return (daemon.cpu_seconds() - cpu) / (time.monotonic() - started)


def test_flood_of_connections_that_takes_all_descriptors(rig: Rig) -> None:
    daemon = rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    watches = len(rig.kube.requests(verb="watch"))
    with limited(daemon, max(map(int, os.listdir(f"/proc/{daemon.pid}/fd"))) + 3), flood(daemon):
        daemon.wait_log("cannot accept HTTP connections.*Too many open files")
        assert busy(daemon) < BUSY
        rig.pods(1)  # by connections that are there already
        rig.wait_parked(2)
        assert len(rig.kube.requests(verb="watch")) == watches, "watches were dropped"
    wait_until(lambda: daemon.get("/livez")[0] == 200, 20, "an answer again")
    rig.wait_in_sync()
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    assert len(re.findall("cannot accept HTTP connections", daemon.log())) == 1


@pytest.mark.parametrize("first", ["kubernetes", "dataplane"])
def test_nothing_can_be_connected_for_a_while(rig: Rig, first: str) -> None:
    """Every connection goes while none can be made. It says why, does not spin, and comes back."""
    daemon = rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    since = len(daemon.log())
    with limited(daemon, 3), flood(daemon, 20):
        if first == "kubernetes":
            rig.kube.disconnect(how="reset")
        else:
            rig.dataplane.restart()
        daemon.wait_log("level=(warn|debug) .*(GET|POST|PUT).*no socket for a connection: Too many open files", since=since)
        assert busy(daemon) < BUSY
    rig.pods(1, 2)
    rig.wait_servers(1, 2, timeout=60)
    rig.wait_in_sync(timeout=60)
    daemon.wait_ready(60)

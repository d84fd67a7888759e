"""A whole configuration on two targets: from the change of the file until both run it, verified, beside the floor, which are the same
requests by themselves; and what a file of a megabyte costs the daemon."""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

from tests.harness import realparts
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane
from tests.harness.process import wait_until

from . import report
from .setup import cpu_seconds, haproxy as haproxy_program

TARGETS = 2
TURNS = 4
# The API gathers reloads for so long; it is part of both figures, and its chance is kept small.
RELOAD_DELAY = 0.02
BIG_SERVERS, BIG_BACKENDS = 5_000, 100

TEXT = """\
global
  stats socket {site}/haproxy.sock mode 600 level admin expose-fd listeners

defaults
  mode tcp
  timeout connect 2s
  timeout client 30s
  timeout server 30s

userlist dataplaneapi
  user admin insecure-password adminpwd

frontend fe
  bind unix@{site}/fe.sock
  default_backend be

backend be
  timeout server {n}s
  server a 127.0.0.1:9
"""


class Pair:
    """HAProxies of one file: each sees a folder of its own at the path that the file names."""

    def __init__(self, home: pathlib.Path):
        self.home, self.site = home, home / "site"
        self.site.mkdir(parents=True)
        self.ends = contextlib.ExitStack()
        self.dataplanes: list[DataPlane] = []

    def __enter__(self) -> "Pair":
        try:
            for i in range(TARGETS):
                self._add(self.home / f"target-{i}")
        except BaseException:
            self.ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.ends.close()

    def _wrapped(self, home: pathlib.Path, program: pathlib.Path) -> str:
        """The program, in a mount namespace of its own."""
        script = home / program.name
        inner = f"mount --bind {shlex.quote(str(home))} {shlex.quote(str(self.site))} && exec {shlex.quote(str(program))} \"$@\""
        script.write_text(f"#!/bin/sh\nexec unshare --mount --propagation private sh -c {shlex.quote(inner)} -- \"$@\"\n")
        script.chmod(0o755)
        return str(script)

    def _add(self, home: pathlib.Path) -> None:
        home.mkdir()
        haproxy = HAProxy(home, self.text(1), self._wrapped(home, haproxy_program()))
        dataplane: DataPlane
        try:
            dataplane = RealDataPlane(haproxy, home / "dataplane", self._wrapped(home, realparts.dataplaneapi()), RELOAD_DELAY)
        except realparts.Missing:
            dataplane = DoubleDataPlane(haproxy, haproxy.config, home / "dataplane", reload_delay=RELOAD_DELAY)
        self.ends.callback(haproxy.stop)
        haproxy.start()
        self.ends.callback(dataplane.stop)
        dataplane.start()
        self.dataplanes.append(dataplane)

    def text(self, n: int, more: str = "") -> str:
        return TEXT.replace("{site}", str(self.site)).replace("{n}", str(n)) + more

    @contextlib.contextmanager
    def daemon(self, source: pathlib.Path, name: str) -> Iterator[Daemon]:
        user, password = AUTH.split(":")
        made = Daemon(self.home / name, {
            "CONFIG_SOURCE": "file", "CONFIG_FILE": str(source), "CONFIG_MIN_INTERVAL": "0", "RESYNC_PERIOD": "1h",
            "HAPROXY_DATAPLANE_URL": ",".join(d.url for d in self.dataplanes),
            "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password})
        with made:
            yield made


def _replace(source: pathlib.Path, text: str) -> None:
    source.with_name("next").write_text(text)
    os.replace(source.with_name("next"), source)


def _verified(daemon: Daemon, seen: int) -> list[float]:
    """Milliseconds, of each target."""
    return [float(ms) for ms in re.findall(r'"configuration applied".*? change_to_verified_ms=([\d.]+)', daemon.log()[seen:])]


def _change(daemon: Daemon, source: pathlib.Path, text: str, timeout: float = 60) -> tuple[float, float]:
    """Milliseconds: as the daemon counts them for the later target, and from the file's change as seen from here."""
    seen, began = len(daemon.log()), time.monotonic()
    _replace(source, text)
    wait_until(lambda: len(_verified(daemon, seen)) == TARGETS, timeout, "both targets to run it", 0.002)
    return max(_verified(daemon, seen)), (time.monotonic() - began) * 1000


def _all(pair: Pair, what: Callable[[DataPlane], object], pool: concurrent.futures.Executor) -> None:
    for answer in [pool.submit(what, dataplane) for dataplane in pair.dataplanes]:
        answer.result()


def _floor(pair: Pair, text: str, pool: concurrent.futures.Executor) -> float:
    """Validation by both, then on each the write, an empty commit and the reload until it is over; milliseconds."""
    plain = {"Content-Type": "text/plain"}

    def validate(dataplane: DataPlane) -> None:
        answer = dataplane.post("/configuration/raw?only_validate=true", text.encode(), headers=plain)
        assert answer.status in (200, 202), answer.text

    def write(dataplane: DataPlane) -> None:
        version = dataplane.version()
        answer = dataplane.post(f"/configuration/raw?version={version}&skip_reload=true", text.encode(), headers=plain)
        assert answer.status in (200, 201, 202), answer.text
        reload_id = dataplane.commit(dataplane.begin()).headers["Reload-ID"]
        wait_until(lambda: dataplane.reload_status(reload_id) == "succeeded", 20, "the reload", 0.005)

    began = time.monotonic()
    _all(pair, validate, pool)
    _all(pair, write, pool)
    return (time.monotonic() - began) * 1000


def _big(pair: Pair, n: int) -> str:
    each = BIG_SERVERS // BIG_BACKENDS
    lines = []
    for b in range(BIG_BACKENDS):
        lines.append(f"\nbackend big-{b}\n  balance roundrobin\n  default-server inter 60s\n")
        lines += [f"  server server-{b}-{i} 127.{1 + b}.{i // 250}.{i % 250 + 1}:8000 weight 100 maxconn 1000 check fall 3 rise 2"
                  f"  # rack {i % 7}, owned by team number {b}, added by its pipeline, which comments on each line what it is for, at length\n"
                  for i in range(each)]
    return pair.text(n, "".join(lines))


def _peak_kib(pid: int) -> int:
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])  # type: ignore[index]


def _small(pair: Pair, source: pathlib.Path, runs: int, pool: concurrent.futures.Executor) -> None:
    """They take turns, so that both have the same machine; a daemon would take the floor's writes for another writer's."""
    ours: list[float] = []
    outside: list[float] = []
    floor: list[float] = []
    numbers = itertools.count(2)
    for turn in range(TURNS):
        floor += [_floor(pair, pair.text(next(numbers)), pool) for _ in range(runs // TURNS)]
        source.write_text(pair.text(next(numbers)))
        with pair.daemon(source, f"daemon-{turn}") as daemon:
            wait_until(lambda: len(_verified(daemon, 0)) == TARGETS, 30, "the first configuration")
            for _ in range(runs // TURNS):
                counted, seen = _change(daemon, source, pair.text(next(numbers)))
                ours.append(counted)
                outside.append(seen)
    report.figure("change seen -> verified, by the daemon", report.spread(ours, "ms", 0))
    report.figure("file changed -> verified, from outside", report.spread(outside, "ms", 0))
    report.figure("floor: the same requests by themselves", report.spread(floor, "ms", 0))
    report.figure("above the floor, by the medians", f"{statistics.median(ours) - statistics.median(floor):.0f} ms", "<= 20 ms")


def _megabyte(pair: Pair, source: pathlib.Path, runs: int) -> None:
    """One line of it changes. Validation by a target takes longer than all that is ours, so it is CPU that is counted."""
    source.write_text(_big(pair, 1))
    size = source.stat().st_size
    report.heading(f"a file of {size / 1e6:.2f} MB with {BIG_SERVERS:,} servers in {BIG_BACKENDS} backends")
    with pair.daemon(source, "big") as daemon:
        wait_until(lambda: len(_verified(daemon, 0)) == TARGETS, 120, "the first configuration")
        empty = pathlib.Path(f"/proc/{daemon.pid}/clear_refs")
        cpu, took, peaks = [], [], []
        for i in range(runs):
            resting = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{daemon.pid}/status").read_text())[1])  # type: ignore[index]
            empty.write_text("5")  # the peak begins anew
            before = cpu_seconds(daemon.pid)
            took.append(_change(daemon, source, _big(pair, 2 + i), 120)[0])
            cpu.append((cpu_seconds(daemon.pid) - before) * 1000)
            peaks.append((_peak_kib(daemon.pid) - resting) * 1024 / size)
        first = _peak_kib(daemon.pid) * 1024 / size
    report.figure("change seen -> verified, by the daemon", report.spread(took, "ms", 0))
    report.figure("CPU of the daemon for one change", report.spread(cpu, "ms", 1), "<= 15 ms")
    report.figure("memory above rest, in files", report.spread(peaks, "x", 2), "<= 3x")
    report.figure("all of its memory, in files", f"{first:.1f}x")


def measure(home: pathlib.Path, runs: int) -> None:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        report.heading("skipped: whole configurations need mount namespaces")
        return
    source = home / "source" / "haproxy.cfg"
    source.parent.mkdir(parents=True)
    with Pair(home / "pair") as pair, concurrent.futures.ThreadPoolExecutor(TARGETS) as pool:
        haproxy = realparts.version_of(pathlib.Path(pair.dataplanes[0].haproxy.binary)).split(" - ")[0]  # type: ignore[union-attr]
        report.heading(f"a whole configuration on {TARGETS} targets; {haproxy}; Data Plane API: {pair.dataplanes[0].kind} "
                       f"{pair.dataplanes[0].play}; it gathers reloads for {RELOAD_DELAY * 1000:.0f} ms")
        _small(pair, source, max(runs * 4, 5), pool)
        _megabyte(pair, source, max(2, runs // 2))

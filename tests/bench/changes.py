"""From a change in Kubernetes to the commit, beside what the Data Plane API needs by itself; many servers at once; nothing."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable

from tests.harness import http as requests
from tests.harness.daemon import Daemon
from tests.harness.haproxy import BASE, DoubleDataPlane
from tests.harness.process import wait_until
from tests.harness.realkube import RealKube

from . import cluster, report
from .setup import BACKEND, KEPT_SERVER, NODE_PORT, Target, cpu_seconds

BASELINE = 3


class Alone:
    """begin, one change, commit over one kept connection, timed; nobody else writes meanwhile."""

    def __init__(self, target: Target):
        self.target = target
        self.connection = requests.connect(target.dataplane.url)

    def _request(self, method: str, path: str, body: object = None) -> requests.Response:
        return requests.request(self.target.dataplane.url, method, BASE + path, body, auth=self.target.dataplane.auth,
                                connection=self.connection)

    def _timed(self, method: str, path: str, body: object = None) -> float:
        version = self._request("GET", "/configuration/version").json()
        started = time.monotonic()
        tid = self._request("POST", f"/transactions?version={version}").json()["id"]
        changed = self._request(method, f"{path}?transaction_id={tid}", body)
        committed = self._request("PUT", f"/transactions/{tid}")
        took = time.monotonic() - started
        assert changed.status < 300 and committed.status == 202, (changed.text, committed.text)
        self.target.dataplane.follow(committed.headers["Reload-ID"])
        return took * 1000

    def add(self) -> float:
        return self._timed("POST", f"/configuration/backends/{BACKEND}/servers", {
            "name": KEPT_SERVER, "address": "10.99.0.1", "port": NODE_PORT, "check": "enabled", "weight": 100})

    def remove(self) -> float:
        return self._timed("DELETE", f"/configuration/backends/{BACKEND}/servers/{KEPT_SERVER}")


def _logged(daemon: Daemon, key: str, since: int) -> list[float]:
    return [float(x) for x in re.findall(rf'\b{key}"?[=:]([\d.]+)', daemon.log()[since:])]


GATHER_S = 2.2
"""So long after a transaction the next one waits to gather more; that is no latency."""


def _change(target: Target, kube: RealKube, servers: int, settled: Callable[[], None]) -> float:
    """Puts a slice with so many pods; milliseconds from the request to the file."""
    time.sleep(GATHER_S)
    started = time.monotonic()
    kube.admin.put(cluster.slice_of(servers))
    target.wait_servers(servers)
    took = (time.monotonic() - started) * 1000
    target.wait_running(servers)
    settled()
    return took


def _look_again(daemon: Daemon) -> None:
    """Another writer has just committed: known to the daemon, that is no conflict for its next write."""
    reconciles = daemon.metrics().sum("reconciles_total")
    os.kill(daemon.pid, signal.SIGHUP)
    daemon.wait_metric("reconciles_total", reconciles + 1)


def event_to_commit(target: Target, kube: RealKube, daemon: Daemon, changes: int) -> None:
    report.heading(f"event to commit, {target.describe()}")
    alone = Alone(target)
    mark, before = len(daemon.log()), daemon.metrics()
    by_itself, wall = [], []
    # In turns, so that whatever else the machine does falls on both alike.
    for _ in range(changes // 2):
        by_itself.append(alone.add())
        _look_again(daemon)
        wall.append(_change(target, kube, BASELINE + 1, daemon.wait_ready))
        by_itself.append(alone.remove())
        _look_again(daemon)
        wall.append(_change(target, kube, BASELINE, daemon.wait_ready))
    after = daemon.metrics()
    count = after.sum("watch_event_to_commit_seconds_count") - before.sum("watch_event_to_commit_seconds_count")
    total = after.sum("watch_event_to_commit_seconds_sum") - before.sum("watch_event_to_commit_seconds_sum")
    report.figure("begin + change + commit, alone", report.spread(by_itself, "ms", 1))
    report.figure("event to commit, as logged", report.spread(_logged(daemon, "event_to_commit_ms", mark), "ms", 1),
                  "within 10 ms of the line above")
    report.figure("event to commit, mean of the metric", f"{total / count * 1000:.1f} ms (n={count:.0f})" if count else "no figure")
    for step in ("begin_ms", "change_ms", "commit_ms"):
        report.figure(f"  of it: {step}", report.spread(_logged(daemon, step, mark), "ms", 1))
    report.figure("PUT of the slice to the written file", report.spread(wall, "ms", 1))


def _requests(target: Target) -> list[tuple[str, str]]:
    if not isinstance(target.dataplane, DoubleDataPlane):
        return []
    return [(r["method"], r["path"]) for r in target.dataplane.requests()]


def many_servers(target: Target, kube: RealKube, daemon: Daemon, counts: tuple[int, ...]) -> None:
    report.heading(f"requests and time for many new servers at once, {target.describe()}")
    for count in counts:
        _change(target, kube, 0, daemon.wait_ready)
        mark, seen, before = len(daemon.log()), len(_requests(target)), daemon.metrics()
        wall = _change(target, kube, count, daemon.wait_ready)
        after = daemon.metrics()
        asked = after.sum("http_requests_total", target=target.dataplane.url) - before.sum("http_requests_total", target=target.dataplane.url)
        inside = _inside(_requests(target)[seen:])
        report.figure(f"{count} servers: requests", f"{inside} begin to commit, {asked:.0f} in all (reads, reload)")
        report.figure(f"{count} servers: event to commit", report.spread(_logged(daemon, "event_to_commit_ms", mark), "ms", 1))
        report.figure(f"{count} servers: PUT of the slice to the file", f"{wall:.1f} ms")
    _change(target, kube, BASELINE, daemon.wait_ready)


def _inside(asked: list[tuple[str, str]]) -> str:
    """Requests from the first begin to the last commit, both included."""
    begins = [i for i, (m, p) in enumerate(asked) if m == "POST" and re.search(r"/transactions(\?|$)", p)]
    commits = [i for i, (m, p) in enumerate(asked) if m == "PUT" and re.search(r"/transactions/", p)]
    return str(commits[-1] - begins[0] + 1) if begins and commits else "?"


def nothing(target: Target, kube: RealKube, seconds: int) -> None:
    report.heading(f"{seconds} s of nothing, RESYNC_PERIOD=10s")
    daemon = target.daemon(kube.kubeconfig(), cluster.NAMESPACE, "idle", RESYNC_PERIOD="10s")
    with daemon:
        daemon.wait_ready(60)
        version, worker = target.dataplane.version(), target.haproxy.worker()
        before, cpu, ends = daemon.metrics(), cpu_seconds(daemon.pid), time.monotonic() + seconds
        wait_until(lambda: time.monotonic() >= ends, seconds + 5, "the end of the quiet time", 0.5)
        cpu = cpu_seconds(daemon.pid) - cpu
        after = daemon.metrics()
        report.figure("commits", str(target.dataplane.version() - version), "0")
        report.figure("reloads of HAProxy", str(int(target.haproxy.worker() != worker)) + " (worker changed)", "0")
        asked = after.sum("http_requests_total", target=target.dataplane.url) - before.sum("http_requests_total", target=target.dataplane.url)
        report.figure("requests to the Data Plane API", f"{asked:.0f}")
        report.figure("CPU", f"{cpu * 1000:.1f} ms")
        memory = daemon.memory_kib()
        report.figure("RSS, anonymous RSS", f"{memory['VmRSS'] / 1024:.1f} MiB, {memory['RssAnon'] / 1024:.1f} MiB")

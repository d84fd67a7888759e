"""Annotated Services: 5,000 of them with 20,000 endpoints on 50 nodes, by a HAProxy's own file; one endpoint that changes, a node that goes."""

from __future__ import annotations

import contextlib
import pathlib
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.kube import KubeDouble

from . import report
from .setup import haproxy as haproxy_program
from .template_stage import APPLIED, AT_ONCE, log_time

SERVICES, ENDPOINTS, NODES, NAMESPACES, FEW_NODES = 5_000, 4, 50, 50, 20
CHANGES, CHECKS = 20, 3
EVENT, MADE, CHANGED, WRITTEN = "objects of annotated Services changed", "configuration made of annotated Services", "configuration changed", "configuration written"
OLD = "haproxy-kubefigurator"


def _node(number: int) -> Any:
    return objects.node(f"node-{number:02d}", f"10.1.0.{number + 1}")


def _service(number: int) -> Any:
    made = objects.service(f"app-{number}", namespace=f"team-{number % NAMESPACES}", node_ports={"web": (80, 20_000 + number)}, policy="Local" if number % 2 else "Cluster",
                           annotations={f"{OLD}.web.hostname": f"app-{number}.example.com", f"{OLD}.web.use-ssl": "false", f"{OLD}.web.listen-port": "8080",
                                        f"{OLD}.web.listen-ip": "127.0.0.1"})
    made["metadata"] |= {"labels": {f"{OLD}.enabled": "yes"}, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return made


def _slice(number: int, moved: int = 0, nodes: int = NODES) -> Any:
    """The last two of its pods share a node: HAProxy takes a file descriptor for each server that it checks, and there are 20,000 of
    them on many a machine. moved: the first one is so many nodes further."""
    at = [(number * ENDPOINTS + min(k, ENDPOINTS - 2) + (moved if k == 0 else 0)) % nodes for k in range(ENDPOINTS)]
    listed = [objects.endpoint(f"10.{number >> 8 & 127}.{number & 255}.{k + 1}", f"node-{node:02d}") for k, node in enumerate(at)]
    return objects.slice_(f"app-{number}-x", f"app-{number}", listed, namespace=f"team-{number % NAMESPACES}", ports=[objects.port(8080, "web")])


class _Stage:
    """before.cfg and what is made of Services are one file."""

    def __init__(self, home: pathlib.Path, nodes: int, **settings: str):
        (home / "kube").mkdir(parents=True)
        self.nodes = nodes
        self.kube = KubeDouble(home / "kube")
        self.haproxy = HAProxy(home / "haproxy", PLAIN, str(haproxy_program()))
        before = home / "before.cfg"
        before.write_text(self.haproxy.config.read_text())
        self.daemon = Daemon(home / "daemon", {
            "CONFIG_SOURCE": "services", "CONFIG_FILE": str(before), "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_BIN": self.haproxy.binary,
            "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "STATE_DIR": str(home / "state"),
            "CONFIG_MIN_INTERVAL": "0s", "RESYNC_PERIOD": "1h", "LOG_LEVEL": "debug", "KUBECONFIG": str(self.kube.kubeconfig(home / "kubeconfig")), **settings})

    @contextlib.contextmanager
    def started(self, until: str = APPLIED) -> Iterator[_Stage]:
        with self.haproxy, self.kube:
            self.kube.put(*(_node(number) for number in range(self.nodes)))
            made = [one for number in range(SERVICES) for one in (_service(number), _slice(number, nodes=self.nodes))]
            for at in range(0, len(made), AT_ONCE):
                self.kube.put(*made[at:at + AT_ONCE])
            with self.daemon:
                self.daemon.wait_log(until, 60)
                yield self

    def change(self, act: Any, until: str = APPLIED) -> list[str]:
        """What was logged until it is known to run."""
        seen = len(self.daemon.log())
        act()
        self.daemon.wait_log(until, 60, seen)
        time.sleep(0.3)  # the next is a change of its own
        return self.daemon.log()[seen:].splitlines()


def _at(lines: list[str], words: str, last: bool = False) -> float:
    return log_time(next(line for line in (reversed(lines) if last else lines) if words in line)) * 1000


def _made_ms(lines: list[str]) -> tuple[int, float]:
    """Rows that were computed, and the time that all of it took."""
    line = next(line for line in reversed(lines) if MADE in line)
    return int(re.search(r"computed=(\d+)", line)[1]), float(re.search(r"took_ms=([\d.]+)", line)[1])  # type: ignore[index]


def _check_ms(stage: _Stage) -> float:
    began = time.monotonic()
    subprocess.run([stage.haproxy.binary, "-c", "-f", stage.haproxy.config], check=True, capture_output=True)
    return (time.monotonic() - began) * 1000


def _show(stage: _Stage, title: str) -> None:
    report.heading(title)
    lines = stage.daemon.log().splitlines()
    made, took = _made_ms(lines)
    event, changed, written, applied = (_at(lines, words, True) for words in (EVENT, CHANGED, WRITTEN, APPLIED))
    checks = [_check_ms(stage) for _ in range(CHECKS)]
    check, memory = statistics.median(checks), stage.daemon.memory_kib()
    servers = len(re.findall(r"^    server ", stage.haproxy.config.read_text(), re.M))
    report.figure("servers in the file; its size", f"{servers:,}; {stage.haproxy.config.stat().st_size / 1e6:.1f} MB")
    report.figure(f"{made:,} rows and the text from them", f"{took:.0f} ms", "<= 150 ms")
    report.figure("last event to what is to be written", f"{changed - event:.0f} ms")
    report.figure("to the write, without haproxy -c; with it", f"{written - event - check:.0f} ms; {written - event:.0f} ms")
    report.figure("last event to verified", f"{applied - event:.0f} ms")
    report.figure("floor by hand: haproxy -c alone", report.spread(checks, "ms", 0))
    report.figure("anonymous memory; resident at most", f"{memory['RssAnon'] / 1024:.0f} MiB; {memory['VmHWM'] / 1024:.0f} MiB")


def _one_endpoint(stage: _Stage) -> None:
    took, changed, verified = list[float](), list[float](), list[float]()
    worker = stage.haproxy.worker()
    for number in range(CHANGES):
        lines = stage.change(lambda number=number: stage.kube.put(_slice(number * 100 + 1, moved=7, nodes=stage.nodes)))
        event = _at(lines, EVENT)
        took.append(_made_ms(lines)[1])
        changed.append(_at(lines, CHANGED) - event)
        verified.append(_at(lines, APPLIED, True) - event)
    report.heading(f"one endpoint that moves to another node, among {SERVICES * ENDPOINTS:,}")
    report.figure("its row and the text of all", report.spread(took, "ms", 1))
    report.figure("event to what is to be written", report.spread(changed, "ms", 0))
    report.figure("event to verified, haproxy -c included if any", report.spread(verified, "ms", 0))
    report.figure("HAProxy reloaded", "no" if stage.haproxy.worker() == worker else "YES", "no")


def _a_node_goes(stage: _Stage) -> None:
    worker = stage.haproxy.worker()
    lines = stage.change(lambda: stage.kube.delete(_node(0)))
    rows, took = _made_ms(lines)
    event = _at(lines, EVENT)
    report.heading("a node that is deleted, with all that has a server there")
    report.figure(f"{rows:,} rows and the text from them", f"{took:.0f} ms", "<= 150 ms")
    report.figure("event to what is to be written", f"{_at(lines, CHANGED) - event:.0f} ms")
    report.figure("event to verified", f"{_at(lines, APPLIED, True) - event:.0f} ms")
    report.figure("HAProxy reloaded", "no" if stage.haproxy.worker() == worker else "yes")


def _every_node(home: pathlib.Path) -> None:
    """As many servers as HAProxy has no file descriptors for here: nothing is written."""
    with _Stage(home, FEW_NODES, DRY_RUN="true").started(MADE) as stage:
        report.heading(f"{SERVICES:,} annotated Services on {FEW_NODES} nodes, each of them a line of each: {SERVICES * FEW_NODES:,}, which are not written (DRY_RUN)")
        for what, lines in (("at first", stage.daemon.log().splitlines()), ("a node is deleted", stage.change(lambda: stage.kube.delete(_node(0)), MADE))):
            rows, took = _made_ms(lines)
            report.figure(f"{what}: {rows:,} rows and the text from them", f"{took:.0f} ms", "<= 150 ms")
        memory = stage.daemon.memory_kib()
        report.figure("anonymous memory; resident at most", f"{memory['RssAnon'] / 1024:.0f} MiB; {memory['VmHWM'] / 1024:.0f} MiB")


def measure(home: pathlib.Path) -> None:
    with _Stage(home / "pods", NODES, NODE_MODE="endpoints", PARK_NODES="false").started() as stage:
        _show(stage, f"{SERVICES:,} annotated Services, {SERVICES * ENDPOINTS:,} endpoints on {NODES} nodes, NODE_MODE=endpoints, by a HAProxy's own file")
        _one_endpoint(stage)
        _a_node_goes(stage)
    _every_node(home / "nodes")

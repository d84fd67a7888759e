"""Nodes that HAProxy has never seen come one by one under load, and go again: when each is in rotation, when it is out, and what that costs."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable

from tests.harness import objects, realparts
from tests.harness.load import Load
from tests.harness.process import wait_until

from . import report
from .kubernetes import Kubernetes, kubernetes
from .rolling import bench_settings, controllers, haproxies
from .stage import BACKEND, NODES, Stage

NEW = {f"node-{i}": f"127.0.14.{i}" for i in range(7, 17)}
PAUSE_S = 4.0


class Scaling:
    def __init__(self, stage: Stage):
        self.stage = stage
        self.came: list[float] = []
        self.went: list[float] = []

    def play(self) -> None:
        with self.stage.kube.events(self.stage.namespace) as events:
            for i, node in enumerate(NEW, len(NODES) + 1):
                self.stage.endpoints[node] = (i, objects.READY)
                self.came.append(self._took(events.time_of(self.stage.put_endpoints()), lambda: self._state(node) == "0", f"{node} in rotation"))
            for node in NEW:
                del self.stage.endpoints[node]
                self.went.append(self._took(events.time_of(self.stage.put_endpoints()), lambda: self._state(node) != "0", f"{node} out of rotation"))

    def _state(self, node: str) -> str:
        try:
            return self.stage.haproxy.servers(BACKEND).get(node, {}).get("srv_admin_state", "none")
        except OSError:  # amid a reload
            return "unknown"

    def _took(self, since: float, condition: Callable[[], bool], what: str) -> float:
        wait_until(condition, 60, what, 0.002)
        took = time.monotonic() - since
        time.sleep(PAUSE_S)
        return took * 1000


def _one(stage: Stage) -> None:
    with stage.started():
        reloads, scaling = stage.haproxy.reloads(), Scaling(stage)
        with Load(stage.haproxy.port, stage.home, rate=stage.settings.rate, visits=stage.settings.visits, seconds=240) as load:
            scaling.play()
            time.sleep(stage.settings.reload_delay + 2)
        traffic = load.stop()
        reloads = stage.haproxy.reloads() - reloads
    name = f"{stage.controller.name}, {pathlib.Path(stage.haproxy.binary).name}"
    report.figure(f"{name}: in rotation", report.spread(scaling.came, "ms", 0))
    report.figure(f"{name}: out of it", report.spread(scaling.went, "ms", 0))
    report.figure(f"{name}: reloads", str(reloads))
    failed = sum(1 for c in traffic.connections if c.failed)
    report.figure(f"{name}: connections failed", f"{failed} of {len(traffic.connections)}")


def _all(home: pathlib.Path, kube: Kubernetes) -> None:
    for haproxy in [realparts.haproxy_chosen()] if os.environ.get("HAPROXY") else haproxies():
        for number, controller in enumerate(controllers(), 1):
            namespace = f"scaling-{number}"
            try:
                _one(Stage(home / namespace / haproxy.parent.name, haproxy, kube, namespace, controller, bench_settings(), NEW))
            except (AssertionError, RuntimeError) as e:
                report.note(f"no figures of {controller.name} on {haproxy}: {e}")


def measure(home: pathlib.Path) -> None:
    settings = bench_settings()
    report.heading(f"{len(NEW)} new nodes come one by one under {settings.rate:g} new connections/s, and go again; "
                   f"reload_delay {settings.reload_delay:g} s")
    with kubernetes(home / "kube") as kube:
        print(f"  {kube.name}", flush=True)
        _all(home, kube)

"""Nodes that HAProxy has never seen come one by one under load, and go again: when each is in rotation, when it is out, and what that costs.
Then three groups of 20 come and go for STORM seconds, a few at a time, in whole configurations without health checks."""

from __future__ import annotations

import os
import pathlib
import random
import time
from collections.abc import Callable

from tests.harness import objects, realparts
from tests.harness.backends import node_port
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, HAProxy
from tests.harness.load import Load
from tests.harness.nodes import Nodes
from tests.harness.process import wait_until

from . import report
from .kubernetes import Kubernetes, kubernetes
from .rolling import bench_settings, controllers, haproxies
from .setup import data_plane
from .stage import BACKEND, NODES, Stage

NEW = {f"node-{i}": f"127.0.14.{i}" for i in range(7, 17)}
PAUSE_S = 4.0
GROUPS = [{f"g{g}-{i}": f"127.0.15.{20 * g + i}" for i in range(1, 21)} for g in range(3)]
AT_LEAST, AT_ONCE, STORM_S = 2, 5, "60"


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


class Storm:
    """The document of three groups, each of which some nodes join or leave at a time."""

    def __init__(self, home: pathlib.Path, haproxy: pathlib.Path, reload_delay: float):
        addresses = {name: address for group in GROUPS for name, address in group.items()}
        self.port = node_port(addresses.values())
        self.nodes = Nodes(addresses, self.port, home / "nodes")
        self.up = [list(group)[:AT_LEAST] for group in GROUPS]
        self.haproxy = HAProxy(home / "haproxy", HEAD + self._text(), str(haproxy))
        self.dataplane = data_plane(self.haproxy, home / "dataplane", reload_delay)
        self.source = home / "next.cfg"
        self._head = self.haproxy.config.read_text().replace(self._text().replace("{fe}", str(self.haproxy.port)), "")
        self.daemon = Daemon(home / "daemon", {**self.dataplane.settings(), "CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source),
                                               "CONFIG_MIN_INTERVAL": "0s"})
        self.choices = random.Random(1)
        self.took: list[float] = []

    def _text(self) -> str:
        text = "\nfrontend fe\n  bind 127.0.0.1:{fe}\n  use_backend g%[rand(3)]\n"
        for g, names in enumerate(self.up):
            lines = "".join(f"  server {name} {GROUPS[g][name]}:{self.port}\n" for name in names)
            text += f"\nbackend g{g}\n  balance roundrobin\n{lines}"
        return text

    def put(self) -> None:
        fresh = self.source.with_name("fresh.cfg")
        fresh.write_text(self._head + self._text().replace("{fe}", str(self.haproxy.port)))
        os.replace(fresh, self.source)

    def runs(self) -> bool:
        return all(set(self.haproxy.servers(f"g{g}")) == set(names) for g, names in enumerate(self.up))

    def turn(self) -> None:
        for names, group in zip(self.up, GROUPS):
            others = [name for name in group if name not in names]
            for name in self.choices.sample(others, min(len(others), self.choices.randint(0, AT_ONCE))):
                names.append(name)
            for name in self.choices.sample(names, min(len(names) - AT_LEAST, self.choices.randint(0, AT_ONCE))):
                names.remove(name)
        began = time.monotonic()
        self.put()
        wait_until(self.runs, 60, f"the groups {self.up}; the log: {self.daemon.tail()}", 0.02)
        self.took.append((time.monotonic() - began) * 1000)


def _storm(home: pathlib.Path, haproxy: pathlib.Path, seconds: float) -> None:
    settings = bench_settings()
    storm = Storm(home, haproxy, settings.reload_delay)
    report.heading(f"three groups of {len(GROUPS[0])} nodes come and go for {seconds:g} s under {settings.rate:g} new connections/s, without checks; "
                   f"Data Plane API: {storm.dataplane.kind} {storm.dataplane.play}")
    with storm.haproxy, storm.dataplane, storm.nodes:
        storm.put()
        with storm.daemon:
            storm.daemon.wait_log("configuration (applied|unchanged)", 60)
            storm.turn()  # takes over the file
            storm.took.clear()
            time.sleep(settings.reload_delay + 2)
            reloads, ends = storm.haproxy.reloads(), time.monotonic() + seconds
            with Load(storm.haproxy.port, home, rate=settings.rate, seconds=seconds + 120) as load:
                while time.monotonic() < ends:
                    storm.turn()
                    time.sleep(storm.choices.random())
                time.sleep(settings.reload_delay + 2)
            failed = load.stop()
            report.figure("a change until HAProxy runs it", report.spread(storm.took, "ms", 0))
            report.figure("reloads", str(storm.haproxy.reloads() - reloads), "0")
            report.figure("connections failed", f"{sum(1 for c in failed.connections if c.failed)} of {len(failed.connections)}", "0")


def measure(home: pathlib.Path) -> None:
    settings = bench_settings()
    report.heading(f"{len(NEW)} new nodes come one by one under {settings.rate:g} new connections/s, and go again; "
                   f"reload_delay {settings.reload_delay:g} s")
    with kubernetes(home / "kube") as kube:
        print(f"  {kube.name}", flush=True)
        _all(home, kube)
    seconds = float(os.environ.get("STORM", STORM_S) or 0)
    for haproxy in ([realparts.haproxy_chosen()] if os.environ.get("HAPROXY") else haproxies()) if seconds else []:
        _storm(home / f"storm-{haproxy.parent.name}", haproxy, seconds)

"""A rolling update of the pods of one Service behind the template set `ingress`, under load: what it costs in reloads and in requests."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from typing import Any

from tests.harness import realparts
from tests.harness.backends import node_port
from tests.harness.load import Load
from tests.harness.load_records import Traffic
from tests.harness.nodes import Nodes
from tests.harness.process import wait_until

from .ingress_fixtures import objects
from .template_stage import TemplateStage

PODS, OTHERS, RATE = 50, 100, 200.0
# A pod that is to go still answers for so long, as with a preStop hook of some seconds.
LEAVES_S, STEP_S = 3.0, 0.2
SITE = "app-0.example.com"
Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Rollout:
    way: str
    haproxy: str
    traffic: Traffic
    reloads: int
    changes: int
    begin: float
    end: float


def _endpoint(address: str, ready: bool) -> Object:
    return {"addresses": [address], "conditions": {"ready": ready, "serving": True, "terminating": not ready}}


class _Pods:
    """Each is followed by one of another address."""

    def __init__(self, stage: TemplateStage, nodes: Nodes):
        self.stage, self.nodes = stage, nodes
        self.slice = next(one for one in stage.objects["slices"] if one["metadata"]["name"] == "app-0-x")

    def show(self, names: dict[str, bool]) -> None:
        """Name -> ready."""
        self.slice["endpoints"] = [_endpoint(self.nodes.addresses[name], ready) for name, ready in names.items()]
        self.stage.kube.put(self.slice)

    def roll(self) -> int:
        shown = {f"old-{i}": True for i in range(PODS)}
        changes, leaving = 0, list[tuple[float, str]]()
        for i in range(PODS):
            self.nodes.listen(f"new-{i}")
            shown |= {f"new-{i}": True, f"old-{i}": False}
            leaving.append((time.monotonic() + LEAVES_S, f"old-{i}"))
            self._end(shown, leaving)
            self.show(shown)
            changes += 1
            time.sleep(STEP_S)
        while leaving:
            self._end(shown, leaving)
            time.sleep(STEP_S)
        self.show(shown)
        return changes + 1

    def _end(self, shown: dict[str, bool], leaving: list[tuple[float, str]]) -> None:
        while leaving and leaving[0][0] <= time.monotonic():
            _, name = leaving.pop(0)
            self.nodes.kill(name)
            del shown[name]


def play(home: pathlib.Path, local: bool) -> Rollout:
    addresses = {f"{age}-{i}": f"127.0.{at}.{i + 1}" for age, at in (("old", 21), ("new", 22)) for i in range(PODS)}
    port = node_port(addresses.values())
    made = objects(OTHERS, 3)
    first = next(one for one in made["slices"] if one["metadata"]["name"] == "app-0-x")
    first["ports"][0]["port"] = port
    first["endpoints"] = [_endpoint(addresses[f"old-{i}"], True) for i in range(PODS)]
    stage = TemplateStage(home, made, local, **({} if local else {"server_slots": 10}))
    with Nodes(addresses, port, home / "nodes") as nodes, stage.started():
        for name in addresses:
            if name.startswith("new-"):
                nodes.deaf(name)
        stage.settled()
        with Load(stage.haproxy.port, home / "load", rate=RATE, seconds=240, site=SITE) as load:
            wait_until(lambda: len(load.so_far().connections) > RATE / 2, 20, "requests that are answered")
            before, begin = stage.haproxy.reloads(), time.monotonic()
            changes = _Pods(stage, nodes).roll()
            stage.settled()
            end = time.monotonic()
            traffic = load.stop()
        reloads = stage.haproxy.reloads() - before
    haproxy = realparts.version_of(pathlib.Path(stage.haproxy.binary)).split(" - ")[0]
    return Rollout(stage.way, haproxy, traffic, reloads, changes, begin, end)

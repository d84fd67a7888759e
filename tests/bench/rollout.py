"""One rolling update of six nodes under load, for one controller and one HAProxy, and everything that was seen of it."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import time

from tests.harness import objects, realparts
from tests.harness.load import Load
from tests.harness.load_records import Traffic
from tests.harness.metrics import Metrics

from . import access_log
from .observer import Observer, Seen
from .stage import BACKEND, NODES, Controller, Stage

BEFORE_S, TERMINATING_S, GONE_S = 2.0, 2.0, 1.0


@dataclasses.dataclass(frozen=True)
class Mark:
    """A change of Kubernetes: "terminating", "gone" or "ready"."""
    at: float
    """When our own watch was sent it."""
    what: str
    node: str


@dataclasses.dataclass(frozen=True)
class Run:
    controller: Controller
    haproxy: str
    dataplane: str
    begin: float
    end: float
    marks: tuple[Mark, ...]
    traffic: Traffic
    seen: Seen
    writes: collections.Counter[str]
    own: dict[str, float]
    """What the controller's own metrics say of this time, where it has some."""


class Rollout:
    """The script itself; `marks` as it goes on."""

    def __init__(self, stage: Stage, observer: Observer):
        self.stage, self.observer = stage, observer
        self.marks: list[Mark] = []

    def play(self) -> None:
        with self.stage.kube.events(self.stage.namespace) as events:
            self._events = events
            time.sleep(BEFORE_S)
            for node in NODES:
                self._one(node)
            # What comes late is to be seen, too.
            time.sleep(self.stage.settings.reload_delay + 2)

    def _one(self, node: str) -> None:
        """The pod of one node is replaced by a new one."""
        stage, (pod, _) = self.stage, self.stage.endpoints[node]
        self.observer.closely()
        self._change("terminating", node, (pod, objects.TERMINATING))
        time.sleep(TERMINATING_S)
        stage.nodes.deaf(node)
        self._change("gone", node, None)
        time.sleep(GONE_S)
        stage.nodes.listen(node)
        self.observer.closely()
        self._change("ready", node, (pod + 10, objects.READY))

    def _change(self, what: str, node: str, endpoint: tuple[int, dict[str, bool]] | None) -> None:
        if endpoint is None:
            del self.stage.endpoints[node]
        else:
            self.stage.endpoints[node] = endpoint
        version = self.stage.put_endpoints()
        self.marks.append(Mark(self._events.time_of(version), what, node))


def _difference(before: Metrics | None, after: Metrics | None) -> dict[str, float]:
    """Of the counters and histograms of our own daemon."""
    if not before or not after:
        return {}
    names = ("watch_event_to_commit_seconds_sum", "watch_event_to_commit_seconds_count", "watch_event_to_runtime_seconds_sum",
             "watch_event_to_runtime_seconds_count")
    return {name: after.sum(name) - before.sum(name) for name in names}


def run(stage: Stage) -> Run:
    with stage.started(), Observer(stage.haproxy, BACKEND, stage.home) as observer:
        rollout = Rollout(stage, observer)
        load = Load(stage.haproxy.port, stage.home, rate=stage.settings.rate, visits=stage.settings.visits, seconds=180)
        before, logged, files = stage.own(), len(stage.access_log()), stage.files_written()
        begin = time.monotonic()
        with load:
            rollout.play()
        end = time.monotonic()
        traffic, after, written = load.stop(), stage.own(), access_log.count(stage.access_log()[logged:])
        written[access_log.FAST] += stage.files_written() - files
    haproxy = realparts.version_of(pathlib.Path(stage.haproxy.binary)).split()[2].split("-")[0]
    return Run(stage.controller, haproxy, f"{stage.dataplane.kind} {getattr(stage.dataplane, 'release', stage.dataplane.play)}",
               begin, end, tuple(rollout.marks), traffic, observer.seen(), written, _difference(before, after))

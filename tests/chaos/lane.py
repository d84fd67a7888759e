"""A lane: one world, and the cases that are played in it one after another. A process of its own, one line of JSON for each outcome."""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
import shutil
import sys
import time
import traceback

from .case import Case, new_stream
from .faults import FAULTS, Fault
from .world import World

KEPT = ("timeline.log", "daemon/daemon.log", "haproxy/haproxy.log", "haproxy/haproxy.cfg", "dataplane/access.log",
        "dataplane/dataplane.log", "kube/kubernetes.log", "kube/apiserver.log", "kube/etcd.log")


def tell(what: str, **more: object) -> None:
    sys.stdout.write(json.dumps({"tell": what, **more}) + "\n")
    sys.stdout.flush()


class Lane:
    """worlds: a case that was violated ends its world, so that the next ones are not judged by what it has left."""

    def __init__(self, kind: str, name: str, seed: str, home: pathlib.Path, build: pathlib.Path, logs: pathlib.Path):
        self.kind, self.name, self.seed, self.home, self.build, self.logs = kind, name, seed, home, build, logs
        self.world: World | None = None
        self.worlds = 0

    def play(self, case: str, round_: int) -> None:
        fault = FAULTS[case]
        try:
            if self.world is None:
                self._begin(fault, round_)
            assert self.world
            outcome = Case(self.world, fault, self.seed, round_).run()
            tell("outcome", lane=self.name, round=round_, **dataclasses.asdict(outcome))
        except Exception as e:
            tell("broken", lane=self.name, case=case, text=f"{e}\n{traceback.format_exc()}")
        if self.world and (self.world.timeline.violations or not self.world.daemon.process):
            self.end()

    def _begin(self, fault: Fault, round_: int) -> None:
        self.worlds += 1
        # Short: the path of a socket may have some hundred bytes only.
        world = World(self.home / str(self.worlds), self.kind, self.seed, self.build)
        world.start(new_stream(world, self.seed, fault, round_))
        self.world = world

    def end(self) -> None:
        world, self.world = self.world, None
        if world is None:
            return
        try:
            world.timeline.case = "the end of its world"
            if world.daemon.process:
                world.end_daemon()
        finally:
            # The disks go with the world.
            _keep(world.home, self.logs / f"{self.name}.{self.worlds}")
            world.stop()
            self._sum_up(world)
            shutil.rmtree(world.home, ignore_errors=True)

    def _sum_up(self, world: World) -> None:
        for found in world.timeline.violations:
            tell("violation", lane=f"{self.name}.{self.worlds}", around=world.timeline.around(found.at), **dataclasses.asdict(found))
        sampler = world.sampler
        tell("end", lane=f"{self.name}.{self.worlds}", looks=sampler.looks, blind=sampler.blind, connections=sampler.connections,
             changes=sum(1 for e in world.timeline.events if e.kind == "change"), parked=world.settings["PARK_TTL"],
             nodes=world.settings["PARK_NODES"], limit=world.settings["MAX_LOSS_PERCENT"], deaths={p.name: p.deaths for p in world.parts.values() if p.deaths})


def run(kind: str, name: str, seed: str, cases: list[str], until: float, home: pathlib.Path, build: pathlib.Path,
        logs: pathlib.Path) -> int:
    """until: when no further case is begun, and whether rounds are repeated: 0 plays each case once."""
    lane = Lane(kind, name, seed, home, build, logs)
    played: collections.Counter[str] = collections.Counter()
    try:
        while True:
            for case in cases:
                if until and time.time() >= until:
                    return 0
                played[case] += 1
                lane.play(case, played[case])
            if not until:
                return 0
    finally:
        lane.end()


def _keep(home: pathlib.Path, logs: pathlib.Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for path in KEPT:
        if (home / path).exists():
            shutil.copy(home / path, logs / pathlib.Path(path).name)

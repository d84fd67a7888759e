"""A lane: one world, and the cases that are played in it one after another. A process of its own, one line of JSON for each outcome."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import sys
import time
import traceback

from .case import Case, Outcome, new_stream
from .faults import FAULTS
from .world import World

KEPT = ("timeline.log", "daemon/daemon.log", "haproxy/haproxy.log", "haproxy/haproxy.cfg", "dataplane/access.log",
        "dataplane/dataplane.log", "kube/kubernetes.log", "kube/apiserver.log", "kube/etcd.log")


def tell(what: str, **more: object) -> None:
    sys.stdout.write(json.dumps({"tell": what, **more}) + "\n")
    sys.stdout.flush()


def run(kind: str, name: str, seed: str, cases: list[str], until: float, home: pathlib.Path, build: pathlib.Path,
        logs: pathlib.Path) -> int:
    """until: when no further case is begun, and whether rounds are repeated: 0 plays each case once."""
    world = World(home, kind, seed, build)
    outcomes: list[Outcome] = []
    try:
        first = FAULTS[cases[0]]
        world.start(new_stream(world, seed, first, 1))
        tell("settings", lane=name, parked=world.settings["PARK_TTL"], nodes=world.settings["PARK_NODES"])
        round_ = 1
        while True:
            for case in cases:
                if until and time.time() >= until:
                    break
                outcomes.append(Case(world, FAULTS[case], seed, round_).run())
                tell("outcome", lane=name, round=round_, **dataclasses.asdict(outcomes[-1]))
                if not outcomes[-1].ok and outcomes[-1].in_step_after < 0:
                    raise RuntimeError(f"{case}: the world is not in step, no case can be played in it")
            round_ += 1
            if not until or time.time() >= until:
                break
        world.timeline.case = "end"
        world.end_daemon()
    except Exception as e:
        tell("broken", lane=name, text=f"{e}\n{traceback.format_exc()}")
    finally:
        world.stop()
        _keep(home, logs / name)
    for found in world.timeline.violations:
        tell("violation", lane=name, around=world.timeline.around(found.at), **dataclasses.asdict(found))
    sampler = world.sampler
    tell("end", lane=name, looks=sampler.looks, blind=sampler.blind, connections=sampler.connections,
         changes=sum(1 for e in world.timeline.events if e.kind == "change"),
         deaths={p.name: p.deaths for p in world.parts.values() if p.deaths})
    return 0


def _keep(home: pathlib.Path, logs: pathlib.Path) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for path in KEPT:
        if (home / path).exists():
            shutil.copy(home / path, logs / pathlib.Path(path).name)

"""python3 -m tests.chaos [--seed N] [--only part:fault,...] [--time SECONDS] [--build DIR]

Plays the matrix of faults (faults.py) under seeded changes and prints it: without options those of the fixed list, once and by the fixed
seed, else all; without --time each once. The schedule (which faults and changes, in which order and when) follows from the seed; how real
processes run meanwhile does not, so a replay may need a few tries.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.harness import realparts
from tests.harness.process import ROOT

from . import lane, parts
from .faults import ALIKE, FAULTS, NAMES, NOT_APPLICABLE, PARTS, Fault

# Worlds side by side, of each kind: they mostly wait.
LANES = {"double": 4, "real": 1, "whole": 2, "local": 2, "clock": 1, "fast": 2}

# The seed of every run that is given neither one nor a time.
FIXED = "1"
# How often a kind is taken for a case that several are fit for: real parts are slow to recover.
WEIGHTS = {"double": 6, "clock": 2, "real": 1, "whole": 1, "local": 2, "fast": 1}


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="python3 -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", default="", help=f"any text; default: {FIXED}, or with --time a fresh one")
    p.add_argument("--only", default="", help="part:fault, or part: or :fault, several with commas")
    p.add_argument("--kind", default="", help="only in this kind of world (double, real, whole, local, clock, fast)")
    p.add_argument("--time", type=float, default=0, help="go on for so many seconds instead of playing each case once")
    p.add_argument("--rounds", type=int, default=1, help="play each case so many times")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the daemon was built, with and without sanitizers")
    p.add_argument("--lane", help=argparse.SUPPRESS)
    return p.parse_args()


# --- which case where


def lacking() -> dict[str, str]:
    """Kind of world -> why this machine cannot have it."""
    found = {}
    if not parts.FAKETIME:
        found.update({kind: "no libfaketime (apt install faketime)" for kind in ("clock", "fast")})
    try:
        realparts.etcd(), realparts.kube_apiserver()
    except realparts.Missing as e:
        found["real"] = str(e)
    return found


def chosen(only: str) -> list[Fault]:
    if not only:
        return list(FAULTS.values())
    found = []
    for pattern in only.split(","):
        part, _, name = pattern.partition(":")
        matching = [f for f in FAULTS.values() if part in ("", f.part) and name in ("", f.name)]
        if not matching:
            raise SystemExit(f"no case matches {pattern!r}; parts: {', '.join(PARTS)}; faults: {', '.join(NAMES)}")
        found += matching
    return found


def kind_of(fault: Fault, seed: str, missing: dict[str, str], only: str) -> str:
    """"" where no world that can be had is fit for it."""
    kinds = [kind for kind in fault.kinds if kind not in missing and only in ("", kind)]
    return random.Random(f"{seed}:{fault.id}:kind").choices(kinds, [WEIGHTS[kind] for kind in kinds])[0] if kinds else ""


def lanes(cases: dict[str, list[str]], seed: str) -> list[dict[str, Any]]:
    """Jobs of lanes: the cases of one kind of world, in an order that the seed has made."""
    return [{"name": f"{kind}-{i + 1}", "kind": kind, "seed": seed, "cases": names[i::LANES[kind]]}
            for kind, names in cases.items() for i in range(min(LANES[kind], len(names)))]


# --- the run


class Run:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.seed = options.seed or (f"{random.SystemRandom().randrange(10 ** 6):06d}" if options.time else FIXED)
        self.fixed = not (options.seed or options.time or options.only)
        self.logs = ROOT / "build" / "chaos" / self.seed
        self.missing = lacking()
        self.notes: dict[str, str] = {}
        """case -> why it was not played."""
        self.outcomes: list[dict[str, Any]] = []
        self.violations: list[dict[str, Any]] = []
        self.broken: list[dict[str, Any]] = []
        self.ends: list[dict[str, Any]] = []

    def plan(self) -> list[dict[str, Any]]:
        cases: dict[str, list[str]] = collections.defaultdict(list)
        for fault in chosen(self.options.only):
            kind = kind_of(fault, self.seed, self.missing, self.options.kind)
            if self.fixed and fault.name in ALIKE.get(fault.part, ()):
                self.notes[fault.id] = "as another one; with SEED= or TIME="
            elif why := fault.needs():
                self.notes[fault.id] = why
            elif not kind:
                self.notes[fault.id] = "; ".join(sorted({self.missing.get(k, f"only in {k}") for k in fault.kinds}))
            else:
                cases[kind].append(fault.id)
        for kind, names in cases.items():
            random.Random(f"{self.seed}:{kind}:order").shuffle(names)
            cases[kind] = names * self.options.rounds
        return lanes(cases, self.seed)

    def play(self) -> int:
        planned = self.plan()
        count = sum(len(job["cases"]) for job in planned)
        print(f"chaos: seed {self.seed}, {count} cases in {len(planned)} worlds side by side", flush=True)
        began = time.monotonic()
        self._play_lanes(planned, time.time() + self.options.time if self.options.time else 0)
        print(f"played in {time.monotonic() - began:.0f} s")
        return self._report()

    def _play_lanes(self, planned: list[dict[str, Any]], until: float) -> None:
        started = [self._start(job, until) for job in planned]
        try:
            self._listen(started)
        except KeyboardInterrupt:
            print("ended from outside")
            self.broken.append({"lane": "", "case": "the run", "text": "it was ended from outside"})
        finally:
            for process in started:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
            for process in started:
                process.communicate(timeout=60)

    def _start(self, job: dict[str, Any], until: float) -> subprocess.Popen[str]:
        shutil.rmtree(self.logs / job["name"], ignore_errors=True)
        text = json.dumps({**job, "until": until, "build": str(self.options.build.absolute()), "logs": str(self.logs)})
        # Mounts of a lane are seen by nobody else and end with it.
        private = ["unshare", "--mount", "--propagation", "private"] if os.geteuid() == 0 else []
        return subprocess.Popen([*private, sys.executable, "-m", "tests.chaos", "--lane", text], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL)

    def _listen(self, started: list[subprocess.Popen[str]]) -> None:
        import selectors
        with selectors.DefaultSelector() as selector:
            for process in started:
                selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            while selector.get_map():
                for key, _ in selector.select():
                    if line := key.fileobj.readline():  # type: ignore[union-attr]
                        self._heard(json.loads(line))
                    else:
                        selector.unregister(key.fileobj)

    def _heard(self, said: dict[str, Any]) -> None:
        kind = said["tell"]
        if kind == "outcome":
            self.outcomes.append(said)
            struck = {-1: "", 0: ", struck no request"}.get(said["hits"], f", struck {said['hits']} times")
            print(f"  {'ok  ' if said['ok'] else 'FAIL'} {said['lane']:9} {said['case']:32} in sync after {said['in_step_after']:4.1f} s{struck}",
                  flush=True)
        elif kind == "violation":
            self.violations.append(said)
            print(f"  VIOLATED {said['lane']} {said['case']}: {said['invariant']}: {said['text'].splitlines()[0]}", flush=True)
        elif kind == "broken":
            self.broken.append(said)
            print(f"  BROKEN {said['lane']} {said['case']}: {said['text'].splitlines()[0]}", flush=True)
        elif kind == "end":
            self.ends.append(said)

    # --- the report

    def _report(self) -> int:
        for said in self.violations:
            print(f"\nVIOLATED in {said['lane']}, {said['case']}: {said['invariant']}: {said['text']}\n{said['around']}")
        for said in self.broken:
            print(f"\nBROKEN {said['lane']}, {said['case']}: {said['text']}")
        self._matrix()
        self.ends.sort(key=lambda said: said["lane"])
        for said in self.ends:
            deaths = ", ".join(f"{name} {n}" for name, n in said["deaths"].items())
            print(f"{said['lane']} (PARK_TTL={said['parked']}, PARK_NODES={said['nodes']}, MAX_LOSS_PERCENT={said['limit']}): {said['changes']} changes, {said['looks']} looks at HAProxy ({said['blind']} without an answer), "
                  f"{said['connections']} connections{f'; started again: {deaths}' if deaths else ''}")
        unplayed = [o["case"] for o in self.outcomes if o["hits"] == 0]
        if unplayed:
            print(f"struck no request: {', '.join(unplayed)}")
        if slow := [f"{o['case']} {o['in_step_after']:.0f} s" for o in self.outcomes if o["slow"]]:
            print(f"slower than on an idle machine: {', '.join(slow)}")
        held = sum(1 for o in self.outcomes if o["ok"])
        bad = sorted({said["case"] for said in self.violations + self.broken} | {o["case"] for o in self.outcomes if not o["ok"]})
        if bad:
            print(f"\nchaos: FAILED, {len(self.outcomes)} cases played; logs: {self.logs}/LANE. To replay, a few times where it is a "
                  "matter of milliseconds:")
            for case in bad:
                print(f"  {self._replay(case)}" if case in FAULTS else f"  ({case})")
            print(f"{held} passed, {len(bad)} failed")
            return 1
        print(f"chaos: seed {self.seed}, {len(self.outcomes)} cases held")
        print(f"{held} passed, 0 failed")
        return 0

    def _replay(self, case: str) -> str:
        """The command that plays it with the same schedule: a later round comes after those before it."""
        failed = [o for o in self.outcomes if o["case"] == case and not o["ok"]]
        kind = f" KIND={failed[0]['kind']}" if failed else ""
        rounds = f" ROUNDS={failed[0]['round']}" if failed and failed[0]["round"] > 1 else ""
        return f"make chaos SEED={self.seed} ONLY={case}{kind}{rounds}"

    def _matrix(self) -> None:
        """Every part x every fault: run and how it went, or why not."""
        went: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
        for said in self.outcomes:
            went[said["case"]].append(said)
        print(f"\n{'':16}" + "".join(f"{part:>16}" for part in PARTS))
        notes: dict[str, list[str]] = collections.defaultdict(list)
        for name in NAMES:
            row = f"{name:16}"
            for part in PARTS:
                case = f"{part}:{name}"
                if case in went:
                    ok = all(o["ok"] for o in went[case])
                    row += f"{('ok ' if ok else 'FAIL ') + went[case][0]['kind']:>16}"
                elif (part, name) in NOT_APPLICABLE:
                    row += f"{'n.a.':>16}"
                    notes[NOT_APPLICABLE[part, name]].append(case)
                else:
                    row += f"{'not run':>16}"
                    notes[self.notes.get(case, "not asked for")].append(case)
            print(row)
        for why, cases in notes.items():
            print(f"  {_short(cases)}: {why}")


def _short(cases: list[str]) -> str:
    by_part: dict[str, list[str]] = collections.defaultdict(list)
    for case in cases:
        part, _, name = case.partition(":")
        by_part[part].append(name)
    return "; ".join(f"{part} x {', '.join(names)}" for part, names in by_part.items())


def main() -> int:
    options = arguments()
    # Ended from outside, all that was started has to end, too: it is in sessions of its own.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not options.lane:
        return Run(options).play()
    job = json.loads(options.lane)
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as home:
        return lane.run(job["kind"], job["name"], job["seed"], job["cases"], job["until"], pathlib.Path(home), pathlib.Path(job["build"]),
                        pathlib.Path(job["logs"]))


if __name__ == "__main__":
    raise SystemExit(main())

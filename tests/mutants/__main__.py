"""python3 -m tests.mutants FOLDER [-k WORD] -- COMPILER...      (`make mutants` calls it; `make mutants K=WORD` for some)

FOLDER holds the unit tests, linked against a shared library of all sources. A broken file is compiled to a shared library of
its own and loaded before that one, so that its functions are the ones that run: nothing is linked again, nothing in src/ is
touched. Fails with the name of each mutant that no test notices.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from .mutant import ROOMS, ROOT, Mutant, Room, Unfit

MODULES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "__main__", "mutant"))
for module in MODULES:
    importlib.import_module(f"tests.mutants.{module}")
# A mutant that loops forever is noticed by the processor's time that it takes, one that waits forever by the clock, which a busy machine
# stretches: so many times what the test takes by itself, and at least so many seconds. A test by itself has the longest.
LOOPS_TIMES, LOOPS_S = 6, 8
WAITS_TIMES, WAITS_S = 12, 40
LONGEST_S = 600
# A test program in one process: a crash or a failure ends it, which is all that is asked here. Nobody reads a shrunk stream.
ENV = {"SEQUENCES_SHRINK": "no", "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "CK_FORK": "no", "CK_RUN_CASE": "", "LC_ALL": "C"}


class Bench:
    def __init__(self, folder: pathlib.Path, compiler: list[str]):
        self.folder = folder.resolve()
        self.compiler = compiler
        self.takes: dict[str, float] = {}
        """Seconds, of each test by itself."""

    def passes(self, test: str, library: pathlib.Path | None) -> bool:
        took = self.takes.get(test)
        loops, waits = (LONGEST_S, LONGEST_S) if took is None else (max(LOOPS_S, LOOPS_TIMES * took), max(WAITS_S, WAITS_TIMES * took))
        command = ["sh", "-c", 'ulimit -t "$1" && export LD_PRELOAD="$2" && exec "$0"', self.folder / test, str(math.ceil(loops)), library or ""]
        # Nothing may be left in the tree, and a mutant may say a lot: the output is nobody's.
        try:
            return subprocess.run(command, cwd=ROOT, env={k: v for k, v in ENV.items() if v}, timeout=waits, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def break_it(self, mutant: Mutant, scratch: pathlib.Path) -> pathlib.Path:
        library = scratch / "mutant.so"
        source = scratch / mutant.source().name
        source.write_text(mutant.text())
        made = subprocess.run([*self.compiler, "-shared", "-o", library, source], cwd=ROOT, capture_output=True, text=True)
        if made.returncode != 0:
            raise Unfit(f"what is made of src/{mutant.file} does not compile:\n{made.stderr.strip()}")
        return library

    def noticed_by(self, room: Room, mutant: Mutant) -> str | None:
        """The test that fails; None: none does."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            library = self.break_it(mutant, pathlib.Path(scratch))
            # The quickest first: most are noticed by several.
            return next((test for test in sorted(room.tests, key=self.takes.__getitem__) if not self.passes(test, library)), None)


def sound_tests(bench: Bench, rooms: list[Room], workers: concurrent.futures.Executor) -> list[str]:
    """A test that fails by itself would notice anything."""
    tests = sorted({test for room in rooms for test in room.tests})

    def passes(test: str) -> bool:
        began = time.monotonic()
        passed = bench.passes(test, None)
        bench.takes[test] = time.monotonic() - began
        return passed

    return [test for test, sound in zip(tests, workers.map(passes, tests)) if not sound]


def unfit(rooms: list[Room]) -> int:
    """How many no longer apply: counted of all, whichever share is played."""
    found = 0
    for room in rooms:
        for mutant in room.mutants:
            try:
                mutant.text()
            except Unfit as e:
                found += 1
                print(f"mutant UNFIT: {room.name}: {mutant.name}: {e}", flush=True)
    return found


def try_all(bench: Bench, rooms: list[Room], workers: concurrent.futures.Executor) -> tuple[int, int]:
    noticed, failed = 0, 0
    asked = [(room, m, workers.submit(bench.noticed_by, room, m)) for room in rooms for m in room.mutants]
    for room, mutant, answer in asked:
        try:
            test = answer.result()
        except Unfit as e:
            failed += 1
            print(f"mutant UNFIT: {room.name}: {mutant.name}: {e}", flush=True)
            continue
        noticed += test is not None
        failed += test is None
        print(f"mutant {test + ' notices' if test else 'SURVIVED'}: {room.name}: {mutant.name} (src/{mutant.file})", flush=True)
    return noticed, failed


def chosen(word: str) -> list[Room]:
    some = [Room(r.name, r.tests, tuple(m for m in r.mutants if word in m.name or word in m.file or word in r.name)) for r in ROOMS]
    return [r for r in some if r.mutants]


def share_of(rooms: list[Room], share: str) -> list[Room]:
    """"2/3": the second of three shares; each room has its part in each."""
    which, of = (int(number) for number in share.split("/"))
    numbered = iter(range(sum(len(room.mutants) for room in rooms)))
    some = [Room(r.name, r.tests, tuple(m for m in r.mutants if next(numbered) % of == which - 1)) for r in rooms]
    return [r for r in some if r.mutants]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", default="", help="only those with this word in their name, file or room")
    parser.add_argument("--share", default="1/1", help="the second of three shares is 2/3")
    parser.add_argument("--tests", action="store_true", help="print the unit tests that are needed, and do nothing")
    parser.add_argument("--unfit", action="store_true", help="fail with the name of each that no longer applies, and do nothing else")
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("compiler", nargs="*")
    options = parser.parse_args()
    all_rooms = chosen(options.k)
    rooms = share_of(all_rooms, options.share)
    if options.tests:
        print(" ".join(sorted({test for room in rooms for test in room.tests})))
        return 0
    if options.unfit:
        return 1 if unfit(all_rooms) else 0
    if not rooms:
        print(f"no mutant has the word {options.k!r}")
        return 1
    if count := unfit(all_rooms):
        print(f"0 passed, {count} failed, 0 skipped")
        return 1
    bench = Bench(options.folder, options.compiler)
    # One that waits forever needs no processor: two for each.
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as workers:
        if bad := sound_tests(bench, rooms, workers):
            print(f"these tests fail without any mutant, so they show nothing: {', '.join(bad)}")
            return 1
        noticed, failed = try_all(bench, rooms, workers)
    print(f"{noticed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

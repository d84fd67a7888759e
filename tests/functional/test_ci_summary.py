"""What CI says at its end: the sum on a line of its own, and what failed once more, since a long log is seldom read whole. What .ci/chaos
makes of cases that fail once, with a `make` that plays what it is told to."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def closing_lines(tmp_path: pathlib.Path, parts: dict[str, tuple[int, str]]) -> tuple[int, str]:
    for name, (_, log) in parts.items():
        (tmp_path / name).write_text(log)
    (tmp_path / ".parts").write_text("".join(f"{name} {status} 7\n" for name, (status, _) in parts.items()))
    ended = subprocess.run([ROOT / ".ci/summary", tmp_path], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


def test_all_is_well(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {
        "test": (0, "unit: 5 passed, 0 failed\nSKIPPED [2] tests/a.py:1: no X here\n3 passed, 2 skipped in 2.31s\n"),
        "check": (0, "8 passed, 0 failed, 0 skipped\n")})
    assert status == 0
    assert "skipped in test, 2x: no X here" in told
    assert told.splitlines()[-1] == "16 passed, 0 failed, 2 skipped"
    assert "=== failed" not in told


def test_what_failed_is_told_again(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {
        "test": (2, "tests/unit/test_x.c:12:F:x:y:0: Assertion failed\nmuch else\nunit: 4 passed, 1 failed\n"
                    "FAILED tests/functional/test_z.py::test_w - assert 1 == 2\n1 failed, 3 passed in 2.31s\n"),
        "check": (1, "check-tidy: FAILED (7 s)\n7 passed, 1 failed, 0 skipped\n")})
    assert status == 1
    for line in ("test_x.c:12:F", "test_z.py::test_w - assert 1 == 2", "check-tidy: FAILED"):
        assert line in told.partition("=== failed in test")[2], line
    assert "much else" not in told
    assert told.splitlines()[-1] == "14 passed, 3 failed, 0 skipped"


def test_a_part_that_died_shows_its_last_lines(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {"chaos": (137, "one\ntwo\n3 passed, 0 failed\nthe last word\n")})
    assert status == 1
    assert "the last word" in told.partition("=== failed in chaos")[2]
    assert told.splitlines()[-1] == "3 passed, 1 failed, 0 skipped"


def test_a_part_that_counted_nothing_has_failed(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {"fuzz": (0, "nothing to do\n")})
    assert status == 1
    assert told.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


FIRST = """  FAIL double-3  dataplane:fds
chaos: FAILED, 101 cases played; To replay:
  make chaos SEED=1 ONLY=dataplane:fds KIND=double
100 passed, 1 failed
"""
HELD = "chaos: seed 1, 1 cases held\n1 passed, 0 failed\n"


@pytest.mark.parametrize(("runs", "status", "closing"), [
    ([(0, "101 passed, 0 failed\n")], 0, "101 passed, 0 failed"),
    ([(2, FIRST), (0, HELD), (0, HELD)], 0, "101 passed, 0 failed"),
    ([(2, FIRST), (0, HELD), (2, FIRST)], 1, "100 passed, 1 failed"),
    ([(2, FIRST.replace("1 failed", "2 failed"))], 1, "100 passed, 2 failed"),  # one of them cannot be played again
    ([(2, "BROKEN at once\n")], 1, ""),
])
def test_chaos_is_played_again(tmp_path: pathlib.Path, runs: list[tuple[int, str]], status: int, closing: str) -> None:
    for number, (ended, text) in enumerate(runs):
        (tmp_path / f"run{number}").write_text(text)
        (tmp_path / f"status{number}").write_text(str(ended))
    make = tmp_path / "make"
    make.write_text(f"""#!/bin/sh
cd {tmp_path} || exit 9
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
cat run$n
exit "$(cat status$n)"
""")
    make.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ended = subprocess.run([ROOT / ".ci/chaos"], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    assert ended.returncode == status, ended.stdout
    sums = [line for line in ended.stdout.splitlines() if line[:1].isdigit()]
    assert sums == ([closing] if closing else []), ended.stdout
    assert (tmp_path / "count").read_text().strip() == str(len(runs))


ONCE = """if not pathlib.Path(__file__).with_suffix(".seen").exists():
        pathlib.Path(__file__).with_suffix(".seen").touch()
        assert False, "late"
"""


@pytest.mark.parametrize(("body", "count", "status"), [(ONCE, 1, 0), ("assert False, 'each time'", 1, 1), (ONCE, 4, 1)])
def test_a_failed_test_is_played_again(tmp_path: pathlib.Path, body: str, count: int, status: int) -> None:
    tests = tmp_path / "test_it.py"
    tests.write_text("import pathlib\ndef test_well(): pass\n" + "".join(f"def test_{i}():\n    {body}\n" for i in range(count)))
    first = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "test_it.py"], cwd=tmp_path,
                           capture_output=True, text=True, check=False)
    if count > 1:  # the file's mark keeps the others from failing
        tests.write_text("")
        first.stdout = "".join(f"FAILED test_it.py::test_{i} - late\n" for i in range(count)) + f"{count} failed, 1 passed in 1.00s\n"
    log = tmp_path / "log"
    log.write_text(first.stdout)
    again = subprocess.run([ROOT / ".ci/again", log], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == status, again.stdout
    assert ("failed once, and held when played again twice, alone: test_it.py::test_0" in log.read_text()) == (status == 0)
    told_status, told = closing_lines(tmp_path, {"test": (status, log.read_text())})
    assert told_status == status
    assert told.splitlines()[-1] == ("2 passed, 0 failed, 0 skipped" if status == 0 else f"1 passed, {count} failed, 0 skipped")
    assert ("test_it.py::test_0" in told), "it is named either way"

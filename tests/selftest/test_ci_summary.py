"""What `make test` and CI say at their end: skips by their reasons, what failed once more, since a long log is seldom read whole, and
the sum on a line of its own."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def closing_lines(tmp_path: pathlib.Path, parts: dict[str, tuple[int, str]]) -> tuple[int, str]:
    for name, (_, log) in parts.items():
        (tmp_path / name).write_text(log)
    (tmp_path / ".parts").write_text("".join(f"{name} {status} 7\n" for name, (status, _) in parts.items()))
    ended = subprocess.run([ROOT / "scripts/summary", tmp_path], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


def test_all_is_well(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {
        "test": (0, "unit: 5 passed, 0 failed\nSKIPPED [2] no X here\n3 passed, 2 skipped in 2.31s\n"),
        "streams": (0, "sequences: 2 cases and 40 streams of 300 events, 0 failed\n"),
        "check": (0, "8 passed, 0 failed, 0 skipped\n")})
    assert status == 0
    assert "skipped in test, 2x: no X here" in told
    assert told.splitlines()[-1] == "58 passed, 0 failed, 2 skipped"
    assert "=== failed" not in told


def test_what_failed_is_printed_again(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {
        "test": (2, "tests/unit/test_x.c:12:F:x:y:0: Assertion failed\nmuch else\ntests/unit/peer.h:9:F:x:z:0: waited\nunit: 4 passed, 1 failed\n"
                    "FAILED tests/functional/test_z.py::test_w - assert 1 == 2\n1 failed, 3 passed in 2.31s\n"),
        "check": (1, "check-tidy: FAILED (7 s)\n7 passed, 1 failed, 0 skipped\n")})
    assert status == 1
    for line in ("test_x.c:12:F", "peer.h:9:F", "test_z.py::test_w - assert 1 == 2", "check-tidy: FAILED"):
        assert line in told.partition("=== failed in test")[2], line
    assert "much else" not in told
    assert told.splitlines()[-1] == "14 passed, 3 failed, 0 skipped"


def test_a_part_that_died_shows_its_last_lines(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {"chaos": (137, "one\ntwo\n3 passed, 0 failed\nthe last word\n")})
    assert status == 1
    assert "the last word" in told.partition("=== failed in chaos")[2]
    assert told.splitlines()[-1] == "3 passed, 1 failed, 0 skipped"


def test_a_case_that_took_long_is_named_and_no_failure(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {"chaos": (0, "slower than on an idle machine: etcd:slow 11 s\n101 passed, 0 failed\n")})
    assert status == 0
    assert "chaos, slower than on an idle machine: etcd:slow 11 s" in told


def test_a_part_that_counted_nothing_has_failed(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {"fuzz": (0, "nothing to do\n")})
    assert status == 1
    assert told.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_part_with_closing_lines_of_its_own_is_counted_once(tmp_path: pathlib.Path) -> None:
    """`make test` in .ci/run."""
    inner = tmp_path / "inner"
    inner.mkdir()
    _, told = closing_lines(inner, {"unit": (0, "unit: 5 passed, 0 failed\n"),
                                    "pytest": (1, "SKIPPED [214] no X here\nFAILED tests/a.py::b - c\n1 failed, 3 passed, 214 skipped in 2.31s\n")})
    assert told.splitlines()[-1] == "8 passed, 1 failed, 214 skipped"
    status, outer = closing_lines(tmp_path, {"test": (2, f"3 passed, 214 skipped in 2.31s\n{told}make: *** [Makefile:126: test] Error 1\n")})
    assert status == 1
    assert "skipped in test, 214x: no X here" in outer
    assert "FAILED tests/a.py::b - c" in outer.partition("=== failed in test")[2]
    assert outer.splitlines()[-1] == "8 passed, 1 failed, 214 skipped"


def test_what_was_not_run_is_one_line(tmp_path: pathlib.Path) -> None:
    status, told = closing_lines(tmp_path, {
        "test": (0, "not run: 340 cases that need X, Y 2.6 ($Y) (make e2e-full)\n3 passed in 2.31s\n"),
        "e2e": (0, "not run: 2 cases that need Z, X (make e2e-full)\nSKIPPED [1] no W here\n3 passed, 1 skipped in 2.31s\n")})
    assert status == 0
    assert told.splitlines()[-3:] == ["skipped in e2e, 1x: no W here", "not run: 342 cases that need X, Y 2.6 ($Y), Z (make e2e-full)",
                                      "6 passed, 0 failed, 1 skipped"]


@pytest.mark.parametrize("beside", [[], ["-n", "2"]], ids=["alone", "by workers"])
def test_pytest_reports_what_is_not_here_and_skips_by_their_reason(tmp_path: pathlib.Path, beside: list[str]) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_it.py").write_text("""import pytest
def test_a(): pytest.skip("no X here")
def test_b(): pytest.skip("no X here")
@pytest.mark.skipif(True, reason="no Y here")
def test_c(): pass
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.needs("a Z", False)), pytest.param(2, marks=pytest.mark.needs("a W", True))])
def test_d(part): assert part != 1
@pytest.mark.needs("a V", False)
@pytest.mark.parametrize("one", range(3))
def test_e(one): assert False
""")
    ended = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *beside], cwd=tmp_path, capture_output=True,
                           text=True, check=False)
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert [line for line in lines if line.startswith(("SKIPPED", "not run"))] == [
        "not run: 4 cases that need a Z, a V (make e2e-full)", "SKIPPED [2] no X here", "SKIPPED [1] no Y here"]
    assert lines[-1].startswith("2 passed, 3 skipped in ")

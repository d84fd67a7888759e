"""Every line that was recorded from a real Data Plane API, sent again to the double."""

from __future__ import annotations

import itertools
import pathlib
import subprocess
import warnings
from typing import Any

import pytest

from tests.harness import parts
from tests.harness.haproxy import DoubleDataPlane, HAProxy, haproxy_binary, haproxy_version

from . import replay

WHOLE_GROUPS = ["raw", "meaning", "actions", "storage"]
GROUPS = ["transactions", "refusals", "lane", "sections"]
# From this step on HAProxy has to know check-reuse-pool.
NEEDS_3_2 = "unknown words on a server"
# HAProxy has to refuse a server whose name is one of a server-template; 3.4 does not any more.
NEEDS_CLASH = "commit the clash"
CLASH = "defaults\n  mode tcp\n  timeout server 1s\n  timeout connect 1s\nbackend b\n  server s1 127.0.0.1:1\n  server-template s 3 127.0.0.1:1\n"
# Bodies in which the double differs on purpose, by the step's name.
DIFFERS = {"a server that is not there": "the words name the socket, which is another",
           "bad json": "the words are those of the JSON parser; the status and the form are compared"}


def of(where: pathlib.Path) -> list[Any]:
    return replay.names(where) or [pytest.param("none", marks=parts.needs(f"recordings (../shared/data/{where.name})", False))]


@parts.needs("recordings (../shared/data/dataplane)", replay.names())
def test_recordings_are_whole() -> None:
    assert {name: len(replay.load(name)) for name in replay.names()} == {name: 158 for name in replay.names()}
    for name in replay.names():
        assert {line["group"] for line in replay.load(name)} == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", of(replay.RECORDINGS))
def test_replay(name: str, group: str, tmp_path: pathlib.Path) -> None:
    play(replay.RECORDINGS, name, group, tmp_path)


@pytest.mark.parametrize("group", WHOLE_GROUPS)
@pytest.mark.parametrize("name", of(replay.WHOLE))
def test_replay_of_whole_configurations(name: str, group: str, tmp_path: pathlib.Path) -> None:
    play(replay.WHOLE, name, group, tmp_path)


def play(where: pathlib.Path, name: str, group: str, directory: pathlib.Path) -> None:
    if not haproxy_binary():
        pytest.skip("no haproxy on this machine")
    lines = [(number, line) for number, line in enumerate(replay.load(name, where), 1) if line["group"] == group]
    assert lines, f"{name} has no group {group}"
    binary = haproxy_binary()
    if binary and haproxy_version(binary) < (3, 2):
        lines = list(itertools.takewhile(lambda line: line[1]["step"] != NEEDS_3_2, lines))
    if binary and any(line["step"] == NEEDS_CLASH for _, line in lines) and not refuses_clash(binary, directory):
        warnings.warn(f"{name}: not compared: {NEEDS_CLASH!r}, as {binary} takes two servers of one name")
        lines = [line for line in lines if line[1]["step"] != NEEDS_CLASH]
    played = ".".join(name.split(".")[:2])
    recorded_haproxy = name.partition("haproxy-")[2].removesuffix(".jsonl").split("-")[0]
    more = ["--deaf-runtime"] if "master-socket" in name else []
    with HAProxy(directory, replay.start_file()) as haproxy:
        same = recorded_haproxy == "%d.%d" % haproxy_version(haproxy.binary)
        with DoubleDataPlane(haproxy, haproxy.config, directory, played, 0.05, more) as double:
            failures = replay.Replay(lines, haproxy, double, DIFFERS, same).run()
    assert not failures, "\n".join(failures)


def refuses_clash(binary: str, directory: pathlib.Path) -> bool:
    file = directory / "clash.cfg"
    file.write_text(CLASH)
    done = subprocess.run([binary, "-c", "-f", str(file)], capture_output=True, text=True, check=False, timeout=20)
    return "another server named 's1'" in done.stderr

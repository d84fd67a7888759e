"""Every line that was recorded from a real Data Plane API, sent again to the double."""

from __future__ import annotations

import pytest

from tests.harness.haproxy import DoubleDataPlane, HAProxy, haproxy_binary, haproxy_version

from . import replay

GROUPS = ["transactions", "refusals", "lane", "sections"]
# Bodies in which the double differs on purpose, by the step's name.
DIFFERS = {"bad json": "the words are those of the JSON parser; the status and the form are compared"}


def test_recordings_are_whole() -> None:
    if not replay.names():
        pytest.skip("recorded answers not found (../shared/data/dataplane)")
    assert {name: len(replay.load(name)) for name in replay.names()} == {name: 158 for name in replay.names()}
    for name in replay.names():
        assert {line["group"] for line in replay.load(name)} == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", replay.names() or ["none"])
def test_replay(name: str, group: str, tmp_path) -> None:
    if not replay.names():
        pytest.skip("recorded answers not found (../shared/data/dataplane)")
    if not haproxy_binary():
        pytest.skip("no haproxy on this machine")
    lines = [(number, line) for number, line in enumerate(replay.load(name), 1) if line["group"] == group]
    play = ".".join(name.split(".")[:2])
    recorded_haproxy = name.partition("haproxy-")[2].removesuffix(".jsonl").split("-")[0]
    more = ["--deaf-runtime"] if "master-socket" in name else []
    with HAProxy(tmp_path, replay.start_file()) as haproxy:
        same = recorded_haproxy == "%d.%d" % haproxy_version(haproxy.binary)
        with DoubleDataPlane(haproxy, haproxy.config, tmp_path, play, 0.05, more) as double:
            failures = replay.Replay(lines, haproxy, double, DIFFERS, same).run()
    assert not failures, "\n".join(failures)

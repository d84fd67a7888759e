"""Servers that are there already, under other names: another controller's, at the very places that are wanted."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.harness.process import wait_until

from .rig import PORT, TEMPLATE, Rig, program

# As the Go controller leaves them: NAME-PORT, weight 1.
OLD = "".join(f"  server n{i}-{PORT} 127.0.11.{i}:{PORT} check weight 1\n" for i in (1, 2, 3))
TAKEN_OVER = TEMPLATE.replace("  server n1 127.0.11.1:30443 check weight 100\n", OLD)
NAMES = {f"n{i}-{PORT}" for i in (1, 2, 3)}


@pytest.fixture
def rig_of(tmp_path: pathlib.Path) -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def make(template: str = TAKEN_OVER) -> Rig:
        rigs.append(Rig(tmp_path, template))
        rigs[0].__enter__().pods(1, 2, 3)
        return rigs[0]

    yield make
    for rig in rigs:
        rig.__exit__(None)


def ours(rig: Rig) -> set[str]:
    return set(rig.lines()) - {"sorry"}


def changed(rig: Rig) -> list[tuple[str, str, int]]:
    """What went into the file."""
    return [w for w in rig.writes() if "/runtime/" not in w[1]]


def run(rig: Rig, *words: str, **settings: str) -> str:
    return subprocess.run([str(program()), *words], env=rig.settings(**settings), capture_output=True, text=True,
                          timeout=60, check=False).stdout


def test_a_takeover_costs_nothing(rig_of: Callable[..., Rig]) -> None:
    rig = rig_of()
    before = rig.dataplane.file()
    rig.start()
    rig.wait_in_sync()
    assert rig.dataplane.file() == before and not rig.writes()
    assert rig.daemon is not None
    rig.daemon.wait_log("servers adopted.*n1-30443 .node n1.")


def test_a_rolling_update_of_adopted_servers_is_no_reload(rig_of: Callable[..., Rig]) -> None:
    rig = rig_of()
    worker = rig.haproxy.worker()
    rig.start(DRAIN_TIMEOUT="0s")
    rig.wait_in_sync()
    for out in (1, 2, 3):
        left = [i for i in (1, 2, 3) if i != out]
        rig.pods(*left)
        wait_until(lambda: ours(rig) == {f"n{i}-{PORT}" for i in left}, what=f"n{out} parked")
        rig.wait_in_sync()
        assert rig.runtime_states()[f"n{out}-{PORT}"] == "maint"
        rig.pods(1, 2, 3)
        wait_until(lambda: ours(rig) == NAMES, what=f"n{out} back")
        rig.wait_in_sync()
    assert rig.commits() == 0 and rig.haproxy.worker() == worker
    assert all(" weight 1" in rig.lines()[name] for name in NAMES)
    assert not rig.differences()


def test_renaming_makes_the_new_ones_first(rig_of: Callable[..., Rig]) -> None:
    rig = rig_of()
    rig.start(ADOPT_SERVERS="rename", MAX_LOSS_PERCENT="10", RESYNC_PERIOD="1h")
    rig.wait_in_sync()
    wait_until(lambda: ours(rig) == {"n1", "n2", "n3"}, what="the new names")
    rig.wait_in_sync()
    assert rig.parked() == NAMES and rig.commits() == 1
    paths = [path for method, path, _ in rig.writes() if method == "PUT"]
    commit = next(i for i, path in enumerate(paths) if "/transactions/" in path)
    parked = [i for i, path in enumerate(paths) if f"-{PORT}" in path]
    assert len(parked) >= 3 and min(parked) > commit, paths


def test_plan_explain_and_status_say_the_name(rig_of: Callable[..., Rig]) -> None:
    rig = rig_of()
    plan = json.loads(run(rig, "plan", "-o", "json"))
    backend = plan["backends"][0]
    assert backend["changes"] == []
    assert {s["name"]: s["node"] for s in backend["servers"]} == {name: name[:2] for name in NAMES}
    explained = run(rig, "explain", "n1")
    assert f"server n1-{PORT} 127.0.11.1:{PORT}" in explained and "as desired" in explained
    rig.start()
    rig.wait_in_sync()
    assert rig.daemon is not None
    status = json.dumps(json.loads(rig.daemon.get("/status")[1]))
    assert f'"name": "n1-{PORT}", "node": "n1"' in status and '"node": "sorry"' not in status

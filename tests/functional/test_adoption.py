"""Servers that are there already, under other names: another controller's, at the very places that are desired."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness.process import wait_until

from .rig import PORT, TEMPLATE, Rig, program

# As the Go controller leaves them: NAME-PORT, weight 1.
OLD = "".join(f"  server n{i}-{PORT} 127.0.11.{i}:{PORT} check weight 1\n" for i in (1, 2, 3))
TAKEN_OVER = TEMPLATE.replace("  server n1 127.0.11.1:30443 check weight 100\n", OLD)
NAMES = {f"n{i}-{PORT}" for i in (1, 2, 3)}


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, TAKEN_OVER) as made:
        made.pods(1, 2, 3)
        yield made


def ours(rig: Rig) -> set[str]:
    return set(rig.lines()) - {"sorry"}


def run(rig: Rig, *words: str, **settings: str) -> str:
    return subprocess.run([str(program()), *words], env=rig.settings(**settings), capture_output=True, text=True,
                          timeout=60, check=False).stdout


def test_a_rolling_update_of_adopted_servers_is_no_reload(rig: Rig) -> None:
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


def test_plan_explain_and_status_say_the_name(rig: Rig) -> None:
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

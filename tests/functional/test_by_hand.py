"""An operator's drain or maint, set in the running HAProxy, is respected, shown, outlives reloads, and ends when it is taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.process import wait_until

from .rig import Rig
from .test_runtime_updates import Reloads, compared_since, in_step, settled
from .test_trust import count

TAKEN_BACK = "admin states set by an operator are cleared"
SAID = "level=warn .*admin states set by an operator; left alone until set to ready"


def by_socket(rig: Rig, name: str, state: str) -> None:
    assert rig.haproxy.runtime(f"set server be/{name} state {state}").strip() == ""


def by_api(rig: Rig, name: str, state: str) -> None:
    assert rig.dataplane.put(f"/runtime/backends/be/servers/{name}", {"admin_state": state}).status == 200


def shown(rig: Rig, *names: str) -> None:
    """As many in the metric, and these in /readyz."""
    def is_shown() -> bool:
        found = rig.daemon.metrics().sum("servers_overridden", backend="be", target=rig.dataplane.url)
        assert found == len(names), found
        body = rig.daemon.get("/readyz")[1]
        assert all(name in body.partition("overridden: ")[2] for name in names), body
        return bool(names) == ("overridden: " in body)
    wait_until(is_shown, 20, f"{names or 'nothing'} to be shown as overridden")


def with_three(rig: Rig) -> None:
    in_step(rig, 1, 2, 3, RESYNC_PERIOD="1s")
    settled(rig)


@pytest.mark.parametrize("how, state", [(by_socket, "drain"), (by_api, "maint")])
def test_state_is_respected_shown_and_taken_back(rig: Rig, how: Callable[[Rig, str, str], None], state: str) -> None:
    with_three(rig)
    ours = len(rig.writes())
    how(rig, "n2", state)
    shown(rig, f"n2 is in {state}")
    foreign = len(rig.writes()) - ours  # by_api is among them
    compared_since(rig)
    rig.daemon.wait_ready()
    assert rig.runtime_states() == {"n1": "ready", "n2": state, "n3": "ready", "sorry": "ready"}
    assert rig.daemon.metrics().sum("in_sync") == 1, "it is no trouble"
    assert count(rig, SAID) == 1
    how(rig, "n2", "ready")
    shown(rig)
    rig.daemon.wait_log(TAKEN_BACK)
    compared_since(rig)
    assert rig.resting() == set()
    assert len(rig.writes()) == ours + 2 * foreign, "nothing of ours"
    assert count(rig, SAID) == 1 and count(rig, "level=(warn|error)") == 1


def test_our_reload_does_not_end_it(rig: Rig) -> None:
    with_three(rig)
    state = "maint"
    by_socket(rig, "n2", state)
    shown(rig, f"n2 is in {state}")
    worker = rig.haproxy.worker()
    rig.pods(1, 2, 3, 4)
    wait_until(lambda: "n4" in rig.runtime_states(), 20, "the new server")
    wait_until(lambda: rig.runtime_states()["n2"] == state, 20, f"n2 in {state} again")
    rig.wait_in_sync()
    assert rig.haproxy.worker() != worker and rig.parked() == set()
    shown(rig, f"n2 is in {state}")
    rig.daemon.wait_log(f'server=n2 state={state} why="an operator set it before HAProxy was reloaded"')
    by_socket(rig, "n2", "ready")
    shown(rig)
    rig.pods(1, 2, 3, 4, 5)  # another reload, which brings nothing back
    rig.wait_servers(1, 2, 3, 4, 5)
    settled(rig)
    assert rig.resting() == set()


def test_restart_of_the_daemon_does_not_end_it(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "n2", "drain")
    by_socket(rig, "n3", "maint")
    shown(rig, "n2", "n3")
    rig.daemon.restart()
    rig.wait_in_sync()
    shown(rig, "n2 is in drain", "n3 in maint")
    compared_since(rig)
    assert rig.runtime_states() == {"n1": "ready", "n2": "drain", "n3": "maint", "sorry": "ready"}
    assert rig.calls() == rig.fast_writes() == 0


def test_weight_by_hand_is_left_alone(rig: Rig) -> None:
    with_three(rig)
    reloads = Reloads(rig)
    rig.haproxy.runtime("set weight be/n1 7")
    for _ in range(2):
        compared_since(rig)
    assert rig.haproxy.servers("be")["n1"]["srv_uweight"] == "7"
    reloads.none()
    assert rig.fast_writes() == 0 and rig.daemon.metrics().sum("drifts_total") == 0


def test_dry_run_shows_it_too(rig: Rig) -> None:
    rig.start(RESYNC_PERIOD="1s", DRY_RUN="true")
    rig.wait_in_sync()
    by_socket(rig, "n1", "drain")
    shown(rig, "n1 is in drain")
    assert not rig.writes()

"""An operator's drain or maint, set in the running HAProxy, is respected, shown, outlives reloads, and ends when it is taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.process import wait_until

from .rig import Rig
from .test_runtime_updates import CALL, Reloads, compared_since, endpoints, in_step, settled
from .test_trust import count, kill_master

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


@pytest.mark.parametrize("state", ["drain", "maint"])
@pytest.mark.parametrize("how", [by_socket, by_api])
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


def test_two_of_them_and_a_third_later(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "n1", "drain")
    by_socket(rig, "n2", "maint")
    shown(rig, "n1 is in drain", "n2 in maint")
    by_socket(rig, "n3", "drain")  # all of them: it is the operator's HAProxy
    shown(rig, "n1", "n2", "n3")
    assert rig.resting() == {"n1", "n2", "n3"}
    for name in ("n1", "n2", "n3"):
        by_socket(rig, name, "ready")
    shown(rig)
    assert rig.calls() == rig.fast_writes() == 0


@pytest.mark.parametrize("state", ["drain", "maint"])
def test_our_reload_does_not_end_it(rig: Rig, state: str) -> None:
    with_three(rig)
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


def test_restart_of_haproxy_does_not_end_it(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "n2", "drain")
    shown(rig, "n2 is in drain")
    kill_master(rig)
    rig.haproxy.start()
    rig.wait_draining(2)
    rig.wait_in_sync()
    shown(rig, "n2 is in drain")


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


def test_kubernetes_takes_out_what_it_takes_out_and_the_state_is_kept_for_the_return(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "n3", "drain")
    shown(rig, "n3 is in drain")
    reloads = Reloads(rig)
    rig.pods(1, 2)
    rig.wait_parked(3)
    rig.wait_in_sync()
    shown(rig)  # nothing of it is to be seen
    rig.pods(1, 2, 3)
    rig.wait_draining(3)
    assert rig.parked() == set()
    rig.wait_in_sync()
    shown(rig, "n3 is in drain")
    reloads.none()


def test_drain_of_ours_on_top_of_an_operators_leaves_it_behind(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "n3", "drain")
    shown(rig, "n3 is in drain")
    endpoints(rig, [1, 2], [3])
    rig.daemon.wait_metric("servers_draining", 1)
    compared_since(rig)
    rig.pods(1, 2, 3)
    wait_until(lambda: rig.daemon.metrics().sum("servers_draining") == 0, 20, "n3 to be wanted again")
    compared_since(rig)
    assert rig.draining() == {"n3"} and rig.calls() == 0
    shown(rig, "n3 is in drain")


def test_drain_of_ours_that_an_operator_ends_is_told_again(rig: Rig) -> None:
    """By `ready` an operator takes back a state of his own; that the pod is about to go is not his to know."""
    with_three(rig)
    endpoints(rig, [1, 2], [3])
    rig.wait_draining(3)
    rig.wait_in_sync()
    by_socket(rig, "n3", "ready")
    rig.wait_draining(3)
    rig.wait_in_sync()
    shown(rig)


@pytest.mark.parametrize("terminating", [True, False], ids=["drain", "maint"])
def test_call_of_ours_whose_answer_is_lost_is_no_operators(rig: Rig, terminating: bool) -> None:
    with_three(rig)
    rig.dataplane.fault({"action": "close", **CALL, "apply": True, "times": 4})
    endpoints(rig, [1, 2], [3] if terminating else [])
    wait_until(lambda: rig.resting() == {"n3"}, 20, "no new connections for n3")
    rig.daemon.wait_metric("runtime_commands_total", 1)
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    settled(rig)
    shown(rig)
    wait_until(lambda: rig.resting() == set(), 20, "n3 to serve again")
    assert "set by an operator" not in rig.daemon.log()


def test_weight_by_hand_is_left_alone(rig: Rig) -> None:
    with_three(rig)
    reloads = Reloads(rig)
    rig.haproxy.runtime("set weight be/n1 7")
    for _ in range(2):
        compared_since(rig)
    assert rig.haproxy.servers("be")["n1"]["srv_uweight"] == "7"
    reloads.none()
    assert rig.fast_writes() == 0 and rig.daemon.metrics().sum("drifts_total") == 0


def test_backup_that_is_not_ours_is_nobodys_business(rig: Rig) -> None:
    with_three(rig)
    by_socket(rig, "sorry", "maint")
    compared_since(rig)
    assert rig.runtime_states()["sorry"] == "maint"
    shown(rig)


def test_dry_run_shows_it_too(rig: Rig) -> None:
    rig.start(RESYNC_PERIOD="1s", DRY_RUN="true")
    rig.wait_in_sync()
    by_socket(rig, "n1", "drain")
    shown(rig, "n1 is in drain")
    assert not rig.writes()

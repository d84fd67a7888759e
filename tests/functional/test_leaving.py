"""How servers leave, and what is not written: draining, the brake, dry runs, two masters; and weights and checks by the Service.
The machines are tested in virtual time in tests/unit; here it is the program, from a watch event to HAProxy."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.process import wait_until

from .rig import BACKEND, BY_NODE_PORT, NAMESPACE, SERVICE, Rig


def pods(rig: Rig, **states: dict[str, bool]) -> None:
    """n1=READY, n2=TERMINATING, ...: one pod on each of these nodes."""
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint(f"10.244.{name[1:]}.7", name, state)
                                                   for name, state in states.items()], namespace=NAMESPACE))


def live(rig: Rig) -> set[str]:
    """Our servers whose line in the file is live, whatever the running HAProxy was told."""
    return rig.servers() - {"sorry"}


# --- draining

def test_terminating_endpoint_drains_and_goes_with_its_end(rig: Rig) -> None:
    rig.pods(1, 2, 3)
    rig.start()
    rig.wait_servers(1, 2, 3)
    pods(rig, n1=objects.READY, n2=objects.READY, n3=objects.TERMINATING)
    rig.wait_draining(3)
    rig.daemon.wait_log('msg="server state set at runtime" backend=be server=n3 state=drain why="it drains"')
    rig.wait_in_sync()
    assert live(rig) == {"n1", "n2", "n3"} and rig.fast_writes() == 0, "the file says nothing of it"
    assert rig.daemon.metrics().sum("servers_draining") == 1
    assert rig.daemon.metrics().sum("servers_desired") == 2
    assert rig.daemon.metrics().sum("servers_configured") == 3
    pods(rig, n1=objects.READY, n2=objects.READY)
    rig.wait_servers(1, 2)
    rig.wait_parked(3)
    rig.daemon.wait_log(r'msg="runtime update applied" backend=be server=n3 what="maintenance on \(parked\)"')
    rig.wait_in_sync()
    assert rig.daemon.metrics().sum("servers_configured") == 2
    assert rig.daemon.metrics().sum("servers_parked") == 1
    assert not rig.differences()


def test_draining_ends_by_itself(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(DRAIN_TIMEOUT="2s")
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    rig.wait_servers(1)
    rig.wait_parked(2)
    rig.daemon.wait_log('cause="a drain ended"')
    rig.wait_in_sync()


def test_end_of_a_drain_is_not_put_down_to_what_changed_nothing(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(DRAIN_TIMEOUT="3s")
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    rig.node(1, unschedulable=True)
    rig.wait_servers(1)
    rig.daemon.wait_log('cause="a drain ended"')


def test_ready_again_is_live_again(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start()
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    commits = rig.commits()
    rig.pods(1, 2)
    rig.wait_draining()
    rig.wait_in_sync()
    assert rig.resting() == set() and live(rig) == {"n1", "n2"}
    assert rig.commits() == commits and rig.fast_writes() == 0, "it was told and told again, no more"


def test_last_ones_serve_while_they_terminate(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start()
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    commits = rig.commits()
    pods(rig, n1=objects.TERMINATING, n2=objects.TERMINATING)
    pods(rig, n1=objects.TERMINATING, n2=objects.TERMINATING, n3=objects.READY)  # and then others can do the work
    wait_until(lambda: rig.resting() == {"n1", "n2"}, 20, "no new connections for both once n3 is ready")
    rig.wait_in_sync()
    assert set(rig.all_lines()) - {"sorry"} == {"n1", "n2", "n3"}
    assert rig.parked() == {"n1", "n2"}, "the reload that brings n3 forgets what HAProxy alone was told"
    assert rig.commits() == commits + 1
    assert rig.calls() == 0, "told before, it would have been left with nobody"


def test_no_draining_where_it_is_switched_off(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(DRAIN_TIMEOUT="0")
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_servers(1)
    rig.wait_parked(2)
    assert "state=drain" not in rig.daemon.log()


def draining(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start()
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    rig.wait_in_sync()


def test_daemon_that_ends_while_a_server_drains_leaves_it_to_the_next(rig: Rig) -> None:
    draining(rig)
    commits = rig.commits()
    rig.daemon.close()
    rig.wait_parked(2)
    assert 'msg="draining server saved in haproxy.cfg as maintenance for the next leader" backend=be server=n2' in rig.daemon.log()
    rig.pods(1, 2)  # ready again before anybody looks
    rig.start()
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    assert not rig.resting() and rig.commits() == commits
    assert rig.daemon.metrics().sum("servers_overridden") == 0


def test_daemon_that_dies_while_the_only_one_drains(rig: Rig) -> None:
    """Whose drain it was nobody knows; but nothing else serves."""
    draining(rig)
    rig.daemon.kill()
    rig.pods(2)
    rig.start()
    rig.wait_servers(2)
    rig.wait_in_sync()
    assert not rig.draining() and rig.daemon.metrics().sum("servers_overridden") == 0


def test_daemon_that_starts_while_a_server_drains(rig: Rig) -> None:
    draining(rig)
    rig.daemon.kill()
    writes = len(rig.writes())
    rig.start(DRAIN_TIMEOUT="3s")
    rig.wait_in_sync()
    assert len(rig.writes()) == writes  # it drains still
    assert rig.daemon.metrics().sum("servers_overridden") == 0, "taken for an operator's"
    rig.wait_parked(2)  # and its time begins anew


# --- the brake

BRAKE = {"MAX_LOSS_PERCENT": "50"}


def test_too_many_at_once_are_held_for_a_period(rig: Rig) -> None:
    rig.pods(1, 2, 3, 4)
    rig.start(**BRAKE, RESYNC_PERIOD="4s")
    rig.wait_servers(1, 2, 3, 4)
    rig.wait_in_sync()
    commits = rig.commits()
    rig.pods(1)
    rig.daemon.wait_log('level=warn msg="too many servers would be removed; removal delayed".*3 of 4 live servers.*removal_delayed="n2 until .*, n3 until .*, n4 until ')
    rig.daemon.wait_metric("servers_removal_delayed", 3)
    assert rig.daemon.metrics().sum("in_sync") == 0
    status, body = rig.daemon.get("/readyz")
    assert (status, rig.commits()) == (200, commits) and "3 of 4 live servers lost unannounced within one RESYNC_PERIOD" in body
    assert "; removal delayed: n2 until 20" in body
    assert not rig.resting() and not rig.calls(), "what is held is not told to leave"
    rig.wait_servers(1)
    rig.wait_parked(2, 3, 4)
    rig.wait_in_sync()
    assert rig.daemon.metrics().sum("servers_removal_delayed") == 0
    assert rig.commits() == commits


def test_one_by_one_is_no_way_round_the_limit(rig: Rig) -> None:
    for i in range(6, 10):
        rig.node(i)
    rig.pods(*range(1, 10))
    rig.start(**BRAKE, RESYNC_PERIOD="1h")
    rig.wait_servers(*range(1, 10))
    rig.wait_in_sync()
    for i in range(1, 9):
        rig.pods(*range(i + 1, 10))
        if i <= 4:
            rig.wait_servers(*range(i + 1, 10))
        else:
            rig.daemon.wait_metric("servers_removal_delayed", i - 4)
    rig.wait_servers(*range(5, 10))
    assert "; removal delayed: n5 until 20" in rig.daemon.get("/readyz")[1]
    rig.pods(*range(1, 10))
    rig.wait_servers(*range(1, 10))
    rig.daemon.wait_metric("servers_removal_delayed", 0)


def test_what_comes_back_was_never_gone(rig: Rig) -> None:
    rig.pods(1, 2, 3, 4)
    rig.start(**BRAKE)
    rig.wait_servers(1, 2, 3, 4)
    rig.wait_in_sync()
    commits = rig.commits()
    rig.pods(1)
    rig.daemon.wait_metric("servers_removal_delayed", 3)
    rig.pods(1, 2, 3, 4)
    rig.wait_in_sync()
    assert (rig.commits(), rig.fast_writes(), rig.calls()) == (commits, 0, 0)


def test_new_servers_do_not_wait_for_the_brake(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(**BRAKE)
    rig.wait_servers(1, 2)
    rig.pods(3, 4)
    rig.wait_servers(1, 2, 3, 4)
    rig.daemon.wait_metric("servers_removal_delayed", 2)
    rig.daemon.wait_log('removal_delayed="n1, n2"')


@pytest.mark.parametrize("announcement", ["terminating", "taint", "label"])
def test_what_is_announced_is_not_held(rig: Rig, announcement: str) -> None:
    rig.pods(1, 2, 3, 4)
    rig.start(**BRAKE, DRAIN_TIMEOUT="0")
    rig.wait_servers(1, 2, 3, 4)
    if announcement == "terminating":
        pods(rig, n1=objects.READY, n2=objects.TERMINATING, n3=objects.TERMINATING, n4=objects.TERMINATING)
    mark: dict[str, Any] = {"taint": {"taints": [("ToBeDeletedByClusterAutoscaler", "NoSchedule")]},
                            "label": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}}}.get(announcement, {})
    for i in (2, 3, 4) if mark else ():
        rig.node(i, **mark)
    rig.wait_servers(1)
    rig.wait_parked(2, 3, 4)
    assert "would be removed" not in rig.daemon.log()


def test_announced_after_it_went(rig: Rig) -> None:
    """The endpoints and the nodes come by two watches: which of them is first is chance."""
    rig.pods(1, 2, 3, 4)
    rig.start(**BRAKE, RESYNC_PERIOD="10m")
    rig.wait_servers(1, 2, 3, 4)
    rig.pods(1)
    rig.daemon.wait_metric("servers_removal_delayed", 3)
    for i in (2, 3, 4):
        rig.node(i, taints=[("ToBeDeletedByClusterAutoscaler", "NoSchedule")])
    rig.wait_servers(1)


def test_no_endpoint_left_is_not_the_brakes_to_hold(rig: Rig) -> None:
    rig.pods(1, 2, 3)
    rig.start(**BRAKE, ALLOW_EMPTY="true")
    rig.wait_servers(1, 2, 3)
    rig.pods()
    rig.wait_servers()
    rig.wait_parked(1, 2, 3)


# --- a dry run

def test_dry_run_writes_nothing_and_says_what_it_would(rig: Rig) -> None:
    rig.pods(2, 3)
    rig.start(DRY_RUN="true", RESYNC_PERIOD="1s")
    rig.daemon.wait_log(r'msg="changes not written".*DRY_RUN=true.*added=n2\(127.0.11.2:30443\),n3\(127.0.11.3:30443\) parked=n1 ')
    rig.daemon.wait_metric("changes_pending", 3)
    rig.daemon.wait_metric("dry_run", 1)
    rig.daemon.wait_ready()
    rig.pods(1)
    rig.wait_in_sync()
    assert rig.daemon.metrics().sum("changes_pending") == 0
    rig.pods(1, 2)
    rig.daemon.wait_log(r"parked=n1 [\s\S]*added=n2\(127.0.11.2:30443\)(?!,)")
    assert not rig.writes()
    assert rig.servers() == {"n1", "sorry"}


# --- two masters

def undo(rig: Rig) -> int:
    """Another controller, which wants n1 to be elsewhere; the version that it makes."""
    server = json.loads(rig.dataplane.get(f"/configuration/backends/{BACKEND}/servers/n1").body)
    answer = rig.dataplane.put(f"/configuration/backends/{BACKEND}/servers/n1?version={rig.dataplane.version()}",
                               {**server, "address": "127.0.11.77"})
    assert answer.status in (200, 202), answer.body
    return rig.dataplane.version()


def test_fight_is_ended_and_told(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    for _ in range(2):
        undo(rig)
        wait_until(lambda: "127.0.11.1:" in rig.addresses()["n1"], 20, "our address is back")
        rig.wait_in_sync()
    theirs = undo(rig)
    body = rig.daemon.wait_not_ready("another writer keeps reverting the daemon's changes")
    assert f"version {theirs} differs" in body and "server n1: address 127.0.11.77 -> 127.0.11.1" in body
    assert rig.daemon.metrics().sum("changes_reverted_total") == 3
    rig.pods(1, 2, 3)
    rig.daemon.wait_log("synced|MODIFIED")
    assert "n3" not in rig.servers()
    assert rig.daemon.process
    rig.daemon.process.signal(signal.SIGHUP)
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()


# --- what the Service says about weights and checks

def test_weights_follow_the_endpoints(rig: Rig) -> None:
    def on(*nodes: int) -> None:
        rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint(f"10.244.{n}.{10 + i}", f"n{n}") for i, n in enumerate(nodes)],
                                    namespace=NAMESPACE))

    def weights() -> dict[str, str]:
        return {name: line.split("weight ")[1].split()[0] for name, line in rig.lines().items() if name != "sorry"}

    rig.service(policy="Local")
    on(1, 2, 2, 3, 3, 3)
    rig.start(**BY_NODE_PORT, SERVER_WEIGHTS="endpoints")
    rig.wait_servers(1, 2, 3)
    wait_until(lambda: weights() == {"n1": "1", "n2": "2", "n3": "3"}, 20, "a weight for each number of endpoints")
    rig.wait_in_sync()
    commits = rig.commits()
    on(1, 1, 2, 3)
    wait_until(lambda: weights() == {"n1": "2", "n2": "1", "n3": "1"}, 20, "the weights after pods moved")
    rig.service(policy="Cluster")
    rig.daemon.wait_log("a setting has no effect.*SERVER_WEIGHTS=endpoints")
    wait_until(lambda: set(weights().values()) == {"100"}, 20, "equal weights where counting says nothing")
    rig.wait_in_sync()
    assert rig.commits() == commits and not rig.differences(), "weights need no reload"


def test_health_check_node_port_is_checked_by_http(rig: Rig) -> None:
    rig.service(policy="Local", type_="LoadBalancer", health_check_node_port=32123)
    rig.pods(1, 2)
    rig.start(**BY_NODE_PORT, HAPROXY_HEALTH_CHECK="node-port")
    rig.wait_servers(1, 2)
    wait_until(lambda: all("port 32123" in line for name, line in rig.lines().items() if name != "sorry"), 20, "the check's port")
    assert "option httpchk GET /healthz" in rig.dataplane.file()
    rig.wait_in_sync()
    rig.service(policy="Cluster", type_="LoadBalancer")
    wait_until(lambda: not any("port 32123" in line for line in rig.lines().values()), 20, "the server's own port again")
    wait_until(lambda: "option tcp-check" in rig.dataplane.file(), 20, "the backend's own check again")
    rig.wait_in_sync()
    rig.daemon.wait_log("a setting has no effect.*HAPROXY_HEALTH_CHECK=node-port")

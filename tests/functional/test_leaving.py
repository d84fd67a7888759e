"""How servers leave, and what is not written: draining, the brake, dry runs.
The machines are tested in virtual time in tests/unit; here it is the program, from a watch event to HAProxy."""

from __future__ import annotations

import json

from tests.harness import objects

from .rig import BACKEND, NAMESPACE, SERVICE, Rig


def pods(rig: Rig, **states: dict[str, bool]) -> None:
    """n1=READY, n2=TERMINATING, ...: one pod on each of these nodes."""
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint(f"10.244.{name[1:]}.7", name, state)
                                                   for name, state in states.items()], namespace=NAMESPACE))


def live(rig: Rig) -> set[str]:
    """Our servers whose line in the file is live, whatever the running HAProxy was sent."""
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


def test_end_of_a_drain_is_not_put_down_to_what_changed_nothing(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(DRAIN_TIMEOUT="3s")
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    rig.node(1, unschedulable=True)
    rig.wait_servers(1)
    rig.daemon.wait_log('cause="a drain ended"')


def test_daemon_that_ends_while_a_server_drains_leaves_it_to_the_next(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start()
    rig.wait_servers(1, 2)
    pods(rig, n1=objects.READY, n2=objects.TERMINATING)
    rig.wait_draining(2)
    rig.wait_in_sync()
    commits = rig.commits()
    rig.daemon.close()
    rig.wait_parked(2)
    assert 'msg="draining server saved in haproxy.cfg as maintenance for the next leader" backend=be server=n2' in rig.daemon.log()
    rig.pods(1, 2)  # ready again before the daemon reads
    rig.start()
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    assert not rig.resting() and rig.commits() == commits
    assert rig.daemon.metrics().sum("servers_overridden") == 0


# --- the brake

def test_too_many_at_once_are_held_for_a_period(rig: Rig) -> None:
    rig.pods(1, 2, 3, 4)
    rig.start(MAX_LOSS_PERCENT="50", RESYNC_PERIOD="4s")
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
    assert not rig.resting() and not rig.calls(), "what is held is not sent away"
    rig.wait_servers(1)
    rig.wait_parked(2, 3, 4)
    rig.wait_in_sync()
    assert rig.daemon.metrics().sum("servers_removal_delayed") == 0
    assert rig.commits() == commits


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

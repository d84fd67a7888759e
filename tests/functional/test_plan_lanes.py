"""`plan` and `explain`: what needs a reload and what does not, what is parked or set by hand, and several HAProxies."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess

from tests.harness import objects
from tests.harness.daemon import clean_env

from .rig import NAMESPACE, SERVICE, Rig, program
from .test_plan import LONGEST, look

# --- without a reload

def in_three_states(rig: Rig) -> None:
    """n1 serves, n2 drains, n3 is parked."""
    rig.start(DRAIN_TIMEOUT="1h")
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("10.244.1.7", "n1"),
                                                   objects.endpoint("10.244.2.7", "n2", objects.TERMINATING)], namespace=NAMESPACE))
    rig.wait_draining(2)
    rig.wait_parked(3)
    rig.wait_in_sync()


def test_beside_what_the_daemon_did(rig: Rig) -> None:
    """What the daemon told and parked is seen as such, and is no difference."""
    in_three_states(rig)
    run = look(rig, "plan", DRAIN_TIMEOUT="1h")
    assert run.status == 0, run.out
    assert run.said(r"= n2 127\.0\.11\.2:30443 weight 100 draining ") and run.said("parked: n3 ") and run.said("in step: 2 servers, 1 draining")
    be = look(rig, "plan", "-o", "json", DRAIN_TIMEOUT="1h").backend()
    assert (be["parked"], be["by_hand"], be["held"], be["told"], be["changes"]) == (["n3"], [], [], [], [])
    run = look(rig, "explain", "n2", DRAIN_TIMEOUT="1h")
    assert run.said("node n2: draining .*server n2 127.0.11.2:30443 check weight 100 drains: the running HAProxy alone was told.* next nothing")
    run = look(rig, "explain", "n3", DRAIN_TIMEOUT="1h")
    assert run.said("node n3: out .*disabled parked: in maintenance, kept.* next nothing: it stays parked")


def test_what_comes_next_needs_no_reload(rig: Rig) -> None:
    in_three_states(rig)
    assert rig.daemon
    rig.daemon.kill()  # a clean end would put n2 into maintenance
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("10.244.1.7", "n1", objects.TERMINATING),
                                                   objects.endpoint("10.244.3.7", "n3")], namespace=NAMESPACE))
    run = look(rig, "plan")
    assert run.status == 2
    assert run.said(r"~ n1 drain, in the running HAProxy alone .*~ n2 maintenance on \(parked\) .*~ n3 maintenance off ")
    assert run.out.endswith("  3 changes: 1 to change, 1 to drain, 1 to park; without a reload\n")
    be = look(rig, "plan", "-o", "json").backend()
    assert not be["reload"] and {c["server"]: c["state"] for c in be["changes"]} == {"n2": "out", "n3": "live"}
    assert look(rig, "explain", "n1").said("next ~ drain, in the running HAProxy alone: draining until")
    commits, writes = rig.commits(), rig.fast_writes()
    rig.start()
    rig.wait_draining(1)
    rig.wait_parked(2)
    rig.wait_in_sync()
    assert rig.commits() == commits and rig.fast_writes() == writes + 2
    run = look(rig, "plan", PARK_TTL="0")
    assert run.status == 2 and run.said("- n2 .*1 to remove; by a transaction and a reload"), "n1 drains in the file, then"


def test_a_state_set_by_hand(rig: Rig) -> None:
    rig.dataplane.put("/runtime/backends/be/servers/n1", {"admin_state": "maint"})
    run = look(rig, "plan")
    assert run.status == 0, "it is left alone"
    assert run.said("= n1 .*maint by hand .*! set by hand in the running HAProxy: n1 is in maint; left alone until taken back")
    assert look(rig, "plan", "-o", "json").backend()["by_hand"] == [{"server": "n1", "state": "maint"}]
    assert look(rig, "explain", "n1").said("node n1: live .*set to maint by hand in the running HAProxy")


def test_a_drain_of_the_only_one_that_could_serve(rig: Rig) -> None:
    """What a start would do: whose drain that is nobody knows, and nothing else is ready."""
    rig.dataplane.put("/runtime/backends/be/servers/n1", {"admin_state": "drain"})
    run = look(rig, "plan")
    assert run.status == 2 and run.said("~ n1 .*1 change: 1 to be ready; without a reload"), run.out


def test_haproxy_runs_something_else_than_its_file(rig: Rig) -> None:
    """An edit that nobody has loaded."""
    rig.hand_edit(rig.dataplane.file().replace("server n1 127.0.11.1:30443 check", "server n1 127.0.11.1:30444 check"))
    run = look(rig, "plan", HAPROXY_BACKEND_PORT="30444")
    assert run.status == 2
    assert run.said("reload again: HAProxy runs something else than its file says")
    assert run.said(r"note: .*server n1: HAProxy runs it at 127\.0\.11\.1:30443, not at 127\.0\.11\.1:30444")
    as_json = look(rig, "plan", "-o", "json", HAPROXY_BACKEND_PORT="30444")
    assert as_json.backend()["reload"] and "server n1" in as_json.json()["haproxies"][0]["drift"]


def test_haproxy_whose_runtime_cannot_be_read(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, deaf=True) as rig:
        rig.pods(1, 2)
        rig.kube.put(objects.slice_("web-2", SERVICE, [objects.endpoint("10.244.1.8", "n1")], namespace=NAMESPACE))
        run = look(rig, "plan")
        assert run.status == 2
        assert run.said(r"\+ n2 .*1 to add; by a transaction and a reload \(what HAProxy runs cannot be read: ")
        assert look(rig, "plan", "-o", "json").backend()["runtime"]
        assert look(rig, "explain", "n1").said("check weight 100 what HAProxy runs cannot be read: ")


# --- several HAProxies

def test_each_by_itself(tmp_path: pathlib.Path) -> None:
    """One in step, one behind, one away: a section for each, and the worst of them is the exit status."""
    with Rig(tmp_path, haproxies=3) as rig:
        first, second, third = rig.pairs
        second.dataplane.put("/configuration/backends/be/servers/n1?version=1",
                             {"name": "n1", "address": "127.0.11.9", "port": 30443, "check": "enabled", "weight": 100})
        run = look(rig, "plan")
        assert run.status == 2
        sections = re.split(r"^HAProxy (\S+)\n", run.out, flags=re.M)
        assert sections[1::2] == [pair.dataplane.url for pair in rig.pairs]
        assert ["in step: 1 server\n" in said for said in sections[2::2]] == [True, False, True]
        assert "~ n1  address 127.0.11.9 -> 127.0.11.1" in sections[4] and "without a reload" in sections[4]
        third.dataplane.stop()
        run = look(rig, "plan")
        assert run.status == 1
        assert run.said(rf"HAProxy {third.dataplane.url} could not tell: .*refused") and "1 change: " in run.out
        as_json = look(rig, "plan", "-o", "json")
        assert as_json.status == 1
        assert [(h["url"], h["in_step"], h["problem"] is None) for h in as_json.json()["haproxies"]] == [
            (first.dataplane.url, True, True), (second.dataplane.url, False, True), (third.dataplane.url, False, False)]
        assert [(b["haproxy"], b["verdict"]) for b in as_json.json()["backends"]] == [
            (first.dataplane.url, "in_step"), (second.dataplane.url, "changes"), (third.dataplane.url, "unseen")]
        run = look(rig, "explain", "n1")
        assert run.status == 0 and run.out.count("[x] known") == 1
        assert run.said(rf"HAProxy {second.dataplane.url} now in HAProxy server n1 127\.0\.11\.9:30443 .*next ~ address")
        assert run.said(rf"HAProxy {third.dataplane.url} now in HAProxy not known, HAProxy could not be read: ")


def test_two_are_silent(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, haproxies=3) as rig:
        silent = [rig.pairs[0].dataplane.process, rig.pairs[1].dataplane.process]
        for process in silent:
            assert process
            process.signal(signal.SIGSTOP)
        try:
            done = subprocess.run([program(), "plan", "-o", "json", "--timeout=5s"], env=clean_env(**rig.settings()),
                                  capture_output=True, text=True, timeout=LONGEST)
        finally:
            for process in silent:
                assert process
                process.signal(signal.SIGCONT)
        assert done.returncode == 1
        assert [b["verdict"] for b in json.loads(done.stdout)["backends"]] == ["unseen", "unseen", "in_step"]
        assert all("did not answer all within 5.0 s" in h["problem"] for h in json.loads(done.stdout)["haproxies"][:2])

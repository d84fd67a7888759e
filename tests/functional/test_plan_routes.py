"""`plan` and `explain`: what needs a reload and what does not, what is parked or set by an operator, and several HAProxies."""

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
    """What the daemon set at runtime and parked is recognised, and is no difference."""
    in_three_states(rig)
    run = look(rig, "plan", DRAIN_TIMEOUT="1h")
    assert run.status == 0, run.out
    assert run.said(r"= n2 127\.0\.11\.2:30443 weight 100 draining ") and run.said("parked: n3 ") and run.said("in sync: 2 servers, 1 draining")
    be = look(rig, "plan", "-o", "json", DRAIN_TIMEOUT="1h").backend()
    assert (be["parked"], be["overridden"], be["kept"], be["runtime_commands"], be["changes"]) == (["n3"], [], [], [], [])
    run = look(rig, "explain", "n2", DRAIN_TIMEOUT="1h")
    assert run.said("node n2: draining .*server n2 127.0.11.2:30443 check weight 100 draining, set at runtime only.* next nothing")
    run = look(rig, "explain", "n3", DRAIN_TIMEOUT="1h")
    assert run.said("node n3: out .*disabled parked: in maintenance, kept.* next nothing: it stays parked")


def test_haproxy_runs_something_else_than_its_file(rig: Rig) -> None:
    """An edit that was not loaded."""
    rig.hand_edit(rig.dataplane.file().replace("server n1 127.0.11.1:30443 check", "server n1 127.0.11.1:30444 check"))
    run = look(rig, "plan", HAPROXY_BACKEND_PORT="30444")
    assert run.status == 2
    assert run.said("reload due: running HAProxy differs from haproxy.cfg")
    assert run.said(r"note: .*server n1: HAProxy runs it at 127\.0\.11\.1:30443, not at 127\.0\.11\.1:30444")
    as_json = look(rig, "plan", "-o", "json", HAPROXY_BACKEND_PORT="30444")
    assert as_json.backend()["reload"] and "server n1" in as_json.json()["haproxies"][0]["drift"]


# --- several HAProxies

def test_each_by_itself(tmp_path: pathlib.Path) -> None:
    """One in sync, one behind, one away: a section for each, and the worst of them is the exit status."""
    with Rig(tmp_path, haproxies=3) as rig:
        first, second, third = rig.pairs
        second.dataplane.put("/configuration/backends/be/servers/n1?version=1",
                             {"name": "n1", "address": "127.0.11.9", "port": 30443, "check": "enabled", "weight": 100})
        run = look(rig, "plan")
        assert run.status == 2
        sections = re.split(r"^HAProxy (\S+)\n", run.out, flags=re.M)
        assert sections[1::2] == [pair.dataplane.url for pair in rig.pairs]
        assert ["in sync: 1 server\n" in said for said in sections[2::2]] == [True, False, True]
        assert "~ n1  address 127.0.11.9 -> 127.0.11.1" in sections[4] and "without a reload" in sections[4]
        third.dataplane.stop()
        run = look(rig, "plan")
        assert run.status == 1
        assert run.said(rf"HAProxy {third.dataplane.url} unknown: .*refused") and "1 change: " in run.out
        as_json = look(rig, "plan", "-o", "json")
        assert as_json.status == 1
        assert [(h["url"], h["in_sync"], h["problem"] is None) for h in as_json.json()["haproxies"]] == [
            (first.dataplane.url, True, True), (second.dataplane.url, False, True), (third.dataplane.url, False, False)]
        assert [(b["haproxy"], b["verdict"]) for b in as_json.json()["backends"]] == [
            (first.dataplane.url, "in_sync"), (second.dataplane.url, "changes"), (third.dataplane.url, "unknown")]
        run = look(rig, "explain", "n1")
        assert run.status == 0 and run.out.count("[x] known") == 1
        assert run.said(rf"HAProxy {second.dataplane.url} now in HAProxy server n1 127\.0\.11\.9:30443 .*next ~ address")
        assert run.said(rf"HAProxy {third.dataplane.url} now in HAProxy unknown, HAProxy could not be read: ")


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
        assert [b["verdict"] for b in json.loads(done.stdout)["backends"]] == ["unknown", "unknown", "in_sync"]
        assert all("did not answer all requests within 5.0 s" in h["problem"] for h in json.loads(done.stdout)["haproxies"][:2])

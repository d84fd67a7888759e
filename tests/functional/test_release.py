"""haproxy-k8s-sync release where something stands against it: each is said, and nothing is half done without a word."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.process import free_port

from .rig import NAMESPACE, TEMPLATE, Rig, program
from .test_endings import BEGIN, COMMIT, answer

Make = Callable[..., Rig]
LIVE = "  server n1 127.0.11.1:30443 check weight 100\n"
PARKED = "".join(f"  server n{i} 127.0.11.{i}:30443 check weight 100 disabled\n" for i in (2, 3))


@pytest.fixture
def with_lines(rig_of: Make) -> Make:
    return lambda lines=LIVE + PARKED, **more: rig_of(TEMPLATE.replace(LIVE, lines), **more)


def release(rig: Rig, *words: str, **settings: str) -> tuple[int, str]:
    env = rig.settings(LISTEN_ADDRESS=f"127.0.0.1:{free_port()}", **settings)
    ran = subprocess.run([str(program()), "release", "--timeout=5s", *words], env=env, capture_output=True, text=True, timeout=30, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_another_writer_that_is_first_costs_a_second_try(with_lines: Make) -> None:
    rig = with_lines()
    rig.dataplane.fault(answer(BEGIN, 409, "version mismatch"), answer(COMMIT, 409, "version mismatch"))
    status, said = release(rig, "--yes")
    assert status == 0 and "2 lines removed" in said, said
    assert set(rig.all_lines()) == {"n1", "sorry"}
    rig.wait_closed("in_progress")


@pytest.mark.parametrize("lines, fault", [
    (LIVE + PARKED, answer({"method": "PUT", "path": "/runtime/backends/be/servers/n1$"}, 400, "no such command")),
    (LIVE, {"action": "lie", "method": "PUT", "path": "/runtime/backends/be/servers/n1$"})], ids=["refused", "not applied"])
def test_drains_end_by_the_reload_where_commands_do_not_reach_haproxy(with_lines: Make, lines: str, fault: dict[str, Any]) -> None:
    rig = with_lines(lines)
    rig.haproxy.runtime("set server be/n1 state drain")
    rig.dataplane.fault({**fault, "times": 0})
    status, said = release(rig, "--yes", "--timeout=20s")
    assert status == 0 and "released" in said, said
    assert set(rig.all_lines()) == {"n1", "sorry"} and rig.runtime_states()["n1"] == "ready"


def test_json_says_the_same(with_lines: Make) -> None:
    rig = with_lines(haproxies=2)
    rig.haproxy.runtime("set server be/n1 state drain")
    first, url = rig.dataplane.url, rig.pairs[1].dataplane.url
    status, said = release(rig, "-o", "json")
    found = json.loads(said)
    assert status == 2 and found["released"] is found["writes"] is False and ["nothing shows one that runs elsewhere" in text for text in found["problems"]] == [True]
    assert found["haproxies"] == [{"url": place, "released": False, "problem": None} for place in (first, url)]
    one, other = found["backends"]
    changes = [{"op": "remove", "server": name, "parked": True} for name in ("n2", "n3")]
    assert (one["haproxy"], one["backend"], one["verdict"], one["changes"], one["drains"]) == (first, "be", "to_do", changes, ["n1"])
    assert (other["haproxy"], other["drains"], other["why"], other["exists"], other["kept"], other["unmanaged"]) == (url, [], None, True, 1, 1)
    rig.pairs[1].dataplane.stop()
    status, said = release(rig, "-o", "json", "--yes")
    found = json.loads(said)
    assert status == 1 and found["writes"] is True and "Connection refused" in found["haproxies"][1]["problem"]
    one, other = found["backends"]
    assert (one["verdict"], one["removed"], one["drains_ended"], one["changes"]) == ("released", 2, 1, [])
    assert (other["verdict"], other["removed"]) == ("unknown", 0)


@pytest.mark.parametrize("play", ["3.0", "3.4"])
def test_what_haproxy_rejects_stays_and_is_said(with_lines: Make, play: str) -> None:
    rig = with_lines(play=play)
    step = COMMIT if play == "3.0" else {"method": "POST", "path": "skip_reload=true"}
    rig.dataplane.fault({**answer(step, 400, "validation error: made up", headers={"Configuration-Version": "1"}), "times": 0})
    before = set(rig.all_lines())
    status, said = release(rig, "--yes")
    assert status == 1 and "failed" in said and "validation error: made up" in said, said
    assert set(rig.all_lines()) == before


def test_a_reload_that_fails_is_no_release(with_lines: Make) -> None:
    rig = with_lines(play="3.0")
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] cannot bind socket (Address already in use)"})
    status, said = release(rig, "--yes")
    assert status == 1 and "HAProxy could not load it" in said and "cannot bind socket" in said, said


def test_an_api_that_does_not_answer_leaves_the_other_haproxy_released(with_lines: Make) -> None:
    rig = with_lines(haproxies=2)
    rig.pairs[1].dataplane.stop()
    status, said = release(rig, "--yes")
    assert status == 1 and "could not be read" in said and "2 lines removed" in said, said
    assert set(rig.all_lines()) == {"n1", "sorry"}


def test_the_last_servers_are_not_removed_unasked(with_lines: Make) -> None:
    rig = with_lines(PARKED)
    status, said = release(rig, "--yes")
    assert status == 1 and "no server of backend be is live" in said and "release --servers" in said, said
    assert set(rig.all_lines()) == {"n2", "n3", "sorry"}


def test_what_is_not_managed_stays_and_is_counted(with_lines: Make) -> None:
    rig = with_lines()
    status, said = release(rig, "--servers", "--yes", "--daemon=none", HAPROXY_KEEP_SERVERS="n3")
    assert status == 0 and "2 lines removed" in said and "2 not managed" in said, said
    assert set(rig.all_lines()) == {"n3", "sorry"}


def lease(rig: Rig, seconds_ago: float) -> None:
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds_ago)
    renewed = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    rig.kube.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "haproxy-k8s-sync", "namespace": NAMESPACE},
                  "spec": {"holderIdentity": "lb1_1", "leaseDurationSeconds": 15, "acquireTime": renewed, "renewTime": renewed}})


def test_a_leader_elsewhere_is_a_daemon_that_runs(with_lines: Make) -> None:
    rig = with_lines()
    lease(rig, 1)
    status, said = release(rig, "--yes", LEADER_ELECT="true", LEASE_NAMESPACE=NAMESPACE)
    assert status == 1 and f"the Lease {NAMESPACE}/haproxy-k8s-sync is held by lb1_1" in said, said
    assert not rig.writes()
    lease(rig, 60)
    assert release(rig, "--yes", LEADER_ELECT="true", LEASE_NAMESPACE=NAMESPACE)[0] == 0


def test_live_servers_go_where_it_is_certain_that_no_daemon_runs(with_lines: Make) -> None:
    rig = with_lines()
    status, said = release(rig, "--servers", "--yes")
    assert status == 1 and "nothing shows one that runs elsewhere" in said and "release --servers --yes --daemon=none" in said, said
    rig.kube.stop()
    elect = {"LEADER_ELECT": "true", "LEASE_NAMESPACE": NAMESPACE}
    status, said = release(rig, "--servers", "--yes", **elect)
    assert status == 1 and "cannot be read" in said and not rig.writes(), said
    status, said = release(rig, "--servers", "--yes", "--daemon=none", **elect)
    assert status == 0 and set(rig.all_lines()) == {"sorry"}, said


def test_the_lease_makes_it_certain(with_lines: Make) -> None:
    rig = with_lines()
    lease(rig, 60)
    status, said = release(rig, "--servers", "--yes", LEADER_ELECT="true", LEASE_NAMESPACE=NAMESPACE)
    assert status == 0 and "elsewhere" not in said and set(rig.all_lines()) == {"sorry"}, said


def test_a_daemon_of_this_machine_that_listens_elsewhere(with_lines: Make) -> None:
    rig = with_lines()
    rig.service()
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    assert rig.daemon and rig.daemon.process
    before = rig.writes()
    for words in (["--yes"], ["--servers", "--yes"]):
        status, said = release(rig, *words)
        assert status == 1 and f"process {rig.daemon.process.pid} of this machine" in said and f"LISTEN_ADDRESS=127.0.0.1:{rig.daemon.port}" in said, said
    assert rig.writes() == before
    rig.daemon.wait_ready()
    assert release(rig, "--servers", "--yes", "--daemon=none")[0] == 0, "what is said to be so is believed"
    rig.daemon.wait_log('level=warn msg="another writer changed the backend" backend=be .*n1')
    rig.wait_servers(1)


def test_a_cluster_that_is_gone_does_not_stand_against_it(with_lines: Make) -> None:
    rig = with_lines()
    rig.kube.stop()
    status, said = release(rig, "--yes", LEADER_ELECT="true", LEASE_NAMESPACE=NAMESPACE)
    assert status == 0 and "make sure that none does" in said, said
    assert set(rig.all_lines()) == {"n1", "sorry"}

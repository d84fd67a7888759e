"""Two replicas, one HAProxy: one acts, the other stands by, and never both, whatever happens to the one that acts.

They are told apart by the name under which they ask the Data Plane API, and by their tokens towards Kubernetes."""

from __future__ import annotations

import pathlib
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import NAMESPACE, Rig, program

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/haproxy-k8s-sync"
HOSTS = {"a": "127.0.0.1", "b": "localhost"}
# A lease that nobody gives up lasts 15 s; the rest is for a busy machine.
TAKEN_OVER = 60.0


class Replicas:
    def __init__(self, rig: Rig):
        self.rig = rig
        rig.kube.tokens(**{f"token-{name}": "admin" for name in HOSTS})
        self.daemons = {name: self._make(name) for name in HOSTS}

    def _make(self, name: str) -> Daemon:
        url = self.rig.dataplane.url.replace("127.0.0.1", HOSTS[name])
        assert HOSTS[name] in url
        kubeconfig = self.rig.kube.kubeconfig(self.rig.home / f"kubeconfig-{name}", token=f"token-{name}")
        settings = self.rig.settings(LEADER_ELECT="true", HAPROXY_DATAPLANE_URL=url, KUBECONFIG=str(kubeconfig))
        return Daemon(self.rig.home / name, settings, program())

    def __getitem__(self, name: str) -> Daemon:
        return self.daemons[name]

    def start(self) -> "Replicas":
        """a leads, b stands by, HAProxy is in sync."""
        self["a"].start()
        self.wait_leads("a")
        self["a"].wait_metric("in_sync", 1)
        self["b"].start()
        self.wait_stands_by("b")
        return self

    def close(self, good: bool) -> None:
        for daemon in self.daemons.values():
            daemon.close() if good else daemon.kill()

    def wait_leads(self, name: str, timeout: float = 20.0) -> None:
        def leads() -> bool:
            assert self[name].metrics().sum("leader") == 1, "not leading"
            return True

        wait_until(leads, timeout, f"{name} leads; its log ends with:\n{self[name].tail()}")

    def wait_stands_by(self, name: str, timeout: float = 20.0) -> None:
        def stands_by() -> bool:
            status, body = self[name].get("/readyz")
            assert "standing by for " in body and status == 200, f"/readyz {status}: {body}"
            assert self[name].metrics().sum("leader") == 0
            return True

        wait_until(stands_by, timeout, f"{name} stands by; its log ends with:\n{self[name].tail()}")

    def lease(self) -> dict[str, Any]:
        return dict(self.rig.kube.control("GET", LEASE))

    def asked(self, name: str, since: float = 0.0, reads: bool = False) -> list[str]:
        """What it asked of the Data Plane API since then, reads only where they are wanted."""
        return [f"{r['method']} {r['path']}" for r in self.rig.dataplane.requests()
                if r["host"].startswith(HOSTS[name] + ":") and r["time"] >= since and (reads or r["method"] != "GET")]


@pytest.fixture
def replicas(tmp_path: pathlib.Path) -> Iterator[Replicas]:
    with Rig(tmp_path) as rig:
        made = Replicas(rig)
        try:
            yield made.start()
        except BaseException:
            made.close(False)
            raise
        made.close(True)


def test_one_writes_and_the_other_stands_by(replicas: Replicas) -> None:
    rig = replicas.rig
    first = replicas.lease()
    rig.pods(2, 3)
    rig.wait_servers(2, 3)
    assert replicas.asked("a"), "whose writes were they?"
    assert replicas.asked("b", reads=True) == []
    spec = first["spec"]
    assert spec["holderIdentity"] in replicas["a"].log() and spec["leaseDurationSeconds"] == 15 and spec["leaseTransitions"] == 0
    assert f"standing by for {spec['holderIdentity']}, which holds lease {NAMESPACE}/haproxy-k8s-sync" in replicas["b"].get("/readyz")[1]
    wait_until(lambda: replicas.lease()["spec"]["renewTime"] > spec["renewTime"], 20, "the Lease is renewed")
    assert replicas.lease()["spec"]["acquireTime"] == spec["acquireTime"]
    for resource in ("nodes", "endpointslices"):
        assert len(rig.kube.open_watches(resource)) == 2, "the caches of both are warm"


def test_a_clean_stop_hands_over_at_once(replicas: Replicas) -> None:
    rig = replicas.rig
    before = replicas.lease()
    stopped = time.time()
    replicas["a"].stop()
    # Long before the lease that was given up would have run out.
    replicas["b"].wait_log("leadership acquired", timeout=10)
    after = replicas.lease()
    assert after["spec"]["holderIdentity"] in replicas["b"].log()
    assert after["spec"]["leaseTransitions"] == before["spec"]["leaseTransitions"] + 1
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    rig.pods(3)
    rig.wait_servers(3)
    assert replicas.asked("b", stopped)
    last = [r["time"] for r in rig.dataplane.requests() if r["host"].startswith(HOSTS["a"]) and r["method"] != "GET"][-1:]
    first = [r["time"] for r in rig.dataplane.requests() if r["host"].startswith(HOSTS["b"]) and r["method"] != "GET"][0]
    assert not last or last[0] < first


def test_a_leader_that_is_stopped_for_longer_than_its_lease_does_not_write_when_it_wakes_up(replicas: Replicas) -> None:
    rig = replicas.rig
    stopped = time.time()
    replicas["a"].process.signal(signal.SIGSTOP)
    rig.pods(2, 3)
    replicas["b"].wait_log("leadership acquired", timeout=TAKEN_OVER)
    assert time.time() > stopped + 10, "sooner than the lease allows"
    rig.wait_servers(2, 3)
    rig.pods(4)  # the one that sleeps still wants what it wanted
    rig.wait_servers(4)
    replicas["a"].process.signal(signal.SIGCONT)
    replicas["a"].wait_log("leadership lost")
    replicas.wait_stands_by("a")
    rig.pods(4, 5)
    rig.wait_servers(4, 5)
    assert replicas.asked("a", stopped + 1) == []
    replicas["b"].stop()  # and the one that slept leads again
    replicas.wait_leads("a")
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    assert replicas.asked("a", stopped + 1) != []


BEGIN = {"method": "POST", "path": r"/transactions\?version="}


def test_a_leader_that_is_stopped_in_the_middle_of_a_transaction_does_not_go_on_with_it(replicas: Replicas) -> None:
    rig = replicas.rig
    rig.dataplane.fault({"action": "delay", **BEGIN, "seconds": 2, "times": 1})
    rig.pods(2)
    wait_until(lambda: replicas.asked("a")[-1:] and replicas.asked("a")[-1].startswith("POST ") and
               "/transactions?version=" in replicas.asked("a")[-1], 20, "a transaction is begun")
    replicas["a"].process.signal(signal.SIGSTOP)
    stopped = time.time()
    replicas["b"].wait_log("leadership acquired", timeout=TAKEN_OVER)
    rig.wait_servers(2)
    replicas["a"].process.signal(signal.SIGCONT)
    replicas.wait_stands_by("a")
    rig.pods(2, 3)
    rig.wait_servers(2, 3)
    assert replicas.asked("a", stopped) == [], "it is the other one's by now"


@pytest.mark.parametrize("loss", [{"hang": True}, {"status": 503}], ids=["hang", "503"])
def test_a_leader_that_loses_the_api_stops_before_another_begins(replicas: Replicas, loss: dict[str, Any]) -> None:
    rig = replicas.rig
    id_ = rig.kube.fault(resource="leases", token="token-a", times=0, **loss)
    replicas["a"].wait_log("leadership lost", timeout=TAKEN_OVER)
    deposed = time.time()
    assert "leadership acquired" not in replicas["b"].log(), "both led at the same time"
    rig.pods(2, 4)
    replicas["b"].wait_log("leadership acquired", timeout=TAKEN_OVER)
    rig.wait_servers(2, 4)
    assert replicas.asked("b")
    assert replicas.asked("a", deposed) == []
    assert re.search(r"\[-\]leader election: ", replicas["a"].get("/readyz")[1])
    assert replicas["a"].log().count("cannot read or write the Lease") <= 3, "said again and again"
    rig.kube.control("DELETE", f"/faults/{id_}")
    replicas.wait_stands_by("a")


def step_down_slowly(replicas: Replicas) -> int:
    """a loses the Lease with a transaction in hand, which it can take back in some 2 s only; the fault that did it."""
    rig = replicas.rig
    id_ = rig.kube.fault(resource="leases", token="token-a", times=0, hang=True)
    replicas["a"].wait_log("cannot read or write the Lease", timeout=TAKEN_OVER)  # some 4 s before it has to step down
    rig.dataplane.fault({"action": "delay", "method": "POST", "path": "/servers.transaction_id=", "seconds": 6, "times": 1})
    rig.pods(1, 2)
    replicas["a"].wait_log("leadership lost", timeout=TAKEN_OVER)
    assert rig.dataplane.get("/transactions").json(), "there is nothing to be taken back"
    return id_


def test_a_leader_that_is_elected_again_while_it_steps_down_begins_anew(replicas: Replicas) -> None:
    rig = replicas.rig
    id_ = step_down_slowly(replicas)
    rig.kube.control("DELETE", f"/faults/{id_}")
    replicas["a"].process.signal(signal.SIGHUP)
    wait_until(lambda: replicas["a"].log().count("leadership acquired") == 2, 10, "it leads again")
    assert replicas.asked("a")[-1].startswith("POST "), "it had stepped down by then"
    rig.wait_servers(1, 2)
    words = [r.split()[0] for r in replicas.asked("a")]
    assert "DELETE" in words and words[-1] != "DELETE"
    assert "leadership acquired" not in replicas["b"].log()


def test_a_leader_that_is_told_to_stop_while_it_steps_down_takes_its_transaction_back_first(replicas: Replicas) -> None:
    rig = replicas.rig
    id_ = step_down_slowly(replicas)
    replicas["a"].stop()
    assert not rig.dataplane.get("/transactions").json()
    assert replicas.asked("a")[-1].startswith("DELETE ")
    rig.kube.control("DELETE", f"/faults/{id_}")
    rig.dataplane.clear_faults()
    replicas.wait_leads("b", TAKEN_OVER)
    rig.wait_servers(1, 2)


def test_a_death_is_waited_out(replicas: Replicas) -> None:
    rig = replicas.rig
    replicas["a"].kill()
    rig.pods(5)
    replicas["b"].wait_log("leadership acquired", timeout=TAKEN_OVER)
    rig.wait_servers(5)
    transitions = replicas.lease()["spec"]["leaseTransitions"]
    replicas["a"].start()  # under another name: it is a candidate like any other
    replicas.wait_stands_by("a")
    assert replicas.lease()["spec"]["leaseTransitions"] == transitions == 1


def test_a_lease_that_is_deleted_is_made_again_by_the_one_that_leads(replicas: Replicas) -> None:
    rig = replicas.rig
    old = replicas.lease()
    rig.kube.control("DELETE", LEASE)

    def again() -> bool:
        return bool(replicas.lease()["metadata"]["uid"] != old["metadata"]["uid"])

    wait_until(again, 20, "the Lease is there again")
    assert replicas.lease()["spec"]["holderIdentity"] == old["spec"]["holderIdentity"]
    rig.pods(2)
    rig.wait_servers(2)
    assert replicas.asked("b", reads=True) == [] and "leadership acquired" not in replicas["b"].log()
    assert "leadership lost" not in replicas["a"].log()


def test_labels_and_other_members_of_the_lease_stay(replicas: Replicas) -> None:
    def marked() -> bool:
        tree = replicas.lease()
        tree["metadata"].setdefault("labels", {})["some"] = "body's"
        tree["spec"]["strategy"] = "OldestEmulationVersion"
        replicas.rig.kube.control("PUT", LEASE, tree)
        return True

    marked()
    written = replicas.lease()["spec"]["renewTime"]
    wait_until(lambda: replicas.lease()["spec"]["renewTime"] > written, 20, "the Lease is renewed")
    tree = replicas.lease()
    assert tree["metadata"]["labels"] == {"some": "body's"} and tree["spec"]["strategy"] == "OldestEmulationVersion"
    assert tree["spec"]["leaseTransitions"] == 0 and "leadership lost" not in replicas["a"].log()


def test_a_dry_run_is_no_candidate(rig: Rig) -> None:
    """Beside others with the same settings: it must not keep the Lease from one that writes, and standing by it would show nothing."""
    rig.pods(2)
    rig.start(LEADER_ELECT="true", DRY_RUN="true")
    rig.daemon.wait_log('msg="changes not written"')
    assert rig.daemon.log().count("LEADER_ELECT=true has no effect with DRY_RUN=true") == 1
    assert "leader election" not in rig.daemon.get("/readyz")[1]
    with pytest.raises(Exception, match="404"):
        rig.kube.control("GET", LEASE)
    assert [r for r in rig.dataplane.requests() if r["method"] != "GET"] == []


def test_a_replica_that_may_not_see_the_lease_says_so_and_does_nothing(rig: Rig) -> None:
    rig.kube.forbid("leases")
    rig.pods(2)
    daemon = rig.start(LEADER_ELECT="true")
    body = daemon.wait_not_ready("leader election: .*403.*forbidden")
    assert "leases" in body and "; deploy/rbac.yaml grants it" in body
    before = len(rig.dataplane.requests())
    wait_until(lambda: len([r for r in rig.kube.requests("leases", "get")]) >= 3, 30, "it goes on asking")
    assert daemon.log().count("cannot read or write the Lease") == 1
    assert len(rig.dataplane.requests()) == before and not rig.writes()
    rig.kube.forbid()
    rig.wait_servers(2)
    daemon.wait_ready()

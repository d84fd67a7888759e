"""Two replicas, one HAProxy: one acts, the other stands by, and never both, whatever happens to the one that acts.

They are told apart by the name under which they ask the Data Plane API, and by their tokens towards Kubernetes."""

from __future__ import annotations

import pathlib
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
        """What it asked of the Data Plane API since then, reads only where they are asked for."""
        return [f"{r['method']} {r['path']}" for r in self.rig.dataplane.requests()
                if r["host"].startswith(HOSTS[name] + ":") and r["time"] >= since and (reads or r["method"] != "GET")]


@pytest.fixture
def replicas(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Replicas]:
    with Rig(tmp_path, play=getattr(request, "param", "3.4")) as rig:
        made = Replicas(rig)
        try:
            yield made.start()
        except BaseException:
            made.close(False)
            raise
        made.close(True)


def test_one_writes_and_the_other_stands_by_until_it_is_handed_over(replicas: Replicas) -> None:
    rig, old = replicas.rig, replicas.lease()
    spec = old["spec"]
    rig.pods(2, 3)
    rig.wait_servers(2, 3)
    assert replicas.asked("a"), "whose writes were they?"
    assert spec["holderIdentity"] in replicas["a"].log() and spec["leaseDurationSeconds"] == 15 and spec["leaseTransitions"] == 0
    assert f"standing by for {spec['holderIdentity']}, which holds lease {NAMESPACE}/haproxy-k8s-sync" in replicas["b"].get("/readyz")[1]
    for resource in ("nodes", "endpointslices"):
        assert len(rig.kube.open_watches(resource)) == 2, "the caches of both are warm"
    wait_until(lambda: replicas.lease()["spec"]["renewTime"] > spec["renewTime"], 20, "the Lease is renewed")
    assert replicas.lease()["spec"]["acquireTime"] == spec["acquireTime"]
    rig.kube.control("DELETE", LEASE)
    wait_until(lambda: replicas.lease()["metadata"]["uid"] != old["metadata"]["uid"], 20, "the one that leads makes it again")
    before = replicas.lease()
    assert before["spec"]["holderIdentity"] == spec["holderIdentity"] and "leadership lost" not in replicas["a"].log()
    assert replicas.asked("b", reads=True) == [] and "leadership acquired" not in replicas["b"].log()
    replicas["a"].stop()
    # Long before the lease that was given up would have run out.
    replicas["b"].wait_log("leadership acquired", timeout=10)
    after = replicas.lease()
    assert after["spec"]["holderIdentity"] in replicas["b"].log()
    assert after["spec"]["leaseTransitions"] == before["spec"]["leaseTransitions"] + 1
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    rig.pods(3)
    rig.wait_servers(3)
    last, first = ([r["time"] for r in rig.dataplane.requests() if r["host"].startswith(HOSTS[name]) and r["method"] != "GET"] for name in HOSTS)
    assert last[-1] < first[0]


def test_a_leader_that_sleeps_amid_a_transaction_for_longer_than_its_lease_does_not_go_on_with_it(replicas: Replicas) -> None:
    rig = replicas.rig
    rig.dataplane.fault({"action": "delay", "method": "POST", "path": r"/transactions\?version=", "seconds": 2, "times": 1})
    rig.pods(2)
    wait_until(lambda: "POST " in (last := "".join(replicas.asked("a")[-1:])) and "/transactions?version=" in last, 20, "a transaction is begun")
    replicas["a"].process.signal(signal.SIGSTOP)
    stopped = time.time()
    replicas["b"].wait_log("leadership acquired", timeout=TAKEN_OVER)
    assert time.time() > stopped + 10, "sooner than the lease allows"
    rig.wait_servers(2)
    replicas["a"].process.signal(signal.SIGCONT)
    replicas["a"].wait_log("leadership lost")
    replicas.wait_stands_by("a")
    rig.pods(4, 5)
    rig.wait_servers(4, 5)
    assert replicas.asked("a", stopped) == [], "it is the other one's by now"
    replicas["b"].stop()  # and the one that slept leads again
    replicas.wait_leads("a")
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    assert replicas.asked("a", stopped) != []


def step_down_slowly(replicas: Replicas) -> int:
    """a loses the Lease with a transaction in hand, which it can take back in some 2 s only; the fault that did it."""
    rig = replicas.rig
    id_ = rig.kube.fault(resource="leases", token="token-a", times=0, hang=True)
    replicas["a"].wait_log("cannot read or write the Lease", timeout=TAKEN_OVER)  # some 4 s before it has to step down
    rig.dataplane.fault({"action": "delay", "method": "POST", "path": "/servers.transaction_id=", "seconds": 6, "times": 1})
    rig.pods(1, 2)
    replicas["a"].wait_log("leadership lost", timeout=TAKEN_OVER)
    assert "leadership acquired" not in replicas["b"].log(), "both led at the same time"
    assert replicas["a"].log().count("cannot read or write the Lease") <= 3, "said again and again"
    assert rig.dataplane.get("/transactions").json(), "there is nothing to be taken back"
    return id_


@pytest.mark.parametrize("replicas", ["3.0"], indirect=True)  # each new server takes a transaction
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


@pytest.mark.parametrize("replicas", ["3.0"], indirect=True)
def test_a_leader_that_stops_while_it_steps_down_takes_its_transaction_back_first(replicas: Replicas) -> None:
    rig = replicas.rig
    id_ = step_down_slowly(replicas)
    replicas["a"].stop()
    assert not rig.dataplane.get("/transactions").json()
    assert replicas.asked("a")[-1].startswith("DELETE ")
    rig.kube.control("DELETE", f"/faults/{id_}")
    rig.dataplane.clear_faults()
    replicas.wait_leads("b", TAKEN_OVER)
    rig.wait_servers(1, 2)


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

"""Two lanes, and parking: what goes without a reload, what needs one, and what stays of a server that is out. The rules are tables in
tests/unit, the timing is tested there in virtual time; here it is the program, from a watch event to a real HAProxy."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.process import wait_until

from .rig import NAMESPACE, SERVICE, Rig

DELETION_TAINT = ("ToBeDeletedByClusterAutoscaler", "NoSchedule")
WRITE = {"method": "PUT", "path": r"/configuration/backends/be/servers/\w+\?version="}
CALL = {"method": "PUT", "path": r"/runtime/backends/be/servers/"}
COMMIT = {"method": "PUT", "path": r"/transactions/[^?]+$"}


def endpoints(rig: Rig, ready: Iterable[int] = (), terminating: Iterable[int] = ()) -> None:
    states = [(i, objects.READY) for i in ready] + [(i, objects.TERMINATING) for i in terminating]
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint(f"10.244.{i}.7", f"n{i}", state) for i, state in sorted(states, key=str)],
                                namespace=NAMESPACE))


def in_step(rig: Rig, *nodes: int, **settings: str) -> None:
    """With pods on these nodes, which are in the file and run."""
    rig.pods(*nodes)
    rig.start(**settings)
    rig.wait_servers(*nodes)
    rig.wait_in_sync()


class Reloads:
    """What a reload would change: taken when made, `none()` says that there was not any since."""

    def __init__(self, rig: Rig):
        self.rig = rig
        self.before = self._now()

    def _now(self) -> tuple[int, int]:
        return self.rig.commits(), self.rig.haproxy.worker()

    def none(self) -> None:
        assert self._now() == self.before, "commits and HAProxy's worker"


def settled(rig: Rig) -> None:
    rig.wait_in_sync()
    assert not rig.differences()
    rig.wait_closed()


# --- without a reload

def test_rolling_update_of_known_nodes_is_no_reload(rig: Rig) -> None:
    nodes = {1, 2, 3, 4}
    in_step(rig, *nodes)
    settled(rig)
    reloads = Reloads(rig)
    for i in sorted(nodes):
        others = sorted(nodes - {i})
        endpoints(rig, others, [i])
        rig.wait_draining(i)
        assert rig.parked() == set()
        endpoints(rig, others)
        rig.wait_parked(i)
        assert rig.servers() == {f"n{k}" for k in others} | {"sorry"}
        rig.pods(*nodes)
        rig.wait_servers(*nodes)
        assert rig.resting() == set()
    settled(rig)
    reloads.none()
    metrics = rig.daemon.metrics()
    assert metrics.sum("reloads_total") == reloads.before[0] == 1  # of the start
    assert metrics.sum("transactions_total") == 1
    assert metrics.sum("runtime_updates_total") == metrics.sum("runtime_updates_total", result="applied") == rig.fast_writes() == 8
    assert metrics.sum("runtime_commands_total", state="drain", result="applied") == 4
    assert metrics.sum("runtime_commands_total", state="maint", result="applied") == 4
    assert metrics.sum("runtime_commands_total") == rig.calls() == 8
    assert metrics.sum("watch_event_to_runtime_seconds_count") == 8
    assert metrics.state("runtime_verification", target=rig.dataplane.url) == "verified"


def test_address_port_and_weight_are_no_reload(rig: Rig) -> None:
    rig.service(policy="Local")
    in_step(rig, 1, 2, HAPROXY_BACKEND_PORT="", SERVER_WEIGHTS="endpoints")
    settled(rig)
    reloads = Reloads(rig)
    rig.node(2, "127.0.11.22")
    rig.wait_addresses({"n1": "127.0.11.1:30443", "n2": "127.0.11.22:30443"})
    rig.service(policy="Local", node_ports={"https": (443, 31443)})
    rig.wait_addresses({"n1": "127.0.11.1:31443", "n2": "127.0.11.22:31443"})
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint(f"10.244.{i}.{k}", f"n{i}") for i, k in ((1, 7), (2, 7), (2, 8))],
                                namespace=NAMESPACE))
    wait_until(lambda: "weight 2" in rig.lines()["n2"], 20, "n2's weight")
    settled(rig)
    reloads.none()
    assert rig.haproxy.servers("be")["n2"]["srv_uweight"] == "2"


# --- draining, parked, back


def test_parked_stays_so_through_reloads_and_restarts(rig: Rig) -> None:
    in_step(rig, 1, 2)
    rig.pods(1)
    rig.wait_parked(2)
    settled(rig)
    answer = rig.dataplane.commit(rig.dataplane.begin())  # a stranger's
    rig.dataplane.follow(answer.headers["Reload-ID"])
    compared_since(rig)
    assert rig.parked() == {"n2"} and rig.runtime_states()["n2"] == "maint"
    rig.daemon.restart()
    rig.wait_in_sync()
    rig.haproxy.stop()
    rig.haproxy.start()
    compared_since(rig)
    rig.wait_in_sync()
    assert rig.parked() == {"n2"} and rig.runtime_states()["n2"] == "maint"
    reloads, writes = Reloads(rig), len(rig.writes())
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    settled(rig)
    reloads.none()
    assert len(rig.writes()) == writes + 1


def compared_since(rig: Rig) -> None:
    """Until HAProxy was compared anew."""
    assert rig.daemon and rig.daemon.process
    before = rig.daemon.metrics().sum("reconciles_total")
    rig.daemon.process.signal(1)
    rig.daemon.wait_metric("reconciles_total", before + 1)
    rig.wait_in_sync()


# --- what needs a reload


def test_all_that_run_stay_until_the_reload_that_brings_others(tmp_path: pathlib.Path) -> None:
    """The file has the new one as soon as it is committed; the running HAProxy has nobody but the old ones before its reload, where the API cannot
    add servers to it."""
    with Rig(tmp_path, play="3.0") as rig:
        others_come(rig)


def others_come(rig: Rig) -> None:
    in_step(rig, 1, 2)
    rig.dataplane.fault({"action": "hold-ticker"})
    rig.pods(3)
    rig.daemon.wait_metric("servers_desired", 1)
    wait_until(lambda: "n3" in rig.servers() and rig.parked() == {"n1", "n2"}, 20, "the commit")
    wait_until(lambda: "waiting for reload" in rig.daemon.get("/readyz")[1], 20, "/readyz to say that a reload is to come")
    rig.daemon.process.signal(1)
    asked = rig.daemon.metrics().sum("http_requests_total", target=rig.dataplane.url)
    rig.daemon.wait_metric("http_requests_total", asked + 10, target=rig.dataplane.url)
    assert rig.runtime_states() == {"n1": "ready", "n2": "ready", "sorry": "ready"}
    assert rig.calls() == rig.fast_writes() == 0
    rig.dataplane.clear_faults()
    rig.wait_servers(3)
    rig.wait_parked(1, 2)
    settled(rig)
    assert rig.commits() == 2, "the one of the start, and one for n3"


# --- spares


def test_spares_make_the_first_pod_on_a_node_cost_no_reload(rig: Rig) -> None:
    rig.node(5, taints=[DELETION_TAINT])  # not eligible
    rig.start(PARK_NODES="true")
    rig.wait_servers(1)
    rig.wait_parked(2, 3, 4)
    settled(rig)
    gauges = rig.daemon.metrics()
    assert (gauges.sum("servers_desired"), gauges.sum("servers_configured"), gauges.sum("servers_parked")) == (1, 1, 3)
    reloads = Reloads(rig)
    rig.pods(1, 3, 4)
    rig.wait_servers(1, 3, 4)
    rig.pods(2)
    rig.wait_servers(2)
    rig.wait_parked(1, 3, 4)
    settled(rig)
    reloads.none()
    rig.node(6, "127.0.11.6")  # a new node becomes a spare
    rig.wait_parked(1, 3, 4, 6)
    settled(rig)
    assert rig.commits() == reloads.before[0] + 1


# --- endings of a write

@pytest.mark.parametrize("ending", [{"action": "close", "apply": True, "times": 2},  # libcurl sends it again
                                    {"action": "answer", "status": 503, "body": "", "headers": {"Retry-After": "1"}, "times": 1}], ids=["closed-after", "503"])
def test_write_that_ends_badly_is_made_good(rig: Rig, ending: dict[str, Any]) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({**ending, **WRITE})
    rig.pods(1, 2)
    rig.wait_parked(3)
    settled(rig)
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    settled(rig)


def test_own_death_in_a_write(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({"action": "delay", **WRITE, "seconds": 1.0, "times": 1})
    rig.pods(1)
    rig.daemon.wait_log("server=n3 state=maint")
    rig.daemon.kill()
    rig.dataplane.clear_faults()
    rig.daemon.start()
    rig.wait_servers(1)
    rig.wait_parked(2, 3)
    settled(rig)


# --- the brake

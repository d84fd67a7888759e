"""Two lanes, and parking: what goes without a reload, what needs one, and what stays of a server that is out. The rules are tables in
tests/unit, the timing is tested there in virtual time; here it is the program, from a watch event to a real HAProxy."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterable
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.process import wait_until

from .rig import NAMESPACE, SERVICE, TEMPLATE, Rig

DELETION_TAINT = ("ToBeDeletedByClusterAutoscaler", "NoSchedule")
WRITE = {"method": "PUT", "path": r"/configuration/backends/be/servers/\w+\?version="}
CALL = {"method": "PUT", "path": r"/runtime/backends/be/servers/"}
READ_ONE = {"method": "GET", "path": r"/runtime/backends/be/servers/\w+$"}
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


def test_pods_that_move_among_known_nodes_are_no_reload(rig: Rig) -> None:
    in_step(rig, 1, 2, 3, 4)
    reloads = Reloads(rig)
    for nodes in ((1, 2), (3, 4), (1, 4), (2,), (1, 2, 3, 4)):
        rig.pods(*nodes)
        rig.wait_servers(*nodes)
        rig.wait_parked(*{1, 2, 3, 4} - set(nodes))
        settled(rig)
        gauges = rig.daemon.metrics()
        assert (gauges.sum("servers_configured"), gauges.sum("servers_parked")) == (len(nodes), 4 - len(nodes))
    reloads.none()


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


def test_one_that_comes_back_elsewhere_never_runs_at_its_old_place(rig: Rig) -> None:
    in_step(rig, 1, 2)
    rig.pods(1)
    rig.wait_parked(2)
    settled(rig)
    reloads, since = Reloads(rig), len(rig.writes())
    rig.node(2, "127.0.11.22")
    rig.dataplane.fault({"action": "delay", **WRITE, "nth": 2, "times": 1, "seconds": 1.0})  # the moment between the two
    rig.pods(1, 2)
    wait_until(lambda: "127.0.11.22:" in rig.all_lines()["n2"], 20, "the new address")
    assert rig.parked() == {"n2"} and rig.runtime_states()["n2"] == "maint"
    rig.wait_servers(1, 2)
    settled(rig)
    reloads.none()
    assert [(method, status) for method, _, status in rig.writes()[since:]] == [("PUT", 200)] * 2


def test_takeover_of_lines_alone_parks_them_without_a_reload(tmp_path: Any) -> None:
    body = TEMPLATE.replace("  server sorry", "  server n7 127.0.11.70:1 check weight 100\n  server sorry")
    with Rig(tmp_path, body) as rig:
        reloads = Reloads(rig)
        rig.start()
        rig.wait_servers(1)
        rig.wait_parked(7)
        settled(rig)
        reloads.none()
        assert len(re.findall("taking over the backend: parking .*server=n7 ", rig.daemon.log())) == 1


# --- draining, parked, back

def test_drain_then_park_then_back(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    reloads = Reloads(rig)
    since = len(rig.writes())
    endpoints(rig, [1, 2], [3])
    rig.wait_draining(3)
    rig.wait_in_sync()
    assert not rig.parked()
    endpoints(rig, [1, 2])
    rig.wait_parked(3)
    settled(rig)
    assert rig.pairs[0].running() == {"n1", "n2", "sorry"}
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    settled(rig)
    reloads.none()
    assert [(method, re.sub(r"\?.*", "", path).split("/haproxy/")[1]) for method, path, _ in rig.writes()[since:]] == [
        ("PUT", "runtime/backends/be/servers/n3"), ("PUT", "runtime/backends/be/servers/n3"),
        ("PUT", "configuration/backends/be/servers/n3"), ("PUT", "configuration/backends/be/servers/n3")]


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


@pytest.mark.parametrize("state", ["ready", "drain"])
def test_parked_server_that_somebody_starts_is_stopped_again(rig: Rig, state: str) -> None:
    in_step(rig, 1, 2, RESYNC_PERIOD="1s")
    rig.pods(1)
    rig.wait_parked(2)
    settled(rig)
    reloads, told = Reloads(rig), rig.calls()
    rig.haproxy.runtime(f"set server be/n2 state {state}")
    if state == "ready":
        rig.wait_parked(2)
        assert rig.calls() == told + 1
    else:  # that takes nothing new: no reason to interfere
        compared_since(rig)
        assert rig.calls() == told
    rig.wait_in_sync()
    reloads.none()


# --- what needs a reload

def committed_at(rig: Rig) -> list[float]:
    return [datetime.datetime.fromisoformat(at).timestamp() for at in re.findall(
        r'^time=(\S+)Z level=info msg="backend changed" ', rig.daemon.log(), re.M)]


def test_first_new_server_is_written_at_once_and_later_ones_gather(rig: Rig) -> None:
    in_step(rig, 1)
    rig.pods(1, 2)
    wait_until(lambda: rig.commits() == 1, 20, "the first transaction")
    since = time.monotonic()
    for i in (3, 4, 5):
        rig.pods(*range(1, i + 1))
        rig.daemon.wait_metric("servers_desired", i)
    soon = time.monotonic() - since < 1.5
    rig.wait_servers(1, 2, 3, 4, 5)
    settled(rig)
    times = committed_at(rig)
    assert all(b - a >= 2 for a, b in zip(times, times[1:])), times
    assert len(times) == rig.commits() and (rig.commits() == 2 or not soon)
    took = {key: float(ms) for key, ms in re.findall(r"(\w+_ms)=([0-9.]+)", re.search('"backend changed".*', rig.daemon.log())[0])}
    assert took["event_to_commit_ms"] - took["begin_ms"] - took["change_ms"] - took["commit_ms"] < 1500, "the first one waited"


def test_fast_lane_does_not_wait_for_the_others_pause(rig: Rig) -> None:
    """Where the machine was too busy to change anything before the pause was over, one transaction has both, and it is tried anew."""
    in_step(rig, 1, 2, 3)
    for new in (4, 6, 8, 10, 12):
        rig.node(new)
        rig.node(new + 1)
        commits = rig.commits()
        rig.pods(1, 2, 3, new)
        wait_until(lambda: rig.commits() == commits + 1, 20, "a transaction, which the next one waits for")
        rig.pods(1, 2, new, new + 1)
        rig.wait_servers(1, 2, new, new + 1)
        settled(rig)
        assert rig.parked() >= {"n3"}
        log = rig.daemon.log()
        log = log[log.index(f"added=n{new}("):]
        parked, added = log.find('what="maintenance on (parked)"'), log.find(f"added=n{new + 1}(")
        if 0 < parked < added:
            return
        rig.pods(1, 2, 3)
        rig.wait_servers(1, 2, 3)
        settled(rig)
    pytest.fail("a server that left was never parked before the next transaction")


def test_draining_server_is_disabled_by_a_transaction_made_meanwhile(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    endpoints(rig, [1, 2], [3])
    rig.wait_draining(3)
    rig.wait_in_sync()
    assert not rig.parked()
    endpoints(rig, [1, 2, 4], [3])
    rig.wait_servers(1, 2, 4)
    rig.wait_parked(3)
    settled(rig)
    assert rig.daemon.metrics().sum("servers_draining") == 1
    assert rig.daemon.metrics().sum("servers_overridden") == 0
    reloads = Reloads(rig)
    rig.pods(1, 2, 3, 4)
    rig.wait_servers(1, 2, 3, 4)
    settled(rig)
    reloads.none()


@pytest.mark.parametrize("at_once", [True, False], ids=["at-once", "one-after-the-other"])
def test_all_that_run_stay_until_the_reload_that_brings_others(rig: Rig, at_once: bool) -> None:
    """The file has the new one as soon as it is committed; the running HAProxy has nobody but the old ones before its reload."""
    in_step(rig, 1, 2)
    rig.dataplane.fault({"action": "hold-ticker"})
    if not at_once:
        rig.pods(1, 2, 3)
        wait_until(lambda: "n3" in rig.servers(), 20, "the commit")
    rig.pods(3)
    rig.daemon.wait_metric("servers_desired", 1)
    wait_until(lambda: "n3" in rig.servers() and rig.parked() == ({"n1", "n2"} if at_once else set()), 20, "the commit")
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


# --- how long one is parked

def test_without_parking_a_server_goes_by_a_transaction(rig: Rig) -> None:
    in_step(rig, 1, 2, PARK_TTL="0")
    commits = rig.commits()
    rig.pods(1)
    rig.wait_servers(1)
    settled(rig)
    assert set(rig.all_lines()) == {"n1", "sorry"}
    assert (rig.commits(), rig.fast_writes()) == (commits + 1, 0)
    log = rig.daemon.log()
    assert 0 < log.find("server=n2 state=maint") < log.find("removed=n2 "), "stopped first, then removed"
    assert rig.daemon.metrics().sum("servers_parked") == 0


def test_parked_stays_for_its_time_and_goes_with_a_transaction(rig: Rig) -> None:
    in_step(rig, 1, 2, PARK_TTL="2s", RESYNC_PERIOD="1s")
    commits = rig.commits()
    rig.pods(1)
    rig.wait_parked(2)
    parked_at = time.monotonic()
    settled(rig)
    wait_until(lambda: time.monotonic() > parked_at + 4, 20, "twice its time")
    compared_since(rig)
    assert rig.parked() == {"n2"} and rig.commits() == commits, "a reload for that alone"
    rig.pods(1, 3)
    rig.wait_servers(1, 3)
    settled(rig)
    assert set(rig.all_lines()) == {"n1", "n3", "sorry"} and rig.commits() == commits + 1
    rig.daemon.wait_log('removed=n2 .*n2: it was parked for PARK_TTL')


def test_parked_stays_through_a_transaction_before_its_time(rig: Rig) -> None:
    in_step(rig, 1, 2)
    rig.pods(1)
    rig.wait_parked(2)
    rig.pods(1, 3)
    rig.wait_servers(1, 3)
    settled(rig)
    assert rig.parked() == {"n2"}


def test_parked_goes_with_the_next_transaction_once_its_node_is_gone(rig: Rig) -> None:
    in_step(rig, 1, 2)
    commits = rig.commits()
    rig.pods(1)
    rig.wait_parked(2)
    rig.kube.delete(objects.node("n2"))
    rig.daemon.wait_metric("cached_objects", 4, resource="nodes")
    wait_until(lambda: rig.daemon.metrics().sum("cached_objects", resource="nodes") == 4, 20, "the node's end to be seen")
    compared_since(rig)
    assert rig.parked() == {"n2"} and rig.commits() == commits, "a reload for that alone"
    rig.pods(1, 3)
    rig.wait_servers(1, 3)
    settled(rig)
    assert set(rig.all_lines()) == {"n1", "n3", "sorry"}
    rig.daemon.wait_log("removed=n2 .*Kubernetes has no node of that name")


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


def test_spares_need_somebody_in_rotation(rig: Rig) -> None:
    """The mapping is not known: nothing is made of it, nothing parked."""
    rig.start(PARK_NODES="true", HAPROXY_BACKEND_PORT="")
    rig.daemon.wait_not_ready("mapping")
    assert not rig.writes()


# --- endings of a write

ENDINGS: dict[str, dict[str, Any]] = {
    "conflict": {"action": "answer", "status": 409, "body": {"code": 409, "message": "version mismatch"}},
    "gone": {"action": "answer", "status": 404, "body": {"code": 404, "message": "missing object"}},
    "500": {"action": "answer", "status": 500, "body": {"code": 500, "message": "the disk is full"}},
    "503": {"action": "answer", "status": 503, "body": "", "headers": {"Retry-After": "1"}},
    "closed": {"action": "close"},
    "reset": {"action": "close", "reset": True},
    "closed-after": {"action": "close", "apply": True},
    "html": {"action": "html"},
    "garbage": {"action": "garbage"},
    "cut": {"action": "truncate", "bytes": 1},
}


@pytest.mark.parametrize("what", ENDINGS)
def test_write_that_ends_badly_is_made_good(rig: Rig, what: str) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({**ENDINGS[what], **WRITE, "times": 2 if what.startswith("closed") else 1})  # libcurl sends it again
    rig.pods(1, 2)
    rig.wait_parked(3)
    settled(rig)
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    settled(rig)


@pytest.mark.parametrize("what", ["500", "closed", "garbage", "gone"])
def test_call_that_ends_badly_is_made_good(rig: Rig, what: str) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({**ENDINGS[what], **CALL, "times": 2})
    endpoints(rig, [1, 2], [3])
    wait_until(lambda: "n3" in rig.resting(), 20, "no new connections for n3")
    rig.wait_in_sync()
    assert rig.resting() == {"n3"}


def test_who_leaves_waits_for_who_comes_back(rig: Rig) -> None:
    """One that drained is the only one again, and the command for it fails: until it is ready the other one stays."""
    in_step(rig, 1, 2)
    endpoints(rig, [1], [2])
    rig.wait_draining(2)
    rig.wait_in_sync()
    seen = len(rig.dataplane.requests())
    rig.dataplane.fault({**ENDINGS["500"], "method": "PUT", "path": "/runtime/backends/be/servers/n2", "times": 1})
    endpoints(rig, [2])
    rig.wait_parked(1)
    settled(rig)
    told = [r["path"] for r in rig.dataplane.requests()[seen:] if r["method"] == "PUT"]
    back = [i for i, path in enumerate(told) if path.endswith("/runtime/backends/be/servers/n2")]
    left = [i for i, path in enumerate(told) if "servers/n1" in path]
    assert len(back) == 2 and left and back[1] < left[0], told


def test_refused_write_is_said_and_tried_again_with_the_next_wish(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({"action": "answer", **WRITE, "status": 422, "body": {"code": 422, "message": "weight is wrong"}})
    rig.pods(1, 2)
    rig.daemon.wait_not_ready("rejected the change.*weight is wrong")
    assert rig.runtime_states()["n3"] == "maint", "it was told before"
    seen = len(rig.writes())
    compared = rig.daemon.metrics().sum("http_requests_total", target=rig.dataplane.url)
    rig.dataplane.clear_faults()
    rig.pods(1)
    rig.wait_parked(2, 3)
    settled(rig)
    assert len(rig.writes()) > seen and rig.daemon.metrics().sum("http_requests_total", target=rig.dataplane.url) > compared


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


def test_stop_amid_a_write_lets_it_end(rig: Rig) -> None:
    in_step(rig, 1, 2)
    rig.dataplane.fault({"action": "delay", **WRITE, "seconds": 1.0, "times": 1})
    rig.pods(1)
    rig.daemon.wait_log("server=n2 state=maint")
    wait_until(lambda: rig.daemon.metrics().sum("in_sync") == 0, 10, "the change to begin")
    rig.daemon.stop()
    rig.daemon = None
    rig.wait_parked(2)  # neither half nor forgotten
    assert not rig.differences() and not rig.transactions()


# --- the brake

def test_what_is_held_serves_though_it_was_told_to_leave(rig: Rig) -> None:
    limit = {"MAX_LOSS_PERCENT": "50", "RESYNC_PERIOD": "1m"}
    in_step(rig, 1, 2, 3, 4, 5, **limit)
    rig.dataplane.fault({"action": "answer", **WRITE, "status": 503, "times": 1000})
    rig.node(5, taints=[DELETION_TAINT])
    rig.daemon.wait_log("server=n5 state=maint")
    assert rig.resting() == {"n5"}
    rig.daemon.kill()  # and nobody knows any more that it was announced
    rig.dataplane.clear_faults()
    rig.node(5)
    rig.pods(1)
    rig.start(**limit)
    rig.daemon.wait_metric("servers_removal_delayed", 4)
    wait_until(lambda: rig.resting() == set(), 20, "n5 to serve again")
    rig.daemon.wait_log('server=n5 state=ready why="its removal is delayed by the loss limit"')
    assert all("disabled" not in line for line in rig.lines().values()), rig.lines()


def test_what_the_brake_holds_is_neither_told_nor_written(rig: Rig) -> None:
    in_step(rig, 1, 2, 3, 4, 5, MAX_LOSS_PERCENT="50", RESYNC_PERIOD="1m")
    writes = len(rig.writes())
    rig.pods(1)
    rig.daemon.wait_metric("servers_removal_delayed", 4)
    rig.node(1, "127.0.11.111")  # goes on meanwhile, and comes after
    rig.wait_addresses({"n1": "127.0.11.111:30443", **{f"n{i}": f"127.0.11.{i}:30443" for i in (2, 3, 4, 5)}})
    assert rig.resting() == set() and rig.calls() == 0
    assert len(rig.writes()) == writes + 1
    rig.node(5, taints=[DELETION_TAINT])  # one of them is announced, after all
    rig.wait_parked(5)
    assert rig.resting() == {"n5"} and rig.calls() == 1
    assert rig.daemon.metrics().sum("servers_removal_delayed") == 3

"""Each part dies in turn and comes back; a change is made while it is away; all ends in sync."""

from __future__ import annotations

import signal

import pytest

from tests.harness import http
from tests.harness.daemon import STOP_WITHIN
from tests.harness.haproxy import DoubleDataPlane
from tests.harness.process import wait_until

from .world import World


@pytest.fixture
def running(world: World) -> World:
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a", "node-b")
    world.start_daemon(RESYNC_PERIOD="2s")
    world.expect("node-a", "node-b")
    world.in_step()
    return world


def test_api_server_away_at_our_start(world: World) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    world.kube.stop_apiserver()
    try:
        before = world.dataplane.file()
        daemon = world.start_daemon(RESYNC_PERIOD="1s", ALLOW_EMPTY="true")
        daemon.wait_not_ready()
        daemon.wait_log("(?i)refused|connect")
        # Nothing may be written, however long it takes: HAProxy has been compared and Kubernetes been tried again by then.
        daemon.wait_metric("http_requests_total", 4, target="kubernetes")
        world.await_reads(2)
        assert world.dataplane.file() == before
        assert daemon.get("/livez")[0] == 200
    finally:
        world.kube.start_apiserver()
    world.expect("node-a", "node-b", timeout=60)
    world.in_step()


@pytest.mark.every_combination
def test_api_server_restarts(running: World) -> None:
    before = running.written()
    running.kube.stop_apiserver()
    running.expect("node-a", "node-b")
    running.kube.start_apiserver()
    running.put_slice("node-a", "node-c")
    running.expect("node-a", "node-c", timeout=60)
    running.in_step(60)
    assert running.written() - before == running.structural(fast=1)


def test_etcd_restarts(running: World) -> None:
    running.kube.etcd.stop()
    running.kube.etcd.start()
    wait_until(running.kube.ready, 60, "kube-apiserver ready again")
    running.put_slice("node-a", "node-c")
    running.expect("node-a", "node-c", timeout=60)
    running.in_step(60)


def test_daemon_restarts(running: World) -> None:
    version, before = running.version(), running.written()
    running.daemon.restart()
    running.in_step()
    assert running.version() == version, "a restart with nothing changed wrote something"
    running.daemon.stop()
    running.put_slice("node-a", "node-c")
    running.daemon.start()
    running.expect("node-a", "node-c")
    running.in_step()
    assert running.written() - before == running.structural(fast=1)


@pytest.mark.needs_api("the API itself is away and comes back")
@pytest.mark.every_combination
def test_dataplane_restarts(running: World) -> None:
    running.dataplane.stop()
    running.put_slice("node-a", "node-c")
    running.daemon.wait_not_ready()
    running.dataplane.start()
    running.expect("node-a", "node-c", timeout=60)
    running.in_step(60)


def test_haproxy_restarts(running: World) -> None:
    running.haproxy.stop()
    running.put_slice("node-a", "node-c")
    if not running.combination.is_local:  # what cannot be asked for has not failed: it starts with the file
        running.daemon.wait_metric("reloads_total", 1, timeout=90, result="failed")
    running.daemon.wait_not_ready("reload|at runtime")
    running.haproxy.start()
    running.expect("node-a", "node-c", timeout=90)
    running.in_step(60)


def leftovers(world: World) -> list[str]:
    """Transactions of ours that nobody will end."""
    return [t["status"] for t in world.others_transactions()]


@pytest.mark.needs_double
@pytest.mark.parametrize("method, path", [("POST", r"/transactions\?"), ("POST", "/servers"), ("PUT", "/transactions/")])
def test_sigterm_in_the_middle_of_a_transaction(running: World, method: str, path: str) -> None:
    dataplane = running.dataplane
    assert isinstance(dataplane, DoubleDataPlane)
    dataplane.fault({"action": "delay", "method": method, "path": path, "seconds": 1.0})
    running.put_slice("node-a", "node-c")
    wait_until(lambda: http.request(dataplane.control or "", "GET", "/faults").json()[0]["seen"], 20, f"{method} {path}")
    took = running.daemon.stop()
    assert took < STOP_WITHIN
    dataplane.clear_faults()
    assert "in_progress" not in leftovers(running)
    # What goes without a reload went before; of the transaction it is all or nothing.
    assert set(running.ours()) in ({"node-a"}, {"node-a", "node-c"}) and "node-b" in running.parked()
    running.daemon.start()
    running.expect("node-a", "node-c")
    running.in_step()


def test_sigkill_in_the_middle_of_it_all(running: World) -> None:
    for nodes in (["node-a", "node-c"], ["node-b", "node-c"], ["node-a"]):
        running.put_slice(*nodes)
        running.daemon.process.signal(signal.SIGKILL)  # type: ignore[union-attr]
        running.daemon.kill()
        assert set(running.ours()) <= {"node-a", "node-b", "node-c"}
        running.daemon.start()
        running.expect(*nodes)
    running.in_step()
    assert "failed" not in leftovers(running)


def test_sigterm_while_the_api_server_hangs(running: World) -> None:
    """A half-open connection must not hold up the end."""
    process = running.kube.process
    assert process is not None
    process.signal(signal.SIGSTOP)
    try:
        assert running.daemon.stop() < STOP_WITHIN
        running.daemon.start()
        running.daemon.wait_not_ready()
        assert running.daemon.stop() < STOP_WITHIN
    finally:
        process.signal(signal.SIGCONT)
    running.daemon.start()
    running.in_step(60)
    running.expect("node-a", "node-b")

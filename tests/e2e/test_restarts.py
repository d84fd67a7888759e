"""Each part dies in turn and comes back; a change is made while it is away; all ends in sync."""

from __future__ import annotations

import signal

import pytest

from tests.harness.daemon import STOP_WITHIN
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


@pytest.mark.every_combination
def test_api_server_restarts(running: World) -> None:
    before = running.written()
    running.kube.stop_apiserver()
    running.expect("node-a", "node-b")
    running.kube.start_apiserver()
    running.put_slice("node-a", "node-c")
    running.expect("node-a", "node-c", timeout=60)
    running.in_step(60)
    running.await_structural(before, fast=1)


def test_etcd_restarts(running: World) -> None:
    running.kube.etcd.stop()
    running.kube.etcd.start()
    wait_until(running.kube.ready, 60, "kube-apiserver ready again")
    running.put_slice("node-a", "node-c")
    running.expect("node-a", "node-c", timeout=60)
    running.in_step(60)


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

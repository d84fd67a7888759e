"""Nothing is believed but what was seen: writes without a reload that do not reach HAProxy, reloads that did not happen, an HAProxy
that cannot be read, was started again, or runs something else than its file says. And no reload is made for a moment's trouble."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.harness.process import wait_until

from .rig import Rig
from .test_runtime_updates import WRITE, Reloads, endpoints, in_step, settled
NO_LANE = "using transactions and reloads"


def count(rig: Rig, pattern: str) -> int:
    assert rig.daemon
    return len(re.findall(pattern, rig.daemon.log()))


def verification(rig: Rig) -> str:
    assert rig.daemon
    return rig.daemon.metrics().state("runtime_verification", target=rig.dataplane.url)


# --- an HAProxy that cannot be read


def test_lane_is_taken_up_when_haproxy_can_be_read_again(rig: Rig) -> None:
    in_step(rig, 1, 2, RESYNC_PERIOD="1s")
    rig.dataplane.fault({"action": "deaf-runtime"})
    rig.daemon.wait_log(NO_LANE)
    wait_until(lambda: verification(rig) == "failed", 20, "the metric to say so")
    commits = rig.commits()
    rig.pods(1)
    rig.wait_parked(2)
    rig.wait_in_sync()
    assert (rig.commits(), rig.fast_writes()) == (commits + 1, 0)
    rig.dataplane.clear_faults()
    wait_until(lambda: verification(rig) == "untested", 20, "the metric to say that nothing speaks against it")
    rig.daemon.wait_log("running HAProxy readable again")
    reloads = Reloads(rig)
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    settled(rig)
    reloads.none()
    assert verification(rig) == "verified" and count(rig, NO_LANE) == 1


def test_nothing_is_written_just_to_probe(rig: Rig) -> None:
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.daemon.wait_metric("reconciles_total", 4, result="in_sync")
    assert verification(rig) == "untested" and not rig.writes()


# --- a write that did not reach it

def test_write_that_the_running_haproxy_does_not_show_becomes_a_commit(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    rig.pods(1, 2)
    rig.wait_parked(3)
    settled(rig)
    assert verification(rig) == "verified"
    rig.dataplane.fault({"action": "lie", **WRITE, "times": 1})
    reloads = Reloads(rig)
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    settled(rig)
    assert rig.commits() == reloads.before[0] + 1
    rig.daemon.wait_log("level=warn .*runtime update not applied by HAProxy; using transactions and reloads until the next reload")
    assert rig.daemon.metrics().sum("runtime_updates_total", result="unverified") == 1
    assert verification(rig) == "untested", "that reload was it: the next one may be tried"
    reloads = Reloads(rig)
    rig.pods(1, 2)
    rig.wait_parked(3)
    settled(rig)
    reloads.none()
    assert verification(rig) == "verified"


def test_an_address_that_haproxy_takes_a_moment_for_is_no_reload(rig: Rig) -> None:
    """From HAProxy 3.0 on a task of its own brings addresses about."""
    in_step(rig, 1, 2)
    rig.dataplane.fault({"action": "lie", **WRITE, "seconds": 0.05})
    reloads = Reloads(rig)
    rig.node(2, "127.0.11.22")
    rig.wait_addresses({"n1": "127.0.11.1:30443", "n2": "127.0.11.22:30443"})
    settled(rig)
    reloads.none()
    assert rig.haproxy.servers("be")["n2"]["srv_addr"] == "127.0.11.22"
    assert count(rig, "runtime update not applied by HAProxy") == 0 and verification(rig) == "verified"


# --- reloads

def test_reload_that_lies_is_not_believed(rig: Rig) -> None:
    in_step(rig, 1)
    worker = rig.haproxy.worker()
    rig.dataplane.fault({"action": "lie-reload"})
    rig.pods(1, 2)
    rig.daemon.wait_log(f"was reported as successful, but HAProxy's process {worker} is older than it")
    assert rig.haproxy.worker() == worker and rig.daemon.metrics().sum("in_sync") == 0
    assert "is older than it" in rig.daemon.wait_not_ready("reload failed")
    rig.wait_servers(1, 2)
    settled(rig)
    metrics = rig.daemon.metrics()
    assert (metrics.sum("reloads_total", result="unknown"), metrics.sum("reloads_total", result="succeeded")) == (1, 1)
    assert rig.commits() == 2 and count(rig, "reload without a change") == 1
    assert count(rig, 'msg="HAProxy reloaded".*verified=true') == 1


# --- an HAProxy that was started again


def kill_master(rig: Rig) -> None:
    assert rig.haproxy.process
    rig.haproxy.process.kill()


def kill_worker(rig: Rig) -> None:
    """Its master ends with it."""
    assert rig.haproxy.process
    os.kill(rig.haproxy.worker(), signal.SIGKILL)
    rig.haproxy.process.wait()


@pytest.mark.parametrize("kill", [kill_master, kill_worker])
def test_haproxy_that_starts_again_drains_what_drained(rig: Rig, kill: Callable[[Rig], None]) -> None:
    in_step(rig, 1, 2, 3, RESYNC_PERIOD="1s", DRAIN_TIMEOUT="10m")
    endpoints(rig, [1, 2], [3])
    rig.wait_draining(3)
    rig.wait_in_sync()
    commits = rig.commits()
    kill(rig)
    rig.haproxy.start()
    rig.wait_draining(3)
    rig.wait_in_sync()
    assert (rig.commits(), rig.fast_writes()) == (commits, 0)
    assert rig.parked() == set() and rig.daemon.metrics().sum("servers_overridden") == 0
    rig.daemon.wait_log("HAProxy was reloaded or restarted externally")
    assert count(rig, "server=n3 state=drain") == 2


# --- drift

def test_haproxy_that_runs_something_else_than_its_file_is_reloaded(rig: Rig) -> None:
    in_step(rig, 1, 2, RESYNC_PERIOD="1s")
    commits = rig.commits()
    rig.haproxy.runtime("set server be/n1 addr 127.0.11.88 port 88")
    rig.daemon.wait_metric("drifts_total", 1, target=rig.dataplane.url, timeout=30)
    rig.daemon.wait_log("level=warn .*running HAProxy differs from haproxy.cfg.*server n1: HAProxy runs it at 127.0.11.88:88, not at 127.0.11.1:30443")
    wait_until(lambda: not rig.differences(), 20, "file and HAProxy to be one again")
    rig.wait_in_sync()
    assert rig.commits() == commits + 1

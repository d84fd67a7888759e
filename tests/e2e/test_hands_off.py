"""When nothing is to be written: DRY_RUN, the annotation that pauses, and another writer who undoes our changes."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.harness.process import wait_until

from .world import BACKEND, World

PAUSED = "haproxy-k8s-sync/paused"


def traces(world: World) -> tuple[object, ...]:
    """What any write would change."""
    return world.version(), world.dataplane.file(), world.haproxy.worker(), world.others_transactions()


# --- the annotation


def pause(world: World, value: str | None) -> None:
    """As `kubectl annotate` does it."""
    world.patch_service({"metadata": {"annotations": {PAUSED: value}}})


@pytest.mark.one_combination
def test_paused_service_is_left_alone_until_it_goes_on(world: World) -> None:
    world.serve("node-a", "node-b", RESYNC_PERIOD="1s")
    daemon = world.daemon
    pause(world, "true")
    daemon.wait_metric("paused", 1)
    world.put_nodes("node-c")
    world.put_slice("node-b", "node-c")
    daemon.wait_log('msg="changes not written".*reason="the Service has the annotation haproxy-k8s-sync/paused')
    before, written = traces(world), world.written()
    world.await_reads()
    assert traces(world) == before
    metrics = daemon.metrics()
    # node-c would come, node-a rest, and old, which is no node's, go along.
    assert (metrics.value("in_sync"), metrics.value("changes_pending")) == (0, 3)
    status, body = daemon.get("/readyz")
    assert status == 200 and re.search("paused: nothing is written", body)
    world.expect("node-a", "node-b")

    pause(world, None)
    world.expect("node-b", "node-c")
    world.in_step()
    assert daemon.metrics().value("paused") == 0
    world.await_structural(written, fast=1)
    assert world.parked() == {"node-a"}


# --- two masters


def undo(world: World, name: str) -> int:
    """Another writer removes a server by a transaction of the Data Plane API, or in the file; the version that this made."""
    dataplane = world.dataplane
    if world.combination.is_local:
        world.hand_edit((f"  server {name} {world.all_ours()[name]}\n", ""))
        world.haproxy.reload()
        return 0

    def done() -> bool:
        transaction = dataplane.begin()
        server = f"/configuration/backends/{BACKEND}/servers/{name}"
        assert dataplane.delete(f"{server}?transaction_id={transaction}").status in (202, 204)
        answer = dataplane.commit(transaction, "?force_reload=true")
        if answer.status not in (200, 202):  # our own transaction was quicker
            dataplane.delete(f"/transactions/{transaction}")
            return False
        return True

    wait_until(done, 20, f"the other writer to remove {name}", interval=0.2)
    return world.version()


def test_change_undone_three_times_is_left_to_the_other_writer(world: World) -> None:
    world.serve("node-a", "node-b", RESYNC_PERIOD="1s")
    daemon = world.daemon
    for time in (1, 2):
        undo(world, "node-b")
        daemon.wait_metric("changes_reverted_total", time, timeout=60)
        world.expect("node-a", "node-b")
        world.in_step()
    ours, theirs = str(world.version()), str(undo(world, "node-b"))
    body = daemon.wait_not_ready("another writer keeps reverting the daemon's changes", timeout=60)
    if world.combination.is_local:  # the daemon's own count of what it saw
        ours = theirs = r"\d+"
    assert re.search(f"version {theirs} differs from version {ours}, which haproxy-k8s-sync wrote: server node-b: it is gone", body), body
    daemon.wait_log(f"level=error msg=\"another writer keeps reverting the daemon's changes; pausing writes for 10 min\".*version {theirs} ")
    before = traces(world)
    # Nor is anything else written there now.
    world.put_nodes("node-c")
    world.put_slice("node-a", "node-b", "node-c")
    daemon.wait_metric("servers_desired", 3)
    world.await_reads()
    assert traces(world) == before
    assert daemon.metrics().value("in_sync") == 0

    os.kill(daemon.pid, signal.SIGHUP)
    world.expect("node-a", "node-b", "node-c")
    world.in_step()

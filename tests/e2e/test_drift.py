"""HAProxy and its file move apart, or another writer moves them: found, logged, and repaired, or left to that writer."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.harness.process import free_port, wait_until

from .world import BACKEND, NODES, World, Written

SOON = "1s"


def compared(world: World, times: int = 2) -> None:
    """Until the daemon has compared so often once more, whatever came of it."""
    before = world.daemon.metrics().sum("reconciles_total")
    world.daemon.wait_metric("reconciles_total", before + times, timeout=40)


def wait_states(world: World, timeout: float = 30.0, **states: str) -> None:
    wanted = {name.replace("_", "-"): state for name, state in states.items()}

    def found() -> bool:
        have = {name: state for name, state in world.runtime_states().items() if name in wanted}
        assert have == wanted, f"HAProxy has {have}"
        return True

    with world.telling():
        wait_until(found, timeout, f"states {wanted}")


# --- HAProxy starts anew

# The master of an HAProxy 3.4 that starts lets a question wait for a worker that is not there yet, and the Data Plane API, which asks
# one question at a time, waits for 30 s.
STARTED_S = 90.0


def test_haproxy_restarted_while_one_drains(world: World) -> None:
    """It forgets drains; the file never had this one."""
    world.serve("node-a", "node-b", RESYNC_PERIOD=SOON, DRAIN_TIMEOUT="1h")
    world.put_slice("node-a", terminating=["node-b"])
    wait_states(world, node_a="ready", node_b="drain")
    world.in_step()
    before, worker = world.written(), world.haproxy.worker()
    world.haproxy.stop()
    world.haproxy.start()
    assert world.haproxy.worker() != worker
    wait_states(world, STARTED_S, node_a="ready", node_b="drain")
    world.expect_traffic("node-a")
    world.in_step()
    world.expect_one_truth()
    world.daemon.wait_log('msg="HAProxy was reloaded or restarted externally"')
    assert world.written() == before, "what a runtime command can change was written"


# --- edits by hand


def test_hand_edit_that_changes_servers(world: World) -> None:
    """An address of one that serves, and one that rests taken out of maintenance: neither needs a reload."""
    world.serve("node-a", "node-b", "node-c", RESYNC_PERIOD=SOON)
    world.put_slice("node-a", "node-b")
    world.expect("node-a", "node-b")
    world.in_step()
    before, worker = world.written(), world.haproxy.worker()
    lines = world.all_ours()
    at = f"{NODES['node-a']}:{world.node_port}"
    world.hand_edit((f"server node-a {lines['node-a']}", f"server node-a {lines['node-a'].replace(at, '127.0.10.77:7')}"),
                    (f"server node-c {lines['node-c']}", f"server node-c {lines['node-c'].replace(' disabled', '')}"))
    world.daemon.wait_log(rf'server=node-a what="address 127\.0\.10\.77 -> {NODES["node-a"]}')
    world.expect("node-a", "node-b")
    world.in_step()
    world.expect_one_truth()
    assert world.parked() == {"old", "node-c"}
    assert world.written() - before == Written(fast=2) and world.haproxy.worker() == worker


# --- a reload that fails


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """A port that another program holds passes `haproxy -c` and fails the reload."""
    with contextlib.closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", free_port()))
        holder.listen()
        yield int(holder.getsockname()[1])


@pytest.mark.needs_api("a file that the API has and HAProxy could not load")
def test_split_brain_by_a_strangers_failed_reload(world: World) -> None:
    """The API answers what HAProxy could not load. A server that must leave meanwhile does."""
    world.serve("node-a", "node-b", RESYNC_PERIOD=SOON, DRAIN_TIMEOUT="1h")
    worker = world.haproxy.worker()
    with taken_port() as port:
        dataplane = world.dataplane
        bind = f"  bind 127.0.0.1:{world.haproxy.port}\n"
        text = dataplane.file()
        assert bind in text
        answer = dataplane.post(f"/configuration/raw?version={dataplane.version()}", text.replace(bind, f"{bind}  bind 127.0.0.1:{port}\n"),
                                content_type="text/plain")
        assert answer.status == 202, answer.text
        world.daemon.wait_not_ready("reload")
        world.daemon.wait_log("haproxy.cfg is older than the Data Plane API's version: a reload failed")
        world.daemon.wait_metric("reloads_total", 1, timeout=40, result="failed")
        assert world.haproxy.worker() == worker
        wait_until(lambda: f":{port}" not in dataplane.file(), 20, "the file from before, between two tries")
        world.put_slice("node-a", terminating=["node-b"])
        wait_states(world, node_a="ready", node_b="drain")
        world.expect_traffic("node-a")
    # Its end is ours: an empty commit loads what the API has.
    wait_until(lambda: f":{port}" in dataplane.file() and world.haproxy.worker() != worker, 60, "a reload that succeeds")
    world.in_step(60)
    world.expect_resting("node-b")
    world.expect_traffic("node-a")
    world.expect_one_truth()


# --- an operator


def by_hand(world: World, node: str, state: str) -> None:
    answer = world.haproxy.runtime(f"set server {BACKEND}/{node} state {state}").strip()
    assert not answer, answer


def overridden(world: World) -> float:
    return world.daemon.metrics().sum("servers_overridden")


def test_state_set_by_hand_is_left_alone_until_it_is_taken_back(world: World) -> None:
    world.serve("node-a", "node-b", "node-c", RESYNC_PERIOD=SOON)
    before = world.written()
    by_hand(world, "node-a", "drain")
    by_hand(world, "node-b", "maint")
    world.daemon.wait_metric("servers_overridden", 2)
    status, body = world.daemon.get("/readyz")
    assert status == 200 and "in sync; overridden: node-a is in drain, node-b in maint" in body, body
    world.daemon.wait_log('level=warn msg="admin states set by an operator; left alone until set to ready')
    compared(world)
    wait_states(world, node_a="drain", node_b="maint", node_c="ready")
    assert world.written() == before and not world.parked() & {"node-a", "node-b"}

    # Our own reload (on this machine it takes none) forgets it; we do not.
    worker = world.haproxy.worker()
    world.put_nodes("node-d")
    world.put_slice("node-a", "node-b", "node-c", "node-d")
    wait_states(world, node_a="drain", node_b="maint", node_c="ready", node_d="ready")
    wait_until(lambda: (world.haproxy.worker() != worker) != world.combination.is_local, 20, "a new worker")
    world.in_step()
    wait_states(world, node_a="drain", node_b="maint", node_c="ready", node_d="ready")
    world.expect_traffic("node-c", "node-d")
    assert overridden(world) == 2

    by_hand(world, "node-a", "ready")
    by_hand(world, "node-b", "ready")
    wait_until(lambda: overridden(world) == 0, 20, "the admin states to be forgotten")
    world.daemon.wait_log('msg="admin states set by an operator are cleared"')
    compared(world)
    world.expect("node-a", "node-b", "node-c", "node-d")
    assert "by hand" not in world.daemon.get("/readyz")[1]
    world.await_structural(before)

"""Pods and nodes that come and go under 100 new connections a second: no reload where none is needed, and never a lost one.

How long things took is printed (pytest -rP), not asserted: this machine may have other things to do."""

from __future__ import annotations

import os
import statistics
import time

import pytest

from tests.harness.process import wait_until

from .churn import NODES, VISITS, churn, states
from .world import World, Written

# So long after a transaction, what needs one gathers for the next.
GATHERED_S = 2.0
ROLLED = tuple(NODES)[:3]


@pytest.mark.every_combination
def test_rolling_update(world: World) -> None:
    """Node after node: the pod terminates and still serves, is gone, and a new one on the same node is ready."""
    with churn(world) as six, world.no_reload():
        before = world.written()
        for node in ROLLED:
            six.leaves(node)
            world.expect_one_truth()
            assert states(world) == {n: "drain" if n == node else "ready" for n in NODES}
            six.go_on()
            six.nodes.deaf(node)
            six.pods([node], None)
            six.wait_state("maint", node)
            world.expect_one_truth()
            assert world.parked() == {"old", node}
            six.go_on(25)
            six.returns(node)
            world.expect_one_truth()
            assert world.parked() == {"old"} and set(states(world).values()) == {"ready"}
            assert not six.broken()
        world.in_step()
        assert world.written() - before == Written(fast=2 * len(ROLLED))
        traffic = six.end()
    assert not traffic.broken and len(traffic.visits) == VISITS, traffic.describe()
    metrics = world.daemon.metrics()
    assert metrics.state("runtime_verification") == "verified"
    told = metrics.sum("watch_event_to_runtime_seconds_count")
    print(f"the daemon itself: {metrics.sum('watch_event_to_runtime_seconds_sum') / told * 1000:.1f} ms on average from the event until "
          "HAProxy had been told")


def test_node_loss(world: World) -> None:
    """Its server dies hard, then its endpoint is not ready, then its Node is deleted: a client that had not been there is not harmed."""
    # HAProxy itself has to find another server for a connection that is refused, until the daemon knows.
    world.start_with(("defaults\n  mode tcp\n", "defaults\n  mode tcp\n  option redispatch 1\n"))
    lost = "node-3"
    with churn(world, "node-1", "node-2", lost, "node-4") as six:
        before = world.written()
        with world.no_reload():
            six.dies(lost)
            six.go_on(50)
            six.is_lost(lost)
            world.expect_one_truth()
            assert lost in world.parked()
            six.go_on()
            assert six.broken() == [lost]
            six.pods([lost], None)
            world.kube.admin.delete("Node", lost)
            six.go_on()
            assert world.written() - before == Written(fast=1)
        # Its line goes with the next change that needs a reload anyway.
        six.put_nodes("node-5")
        six.pods(["node-5"])
        six.wait_state("ready", "node-5")
        world.expect_gone(lost)
        world.expect_one_truth()
        world.in_step()
        world.await_structural(before, fast=1)
        six.go_on()
        assert six.broken() == [lost]
        traffic = six.end()
    assert {visit.node for visit in traffic.broken} <= {lost}, traffic.describe()
    assert len(traffic.visits) == VISITS + len(traffic.broken), traffic.describe()


@pytest.mark.every_local
def test_scale_up(world: World) -> None:
    """New nodes, one after the other within a moment: the first at once, the others together, so two reloads at most."""
    first, new = tuple(NODES)[:3], tuple(NODES)[3:]
    with churn(world, *first) as six:
        before, worker, begin = world.written(), world.haproxy.worker(), time.monotonic()
        for node in new:
            six.put_nodes(node)
            six.pods([node])
            if node == new[0]:
                wait_until(lambda: new[0] in world.all_ours(), 20, "the first new one in the file")
            else:
                six.go_on(20)
        in_time = time.monotonic() - begin < GATHERED_S
        six.wait_state("ready", *NODES)
        world.expect_one_truth()
        world.in_step()
        done = world.written() - before
        if world.combination.is_local:
            assert done.transactions == 0 and done.fast <= len(new) and world.haproxy.worker() == worker, done
        else:
            # A machine that was too slow for this to be one burst proves less.
            assert done.fast == 0 and done.transactions <= (2 if in_time else 3), done
            assert world.haproxy.worker() != worker
        for node in new:
            asked = six.nodes.asked(node)
            wait_until(lambda: six.nodes.asked(node) > asked, 20, f"connections that reach {node}")
        os.kill(worker, 0)  # it is still there, for those who have stayed
        assert not six.broken()
        six.go_on()
        traffic = six.end()
    assert not traffic.broken and len(traffic.visits) == VISITS, traffic.describe()


NEW_NODES = {f"node-{i}": f"127.0.16.{i}" for i in range(7, 11)}


@pytest.mark.every_local
def test_nodes_never_seen_come_and_go_without_a_reload(world: World) -> None:
    """One by one, each in rotation after its event; then they leave again, and their lines with them."""
    if not world.combination.is_local:
        pytest.skip("a Data Plane API reloads for a new server")
    with churn(world, "node-1", "node-2", "node-3", more=NEW_NODES, PARK_TTL="0s") as nodes, world.no_reload():
        came: list[float] = []
        for node in NEW_NODES:
            nodes.put_nodes(node)
            nodes.go_on(10)
            assert not nodes.broken()  # who says nothing for 30 s is hung up
            begin = time.monotonic()
            nodes.pods([node])
            nodes.wait_state("ready", node)
            came.append(time.monotonic() - begin)
        print(f"in rotation {statistics.median(came) * 1000:.1f} ms (median), {max(came) * 1000:.1f} ms (the longest) after Kubernetes was "
              "asked to change, as seen from the test")
        told = world.daemon.metrics()
        count = told.sum("watch_event_to_commit_seconds_count")
        print(f"the daemon itself: {told.sum('watch_event_to_commit_seconds_sum') / count * 1000:.1f} ms on average from the event until it "
              "was in the file and in HAProxy")
        world.expect_one_truth()
        for node in NEW_NODES:
            asked = nodes.nodes.asked(node)
            wait_until(lambda node=node, asked=asked: nodes.nodes.asked(node) > asked, 20, f"connections that reach {node}")
        for node in NEW_NODES:
            nodes.pods([node], None)
            nodes.go_on(10)
            assert not nodes.broken()
        world.expect_gone(*NEW_NODES)
        world.in_step()
        assert not nodes.broken()
        traffic = nodes.end()
    assert not traffic.broken and len(traffic.visits) == VISITS, traffic.describe()

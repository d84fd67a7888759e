"""Pods that terminate but still serve: their node drains (HAProxy is told: no new connections, the open ones live on) and then rests
in maintenance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.backends import Visit
from tests.harness.process import wait_until

from .world import BACKEND, NODES, World, Written

LONG = "1h"  # so that no clock ends in the midst of a case


def expect(world: World, live: list[str], leaving: list[str]) -> None:
    """Until all of these are servers, some of them draining, and new connections reach the live ones alone."""
    world.expect_resting(*leaving)

    def as_wanted() -> bool:
        at = {node: f"{NODES[node]}:{world.node_port}" for node in live}
        assert at.items() <= world.addresses().items(), f"the file has {world.addresses()}"
        assert not set(live) & world.resting(), f"{world.resting()} get no new connections"
        return True

    wait_until(as_wanted, 30, f"{live} live")
    world.expect_traffic(*live)


@pytest.fixture
def visit(world: World) -> Iterator[list[Visit]]:
    """Connections that are to stay open."""
    visits: list[Visit] = []
    yield visits
    for one in visits:
        one.close()


def visit_to(world: World, node: str, visits: list[Visit]) -> Visit:
    def reached() -> bool:
        visits.append(Visit(world.frontends[BACKEND]))
        return visits[-1].label == node

    wait_until(reached, 20, f"a connection to {node}")
    return visits[-1]


def test_node_drains_and_is_parked_with_its_last_pod(world: World, visit: list[Visit]) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    stays = visit_to(world, "node-b", visit)
    line, before = world.all_ours()["node-b"], world.written()
    with world.no_reload():
        world.put_slice("node-a", terminating=["node-b"])
        expect(world, live=["node-a"], leaving=["node-b"])
        world.in_step()
        assert world.draining() == {"node-b"}
        assert world.ours()["node-b"] == line and world.written() == before, "a drain was written"
        assert stays.talk(), "the open connection did not survive the drain"
        metrics = world.daemon.metrics()
        assert [metrics.value(f"servers_{what}") for what in ("desired", "draining", "configured")] == [1, 1, 2]
        assert world.command("explain", "node-b").stdout.count("draining") > 0
        world.daemon.wait_log('msg="server state set at runtime".* server=node-b state=drain why="it drains"')

        world.put_slice("node-a")
        world.expect("node-a")
        world.in_step()
        assert "node-b" in world.parked()
        assert world.written() - before == Written(fast=1)
        assert stays.talk(), "the open connection did not survive the end of the drain"
        world.daemon.wait_log('msg="runtime update applied".* server=node-b what="maintenance on .parked.*" why="')


@pytest.mark.one_combination
def test_without_parking_the_line_goes_with_the_last_pod(world: World, visit: list[Visit]) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG, PARK_TTL="0")
    stays = visit_to(world, "node-b", visit)
    before = world.written()
    world.put_slice("node-a", terminating=["node-b"])
    expect(world, live=["node-a"], leaving=["node-b"])
    world.put_slice("node-a")
    world.expect_gone("node-b")
    world.expect("node-a")
    world.in_step()
    assert world.written() - before == world.structural()
    assert stays.talk(), "the open connection did not survive the removal"
    world.daemon.wait_log('msg="backend changed".*removed=node-b why="')


@pytest.mark.one_combination
def test_ready_pod_brings_a_draining_node_back(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    before = world.written()
    with world.no_reload():
        world.put_slice("node-a", terminating=["node-b"])
        expect(world, live=["node-a"], leaving=["node-b"])
        # The new pod is there before the old one is gone.
        world.put_slice("node-a", "node-b", terminating=["node-b"])
        expect(world, live=["node-a", "node-b"], leaving=[])
        world.in_step()
        world.daemon.wait_log('msg="server state set at runtime".* server=node-b state=ready why="it is desired again"')
        assert world.written() == before


@pytest.mark.one_combination
def test_draining_ends_after_its_time(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT="3s")
    before = world.written()
    with world.no_reload():
        world.put_slice("node-a", terminating=["node-b"])
        world.expect("node-a")
        world.in_step()
        assert world.written() - before == Written(fast=1)
    log = world.daemon.log()
    drained = log.index("server=node-b state=drain")
    assert "its draining is over (DRAIN_TIMEOUT is 3s)" in log[drained:]
    # It is out for good as long as this pod terminates; another one is a new beginning.
    world.put_nodes("node-c")
    world.put_slice("node-a", "node-c", terminating=["node-b"])
    world.expect("node-a", "node-c")
    world.in_step()
    with world.no_reload():
        world.put_slice("node-a", "node-b", "node-c")
        world.expect("node-a", "node-b", "node-c")


@pytest.mark.one_combination
def test_all_terminating_serve_until_another_is_ready(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    before = world.version()
    world.put_slice(terminating=["node-a", "node-b"])
    # A third one, which comes behind them on the same watch: they have been seen by then.
    world.put_nodes("node-c")
    world.put_slice(terminating=["node-c"], name="ingress-2")
    expect(world, live=["node-a", "node-b", "node-c"], leaving=[])
    assert world.version() == before + 1
    world.put_nodes("node-d")
    world.put_slice("node-d", terminating=["node-a", "node-b"])
    expect(world, live=["node-d"], leaving=["node-a", "node-b", "node-c"])
    world.put_slice("node-d")
    expect(world, live=["node-d"], leaving=["node-c"])
    world.delete_slice("ingress-2")
    world.expect("node-d")
    world.in_step()


@pytest.mark.one_combination
def test_node_that_leaves_before_it_ever_served_gets_no_line(world: World) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", terminating=["node-b"])
    before = world.version()
    world.start_daemon(DRAIN_TIMEOUT=LONG)
    world.expect("node-a")
    world.in_step()
    assert world.version() == before + 1


@pytest.mark.one_combination
def test_restart_in_the_midst_of_a_drain(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    world.put_slice("node-a", terminating=["node-b"])
    expect(world, live=["node-a"], leaving=["node-b"])
    world.in_step()
    before = world.version()
    world.daemon.restart()
    world.in_step()
    assert world.version() == before + 1, "the mark of the one that ended, and nothing of the new one"
    expect(world, live=["node-a"], leaving=["node-b"])
    # A new daemon has seen it terminate, too: it goes at once, as announced, though it is half of them.
    world.put_slice("node-a")
    world.expect("node-a")


@pytest.mark.one_combination
def test_rollout_node_by_node_fails_no_connection(world: World) -> None:
    """Each new pod is ready before an old one terminates, as a Deployment does it."""
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    world.put_nodes("node-c", "node-d")
    failed: list[str] = []

    def ask() -> None:
        if not world.who_answers():
            failed.append(world.dataplane.file())

    steps = (("abc", ""), ("bc", "a"), ("bcd", ""), ("cd", "b"), ("cd", ""))
    for ready, leaving in ([[f"node-{letter}" for letter in letters] for letters in step] for step in steps):
        world.put_slice(*ready, terminating=leaving)
        ask()
        world.expect_resting(*leaving)
        ask()
        world.expect_traffic(*ready)
    assert not failed, f"a connection failed while the file was:\n{failed[0]}"

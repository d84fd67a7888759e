"""Pods that terminate but still serve: their node drains (by a runtime command: no new connections, the open ones live on) and then rests
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

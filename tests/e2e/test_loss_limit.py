"""More than half of the servers gone at once, and nobody said so: they stay for a RESYNC_PERIOD. What was announced goes at
once."""

from __future__ import annotations

import re

import pytest

from tests.harness.process import wait_until

from .world import World, Written

FOUR = ("node-a", "node-b", "node-c", "node-d")
ON = {"MAX_LOSS_PERCENT": ""}  # its default, 50
HELD = 'level=warn msg="too many servers would be removed; removal delayed".*3 of 4 live servers lost unannounced within one RESYNC_PERIOD'


def in_step(world: World, *nodes: str, **settings: str) -> None:
    """The server of before goes first: being the only one, it is a loss of all, which would be held as well."""
    world.serve(*(nodes or FOUR))
    world.daemon.stop()
    world.start_daemon(**{**ON, **settings})
    world.in_step()


def wait_held(world: World, count: int) -> None:
    def held() -> bool:
        metrics = world.daemon.metrics()
        assert metrics.value("servers_removal_delayed") == count, f"servers_removal_delayed is {metrics.value('servers_removal_delayed'):g}"
        return True

    wait_until(held, 30, f"{count} servers held")


@pytest.mark.one_combination
def test_sudden_loss_is_held_and_then_believed(world: World) -> None:
    in_step(world, RESYNC_PERIOD="5s")
    before = world.written()
    with world.no_reload():
        world.put_slice("node-a")
        world.daemon.wait_log(HELD)
        assert set(world.running()) == set(FOUR)
        world.expect("node-a")
        world.in_step()
        assert world.written() - before == Written(fast=3)
    wait_held(world, 0)
    for node in FOUR[1:]:
        world.daemon.wait_log(f'msg="runtime update applied".* server={node} what="maintenance on .parked." why="')


def test_held_servers_serve_on_and_nothing_is_written(world: World) -> None:
    in_step(world, RESYNC_PERIOD="1h")
    before = world.dataplane.file()
    # One of several ways in which a control plane fails: the slices are gone, but for one.
    world.put_slice("node-a")
    world.daemon.wait_log(HELD)
    wait_held(world, 3)
    metrics = world.daemon.metrics()
    assert (metrics.value("in_sync"), metrics.value("servers_desired"), metrics.value("servers_configured")) == (0, 1, 4)
    status, body = world.daemon.get("/readyz")
    assert status == 200 and re.search("; removal delayed: node-b until .*, node-c until .*, node-d until ", body)
    world.expect(*FOUR)
    # It was a hiccup.
    world.put_slice(*FOUR)
    world.in_step()
    wait_held(world, 0)
    assert world.dataplane.file() == before

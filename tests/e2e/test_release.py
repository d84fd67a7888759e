"""haproxy-k8s-sync release: what is left in HAProxy of a daemon that is given up goes, live servers stay; and the way back."""

from __future__ import annotations

import pytest

from tests.harness.process import wait_until

from .world import World

LONG = "1h"  # so that no clock ends in the midst of a case


@pytest.fixture
def parked(world: World) -> World:
    """node-a serves; node-b and node-c are parked."""
    world.serve("node-a", "node-b", "node-c", DRAIN_TIMEOUT="0s")
    world.put_slice("node-a")
    world.expect("node-a")
    world.in_step()
    assert world.parked() >= {"node-b", "node-c"}
    return world


def release(world: World, *words: str, **settings: str) -> tuple[int, str]:
    """At the daemon's own address, which without a daemon nobody has."""
    ran = world.command("release", *words, LISTEN_ADDRESS=f"127.0.0.1:{world.daemon.port}", **settings)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.every_local
def test_a_released_backend_has_its_live_servers_alone(parked: World) -> None:
    status, said = release(parked)
    assert status == 1 and "a daemon answers at" in said and "stop it first" in said
    parked.daemon.stop()

    before, count = parked.dataplane.file(), len(parked.parked())
    status, said = release(parked)
    assert status == 2 and "node-b" in said and "release --yes" in said, said
    assert release(parked, "--yes", DRY_RUN="true")[0] == 2
    assert parked.dataplane.file() == before

    status, said = release(parked, "--yes")
    assert status == 0 and f"{count} lines removed" in said and "released" in said, said
    assert set(parked.all_ours()) == {"node-a"} and set(parked.running()) == {"node-a"}
    parked.expect_traffic("node-a")
    assert not list(parked.haproxy.config.parent.glob(".*.lock"))
    status, said = release(parked)
    assert status == 0 and "nothing to release" in said, said

    daemon = parked.start_daemon(DRAIN_TIMEOUT="0s", PARK_NODES="false")
    parked.in_step()
    assert set(parked.all_ours()) == {"node-a"} and "transaction committed" not in daemon.log()


@pytest.mark.every_local
def test_a_drain_that_a_death_left_ends(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT=LONG)
    world.put_slice("node-a", terminating=["node-b"])
    wait_until(lambda: world.draining() == {"node-b"}, what="node-b drains")
    world.in_step()
    world.daemon.kill()
    live = world.ours()
    assert set(live) == {"node-a", "node-b"}
    assert release(world)[0] == 2
    status, said = release(world, "--yes")
    assert status == 0 and "1 drain ended" in said, said
    assert not world.draining() and world.all_ours() == live
    world.expect_traffic("node-a", "node-b")

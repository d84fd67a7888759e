"""More than half of the servers gone at once, and nobody said so: they stay for a RESYNC_PERIOD. What was announced goes at
once."""

from __future__ import annotations

import re

import pytest

from tests.harness.process import wait_until

from .world import NODES, World, Written

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


@pytest.mark.one_combination
def test_additions_and_changes_do_not_wait(world: World) -> None:
    in_step(world, *FOUR[1:], RESYNC_PERIOD="1h")
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.daemon.wait_log(r'msg="backend changed".*added=node-a\(.*removal_delayed="node-b, node-c, node-d"')
    world.expect(*FOUR)
    wait_held(world, 3)
    port = world.open_port("!")
    world.put_service(node_ports={"https": (443, port)})
    # A server whose removal is delayed keeps its port; the desired ones get the new one.
    at = {node: f"{NODES[node]}:{world.node_port}" for node in FOUR[1:]} | {"node-a": f"{NODES['node-a']}:{port}"}
    world.expect_servers(at)
    world.expect_traffic("node-a!", *FOUR[1:])


@pytest.mark.one_combination
def test_half_of_them_may_go(world: World) -> None:
    in_step(world, RESYNC_PERIOD="1h")
    world.put_slice("node-a", "node-b")
    world.expect("node-a", "node-b")


@pytest.mark.one_combination
def test_lost_nodes_are_held_too(world: World) -> None:
    """Their Node objects vanish, the endpoints stay: nobody said that they would. One alone is too many of four here, so
    that it does not matter how many arrive at once."""
    in_step(world, RESYNC_PERIOD="1h", MAX_LOSS_PERCENT="20")
    for node in FOUR[1:]:
        world.kube.admin.delete("Node", node)
    wait_held(world, 3)
    world.expect(*FOUR)
    world.put_nodes(*FOUR)
    world.in_step()
    world.expect(*FOUR)


@pytest.mark.one_combination
@pytest.mark.parametrize("drain", ["0", "1h"])
def test_announced_terminations_are_not_held(world: World, drain: str) -> None:
    in_step(world, RESYNC_PERIOD="1h", DRAIN_TIMEOUT=drain)
    world.put_slice("node-a", terminating=FOUR[1:])
    world.expect_traffic("node-a")
    world.put_slice("node-a")
    world.expect("node-a")
    world.in_step()
    assert "too many servers would be removed" not in world.daemon.log()


@pytest.mark.one_combination
def test_nodes_that_are_taken_out_by_label_and_taint_are_not_held(world: World) -> None:
    in_step(world, RESYNC_PERIOD="1h")
    world.pause()
    for node in FOUR[1:3]:
        world.patch_node(node, {"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}}})
    world.patch_node("node-d", {"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}})
    world.resume()
    world.expect("node-a")
    assert "too many servers would be removed" not in world.daemon.log()


@pytest.mark.one_combination
def test_servers_of_before_are_held_when_they_are_most(world: World) -> None:
    """Taking a backend over is a loss like any other, while the new ones are added."""
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.start_daemon(**ON, RESYNC_PERIOD="5s")
    world.daemon.wait_log("too many servers would be removed; removal delayed.*1 of [12] live servers lost .* removal_delayed=\"old until ")
    world.expect("node-a")
    world.in_step()


@pytest.mark.one_combination
def test_restart_of_the_daemon_does_not_release_the_brake_at_once(world: World) -> None:
    """It knows nothing of what was announced, and HAProxy has four: better to wait."""
    in_step(world, RESYNC_PERIOD="1h")
    world.daemon.stop()
    world.put_slice("node-a")
    world.daemon.start()
    wait_held(world, 3)
    world.expect(*FOUR)

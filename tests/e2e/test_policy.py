"""What externalTrafficPolicy changes: which nodes serve, how they are checked, and what their weights are."""

from __future__ import annotations

import re

import pytest

from tests.harness.health import HealthPort
from tests.harness.lines import section
from tests.harness.process import wait_until

from .world import BACKEND, NODES, World, Written, free_node_port

UP, DOWN = "2", "0"  # srv_op_state


# --- NODE_MODE


@pytest.mark.one_combination
def test_all_nodes_serve_with_policy_cluster_and_not_with_local(world: World) -> None:
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a")
    world.start_daemon(NODE_MODE="all")
    world.expect("node-a", "node-b", "node-c")
    world.in_step()
    before = world.written()
    with world.no_reload():
        world.put_service(policy="Local")
        world.expect("node-a")
        world.in_step()
        assert world.written() - before == Written(fast=2)
        world.daemon.wait_log("NODE_MODE=all is not used: externalTrafficPolicy is Local")
        world.put_service(policy="Cluster")
        world.expect("node-a", "node-b", "node-c")
        world.in_step()


# --- HAPROXY_HEALTH_CHECK


def wait_state(world: World, **states: str) -> None:
    """node_a=UP: what HAProxy's own checks found."""
    wanted = {name.replace("_", "-"): state for name, state in states.items()}

    def found() -> bool:
        have = {name: row["srv_op_state"] for name, row in world.haproxy.servers(BACKEND).items() if name in wanted}
        assert have == wanted, f"srv_op_state: {have}"
        return True

    wait_until(found, 30, f"HAProxy's checks to find {wanted}")


def check_ports(world: World) -> dict[str, str]:
    """Of each server line, what `port` says."""
    return {name: found[1] for name, line in world.ours().items() if (found := re.search(r" port (\d+)", line))}


@pytest.mark.every_combination
def test_health_check_at_the_node_port_of_the_service(world: World) -> None:
    port = free_node_port(world.kube)
    local = {"type_": "LoadBalancer", "policy": "Local", "health_check_node_port": port}
    made = world.put_service(**local)
    assert made["spec"]["healthCheckNodePort"] == port
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    with HealthPort({n: NODES[n] for n in ("node-a", "node-b")}, port) as health:
        world.start_daemon(HAPROXY_HEALTH_CHECK="node-port")
        world.expect("node-a", "node-b")
        world.in_step()
        assert check_ports(world) == {"node-a": str(port), "node-b": str(port)}
        wait_until(lambda: {"node-a", "node-b"} == {node for node, _ in health.asked}, 20, "HAProxy to check both")
        assert {what for _, what in health.asked} == {"GET /healthz"}
        wait_state(world, node_a=UP, node_b=UP)
        # kube-proxy says so before the endpoint is gone from the slices.
        health.healthy.discard("node-b")
        wait_state(world, node_a=UP, node_b=DOWN)
        world.expect_traffic("node-a")
        assert set(world.ours()) == {"node-a", "node-b"}, "what is down is HAProxy's to say, not ours to remove"
        health.healthy.add("node-b")
        wait_state(world, node_a=UP, node_b=UP)
        world.expect_traffic("node-a", "node-b")

        # With policy Cluster there is no such port: the servers' own is checked again, though nobody is healthy there.
        health.healthy.clear()
        world.put_service(type_="LoadBalancer", policy="Cluster")
        world.daemon.wait_log("HAPROXY_HEALTH_CHECK=node-port is not used: externalTrafficPolicy is Cluster")
        wait_until(lambda: check_ports(world) == {}, 30, "no check port any more")
        world.in_step()
        wait_state(world, node_a=UP, node_b=UP)
        text = "\n".join(section(world.dataplane.file(), f"backend {BACKEND}"))
        assert "option tcp-check" in text and "httpchk" not in text


# --- SERVER_WEIGHTS


def expect_weights(world: World, **weights: int) -> None:
    wanted = {name.replace("_", "-"): str(weight) for name, weight in weights.items()}

    def in_file() -> bool:
        have = {name: found[1] for name, line in world.ours().items() if (found := re.search(r" weight (\d+)", line))}
        assert have == wanted, f"the file has {have}"
        return True

    def in_haproxy() -> bool:
        have = {name: row["srv_uweight"] for name, row in world.haproxy.servers(BACKEND).items() if name in world.running()}
        assert have == wanted, f"HAProxy runs with {have}"
        return True

    wait_until(in_file, 30, f"weights {wanted} in the file")
    wait_until(in_haproxy, 30, f"weights {wanted} in HAProxy")


def test_weights_follow_the_pods_with_policy_local(world: World) -> None:
    world.put_service(policy="Local")
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a", "node-a", "node-a", "node-b")
    world.start_daemon(SERVER_WEIGHTS="endpoints")
    expect_weights(world, node_a=3, node_b=1)
    world.in_step()
    before = world.written()
    world.put_slice("node-a", "node-b", "node-b", "node-c")
    expect_weights(world, node_a=1, node_b=2, node_c=1)
    world.expect("node-a", "node-b", "node-c")
    world.await_structural(before, fast=2)
    # Not ready ones get nothing to do.
    world.put_slice("node-a", "node-b", "node-c", not_ready=["node-b"])
    expect_weights(world, node_a=1, node_b=1, node_c=1)

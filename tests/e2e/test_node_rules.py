"""Which nodes may have a server, and at which address: labels, taints, deletion, NODE_SELECTOR, NODE_ADDRESS_TYPES, IP_FAMILY."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.process import wait_until

from .world import NODES, World

PARKED = r'msg="runtime update applied".* server=node-b what="maintenance on \(parked\)" why="node node-b: .*'
EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
DELETION_TAINT = "ToBeDeletedByClusterAutoscaler"


def label(world: World, node: str, **labels: str | None) -> None:
    world.patch_node(node, {"metadata": {"labels": labels}})


# --- who may


@pytest.mark.one_combination
def test_exclude_label_counts_by_presence(world: World) -> None:
    world.serve("node-a", "node-b", "node-c")
    for value in ("true", None, "false", None):
        label(world, "node-b", **{EXCLUDE: value})
        world.expect(*(n for n in ("node-a", "node-b", "node-c") if value is None or n != "node-b"))
    world.daemon.wait_log(PARKED + EXCLUDE)


@pytest.mark.one_combination
def test_node_that_the_autoscaler_will_delete(world: World) -> None:
    world.serve("node-a", "node-b")
    world.patch_node("node-b", {"spec": {"taints": [{"key": DELETION_TAINT, "value": "1700000000", "effect": "NoSchedule"}]}})
    world.expect("node-a")
    world.daemon.wait_log(PARKED + DELETION_TAINT)
    world.patch_node("node-b", {"spec": {"taints": None}})
    world.expect("node-a", "node-b")


@pytest.fixture
def dying(world: World) -> Iterator[str]:
    """node-b, which a finalizer keeps in existence after its deletion."""
    world.put_nodes("node-b")
    world.patch_node("node-b", {"metadata": {"finalizers": ["example.org/hold"]}})
    yield "node-b"
    world.patch_node("node-b", {"metadata": {"finalizers": None}})


@pytest.mark.one_combination
def test_node_that_is_being_deleted_but_not_gone(world: World, dying: str) -> None:
    world.serve("node-a", dying)
    world.kube.admin.delete("Node", dying)
    assert "deletionTimestamp" in world.kube.admin.get("Node", dying)["metadata"]
    world.expect("node-a")
    world.daemon.wait_log(PARKED + "delet")


@pytest.mark.one_combination
@pytest.mark.parametrize("selector, chosen, other", [
    ("role=edge", {"role": "edge"}, {"role": "worker"}),
    ("zone in (west,east),!legacy", {"zone": "west"}, {"legacy": ""}),
])
def test_node_selector_follows_labels(world: World, selector: str, chosen: dict[str, str], other: dict[str, str]) -> None:
    world.put_node("node-a", labels=chosen)
    world.put_node("node-b", labels=chosen)
    world.put_node("node-c", labels=other)
    world.begin("node-a", "node-b", "node-c", NODE_SELECTOR=selector)
    world.expect("node-a", "node-b")
    assert world.daemon.metrics().value("cached_objects", resource="nodes") == 2, "the API server was not asked for these alone"
    label(world, "node-b", **other)
    world.expect("node-a")
    label(world, "node-c", **{**dict.fromkeys(other), **chosen})
    world.expect("node-a", "node-c")
    world.in_step()


# --- at which address


def six(world: World, node: str) -> str:
    return f"fd00:10::{list(NODES).index(node) + 1:x}"


def dual_stack(world: World, *nodes: str) -> None:
    for node in nodes:
        world.put_node(node, addresses=[("InternalIP", six(world, node))])


def wait_servers(world: World, wanted: dict[str, str]) -> None:
    """HAProxy cannot reach these IPv6 addresses, nor need it: the lines and what HAProxy made of them are checked."""
    at = {name: (address, str(world.node_port)) for name, address in wanted.items()}

    def in_file() -> bool:
        found = {name: line.split()[0].rpartition(":") for name, line in world.ours().items()}
        assert {n: (host.strip("[]"), port) for n, (host, _, port) in found.items()} == at, f"the file has {world.ours()}"
        return True

    def in_haproxy() -> bool:
        found = {n: (host, port) for n, (host, _, port) in ((n, a.rpartition(":")) for n, a in world.running().items())}
        assert found == at, f"HAProxy runs with {found}"
        return True

    wait_until(in_file, 30, f"servers {wanted} in the file")
    wait_until(in_haproxy, 30, f"servers {wanted} in HAProxy")


DUAL = {"ip_families": ("IPv4", "IPv6")}


@pytest.mark.every_combination
def test_ipv6_addresses_of_dual_stack_nodes(world: World) -> None:
    world.put_service(**DUAL)
    dual_stack(world, "node-a", "node-b")
    world.begin("node-a", "node-b", "node-c", IP_FAMILY="IPv6")
    wait_servers(world, {n: six(world, n) for n in ("node-a", "node-b")})
    # node-c has none.
    world.daemon.wait_log('level=warn msg="nodes or endpoints left out".*node-c.*IPv6')
    world.in_step()
    before = world.version()
    dual_stack(world, "node-c")
    wait_servers(world, {n: six(world, n) for n in ("node-a", "node-b", "node-c")})
    assert world.version() == before + 1, "lines with IPv6 addresses were not known again"

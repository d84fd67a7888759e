"""What happens to nodes and pods in the cluster, and where traffic goes because of it."""

from __future__ import annotations

import pytest

from tests.harness.lines import section

from .world import BACKEND, NODES, World, Written


@pytest.mark.every_combination
def test_first_sync(world: World) -> None:
    before = world.version()
    foreign = section(world.dataplane.file(), "backend other")
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a", "node-b")
    daemon = world.start_daemon()
    world.expect("node-a", "node-b")
    world.in_step()

    for name, line in world.ours().items():
        words = line.split()
        assert words[0] == f"{NODES[name]}:{world.node_port}"
        assert "check" in words and "weight" in words, f"{name}: {line}"
    backend = section(world.dataplane.file(), f"backend {BACKEND}")
    text = "\n".join(backend)
    assert "balance roundrobin" in text and "option tcp-check" in text and "mode tcp" in text
    assert "default-server" in text and "inter 500" in text, f"the user's default-server is gone:\n{text}"
    assert any("sorry" in line and "backup" in line for line in backend), f"the backup server is gone:\n{text}"
    assert section(world.dataplane.file(), "backend other") == foreign
    # A Data Plane API drops the comment with the settings that it puts: they go by a write of the file, which an empty commit loads.
    assert "# a hand-written comment" in world.dataplane.file()
    assert world.version() <= before + 2, "the first sync took more than one write and its load"
    # The server of before was not ours to begin with: its removal has to be in the log.
    assert "old" in daemon.log()
    metrics = daemon.metrics()
    assert (metrics.value("servers_desired"), metrics.value("servers_configured"), metrics.value("in_sync")) == (2, 2, 1)
    assert daemon.get("/livez")[0] == 200


@pytest.mark.every_combination
def test_pod_moves_to_another_node(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.written()
    world.put_nodes("node-c")
    world.put_slice("node-a", "node-c")
    world.expect("node-a", "node-c")
    # What is gone does not wait for the line that is new.
    world.await_structural(before, fast=1)
    world.in_step()
    with world.no_reload():
        world.put_slice("node-b", "node-c")
        world.expect("node-b", "node-c")
        world.await_structural(before, fast=3)


def test_node_gets_another_address(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.written()
    with world.no_reload():
        world.put_node("node-a", NODES["node-a-moved"])
        world.expect("node-a", "node-b", node_a=NODES["node-a-moved"])
        assert world.written() - before == Written(fast=1)


def test_node_comes_back(world: World) -> None:
    world.serve("node-a", "node-b")
    with world.no_reload():
        world.kube.admin.delete("Node", "node-b")
        world.expect("node-a")
        world.put_nodes("node-b")
        world.expect("node-a", "node-b")


def test_slices_split_in_two(world: World) -> None:
    world.serve("node-a", "node-b", "node-c")
    before = world.written()
    world.put_slice("node-c", name="ingress-2")
    world.put_slice("node-a", "node-b", name="ingress-1")
    # All are still there, so nothing was written; the next change proves that the split has been seen by then.
    world.put_nodes("node-d")
    world.put_slice("node-c", "node-d", name="ingress-2")
    world.expect("node-a", "node-b", "node-c", "node-d")
    world.await_structural(before)
    world.delete_slice("ingress-1")
    world.expect("node-c", "node-d")

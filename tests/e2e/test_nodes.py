"""What happens to nodes and pods in the cluster, and where traffic goes because of it."""

from __future__ import annotations

import pytest

from tests.harness import objects
from tests.harness.lines import section

from .world import BACKEND, NODES, SERVICE, World, Written, without_ours


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
    assert world.version() == before + 1, "the first sync took more than one commit"
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
    assert world.written() - before == world.structural(fast=1), "one event took more than one commit"
    world.in_step()
    with world.no_reload():
        world.put_slice("node-b", "node-c")
        world.expect("node-b", "node-c")
        assert world.written() - before == world.structural(fast=3)


def test_many_moves_at_once_end_in_the_latest_state(world: World) -> None:
    world.serve("node-a", "node-b")
    world.put_nodes("node-c", "node-d")
    before = world.written()
    for nodes in (["node-c"], ["node-d", "node-a"], ["node-b"], ["node-a", "node-b", "node-c"], ["node-d"], ["node-c", "node-d"]):
        world.put_slice(*nodes)
    world.expect("node-c", "node-d")
    world.in_step()
    # The first new one at once, the rest of them together.
    assert (world.written() - before).transactions <= 2
    assert world.daemon.metrics().value("servers_configured") == 2


def test_node_gets_another_address(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.written()
    with world.no_reload():
        world.put_node("node-a", NODES["node-a-moved"])
        world.expect("node-a", "node-b", node_a=NODES["node-a-moved"])
        assert world.written() - before == Written(fast=1)


def test_node_deleted_while_its_endpoint_stays(world: World) -> None:
    world.serve("node-a", "node-b")
    world.kube.admin.delete("Node", "node-b")
    world.expect("node-a")
    world.daemon.wait_log("node-b.*(not known|unknown|no longer|no such|gone|does not exist|not exist|no Node|deleted)")


def test_node_comes_back(world: World) -> None:
    world.serve("node-a", "node-b")
    with world.no_reload():
        world.kube.admin.delete("Node", "node-b")
        world.expect("node-a")
        world.put_nodes("node-b")
        world.expect("node-a", "node-b")


def test_two_pods_on_a_node_are_one_server(world: World) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-a", "node-b")
    world.start_daemon()
    world.expect("node-a", "node-b")
    world.in_step()
    before = world.version()
    # One of the two leaves: nothing for HAProxy to know. The change after it shows that it was seen.
    world.put_slice("node-a", "node-b")
    world.put_nodes("node-c")
    world.put_slice("node-a", "node-b", "node-c")
    world.expect("node-a", "node-b", "node-c")
    assert world.version() == before + 1


def test_slices_split_in_two(world: World) -> None:
    world.serve("node-a", "node-b", "node-c")
    before = world.version()
    world.put_slice("node-c", name="ingress-2")
    world.put_slice("node-a", "node-b", name="ingress-1")
    # All are still there, so nothing was written; the next change proves that the split has been seen by then.
    world.put_nodes("node-d")
    world.put_slice("node-c", "node-d", name="ingress-2")
    world.expect("node-a", "node-b", "node-c", "node-d")
    assert world.version() == before + 1, "splitting a slice was written to HAProxy"
    world.delete_slice("ingress-1")
    world.expect("node-c", "node-d")


def test_slices_of_other_services_and_namespaces_are_none_of_ours(world: World) -> None:
    world.serve("node-a")
    world.put_nodes("node-b", "node-c")
    before = world.version()
    other = objects.slice_("other-1", "other", world.pods(["node-b"]), namespace=world.namespace)
    world.kube.admin.put(other)
    world.kube.admin.put(objects.slice_("ingress-9", SERVICE, world.pods(["node-b"]), namespace="default"))
    world.put_slice("node-a", "node-c")
    world.expect("node-a", "node-c")
    assert world.version() == before + 1
    world.kube.admin.delete("EndpointSlice", "ingress-9", "default")


@pytest.mark.parametrize("allow_empty", ["false", "true"])
def test_last_endpoint_leaves(world: World, allow_empty: str) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    world.start_daemon(ALLOW_EMPTY=allow_empty)
    world.expect("node-a", "node-b")
    world.in_step()
    before = without_ours(world.dataplane.file())
    world.put_slice()
    if allow_empty == "true":
        world.expect()
        assert without_ours(world.dataplane.file()) == before
    else:
        world.daemon.wait_log("no usable endpoint; keeping the last servers")
        world.expect("node-a", "node-b")
    world.put_slice("node-b")
    world.expect("node-b")
    world.in_step()


def test_terminating_endpoints_leave_unless_none_else_is_left(world: World) -> None:
    world.serve("node-a", "node-b", DRAIN_TIMEOUT="0")
    with world.no_reload():
        world.put_slice("node-a", terminating=["node-b"])
        world.expect("node-a")
        world.put_slice(not_ready=["node-a"], terminating=["node-b"])
        world.expect("node-b")


def cluster_ip(world: World) -> None:
    """A Service that no node listens for."""
    world.put_service(type_="ClusterIP", node_ports={"https": (443, 0)})


def test_host_network_needs_no_port(world: World) -> None:
    """Where the endpoint's address is the node's, the endpoint's own port is right."""
    cluster_ip(world)
    world.kube.admin.put(objects.node("node-h", "10.9.0.1"))
    world.kube.admin.put(objects.slice_("ingress-1", SERVICE, [objects.endpoint("10.9.0.1", "node-h")],
                                        ports=[objects.port(8443)], namespace=world.namespace))
    world.start_daemon()
    world.in_step()
    assert world.addresses() == {"node-h": "10.9.0.1:8443"}


def test_pod_network_without_a_port_is_refused(world: World) -> None:
    cluster_ip(world)
    world.put_nodes("node-a")
    world.put_slice("node-a")
    before = world.dataplane.file()
    world.start_daemon()
    assert "8443" in world.daemon.wait_not_ready("HAPROXY_BACKEND_PORT")
    assert world.dataplane.file() == before


def test_fixed_port_needs_no_service(world: World) -> None:
    """Whatever leads from the nodes to the pods: it is the user's word."""
    world.delete_service()
    port = world.open_port()
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.start_daemon(HAPROXY_BACKEND_PORT=str(port))
    world.expect("node-a", port=port)
    world.in_step()

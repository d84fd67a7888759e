"""What the Service itself says: its nodePort, its ports, its deletion, and a right to read it that is missing."""

from __future__ import annotations

import pytest

from tests.harness import objects

from .world import World, Written

POD_PORTS = [objects.port(8443, "https"), objects.port(8080, "http")]
UNDECIDED = "nothing is written while the mapping is undecided"


def untouched(world: World, text: str) -> None:
    assert world.dataplane.file() == text, "something was written"


# --- one port


def test_node_port_is_followed_when_the_service_changes(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.written()
    with world.no_reload():
        world.put_service(node_ports={"https": (443, port := world.open_port("!"))})
        world.expect("node-a", "node-b", port=port, mark="!")
        world.in_step()
        assert world.written() - before == Written(fast=2)
        world.daemon.wait_log('msg="runtime update applied".*cause="MODIFIED service ingress"')


# --- a Service that may not be read


@pytest.mark.one_combination
def test_forbidden_service_is_taken_up_once_it_is_granted(world: World) -> None:
    world.rights.only("nodes", "slices", "endpoints")
    world.put_nodes("node-a")
    world.put_slice("node-a")
    before = world.dataplane.file()
    daemon = world.start_daemon()
    daemon.wait_log("the Service may not be read")
    daemon.wait_not_ready(UNDECIDED)
    untouched(world, before)
    world.rights.only("nodes", "slices", "endpoints", "services")
    world.hurried(lambda: "the Service is readable now" in daemon.log(), "the granted right to be noticed")
    world.expect("node-a")
    world.in_step()


@pytest.mark.one_combination
def test_right_taken_away_keeps_what_the_service_said(world: World) -> None:
    world.serve("node-a")
    world.rights.only("nodes", "slices", "endpoints")
    # An open watch outlives its right: only the next one is refused.
    world.kube.stop_apiserver()
    world.kube.start_apiserver()
    said = "the Service may not be read any more; its last state stays in use"
    world.hurried(lambda: said in world.daemon.log(), "the denial to be believed")
    world.put_nodes("node-b")
    world.put_slice("node-a", "node-b")
    world.expect("node-a", "node-b")
    world.in_step()


# --- several ports


def two_ports(world: World, **names: str) -> tuple[int, int]:
    """The Service has https (443) at node_port and http (80) at a further one, where the nodes say so; names replaces the names."""
    http = world.open_port("/http")
    put_two_ports(world, http, **names)
    return world.node_port, http


def put_two_ports(world: World, http_port: int, https: str = "https", http: str = "http") -> None:
    world.put_service(node_ports={https: (443, world.node_port), http: (80, http_port)})


@pytest.mark.one_combination
def test_renamed_port(world: World) -> None:
    _, http = two_ports(world)
    world.put_nodes("node-a")
    world.put_slice("node-a", ports=POD_PORTS)
    world.start_daemon(INGRESS_SERVICE_PORT="http")
    world.expect("node-a", port=http, mark="/http")
    world.in_step()
    before = world.dataplane.file()
    put_two_ports(world, http, http="plain")
    body = world.daemon.wait_not_ready('has no port "http"')
    assert "https 443, plain 80" in body
    untouched(world, before)
    # The operator follows.
    world.daemon.stop()
    said = len(world.daemon.log())
    # The endpoints controller has not yet: the slices still say http, so that nobody is known to serve the port.
    world.start_daemon(INGRESS_SERVICE_PORT="plain").wait_log("no usable endpoint; keeping the last servers", since=said)
    untouched(world, before)
    world.put_slice("node-a", "node-b", ports=[objects.port(8443, "https"), objects.port(8080, "plain")])
    world.put_nodes("node-b")
    world.expect("node-a", "node-b", port=http, mark="/http")
    world.in_step()

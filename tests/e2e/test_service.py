"""What the Service itself says: its nodePort, its ports, its deletion, and a right to read it that is missing."""

from __future__ import annotations

import re

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


@pytest.mark.one_combination
def test_node_port_that_the_api_server_chose(world: World) -> None:
    """Nobody listens there: it is about the number."""
    world.delete_service()
    given = world.put_service(node_ports={"https": (443, 0)})["spec"]["ports"][0]["nodePort"]
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.start_daemon()
    world.expect_servers({"node-a": f"127.0.10.1:{given}"})
    world.in_step()


@pytest.mark.one_combination
def test_service_becomes_internal_and_public_again(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.dataplane.file()
    world.put_service(type_="ClusterIP", node_ports={"https": (443, 0)})
    world.daemon.wait_not_ready(UNDECIDED)
    world.daemon.wait_log("HAPROXY_BACKEND_PORT is not set and endpoint .* is not at the address of its node")
    untouched(world, before)
    world.put_service(type_="LoadBalancer")
    world.in_step()
    world.expect("node-a", "node-b")
    untouched(world, before)


@pytest.mark.one_combination
def test_service_deleted_and_made_anew(world: World) -> None:
    world.serve("node-a", "node-b")
    before = world.dataplane.file()
    world.delete_service()
    world.daemon.wait_not_ready(UNDECIDED)
    untouched(world, before)
    world.put_service(node_ports={"https": (443, port := world.open_port("!"))})
    world.expect("node-a", "node-b", port=port, mark="!")
    world.in_step()


@pytest.mark.one_combination
def test_service_made_after_its_slices(world: World) -> None:
    world.delete_service()
    world.put_nodes("node-a")
    world.put_slice("node-a")
    before = world.dataplane.file()
    world.start_daemon()
    world.daemon.wait_not_ready(UNDECIDED)
    untouched(world, before)
    world.put_service()
    world.expect("node-a")
    world.in_step()


# --- a Service that may not be read


@pytest.mark.one_combination
def test_forbidden_service_changes_nothing_and_is_said_once(world: World) -> None:
    world.rights.only("nodes", "slices", "endpoints")
    # Which it cannot know.
    world.put_service(node_ports={"https": (443, world.open_port("!"))})
    world.serve("node-a", "node-b", HAPROXY_BACKEND_PORT=str(world.node_port))
    daemon = world.daemon
    daemon.wait_log('level=warn msg="the Service may not be read; continuing without it".*403.*'
                    'hint="deploy/rbac.yaml grants it"')
    assert "may not be read, continuing without it" in daemon.get("/readyz")[1]
    refused = daemon.metrics().sum("http_requests_total", target="kubernetes", code="403")
    world.hurried(lambda: daemon.metrics().sum("http_requests_total", target="kubernetes", code="403") >= refused + 2, "more refusals")
    world.put_slice("node-b")
    world.expect("node-b")
    world.in_step()
    assert len(re.findall("level=warn.*may not be read", daemon.log())) == 1


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
def test_several_ports_are_listed_until_one_is_left(world: World) -> None:
    two_ports(world)
    world.put_nodes("node-a")
    world.put_slice("node-a", ports=POD_PORTS)
    before = world.dataplane.file()
    world.start_daemon()
    body = world.daemon.wait_not_ready("INGRESS_SERVICE_PORT")
    assert f"Service {world.namespace}/ingress has 2 ports (https 443, http 80)" in body
    untouched(world, before)
    world.put_service()
    world.expect("node-a")
    world.in_step()


@pytest.mark.one_combination
@pytest.mark.parametrize("chosen", ["http", "80"])
def test_port_chosen_by_name_and_by_number(world: World, chosen: str) -> None:
    _, http = two_ports(world)
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b", ports=POD_PORTS)
    world.start_daemon(INGRESS_SERVICE_PORT=chosen)
    world.expect("node-a", "node-b", port=http, mark="/http")
    world.in_step()


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


@pytest.mark.one_combination
def test_renamed_port_chosen_by_number(world: World) -> None:
    """The number stays, and so do the servers."""
    _, http = two_ports(world)
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", ports=POD_PORTS)
    world.start_daemon(INGRESS_SERVICE_PORT="80")
    world.expect("node-a", port=http, mark="/http")
    world.in_step()
    # First the Service, then its slices, as the endpoints controller does it.
    put_two_ports(world, http, http="plain")
    world.put_slice("node-a", ports=[objects.port(8443, "https"), objects.port(8080, "plain")])
    world.put_slice("node-a", "node-b", ports=[objects.port(8443, "https"), objects.port(8080, "plain")])
    world.expect("node-a", "node-b", port=http, mark="/http")
    world.in_step()

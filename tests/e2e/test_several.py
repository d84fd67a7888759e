"""Several backends in one daemon: a Service with two ports and another in a namespace of its own."""

from __future__ import annotations

import dataclasses

import pytest

from tests.harness import objects
from tests.harness.realkube import listing

from .world import NODES, World, Written

POD_PORTS = [objects.port(8443, "https"), objects.port(8080, "http")]


@dataclasses.dataclass
class Several:
    world: World
    namespace: str  # of the second Service
    http: int       # node ports
    shop: int

    @property
    def services(self) -> str:
        own = self.world.namespace
        return f"{own}/ingress:https=ingress, {own}/ingress:http=ingress-http, {self.namespace}/web:80=shop"

    def start(self, services: str = "", **settings: str) -> None:
        self.world.start_daemon(INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="", HAPROXY_BACKEND_NAME="",
                                INGRESS_SERVICES=services or self.services, **settings)

    def put_slices(self, *nodes: str) -> None:
        self.world.put_slice(*nodes, ports=POD_PORTS)

    def put_shop(self, *nodes: str) -> None:
        self.world.put_slice(*nodes, name="web-1", service="web", namespace=self.namespace, ports=[objects.port(9000, "")])

    def expect(self, https: list[str], http: list[str], shop: list[str], **addresses: str) -> None:
        self.world.expect(*https, **addresses)
        self.world.expect(*http, backend="ingress-http", port=self.http, mark="/http", **addresses)
        self.world.expect(*shop, backend="shop", port=self.shop, mark="/shop", **addresses)


@pytest.fixture
def several(world: World) -> Several:
    made = Several(world, world.more_namespace("shop"), world.open_port("/http"), world.open_port("/shop"))
    world.put_service(node_ports={"https": (443, world.node_port), "http": (80, made.http)})
    world.put_service("web", namespace=made.namespace, node_ports={"": (80, made.shop)})
    world.put_nodes("node-a", "node-b", "node-c")
    made.put_slices("node-a", "node-b")
    made.put_shop("node-b", "node-c")
    return made


def in_step(several: Several, **settings: str) -> None:
    several.start(**settings)
    several.expect(["node-a", "node-b"], ["node-a", "node-b"], ["node-b", "node-c"])
    several.world.in_step(backends=3)


def test_node_change_that_touches_all_needs_no_reload(several: Several, world: World) -> None:
    before = world.version()
    in_step(several)
    assert world.version() <= before + 2, "two Services, each taken up as soon as it is known, took more than two commits"
    known = world.written()
    with world.no_reload():
        world.put_node("node-b", NODES["node-a-moved"])
        moved = {"node_b": NODES["node-a-moved"]}
        world.expect_servers({"node-b": f"{NODES['node-a-moved']}:{several.shop}", "node-c": f"{NODES['node-c']}:{several.shop}"},
                             backend="shop")
        world.in_step(backends=3)
        assert world.written() - known == Written(fast=3), "one node in three backends"
    for backend, port in (("ingress", world.node_port), ("ingress-http", several.http)):
        assert world.addresses(backend) == {"node-a": f"{NODES['node-a']}:{port}", "node-b": f"{moved['node_b']}:{port}"}
    world.expect_traffic("node-a", "node-a-moved")
    world.expect_traffic("node-a/http", "node-a-moved/http", backend="ingress-http")
    world.expect_traffic("node-a-moved/shop", "node-c/shop", backend="shop")


@pytest.mark.one_combination
def test_namespace_without_rights_does_not_stop_the_others(several: Several, world: World) -> None:
    # The Role of deploy/rbac.yaml is missing there: nothing can be known of that Service.
    for kind in ("RoleBinding", "Role"):
        world.kube.admin.delete(kind, "haproxy-k8s-sync", several.namespace)
    world.kube.await_access(world.rights.token, *listing(["nodes"], several.namespace))
    several.start()
    world.expect("node-a", "node-b")
    world.expect("node-a", "node-b", backend="ingress-http", port=several.http, mark="/http")
    body = world.daemon.wait_not_ready(f"of {several.namespace}/web: .*403")
    assert "waiting for Kubernetes" in body
    assert world.ours("shop") == {}
    world.rights.also_in(several.namespace)
    world.hurried(lambda: set(world.ours("shop")) == {"node-b", "node-c"}, "the servers of the Service that may be read now")
    world.in_step(backends=3)

"""The table of docs/get-started.md: of a Service as each ingress controller makes it, the daemon makes servers by the page's entries."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest

from tests.harness import objects
from tests.harness.process import ROOT

from .rig import BY_NODE_PORT, SEVERAL, Rig

HEAD = "| controller | namespace/Service:port |"


@dataclasses.dataclass
class Made:
    """By a controller. ports: name -> (port, nodePort). slice_ports: name -> the pods' own port. nodes: whether an endpoint names its node."""

    ports: dict[str, tuple[int, int]]
    slice_ports: dict[str, int]
    type: str = "NodePort"
    host: bool = False
    nodes: bool = True


def by_node_port(http: str, https: str, pods: tuple[int, int], **more: int) -> Made:
    ports = {http: (80, 30080), https: (443, 30443)} | {name: (port, 31000 + port % 1000) for name, port in more.items()}
    return Made(ports, {http: pods[0], https: pods[1], **more})


# Ports that are for others than clients stand beside them, as in the real ones.
MADE = {
    "Traefik": by_node_port("web", "websecure", (8000, 8443)),
    "Contour": by_node_port("http", "https", (8080, 8443)),
    "HAProxy's ingress controller": by_node_port("http", "https", (8080, 8443), stat=1024),
    "Envoy Gateway": by_node_port("http-80", "https-443", (10080, 10443)),
    "Cilium Gateway `edge`": Made({"port-80": (80, 30080), "port-443": (443, 30443)}, {"": 9999}, "LoadBalancer", nodes=False),
    "Cilium Ingress": Made({"http": (80, 30080), "https": (443, 30443)}, {"": 9999}, "LoadBalancer", nodes=False),
    "Istio": by_node_port("http2", "https", (80, 443), **{"status-port": 15021}),
    "Istio Gateway `edge`": by_node_port("default", "tls", (80, 443), **{"status-port": 15021}),
    "OpenShift's router": Made({"http": (80, 0), "https": (443, 0), "metrics": (1936, 0)}, {"http": 80, "https": 443, "metrics": 1936}, "ClusterIP", host=True),
    "ingress-nginx": by_node_port("http", "https", (80, 443)),
}


def rows() -> dict[str, list[str]]:
    """Controller, without what its row says of the release -> the row's other cells."""
    table = (ROOT / "docs" / "get-started.md").read_text().partition(HEAD)[2].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
    return {re.split(r", (?:release|shared|host)| \(", first)[0]: rest for first, *rest in cells}


def test_the_table_has_each_of_them() -> None:
    assert list(rows()) == list(MADE)


@pytest.mark.parametrize("controller", MADE, ids=lambda name: re.sub(r"\W+", "-", name))
def test_servers_are_made_of_its_service(controller: str, tmp_path: pathlib.Path) -> None:
    made, cell = MADE[controller], rows()[controller][0]
    entries = re.findall(r"`([\w-]+)/([\w-]+):([\w-]+)`", cell)
    (namespace, name, _), (namespace_again, name_again, _) = entries
    assert (namespace, name) == (namespace_again, name_again)
    mode = re.search(r"`NODE_MODE=(\w+)`", cell)
    with Rig(tmp_path, SEVERAL) as rig:
        for extra in (4, 5):
            rig.kube.delete(objects.node(f"n{extra}"))
        rig.service(name, namespace=namespace, node_ports=made.ports, type_=made.type, policy="Local" if made.nodes else "Cluster")
        if made.nodes:
            address = "127.0.11.{}" if made.host else "10.244.{}.7"
            pods = [objects.endpoint(address.format(i), f"n{i}") for i in (1, 2, 3)]
        else:
            pods = [objects.endpoint("192.192.192.192")]
        rig.kube.put(objects.slice_(f"{name}-x", name, pods, namespace=namespace, ports=[objects.port(port, label) for label, port in made.slice_ports.items()]))
        services = ",".join(f"{ns}/{service}:{port}={backend}" for (ns, service, port), backend in zip(entries, ("be2", "be"), strict=True))
        rig.start(**BY_NODE_PORT, INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="", HAPROXY_BACKEND_NAME="", INGRESS_SERVICES=services,
                  **({"NODE_MODE": mode[1]} if mode else {}))
        for backend, port in (("be2", 80 if made.host else 30080), ("be", 443 if made.host else 30443)):
            rig.wait_addresses({f"n{i}": f"127.0.11.{i}:{port}" for i in (1, 2, 3)}, backend=backend)
        rig.wait_in_sync(backends=2)

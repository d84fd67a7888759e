"""A real kube-apiserver filled with realistic nodes, and slices that name some of them."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import threading

from tests.doubles.kubernetes import generate
from tests.harness import objects, realparts
from tests.harness.realkube import Client, Object, RealKube

from .setup import SERVICE

NAMESPACE = "bench"
WRITERS = 4


def node_name(i: int) -> str:
    return f"node-{i:05d}"


def realistic_nodes(count: int) -> list[Object]:
    """As a client posts them: the server adds managedFields, uid and the rest by itself."""
    made = []
    for stored in generate.nodes(count, 0):
        tree = json.loads(stored.item())
        meta = {k: v for k, v in tree["metadata"].items() if k in ("name", "labels", "annotations")}
        made.append({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": tree["spec"], "status": tree["status"]})
    return made


def start(home: pathlib.Path) -> RealKube:
    kube = RealKube(home, realparts.kube_apiserver(), realparts.etcd())
    kube.start()
    kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    kube.grant("nodes", "slices", "endpoints", "services")
    return kube


def fill(kube: RealKube, count: int) -> None:
    own = threading.local()

    def post(node: Object) -> None:
        if not hasattr(own, "client"):
            own.client = Client(kube.port, kube.ca)
        own.client.request("POST", "/api/v1/nodes", node)

    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(post, realistic_nodes(count)))


def slice_of(count: int, first: int = 0, namespace: str = NAMESPACE) -> Object:
    """One pod on each of `count` nodes."""
    pods = [objects.endpoint(f"10.244.{i >> 8}.{i & 255}", node_name(first + i)) for i in range(count)]
    return objects.slice_("bench-1", SERVICE, pods, namespace=namespace)

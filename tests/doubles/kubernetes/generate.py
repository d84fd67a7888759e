"""Many realistic objects for load tests: nodes of 12-15 kB (50 images, managedFields) and slices with an endpoint on each."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from . import protobuf
from .encoding import encode
from .objects import Stored, complete, normalise
from .resources import NODES, SLICES
from .store import Store

IMAGES = 50
IMAGE_SETS = 64
"""Nodes share their lists of images, so that 50,000 of them fit into memory."""
PER_SLICE = 100
NAMESPACE = SERVICE = "ingress-nginx"


def _images(random_: random.Random) -> list[dict[str, Any]]:
    images = []
    for _ in range(IMAGES):
        number = random_.randrange(1, 400)
        name = f"registry.example.com/team-{random_.randrange(16)}/service-{number}"
        digest = hashlib.sha256(random_.randbytes(16)).hexdigest()
        images.append({"names": [f"{name}@sha256:{digest}", f"{name}:v1.{number}.0"],
                       "sizeBytes": random_.randrange(10_000_000, 1_000_000_000)})
    return images


def address(i: int) -> str:
    return f"10.{100 + (i >> 16)}.{(i >> 8) & 255}.{i & 255}"


def _node(i: int) -> dict[str, Any]:
    name = f"node-{i:05d}"
    labels = {"beta.kubernetes.io/arch": "amd64", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name,
              "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m6i.2xlarge",
              "topology.kubernetes.io/region": "region-1", "topology.kubernetes.io/zone": f"region-1-{i % 3}"}
    beat = "2026-01-01T00:00:00Z"
    conditions = [{"type": type_, "status": "True" if type_ == "Ready" else "False", "lastHeartbeatTime": beat,
                   "lastTransitionTime": beat, "reason": f"Kubelet{type_}", "message": f"kubelet has sufficient {type_}"}
                  for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")]
    sizes = {"cpu": "8", "ephemeral-storage": "203056560Ki", "memory": "32386588Ki", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels, "annotations": {
                "node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
            "spec": {"podCIDR": f"10.244.{i & 255}.0/24", "providerID": f"cloud:///region-1/{name}"},
            "status": {"capacity": sizes, "allocatable": sizes, "conditions": conditions,
                       "addresses": [{"type": "InternalIP", "address": address(i)}, {"type": "Hostname", "address": name}],
                       "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                       "nodeInfo": {**NODES.empty["status"]["nodeInfo"], "kubeletVersion": "v1.34.4", "architecture": "amd64",
                                    "osImage": "Debian GNU/Linux 12 (bookworm)", "operatingSystem": "linux"}}}


def nodes(count: int, version: int) -> list[Stored]:
    random_ = random.Random(1)
    sets = [_images(random_) for _ in range(IMAGE_SETS)]
    tails = [(b',"images":' + encode(images) + b"}}", protobuf.images(images)) for images in sets]
    made = []
    for i in range(count):
        stored = complete(NODES, _node(i), version + i + 1, None)
        head = stored.item()
        assert head.endswith(b"}}"), "status comes last, so that its images can be appended"
        made.append(Stored(NODES, "", stored.name, stored.uid, stored.version, stored.labels,
                           (head[:-2], tails[i % IMAGE_SETS][0]), tails[i % IMAGE_SETS][1]))
    return made


def slices(count: int, version: int) -> list[Stored]:
    made = []
    for first in range(0, count, PER_SLICE):
        chosen = range(first, min(first + PER_SLICE, count))
        tree = {"metadata": {"name": f"{SERVICE}-{first // PER_SLICE:05d}", "namespace": NAMESPACE, "labels": {
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                    "kubernetes.io/service-name": SERVICE}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [f"10.244.{i >> 8 & 255}.{i & 255}"],
                               "conditions": {"ready": True, "serving": True, "terminating": False},
                               "nodeName": f"node-{i:05d}",
                               "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": f"controller-{i:05d}"}}
                              for i in chosen],
                "ports": [{"name": "https", "protocol": "TCP", "port": 8443}]}
        made.append(complete(SLICES, normalise(SLICES, tree), version + first // PER_SLICE + 1, None))
    return made


def fill(store: Store, count: int) -> None:
    made = nodes(count, store.version)
    store.adopt(made)
    store.adopt(slices(count, store.version))

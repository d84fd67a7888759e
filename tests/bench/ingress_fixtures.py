"""Fixtures for tests/bench/render.c: as many Ingresses, each with a host of so many paths, a Service and an EndpointSlice of so many endpoints.

    python3 -m tests.bench.ingress_fixtures 10000 5 >fixtures.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

NAMESPACES = 50


def objects(ingresses: int, endpoints: int, paths: int = 1) -> dict[str, list[dict[str, Any]]]:
    made: dict[str, list[dict[str, Any]]] = {"classes": [{
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "haproxy"},
        "spec": {"controller": "haproxy-k8s-sync.io/ingress"}}], "ingresses": [], "services": [], "slices": []}
    for i in range(ingresses):
        name, namespace = f"app-{i}", f"team-{i % NAMESPACES}"
        backend = {"service": {"name": name, "port": {"number": 80}}}
        routes = [{"path": f"/{path}" if path else "/", "pathType": "Prefix", "backend": backend} for path in range(paths)]
        made["ingresses"].append({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": f"2026-01-{1 + i % 28:02d}T10:00:00Z"},
            "spec": {"ingressClassName": "haproxy", "rules": [
                {"host": f"{name}.example.com", "http": {"paths": routes}}]}})
        made["services"].append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
                                 "spec": {"type": "ClusterIP", "ports": [{"name": "http", "port": 80}]}})
        numbers = range(i * endpoints, (i + 1) * endpoints)
        made["slices"].append({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": f"{name}-x", "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": [{"addresses": [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"],
                           "conditions": {"ready": True, "serving": True, "terminating": False}} for n in numbers]})
    return made


if __name__ == "__main__":
    json.dump(objects(int(sys.argv[1]), int(sys.argv[2])), sys.stdout)

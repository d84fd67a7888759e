"""What an API server serves in a group and version, as the daemon reads it: from a kind to its plural, and whether it is in namespaces. On
the double and on a real kube-apiserver alike, see test_kubernetes_protocol.py."""

from __future__ import annotations

import pytest

from .test_kubernetes_protocol import Target, doubles, streaming, target

__all__ = ["doubles", "streaming", "target"]  # fixtures


@pytest.mark.parametrize(("path", "version", "kind", "plural", "namespaced"), [
    ("/api/v1", "v1", "Service", "services", True),
    ("/api/v1", "v1", "Node", "nodes", False),
    ("/api/v1", "v1", "ConfigMap", "configmaps", True),
    ("/apis/networking.k8s.io/v1", "networking.k8s.io/v1", "Ingress", "ingresses", True),
    ("/apis/networking.k8s.io/v1", "networking.k8s.io/v1", "IngressClass", "ingressclasses", False),
    ("/apis/discovery.k8s.io/v1", "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", True)])
def test_from_a_kind_to_its_path(target: Target, path: str, version: str, kind: str, plural: str, namespaced: bool) -> None:
    answer = target.client.call("GET", path)
    assert answer.status == 200, answer.text
    found = answer.json()
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", version)
    named = [r for r in found["resources"] if r["kind"] == kind and "/" not in r["name"]]
    assert [(r["name"], r["namespaced"]) for r in named] == [(plural, namespaced)]
    assert {"list", "watch"} <= set(named[0]["verbs"])


def test_a_subresource_has_the_kind_too(target: Target) -> None:
    found = target.client.call("GET", "/apis/networking.k8s.io/v1").json()
    assert {r["name"] for r in found["resources"] if r["kind"] == "Ingress"} == {"ingresses", "ingresses/status"}


@pytest.mark.parametrize("path", ["/apis/nothing.example/v1", "/apis/networking.k8s.io/v9"])
def test_what_is_not_served_is_404(target: Target, path: str) -> None:
    assert target.client.call("GET", path).status == 404

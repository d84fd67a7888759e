"""RBAC and TLS as a real API server enforces them."""

from __future__ import annotations

import pytest

from tests.harness.realkube import Client

from .rights import NAME
from .world import World


@pytest.mark.every_combination
def test_slices_forbidden_falls_back_to_endpoints(world: World) -> None:
    world.rights.only("nodes", "endpoints")
    world.put_nodes("node-a", "node-b", "node-c")
    # What the slices say must not matter: they cannot be read.
    world.put_slice("node-c")
    world.put_endpoints("node-a", "node-b")
    # Nor can the Service and its nodePort be read.
    world.start_daemon(HAPROXY_BACKEND_PORT=str(world.node_port))
    world.expect("node-a", "node-b")
    world.in_step()
    world.put_endpoints("node-b", "node-c")
    world.expect("node-b", "node-c")


@pytest.mark.one_combination
def test_the_manifest_grants_nothing_but_what_is_needed(world: World) -> None:
    """All cases here run with these rights and no others; that none is missing, they show. None is too much, either."""
    client = Client(world.kube.port, world.kube.ca, world.rights.token)
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    rules = {}
    for namespace in (world.namespace, "kube-system"):
        found = client.request("POST", path, {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
                                              "spec": {"namespace": namespace}})["status"]["resourceRules"]
        rules[namespace] = {(resource, verb, *rule.get("resourceNames", [])) for rule in found for resource in rule["resources"]
                            for verb in rule["verbs"] if not resource.startswith("selfsubject")}
    client.close()
    reading = ("list", "watch")
    everywhere = {("nodes", verb) for verb in reading}
    assert rules["kube-system"] == everywhere
    own = {(resource, verb) for resource in ("endpointslices", "endpoints", "services") for verb in reading}
    lease = {("leases", verb, NAME) for verb in ("get", "watch", "update")} | {("leases", "create")}
    assert rules[world.namespace] == everywhere | own | lease


def test_nodes_forbidden_later_keeps_the_last_good_state(world: World) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    daemon = world.start_daemon()
    world.expect("node-a", "node-b")
    world.in_step()
    world.rights.only("slices", "endpoints", "services")
    # An open watch outlives its right: only the next one is refused.
    world.kube.stop_apiserver()
    world.kube.start_apiserver()
    daemon.wait_not_ready("nodes", timeout=60)
    assert set(world.ours()) == {"node-a", "node-b"}
    world.expect("node-a", "node-b")

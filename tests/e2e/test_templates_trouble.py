"""Templates on a real API server when something is wrong or large: a right that is granted later, a CustomResourceDefinition that changes under its
objects, a bad template in the middle of a rollout, 20,000 objects."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re

from tests.harness import objects
from tests.harness.backends import node_port
from tests.harness.load import Load
from tests.harness.nodes import Nodes
from tests.harness.process import wait_until

from .test_templates import CRD, SET, Place, place

__all__ = ["place"]  # a fixture

PODS = {f"pod-{i}": f"127.0.18.{i}" for i in range(1, 7)}
# A rollout goes on while no template renders: what HAProxy has is what it has, and its checks show it who is gone.
ROLLOUT = """\
watch:
  slices:
    apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    namespaces: NAMESPACE
    keep: [endpoints]
"""
SERVERS = """\
backend be
  mode tcp
  option redispatch
  retries 3
  default-server check inter 100ms fall 1 rise 1
{% for slice in resources.slices %}{% for endpoint in slice.endpoints if endpoint.conditions.ready %}
  server {{ endpoint.nodeName }} {{ endpoint.addresses[0]|replace("10.1.0.", "127.0.18.") }}:PORT
{% endfor %}{% endfor %}
"""
"""Bytes of each that no template asks for."""


def test_a_definition_changes_under_its_objects(place: Place) -> None:
    """Objects of a version that is no longer served stay as they were seen last, until the set asks for another one."""
    place.define(CRD)
    wait_until(place.greets, 20, "the resource is served")
    place.may_read_pods()
    place.templates()
    place.ingress("one", "a.example")
    with place.daemon() as daemon:
        place.await_says("a.example hello", 60)
        wait_until(daemon.ready, 20, "ready")
        version = CRD["spec"]["versions"][0]
        changed = {**CRD, "spec": {**CRD["spec"], "versions": [{**version, "served": False}, {**version, "name": "v2", "storage": False}]}}
        place.kube.admin.apply("CustomResourceDefinition", CRD["metadata"]["name"], json.dumps(changed))
        wait_until(lambda: re.search(r"\[-\]watch greetings: stale, the last good state is in use: .*404", daemon.get("/readyz")[1]), 60, "it is missed")
        place.ingress("one", "b.example")
        place.await_says("b.example hello")
        place.templates(watch=SET.replace("example.com/v1", "example.com/v2"))
        wait_until(daemon.ready, 30, "ready with the new version")
        place.kube.admin.request("PATCH", "/apis/example.com/v2/greetings/g", {"spec": {"text": "bye"}}, "application/merge-patch+json")
        place.await_says("b.example bye")
        place.kube.admin.delete("CustomResourceDefinition", CRD["metadata"]["name"])
        place.await_says("b.example", 60)
        wait_until(daemon.ready, 60, "ready without it")
        place.ingress("one", "c.example")
        place.await_says("c.example")
        place.define(CRD)
        wait_until(place.greets, 20, "the resource is served again")
        place.templates(watch=SET)
        place.await_says("c.example hello", 60)


# The API server refuses loopback addresses in slices.
def pods(place: Place, *names: str) -> None:
    place.kube.admin.put(objects.slice_("web-1", "web", [objects.endpoint(PODS[name].replace("127.0.18.", "10.1.0."), name) for name in names], namespace=place.namespace))


def test_a_bad_template_in_the_middle_of_a_rollout(place: Place, tmp_path: pathlib.Path) -> None:
    port = node_port(PODS.values())
    text = place.first.replace("  http-request return status 200 content-type text/plain string \"zero\"\n", "  mode tcp\n  default_backend be\n") + SERVERS.replace("PORT", str(port))
    place.push(text, ROLLOUT)
    pods(place, "pod-1", "pod-2", "pod-3")
    with contextlib.ExitStack() as stack:
        nodes = stack.enter_context(Nodes(PODS, port, tmp_path / "nodes"))
        daemon = stack.enter_context(place.daemon())

        def runs(*names: str) -> None:
            wait_until(lambda: set(place.haproxy.servers("be")) == set(names), 30, f"HAProxy has {names}")
        runs("pod-1", "pod-2", "pod-3")
        wait_until(daemon.ready, 20, "ready")
        worker = place.haproxy.worker()
        load = stack.enter_context(Load(place.haproxy.port, tmp_path / "load"))
        pods(place, "pod-2", "pod-3", "pod-4")
        runs("pod-2", "pod-3", "pod-4")
        nodes.deaf("pod-1")

        place.push(text.replace("endpoint.nodeName", "endpoint.nodeNane"), ROLLOUT)
        where = r"haproxy\.cfg:\d+:\d+: .*the line: server {{ endpoint\.nodeNane }}"
        wait_until(lambda: re.search(where, daemon.get("/readyz")[1]), 20, "the error is named with its place")
        wait_until(lambda: ("ConfigMap", "templates", "ConfigRejected") in place.events(), 20, "and by an Event")
        pods(place, "pod-3", "pod-4", "pod-5")
        runs("pod-3", "pod-4", "pod-5")  # by the last good template
        nodes.deaf("pod-2")
        assert re.search(where, daemon.get("/readyz")[1]), "the error stands"

        place.push(text, ROLLOUT)
        wait_until(daemon.ready, 20, "ready")
        pods(place, "pod-4", "pod-5", "pod-6")
        runs("pod-4", "pod-5", "pod-6")
        wait_until(daemon.ready, 20, "ready")
        asked = nodes.asked("pod-6")
        wait_until(lambda: nodes.asked("pod-6") > asked, 20, "the newest pod is asked")
        traffic = load.stop()
        assert traffic.connections and not traffic.failed, traffic.describe()
        assert place.haproxy.worker() == worker, "no reload"

"""Templates over the objects of a real API server: Ingresses, and a custom resource that comes later, changes and goes; rights that
lack one resource; Events on what they are about."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http, realkube
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import HAProxy
from tests.harness.process import wait_until
from tests.harness.realkube import ApiError, Client, RealKube

_namespaces = itertools.count(1)

FIRST = """\
global
  stats socket {d}/haproxy.sock mode 600 level admin
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend fe
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain string "zero"
"""
SET = """\
watch:
  ingresses:
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    namespaces: NAMESPACE
    keep: [spec.rules]
  greetings:
    apiVersion: example.com/v1
    kind: Greeting
    keep: [spec]
  pods:
    apiVersion: v1
    kind: Pod
    namespaces: [NAMESPACE]
"""
SAYS = ("{% for i in resources.ingresses %}{% for r in i.spec.rules %}{% if r.host == 'bad.example' %}{{ warn(i, 'not this host') }}{% endif %}{{ r.host }} {% endfor %}{% endfor %}"
        "{% for g in resources.greetings %}{{ g.spec.text }} {% endfor %}{% for p in resources.pods %}{{ p.metadata.name }} {% endfor %}")
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "greetings.example.com"},
       "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Greeting", "listKind": "GreetingList", "plural": "greetings", "singular": "greeting"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}}}}}}}]}}


class Place:
    """A HAProxy, a namespace with a set in a ConfigMap, and an account that may watch all but pods."""

    def __init__(self, home: pathlib.Path, kube: RealKube):
        self.home, self.kube, self.namespace = home, kube, f"templates-{next(_namespaces)}"
        self.haproxy = HAProxy(home / "haproxy", FIRST)
        self.first = self.haproxy.config.read_text()
        about = {"name": self.namespace}
        self.put("Namespace", self.namespace, namespace="")
        self.put("ServiceAccount", "sync")
        self.grant()
        self.put("ClusterRoleBinding", self.namespace, "rbac.authorization.k8s.io/v1", "", subjects=[{"kind": "ServiceAccount", "name": "sync", "namespace": self.namespace}],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", **about})
        self.token = kube.admin.service_account_token("sync", self.namespace)
        wait_until(lambda: self.may("ingresses"), 20, "the authorizer to know the role")

    def grant(self, *more: str) -> None:
        """more: of the API group ""."""
        rules = [{"apiGroups": [group], "resources": [plural], "verbs": ["list", "watch"]}
                 for group, plural in (("networking.k8s.io", "ingresses"), ("discovery.k8s.io", "endpointslices"), ("example.com", "greetings"), ("", "configmaps"),
                                       *(("", plural) for plural in more))]
        rules.append({"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]})
        self.put("ClusterRole", self.namespace, "rbac.authorization.k8s.io/v1", "", rules=rules)

    def may(self, plural: str) -> bool:
        client = Client(self.kube.port, self.kube.ca, self.token)
        try:
            client.request("GET", f"/apis/networking.k8s.io/v1/namespaces/{self.namespace}/{plural}")
        except ApiError as e:
            assert e.status == 403
            return False
        finally:
            client.close()
        return True

    def put(self, kind: str, name: str, api: str = "v1", namespace: str | None = None, **content: Any) -> None:
        where = self.namespace if namespace is None else namespace
        self.kube.admin.put({"apiVersion": api, "kind": kind, "metadata": {"name": name, **({"namespace": where} if where else {})}, **content})

    def ingress(self, name: str, host: str) -> None:
        self.put("Ingress", name, "networking.k8s.io/v1", spec={"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}, "rules": [{"host": host}]})

    def greets(self) -> bool:
        try:
            self.put("Greeting", "g", "example.com/v1", "", spec={"text": "hello"})
        except ApiError as e:
            assert e.status == 404
            return False
        return True

    def define(self, crd: dict[str, Any]) -> None:
        """Once the one before is gone."""
        def is_gone() -> bool:
            return all(one["metadata"]["name"] != crd["metadata"]["name"] for one in self.kube.admin.list("CustomResourceDefinition"))
        wait_until(is_gone, 30, "no such definition any more")
        self.kube.admin.put(crd)

    def templates(self, says: str = SAYS, watch: str = SET) -> None:
        self.push(self.first.replace('"zero"', f'"{says}"'), watch)

    def push(self, text: str, watch: str) -> None:
        self.put("ConfigMap", "templates", data={"set.yaml": watch.replace("NAMESPACE", self.namespace), "haproxy.cfg.j2": text})

    def daemon(self, **more: str) -> Daemon:
        settings = {"KUBECONFIG": str(self.kube.kubeconfig(self.token)), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"configmap:{self.namespace}/templates",
                    "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                    "HAPROXY_BIN": self.haproxy.binary, "CONFIG_MIN_INTERVAL": "0s", "EMIT_EVENTS": "true", "LOG_LEVEL": "debug"}
        return Daemon(self.home / "daemon", settings | more, program())

    def await_says(self, words: str, timeout: float = 30) -> None:
        wait_until(lambda: http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/").text.strip() == words, timeout, f"HAProxy says {words}")

    def events(self) -> set[tuple[str, str, str]]:
        return {(e["involvedObject"]["kind"], e["involvedObject"]["name"], e["reason"]) for e in self.kube.admin.list("Event", self.namespace)}


@pytest.fixture
def place(tmp_path: pathlib.Path, kubes: dict[str, RealKube], monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setitem(realkube.KINDS, "Greeting", ("/apis/example.com/v1", "greetings", False))
    made = Place(tmp_path, kubes["etcd"])
    with made.haproxy:
        yield made


def test_ingresses_and_a_resource_that_comes_later_and_goes(place: Place) -> None:
    place.templates()
    place.ingress("one", "a.example")
    with place.daemon() as daemon:
        place.await_says("a.example")
        wait_until(daemon.ready, 20, "ready")
        checks = daemon.get("/readyz")[1]
        assert re.search(r"watch example\.com/v1 Greeting: cannot be watched, continuing without it: .*404", checks), checks
        assert re.search(r"watch pods of \S+: may not be read, continuing without it: .*forbidden", checks), checks
        place.ingress("two", "b.example")
        place.await_says("a.example b.example")

        place.define(CRD)
        wait_until(place.greets, 20, "the resource is served")
        place.await_says("a.example b.example hello", 60)
        place.kube.admin.patch("Greeting", "g", {"spec": {"text": "bye"}})
        place.await_says("a.example b.example bye")
        place.kube.admin.delete("CustomResourceDefinition", CRD["metadata"]["name"])
        place.await_says("a.example b.example", 60)
        place.ingress("one", "c.example")
        place.await_says("c.example b.example")
        place.kube.admin.delete("Ingress", "two", place.namespace)
        place.await_says("c.example")


def test_events_are_on_what_they_are_about(place: Place) -> None:
    place.templates()
    place.ingress("one", "a.example")
    place.ingress("two", "bad.example")
    with place.daemon() as daemon:
        place.await_says("a.example")
        wait_until(lambda: ("Ingress", "two", "LeftOut") in place.events(), 20, "an Event on the Ingress")
        place.templates("{{ nothing }}")
        wait_until(lambda: ("ConfigMap", "templates", "ConfigRejected") in place.events(), 20, "an Event on the ConfigMap")
        assert "haproxy.cfg:10:" in daemon.get("/readyz")[1]
        place.templates("better")
        place.await_says("better")

"""Templates over the objects of a real API server: Ingresses, and a custom resource that comes later, changes and goes; rights that
lack one resource; Events on what they are about; the shipped set `ingress`."""

from __future__ import annotations

import base64
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.functional.ingress_set import certificate_for
from tests.harness import http, realkube
from tests.harness.certificates import der, self_signed
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.process import ROOT, free_port, wait_until
from tests.harness.realkube import ApiError, RealKube

from .account import Account, Readable

FIRST = PLAIN + """\
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

MAY: tuple[Readable, ...] = (("networking.k8s.io", "ingresses"), ("networking.k8s.io", "ingressclasses"), ("discovery.k8s.io", "endpointslices"),
                             ("example.com", "greetings"), ("", "configmaps"))


class Place(Account):
    """A HAProxy, a namespace with a set in a ConfigMap, and an account that may watch all but pods."""

    def __init__(self, home: pathlib.Path, kube: RealKube):
        super().__init__(kube, "templates")
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", FIRST)
        self.first = self.haproxy.config.read_text()
        self.grant(*MAY, namespace=None)
        self.await_rights(f"/apis/networking.k8s.io/v1/namespaces/{self.namespace}/ingresses")

    def may_read_pods(self) -> None:
        self.grant(*MAY, ("", "pods"), namespace=None)
        self.await_rights(f"/api/v1/namespaces/{self.namespace}/pods")

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
        settings = {"KUBECONFIG": self.kubeconfig(), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"configmap:{self.namespace}/templates",
                    "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                    "HAPROXY_BIN": self.haproxy.binary, "CONFIG_MIN_INTERVAL": "0s", "EMIT_EVENTS": "true", "LOG_LEVEL": "debug"}
        return Daemon(self.home / "daemon", settings | more, program())

    def await_says(self, words: str, timeout: float = 30) -> None:
        wait_until(lambda: http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/").text.strip() == words, timeout, f"HAProxy says {words}")


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
        def checks() -> str:
            return daemon.get("/readyz")[1]

        wait_until(lambda: re.search(r"\[-\]watch pods in \S+: .*forbidden", checks()), 30, "the right that lacks is named")
        assert not daemon.ready()
        place.await_says("zero")
        place.may_read_pods()
        place.await_says("a.example", 60)
        wait_until(daemon.ready, 20, "ready")
        assert re.search(r"watch example\.com/v1 Greeting: cannot be watched, continuing without it: .*404", checks()), checks()
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


def shipped(place: Place, tls: int) -> dict[str, str]:
    """The set `ingress` as the keys of a ConfigMap, for one namespace, with the values of this machine."""
    folder = ROOT / "templates" / "ingress"
    data = {str(path.relative_to(folder)).replace("/", "_"): path.read_text() for path in folder.rglob("*") if path.is_file()}
    content = yaml.safe_load(data["set.yaml"])
    for name, watch in content["watch"].items():
        watch.update({} if name == "classes" else {"namespaces": place.namespace})
    content["extra"].update(http_bind=[f"127.0.0.1:{place.haproxy.port}"], https_bind=[f"127.0.0.1:{tls}"], ssl_redirect=False,
                            stats_socket=f"{place.haproxy.socket} mode 600 level admin expose-fd listeners")
    return {**data, "set.yaml": json.dumps({key: value for key, value in content.items() if key != "tests"})}


def test_the_shipped_set(place: Place) -> None:
    """A Service without endpoints is a 503, what has no route a 404: so each answer says whether there is a route."""
    def rules(*paths: str) -> list[dict[str, Any]]:
        return [{"host": "shop.example", "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": {"service": {"name": "shop", "port": {"number": 80}}}} for path in paths]}}]

    def status(path: str) -> int:
        return http.request(f"http://127.0.0.1:{place.haproxy.port}", "GET", path, headers={"Host": "shop.example"}).status

    tls, pair = free_port(), self_signed(place.home, "shop.example")
    keys = {key: base64.b64encode(path.read_bytes()).decode() for key, path in (("tls.crt", pair.certificate), ("tls.key", pair.key))}
    place.grant(*MAY, ("", "services"), ("", "nodes"), ("", "secrets"), namespace=None)
    place.put("ConfigMap", "templates", data=shipped(place, tls))
    ours = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": place.namespace}, "spec": {"controller": "haproxy-k8s-sync.io/ingress"}}
    place.kube.admin.request("POST", "/apis/networking.k8s.io/v1/ingressclasses", ours)
    place.put("Service", "shop", spec={"ports": [{"name": "http", "port": 80}]})
    with place.daemon() as daemon:
        wait_until(lambda: status("/") == 404, 30, "a configuration without a route")
        place.put("Ingress", "old", "networking.k8s.io/v1", spec={"ingressClassName": place.namespace, "rules": rules("/cart")})
        wait_until(lambda: status("/cart/1") == 503, 20, "a route")
        wait_until(daemon.ready, 20, "ready")
        worker = place.haproxy.worker()
        place.put("Ingress", "young", "networking.k8s.io/v1", spec={"ingressClassName": place.namespace, "rules": rules("/cart", "/more")})
        wait_until(lambda: status("/more") == 503, 20, "another path")
        wait_until(lambda: ("Ingress", "young", "TemplateNote") in place.events(), 20, "an Event: /cart is that of the older one")
        assert status("/") == 404 and place.haproxy.worker() == worker, "by the map"
        place.put("Secret", "shop-tls", type="kubernetes.io/tls", data=keys)
        place.put("Ingress", "old", "networking.k8s.io/v1", spec={"ingressClassName": place.namespace, "rules": rules("/cart"), "tls": [{"hosts": ["shop.example"], "secretName": "shop-tls"}]})
        wait_until(lambda: certificate_for(tls, "shop.example") == der(pair.certificate), 20, "its certificate")
        place.kube.admin.delete("Ingress", "young", place.namespace)
        wait_until(lambda: status("/more") == 404, 20, "no such route any more")
    place.kube.admin.request("DELETE", f"/apis/networking.k8s.io/v1/ingressclasses/{place.namespace}")

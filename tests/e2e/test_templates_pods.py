"""TEMPLATE_FROM=pods: on a real API server, with no more rights than the chart gives: four objects by name, pods of one namespace."""

from __future__ import annotations

import base64
import itertools
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import certificates
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import HAProxy
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import ApiError, Client, RealKube

from .test_templates import FIRST

_numbers = itertools.count(1)

TEMPLATE = FIRST[:FIRST.index("frontend")] + """\
frontend web
  bind 127.0.0.1:{port}
  bind 127.0.0.1:{tls} ssl{{% for name in certificates %}} crt {{{{ ssldir }}}}/{{{{ name }}}}.pem{{% endfor %}}

  default_backend web
{{% for service in services %}}
backend {{{{ service.name }}}}
{{% for name, pod in service.pods.iteritems() %}}
  server {{{{ name }}}} {{{{ pod.status.podIP }}}}:{{{{ "%d" % service.port }}}}
{{% endfor %}}
{{% endfor %}}
"""


class Place:
    def __init__(self, home: pathlib.Path, kube: RealKube):
        self.home, self.kube, number = home, kube, next(_numbers)
        self.namespace, self.shop, self.closed = (f"{name}-{number}" for name in ("lb", "shop", "closed"))
        self.haproxy = HAProxy(home / "haproxy", FIRST)
        pair = certificates.self_signed(home, "shop.example")
        for name in (self.namespace, self.shop, self.closed):
            self.put("Namespace", name, namespace="")
            self.put("ServiceAccount", "default", namespace=name)
        self.put("ServiceAccount", "sync")
        self.may(self.namespace, [["configmaps", "services", "certificates", "config"], ["secrets", "keys"]])
        self.may(self.shop, [["pods"]])
        self.token = kube.admin.service_account_token("sync", self.namespace)
        self.services(web=self.shop)
        self.put("ConfigMap", "certificates", data={"shop.example": pair.certificate.read_text()})
        self.put("Secret", "keys", data={"shop.example": base64.b64encode(pair.key.read_bytes()).decode()})
        self.put("ConfigMap", "config", data={"template": TEMPLATE.format(d=self.haproxy.dir, port=self.haproxy.port, tls=free_port())})
        wait_until(self.may_read, 20, "the authorizer to know the roles")

    def put(self, kind: str, name: str, api: str = "v1", namespace: str | None = None, **content: Any) -> None:
        where = self.namespace if namespace is None else namespace
        self.kube.admin.put({"apiVersion": api, "kind": kind, "metadata": {"name": name, **({"namespace": where} if where else {})}, **content})

    def may(self, namespace: str, objects: list[list[str]]) -> None:
        rules = [{"apiGroups": [""], "resources": names[:1], "verbs": ["list", "watch"], **({"resourceNames": names[1:]} if names[1:] else {})} for names in objects]
        rules.append({"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]})
        self.put("Role", "sync", "rbac.authorization.k8s.io/v1", namespace, rules=rules)
        self.put("RoleBinding", "sync", "rbac.authorization.k8s.io/v1", namespace, subjects=[{"kind": "ServiceAccount", "name": "sync", "namespace": self.namespace}],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "sync"})

    def may_read(self) -> bool:
        client = Client(self.kube.port, self.kube.ca, self.token)
        try:
            client.request("GET", f"/api/v1/namespaces/{self.shop}/pods")
            client.request("GET", f"/api/v1/namespaces/{self.namespace}/secrets?fieldSelector=metadata.name%3Dkeys")
        except ApiError as e:
            assert e.status == 403
            return False
        finally:
            client.close()
        return True

    def services(self, **namespaces: str) -> None:
        self.put("ConfigMap", "services", data={name: json.dumps({"namespace": of, "selector": f"app={name}", "port": 8080}) if of else "{"
                                                for name, of in namespaces.items()})

    def pod(self, name: str, address: str, ready: bool = True) -> None:
        path = f"/api/v1/namespaces/{self.shop}/pods"
        pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.shop, "labels": {"app": "web"}},
                               "spec": {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}}
        try:
            self.kube.admin.request("POST", path, pod)
        except ApiError as e:
            assert e.status == 409
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                  "containerStatuses": [{"name": "c", "ready": ready, "restartCount": 0, "image": "i", "imageID": ""}]}
        self.kube.admin.request("PATCH", f"{path}/{name}/status", {"status": status}, "application/merge-patch+json")

    def daemon(self, **more: str) -> Daemon:
        settings = {"KUBECONFIG": str(self.kube.kubeconfig(self.token)), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"pods:{self.namespace}",
                    "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                    "HAPROXY_BIN": self.haproxy.binary, "CONFIG_MIN_INTERVAL": "0s", "EMIT_EVENTS": "true", "LOG_LEVEL": "debug"}
        return Daemon(self.home / "daemon", settings | more, program())

    def servers(self) -> list[str]:
        return re.findall(r"^  server (\S+ \S+)$", self.haproxy.config.read_text(), re.M)

    def events(self) -> set[tuple[str, str, str]]:
        return {(e["involvedObject"]["kind"], e["involvedObject"]["name"], e["reason"]) for e in self.kube.admin.list("Event", self.namespace)}


@pytest.fixture
def place(tmp_path: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[Place]:
    made = Place(tmp_path, kubes["etcd"])
    with made.haproxy:
        yield made


def test_the_four_objects_and_pods_that_come_and_go(place: Place) -> None:
    place.pod("one", "10.9.0.1")
    place.pod("two", "10.9.0.2", ready=False)
    with place.daemon() as daemon:
        wait_until(lambda: place.servers() == ["one 10.9.0.1:8080"], 30, "one server")
        wait_until(daemon.ready, 20, "ready")
        assert f"crt {place.haproxy.dir}/ssl/shop_example.pem\n" in place.haproxy.config.read_text()
        place.pod("two", "10.9.0.2")
        wait_until(lambda: place.servers() == ["one 10.9.0.1:8080", "two 10.9.0.2:8080"], 30, "both")
        place.kube.admin.request("DELETE", f"/api/v1/namespaces/{place.shop}/pods/one", {"gracePeriodSeconds": 0})
        wait_until(lambda: place.servers() == ["two 10.9.0.2:8080"], 30, "the other one")

        # One that nobody may read the pods of, one that is broken: told, and the others go on.
        place.services(web=place.shop, api=place.closed, odd="")
        wait_until(lambda: "backend api" in place.haproxy.config.read_text(), 30, "a backend without a server")
        assert place.servers() == ["two 10.9.0.2:8080"] and "backend odd" not in place.haproxy.config.read_text()
        assert re.search(rf"watch pods in {place.closed}: may not be read, continuing without it: .*forbidden", daemon.get("/readyz")[1])
        wait_until(lambda: ("ConfigMap", "services", "LeftOut") in place.events(), 20, "an Event")
        place.kube.admin.delete("ConfigMap", "config", place.namespace)
        wait_until(lambda: ("ConfigMap", "config", "ConfigRejected") in place.events() and not daemon.ready(), 20, "it is missed")
        assert place.servers() == ["two 10.9.0.2:8080"]

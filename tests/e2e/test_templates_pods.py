"""TEMPLATE_FROM=pods: on a real API server, with no more rights than the chart gives: four objects by name, pods of one namespace."""

from __future__ import annotations

import base64
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
from tests.harness.realkube import ApiError, RealKube

from .account import Account
from .test_templates import FIRST

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


class Place(Account):
    def __init__(self, home: pathlib.Path, kube: RealKube):
        super().__init__(kube, "lb")
        self.home, self.shop, self.closed = home, f"{self.namespace}-shop", f"{self.namespace}-closed"
        self.haproxy = HAProxy(home / "haproxy", FIRST)
        pair = certificates.self_signed(home, "shop.example")
        for name in (self.shop, self.closed):
            self.put("Namespace", name, namespace="")
            self.put("ServiceAccount", "default", namespace=name)
        self.grant(("", "configmaps", "services", "certificates", "config"), ("", "secrets", "keys"))
        self.grant(("", "pods"), namespace=self.shop)
        self.services(web=self.shop)
        self.put("ConfigMap", "certificates", data={"shop.example": pair.certificate.read_text()})
        self.put("Secret", "keys", data={"shop.example": base64.b64encode(pair.key.read_bytes()).decode()})
        self.put("ConfigMap", "config", data={"template": TEMPLATE.format(d=self.haproxy.dir, port=self.haproxy.port, tls=free_port())})
        self.await_rights(f"/api/v1/namespaces/{self.shop}/pods", f"/api/v1/namespaces/{self.namespace}/secrets?fieldSelector=metadata.name%3Dkeys")

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
        settings = {"KUBECONFIG": self.kubeconfig(), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"pods:{self.namespace}",
                    "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                    "HAPROXY_BIN": self.haproxy.binary, "CONFIG_MIN_INTERVAL": "0s", "EMIT_EVENTS": "true", "LOG_LEVEL": "debug"}
        return Daemon(self.home / "daemon", settings | more, program())

    def servers(self) -> list[str]:
        return re.findall(r"^  server (\S+ \S+)$", self.haproxy.config.read_text(), re.M)


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

        # One whose pods may not be read, one that is broken: reported, and the others go on.
        place.services(web=place.shop, api=place.closed, odd="")
        wait_until(lambda: "backend api" in place.haproxy.config.read_text(), 30, "a backend without a server")
        assert place.servers() == ["two 10.9.0.2:8080"] and "backend odd" not in place.haproxy.config.read_text()
        assert re.search(rf"watch pods in {place.closed}: .*forbidden", daemon.get("/readyz")[1])
        wait_until(lambda: ("ConfigMap", "services", "LeftOut") in place.events(), 20, "an Event")
        place.kube.admin.delete("ConfigMap", "config", place.namespace)
        wait_until(lambda: ("ConfigMap", "config", "ConfigRejected") in place.events() and not daemon.ready(), 20, "it is missed")
        assert place.servers() == ["two 10.9.0.2:8080"]

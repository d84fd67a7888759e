"""HAProxies that are pods of a real API server: each that comes gets the configuration that the others have, which notice nothing."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Iterator

import pytest

from tests.harness import http
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import IN_ITS_FOLDER, DataPlane, DoubleDataPlane, HAProxy
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import RealKube

from .account import Account
from .sites import Sites
from .world import dataplane_of

pytestmark = [pytest.mark.needs_api("a pod has a Data Plane API"), pytest.mark.one_combination]

SET = """\
watch:
  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, namespaces: [NAMESPACE], keep: [spec.rules]}
targets: {labelSelector: {matchLabels: {app: haproxy}}, port: PORT}
"""
# What a readinessProbe asks for, and what was rendered.
SAYS = "  monitor-uri /ready\n  http-request return status 200 content-type text/plain string {{ resources.ingresses | length }}\n"


class Pods(Account):
    """HAProxies with a Data Plane API each, at one port of an address of its own; the objects are pods that no kubelet runs."""

    def __init__(self, sites: Sites, kube: RealKube):
        super().__init__(kube, "pods")
        self.sites, self.port = sites, free_port()
        self.made: dict[int, tuple[HAProxy, DataPlane]] = {}
        self.grant(("networking.k8s.io", "ingresses"), ("", "pods"), ("", "configmaps"), events=False)
        self.await_rights(f"/api/v1/namespaces/{self.namespace}/pods")
        self.put("ConfigMap", "templates", data={
            "set.yaml": SET.replace("NAMESPACE", self.namespace).replace("PORT", str(self.port)), "haproxy.cfg.j2": IN_ITS_FOLDER + SAYS})

    def ingress(self, name: str) -> None:
        self.put("Ingress", name, "networking.k8s.io/v1", spec={"rules": [{"host": f"{name}.example"}]})

    def starts(self, number: int) -> None:
        """The pod, scheduled to a node, and what runs in it."""
        home = self.sites.home / f"p{number}"
        haproxy = HAProxy(home, IN_ITS_FOLDER, str(self.sites.parts[self.sites.combination.haproxy]))
        dataplane = dataplane_of(haproxy, home / "dataplane", self.sites.combination, self.sites.parts)
        dataplane.at(f"127.0.13.{number}", self.port)
        if isinstance(dataplane, DoubleDataPlane):
            dataplane.cwd = haproxy.dir
        self.made[number] = haproxy, dataplane
        with contextlib.chdir(haproxy.dir), pytest.MonkeyPatch.context() as env:
            env.setenv("SITE_PORT", str(haproxy.port))
            self.sites.ends.callback(haproxy.stop)
            haproxy.start()
            self.sites.ends.callback(dataplane.stop)
            dataplane.start()
        self.kube.admin.request("POST", f"/api/v1/namespaces/{self.namespace}/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"haproxy-{number}", "labels": {"app": "haproxy"}},
            "spec": {"nodeName": "somewhere", "containers": [{"name": "haproxy", "image": "haproxy"}]}})
        self.kube.admin.patch("Pod", f"haproxy-{number}", {"status": {"phase": "Running", "podIP": dataplane.host, "podIPs": [{"ip": dataplane.host}]}}, self.namespace, status=True)

    def is_ready(self, number: int) -> bool:
        """What a readinessProbe would find."""
        with contextlib.suppress(OSError):
            return http.request(f"http://127.0.0.1:{self.made[number][0].port}", "GET", "/ready").status == 200
        return False

    def says(self, number: int) -> str:
        return http.request(f"http://127.0.0.1:{self.made[number][0].port}", "GET", "/").text.strip()

    def version(self, number: int) -> tuple[object, int]:
        """Of its file, and the process that serves."""
        haproxy, dataplane = self.made[number]
        return dataplane.get("/configuration/version").text.strip(), haproxy.worker()

    def daemon(self) -> Daemon:
        settings = {"KUBECONFIG": self.kubeconfig(), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"configmap:{self.namespace}/templates",
                    "HAPROXY_DATAPLANE_USERNAME": "admin", "HAPROXY_DATAPLANE_PASSWORD": "adminpwd", "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug"}
        return Daemon(self.sites.home / "daemon", settings, program())


@pytest.fixture
def pods(sites: Sites, kubes: dict[str, RealKube]) -> Iterator[Pods]:
    yield Pods(sites, kubes["etcd"])


def targets(daemon: Daemon) -> set[str]:
    return {haproxy["pod"].split("/")[1] for haproxy in json.loads(daemon.get("/status")[1])["haproxies"]}


def test_pods_of_haproxy_come_and_go(pods: Pods, tmp_path: pathlib.Path) -> None:
    pods.ingress("one")
    pods.starts(1)
    pods.starts(2)
    assert not pods.is_ready(1)
    with pods.daemon() as daemon:
        wait_until(lambda: pods.is_ready(1) and pods.is_ready(2), 60, "both are ready by the configuration")
        daemon.wait_ready()
        before = pods.version(1), pods.version(2)
        pods.starts(3)
        assert pods.says(1) == pods.says(2) == "1"
        wait_until(lambda: pods.is_ready(3), 60, "so is the third one")
        wait_until(lambda: "[-]" not in daemon.get("/readyz")[1], 30, "verified")
        assert pods.says(3) == "1" and (pods.version(1), pods.version(2)) == before, "the others were not touched"
        pods.ingress("two")
        for number in (1, 2, 3):
            wait_until(lambda number=number: pods.says(number) == "2", 60, f"{number} follows")
        # Its kubelet is yet to end it: the object stays for its grace period.
        pods.kube.admin.delete("Pod", "haproxy-1", pods.namespace)
        wait_until(lambda: targets(daemon) == {"haproxy-2", "haproxy-3"}, 30, "the first one is no target")
        assert "deletionTimestamp" in pods.kube.admin.get("Pod", "haproxy-1", pods.namespace)["metadata"]
        # This one is gone with its node, and its object, too.
        pods.made[2][1].kill()
        pods.ingress("three")
        wait_until(lambda: pods.says(3) == "3", 60, "one that is gone holds nothing up")
        pods.kube.admin.request("DELETE", f"/api/v1/namespaces/{pods.namespace}/pods/haproxy-2?gracePeriodSeconds=0")
        wait_until(lambda: targets(daemon) == {"haproxy-3"}, 30, "nor does it remain")
        daemon.wait_ready()
        assert pods.says(1) == "2" and "[-]" not in daemon.get("/readyz")[1]

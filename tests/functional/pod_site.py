"""HAProxies that are pods, each with the double of its Data Plane API, and a template set that names them."""

from __future__ import annotations

import contextlib
import json
import pathlib
from typing import Any

import pytest

from tests.harness.haproxy import IN_ITS_FOLDER
from tests.harness.process import free_port, wait_until

from .rig import Rig

SET = "watch:\n  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, keep: [spec]}\n"
SAYS = "  http-request return status 200 content-type text/plain string {{ resources.ingresses | length }}\n"


def pod(number: int, address: str | None = None, **status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"haproxy-{number}", "namespace": "lb", "labels": {"app": "haproxy"}},
            "status": {"phase": "Running", "podIP": address or f"127.0.12.{number}", **status}}


class Site(Rig):
    """Three HAProxies, each at an address of its own; none of them is a pod yet."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home, IN_ITS_FOLDER, haproxies=3)
        self.port = free_port()
        for number, pair in enumerate(self.pairs, 1):
            pair.dataplane.at(f"127.0.12.{number}", self.port)

    def _start_pairs(self) -> None:
        for pair in self.pairs:
            with contextlib.chdir(pair.haproxy.dir), pytest.MonkeyPatch.context() as env:
                env.setenv("SITE_PORT", str(pair.haproxy.port))
                env.setenv("SITE_SECOND", str(free_port()) if pair != self.pairs[2] else "none, which no HAProxy takes")
                pair.dataplane.cwd = pair.haproxy.dir
                pair.start()
        self._started = len(self.pairs)

    def config_map(self, more: str = "", says: str = SAYS, scheme: str = "http") -> dict[str, Any]:
        targets = f"targets: {{labelSelector: {{matchLabels: {{app: haproxy}}}}, port: {self.port}, scheme: {scheme}}}\n"
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates", "namespace": "lb"},
                "data": {"set.yaml": SET + targets + more, "haproxy.cfg.j2": IN_ITS_FOLDER + says}}

    def settings(self, **more: str) -> dict[str, str]:
        no_mapping = {"INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "", "HAPROXY_BACKEND_PORT": "", "HAPROXY_DATAPLANE_URL": ""}
        template = {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": "configmap:lb/templates", "CONFIG_MIN_INTERVAL": "0s"}
        return super().settings(**{**no_mapping, **template, **more})

    def run(self, **more: str) -> None:
        self.start(**more).wait_up()

    def has(self, number: int, count: int) -> bool:
        return f"string {count}\n" in self.pairs[number - 1].dataplane.file()

    def ready_line(self, number: int) -> str:
        assert self.daemon
        target = f"target {self.url(number)} configuration: "
        return next((line for line in self.daemon.get("/readyz")[1].splitlines() if target in line), "")

    def await_applied(self, *numbers: int) -> None:
        for number in numbers:
            wait_until(lambda number=number: self.ready_line(number).endswith(": applied"), 30, f"pod {number}: {self.ready_line(number)}")

    def status(self) -> dict[str, str | None]:
        """URL -> pod of each HAProxy."""
        assert self.daemon
        return {haproxy["url"]: haproxy.get("pod") for haproxy in json.loads(self.daemon.get("/status")[1])["haproxies"]}

    def url(self, number: int) -> str:
        return self.pairs[number - 1].dataplane.url

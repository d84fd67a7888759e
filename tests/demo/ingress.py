"""The demo of Ingresses: a small Kubernetes fed from manifests, the shipped template set in a folder that may be edited, and pods that HAProxy
reaches itself."""

from __future__ import annotations

import base64
import contextlib
import functools
import pathlib
import shutil
from collections.abc import Mapping

from tests.harness.certificates import Pair, self_signed
from tests.harness.haproxy import HEAD
from tests.harness.kube import KubeDouble
from tests.harness.process import ROOT, free_port

from .balancer import PODS, Balancer, folders_of
from .manifests import replaced

NAMESPACE = "shop"
FIRST_PODS = ("shop-1", "shop-2", "shop-3")

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: shop}}
spec:
  ports:
  - {{name: http, port: 80}}
"""
SLICE = """\
# The pods behind the Service {name}.
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {name}-1
  namespace: shop
  labels: {{kubernetes.io/service-name: {name}}}
addressType: IPv4
ports:
- {{name: http, port: {port}}}
endpoints:
"""
ENDPOINT = """\
- targetRef: {{kind: Pod, name: {pod}}}
  addresses: [{address}]
  conditions: {{ready: {ready}, serving: true, terminating: {terminating}}}
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}, namespace: shop}}
spec:
{tls}  rules:
  - host: {host}
    http:
      paths:
"""
PATH = """\
      - path: {path}
        pathType: Prefix
        backend: {{service: {{name: {service}, port: {{number: 80}}}}}}
"""
TLS = """\
  tls:
  - hosts: [{host}]
    secretName: {secret}
"""
SECRET = """\
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {{name: {name}, namespace: shop}}
data:
  tls.crt: {crt}
  tls.key: {key}
"""


class IngressBalancer(Balancer):
    config = HEAD + """
frontend fe
  mode http
  bind 127.0.0.1:{fe}
  http-request return status 503 content-type text/plain string "no template yet"
"""
    at_first = (*FIRST_PODS, "blog-1")

    def __init__(self) -> None:
        self.tls_port = free_port()
        super().__init__()

    @property
    def set(self) -> pathlib.Path:
        return self.home / "templates"

    @property
    def manifests(self) -> pathlib.Path:
        return self.home / "manifests"

    @functools.cached_property
    def kube(self) -> KubeDouble:
        return KubeDouble(self.home, manifests=self.manifests)

    def settings(self) -> dict[str, str]:
        return {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{self.set}", "KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")),
                "EMIT_EVENTS": "true", "CONFIG_MIN_INTERVAL": "0s", "STATE_DIR": str(self.home / "state"), **folders_of(self.dataplane), **super().settings()}

    def prepare(self, stack: contextlib.ExitStack) -> None:
        self.manifests.mkdir()
        shutil.copytree(ROOT / "templates" / "ingress", self.set)
        for old, new in self.values().items():
            self.edit("set.yaml", old, new)
        if not self.is_local:
            users = HEAD[HEAD.index("userlist"):]
            replaced(self.set / "snippets" / "global-users.j2", f"{{# Those of the Data Plane API, which reads them from haproxy.cfg. #}}\n\n{users}")
        self.apply("ingress-class", (ROOT / "docs" / "examples" / "ingress-class.yaml").read_text())
        stack.enter_context(self.kube)

    def values(self) -> dict[str, str]:
        """What stands in set.yaml, and what stands there here."""
        own = f"{self.haproxy.socket} mode 600 level admin expose-fd listeners"
        return {'http_bind: ["*:80"]': f'http_bind: ["127.0.0.1:{self.haproxy.port}"]', 'https_bind: ["*:443"]': f'https_bind: ["127.0.0.1:{self.tls_port}"]',
                "https_port: 443": f"https_port: {self.tls_port}", "stats_socket: /run/haproxy/admin.sock mode 660 level admin expose-fd listeners": f"stats_socket: {own}",
                **({} if self.is_local else {"server_slots: 0": "server_slots: 10"})}

    def edit(self, name: str, old: str, new: str) -> pathlib.Path:
        """A file of the template set."""
        text = (self.set / name).read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        return replaced(self.set / name, text.replace(old, new))

    # --- manifests

    def apply(self, name: str, text: str) -> str:
        replaced(self.manifests / f"{name}.yaml", text)
        return f"applied: {name}.yaml"

    def service(self, name: str) -> str:
        return self.apply(f"{name}-service", SERVICE.format(name=name))

    def endpoints(self, service: str, ready: Mapping[str, bool]) -> str:
        """Of these pods; one that is not ready is on its way out."""
        return self.apply(f"{service}-endpointslice", SLICE.format(name=service, port=self.node_port) + "".join(
            ENDPOINT.format(pod=pod, address=PODS[pod], ready=str(yes).lower(), terminating=str(not yes).lower()) for pod, yes in ready.items()))

    def ingress(self, name: str, host: str, paths: Mapping[str, str], secret: str = "") -> str:
        """paths: each with its Service."""
        tls = TLS.format(host=host, secret=secret) if secret else ""
        return self.apply(f"{name}-ingress", INGRESS.format(name=name, host=host, tls=tls) + "".join(
            PATH.format(path=path, service=service) for path, service in paths.items()))

    def secret(self, name: str, host: str) -> Pair:
        pair = self_signed(self.home, host, alternatives=f"DNS:{host}")
        crt, key = (base64.b64encode(path.read_bytes()).decode() for path in (pair.certificate, pair.key))
        self.apply(f"{name}-secret", SECRET.format(name=name, crt=crt, key=key))
        return pair

    def destinations(self) -> tuple[str, str]:
        return "pods", f"little web servers on {PODS['shop-1']} and following, port {self.node_port}"

    def parts(self) -> list[tuple[str, str]]:
        return [("Kubernetes", f"a double of its API, fed from {self.manifests}"), ("template set", f"a copy of templates/ingress: {self.set}"), *super().parts()]

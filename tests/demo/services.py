"""The demo of annotated Services: a small Kubernetes fed from manifests, and two load balancers, each a HAProxy with a daemon of its own."""

from __future__ import annotations

import contextlib
import functools
import pathlib
from collections.abc import Mapping

from tests.harness.backends import node_port
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, DataPlane, HAProxy
from tests.harness.kube import KubeDouble

from .balancer import ADDRESSES, FIRST, Balancer, folders_of
from .manifests import Manifests, pod_address, replaced
from .nodes import Backend

NAMESPACE = "shop"
CLUSTER = "east"

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  namespace: shop
  creationTimestamp: "2026-01-01T00:00:0{age}Z"
  labels:
    haproxy-kubefigurator.enabled: "yes"
  annotations:
{annotations}spec:
  type: NodePort
  ports:
  - {{name: web, port: 80, targetPort: 8080, nodePort: {node_port}}}
"""

# Which pods are behind it: one on each node.
SLICE = """\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: {name}-1
  namespace: shop
  labels: {{kubernetes.io/service-name: {name}}}
addressType: IPv4
ports:
- {{name: web, protocol: TCP, port: 8080}}
endpoints:
{endpoints}"""


class LoadBalancer:
    """How its daemon is fed is settings() alone: from Kubernetes, as yet."""

    def __init__(self, name: str, home: pathlib.Path, haproxy: HAProxy, dataplane: DataPlane, kubeconfig: pathlib.Path):
        self.name, self.home, self.haproxy, self.dataplane, self.kubeconfig = name, home, haproxy, dataplane, kubeconfig
        self.before = home / f"{name}-before.cfg"
        self.before.write_text(haproxy.config.read_text())
        self.daemon = Daemon(home / f"{name}-daemon", self.settings())

    @property
    def port(self) -> int:
        """Where annotations have its HAProxy listen: both are on this machine, so each has a port of its own."""
        return self.haproxy.port

    def settings(self) -> dict[str, str]:
        """The daemon of the first one reports to the owners of Services what is wrong; both would say the same."""
        return {"CONFIG_SOURCE": "services", "CONFIG_FILE": str(self.before), "CLUSTER_NAME": CLUSTER, "ANNOTATION_PREFIX": self.name, "KUBECONFIG": str(self.kubeconfig),
                "EMIT_EVENTS": str(self.name == "lb-a").lower(), "CONFIG_MIN_INTERVAL": "0s", "STATE_DIR": str(self.home / f"{self.name}-state"),
                **folders_of(self.dataplane), **self.dataplane.settings()}


class ServicesBalancer(Balancer):
    config = HEAD

    def __init__(self) -> None:
        super().__init__()
        self.blog_port = node_port([ADDRESSES[node] for node in FIRST])
        haproxy = HAProxy(self.home / "haproxy-b", self.config)
        self.other = LoadBalancer("lb-b", self.home, haproxy, self._dataplane(haproxy, self.home / "dataplane-b"), self.kubeconfig)
        self.first = LoadBalancer("lb-a", self.home, self.haproxy, self.dataplane, self.kubeconfig)
        self.daemon = self.first.daemon

    @property
    def both(self) -> tuple[LoadBalancer, LoadBalancer]:
        return self.first, self.other

    @functools.cached_property
    def manifests(self) -> Manifests:
        return Manifests(self.home / "manifests")

    @functools.cached_property
    def kube(self) -> KubeDouble:
        return KubeDouble(self.home, manifests=self.manifests.directory)

    @functools.cached_property
    def kubeconfig(self) -> pathlib.Path:
        return self.kube.kubeconfig(self.home / "kubeconfig")

    def settings(self) -> dict[str, str]:
        return self.first.settings() if hasattr(self, "first") else super().settings()

    def prepare(self, stack: contextlib.ExitStack) -> None:
        for name in FIRST:
            self.manifests.node(name, ADDRESSES[name])
            stack.callback(Backend(f"blog on {name}", ADDRESSES[name], self.blog_port).stop)
        stack.enter_context(self.kube)
        stack.enter_context(self.other.haproxy)
        stack.enter_context(self.other.dataplane)
        stack.callback(self._stop_other)

    def _stop_other(self) -> None:
        if self.other.daemon.process is not None:
            self.other.daemon.process.stop()

    def alive(self) -> bool:
        for one in self.both:
            if one.daemon.process is not None and not one.daemon.process.alive:
                raise RuntimeError(f"the daemon of {one.name} ended by itself with {one.daemon.process.wait()}")
        return True

    def reloads(self) -> int:
        return sum(one.haproxy.reloads() for one in self.both)

    # --- manifests

    def annotate(self, name: str, options: Mapping[str, str]) -> pathlib.Path:
        """Of the Service's port web, as both have it; where each HAProxy listens is for the one alone, by its own prefix."""
        port, age = (self.node_port, 1) if name == "shop" else (self.blog_port, 2)
        said = {**{f"haproxy-k8s-sync/web.{option}": value for option, value in options.items()}, "haproxy-k8s-sync/web.use-ssl": "false",
                **{f"{one.name}.web.listen-port": str(one.port) for one in self.both}}
        endpoints = "".join(f"- {{nodeName: {node}, addresses: [{pod_address(node)}], conditions: {{ready: true}}}}\n" for node in FIRST)
        replaced(self.manifests.directory / f"{name}-endpointslice.yaml", SLICE.format(name=name, endpoints=endpoints))
        lines = "".join(f'    {key}: "{value}"\n' for key, value in said.items())
        return replaced(self.manifests.directory / f"{name}-service.yaml", SERVICE.format(name=name, age=age, node_port=port, annotations=lines))

    def parts(self) -> list[tuple[str, str]]:
        return [("Kubernetes", f"a double of its API, fed from {self.manifests.directory}"),
                ("load balancers", "two, lb-a and lb-b: each a HAProxy with a daemon of its own"), *super().parts()]

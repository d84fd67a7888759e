"""What a rolling update under load needs, for each controller and HAProxy: HAProxy, a Data Plane API or none, six nodes, the controller."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import pathlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tests.harness import http as requests
from tests.harness import objects
from tests.harness.backends import node_port
from tests.harness.daemon import clean_env
from tests.harness.haproxy import HEAD, DataPlane, DoubleDataPlane, HAProxy
from tests.harness.local import LocalFiles
from tests.harness.metrics import Metrics
from tests.harness.nodes import Nodes
from tests.harness.process import Process, free_port, wait_until

from .kubernetes import Kubernetes
from .setup import data_plane

NODES = {f"node-{i}": f"127.0.14.{i}" for i in range(1, 7)}
SERVICE = BACKEND = "ingress"

# Checks, retries and all else as HAProxy has them by itself.
TEMPLATE = HEAD.replace("30s", "1m") + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend ingress

backend ingress
  mode tcp
  balance roundrobin
  option tcp-check
"""


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float = 200
    visits: int = 24
    reload_delay: float = 5
    resync: str = "10s"


@dataclasses.dataclass(frozen=True)
class Controller:
    name: str
    binary: pathlib.Path
    ours: bool
    local: bool = False
    """It reaches HAProxy by its own file and sockets."""


class Stage:
    """What one run needs, started in this order and stopped by `with`."""

    def __init__(self, home: pathlib.Path, haproxy: pathlib.Path, kube: Kubernetes, namespace: str, controller: Controller,
                 settings: Settings, more: Mapping[str, str] | None = None):
        """more: further nodes, which have no pod at first."""
        self.addresses = {**NODES, **(more or {})}
        self.home, self.kube, self.namespace, self.controller, self.settings = home, kube, namespace, controller, settings
        self.port = node_port(self.addresses.values())
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE, str(haproxy))
        self.dataplane: DataPlane = (LocalFiles(self.haproxy, home / "dataplane", counts_checks=False) if controller.local else
                                     data_plane(self.haproxy, home / "dataplane", settings.reload_delay))
        self.nodes = Nodes(self.addresses, self.port, home / "nodes")
        self.endpoints = {name: (i, objects.READY) for i, name in enumerate(NODES, 1)}
        self.listen_port = free_port()
        self.log = home / "controller.log"
        self._process: Process | None = None

    @contextlib.contextmanager
    def started(self) -> Iterator["Stage"]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.haproxy)
            stack.enter_context(self.dataplane)
            stack.enter_context(self.nodes)
            self._fill_kubernetes()
            self._process = Process([self.controller.binary], self.log, env=self._environment(), cwd="/", name=self.controller.name)
            stack.callback(self._process.stop)
            wait_until(self._in_step, 90, f"{self.controller.name} to bring six servers into HAProxy; its log {self.log}", 0.1)
            # Nothing of this first reload is to be left over.
            time.sleep(self.settings.reload_delay + 1)
            yield self

    def _environment(self) -> dict[str, str]:
        """What any controller of this kind reads; nothing that only ours knows but where it listens."""
        return clean_env(
            **self.dataplane.settings(), INGRESS_NAMESPACE=self.namespace, INGRESS_SERVICE_NAME=SERVICE, HAPROXY_BACKEND_NAME=BACKEND,
            HAPROXY_BACKEND_PORT=str(self.port), RESYNC_PERIOD=self.settings.resync,
            KUBECONFIG=str(self.kube.kubeconfig(everything=not self.controller.ours)),
            LISTEN_ADDRESS=f"127.0.0.1:{self.listen_port}")

    def _in_step(self) -> bool:
        assert self._process
        if not self._process.alive:
            raise RuntimeError(f"{self.controller.name} ended with {self._process.wait()}: {self._process.log()[-2000:]}")
        servers = self.haproxy.servers(BACKEND)
        return set(NODES) <= set(servers) and all(servers[name]["srv_op_state"] == "2" for name in NODES)

    # --- Kubernetes

    def _fill_kubernetes(self) -> None:
        self.kube.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        for name, address in self.addresses.items():
            self.kube.put(objects.node(name, address))
        self.kube.put(objects.service(SERVICE, namespace=self.namespace, node_ports={"https": (443, 0)}, policy="Local"))
        self.put_endpoints()

    def _pods(self) -> list[Any]:
        return [objects.endpoint(f"10.244.{list(self.addresses).index(node) + 1}.{pod}", node, conditions)
                for node, (pod, conditions) in self.endpoints.items()]

    def put_endpoints(self) -> str:
        """As a cluster has them: EndpointSlices, and Endpoints for a client that still reads these."""
        pods = self._pods()
        version = self.kube.put(objects.slice_(f"{SERVICE}-1", SERVICE, pods, namespace=self.namespace))
        by_readiness = [[(pod["addresses"][0], pod["nodeName"]) for pod in pods if pod["conditions"]["ready"] is ready]
                        for ready in (True, False)]
        self.kube.put(objects.endpoints(SERVICE, *by_readiness, namespace=self.namespace))
        return version

    # --- what the controller says of itself

    def own(self) -> Metrics | None:
        try:
            answer = requests.request(f"http://127.0.0.1:{self.listen_port}", "GET", "/metrics", timeout=5)
            return Metrics(answer.text) if answer.status == 200 else None
        except (OSError, ValueError, http.client.HTTPException):
            return None

    def files_written(self) -> int:
        """By a controller that has no API to ask."""
        return self.dataplane.version() if isinstance(self.dataplane, LocalFiles) else 0

    def access_log(self) -> str:
        if self.controller.local:
            return ""
        name = "access.log" if isinstance(self.dataplane, DoubleDataPlane) else "dataplane.log"
        return (self.dataplane.dir / name).read_text(errors="replace")

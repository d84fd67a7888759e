"""One daemon between the Kubernetes double and one or more doubles of the Data Plane API, each driving a real HAProxy."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, HEAD
from tests.harness.kube import KubeDouble
from tests.harness.process import ROOT

from .pair import BACKEND, Pair

NAMESPACE = "ingress"
SERVICE = "web"
PORT = 30443

# Nobody listens at the nodes: HAProxy's health checks ask its own frontend, so that what they say is known.
TEMPLATE = HEAD + """
frontend fe
  bind 127.0.0.1:{fe}
  default_backend be

backend be
  mode tcp
  balance roundrobin
  option tcp-check
  default-server inter 5s rise 2 fall 2 addr 127.0.0.1 port {fe}
  server n1 127.0.11.1:30443 check weight 100
  server sorry 127.0.11.99:80 backup

backend other
  mode tcp
  timeout server 77s
  server a 127.0.0.1:9
"""


# For several backends in one daemon: two more that are empty.
SEVERAL = TEMPLATE + """
backend be2
  mode tcp

backend be3
  mode tcp
"""

# Passed to start(): the port is the Service's nodePort, not a fixed one.
BY_NODE_PORT = {"HAPROXY_BACKEND_PORT": ""}


def program() -> pathlib.Path:
    """$HAPROXY_K8S_SYNC, else the build with sanitizers."""
    return pathlib.Path(os.environ.get("HAPROXY_K8S_SYNC") or ROOT / "build/san/haproxy-k8s-sync").absolute()


class Rig:
    """Nodes n1, n2, ... have the addresses 127.0.11.<i>; HAProxy starts with n1 alone, in sync with one pod on n1.

    There can be several HAProxies, all alike at first: `pairs`. `rig.servers()` and all else that a Pair has ask the first one,
    `rig.pairs[1].servers()` and so on another."""

    def __init__(self, home: pathlib.Path, template: str = TEMPLATE, play: str = "3.4", haproxies: int = 1, deaf: bool = False,
                 **kube: Any):
        self.home = home
        self._new = lambda directory: Pair(directory, template, play, deaf)
        self.pairs = [self._new(home)]
        self._started = 0
        self.more(haproxies - 1)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube", **kube)
        self.daemon: Daemon | None = None

    def __getattr__(self, name: str) -> Any:
        """Of the first HAProxy: what a Pair has."""
        return getattr(self.pairs[0], name)

    def more(self, n: int = 1) -> list[Pair]:
        """So many further HAProxies; of use to a daemon that is started after."""
        # Short: the path of a socket may have some hundred bytes only.
        made = [self._new(self.home / str(len(self.pairs) + i + 1)) for i in range(n)]
        self.pairs += made
        if self._started:
            self._start_pairs()
        return made

    def _start_pairs(self) -> None:
        while self._started < len(self.pairs):
            self._started += 1
            self.pairs[self._started - 1].start()

    def __enter__(self) -> "Rig":
        try:
            self._start_pairs()
            self.kube.start()
            self.kube.put(*(objects.node(f"n{i}", f"127.0.11.{i}") for i in range(1, 6)))
            self.pods(1)
        except BaseException as e:
            self.__exit__(type(e))  # nothing that was started is left behind
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if self.daemon is not None:
                self.daemon.close() if kind is None else self.daemon.kill()
        finally:
            self.kube.stop()
            for pair in self.pairs:
                pair.stop()

    # --- Kubernetes

    def pods(self, *nodes: int, conditions: dict[str, bool] = objects.READY, service: str = SERVICE, **more: Any) -> None:
        """One pod on each of these nodes and none elsewhere; more goes to objects.slice_."""
        self.kube.put(objects.slice_(f"{service}-1", service,
                                     [objects.endpoint(f"10.244.{i}.7", f"n{i}", conditions) for i in nodes],
                                     **{"namespace": NAMESPACE, **more}))

    def service(self, name: str = SERVICE, **more: Any) -> dict[str, Any]:
        """Puts the Service object; by default with nodePort 30443, which is PORT. Without a call there is none, and the
        daemon goes on as it must where it may not read Services."""
        built = objects.service(name, **{"namespace": NAMESPACE, **more})
        self.kube.put(built)
        return built

    def node(self, i: int, *ips: str, **more: Any) -> None:
        """Puts node n<i> anew; without ips with its usual address. more: labels, taints, addresses, ready, unschedulable."""
        self.kube.put(objects.node(f"n{i}", *(ips or (f"127.0.11.{i}",)), **more))

    # --- the daemon

    def settings(self, **more: str) -> dict[str, str]:
        user, password = AUTH.split(":")
        env = {"INGRESS_NAMESPACE": NAMESPACE, "INGRESS_SERVICE_NAME": SERVICE, "HAPROXY_BACKEND_NAME": BACKEND,
               "KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")),
               "HAPROXY_DATAPLANE_URL": ",".join(pair.dataplane.url for pair in self.pairs),
               "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password, "HAPROXY_BACKEND_PORT": str(PORT),
               "RESYNC_PERIOD": "30s", "LOG_LEVEL": "debug",
               # With two or three servers nearly every removal is more than half of them, which the brake would hold back for
               # RESYNC_PERIOD. It is off here; its own tests set it.
               "MAX_LOSS_PERCENT": "100", **more}
        return {name: value for name, value in env.items() if value}

    def start(self, binary: pathlib.Path | None = None, **settings: str) -> Daemon:
        """Starts the daemon, or another build of it; a setting that is "" is left out (BY_NODE_PORT)."""
        self.daemon = Daemon(self.home / "daemon", self.settings(**settings), binary or program()).start()
        return self.daemon

    # --- what came of it

    def wait_servers_everywhere(self, *nodes: int, timeout: float = 20, backend: str = BACKEND) -> None:
        for pair in self.pairs:
            pair.wait_servers(*nodes, timeout=timeout, backend=backend)

    def wait_in_sync(self, timeout: float = 20, backends: int = 1, targets: int = 0) -> None:
        """Until so many backends are in sync on so many HAProxies (default: on all)."""
        assert self.daemon
        self.daemon.wait_metric("in_sync", backends * (targets or len(self.pairs)), timeout)

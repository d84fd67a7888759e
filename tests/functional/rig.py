"""One daemon between the Kubernetes double and a Data Plane API double that drives a real HAProxy."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, DoubleDataPlane, HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.process import ROOT, wait_until

NAMESPACE = "ingress"
SERVICE = "web"
BACKEND = "be"
PORT = 30443

TEMPLATE = """\
global
  stats socket {d}/haproxy.sock mode 600 level admin expose-fd listeners

defaults
  mode tcp
  timeout connect 2s
  timeout client 30s
  timeout server 30s

userlist dataplaneapi
  user admin insecure-password adminpwd

frontend fe
  bind 127.0.0.1:{fe}
  default_backend be

backend be
  mode tcp
  balance roundrobin
  option tcp-check
  default-server inter 5s rise 2 fall 2
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
    """Nodes n1, n2, ... have the addresses 127.0.11.<i>; HAProxy starts with n1 alone, in step with one pod on n1."""

    def __init__(self, home: pathlib.Path, template: str = TEMPLATE, play: str = "3.4", **kube: Any):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", template)
        self.dataplane = DoubleDataPlane(self.haproxy, self.haproxy.config, home / "dataplane", play, reload_delay=0.2)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube", **kube)
        self.daemon: Daemon | None = None

    def __enter__(self) -> "Rig":
        try:
            self.haproxy.start()
            self.dataplane.start()
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
            self.dataplane.stop()
            self.haproxy.stop()

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
               "KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), "HAPROXY_DATAPLANE_URL": self.dataplane.url,
               "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password, "HAPROXY_BACKEND_PORT": str(PORT),
               "RESYNC_PERIOD": "30s", "LOG_LEVEL": "debug",
               # With two or three servers nearly every removal is more than half of them, which the brake would hold back for
               # RESYNC_PERIOD. It is off here; its own tests set it.
               "MAX_LOSS_PERCENT": "100", **more}
        return {name: value for name, value in env.items() if value}

    def start(self, **settings: str) -> Daemon:
        """Starts the daemon; a setting that is "" is left out (BY_NODE_PORT)."""
        self.daemon = Daemon(self.home / "daemon", self.settings(**settings), program()).start()
        return self.daemon

    # --- what came of it

    def lines(self, backend: str = BACKEND) -> dict[str, str]:
        """Server lines of a backend in the file: name -> what follows it."""
        found = re.search(rf"^backend {re.escape(backend)}(?: .*)?\n((?:[^\S\n].*\n|\n)*)", self.dataplane.file(), re.M)
        assert found, f"no backend {backend} in the file"
        return dict(re.findall(r"^\s+server (\S+) (.*)$", found[1], re.M))

    def servers(self, backend: str = BACKEND) -> set[str]:
        """Names of the server lines of a backend in the file."""
        return set(self.lines(backend))

    def addresses(self, backend: str = BACKEND) -> dict[str, str]:
        """Name -> address:port in the file, without the backup that is not ours."""
        return {name: line.split()[0] for name, line in self.lines(backend).items() if name != "sorry"}

    def wait_servers(self, *nodes: int, timeout: float = 20, backend: str = BACKEND) -> None:
        """Until the file has exactly these nodes (and the backup that is not ours), and HAProxy runs them."""
        wanted = {f"n{i}" for i in nodes} | ({"sorry"} if backend == BACKEND else set())
        wait_until(lambda: self.servers(backend) == wanted, timeout, f"servers {sorted(wanted)} in the file")
        wait_until(lambda: set(self.haproxy.servers(backend)) == wanted, timeout, f"servers {sorted(wanted)} in HAProxy")

    def wait_addresses(self, wanted: dict[str, str], timeout: float = 20, backend: str = BACKEND) -> None:
        """Until our servers in the file are these: name -> address:port."""
        def are() -> bool:
            found = self.addresses(backend)
            assert found == wanted, found
            return True

        wait_until(are, timeout, f"servers {wanted} in the file")

    def wait_in_sync(self, timeout: float = 20, backends: int = 1) -> None:
        assert self.daemon
        self.daemon.wait_metric("in_sync", backends, timeout)

    def hand_edit(self, text: str) -> None:
        """haproxy.cfg as an editor saves it: beside it, and renamed over it. In place the API could read it half written."""
        beside = self.dataplane.config.with_suffix(".edited")
        beside.write_text(text)
        os.replace(beside, self.dataplane.config)

    def transactions(self) -> list[dict[str, Any]]:
        return list(self.dataplane.get("/transactions").json() or [])

    def commits(self) -> int:
        """How many transactions the Data Plane API took over (200, 202)."""
        return len([w for w in self.writes() if w[0] == "PUT" and "/transactions/" in w[1] and w[2] in (200, 202)])

    def writes(self) -> list[tuple[str, str, int]]:
        """(method, path, status) of everything but GETs that the Data Plane API saw."""
        return [(r["method"], r["path"], r["status"]) for r in self.dataplane.requests() if r["method"] != "GET"]

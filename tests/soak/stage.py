"""Everything that a soak runs: Kubernetes, HAProxy, a Data Plane API, proxies between them and the daemon, and the daemon."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal

from tests.bench.setup import data_plane
from tests.chaos.proxy import Proxy
from tests.harness import realparts
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, HEAD, HAProxy
from tests.harness.lines import in_rotation, server_lines

from .kubernetes import Kubernetes, kubernetes_of

NAMESPACE = "soak"
# Service and backend alike -> the first of its two nodePorts
SERVICES = {"web": 30443, "shop": 30543}
RELOAD_DELAY_S = 1.0

# Nobody answers at the nodes' addresses, and nobody asks: what is soaked is the daemon, not HAProxy.
TEMPLATE = HEAD + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend web

backend web
  # a hand-written comment
  option tcp-check
  default-server inter 60s
  server sorry 127.0.10.98:9 backup

backend shop
  default-server inter 60s
  server sorry 127.0.10.98:9 backup
"""


def _haproxy() -> str:
    """$HAPROXY, else the newest that there is."""
    if named := os.environ.get("HAPROXY"):
        return named
    try:
        return str(realparts.haproxy_ray())
    except realparts.Missing:
        return str(realparts.haproxy_debian())


class Stage:
    """`with Stage(home) as stage`: all is started but the daemon, which wants something to do first."""

    def __init__(self, home: pathlib.Path, resync: str = "10s"):
        self.home = home
        self.resync = resync
        self.kube: Kubernetes = kubernetes_of(home / "kube", NAMESPACE)
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE, _haproxy())
        self.dataplane = data_plane(self.haproxy, home / "dataplane", RELOAD_DELAY_S)
        # Between them and the daemon: connections are cut at will, as a firewall or a load balancer does, while the servers live on.
        self.to_kube, self.to_dataplane = (Proxy("127.0.0.1", port, http=False) for port in (self.kube.port, self.dataplane.port))
        self.token_file = home / "token"
        self.daemon: Daemon
        self._ends = contextlib.ExitStack()

    def describe(self) -> str:
        haproxy = realparts.version_of(pathlib.Path(self.haproxy.binary)).split(" - ")[0]
        return f"{self.kube.name}; {haproxy}; Data Plane API: {self.dataplane.kind} {self.dataplane.play}"

    def __enter__(self) -> "Stage":
        with contextlib.ExitStack() as ends:
            ends.enter_context(self.kube)
            ends.enter_context(self.haproxy)
            ends.enter_context(self.dataplane)
            for proxy in (self.to_kube, self.to_dataplane):
                proxy.start()
                ends.callback(proxy.stop)
            self.rotate_token()
            self.daemon = Daemon(self.home / "daemon", self._settings())
            ends.callback(self.daemon.kill)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _settings(self) -> dict[str, str]:
        """MAX_LOSS_PERCENT=100: with a dozen nodes that come and go at random, the brake would hold most of it back."""
        user, password = AUTH.split(":")
        kubeconfig = self.kube.kubeconfig_by(self.home / "kubeconfig", self.to_kube.port, self.token_file)
        services = ",".join(f"{NAMESPACE}/{service}:https={service}" for service in SERVICES)
        return {"INGRESS_SERVICES": services, "KUBECONFIG": str(kubeconfig),
                "HAPROXY_DATAPLANE_URL": self.to_dataplane.url,
                "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password, "MAX_LOSS_PERCENT": "100",
                "RESYNC_PERIOD": self.resync, "DRAIN_TIMEOUT": "5s", "PARK_TTL": "30s", "LOG_FORMAT": "json"}

    # --- what befalls it, besides what the relays do

    def rotate_token(self) -> None:
        """As the kubelet does it: the new file is whole when it appears."""
        beside = self.token_file.with_suffix(".new")
        beside.write_text(self.kube.new_token())
        os.replace(beside, self.token_file)

    def hang_up(self) -> None:
        os.kill(self.daemon.pid, signal.SIGHUP)

    # --- what came of it

    def in_step(self) -> bool:
        return self.daemon.metrics().sum("in_sync") == len(SERVICES)

    def servers(self, backend: str) -> dict[str, str]:
        """Those in rotation in the file: name -> address:port."""
        lines = in_rotation(server_lines(self.dataplane.file(), backend))
        return {name: rest.split()[0] for name, rest in lines.items() if name != "sorry"}

    def running(self, backend: str) -> dict[str, str]:
        """The same in the running HAProxy."""
        states, rows = self.haproxy.states(backend), self.haproxy.servers(backend)
        return {name: f"{rows[name]['srv_addr']}:{rows[name]['srv_port']}" for name, state in states.items()
                if state == "ready" and name != "sorry"}

    def open_transactions(self) -> int:
        return sum(t["status"] == "in_progress" for t in self.dataplane.get("/transactions").json() or [])

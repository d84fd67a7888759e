"""The demo of the servers engine: a small Kubernetes, fed from manifests, and what is seen of its nodes in HAProxy."""

from __future__ import annotations

import contextlib
import functools
import re

from tests.harness.kube import KubeDouble
from tests.harness.objects import NAMESPACE, SERVICE
from tests.harness.process import wait_until

from .balancer import ADDRESSES, BACKEND, FIRST, SORRY, Balancer
from .manifests import Manifests


class Stage(Balancer):
    @functools.cached_property
    def manifests(self) -> Manifests:
        return Manifests(self.home / "manifests")

    @functools.cached_property
    def kube(self) -> KubeDouble:
        return KubeDouble(self.home, manifests=self.manifests.directory)

    def settings(self) -> dict[str, str]:
        return {"INGRESS_NAMESPACE": NAMESPACE, "INGRESS_SERVICE_NAME": SERVICE,
                "KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), **super().settings(), "HAPROXY_BACKEND_NAME": BACKEND}

    def prepare(self, stack: contextlib.ExitStack) -> None:
        for name in FIRST:
            self.manifests.node(name, ADDRESSES[name])
        self.manifests.service(self.node_port)
        self.manifests.endpoints(dict.fromkeys(FIRST, True))
        stack.enter_context(self.kube)

    # --- what is seen from outside, whichever Data Plane API runs

    def file_version(self) -> int:
        """Goes up by one with each write; a file that no Data Plane API wrote counts as 1."""
        if self.is_local:
            return self.dataplane.version()
        found = re.search(r"^# _version=(\d+)", self.haproxy.config.read_text(), re.M)
        return int(found[1]) if found else 1

    def file_servers(self) -> tuple[set[str], set[str]]:
        """Names on the server lines of our backend in haproxy.cfg, without the one that was there before: those in rotation,
        and those in maintenance."""
        _, _, rest = self.haproxy.config.read_text().partition(f"\nbackend {BACKEND}")
        section = re.split(r"^\S", rest.partition("\n")[2], maxsplit=1, flags=re.M)[0]
        lines = {name: words.split() for name, words in re.findall(r"^\s+server (\S+)(.*)", section, re.M) if name != SORRY}
        resting = {name for name, words in lines.items() if "disabled" in words}
        return set(lines) - resting, resting

    def wait_file(self, nodes: set[str], parked: set[str], timeout: float = 15.0) -> None:
        wait_until(lambda: self.alive() and self.file_servers() == (nodes, parked), timeout,
                   f"haproxy.cfg to have {', '.join(sorted(nodes))}" +
                   (f" and, in maintenance, {', '.join(sorted(parked))}" if parked else ""), interval=0.002)

    def wait_draining(self, nodes: set[str], timeout: float = 15.0) -> None:
        """A runtime command changes the running HAProxy alone; haproxy.cfg never shows it."""
        wait_until(lambda: self.alive() and nodes == {name for name, state in self.haproxy.states(BACKEND).items()
                                                       if state == "drain"},
                   timeout, f"HAProxy to drain {', '.join(sorted(nodes))}", interval=0.002)

    def parts(self) -> list[tuple[str, str]]:
        return [("Kubernetes", f"a double of its API, fed from {self.manifests.directory}"), *super().parts()]

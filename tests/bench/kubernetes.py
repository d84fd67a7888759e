"""The Kubernetes that a rolling update happens in: a real kube-apiserver, or the double where that cannot be had."""

from __future__ import annotations

import pathlib
from typing import Any

from tests.harness import realparts
from tests.harness.kube import KubeDouble
from tests.harness.realkube import ADMIN_TOKEN, DAEMON_TOKEN, RealKube

from .events import EventWatch

Object = dict[str, Any]


class Real:
    """`with` starts and stops it."""

    name = f"kube-apiserver {realparts.KUBERNETES}, etcd {realparts.ETCD}"

    def __init__(self, home: pathlib.Path):
        self.kube = RealKube(home, realparts.kube_apiserver(), realparts.etcd())
        self._there: set[str] = set()

    def __enter__(self) -> "Real":
        self.kube.__enter__()
        self.kube.grant("nodes", "slices", "endpoints", "services")
        return self

    def __exit__(self, *_: object) -> None:
        self.kube.stop()

    def put(self, obj: Object) -> str:
        """Creates or replaces; the new resourceVersion."""
        # One request where the object is known to be there: its time is measured.
        admin, path = self.kube.admin, self.kube.admin.path_of(obj)
        done = admin.request("PUT", path, obj) if path in self._there else admin.put(obj)
        self._there.add(path)
        return str(done["metadata"]["resourceVersion"])

    def kubeconfig(self, everything: bool) -> pathlib.Path:
        """everything: with all rights, for a program whose needs are not known."""
        return self.kube.kubeconfig(ADMIN_TOKEN if everything else DAEMON_TOKEN)

    def events(self, namespace: str) -> EventWatch:
        return EventWatch(f"https://127.0.0.1:{self.kube.port}", namespace, self.kube.ca, ADMIN_TOKEN)


class Double:
    name = "the Kubernetes double (no TLS)"

    def __init__(self, home: pathlib.Path, token: str = ""):
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.kube = KubeDouble(home, token=token)

    def __enter__(self) -> "Double":
        self.kube.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kube.stop()

    def put(self, obj: Object) -> str:
        return self.kube.put(obj)

    def kubeconfig(self, everything: bool) -> pathlib.Path:
        return self.kube.kubeconfig(self.home / "kubeconfig")

    def events(self, namespace: str) -> EventWatch:
        return EventWatch(self.kube.url, namespace, None, "")


Kubernetes = Real | Double


def kubernetes(home: pathlib.Path) -> Kubernetes:
    try:
        return Real(home)
    except realparts.Missing:
        return Double(home)

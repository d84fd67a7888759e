"""The Kubernetes of a soak: a real kube-apiserver over a real etcd, or the double where Go is not there; with what befalls an API
server in its life."""

from __future__ import annotations

import json
import pathlib
import secrets
from typing import Any

from tests.chaos.stream import Admin, Cluster
from tests.harness import http, realparts
from tests.harness.kube import KubeDouble, write_kubeconfig
from tests.harness.realkube import RealKube

Object = dict[str, Any]


class Real:
    """`with` starts and stops it. A token file is what the daemon's kubeconfig names: rotated as a kubelet does."""

    name = f"kube-apiserver {realparts.KUBERNETES}, etcd {realparts.ETCD}"

    def __init__(self, home: pathlib.Path, namespace: str):
        self.kube = RealKube(home, realparts.kube_apiserver(), realparts.etcd())
        self.port = self.kube.port
        self.namespace = namespace

    def __enter__(self) -> "Real":
        self.kube.__enter__()
        put = self.kube.admin.put
        put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        put({"apiVersion": "v1", "kind": "ServiceAccount",
                  "metadata": {"name": "soak", "namespace": self.namespace}})
        rbac = "rbac.authorization.k8s.io"
        rules = [{"apiGroups": ["", "discovery.k8s.io"], "resources": ["nodes", "services", "endpoints", "endpointslices"],
                  "verbs": ["list", "watch"]}]
        put({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "soak"}, "rules": rules})
        put({"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "soak"},
                  "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "soak"},
                  "subjects": [{"kind": "ServiceAccount", "name": "soak", "namespace": self.namespace}]})
        return self

    def __exit__(self, *_: object) -> None:
        self.kube.stop()

    @property
    def cluster(self) -> Cluster:
        """What is written to."""
        return Admin(self.kube.admin, self.kube.ca)

    def new_token(self) -> str:
        """One that the daemon may use from here on; with the double, the one before is refused."""
        return self.kube.admin.service_account_token("soak", self.namespace)

    def kubeconfig(self, path: pathlib.Path, port: int, token_file: pathlib.Path) -> pathlib.Path:
        return write_kubeconfig(path, f"https://127.0.0.1:{port}", ca=self.kube.ca, token_file=token_file)

    def _etcd(self, path: str, body: Object) -> Any:
        answer = http.request(f"http://127.0.0.1:{self.kube.etcd.port}", "POST", path, json.dumps(body))
        assert answer.status == 200, f"etcd: POST {path}: {answer.status} {answer.text[:200]}"
        return answer.json()

    def compact(self) -> None:
        revision = self._etcd("/v3/maintenance/status", {})["header"]["revision"]
        try:
            self._etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        except AssertionError as e:
            if "already" not in str(e) and "compacted" not in str(e):
                raise

    def restart(self) -> None:
        """Dies and comes back, with its history compacted meanwhile."""
        self.kube.stop_apiserver()
        self.compact()
        self.kube.start_apiserver()


class Double:
    name = "the Kubernetes double (no TLS)"

    def __init__(self, home: pathlib.Path, namespace: str):
        home.mkdir(parents=True, exist_ok=True)
        self.kube = KubeDouble(home, token=secrets.token_hex(8))
        self.port = self.kube.port
        self.namespace = namespace
        self._token = self.kube.token

    def __enter__(self) -> "Double":
        self.kube.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kube.stop()

    @property
    def cluster(self) -> Cluster:
        return self.kube

    def new_token(self) -> str:
        self._token = secrets.token_hex(16)
        self.kube.tokens(**{self._token: "admin"})
        return self._token

    def kubeconfig(self, path: pathlib.Path, port: int, token_file: pathlib.Path) -> pathlib.Path:
        return write_kubeconfig(path, f"http://127.0.0.1:{port}", token_file=token_file)

    def compact(self) -> None:
        self.kube.compact()

    def restart(self) -> None:
        self.kube.restart()
        # It begins with the token of its command line again.
        self.kube.tokens(**{self._token: "admin"})


Kubernetes = Real | Double


def kubernetes(home: pathlib.Path, namespace: str) -> Kubernetes:
    try:
        return Real(home, namespace)
    except realparts.Missing:
        return Double(home, namespace)

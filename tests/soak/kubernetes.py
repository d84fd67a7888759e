"""The Kubernetes of a soak: a real kube-apiserver over a real etcd, or the double where Go is not there; with what befalls an API
server in its life."""

from __future__ import annotations

import pathlib
import secrets

from tests.bench import kubernetes
from tests.chaos.stream import Admin, Cluster
from tests.harness import realparts
from tests.harness.kube import write_kubeconfig


class Real(kubernetes.Real):
    """A token file is what the daemon's kubeconfig names: rotated as a kubelet does."""

    def __init__(self, home: pathlib.Path, namespace: str):
        super().__init__(home)
        self.port, self.namespace = self.kube.port, namespace

    def __enter__(self) -> "Real":
        super().__enter__()
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

    @property
    def cluster(self) -> Cluster:
        """What is written to."""
        return Admin(self.kube.admin, self.kube.ca)

    def new_token(self) -> str:
        """One that the daemon may use from here on; with the double, the one before is refused."""
        return self.kube.admin.service_account_token("soak", self.namespace)

    def kubeconfig_by(self, path: pathlib.Path, port: int, token_file: pathlib.Path) -> pathlib.Path:
        return write_kubeconfig(path, f"https://127.0.0.1:{port}", ca=self.kube.ca, token_file=token_file)

    def compact(self) -> None:
        try:
            self.kube.etcd.compact()
        except AssertionError as e:
            if "compacted" not in str(e):  # already, by the API server
                raise

    def restart(self) -> None:
        """Dies and comes back, with its history compacted meanwhile."""
        self.kube.stop_apiserver()
        self.compact()
        self.kube.start_apiserver()


class Double(kubernetes.Double):
    def __init__(self, home: pathlib.Path, namespace: str):
        super().__init__(home, secrets.token_hex(8))
        self.port = self.kube.port
        self._token = self.kube.token

    @property
    def cluster(self) -> Cluster:
        return self.kube

    def new_token(self) -> str:
        self._token = secrets.token_hex(16)
        self.kube.tokens(**{self._token: "admin"})
        return self._token

    def kubeconfig_by(self, path: pathlib.Path, port: int, token_file: pathlib.Path) -> pathlib.Path:
        return write_kubeconfig(path, f"http://127.0.0.1:{port}", token_file=token_file)

    def compact(self) -> None:
        self.kube.compact()

    def restart(self) -> None:
        self.kube.restart()
        # It begins with the token of its command line again.
        self.kube.tokens(**{self._token: "admin"})


Kubernetes = Real | Double


def kubernetes_of(home: pathlib.Path, namespace: str) -> Kubernetes:
    try:
        return Real(home, namespace)
    except realparts.Missing:
        return Double(home, namespace)

"""A real kube-apiserver over a real etcd, on loopback, with RBAC on: start, stop and restart each, write objects, grant rights.

No kubelet and no controllers run: what a test wants to see in the API it writes itself.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import ssl
import subprocess
import urllib.parse
from collections.abc import Iterable
from typing import Any

from .certificates import Authority
from .etcd import Etcd
from .kube import write_kubeconfig
from .process import Process, free_port, wait_until

Object = dict[str, Any]

ADMIN_TOKEN = "admin-token"
DAEMON_TOKEN = "daemon-token"
DAEMON_USER = "haproxy-k8s-sync"

# kind -> (path prefix, plural, namespaced)
KINDS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Service": ("/api/v1", "services", True),
    "Endpoints": ("/api/v1", "endpoints", True),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "Event": ("/api/v1", "events", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies", True),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "Ingress": ("/apis/networking.k8s.io/v1", "ingresses", True),
    "Pod": ("/api/v1", "pods", True),
    "ServiceMonitor": ("/apis/monitoring.coreos.com/v1", "servicemonitors", True),
    "PrometheusRule": ("/apis/monitoring.coreos.com/v1", "prometheusrules", True),
}
# Kinds whose status is written at its own path once the object exists.
WITH_STATUS = ("Node",)

# What each right of the daemon's role is worth, so that a test can leave one out.
RIGHTS = {
    "nodes": ("", "nodes"),
    "slices": ("discovery.k8s.io", "endpointslices"),
    "endpoints": ("", "endpoints"),
    "services": ("", "services"),
}


class ApiError(Exception):
    def __init__(self, method: str, path: str, status: int, body: str):
        super().__init__(f"{method} {path}: {status} {body[:300]}")
        self.status = status


class Client:
    """Requests to the API server over one kept connection, as admin unless another user is named."""

    timeout = 30.0

    def __init__(self, port: int, ca: pathlib.Path, token: str = ADMIN_TOKEN):
        self.port = port
        self.token = token
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._connection: http.client.HTTPSConnection | None = None

    def _send(self, method: str, path: str, body: bytes | None, content_type: str) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=self.timeout)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise

    def request(self, method: str, path: str, body: Object | list[Object] | str | None = None,
                content_type: str = "application/json") -> Object:
        """Text is sent as it is, anything else as JSON."""
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            status, answer = self._send(method, path, data, content_type)
        except (OSError, http.client.HTTPException):
            # A kept connection may have died with a restarted server; a fresh one is tried once.
            try:
                status, answer = self._send(method, path, data, content_type)
            except http.client.HTTPException as e:
                raise OSError(f"{method} {path}: {e!r}") from e
        if status >= 300:
            raise ApiError(method, path, status, answer.decode(errors="replace"))
        return json.loads(answer) if answer[:1] == b"{" else {"text": answer.decode()}

    @staticmethod
    def collection(kind: str, namespace: str | None) -> str:
        prefix, plural, namespaced = KINDS[kind]
        return f"{prefix}/namespaces/{namespace}/{plural}" if namespaced else f"{prefix}/{plural}"

    def path_of(self, obj: Object) -> str:
        meta = obj["metadata"]
        return f"{self.collection(obj['kind'], meta.get('namespace'))}/{urllib.parse.quote(meta['name'])}"

    def put(self, obj: Object) -> Object:
        """Creates the object or replaces it whole, whatever version it has."""
        path = self.path_of(obj)
        # The address of an object that was read back carries these; sent to a create they are refused.
        obj = {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k not in ("resourceVersion", "uid")}}
        try:
            return self.request("POST", path.rsplit("/", 1)[0], obj)
        except ApiError as e:
            # Whose a nodePort is comes before whose the name is: "already allocated" may be to this very Service.
            taken = e.status == 422 and obj["kind"] == "Service" and self._exists(path)
            if e.status != 409 and not taken:
                raise
        done = self.request("PUT", path, obj)
        if obj["kind"] in WITH_STATUS and "status" in obj:
            done = self.request("PUT", f"{path}/status", obj)
        return done

    def _exists(self, path: str) -> bool:
        try:
            self.request("GET", path)
        except ApiError as e:
            if e.status == 404:
                return False
            raise
        return True

    def apply(self, kind: str, name: str, manifest: str, namespace: str | None = None) -> Object:
        """One YAML document as `kubectl apply --server-side --force-conflicts` sends it: made, or brought to what it says."""
        path = f"{self.collection(kind, namespace)}/{name}?fieldManager=test&force=true"
        return self.request("PATCH", path, manifest, "application/apply-patch+yaml")

    def service_account_token(self, name: str, namespace: str) -> str:
        """As the kubelet asks for it on behalf of a pod."""
        path = f"{self.collection('ServiceAccount', namespace)}/{name}/token"
        answer = self.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                             "spec": {"expirationSeconds": 3600}})
        return str(answer["status"]["token"])

    def patch(self, kind: str, name: str, change: Object, namespace: str | None = None, status: bool = False) -> Object:
        path = f"{self.collection(kind, namespace)}/{name}" + ("/status" if status else "")
        return self.request("PATCH", path, change, "application/merge-patch+json")

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        return self.request("GET", f"{self.collection(kind, namespace)}/{name}")

    def list(self, kind: str, namespace: str | None = None) -> list[Object]:
        return self.request("GET", self.collection(kind, namespace))["items"]

    def delete(self, kind: str, name: str, namespace: str | None = None, missing_ok: bool = True) -> None:
        try:
            self.request("DELETE", f"{self.collection(kind, namespace)}/{name}")
        except ApiError as e:
            if e.status != 404 or not missing_ok:
                raise

    def delete_all(self, kind: str, namespace: str | None = None) -> None:
        for obj in self.list(kind, namespace):
            self.delete(kind, obj["metadata"]["name"], namespace)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class RealKube:
    """etcd and kube-apiserver together; `.admin` writes, `.kubeconfig()` is what the daemon gets."""

    def __init__(self, home: pathlib.Path, apiserver: pathlib.Path, etcd: pathlib.Path, reconciler: str = "none"):
        """reconciler: whether it publishes its own address (192.0.2.1, where nobody is) as an endpoint of default/kubernetes: none, lease."""
        self.home = home
        self.reconciler = reconciler
        home.mkdir(parents=True, exist_ok=True)
        self.program = apiserver
        self.etcd = Etcd(etcd, home)
        self.port = free_port()
        self.process: Process | None = None
        self._kubeconfigs = 0
        self._make_certificates()
        self.admin = Client(self.port, self.ca)

    # --- certificates and tokens

    def _make_certificates(self) -> None:
        authority = Authority(self.home)
        self.ca = authority.certificate
        self.certificate = authority.server()
        self.people = Authority(self.home, "people")
        """Signs client certificates: their names are those of users."""
        subprocess.run(["openssl", "genrsa", "-out", "serviceaccounts.key", "2048"], cwd=self.home, check=True, capture_output=True,
                       stdin=subprocess.DEVNULL)
        (self.home / "tokens.csv").write_text(
            f'{ADMIN_TOKEN},admin,admin,"system:masters"\n{DAEMON_TOKEN},{DAEMON_USER},{DAEMON_USER}\n')

    def kubeconfig(self, token: str = DAEMON_TOKEN, ca: pathlib.Path | None = None, user: Object | None = None) -> pathlib.Path:
        """user: further fields of the user, by the names of a kubeconfig."""
        ca = ca or self.ca
        # Paths are logged, tokens never may be: so the one does not carry the other.
        self._kubeconfigs += 1
        return write_kubeconfig(self.home / f"kubeconfig-{self._kubeconfigs}", f"https://127.0.0.1:{self.port}", ca=ca, token=token,
                                user=user)

    # --- life

    def start(self) -> None:
        if self.etcd.process is None:
            self.etcd.start()
        self.start_apiserver()

    def start_apiserver(self) -> None:
        self.launch_apiserver()
        wait_until(self.ready, 90, f"kube-apiserver ready, see {self.home}/apiserver.log", interval=0.1)

    def launch_apiserver(self) -> None:
        """Does not wait until it is ready."""
        home = self.home
        self.process = Process(
            [self.program, f"--etcd-servers=http://127.0.0.1:{self.etcd.port}", "--bind-address=127.0.0.1",
             "--advertise-address=192.0.2.1", f"--endpoint-reconciler-type={self.reconciler}", f"--secure-port={self.port}",
             f"--cert-dir={home}/certs",
             f"--tls-cert-file={self.certificate.certificate}",
             f"--tls-private-key-file={self.certificate.key}", f"--client-ca-file={self.people.certificate}",
             "--service-cluster-ip-range=10.96.0.0/16,fd00:96::/108", "--service-account-issuer=https://127.0.0.1",
             f"--service-account-key-file={home}/serviceaccounts.key",
             f"--service-account-signing-key-file={home}/serviceaccounts.key", f"--token-auth-file={home}/tokens.csv",
             "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--shutdown-delay-duration=0s"],
            home / "apiserver.log", env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, name="kube-apiserver")

    def ready(self) -> bool:
        assert self.process and self.process.alive, f"kube-apiserver has ended, see {self.home}/apiserver.log"
        try:
            return self.admin.request("GET", "/readyz").get("text") == "ok"
        except ApiError as e:
            raise AssertionError(str(e)) from e

    def stop_apiserver(self) -> None:
        """Killed, not asked: a polite end drains open watches for up to a minute."""
        if self.process:
            self.process.kill()
            self.process = None
        self.admin.close()

    def stop(self) -> None:
        self.stop_apiserver()
        self.etcd.stop()

    def __enter__(self) -> "RealKube":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- rights

    def grant(self, *rights: str) -> None:
        """The daemon's user may get, list and watch exactly these: nodes, slices, endpoints, services."""
        rules = [{"apiGroups": [RIGHTS[r][0]], "resources": [RIGHTS[r][1]], "verbs": ["get", "list", "watch"]} for r in rights]
        rbac = "rbac.authorization.k8s.io"
        self.admin.put({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": DAEMON_USER}, "rules": rules})
        self.admin.put({"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": DAEMON_USER},
                        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": DAEMON_USER},
                        "subjects": [{"apiGroup": rbac, "kind": "User", "name": DAEMON_USER}]})
        self.await_access(DAEMON_TOKEN, *listing(rights))

    def await_access(self, token: str, *asked: tuple[bool, Object]) -> None:
        """Until each of these is allowed to that token, or refused: the authorizer learns of a changed role by a watch of its own. asked:
        resource, verb, and where it matters group, name and namespace."""
        with contextlib.closing(Client(self.port, self.ca, token)) as client:
            def may(about: Object) -> bool:
                review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": about}}
                answer = client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
                return bool(answer["status"]["allowed"])

            def known() -> bool:
                try:
                    return all(may(about) == allowed for allowed, about in asked)
                except ApiError as e:  # whose token it is, it learns so, too
                    if e.status != 401:
                        raise
                    return False

            wait_until(known, 20, f"exactly these rights: {[about for allowed, about in asked if allowed]}")


def listing(rights: Iterable[str], namespace: str = "") -> list[tuple[bool, Object]]:
    """Of all RIGHTS, which of them are to be had: for await_access."""
    return [(name in rights, {"group": group, "resource": resource, "verb": "list", "namespace": "" if name == "nodes" else namespace})
            for name, (group, resource) in RIGHTS.items()]

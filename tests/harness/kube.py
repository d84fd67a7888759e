"""The Kubernetes double as a test uses it: started, fed, broken on purpose, asked what it saw."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import urllib.error
import urllib.request
from typing import Any

from tests.doubles.kubernetes import resources
from tests.doubles.kubernetes.objects import resource_of
from tests.harness.nursery import Double
from tests.harness.process import Process, free_port, wait_until

Object = dict[str, Any]


class KubeDouble:
    """tests.doubles.kubernetes in a process of its own; used with `with`, or start() and stop()."""

    def __init__(self, directory: os.PathLike[str] | str, *, token: str = "", low_token: str = "",
                 manifests: os.PathLike[str] | str | None = None, generate_nodes: int = 0,
                 tls: tuple[os.PathLike[str] | str, os.PathLike[str] | str] | None = None,
                 ca: os.PathLike[str] | str | None = None, client_ca: os.PathLike[str] | str | None = None,
                 streaming_lists: bool = True, etcd: str = "3.6", protobuf: bool = True):
        self.directory = pathlib.Path(directory)
        self.port, self.control_port = free_port(), free_port()
        self.token, self.ca = token, ca
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.control_url = f"http://127.0.0.1:{self.control_port}"
        self.log_path = self.directory / "kubernetes.log"
        self._process: Process | None = None
        options: dict[str, object] = {
            "--listen": f"127.0.0.1:{self.port}", "--control": f"127.0.0.1:{self.control_port}", "--log": self.log_path,
            "--token": token, "--low-token": low_token, "--manifests": manifests, "--generate-nodes": generate_nodes,
            "--client-ca": client_ca, "--play-etcd": etcd}
        if tls:
            options.update({"--tls-cert": tls[0], "--tls-key": tls[1]})
        self._arguments = [str(part) for name, value in options.items() if value for part in (name, value)]
        if not streaming_lists:
            self._arguments.append("--no-streaming-list")
        if not protobuf:
            self._arguments.append("--json-alone")

    def start(self) -> "KubeDouble":
        self._process = Double("tests.doubles.kubernetes", self._arguments, self.directory / "kubernetes.out", "kubernetes double")
        wait_until(self._answers, 60, f"the Kubernetes double to start; see {self._process.log_path}")
        return self

    def _answers(self) -> bool:
        assert self._process
        if not self._process.alive:
            raise RuntimeError(f"the Kubernetes double ended: {self._process.log()}")
        try:
            self.control("GET", "/faults")
            return True
        except OSError:
            return False

    def stop(self) -> None:
        if self._process:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process = None

    def restart(self) -> None:
        """Stopped and started with the same objects and version, and no history: older versions are 410 from here on."""
        state = self.state()
        self.stop()
        self.start()
        self.restore(state)

    def __enter__(self) -> "KubeDouble":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """A call of the control port; see tests/doubles/kubernetes/control.py for what there is."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control_url + path, data, method=method)
        try:
            with _DIRECT.open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{method} {path}: {e.code} {e.read().decode(errors='replace')}") from None

    def put(self, *objects: Object) -> str:
        """Creates or updates; the resourceVersion of the last."""
        return self.control("POST", "/objects", list(objects))[-1]

    def delete(self, *objects: Object) -> str:
        """By kind, namespace and name of these objects; one that is not there is a failure."""
        version = ""
        for tree in objects:
            version = self.control("DELETE", path_of(tree))["resourceVersion"]
        return version

    def fault(self, **spec: Any) -> int:
        """Adds a fault (tests/doubles/kubernetes/faults.py lists the fields); its id."""
        return self.control("POST", "/faults", spec)["id"]

    def faults(self) -> list[dict[str, Any]]:
        """With how often each was seen and hit."""
        return self.control("GET", "/faults")

    def clear_faults(self) -> None:
        self.control("DELETE", "/faults")

    def requests(self, resource: str = "", verb: str = "", since: int = 0) -> list[dict[str, Any]]:
        """What was asked, oldest first; verb as in a fault."""
        return [entry for entry in self.control("GET", f"/requests?since={since}")
                if (not resource or entry["resource"] == resource) and (not verb or verb in entry["verbs"])]

    def open_watches(self, resource: str = "") -> list[dict[str, Any]]:
        return [entry for entry in self.requests(resource, "watch") if entry["open"]]

    def disconnect(self, resource: str = "", verb: str = "", how: str = "reset") -> int:
        """Ends the connections that serve such requests (all when nothing is named); how many there were."""
        return self.control("POST", "/disconnect", {"resource": resource, "verb": verb, "how": how})["closed"]

    def listening(self, open_: bool) -> None:
        """False: connections are refused until it is called with True."""
        self.control("PUT", "/listening", {"open": open_})

    def compact(self, version: str | int | None = None) -> str:
        return self.control("POST", "/compact", {"resourceVersion": version})["resourceVersion"]

    def advance(self, version: str | int) -> None:
        self.control("POST", "/advance", {"resourceVersion": version})

    def tokens(self, **users: str) -> None:
        """tokens(new="admin"): from here on these tokens and no others."""
        self.control("PUT", "/access", {"tokens": users})

    def forbid(self, *plurals: str) -> None:
        """403 for these resources ("services", or "ns/services" in one namespace; "update leases": for that verb); forbid()
        allows all again."""
        self.control("PUT", "/access", {"forbidden": plurals})

    def serve(self, group: str, version: str, plural: str, kind: str, namespaced: bool = True) -> None:
        """A resource more, as by a CustomResourceDefinition."""
        spec = {"group": group, "version": version, "plural": plural, "kind": kind, "namespaced": namespaced}
        self.control("PUT", "/resources", spec)
        resources.serve(resources.Resource(**spec))  # path_of knows it, too

    def cease(self, group: str, version: str, plural: str, kind: str, namespaced: bool = True) -> None:
        """It goes, its objects first."""
        self.control("DELETE", "/resources", {"group": group, "version": version, "plural": plural, "kind": kind, "namespaced": namespaced})

    def settings(self, **values: Any) -> None:
        """streamingLists, etcd, bookmarkIntervalSeconds, freshWaitSeconds."""
        self.control("PUT", "/settings", values)

    def state(self) -> dict[str, Any]:
        return self.control("GET", "/state")

    def restore(self, state: dict[str, Any]) -> None:
        self.control("POST", "/state", state)

    def kubeconfig(self, path: os.PathLike[str] | str, *, token: str | None = None, **more: Any) -> pathlib.Path:
        """Writes a kubeconfig (JSON is YAML) that leads here; more goes to write_kubeconfig."""
        return write_kubeconfig(path, self.url, **{"ca": self.ca, "token": self.token if token is None else token, **more})


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def path_of(tree: Object) -> str:
    """The API path of an object."""
    resource = resource_of(tree)
    meta = tree["metadata"]
    return resource.path(meta.get("namespace", "default") if resource.namespaced else "", meta["name"])


def write_kubeconfig(path: os.PathLike[str] | str, url: str, *, ca: os.PathLike[str] | str | None = None,
                     token: str = "", token_file: os.PathLike[str] | str | None = None,
                     cluster: Object | None = None, user: Object | None = None) -> pathlib.Path:
    """cluster, user: further fields of theirs, by the names of a kubeconfig."""
    cluster = {"server": url, **(cluster or {})}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(pathlib.Path(ca).read_bytes()).decode()
    user = {**({"token": token} if token else {}), **(user or {})}
    if token_file:
        user["tokenFile"] = os.fspath(token_file)
    path = pathlib.Path(path)
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}], "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}, indent=1) + "\n")
    return path

"""A namespace with a ServiceAccount that has few rights, as an operator grants them; and the objects of a case there."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from tests.harness.process import wait_until
from tests.harness.realkube import ApiError, Client, RealKube

RBAC = "rbac.authorization.k8s.io/v1"
NAME = "sync"
_numbers = itertools.count(1)

# API group, resource, and the names of the only objects that it is about.
Readable = tuple[str, ...]


class Account:
    def __init__(self, kube: RealKube, prefix: str):
        self.kube, self.namespace = kube, f"{prefix}-{next(_numbers)}"
        self.put("Namespace", self.namespace, namespace="")
        self.put("ServiceAccount", NAME)
        self.token = kube.admin.service_account_token(NAME, self.namespace)

    def put(self, kind: str, name: str, api: str = "v1", namespace: str | None = None, labels: Mapping[str, str] | None = None,
            annotations: Mapping[str, str] | None = None, **content: Any) -> None:
        where = self.namespace if namespace is None else namespace
        metadata = {"name": name, "namespace": where, "labels": labels, "annotations": annotations}
        self.kube.admin.put({"apiVersion": api, "kind": kind, "metadata": {key: value for key, value in metadata.items() if value}, **content})

    def grant(self, *readable: Readable, namespace: str | None = "", events: bool = True) -> None:
        """To list and watch these, and to write Events: in a namespace ("": its own), or everywhere (None)."""
        rules = [{"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"], **({"resourceNames": names} if names else {})}
                 for group, resource, *names in readable]
        rules += [{"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]}] if events else []
        kind, name = ("ClusterRole", self.namespace) if namespace is None else ("Role", f"{NAME}-{self.namespace}")
        where = "" if namespace is None else namespace or self.namespace
        self.put(kind, name, RBAC, where, rules=rules)
        self.put(f"{kind}Binding", name, RBAC, where, subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name})

    def await_rights(self, *paths: str) -> None:
        """The authorizer learns of a role by a watch of its own."""
        def may(client: Client) -> bool:
            with contextlib.suppress(ApiError):
                return all(client.request("GET", path) for path in paths)
            return False

        with contextlib.closing(Client(self.kube.port, self.kube.ca, self.token)) as client:
            wait_until(lambda: may(client), 20, "the authorizer to know the roles")

    def kubeconfig(self) -> str:
        return str(self.kube.kubeconfig(self.token))

    def delete(self, kind: str, names: Iterable[str], namespace: str | None = None) -> None:
        for name in names:
            with contextlib.suppress(ApiError):
                self.kube.admin.delete(kind, name, namespace)

    def events(self) -> set[tuple[str, str, str]]:
        """(kind, name, reason) of each."""
        return {(e["involvedObject"]["kind"], e["involvedObject"]["name"], e["reason"]) for e in self.kube.admin.list("Event", self.namespace)}

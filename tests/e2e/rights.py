"""The daemon's rights as an operator grants them: deploy/rbac.yaml itself, applied in the namespaces of a test, and a token of its
ServiceAccount. A test may take some of the rights away again."""

from __future__ import annotations

import re

from tests.harness.process import ROOT
from tests.harness.realkube import RIGHTS, RealKube, listing

MANIFEST = ROOT / "deploy" / "rbac.yaml"
# What the manifest calls the namespace.
NAMESPACE = "ingress-nginx"
NAME = "haproxy-k8s-sync"


def documents() -> dict[tuple[str, str], str]:
    """(kind, name) -> YAML document"""
    found = {}
    for text in MANIFEST.read_text().split("\n---\n"):
        kind, name = re.search(r"^kind: (\w+)$", text, re.M), re.search(r"^  name: (\S+)$", text, re.M)
        assert kind and name, f"a document of {MANIFEST} has no kind or no name:\n{text}"
        found[kind[1], name[1]] = text
    return found


class Rights:
    def __init__(self, kube: RealKube, namespace: str):
        self.kube = kube
        self.namespace = namespace
        for (kind, name), text in documents().items():
            where = None if kind.startswith("Cluster") else namespace
            kube.admin.apply(kind, name.replace(NAMESPACE, namespace), text.replace(NAMESPACE, namespace), where)
        self.lease_rules = [rule for rule in kube.admin.get("Role", NAME, namespace)["rules"] if "leases" in rule["resources"]]
        self.token = kube.admin.service_account_token(NAME, namespace)
        kube.await_access(self.token, *listing(RIGHTS, namespace))

    def also_in(self, namespace: str) -> None:
        """A Role and a RoleBinding in a further namespace, bound to the same ServiceAccount, as the manifest's head has them."""
        words = " ".join(line.lstrip("# ").rstrip("\\") for line in MANIFEST.read_text().splitlines() if line.startswith("#   "))
        found = re.search(r"create role (\S+) --verb=(\S+)\s+--resource=(\S+)", words)
        assert found and found[1] == NAME, f"{MANIFEST} has no command for a Role: {words}"
        rules = [{"apiGroups": [group], "resources": [resource], "verbs": found[2].split(",")}
                 for resource, _, group in (resource.partition(".") for resource in found[3].split(","))]
        about = {"name": NAME, "namespace": namespace}
        self.kube.admin.put({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": about, "rules": rules})
        own_place, _, rest = documents()["RoleBinding", NAME].partition(NAMESPACE)
        self.kube.admin.apply("RoleBinding", NAME, f"{own_place}{namespace}{rest.replace(NAMESPACE, self.namespace)}", namespace)
        self.kube.await_access(self.token, *listing(RIGHTS, namespace))

    def only(self, *rights: str) -> None:
        """From here on exactly these, and those to the Lease."""
        rules = {name: {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
                 for name, (group, resource) in RIGHTS.items() if name in rights}
        self.kube.admin.patch("ClusterRole", f"{self.namespace}:{NAME}", {"rules": [rules[r] for r in rules if r == "nodes"]})
        self.kube.admin.patch("Role", NAME, {"rules": [*(rules[r] for r in rules if r != "nodes"), *self.lease_rules]}, self.namespace)
        self.kube.await_access(self.token, *listing(rights, self.namespace))

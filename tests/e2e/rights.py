"""The daemon's rights as an operator grants them: deploy/rbac.yaml itself, applied in the namespaces of a test, and a token of its
ServiceAccount. A test may take some of the rights away again."""

from __future__ import annotations

import re

from tests.harness.process import ROOT, wait_until
from tests.harness.realkube import ApiError, Client, RealKube

MANIFEST = ROOT / "deploy" / "rbac.yaml"
# What the manifest calls the namespace.
NAMESPACE = "ingress-nginx"
NAME = "haproxy-k8s-sync"

# What each right is about: (API group, resource). Nodes are the ClusterRole's, the others the Role's.
RIGHTS = {"nodes": ("", "nodes"), "slices": ("discovery.k8s.io", "endpointslices"), "endpoints": ("", "endpoints"),
          "services": ("", "services")}


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
        self.wait_only(namespace, tuple(RIGHTS))

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
        self.wait_only(namespace, tuple(RIGHTS))

    def only(self, *rights: str) -> None:
        """From here on exactly these, and those to the Lease."""
        rules = {name: {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
                 for name, (group, resource) in RIGHTS.items() if name in rights}
        self.kube.admin.patch("ClusterRole", f"{self.namespace}:{NAME}", {"rules": [rules[r] for r in rules if r == "nodes"]})
        self.kube.admin.patch("Role", NAME, {"rules": [*(rules[r] for r in rules if r != "nodes"), *self.lease_rules]}, self.namespace)
        self.wait_only(self.namespace, rights)

    def wait_only(self, namespace: str, rights: tuple[str, ...]) -> None:
        """The authorizer learns of a changed role by a watch of its own, so the daemon's own token is asked until it shows."""
        client = Client(self.kube.port, self.kube.ca, self.token)

        def allowed(right: str) -> bool:
            group, resource = RIGHTS[right]
            prefix = f"/apis/{group}/v1" if group else "/api/v1"
            where = "" if right == "nodes" else f"namespaces/{namespace}/"
            try:
                client.request("GET", f"{prefix}/{where}{resource}?limit=1")
            except ApiError as e:
                if e.status in (401, 403):
                    return False
                raise
            return True

        try:
            wait_until(lambda: all(allowed(r) == (r in rights) for r in RIGHTS), 20, f"exactly the rights {rights}")
        finally:
            client.close()

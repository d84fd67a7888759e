"""helm and kubectl on a real API server, and a release of the chart there: its objects, and the daemon run with its account, its
settings and its rights alone, as the kubelet would run it (which is not there)."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

import yaml

from tests.delivery.chart import pod
from tests.delivery.chart.helm import CHART, Document, Values
from tests.harness import realparts
from tests.harness.process import wait_until
from tests.harness.realkube import ADMIN_TOKEN, ApiError, RealKube

CRDS = pathlib.Path(__file__).with_name("crds.yaml")
NAME = "haproxy-k8s-sync"


def _run(program: pathlib.Path, words: tuple[object, ...], kube: RealKube) -> str:
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home, "KUBECONFIG": str(kube.kubeconfig(ADMIN_TOKEN))}
        done = subprocess.run([str(word) for word in (program, *words)], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
    assert done.returncode == 0, f"{program.name} {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


def kubectl(kube: RealKube, *words: object) -> str:
    return _run(realparts.kubectl(), words, kube)


def helm(kube: RealKube, *words: object, values: pathlib.Path | Values | None = None) -> str:
    if isinstance(values, dict):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(values, file)
            file.flush()
            return helm(kube, *words, values=pathlib.Path(file.name))
    return _run(realparts.helm(), (*words, *(("--values", values) if values else ())), kube)


def _served(kube: RealKube, path: str) -> bool:
    try:
        return "items" in kube.admin.request("GET", path)
    except ApiError as e:
        if e.status in (404, 429):
            return False
        raise


def define(kube: RealKube) -> None:
    """ServiceMonitor and PrometheusRule, until the server serves them."""
    for text in CRDS.read_text().split("\n---\n"):
        definition = yaml.safe_load(text)
        kube.admin.apply(definition["kind"], definition["metadata"]["name"], json.dumps(definition))
        path = f"/apis/{definition['spec']['group']}/v1/{definition['spec']['names']['plural']}"
        wait_until(lambda: _served(kube, path), 20, f"{path} is served")


def dry_run(kube: RealKube, document: Document) -> None:
    """What `kubectl apply --server-side --dry-run=server --validate=strict` sends: all that the server does but to keep it."""
    meta = document["metadata"]
    path = f"{kube.admin.collection(document['kind'], meta.get('namespace'))}/{meta['name']}"
    kube.admin.request("PATCH", f"{path}?fieldManager=test&force=true&dryRun=All&fieldValidation=Strict", json.dumps(document),
                       "application/apply-patch+yaml")


# --- one right of a role, which is the least that can be taken away

@dataclasses.dataclass(frozen=True)
class Right:
    kind: str            # of the role
    role: str
    namespace: str | None
    group: str
    resource: str
    verb: str
    name: str            # of the only object it is for; "" for any

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f" {self.name}" if self.name else "")

    def rule(self) -> Document:
        only = {"resourceNames": [self.name]} if self.name else {}
        return {"apiGroups": [self.group], "resources": [self.resource], "verbs": [self.verb], **only}

    def attributes(self) -> Document:
        asked = {"group": self.group, "resource": self.resource, "verb": self.verb, "name": self.name, "namespace": self.namespace or ""}
        return {k: v for k, v in asked.items() if v}


class Release:
    def __init__(self, kube: RealKube, name: str, namespace: str, values: pathlib.Path | Values, verb: str = "install"):
        self.kube = kube
        self.name = name
        self.namespace = namespace
        helm(kube, verb, name, CHART, "--namespace", namespace, values=values)
        self.documents = [d for d in yaml.safe_load_all(helm(kube, "get", "manifest", name, "--namespace", namespace)) if d]

    def uninstall(self) -> None:
        helm(self.kube, "uninstall", self.name, "--namespace", self.namespace)

    # --- what is in the API, not what was rendered

    def live(self) -> list[Document]:
        return [self.kube.admin.get(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace")) for d in self.documents]

    def token(self) -> str:
        spec = next(d for d in self.live() if d["kind"] == "Deployment")["spec"]["template"]["spec"]
        assert spec["automountServiceAccountToken"] is True
        return self.kube.admin.service_account_token(spec["serviceAccountName"], self.namespace)

    def settings(self, root: pathlib.Path) -> dict[str, str]:
        """The daemon's environment in the pod; what is mounted lies under root. Only the way to the API server is not that of a pod."""
        env = pod.unpacked(self.live(), root, lambda path, key: f"{path} {key} is not of this release")
        return {**env, "KUBECONFIG": str(self.kube.kubeconfig(self.token()))}

    # --- its rights

    def rights(self) -> list[Right]:
        return [Right(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace"), group, resource, verb, name)
                for d in self.live() if d["kind"] in ("Role", "ClusterRole")
                for rule in d["rules"] for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
                for name in rule.get("resourceNames", [""])]

    def rights_on(self, resource: str) -> list[Right]:
        return [right for right in self.rights() if right.resource == resource]

    def grant(self, rights: list[Right], among: list[Right]) -> None:
        """Exactly these of those, and the authorizer knows."""
        for kind, role, namespace in {(r.kind, r.role, r.namespace) for r in among}:
            rules = [r.rule() for r in rights if (r.kind, r.role, r.namespace) == (kind, role, namespace)]
            self.kube.admin.patch(kind, role, {"rules": rules}, namespace)
        self.kube.await_access(self.token(), *((right in rights, right.attributes()) for right in among))


# --- everything that is there

def everything_in(kube: RealKube, namespaces: set[str]) -> set[str]:
    """All objects that may be listed: those of the cluster and those in these namespaces, as "kind namespace/name"."""
    found = set()
    groups = ["/api/v1", *(f"/apis/{g['preferredVersion']['groupVersion']}" for g in kube.admin.request("GET", "/apis")["groups"])]
    for prefix in groups:
        for resource in kube.admin.request("GET", prefix)["resources"]:
            if "list" not in resource["verbs"] or "/" in resource["name"]:
                continue
            try:
                items = kube.admin.request("GET", f"{prefix}/{resource['name']}")["items"]
            except ApiError as e:
                if e.status in (404, 405):
                    continue
                raise
            for meta in (item["metadata"] for item in items):
                if not resource["namespaced"] or meta["namespace"] in namespaces:
                    found.add(f"{resource['kind']} {meta.get('namespace', '')}/{meta['name']}")
    return found


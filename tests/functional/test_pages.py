"""README.md and deploy/ say what the daemon does: its metrics, its messages, its rights, its files."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest

from tests.harness.daemon import clean_env
from tests.harness.metrics import PREFIX, Metrics
from tests.harness.process import ROOT, wait_until

from .rig import NAMESPACE, Rig, program

yaml = pytest.importorskip("yaml", reason="no python3-yaml here: the manifests cannot be read")

README = (ROOT / "README.md").read_text()


def table(title: str) -> list[list[str]]:
    """The rows of the table under the header whose first cell begins with this, without the header."""
    rows = re.search(rf"^\| {re.escape(title)}.*\n\|[-|]+\n((?:\|.*\n)+)", README, re.M)
    assert rows, f"README has no table that begins with {title!r}"
    return [[cell.strip() for cell in row.strip("|").split(" | ", 1)] for row in rows[1].splitlines()]


# --- metrics

def documented() -> dict[str, set[str]]:
    """Name without the prefix -> its labels; "`a`, `b` (`{x,y}`)" means both."""
    found: dict[str, set[str]] = {}
    for cell, *_ in table("metric (prefix"):
        shared = re.search(r"\(`\{([\w,]+)\}`\)", cell)
        for name, labels in re.findall(r"`(\w+)(?:\{([\w,]+)\})?`", cell):
            found[name] = set(filter(None, (labels or (shared[1] if shared else "")).split(",")))
    return found


def exported(m: Metrics) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for sample, family in m.samples.items():
        name = re.sub(r"_(bucket|sum|count)$", "", sample) if sample not in m.types else sample
        if name.startswith(PREFIX):
            for labels in family:
                found.setdefault(name.removeprefix(PREFIX), set()).update({key for key, _ in labels} - {"le"})
    return found


def test_table_of_metrics_is_what_is_exported(rig: Rig) -> None:
    rig.start()
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    rig.daemon.wait_metric("reloads_total", 1)
    rig.kube.disconnect(how="reset")
    rig.daemon.wait_metric("watch_restarts_total", 1)
    assert rig.dataplane.delete(f"/configuration/backends/be/servers/n2?version={rig.dataplane.version()}").status in (202, 204)
    rig.daemon.process.signal(1)  # by hand: undone, and mended again
    rig.daemon.wait_metric("changes_undone_total", 1)
    rig.wait_in_sync()
    rig.pods(1)  # told, and written without a reload
    rig.wait_parked(2)
    rig.wait_in_sync()
    rig.haproxy.runtime("set server be/n1 addr 127.0.11.88")

    def drifted() -> bool:
        rig.daemon.process.signal(1)
        return rig.daemon.metrics().sum("drifts_total") >= 1

    wait_until(drifted, 20, "the drift to be believed", interval=0.2)
    rig.wait_in_sync()
    assert rig.differences() == []
    assert exported(rig.daemon.metrics()) == documented()


# --- messages

def sources() -> str:
    """All of the source's text, with string literals that follow each other as one, and without escapes."""
    text = "\n".join(path.read_text() for path in sorted([*ROOT.glob("src/*/*.[ch]"), *ROOT.glob("cmd/*/*.c")]))
    return re.sub(r'"\s*\\?\s*"', "", text).replace('\\"', '"')


def message_pieces() -> list[str]:
    """What the first column quotes, cut where it says "..."."""
    quoted = [q for row in table("symptom") for q in re.findall(r"`([^`]+)`", row[0])]
    return [piece for q in quoted for piece in re.split(r"\s*\.\.\.\s*", q) if piece]


@pytest.mark.parametrize("piece", message_pieces())
def test_quoted_message_is_in_the_source(piece: str) -> None:
    assert piece in sources(), f"README quotes {piece!r}"


def test_settings_that_the_page_names_exist(rig: Rig) -> None:
    known = set(re.findall(r"`([A-Z0-9_]{4,})`", "\n".join(row[0] for row in table("Variable"))))
    named = set(re.findall(r"\b(?:HAPROXY|INGRESS)_[A-Z0-9_]+\b", README.replace("\\_", "_")))
    assert named <= known, named - known


# --- deploy/

def manifests(name: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all((ROOT / "deploy" / name).read_text()) if document]


def of_kind(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [document for document in documents if document["kind"] == kind]
    assert len(found) == 1, f"{len(found)} of kind {kind}"
    return found[0]


def granted() -> set[tuple[str, str, str, str]]:
    """(where, group, resource, verb); where is "namespace" or "cluster"."""
    rbac = manifests("rbac.yaml")
    return {(where, group, resource, verb)
            for kind, where in (("Role", "namespace"), ("ClusterRole", "cluster"))
            for rule in of_kind(rbac, kind)["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def asked(rig: Rig) -> set[tuple[str, str, str, str]]:
    """What an authorizer is asked about each request that the Kubernetes double saw."""
    rights = set()
    for request in rig.kube.requests():
        found = re.fullmatch(r"/(?:api|apis/([^/]+))/v1(?:/namespaces/([^/]+))?/(\w+)", request["path"])
        assert found, request["path"]
        watch = request["query"].get("watch") in ("1", "true")
        assert found[2] in (None, NAMESPACE)
        rights.add(("namespace" if found[2] else "cluster", found[1] or "", found[3], "watch" if watch else "list"))
    return rights


def test_rbac_grants_what_is_asked_for_and_nothing_else(rig: Rig) -> None:
    rig.kube.settings(streamingLists=False)  # lists and watches are then two rights that are both used
    rig.start()
    rig.wait_in_sync()
    rig.daemon.stop()
    rig.kube.forbid("endpointslices")
    rig.start()
    wait_until(lambda: rig.kube.open_watches("endpoints"), 20, "a watch of Endpoints")
    assert asked(rig) == granted()


def test_manifests_fit_each_other() -> None:
    rbac, config = manifests("rbac.yaml"), of_kind(manifests("configmap.yaml"), "ConfigMap")
    deployment = of_kind(manifests("deployment.yaml"), "Deployment")
    account = of_kind(rbac, "ServiceAccount")["metadata"]
    for kind, role in (("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")):
        binding = of_kind(rbac, kind)
        assert binding["roleRef"]["kind"] == role and binding["roleRef"]["name"] == of_kind(rbac, role)["metadata"]["name"]
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}]
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["serviceAccountName"] == account["name"] and pod["spec"]["enableServiceLinks"] is False
    namespaces = {m["metadata"]["namespace"] for m in [*rbac, config, deployment] if not m["kind"].startswith("Cluster")}
    assert namespaces == {config["data"]["INGRESS_NAMESPACE"]}, "the Role is where the slices are"
    container = pod["spec"]["containers"][0]
    assert container["envFrom"] == [{"configMapRef": {"name": config["metadata"]["name"]}}]
    assert container["ports"][0]["containerPort"] == 8080  # LISTEN_ADDRESS's default
    secret = pod["spec"]["volumes"][0]["secret"]["secretName"]
    assert f"create secret generic {secret} " in README
    files = {env["name"]: env["value"] for env in container["env"]}
    keys = set(re.findall(r"--from-literal=(\w+)=", README))
    mount = container["volumeMounts"][0]["mountPath"]
    assert set(files.values()) == {f"{mount}/{key}" for key in keys}
    for name in re.findall(r"deploy/([\w.]+\.yaml)", README):
        assert (ROOT / "deploy" / name).exists(), name


def test_settings_of_the_manifests_are_accepted(rig: Rig) -> None:
    config = of_kind(manifests("configmap.yaml"), "ConfigMap")["data"]
    container = of_kind(manifests("deployment.yaml"), "Deployment")["spec"]["template"]["spec"]["containers"][0]
    files = {}
    for env in container["env"]:
        path = rig.home / env["name"]
        path.write_text("admin\n")
        files[env["name"]] = str(path)
    done = subprocess.run([program(), "check-config"], env=clean_env(**config, **files), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr

"""README.md, docs/ and deploy/ say what the daemon does: its metrics, its messages, its rights, its files."""

from __future__ import annotations

import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import check_env
from tests.harness.metrics import PREFIX, Metrics
from tests.harness.process import ROOT, wait_until

from .rig import NAMESPACE, Rig, program
from .test_config_secret import Site, secret

yaml = pytest.importorskip("yaml", reason="no python3-yaml here: the manifests cannot be read")

PAGES = "\n".join(path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))])


def table(title: str) -> list[list[str]]:
    """The rows of all tables whose header begins with this cell, without the headers."""
    bodies = re.findall(rf"^\| {re.escape(title)}.*\n\|[-|]+\n((?:\|.*\n)+)", PAGES, re.M)
    assert bodies, f"the pages have no table that begins with {title!r}"
    return [[cell.strip() for cell in row.strip("|").split(" | ", 1)] for body in bodies for row in body.splitlines()]


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    with Rig(tmp_path) as rig:
        yield Site(rig)


# --- metrics

def documented(prefix: str = PREFIX) -> dict[str, set[str]]:
    """Name without the prefix -> its labels; "`a`, `b` (`{x,y}`)" means both."""
    found: dict[str, set[str]] = {}
    for cell, *_ in table(f"metric (prefix `{prefix}`"):
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


@pytest.fixture
def tls(tmp_path: pathlib.Path) -> Iterator[Rig]:
    ca = Authority(tmp_path / "pki")
    server = ca.server()
    with Rig(tmp_path, tls=(server.certificate, server.key), ca=ca.certificate, token="t") as made:
        yield made


def test_table_of_metrics_is_what_is_exported(tls: Rig) -> None:
    rig = tls  # some are about certificates alone
    rig.start(EMIT_EVENTS="true")
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    rig.daemon.wait_metric("reloads_total", 1)
    rig.daemon.wait_metric("kubernetes_events_total", 1)
    rig.kube.disconnect(how="reset")
    rig.daemon.wait_metric("watch_restarts_total", 1)
    assert rig.dataplane.delete(f"/configuration/backends/be/servers/n2?version={rig.dataplane.version()}").status in (202, 204)
    rig.daemon.process.signal(1)  # by hand: undone, and mended again
    rig.daemon.wait_metric("changes_reverted_total", 1)
    rig.wait_in_sync()
    rig.pods(1)  # a runtime update, written without a reload
    rig.wait_parked(2)
    rig.wait_in_sync()
    rig.haproxy.runtime("set server be/n1 addr 127.0.11.88")

    def drifted() -> bool:
        rig.daemon.process.signal(1)
        return rig.daemon.metrics().sum("drifts_total") >= 1

    wait_until(drifted, 20, "the drift to be believed", interval=0.2)
    rig.wait_in_sync()
    assert rig.differences() == []
    others = ("annotated_", "configuration_", "load_balancers", "local_", "publications_", "spiffe_", "template_", "trace_")  # what each has its own test for
    assert {name: labels for name, labels in exported(rig.daemon.metrics()).items() if not name.startswith(others)} == {
        name: labels for name, labels in documented().items() if not name.startswith(others)}


def registered(file: str) -> dict[str, set[str]]:
    """Name and labels of each row of a table of metrics in src/."""
    rows = re.findall(r'METRIC_\w+,\s*"(\w+)",\s*(?:"(?:[^"\\]|\\.)*"\s*)+,\s*"([\w,]*)"\}', (ROOT / "src" / file).read_text())
    assert len(dict(rows)) == len(rows), "a name twice"
    return {name: set(filter(None, labels.split(","))) for name, labels in rows}


def test_table_of_the_operators_metrics_is_what_is_registered() -> None:
    """Name and labels; that each comes to the page is checked in tests/unit/daemon/test_config_report."""
    found = registered("daemon/config/config_report.c")
    assert found == documented("haproxy_operator_") and len(found) == 9


def test_table_of_metrics_of_whole_configurations(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start()
    daemon.wait_metric("configuration_applied", 1)
    found = {name: labels for name, labels in exported(daemon.metrics()).items() if name.startswith("configuration_")}
    table = {name: labels for name, labels in documented().items() if name.startswith("configuration_")}
    assert table.pop("configuration_rollbacks_total") == {"reason"}  # there is none before the first: test_rollback
    assert found == table


def test_table_of_the_metrics_of_templates_is_what_is_registered() -> None:
    """Name and labels; what they count is checked in test_template_source."""
    found = {name: labels for name, labels in registered("report/metric_table.c").items() if name.startswith("template_")}
    table = {name: labels for name, labels in documented().items() if name.startswith("template_")}
    assert found == table and len(found) == 9


# --- messages

def sources() -> str:
    """All of the source's text, with string literals that follow each other as one, and without escapes."""
    text = "\n".join(path.read_text() for path in sorted([*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("cmd/*/*.c")]))
    return re.sub(r'"\s*\\?\s*"', "", text).replace('\\"', '"')


def message_pieces() -> list[str]:
    """What the first column quotes, cut where it says "..."."""
    quoted = [q for row in table("symptom") for q in re.findall(r"`([^`]+)`", row[0])]
    return [piece for q in quoted for piece in re.split(r"\s*\.\.\.\s*", q) if piece]


@pytest.mark.parametrize("piece", message_pieces())
def test_quoted_message_is_in_the_source(piece: str) -> None:
    assert piece in sources(), f"the pages quote {piece!r}"


def test_settings_that_the_page_names_exist(rig: Rig) -> None:
    known = set(re.findall(r"`([A-Z0-9_]{4,})`", "\n".join(row[0] for row in table("Variable"))))
    named = set(re.findall(r"\b(?:HAPROXY|INGRESS)_[A-Z0-9_]+\b", PAGES.replace("\\_", "_")))
    of_haproxy_itself = {"HAPROXY_LOCALPEER", "HAPROXY_MWORKER_REEXEC", "HAPROXY_PROCESSES"}
    assert named - of_haproxy_itself <= known, named - known


# --- deploy/

def manifests(name: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all((ROOT / "deploy" / name).read_text()) if document]


def of_kind(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [document for document in documents if document["kind"] == kind]
    assert len(found) == 1, f"{len(found)} of kind {kind}"
    return found[0]


Right = tuple[str, str, str, str, str]


def granted() -> set[Right]:
    """(where, group, resource, verb, name); where is "namespace" or "cluster", name "" for any."""
    return {(where, group, resource, verb, name)
            for kind, where in (("Role", "namespace"), ("ClusterRole", "cluster"))
            for document in manifests("rbac.yaml") if document["kind"] == kind
            for rule in document["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]
            for name in rule.get("resourceNames", [""])}


def asked(rig: Rig) -> set[Right]:
    """What an authorizer is asked about each request that the Kubernetes double saw."""
    rights = set()
    for request in rig.kube.requests():
        found = re.fullmatch(r"/(?:api|apis/([^/]+))/v1(?:/namespaces/([^/]+))?/(\w+)(?:/([\w-]+))?", request["path"])
        assert found, request["path"]
        assert found[2] in (None, NAMESPACE)
        watch = request["query"].get("watch") in ("1", "true")
        verb = {"GET": "watch" if watch else "get" if found[4] else "list", "POST": "create", "PUT": "update"}[request["method"]]
        # A watch is of one object where its name is selected: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
        selected = re.fullmatch("metadata.name=(.*)", request["query"].get("fieldSelector", "")) if found[3] == "leases" else None
        rights.add(("namespace" if found[2] else "cluster", found[1] or "", found[3], verb, found[4] or (selected[1] if selected else "")))
    return rights


def test_rbac_grants_what_is_asked_for_and_nothing_else(rig: Rig) -> None:
    rig.kube.settings(streamingLists=False)  # lists and watches are then two rights that are both used
    rig.start(LEADER_ELECT="true")
    rig.wait_in_sync()
    wait_until(lambda: {"create", "update", "watch"} <= {right[3] for right in asked(rig) if right[2] == "leases"}, 20,
               "the Lease to be held, and watched")
    rig.daemon.stop()
    rig.kube.forbid("endpointslices")
    rig.start()
    wait_until(lambda: rig.kube.open_watches("endpoints"), 20, "a watch of Endpoints")
    assert asked(rig) == granted()


def test_manifests_fit_each_other() -> None:
    rbac, config = manifests("rbac.yaml"), of_kind(manifests("configmap.yaml"), "ConfigMap")
    deployment = of_kind(manifests("deployment.yaml"), "Deployment")
    account = of_kind(rbac, "ServiceAccount")["metadata"]
    bindings = [document for document in rbac if document["kind"].endswith("Binding")]
    roles = {(document["kind"], document["metadata"]["name"]) for document in rbac if document["kind"].endswith("Role")}
    assert {(binding["roleRef"]["kind"], binding["roleRef"]["name"]) for binding in bindings} == roles
    for binding in bindings:
        assert binding["kind"] == binding["roleRef"]["kind"] + "Binding"
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
    assert f"create secret generic {secret} " in PAGES
    files = {env["name"]: env["value"] for env in container["env"] if env["name"].endswith("_FILE")}
    keys = set(re.findall(r"--from-literal=(\w+)=", PAGES))
    mount = container["volumeMounts"][0]["mountPath"]
    assert set(files.values()) == {f"{mount}/{key}" for key in keys}
    for name in re.findall(r"deploy/([\w.]+\.yaml)", PAGES):
        assert (ROOT / "deploy" / name).exists(), name


def test_settings_of_the_manifests_are_accepted(rig: Rig) -> None:
    config = of_kind(manifests("configmap.yaml"), "ConfigMap")["data"]
    container = of_kind(manifests("deployment.yaml"), "Deployment")["spec"]["template"]["spec"]["containers"][0]
    files = {}
    plain = {env["name"]: env["value"] for env in container["env"] if not env["name"].endswith("_FILE")}
    for env in container["env"]:
        if env["name"] in plain:
            continue
        path = rig.home / env["name"]
        path.write_text("admin\n")
        files[env["name"]] = str(path)
    done = subprocess.run([program(), "check-config"], env=check_env(**config, **plain, **files), capture_output=True, text=True)
    # Its HAProxy is whichever machine you name.
    said = [line for line in done.stderr.splitlines() if "unencrypted over the network" not in line]
    assert (done.returncode, said) == (0, []), done.stderr


def test_container_has_no_right_that_it_does_not_need() -> None:
    """What test_nobody.py runs it with."""
    pod = of_kind(manifests("deployment.yaml"), "Deployment")["spec"]["template"]["spec"]
    user = 65532
    assert pod["securityContext"] == {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "fsGroup": user,
                                      "seccompProfile": {"type": "RuntimeDefault"}}
    assert not {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"} & set(pod)
    assert of_kind(manifests("configmap.yaml"), "ConfigMap")["data"]["SECCOMP"] == "true"
    for container in pod["containers"]:
        assert container["securityContext"] == {"privileged": False, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                "capabilities": {"drop": ["ALL"]}}
        assert all(mount["readOnly"] for mount in container["volumeMounts"])
    assert [volume["secret"]["defaultMode"] for volume in pod["volumes"]] == [0o440], "a volume that is no Secret, or one that all can read"

"""`doctor` against the real parts, with the daemon's own settings and rights: it says what is wrong, and its fixes fix it."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
from typing import Any

import pytest

from tests.harness.daemon import clean_env, program
from tests.harness.haproxy import AUTH
from tests.harness.realkube import RIGHTS, Client, Object, listing

from .rights import NAME
from .world import World

Check = dict[str, Any]


def doctor(world: World, status: int, **settings: str) -> dict[str, Check]:
    """By id; of several with the same, the worst."""
    before = world.written()
    said = world.command("doctor", "-o", "json", **settings)
    assert said.returncode == status, f"doctor ended with {said.returncode}:\n{said.stdout}\n{said.stderr}"
    assert said.stderr == "" and AUTH.split(":")[1] not in said.stdout and world.rights.token not in said.stdout
    assert world.written() == before, "it wrote something"
    found: dict[str, Check] = {}
    for check in json.loads(said.stdout)["checks"]:
        if check["id"] not in found or check["status"] == "fail":
            found[check["id"]] = check
    return found


def failed(found: dict[str, Check]) -> set[str]:
    return {id_ for id_, check in found.items() if check["status"] == "fail"}


def lines(check: Check) -> list[str]:
    return [line for fix in check["fixes"] for line in fix["lines"]]


def kubectl(client: Client, line: str) -> None:
    """What these commands of kubectl do: `create role`, `create rolebinding` and the same of a cluster."""
    words = shlex.split(line)
    assert words[0] == "kubectl", line
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    namespace = words[words.index("-n") + 1] if "-n" in words else ""
    kind, name = words[words.index("create") + 1:words.index("create") + 3]
    wide = kind.startswith("cluster")
    tree: Object = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}
    if kind.endswith("rolebinding"):
        account = options["serviceaccount"].split(":")
        role = options["clusterrole" if wide else "role"]
        tree |= {"kind": "ClusterRoleBinding" if wide else "RoleBinding",
                 "subjects": [{"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}],
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole" if wide else "Role", "name": role}}
    else:
        resource, _, group = options["resource"].partition(".")
        rule = {"apiGroups": [group], "resources": [resource], "verbs": options["verb"].split(",")}
        if "resource-name" in options:
            rule["resourceNames"] = [options["resource-name"]]
        tree |= {"kind": "ClusterRole" if wide else "Role", "rules": [rule]}
    client.put(tree)


def test_all_is_well_and_then_in_step(world: World, tmp_path: pathlib.Path) -> None:
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    local = world.combination.is_local
    found = doctor(world, 0)
    assert not [c for c in found.values() if c["status"] == "skip" and c["section"] != "proxy" and c["id"] != "daemon.running"]
    assert found["kubernetes.credentials"]["found"] == f"system:serviceaccount:{world.namespace}:{NAME}"
    assert re.fullmatch(r"Kubernetes v1\.\d+.*", found["kubernetes.version"]["found"])
    if local:
        assert {found[f"haproxy.{what}"]["status"] for what in ("config", "write", "program", "check")} == {"ok"}
    else:
        assert re.fullmatch(r"Data Plane API 3\.\d+\.\d+", found["haproxy.version"]["found"])
    assert found["haproxy.master-worker"]["status"] == found["haproxy.runtime"]["status"] == "ok"
    assert "with a reload" in found["backend.plan"]["found"]
    world.serve("node-a", "node-b")
    found = doctor(world, 0)
    assert found["backend.plan"]["found"] == "in sync: HAProxy has the desired servers"
    assert local or found["haproxy.reload"]["found"] == "succeeded"


@pytest.mark.one_combination
def test_its_fixes_grant_what_is_missing(world: World) -> None:
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.rights.lease_rules = []
    world.rights.only()
    settings = {"LEADER_ELECT": "true", "EMIT_EVENTS": "true"}
    rights = ("nodes", "endpointslices", "services", "endpoints", "lease", "lease-create")
    found = doctor(world, 1, **settings)
    assert failed(found) >= {f"kubernetes.rights.{right}" for right in rights}
    assert found["kubernetes.rights.events"]["status"] == "warn"
    for right in (*rights, "events"):
        for line in lines(found[f"kubernetes.rights.{right}"]):
            if line.startswith("kubectl "):
                kubectl(world.kube.admin, line)
    world.kube.await_access(world.rights.token, *listing(RIGHTS, world.namespace))
    found = doctor(world, 0, **settings)
    assert {c["status"] for id_, c in found.items() if id_.startswith("kubernetes.rights")} == {"ok"}
    # With them, the daemon does what it is there for.
    world.start_daemon(**settings)
    world.expect("node-a")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        world.kube.admin.delete(kind, f"{NAME}-nodes")


@pytest.mark.needs_api("a pod of its own; the one beside HAProxy is played in tests/delivery/test_chart_sidecar.py")
@pytest.mark.one_combination
def test_in_a_pod(world: World, tmp_path: pathlib.Path) -> None:
    """With the files that the kubelet mounts and as the user that a pod has, on a file system of its own."""
    world.put_nodes("node-a")
    world.put_slice("node-a")
    account = tmp_path / "account"
    account.mkdir()
    for name, text in (("token", world.rights.token), ("namespace", world.namespace), ("ca.crt", world.kube.ca.read_text())):
        (account / name).write_text(text)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)
    where = "/run/secrets/kubernetes.io/serviceaccount"
    script = (f"mount -t tmpfs none /run && mkdir -p {where} && cp {account}/* {where} && chmod -R a+rX /run && "
              f"exec setpriv --reuid 65532 --regid 65532 --clear-groups {program()} doctor -o json")
    settings = world.settings(KUBECONFIG="", KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT=str(world.kube.port))
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no mount namespaces (unshare --mount)")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=clean_env(**settings), capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {c["id"]: c for c in json.loads(done.stdout)["checks"]}
    assert checks["kubernetes.access"]["found"] == "in-cluster, token in a file"
    assert checks["kubernetes.credentials"]["found"] == f"system:serviceaccount:{world.namespace}:{NAME}"
    assert checks["service.servers"]["found"] == "1 for backend ingress: node-a"

"""Kubernetes Events on a real kube-apiserver: allowed by exactly the rule that deploy/rbac.yaml names, and seen as a user sees them."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess

import pytest

from tests.harness import parts, realparts
from tests.harness.process import wait_until
from tests.harness.realkube import ADMIN_TOKEN

from .rights import MANIFEST, NAME
from .world import SERVICE, World

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def grant(world: World) -> None:
    """The rule of the manifest's comment, in the Role, until the authorizer knows of it."""
    found = re.search(r"^# +- \{apiGroups: \[\"\"\], resources: \[events\], verbs: \[([a-z, ]+)\]\}$", MANIFEST.read_text(), re.M)
    assert found, f"{MANIFEST} does not say what EMIT_EVENTS needs"
    verbs = found[1].split(", ")
    role = world.kube.admin.get("Role", NAME, world.namespace)
    rule = {"apiGroups": [""], "resources": ["events"], "verbs": verbs}
    world.kube.admin.patch("Role", NAME, {"rules": [*role["rules"], rule]}, world.namespace)
    about = {"namespace": world.namespace, "resource": "events"}
    world.kube.await_access(world.rights.token, *((verb in verbs, {**about, "verb": verb}) for verb in (*verbs, "get", "list", "watch", "update", "delete")))


def listing(world: World) -> list[dict[str, str]]:
    """The rows of `kubectl get events -o wide`, which the server makes; found by the fields that `kubectl describe service` asks for."""
    service = world.kube.admin.get("Service", SERVICE, world.namespace)["metadata"]
    wanted = {"name": SERVICE, "namespace": world.namespace, "kind": "Service", "uid": service["uid"]}
    query = ",".join(f"involvedObject.{field}%3D{value}" for field, value in wanted.items())
    connection = http.client.HTTPSConnection("127.0.0.1", world.kube.port, context=world.kube.admin._tls, timeout=30)
    try:
        connection.request("GET", f"/api/v1/namespaces/{world.namespace}/events?fieldSelector={query}",
                           headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Accept": TABLE})
        table = json.load(connection.getresponse())
    finally:
        connection.close()
    names = [column["name"] for column in table["columnDefinitions"]]
    return [dict(zip(names, map(str, row["cells"]))) for row in table["rows"]]


def wait_row(world: World, reason: str, saying: str = "", count: int = 1) -> dict[str, str]:
    def there() -> dict[str, str]:
        rows = listing(world)
        found = [r for r in rows if r["Reason"] == reason and re.search(saying, r["Message"]) and int(r["Count"]) >= count]
        assert found, rows
        return found[-1]

    with world.telling():
        return wait_until(there, 30, f"{reason} saying {saying!r}, {count} times")


def kubectl(world: World, *words: str) -> str:
    program = realparts.kubectl()
    config = world.kube.kubeconfig(ADMIN_TOKEN)
    done = subprocess.run([program, "--kubeconfig", config, "-n", world.namespace, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False, env={"HOME": str(world.home), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.one_combination
def test_events_as_a_user_sees_them(world: World) -> None:
    world.serve("node-a", "node-b", EMIT_EVENTS="true", RESYNC_PERIOD="1s", DRAIN_TIMEOUT="1h")
    world.daemon.wait_log("Kubernetes Events may not be written.*cannot create resource")
    assert listing(world) == []
    grant(world)
    assert world.daemon.process
    world.daemon.process.signal(signal.SIGHUP)

    for count in (1, 2):
        world.put_slice("node-a", terminating=["node-b"])
        wait_row(world, "Draining", "node-b drains", count)
        world.put_slice("node-a", "node-b")
        world.expect("node-a", "node-b")
    world.put_slice("node-a")
    wait_row(world, "Synced", "parked node-b")
    world.put_slice()
    row = wait_row(world, "ServersKept", "keeping the last")
    assert (row["Type"], row["Object"]) == ("Warning", f"service/{SERVICE}")
    assert row["Source"].startswith("haproxy-k8s-sync, ")
    world.put_slice("node-a")
    world.in_step()
    world.hand_edit((f"server node-a {world.ours()['node-a']}", "server node-a 127.0.10.77:7 check weight 100"))
    wait_row(world, "DriftRepaired", "repaired a change of another writer")
    if world.combination.is_local:
        aside = world.haproxy.config.with_suffix(".aside")
        world.haproxy.config.rename(aside)
        wait_row(world, "ApplyFailed", "cannot read HAProxy's configuration")
        aside.rename(world.haproxy.config)
    else:
        world.dataplane.stop()
        wait_row(world, "ApplyFailed", "cannot read HAProxy's configuration")
        world.dataplane.start()
    world.in_step()

    with parts.or_skip("all is well, but what kubectl shows"):
        realparts.kubectl()
    described = kubectl(world, "describe", "service", SERVICE).partition("Events:")[2]
    assert re.search(r"Normal +Draining +\S+ \(x2 over \S+\) +haproxy-k8s-sync +backend ingress at \S+: node-b drains", described), described
    assert re.search(r"Warning +ServersKept +\S+ +haproxy-k8s-sync +backend ingress at ", described), described
    listed = kubectl(world, "get", "events")
    assert {"Synced", "Draining", "ServersKept", "ApplyFailed", "DriftRepaired"} <= set(listed.split()), listed

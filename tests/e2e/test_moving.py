"""Moving from the Go controller, with that controller itself: its chart in a real API server, its program beside a HAProxy, then this chart
over the same release with the same values, and the way back. Named by $GO_CONTROLLER (the program) and $GO_CONTROLLER_CHART (the folder
of its chart); nothing of either is here."""

from __future__ import annotations

import base64
import contextlib
import os
import pathlib
import socket
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.delivery.chart.helm import CHART, Document, Values
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import AUTH
from tests.harness.process import Process, wait_until

from .release import Release, helm
from .test_chart import running
from .world import BACKEND, NODES, SERVICE, World

NAME = "sync-haproxy-k8s-sync"
HEALTH_PORT = 8080  # which it cannot be talked out of


@pytest.fixture
def other() -> tuple[pathlib.Path, pathlib.Path]:
    given = [os.environ.get(name, "") for name in ("GO_CONTROLLER", "GO_CONTROLLER_CHART")]
    if not all(given):
        pytest.skip("GO_CONTROLLER and GO_CONTROLLER_CHART name no Go controller and its chart")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", HEALTH_PORT)) == 0:
            pytest.skip(f"port {HEALTH_PORT} is taken here, and the Go controller knows no other")
    return pathlib.Path(given[0]), pathlib.Path(given[1])


def values_of(world: World) -> Values:
    """By its names alone."""
    user, password = AUTH.split(":")
    return {"env": {"ingressNamespace": world.namespace, "ingressServiceName": SERVICE, "haproxy": {
        "dataplaneURL": world.dataplane.url, "username": user, "password": password, "backendName": BACKEND, "backendPort": world.node_port}}}


def environment(world: World) -> dict[str, str]:
    """What the live Deployment gives its container, from its ConfigMap and Secret."""
    def referred(kind: str, ref: Document) -> str:
        data = world.kube.admin.get(kind, ref["name"], world.namespace)["data"]
        return base64.b64decode(data.get(ref["key"], "")).decode() if kind == "Secret" else data[ref["key"]]

    spec = world.kube.admin.get("Deployment", NAME, world.namespace)["spec"]["template"]["spec"]
    env = {}
    for one in spec["containers"][0]["env"]:
        source = one.get("valueFrom", {})
        env[one["name"]] = (one["value"] if "value" in one else referred("ConfigMap", source["configMapKeyRef"])
                            if "configMapKeyRef" in source else referred("Secret", source["secretKeyRef"]))
    token = world.kube.admin.service_account_token(spec["serviceAccountName"], world.namespace)
    return {**env, "KUBECONFIG": str(world.kube.kubeconfig(token)), "PATH": "/usr/bin:/bin"}


@contextlib.contextmanager
def go_controller(world: World, binary: pathlib.Path, env: dict[str, str], name: str) -> Iterator[Process]:
    process = Process([binary], world.home / f"{name}.log", env=env, name="the Go controller")
    try:
        yield process
    finally:
        process.stop()


def places(world: World, *nodes: str) -> dict[str, str]:
    return {f"{node}-{world.node_port}": f"{NODES[node]}:{world.node_port}" for node in nodes}


def awaited(world: World, process: Process, wanted: dict[str, str]) -> None:
    """Until HAProxy runs with these, whatever else it has."""
    def there() -> bool:
        assert process.alive, process.log()[-3000:]
        running_now = world.running()
        assert wanted.items() <= running_now.items(), f"{running_now}\n{process.log()[-2000:]}"
        return True

    wait_until(there, 30, f"{wanted} by the Go controller")


@pytest.mark.needs_api("the Go controller knows no other way")
@pytest.mark.one_combination
@pytest.mark.parametrize("names", ["{node}-{port}", "{node}"])
def test_there_and_back(world: World, other: tuple[pathlib.Path, pathlib.Path], names: str) -> None:
    binary, chart = other
    fourth = "node-d" if names == "{node}" else f"node-d-{world.node_port}"
    values = values_of(world)
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a", "node-b", "node-c")
    helm(world.kube, "install", "sync", chart, "--namespace", world.namespace, values=values)
    with go_controller(world, binary, environment(world), "first") as process:
        # `old`, which it found, it leaves.
        awaited(world, process, places(world, "node-a", "node-b", "node-c"))
    before = world.dataplane.file()

    # Its own values file, as it is, names its image.
    with pytest.raises(AssertionError, match="the Go controller's image: set it to the image of haproxy-k8s-sync"):
        helm(world.kube, "upgrade", "sync", CHART, "--namespace", world.namespace, values=chart / "values.yaml")
    helm(world.kube, "upgrade", "sync", CHART, "--namespace", world.namespace, "--dry-run=server", "--set",
         "image.repository=registry.example.com/haproxy-k8s-sync,image.tag=", values=chart / "values.yaml")

    # This chart over the same release, with the same values: first it only says what it would do.
    image = {"repository": "registry.example.com/haproxy-k8s-sync"}
    release = Release(world.kube, "sync", world.namespace, {**values, "image": image, "env": {
        **values["env"], "dryRun": True, "serverNameFormat": names}}, verb="upgrade")
    spec = world.kube.admin.get("Deployment", NAME, world.namespace)["spec"]
    assert spec["strategy"] == {"type": "Recreate"}
    assert [(c["name"], c["command"]) for c in spec["template"]["spec"]["containers"]] == [("haproxy-k8s-sync", ["/usr/bin/haproxy-k8s-sync"])]
    with running(world, release, "dry") as daemon:
        daemon.wait_log("changes not written.* parked=old ")
        done = subprocess.run([program(), "plan"], env=clean_env(**daemon.env), capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "not written: 1 to park; without a reload; DRY_RUN=true: nothing is written" in done.stdout, done.stdout
        for name, at in places(world, "node-a", "node-b", "node-c").items():
            assert f"  = {name}  {at}  weight 1\n" in done.stdout, done.stdout
    assert world.dataplane.file() == before

    # Then it takes over: what is another's goes out of the rotation, without a reload.
    release = Release(world.kube, "sync", world.namespace, {**values, "image": image, "env": {
        **values["env"], "maxLossPercent": 100, "serverNameFormat": names}}, verb="upgrade")
    with running(world, release, "daemon"):
        with world.no_reload():
            world.expect_servers(places(world, "node-a", "node-b", "node-c"))
            world.in_step()
        world.expect_traffic("node-a", "node-b", "node-c")
        world.put_nodes("node-d")
        world.put_slice("node-a", "node-b", "node-d")
        world.expect_servers({**places(world, "node-a", "node-b"), fourth: f"{NODES['node-d']}:{world.node_port}"})
        world.in_step()
        assert f"node-c-{world.node_port}" in world.parked()

    # And back: what it wants it writes anew, with its own names; what was parked stays parked until it is wanted.
    helm(world.kube, "rollback", "sync", "1", "--namespace", world.namespace)
    assert "strategy" not in (yaml.safe_load(helm(world.kube, "get", "manifest", "sync", "--namespace", world.namespace).split(
        "# Source: haproxy-k8s-sync/templates/deployment.yaml\n")[1].split("\n---")[0]))["spec"]
    # With the image alone replaced: its variables and its rights, which are none on Services, do.
    assert not any("services" in rule["resources"] for rule in world.kube.admin.get("ClusterRole", NAME)["rules"])
    with world.adopt(Daemon(world.home / "same", environment(world))) as daemon, world.no_reload():
        daemon.wait_log("servers adopted under their names")
        world.in_step()
    with go_controller(world, binary, environment(world), "second") as process:
        awaited(world, process, places(world, "node-a", "node-b", "node-d"))
        assert f"node-c-{world.node_port}" in world.parked()
        world.put_slice("node-a", "node-b", "node-c", "node-d")
        awaited(world, process, places(world, "node-a", "node-b", "node-c", "node-d"))
        # What was named otherwise is there twice from then on.
        assert set(world.ours()) == {*places(world, "node-a", "node-b", "node-c", "node-d"), fourth}
    helm(world.kube, "uninstall", "sync", "--namespace", world.namespace)

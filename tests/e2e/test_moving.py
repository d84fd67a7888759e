"""Moving from the Go controller, with that controller itself: its chart in a real API server, its program beside a HAProxy, then this chart
over the same release with the same values. And the way back: what it does with what this program leaves, with and without `release`. Named by
$GO_CONTROLLER (the program) and $GO_CONTROLLER_CHART (the folder of its chart); nothing of either is here. Without them a model of it
plays the way back."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.delivery.chart.helm import CHART, Document, Values
from tests.delivery.docs_blocks import blocks
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import AUTH
from tests.harness.lines import section
from tests.harness.process import ROOT, wait_until

from . import go_controller
from .release import Release, helm, kubectl
from .test_chart import running
from .test_release import release as release_command
from .test_takeover import weights
from .world import BACKEND, NODES, SERVICE, World

pytestmark = pytest.mark.needs_api("the Go controller knows no other way")

NAME = "sync-haproxy-k8s-sync"
ITS_NAMES = "{node}-{port}"


@pytest.fixture
def other() -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    with go_controller.program() as binary:
        chart = os.environ.get("GO_CONTROLLER_CHART", "")
        if not chart:
            pytest.skip("moving from the Go controller itself: GO_CONTROLLER_CHART does not name its chart")
        yield binary, pathlib.Path(chart)


def values_of(world: World) -> Values:
    """By its names alone."""
    user, password = AUTH.split(":")
    return {"env": {"ingressNamespace": world.namespace, "ingressServiceName": SERVICE, "haproxy": {
        "dataplaneURL": world.dataplane.url, "username": user, "password": password, "backendName": BACKEND, "backendPort": world.node_port}}}


def environment(world: World, name: str = NAME, namespace: str = "") -> dict[str, str]:
    """What the live Deployment gives its container, from its ConfigMap and Secret."""
    namespace = namespace or world.namespace

    def referred(kind: str, ref: Document) -> str:
        data = world.kube.admin.get(kind, ref["name"], namespace)["data"]
        return base64.b64decode(data.get(ref["key"], "")).decode() if kind == "Secret" else data[ref["key"]]

    spec = world.kube.admin.get("Deployment", name, namespace)["spec"]["template"]["spec"]
    env = {}
    for one in spec["containers"][0]["env"]:
        source = one.get("valueFrom", {})
        env[one["name"]] = (one["value"] if "value" in one else referred("ConfigMap", source["configMapKeyRef"])
                            if "configMapKeyRef" in source else referred("Secret", source["secretKeyRef"]))
    token = world.kube.admin.service_account_token(spec["serviceAccountName"], namespace)
    return {**env, "KUBECONFIG": str(world.kube.kubeconfig(token)), "PATH": "/usr/bin:/bin"}


def places(world: World, *nodes: str) -> dict[str, str]:
    return {f"{node}-{world.node_port}": f"{NODES[node]}:{world.node_port}" for node in nodes}


def awaited(world: World, process: go_controller.Running, wanted: dict[str, str]) -> None:
    """Until HAProxy runs with these, whatever else it has."""
    def there() -> bool:
        assert process.alive, process.log()[-3000:]
        running_now = world.running()
        assert wanted.items() <= running_now.items(), f"{running_now}\n{process.log()[-2000:]}"
        return True

    wait_until(there, 30, f"{wanted} by the Go controller")


@pytest.mark.one_combination
@pytest.mark.parametrize("names", [ITS_NAMES, "{node}"])
def test_there_and_back(world: World, other: tuple[pathlib.Path, pathlib.Path], names: str) -> None:
    binary, chart = other
    fourth = "node-d" if names == "{node}" else f"node-d-{world.node_port}"
    values = values_of(world)
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_slice("node-a", "node-b", "node-c")
    helm(world.kube, "install", "sync", chart, "--namespace", world.namespace, values=values)
    with go_controller.run(world, binary, environment(world), "first") as process:
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

    # And back: what it wants it writes anew, with its own names; what was parked stays parked until it is desired.
    helm(world.kube, "rollback", "sync", "1", "--namespace", world.namespace)
    assert "strategy" not in (yaml.safe_load(helm(world.kube, "get", "manifest", "sync", "--namespace", world.namespace).split(
        "# Source: haproxy-k8s-sync/templates/deployment.yaml\n")[1].split("\n---")[0]))["spec"]
    # With the image alone replaced: its variables and its rights, which are none on Services, do.
    assert not any("services" in rule["resources"] for rule in world.kube.admin.get("ClusterRole", NAME)["rules"])
    with world.adopt(Daemon(world.home / "same", environment(world))) as daemon, world.no_reload():
        daemon.wait_log("servers adopted under their names")
        world.in_step()
    with go_controller.run(world, binary, environment(world), "second") as process:
        awaited(world, process, places(world, "node-a", "node-b", "node-d"))
        assert f"node-c-{world.node_port}" in world.parked()
        world.put_slice("node-a", "node-b", "node-c", "node-d")
        awaited(world, process, places(world, "node-a", "node-b", "node-c", "node-d"))
        # What was named otherwise is there twice from then on.
        assert set(world.ours()) == {*places(world, "node-a", "node-b", "node-c", "node-d"), fourth}
    helm(world.kube, "uninstall", "sync", "--namespace", world.namespace)


@pytest.mark.one_combination
def test_its_plain_manifests_with_the_image_replaced(world: World, other: tuple[pathlib.Path, pathlib.Path], request: pytest.FixtureRequest) -> None:
    """They are beside the charts, in deploy/. The commands are those of docs/migrate.md, but for what asks a pod."""
    binary, chart = other
    block, = [block for block in blocks(ROOT / "docs" / "migrate.md") if "set image" in block.text]
    lines = [shlex.split(line) for line in block.text.splitlines() if " exec " not in line]
    namespace, name = lines[0][2], lines[0][4].removeprefix("deployment/")
    world.put_namespace(namespace)
    # Other cases share this server, and have a Deployment of that name.
    request.addfinalizer(lambda: world.kube.admin.delete("Deployment", name, namespace))
    user, password = AUTH.split(":")
    ours = {"ingress_namespace": world.namespace, "ingress_service_name": SERVICE, "haproxy_backend_name": BACKEND,
            "haproxy_backend_port": str(world.node_port), "haproxy_dataplane_url": world.dataplane.url, "haproxy_dataplane_username": user,
            "haproxy_dataplane_password": password}
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    documents = [document for path in sorted((chart.parents[1] / "deploy").glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]
    assert {"Deployment", "ConfigMap", "Secret", "ClusterRole"} <= {document["kind"] for document in documents}
    for document in documents:
        for member in ("data", "stringData"):
            document |= {member: {key: ours.get(key, value) for key, value in document[member].items()}} if member in document else {}
        file = world.home / "document.json"
        file.write_text(json.dumps(document))
        kubectl(world.kube, "-n", namespace, "apply", "-f", file)
    with go_controller.run(world, binary, environment(world, name, namespace), "plain") as process:
        awaited(world, process, places(world, "node-a", "node-b"))

    kubectl(world.kube, *lines[0][1:])
    for line in lines[1:]:
        kubectl(world.kube, *line[1:])
        if "DRY_RUN=true" in line:
            assert environment(world, name, namespace)["DRY_RUN"] == "true"
    spec = world.kube.admin.get("Deployment", name, namespace)["spec"]
    container, = spec["template"]["spec"]["containers"]
    assert spec["replicas"] == 1 and container["image"].endswith("/haproxy-k8s-sync:1.0.0") and "command" not in container
    env = environment(world, name, namespace)
    assert "DRY_RUN" not in env
    with world.adopt(Daemon(world.home / "plain-daemon", env)), world.no_reload():
        world.expect_servers(places(world, "node-a", "node-b"))
        world.in_step()


# --- the way back, as docs/migrate.md says it

@pytest.fixture(params=go_controller.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def left(world: World, end: str) -> None:
    """What the daemon leaves: node-a and node-d live, the latter with an operator's maintenance; node-b, which drains; node-c and another's, parked."""
    world.put_nodes("node-a", "node-b", "node-c", "node-d")
    world.begin("node-a", "node-b", "node-c", "node-d", SERVER_NAME_FORMAT=ITS_NAMES, DRAIN_TIMEOUT="1h")
    world.expect_servers(places(world, "node-a", "node-b", "node-c", "node-d"))
    world.in_step()
    a, b, c, d = (f"{node}-{world.node_port}" for node in ("node-a", "node-b", "node-c", "node-d"))
    world.put_slice("node-a", "node-d", terminating=["node-b"])
    wait_until(lambda: world.draining() == {b} and world.parked() == {c, "old"}, what="node-b drains, node-c is parked")
    world.haproxy.runtime(f"set server {BACKEND}/{d} state maint")
    world.in_step()
    if end == "stopped":
        world.daemon.stop()
        assert world.parked() == {b, c, "old"} and set(world.ours()) == {a, d}
    else:
        world.daemon.kill()
        assert world.parked() == {c, "old"} and set(world.ours()) == {a, b, d} and world.draining() == {b}


@pytest.mark.one_combination
@pytest.mark.parametrize("released", [False, True], ids=["as it is", "released"])
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_what_it_does_with_what_is_left(world: World, kind: str, end: str, released: bool) -> None:
    left(world, end)
    a, b, c, d = (f"{node}-{world.node_port}" for node in ("node-a", "node-b", "node-c", "node-d"))
    kept = {"old", c} | ({b} if end == "stopped" else set())  # parked
    if released:
        status, said = release_command(world, "--yes", SERVER_NAME_FORMAT=ITS_NAMES)
        assert status == 0 and f"{len(kept)} lines removed" in said, said
        kept = set()
    # What an operator has set in the running HAProxy alone is over with the first reload: of `release`, where an API before 3.2 removes lines.
    wait_until(lambda: world.runtime_states()[d] == ("ready" if released and not world.removes_at_runtime() else "maint"), what=f"the state of {d}")
    worker = world.haproxy.worker()

    with go_controller.started(world, kind) as process:
        # Its first commit reloads, which ends the drain that a death has left, and the operator's maintenance.
        live = {a, d} | ({b} if end == "killed" else set())
        wait_until(lambda: world.haproxy.worker() != worker and set(world.running()) == live, 30, f"{live} in a new worker\n{process.log()[-2000:]}")
        assert set(world.runtime_states().values()) <= {"ready", "maint"} and world.runtime_states()[d] == "ready"
        assert set(world.ours()) == live and world.parked() == kept
        if end == "stopped":
            world.expect_traffic("node-a", "node-d")
        else:
            # Its servers have weight 1: what it does not want and does not touch gets nearly all that comes.
            assert weights(world) | {a: "1", d: "1"} == weights(world) and weights(world)[b] == "100"
            wait_until(lambda: world.who_answers() == "node-b", what="a new connection to the node that drained")
        # What comes back is put into service, or made; what goes stays.
        world.put_slice("node-a", "node-c")
        awaited(world, process, places(world, "node-a", "node-c"))
        assert set(world.ours()) == live | {c} and world.parked() == kept - {c}
    for line in (world.all_ours()[a], world.all_ours()[c]):
        assert line.split()[1:] == ["check", "weight", "1"]


@pytest.mark.one_combination
def test_servers_of_other_names_stay_beside_its_own(world: World, kind: str) -> None:
    """Twice in the backend, and the old ones without an owner, unless all are released, with a gap, or renamed before, without one."""
    world.serve("node-a", "node-b")
    world.daemon.stop()
    before = world.dataplane.file()
    assert release_command(world, "--yes")[0] == 0
    with go_controller.started(world, kind) as process:
        awaited(world, process, places(world, "node-a", "node-b"))
        wait_until(lambda: weights(world) == {"node-a": "100", "node-b": "100", **dict.fromkeys(places(world, "node-a", "node-b"), "1")},
                   what="each of them twice, the old ones with their weights")
    assert set(world.ours()) == {"node-a", "node-b", *places(world, "node-a", "node-b")}

    world.start_with((world.dataplane.file(), before))
    assert release_command(world, "--servers", "--yes", "--daemon=none")[0] == 0 and not world.all_ours()
    with go_controller.started(world, kind) as process:
        awaited(world, process, places(world, "node-a", "node-b"))
    assert set(world.all_ours()) == set(places(world, "node-a", "node-b"))

    world.start_with((world.dataplane.file(), before))
    world.start_daemon(SERVER_NAME_FORMAT=ITS_NAMES, ADOPT_SERVERS="rename")
    world.expect_servers(places(world, "node-a", "node-b"))
    world.in_step()
    world.daemon.stop()
    status, said = release_command(world, "--yes", SERVER_NAME_FORMAT=ITS_NAMES)
    assert status == 0 and set(world.all_ours()) == set(places(world, "node-a", "node-b")), said
    worker = world.haproxy.worker()
    with go_controller.started(world, kind) as process:
        wait_until(lambda: world.haproxy.worker() != worker, 30, f"its first reload\n{process.log()[-2000:]}")
        awaited(world, process, places(world, "node-a", "node-b"))
    assert set(world.all_ours()) == set(places(world, "node-a", "node-b"))


@pytest.mark.one_combination
def test_the_backend_is_written_whole(world: World, kind: str) -> None:
    """And what it does not know is lost; where a rule needs what is lost, HAProxy refuses each of its commits."""
    first, table = world.dataplane.file(), "  stick-table type ip size 10k expire 5m\n"
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.start_with(("  balance leastconn\n", f"  balance leastconn\n{table}"))
    with go_controller.started(world, kind) as process:
        awaited(world, process, places(world, "node-a"))
    text = world.dataplane.file()
    words = [line.split()[0] for line in section(text, f"backend {BACKEND}")]
    assert set(words) == {"balance", "option", "timeout", "server"} and re.search(rf"^backend {BACKEND}$", text, re.M), text

    world.start_with((text, first))
    world.start_with(("  balance leastconn\n", f"  balance leastconn\n{table}  stick on src\n"))
    before = world.dataplane.file()
    with go_controller.started(world, kind) as process:
        wait_until(lambda: "unable to find stick-table" in process.log(), 30, "a commit to be refused")
    assert section(world.dataplane.file(), f"backend {BACKEND}") == section(before, f"backend {BACKEND}")


@pytest.mark.one_combination
def test_the_model_makes_what_the_program_makes(world: World) -> None:
    """Of the same file: a live line with words of others, a parked one that it wants, parked and live ones that it does not, and none for a node."""
    left(world, "killed")
    a, d = (f"{node}-{world.node_port}" for node in ("node-a", "node-d"))
    world.put_nodes("node-a-moved")
    world.put_slice("node-a", "node-c", "node-a-moved", terminating=["node-b"])
    line = f"server {a} {NODES['node-a']}:{world.node_port}"
    world.start_with((line, f"server {a} {NODES['node-b']}:{world.node_port} slowstart 5s"), (f"server {d} ", "server another "))
    first, made = world.dataplane.file(), {}
    for kind in ("program", "model"):
        world.start_with((world.dataplane.file(), first))
        worker = world.haproxy.worker()
        with go_controller.started(world, kind) as process:
            awaited(world, process, places(world, "node-a", "node-c", "node-a-moved"))
            wait_until(lambda: world.haproxy.worker() != worker, 30, "its reload")
        made[kind] = [line for line in world.dataplane.file().splitlines() if not line.startswith(("# _version", "# _md5hash"))]
    assert made["model"] == made["program"] != first.splitlines()

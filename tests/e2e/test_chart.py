"""The chart and deploy/ on a real API server with RBAC on: what is rendered is accepted, releases come and go without a trace, and the
daemon works with exactly the rights that its release has, of which none is too much.

There is no kubelet and no controller: that a pod starts is not shown here, its image and probes are tried in tests/delivery."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.delivery.chart import cases
from tests.delivery.chart.helm import CHART, NAMESPACE, RELEASE, Document, Values, render
from tests.harness import objects, parts, realparts
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH
from tests.harness.local import LocalFiles
from tests.harness.process import ROOT, wait_until
from tests.harness.realkube import ApiError, RealKube

from .combinations import Combination
from .conftest import ONE_WORKER, world_of
from .release import Release, Right, define, dry_run, everything_in, helm, kubectl
from .world import BACKEND, NODES, SERVICE, World

MANIFESTS = ("configmap.yaml", "rbac.yaml", "deployment.yaml")
OF_HELM = "Secret {}/sh.helm.release.v1.{}.v"


@pytest.fixture
def kube(kubes: dict[str, RealKube]) -> RealKube:
    """A server with the Prometheus operator's kinds and the namespaces of the renderings."""
    with parts.or_skip():
        realparts.helm()
        realparts.kubectl()
        server = kubes["etcd"]
    define(server)
    for name in (NAMESPACE, "ingress-nginx", "haproxy", "haproxy-operator", "lb-templates", "shop", "api", "certs", "edge", "monitoring"):
        server.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return server


# --- what is rendered is accepted

def test_renderings_are_accepted(kube: RealKube, tmp_path: pathlib.Path) -> None:
    cases.render_all(realparts.helm(), tmp_path)
    renderings = cases.Renderings(tmp_path)
    # A pod, unlike the template of one, has to name a class that is there.
    kube.admin.request("POST", "/apis/node.k8s.io/v1/runtimeclasses",
                       {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"})
    documents_of = {json.dumps(document, sort_keys=True): name for name in cases.NAMES for document in renderings[name]}
    refused = {}
    for text, name in documents_of.items():
        try:
            dry_run(kube, json.loads(text))
        except ApiError as e:
            refused[name] = str(e)
    assert not refused
    # helm itself reads the schemas of this server, but sends nothing.
    helm(kube, "install", RELEASE, CHART, "--namespace", NAMESPACE, "--dry-run=server", values=cases.values("everything"))


WRONG: dict[str, Callable[[Document], None]] = {
    "Deployment": lambda d: d["spec"]["template"]["spec"]["containers"][0].update(livenesProbe={}),
    "ServiceMonitor": lambda d: d["spec"]["endpoints"][0].update(scrapeInterval="1m"),
    "PrometheusRule": lambda d: d["spec"]["groups"][0]["rules"][0].update(expression="up"),
    "NetworkPolicy": lambda d: d["spec"]["egress"][0]["ports"][0].update(port=70000),
    "Role": lambda d: d["rules"][0].update(verb=["list"]),
}


def test_what_is_wrong_is_refused(kube: RealKube) -> None:
    """That the one above can fail."""
    found = {d["kind"]: d for d in render(realparts.helm(), cases.values("everything"))}
    for kind, spoil in WRONG.items():
        dry_run(kube, found[kind])
        spoil(found[kind])
        with pytest.raises(ApiError):
            dry_run(kube, found[kind])


# --- deploy/

def versions(kube: RealKube, of: list[Document]) -> list[str]:
    found = [kube.admin.get(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace")) for d in of]
    return [d["metadata"]["resourceVersion"] for d in found]


@pytest.mark.parametrize(("folder", "count"), [("deploy", 7), ("deploy/config", 5), ("deploy/services", 8)])
def test_manifests_are_applied_in_their_order(kube: RealKube, folder: str, count: int) -> None:
    paths = [ROOT / folder / name for name in MANIFESTS]
    for path in paths:
        said = kubectl(kube, "apply", "--validate=strict", "-f", path)
        assert said and all(line.endswith(" created") for line in said.splitlines()), said
    # As a whole it is the same: nothing is changed by it.
    applied = [d for path in paths for d in yaml.safe_load_all(path.read_text())]
    before = versions(kube, applied)
    assert len(kubectl(kube, "apply", "--validate=strict", "-k", ROOT / folder).splitlines()) == len(applied) == count
    assert versions(kube, applied) == before
    kubectl(kube, "delete", "-k", ROOT / folder)


# --- releases come and go

def values_of(world: World, **env: object) -> Values:
    user, password = AUTH.split(":")
    return {"env": {"ingressNamespace": world.namespace, "ingressServiceName": SERVICE, "logLevel": "debug", "maxLossPercent": 100,
                    "haproxy": {"dataplaneURL": world.dataplane.url, "username": user, "password": password, "backendName": BACKEND},
                    **env}}


@pytest.mark.needs_api("two releases beside one HAProxy, and a PodDisruptionBudget, which no sidecar has")
@pytest.mark.one_combination
def test_two_releases_side_by_side_and_what_they_leave(world: World, kube: RealKube) -> None:
    """Both with all there is; the daemon of the first has run, so there are a Lease and Events."""
    assert world.kube is kube
    around = {world.namespace, "monitoring"}
    everything: Values = {"replicaCount": 2, "podDisruptionBudget": {"enabled": True}, "networkPolicy": {"enabled": True},
                          **{section: {"enabled": True, "namespace": "monitoring"}
                             for section in ("serviceMonitor", "prometheusRule", "grafanaDashboard")}}
    world.put_nodes("node-a")
    world.put_slice("node-a")
    before = everything_in(kube, around)
    first = Release(kube, "one", world.namespace, {**values_of(world, emitEvents=True), **everything})
    alone = everything_in(kube, around)
    second = Release(kube, "two", world.namespace, {**values_of(world), **everything})
    own = {f"{d['kind']} {d['metadata'].get('namespace', '')}/{d['metadata']['name']}" for d in first.documents}
    others = {f"{d['kind']} {d['metadata'].get('namespace', '')}/{d['metadata']['name']}" for d in second.documents}
    assert not own & others and len(own) == len(others) >= 13
    # helm keeps each revision in a Secret of its own, the server each Service's address.
    def made(now: set[str], then: set[str]) -> set[str]:
        return {name for name in now - then if not name.startswith("IPAddress ")}

    assert made(alone, before) == own | {OF_HELM.format(world.namespace, "one") + "1"}
    assert made(everything_in(kube, around), alone) == others | {OF_HELM.format(world.namespace, "two") + "1"}
    with running(world, first) as daemon:
        world.expect("node-a")
        daemon.wait_log("leadership acquired")
        wait_until(lambda: kube.admin.list("Event", world.namespace), 20, "an Event")
    upgraded = Release(kube, "one", world.namespace, {**values_of(world), "service": {"enabled": False}}, verb="upgrade")
    assert not upgraded.rights_on("leases"), "one replica needs no Lease"
    second_now = {f"{d['kind']} {d['metadata'].get('namespace', '')}/{d['metadata']['name']}" for d in second.live()}
    assert second_now == others, "an upgrade of the one is none of the other"
    upgraded.uninstall()
    second.uninstall()
    left = everything_in(kube, around) - before
    # Events go by themselves, after an hour.
    assert {name for name in left if not name.startswith("Event ")} == {f"Lease {world.namespace}/one-{CHART.name}"}, left


# --- the rights

def running(world: World, release: Release, name: str = "daemon", **more: str) -> Daemon:
    """The release's daemon, not started yet; it is entered where another one than the world's is meant."""
    settings = release.settings(world.home / f"{name}-files")
    # Where it listens is the harness's, since all pods are on one machine here.
    assert settings.pop("LISTEN_ADDRESS", ":8080") == ":8080"
    return world.adopt(Daemon(world.home / name, settings | more))


def denials(daemon: Daemon) -> list[str]:
    return [line for line in daemon.log().splitlines() if re.search("forbidden|may not", line)]


@pytest.mark.needs_api("the chart's replicas and Leases; the sidecar's rights are a row of its own, with the files of the same HAProxy")
@pytest.mark.one_combination
@pytest.mark.parametrize("feature", ["plain", "several namespaces", "lease elsewhere", "sidecar"])
def test_the_daemon_works_with_the_rights_of_its_release(world: World, kube: RealKube, feature: str) -> None:
    values = values_of(world)
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    backends, more = 1, dict[str, str]()
    if feature == "several namespaces":
        shop = f"{world.namespace}-shop"
        world.namespaces.append(shop)
        world.put_namespace(shop)
        world.put_service("web", namespace=shop, node_ports={"": (80, world.open_port("/shop"))})
        world.put_slice("node-b", name="web-1", service="web", namespace=shop, ports=[objects.port(9000, "")])
        values = values_of(world, ingressNamespace="", ingressServiceName="", ingressServices=[
            f"{world.namespace}/{SERVICE}:https={BACKEND}", {"namespace": shop, "service": "web", "port": 80, "backend": "shop"}])
        values["env"]["haproxy"]["backendName"] = ""
        backends = 2
    elif feature == "sidecar":
        values["env"]["haproxy"] = {"backendName": BACKEND}
        values["sidecar"] = {"enabled": True, "configMap": "first"}
        more = LocalFiles(world.haproxy, world.home / "files").settings()
    elif feature == "lease elsewhere":
        values["replicaCount"] = 2
        values["leaderElection"] = {"leaseNamespace": "edge"}
    release = Release(kube, "lb", world.namespace, values)
    try:
        assert {r.resource for r in release.rights()} == {"nodes", "services", "endpoints", "endpointslices"} | (
            {"leases"} if "replicaCount" in values else set())
        with running(world, release, **more) as daemon:
            world.expect("node-a", "node-b")
            world.in_step(backends=backends)
            if backends == 2:
                assert set(world.ours("shop")) == {"node-b"}
            if "replicaCount" in values:
                assert kube.admin.get("Lease", daemon.env["LEASE_NAME"], "edge")["spec"]["holderIdentity"]
                stands_by(world, release, daemon)
            assert denials(daemon) == []
    finally:
        release.uninstall()


def stands_by(world: World, release: Release, first: Daemon) -> None:
    with running(world, release, "second") as second:
        wait_until(lambda: "standing by for " in second.get("/readyz")[1], 30, f"a second replica stands by:\n{second.tail()}")
        assert denials(second) == []
    world.adopt(first)


@pytest.fixture
def old_world(tmp_path: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[World]:
    """Over an etcd that lists cannot be streamed from, so that list and watch are two rights that are both used."""
    combination = Combination("etcd-debian", "haproxy-debian", "double-3.4")
    with parts.or_skip(f"{combination}"):
        combination.parts()
        realparts.helm()
    with world_of(combination, tmp_path, kubes) as made:
        yield made


def missed(world: World, release: Release, right: Right) -> None:
    """The daemon without this right: it warns of what it cannot do, in the API's own words."""
    name = f"lb-{CHART.name}"
    world.kube.admin.delete("Lease", name, world.namespace)
    world.kube.admin.delete_all("Event", world.namespace)
    said = rf'level=(warn|error) .*cannot {right.verb} resource \\"{right.resource}\\"'
    if (right.verb, right.resource) == ("watch", "leases"):
        # Who leads does not watch it. For want of a watch it is read every two seconds, which is no reason for a warning.
        world.kube.admin.put(objects.lease(name, "another", namespace=world.namespace))
        said = "watching the Lease is denied"
    with running(world, release, f"without-{right.verb}-{right.resource}") as daemon:
        if right.resource == "events":
            daemon.wait_log("leadership acquired")
            drain_twice(world)
        daemon.wait_log(said, timeout=30)


def drain_twice(world: World) -> None:
    """What makes an Event, and then the same one again."""
    world.put_slice("node-a", "node-b")
    world.expect_servers({node: f"{NODES[node]}:{world.node_port}" for node in ("node-a", "node-b")})
    for _ in range(2):
        world.put_slice("node-a", terminating=["node-b"])
        world.expect_resting("node-b")
        world.put_slice("node-a", "node-b")
        wait_until(lambda: "node-b" not in world.resting(), 30, "node-b is back")


@ONE_WORKER
def test_no_right_is_superfluous(old_world: World) -> None:
    """Each right is taken away by itself. Those to Endpoints are for servers without EndpointSlices: they are tried without these."""
    world = old_world
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a")
    world.put_endpoints("node-a")
    release = Release(world.kube, "lb", world.namespace, {**values_of(world, emitEvents=True), "replicaCount": 2})
    every = release.rights()
    slices = [r for r in every if r.resource == "endpointslices"]
    assert len(every) == len(set(every)) == 14
    with running(world, release) as daemon:
        world.in_step()
        drain_twice(world)
        wait_until(lambda: any(e.get("count", 1) > 1 for e in world.kube.admin.list("Event", world.namespace)), 30, "an Event repeated")
        assert denials(daemon) == []
    release.grant([r for r in every if r not in slices], every)
    with running(world, release, "endpoints"):
        world.in_step()
    unmissed = []
    for right in every:
        without = [right, *slices] if right.resource == "endpoints" else [right]
        release.grant([r for r in every if r not in without], every)
        try:
            missed(world, release, right)
        except AssertionError as e:
            unmissed.append(f"{right}: {e}")
    assert not unmissed, "\n".join(unmissed)

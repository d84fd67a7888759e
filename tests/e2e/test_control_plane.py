"""HAProxy in front of the API servers: the Service default/kubernetes, which has no selector, and whose endpoints are the API servers
themselves. This one's own slice is what it publishes by itself."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from tests.harness import objects, parts, realparts
from tests.harness.daemon import clean_env, program
from tests.harness.process import ROOT, wait_until
from tests.harness.realkube import RealKube

from .combinations import Combination
from .conftest import world_of
from .release import Release
from .test_chart import denials, running, values_of
from .world import World

API = "kube-apiserver"
VALUES = ROOT / "docs" / "examples" / "values" / "control-plane.yaml"
PUBLISHED = "192.0.2.1"


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[World]:
    combination = Combination("etcd", "haproxy-debian", "double-3.4")
    with parts.or_skip(f"{combination}"):
        combination.parts()
        realparts.helm()
        kube = RealKube(tmp_path / "kube", realparts.kube_apiserver(), realparts.PARTS["etcd"](), reconciler="lease")
    with kube, world_of(combination, tmp_path, {"etcd": kube}) as made:
        yield made


def test_the_api_servers_are_servers(cluster: World) -> None:
    world, kube = cluster, cluster.kube
    wait_until(lambda: [s for s in kube.admin.list("EndpointSlice", "default") if s["endpoints"]], 30, "its own endpoint is published")
    slice_, = kube.admin.list("EndpointSlice", "default")
    assert "nodeName" not in slice_["endpoints"][0] and slice_["endpoints"][0]["addresses"] == [PUBLISHED]
    service = kube.admin.get("Service", "kubernetes", "default")["spec"]
    assert "selector" not in service and service["type"] == "ClusterIP"

    values = yaml.safe_load(VALUES.read_text())
    here = values_of(world)["env"]["haproxy"]
    values["env"]["logLevel"] = "debug"
    values["env"]["haproxy"].update({name: here[name] for name in ("dataplaneURL", "username", "password")})
    del values["credentials"]
    release = Release(kube, "cp", world.namespace, values)
    assert {(r.resource, r.namespace) for r in release.rights()} == {
        ("nodes", None), *((what, "default") for what in ("services", "endpoints", "endpointslices"))}
    with running(world, release) as daemon:
        port = kube.port
        world.expect_servers({PUBLISHED: f"{PUBLISHED}:{port}"}, backend=API)
        # Two more control-plane nodes, which are nodes of the cluster as well.
        more = {f"192.0.2.{i}": f"192.0.2.{i}:6443" for i in (2, 3)}
        kube.admin.put(objects.node("control-plane-2", "192.0.2.2"))
        kube.admin.put(objects.slice_("kubernetes-more", "kubernetes", [objects.endpoint(address) for address in more],
                                      namespace="default", ports=[objects.port(6443, "https")]))
        world.expect_servers({PUBLISHED: f"{PUBLISHED}:{port}", **more}, backend=API)
        world.in_step()
        # One goes: it gets no new connections, without a reload.
        with world.no_reload():
            kube.admin.put(objects.slice_("kubernetes-more", "kubernetes", [objects.endpoint("192.0.2.3")],
                                          namespace="default", ports=[objects.port(6443, "https")]))
            world.expect_servers({PUBLISHED: f"{PUBLISHED}:{port}", "192.0.2.3": more["192.0.2.3"]}, backend=API)
        daemon.wait_metric("servers_parked", 1)
        assert denials(daemon) == []
        done = subprocess.run([program(), "plan"], env=clean_env(**daemon.env), capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "ready endpoint 192.0.2.3 (slice kubernetes-more); the endpoint's own port https" in done.stdout, done.stdout
        text = world.dataplane.file()
        section = text[text.index(f"\nbackend {API}\n"):].split("\n\n")[0]
        assert "balance leastconn" in section and "mode tcp" in section and "option tcp-check" in section, section



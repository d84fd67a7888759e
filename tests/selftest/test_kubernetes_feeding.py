"""Where the Kubernetes double's objects come from (manifests, generation) and by which ways it is reached (TLS, certificates)."""

from __future__ import annotations

import json
import os
import pathlib
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.kubernetes_client import KubernetesClient
from tests.doubles.kubernetes import manifests as feeding
from tests.doubles.kubernetes.manifests import Manifests
from tests.doubles.kubernetes.resources import NODES as NODE
from tests.doubles.kubernetes.store import Store
from tests.harness import http
from tests.harness import objects as build
from tests.harness.certificates import Authority
from tests.harness.kube import KubeDouble
from tests.harness.process import wait_until


NODES = "/api/v1/nodes"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/ingress-nginx/endpointslices"


@pytest.fixture
def manifests(tmp_path: pathlib.Path) -> pathlib.Path:
    directory = tmp_path / "manifests"
    directory.mkdir()
    write(directory / "a.yaml", build.node("a", "10.0.0.1"))
    return directory


@pytest.fixture
def double(tmp_path: pathlib.Path, manifests: pathlib.Path) -> Iterator[KubeDouble]:
    with KubeDouble(tmp_path, manifests=manifests) as started:
        yield started


def write(path: pathlib.Path, tree: dict[str, Any]) -> None:
    path.write_text(json.dumps(tree, indent=1))


def node_names(double: KubeDouble) -> list[str]:
    return [item["metadata"]["name"] for item in KubernetesClient(double.url).list(NODES)["items"]]


def test_files_added_edited_and_removed_are_events(double: KubeDouble, manifests: pathlib.Path) -> None:
    client = KubernetesClient(double.url)
    with client.streaming_list(NODES) as watch:
        assert [o["metadata"]["name"] for o in watch.initial()[0]] == ["a"]
        write(manifests / "b.yaml", build.node("b", "10.0.0.2"))
        assert watch.until("b")["type"] == "ADDED"
        write(manifests / "b.yaml", build.node("b", "10.0.0.3"))
        changed = watch.until("b")
        assert (changed["type"], changed["object"]["status"]["addresses"][0]["address"]) == ("MODIFIED", "10.0.0.3")
        (manifests / "a.yaml").unlink()
        assert watch.until("a")["type"] == "DELETED"


def test_several_documents_and_lists(double: KubeDouble, manifests: pathlib.Path) -> None:
    (manifests / "more.yaml").write_text("""\
# Two documents, a list, and what is not for this double.
apiVersion: v1
kind: Node
metadata: {name: b}
status: {addresses: [{type: InternalIP, address: 10.0.0.2}]}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: c
    creationTimestamp: 2026-01-01T00:00:00Z
---
""")
    wait_until(lambda: node_names(double) == ["a", "b", "c"], 10, "nodes out of YAML")
    created = double.state()["items"][-1]["metadata"]["creationTimestamp"]
    assert created == "2026-01-01T00:00:00Z"


def test_other_kinds_in_a_manifest_are_passed_over(double: KubeDouble, manifests: pathlib.Path) -> None:
    several = {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}, build.node("b", "10.0.0.2")]}
    write(manifests / "b.yaml", several)
    wait_until(lambda: node_names(double) == ["a", "b"], 10, "the node beside the deployment")
    assert "apps/v1 Deployment" in double.log_path.read_text()


def test_a_broken_file_keeps_what_it_said_before(double: KubeDouble, manifests: pathlib.Path) -> None:
    (manifests / "a.yaml").write_text('{"apiVersion": "v1", "kind"')
    wait_until(lambda: "a.yaml: kept what it said before" in double.log_path.read_text(), 10, "a complaint in the log")
    write(manifests / "b.yaml", build.node("b", "10.0.0.2"))
    wait_until(lambda: node_names(double) == ["a", "b"], 10, "the other file to count all the same")
    write(manifests / "a.yaml", build.node("a", "10.0.0.9"))
    wait_until(lambda: "10.0.0.9" in json.dumps(double.state()), 10, "the mended file to count")


def test_what_would_remove_objects_has_to_stand_for_a_while(manifests: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that empties a file before it writes it deletes nothing."""
    store = Store()
    feed = Manifests(manifests, store, print)
    feed.poll()
    whole = (manifests / "a.yaml").read_text()
    (manifests / "a.yaml").write_text("")
    feed.poll()
    (manifests / "a.yaml").write_text(whole)
    feed.poll()
    assert [event.type for event in store.since(NODE, 0)] == ["ADDED"]
    monkeypatch.setattr(feeding, "DOUBT_S", 0)
    (manifests / "a.yaml").write_text("")
    feed.poll()
    assert [event.type for event in store.since(NODE, 0)] == ["ADDED", "DELETED"]


def test_an_object_that_moves_to_another_file_is_not_deleted(double: KubeDouble, manifests: pathlib.Path) -> None:
    with KubernetesClient(double.url).streaming_list(NODES) as watch:
        watch.initial()
        os.rename(manifests / "a.yaml", manifests / "z.yaml")
        write(manifests / "b.yaml", build.node("b", "10.0.0.2"))
        assert watch.event()["object"]["metadata"]["name"] == "b"
    assert node_names(double) == ["a", "b"]


def test_manifests_and_the_control_port_together(double: KubeDouble) -> None:
    double.put(build.node("b", "10.0.0.2"))
    assert node_names(double) == ["a", "b"]
    double.delete(build.node("b"))
    assert node_names(double) == ["a"]


def test_generated_objects_are_realistic(tmp_path: pathlib.Path) -> None:
    with KubeDouble(tmp_path, generate_nodes=250) as double:
        client = KubernetesClient(double.url)
        nodes = client.list(NODES)["items"]
        slices = client.list(SLICES, labelSelector="kubernetes.io/service-name=ingress-nginx")["items"]
        with client.watch(NODES, resourceVersion="100") as watch:
            assert watch.event()["object"]["code"] == 410
        double.put({**build.node("node-00007", "10.1.2.3"), "spec": {}})
        assert client.get(f"{NODES}/node-00007").json()["status"]["addresses"][0]["address"] == "10.1.2.3"
    assert len({node["metadata"]["name"] for node in nodes}) == len({node["metadata"]["uid"] for node in nodes}) == 250
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 250
    assert all(len(node["status"]["images"]) == 50 and node["metadata"]["managedFields"] for node in nodes)
    assert all(12_000 <= len(json.dumps(node, separators=(",", ":"))) <= 15_500 for node in nodes)
    reached = {endpoint["nodeName"] for slice_ in slices for endpoint in slice_["endpoints"]}
    assert len(slices) == 3 and reached == {node["metadata"]["name"] for node in nodes}


def test_tls_tokens_and_client_certificates(tmp_path: pathlib.Path) -> None:
    ca, people = Authority(tmp_path / "pki"), Authority(tmp_path / "people", "people")
    server, client_pair = ca.server(), people.client("alice")
    with KubeDouble(tmp_path, token="t", low_token="low", tls=(server.certificate, server.key), ca=ca.certificate,
                    client_ca=people.certificate) as double:
        assert double.url.startswith("https://")
        assert KubernetesClient(double.url, "t", ca.certificate).get(NODES).status == 200
        assert KubernetesClient(double.url, "low", ca.certificate).get(NODES).status == 403
        assert KubernetesClient(double.url, None, ca.certificate).get(NODES).status == 403
        with_certificate = ssl.create_default_context(cafile=str(ca.certificate))
        with_certificate.load_cert_chain(client_pair.certificate, client_pair.key)
        assert http.request(double.url, "GET", NODES, tls=with_certificate).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            KubernetesClient(double.url, "t", people.certificate).get(NODES)


def test_kubeconfig_leads_to_the_double(tmp_path: pathlib.Path) -> None:
    ca = Authority(tmp_path / "pki")
    server = ca.server()
    with KubeDouble(tmp_path, token="t", tls=(server.certificate, server.key), ca=ca.certificate) as double:
        config = json.loads(double.kubeconfig(tmp_path / "kubeconfig").read_text())
    assert config["clusters"][0]["cluster"]["server"] == double.url
    assert config["users"][0]["user"] == {"token": "t"}
    assert config["current-context"] == config["contexts"][0]["name"]

"""The same objects in JSON and in protobuf, of the double and of a real kube-apiserver: the daemon's decoders (build/decoded) read both
alike. On both servers, see test_kubernetes_protocol.py."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.harness import objects as build
from tests.harness.process import ROOT

from .kubernetes_client import Object, _with
from .test_kubernetes_protocol import MARK, NODES, Target, doubles, streaming, target

__all__ = ["doubles", "streaming", "target"]  # fixtures

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BOTH = f"{PROTOBUF},{JSON}"
"""As the daemon asks."""
TEXT = 'a "quote", a \\ back\\slash, a tab\t, \u2028, \u00fc, \U0001f40b, <html>&'


def get(target: Target, path: str, accept: str, **query: Any) -> tuple[int, str, bytes]:
    answer = target.client.call("GET", _with(path, query), headers={"Accept": accept})
    return answer.status, answer.headers["Content-Type"], answer.body


def decoded(*arguments: str, body: bytes) -> str:
    program = ROOT / "build" / "decoded"
    assert program.exists(), f"{program} is missing: make build/decoded"
    done = subprocess.run([program, *arguments], input=body, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def read(target: Target, path: str, accept: str, type_: str, query: dict[str, Any]) -> str:
    plural, how = path.rpartition("/")[2], "watch" if "watch" in query else "list"
    status, content_type, body = get(target, path, accept, **query)
    assert status == 200 and content_type.startswith(type_), (status, content_type, body[:200])
    return decoded(plural, how, content_type, body=body)


def same(target: Target, path: str, **query: Any) -> str:
    """What both encodings say, as text, asked for at once. Other objects of the server may move the version of a list in between."""
    for _ in range(20):
        with ThreadPoolExecutor() as pool:
            said, protobuf = pool.map(lambda how: read(target, path, *how, query), ((JSON, JSON), (BOTH, PROTOBUF)))
        if said == protobuf:
            break
    assert said == protobuf
    return said


def odd_node(target: Target) -> Object:
    made = build.node(f"{target.namespace}-odd", "10.20.0.1", "2001:db8::1", labels={MARK: target.namespace, "empty": ""}, ready=False,
                      unschedulable=True, addresses=[("ExternalIP", "198.51.100.7"), ("InternalDNS", "odd.example.com")],
                      taints=[("example.com/a", "NoSchedule"), ("ToBeDeletedByClusterAutoscaler", "NoExecute")])
    made["metadata"]["annotations"] = {"example.com/text": TEXT}
    made["status"]["images"] = [{"names": ["registry.example.com/a:1"], "sizeBytes": 1 << 40}]
    made["status"]["capacity"] = {"cpu": "8", "memory": "32386588Ki"}
    return made


def odd_slice(target: Target) -> Object:
    plain = [build.endpoint("10.244.0.1", "odd", zone="z1", hints={"forZones": [{"name": "z1"}]}, hostname="web-0",
                            targetRef={"kind": "Pod", "namespace": target.namespace, "name": "web-0"}),
             build.endpoint("10.244.0.2", "odd", build.TERMINATING), build.endpoint("10.244.0.3", conditions=None),
             build.endpoint("10.244.0.4", "odd", {"ready": False}), build.endpoint("10.244.0.5", "odd", build.NOT_READY)]
    plain[0]["addresses"] = ["10.244.0.1", "10.244.0.9"]
    ports = [build.port(8443), build.port(53, "dns", "UDP"), build.port(None, "any"), {"name": "", "port": 80, "protocol": "TCP"}]
    return build.slice_("odd", "ing", plain, ports=ports, namespace=target.namespace)


def services(target: Target) -> list[Object]:
    ns, number = target.namespace, 30100 + int(target.namespace.rpartition("-")[2]) * 10 % 2500
    made = [build.service("balanced", namespace=ns, type_="LoadBalancer", policy="Local", node_ports={"https": (443, number)},
                          health_check_node_port=number + 1, annotations={"haproxy-k8s-sync/paused": "true", "a": TEXT}),
            build.service("inside", namespace=ns, type_="ClusterIP", node_ports={"http": (80, 0)}),
            build.service("two", namespace=ns, node_ports={"http": (80, number + 2), "https": (443, number + 3)})]
    made[2]["spec"]["ports"].append({"name": "quic", "port": 443, "nodePort": number + 3, "protocol": "UDP", "targetPort": "quic"})
    return made


def endpoints(target: Target) -> Object:
    made = build.endpoints("odd", [("10.244.0.1", "odd"), ("10.244.0.5", None)], [("10.244.0.2", "odd")], namespace=target.namespace)
    made["subsets"].append({"addresses": [{"ip": "10.244.0.8", "hostname": "web-1"}],
                            "ports": [{"name": "https", "port": 9443}, {"name": "dns", "port": 53, "protocol": "UDP"}]})
    return made


@pytest.mark.parametrize("what", ["node", "slice", "services", "endpoints", "lease"])
def test_lists_and_watches_say_the_same(target: Target, what: str) -> None:
    collections = {"node": NODES, "slice": target.slices, "services": f"/api/v1/namespaces/{target.namespace}/services",
                   "endpoints": target.endpoints, "lease": f"/apis/coordination.k8s.io/v1/namespaces/{target.namespace}/leases"}
    objects = {"node": lambda: [odd_node(target)], "slice": lambda: [odd_slice(target)], "services": lambda: services(target),
               "endpoints": lambda: [endpoints(target)],
               "lease": lambda: [build.lease("held", "pod-1", namespace=target.namespace, transitions=3),
                                 build.lease("free", namespace=target.namespace)]}[what]()
    path, selected = collections[what], {"labelSelector": f"{MARK}={target.namespace}"} if what == "node" else {}
    empty = target.client.list(path, **selected)["metadata"]["resourceVersion"]
    for tree in objects:
        target.put(tree)
        if what == "node":
            target.put(tree)  # a create drops the status
    lines = same(target, path, **selected).splitlines()
    assert len(lines) == len(objects) + 1 and "SKIPPED" not in "".join(lines)
    first = objects[0]
    target.client.delete(first)
    events = same(target, path, watch="1", resourceVersion=empty, timeoutSeconds=1, allowWatchBookmarks="true", **selected)
    assert events.startswith("ADDED ") and f"DELETED {first['metadata']['name']} " in events


def test_pages_are_joined_by_the_same_token(target: Target) -> None:
    target.put_slices(5)
    listed = same(target, target.slices, limit=2)
    assert listed.splitlines()[-1].startswith("list v") and not listed.endswith('""\n')


def test_an_empty_list(target: Target) -> None:
    assert same(target, target.slices).startswith("list v")


def test_a_streaming_list_ends_with_its_bookmark(streaming: Target) -> None:
    streaming.put_slices(3)
    said = same(streaming, streaming.slices, watch="1", sendInitialEvents="true", resourceVersionMatch="NotOlderThan",
                allowWatchBookmarks="true", timeoutSeconds=1).splitlines()
    assert [line.split()[0] for line in said[:4]] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"] and said[3].endswith(" end")


def test_an_error_in_the_stream(target: Target) -> None:
    """Of a version that is long gone; where the history reaches back that far, nothing is wrong."""
    said = same(target, target.slices, watch="1", resourceVersion=1, timeoutSeconds=1)
    assert said == "" or said.startswith("ERROR 410 Expired ")


@pytest.mark.parametrize("path, query, begins", [
    ("/api/v1/nodes", {"labelSelector": "a b"}, "ERROR 400 BadRequest "), ("/api/v1/nodes", {"resourceVersion": "x"}, "ERROR "),
    ("{slices}", {"resourceVersion": "99999999"}, "ERROR 504 Timeout ")], ids=["selector", "version", "too-large"])
def test_refusals(target: Target, path: str, query: dict[str, str], begins: str) -> None:
    said = []
    for accept, type_ in ((JSON, JSON), (BOTH, PROTOBUF)):
        status, content_type, body = get(target, path.format(slices=target.slices), accept, **query)
        assert status >= 400 and content_type.startswith(type_)
        said.append(decoded("status", body=body))
    assert said[0].split("current")[0] == said[1].split("current")[0] and said[0].startswith(begins), said


def test_what_is_chosen(target: Target) -> None:
    """The first that the server has; parameters are no matter."""
    for accept, type_ in ((PROTOBUF, PROTOBUF), (f"{JSON},{PROTOBUF}", JSON), ("*/*", JSON), (f"text/html,{PROTOBUF}", PROTOBUF),
                          (f"{PROTOBUF};stream=watch,{JSON}", PROTOBUF)):
        status, content_type, _ = get(target, target.slices, accept)
        assert status == 200 and content_type == type_, (accept, content_type)
    status, content_type, _ = get(target, target.slices, BOTH, watch="1", timeoutSeconds=1)
    assert status == 200 and content_type == f"{PROTOBUF};stream=watch"

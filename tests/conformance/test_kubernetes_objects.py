"""Services and Nodes as the daemon reads them: one Service by its name, Nodes by a label selector, and what marks a Node that
is to serve no more. On the double and on a real kube-apiserver alike, see test_kubernetes_protocol.py."""

from __future__ import annotations

import re

import pytest

from tests.harness import objects as build

from .kubernetes_client import Object
from .test_kubernetes_protocol import MARK, NODES, Target, doubles, names, streaming, target

__all__ = ["doubles", "streaming", "target"]  # fixtures

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
TAINT = "ToBeDeletedByClusterAutoscaler"
PAUSED = "haproxy-k8s-sync/paused"
MERGE = {"Content-Type": "application/merge-patch+json"}


def services_path(target: Target) -> str:
    return f"/api/v1/namespaces/{target.namespace}/services"


def put_service(target: Target, name: str, node_port: int = 0, **more) -> Object:
    """A nodePort belongs to the whole cluster, so that most Services here have none."""
    type_ = "NodePort" if node_port else "ClusterIP"
    return target.put(build.service(name, namespace=target.namespace, node_ports={"https": (443, node_port)}, type_=type_, **more))


def put_node(target: Target, suffix: str, **more) -> str:
    """Nodes belong to the whole cluster: the namespace's name marks those of this test."""
    name = f"{target.namespace}-{suffix}"
    more["labels"] = {MARK: target.namespace, **more.get("labels", {})}
    target.put(build.node(name, "10.9.0.1", **more))
    return name


def patch(target: Target, path: str, change: Object) -> Object:
    answer = target.client.call("PATCH", path, change, MERGE)
    assert answer.status == 200, answer.text
    return answer.json()


# --- one Service


def test_one_service_is_listed_by_its_name(target: Target) -> None:
    for name in ("web", "web2"):
        put_service(target, name)
    found = target.client.list(services_path(target), fieldSelector="metadata.name=web")
    assert (found["kind"], found["apiVersion"], names(found["items"])) == ("ServiceList", "v1", ["web"])
    assert "kind" not in found["items"][0]


def test_a_service_that_does_not_exist_is_an_empty_list(target: Target) -> None:
    found = target.client.list(services_path(target), fieldSelector="metadata.name=none")
    assert found["items"] == [] and found["metadata"]["resourceVersion"].isdigit()


def test_a_service_is_watched_by_its_name(target: Target) -> None:
    path = services_path(target)
    version = target.client.list(path)["metadata"]["resourceVersion"]
    with target.client.watch(path, fieldSelector="metadata.name=web", resourceVersion=version) as watch:
        put_service(target, "other")
        made = put_service(target, "web")
        patch(target, f"{path}/other", {"metadata": {"annotations": {PAUSED: "true"}}})
        patch(target, f"{path}/web", {"metadata": {"annotations": {PAUSED: "true"}}})
        patch(target, f"{path}/web", {"metadata": {"annotations": {PAUSED: None}}})
        target.client.delete(made)
        events = [watch.event() for _ in range(4)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert {event["object"]["metadata"]["name"] for event in events} == {"web"}
    paused = [(event["object"]["metadata"].get("annotations") or {}).get(PAUSED) for event in events]
    assert paused == [None, "true", None, None]


def test_secrets_are_selected_by_their_type(target: Target) -> None:
    for name, type_ in (("one", "example.com/one"), ("two", "example.com/two")):
        target.put({"apiVersion": "v1", "kind": "Secret", "type": type_, "metadata": {"name": name, "namespace": target.namespace}})
    path = f"/api/v1/namespaces/{target.namespace}/secrets"
    assert names(target.client.list(path, fieldSelector="type=example.com/two")["items"]) == ["two"]
    assert target.client.get(services_path(target), fieldSelector="type=example.com/two").status == 400


def test_a_streaming_list_of_one_service(streaming: Target) -> None:
    path = services_path(streaming)
    with streaming.client.streaming_list(path, fieldSelector="metadata.name=web") as watch:
        assert watch.initial()[0] == []
        put_service(streaming, "other")
        put_service(streaming, "web")
        assert watch.until("web")["type"] == "ADDED"
    with streaming.client.streaming_list(path, fieldSelector="metadata.name=web") as watch:
        assert names(watch.initial()[0]) == ["web"]


def test_a_service_comes_back_as_it_was_written(target: Target) -> None:
    path = f"{services_path(target)}/web"
    put_service(target, "web", annotations={PAUSED: "True"})
    patch(target, path, {"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}})
    got = target.client.get(path).json()
    assert got["metadata"]["annotations"] == {PAUSED: "True"}
    assert (got["spec"]["type"], got["spec"]["externalTrafficPolicy"]) == ("LoadBalancer", "Local")
    [port] = got["spec"]["ports"]
    assert (port["name"], port["protocol"], port["port"]) == ("https", "TCP", 443)


# --- Nodes by a label selector

LABELLED: dict[str, dict[str, str]] = {"a": {"zone": "1", "size": "5"}, "b": {"zone": "2", EXCLUDE: "true"}, "c": {"zone": ""},
                                       "d": {"pool": "in", "size": "12"}, "e": {}}


@pytest.mark.parametrize("selector,expected", [
    ("zone", "abc"), ("!zone", "de"), ("! zone", "de"), ("zone=1", "a"), ("zone==1", "a"), ("zone!=1", "bcde"),
    ("zone=", "c"), ("zone!=", "abde"), ("zone in (1,2)", "ab"), ("zone in ( 1 , 2 )", "ab"), ("zone in(1)", "a"),
    ("zone notin (1, 2)", "cde"), ("zone in ()", "c"), ("zone in (1,)", "ac"), ("zone notin (,)", "abde"),
    (f"!{EXCLUDE}", "acde"), (EXCLUDE, "b"), (f"{EXCLUDE}=true", "b"), (f"zone in (1,2),!{EXCLUDE}", "a"),
    ("zone,zone!=1", "bc"), (" zone , !size ", "bc"), ("size>5", "d"), ("size<12", "a"), ("size > 4, size < 13", "ad"),
    ("pool=in", "d"), ("pool in (in, notin)", "d"), ("in", ""), ("notin", ""), ("zone\t=\n1", "a"),
])
def test_nodes_are_listed_by_their_labels(target: Target, selector: str, expected: str) -> None:
    for suffix, labels in LABELLED.items():
        put_node(target, suffix, labels=labels)
    found = target.client.list(NODES, labelSelector=f"{MARK}={target.namespace},{selector}")["items"]
    assert names(found) == [f"{target.namespace}-{suffix}" for suffix in expected]


REQUIREMENT = "unable to parse requirement: "


@pytest.mark.parametrize("selector,message", [
    ("!", REQUIREMENT + "found '', expected: identifier"), ("!!zone", REQUIREMENT + "found '!', expected: identifier"),
    ("zone in", REQUIREMENT + "found '' expected: '('"), ("zone in 1", REQUIREMENT + "found '1' expected: '('"),
    ("zone in (", REQUIREMENT + "found '', expected: ',', ')' or identifier"),
    ("zone in (1", REQUIREMENT + "found '', expected: ',' or ')'"),
    ("zone in (1))", "found ')', expected: ',' or 'end of string'"),
    ("zone in (1 2)", REQUIREMENT + "found '2', expected: ',' or ')'"),
    ("zone notin (-1)", REQUIREMENT + 'values[0][zone]: Invalid value: "-1": a valid label must be an empty string or'),
    ("zone 1", REQUIREMENT + "found '1', expected: in, notin, =, ==, !=, gt, lt"),
    ("zone===1", REQUIREMENT + "found '=', expected: identifier"),
    ("zone=1 2", "found '2', expected: ',' or 'end of string'"),
    ("zone=a/b", REQUIREMENT + 'values[0][zone]: Invalid value: "a/b": a valid label must be an empty string or'),
    ("zone=" + "x" * 64, REQUIREMENT + f'values[0][zone]: Invalid value: "{"x" * 64}": must be no more than 63 characters'),
    ("zone,", "found '', expected: identifier after ','"), ("zone,,size", "found ',', expected: identifier after ','"),
    (",zone", "found ',', expected: !, identifier, or 'end of string'"),
    ("(zone)", "found '(', expected: !, identifier, or 'end of string'"),
    ("=1", "found '=', expected: !, identifier, or 'end of string'"),
    ("-zone", REQUIREMENT + '<nil>: Invalid value: "-zone": name part must consist of'),
    ("x" * 64, REQUIREMENT + f'<nil>: Invalid value: "{"x" * 64}": name part must be no more than 63 characters'),
    ("a/b/c", REQUIREMENT + '<nil>: Invalid value: "a/b/c": a qualified name must consist of'),
    ("/a", REQUIREMENT + '<nil>: Invalid value: "/a": prefix part must be non-empty'),
    ("a/", REQUIREMENT + '<nil>: Invalid value: "a/": name part must be non-empty'),
    ("A.example/b", REQUIREMENT + '<nil>: Invalid value: "A.example/b": prefix part a lowercase RFC 1123 subdomain must'),
    ("size>x", REQUIREMENT + 'values[0]: Invalid value: "x": for \'Gt\', \'Lt\' operators, the value must be an integer'),
])
def test_a_bad_selector_is_400(target: Target, selector: str, message: str) -> None:
    for query in ({}, {"watch": "1"}):
        answer = target.client.get(NODES, labelSelector=selector, **query)
        assert (answer.status, answer.json()["reason"]) == (400, "BadRequest"), answer.text
        assert answer.json()["message"].startswith(message)


def test_a_label_lets_nodes_into_a_watch_and_out_of_it(target: Target) -> None:
    version = target.client.list(NODES, limit=1)["metadata"]["resourceVersion"]
    selector = f"{MARK}={target.namespace},!{EXCLUDE}"
    with target.client.watch(NODES, labelSelector=selector, resourceVersion=version) as watch:
        path = f"{NODES}/{put_node(target, 'a')}"
        for value in ("true", "false", None):
            patch(target, path, {"metadata": {"labels": {EXCLUDE: value}}})
        events = [watch.event() for _ in range(3)]
    types = [event["type"] for event in events if event["type"] != "MODIFIED"]
    assert types == ["ADDED", "DELETED", "ADDED"]
    assert all(EXCLUDE not in event["object"]["metadata"]["labels"] for event in events)


def test_a_streaming_list_of_nodes_heeds_its_selector(streaming: Target) -> None:
    wanted = put_node(streaming, "a")
    put_node(streaming, "b", labels={EXCLUDE: ""})
    selector = f"{MARK} in ({streaming.namespace}),!{EXCLUDE}"
    with streaming.client.streaming_list(NODES, labelSelector=selector) as watch:
        assert names(watch.initial()[0]) == [wanted]


# --- what takes a Node out


def test_labels_and_taints_come_back_as_they_were_written(target: Target) -> None:
    name = put_node(target, "a", labels={EXCLUDE: ""}, taints=[(TAINT, "NoSchedule")], unschedulable=True)
    got = target.client.get(f"{NODES}/{name}").json()
    assert got["metadata"]["labels"][EXCLUDE] == ""
    assert (TAINT, "NoSchedule") in [(taint["key"], taint["effect"]) for taint in got["spec"]["taints"]]
    assert got["spec"]["unschedulable"] is True


def test_a_node_with_a_finalizer_is_deleted_in_two_steps(target: Target) -> None:
    tree = build.node(f"{target.namespace}-a", "10.9.0.1")
    tree["metadata"]["finalizers"] = ["example.com/hold"]
    made = target.put(tree)
    path = f"{NODES}/{made['metadata']['name']}"
    version = target.client.list(NODES, limit=1)["metadata"]["resourceVersion"]
    with target.client.watch(NODES, fieldSelector=f"metadata.name={made['metadata']['name']}", resourceVersion=version) as watch:
        for _ in range(2):  # the second one changes nothing
            marked = target.client.call("DELETE", path)
            assert marked.status == 200 and marked.json()["kind"] == "Node"
        patch(target, path, {"metadata": {"labels": {"a": "b"}}})
        patch(target, path, {"metadata": {"finalizers": None}})
        events = [watch.event() for _ in range(3)]
    assert [event["type"] for event in events] == ["MODIFIED", "MODIFIED", "DELETED"]
    for event in events:
        meta = event["object"]["metadata"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["deletionTimestamp"])
        assert meta["deletionGracePeriodSeconds"] == 0
    assert target.client.get(path).status == 404

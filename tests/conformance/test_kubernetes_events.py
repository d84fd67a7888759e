"""What daemon/events relies on: Events of core/v1 are made once, counted up by a merge patch, and found by their Service. On the double
and on a real kube-apiserver alike, see test_kubernetes_protocol.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import objects as build
from tests.harness.http import Response

from .kubernetes_client import Object
from .test_kubernetes_leases import refusal
from .test_kubernetes_protocol import Target, doubles, target

__all__ = ["doubles", "target"]  # fixtures

NAME = "web.18f0a1b2c3d4e5f6"
MERGE = {"Content-Type": "application/merge-patch+json"}


def events(target: Target) -> str:
    return f"/api/v1/namespaces/{target.namespace}/events"


def event(target: Target, name: str = NAME, **more: Any) -> Object:
    return build.event(name, "web", namespace=target.namespace, uid="870c809a-6131-452f-91f1-a2ae2e9dce82", **more)


def post(target: Target, tree: Object) -> Response:
    return target.client.call("POST", events(target), tree)


def make(target: Target, **more: Any) -> Object:
    answer = post(target, event(target, **more))
    assert answer.status == 201, answer.text
    return answer.json()


def patch(target: Target, change: Object, name: str = NAME) -> Response:
    return target.client.call("PATCH", f"{events(target)}/{name}", change, MERGE)


def bare(tree: Object) -> Object:
    return {key: value for key, value in tree.items() if key != "metadata"}


def test_made_and_read(target: Target) -> None:
    made = make(target)
    assert target.client.get(f"{events(target)}/{NAME}").json() == made
    assert bare(made) == {**bare(event(target)), "eventTime": None}
    assert {"uid", "resourceVersion", "creationTimestamp"} <= made["metadata"].keys()


def test_made_only_once(target: Target) -> None:
    """What shows that a request whose answer was lost was carried out."""
    make(target)
    answer = post(target, event(target, message="another"))
    assert refusal(answer) == (409, "AlreadyExists")
    assert answer.json()["message"] == f'events "{NAME}" already exists'
    assert answer.json()["details"] == {"name": NAME, "kind": "events"}


def test_counted_up(target: Target) -> None:
    """Without a resourceVersion, and the message may change: events.k8s.io/v1 would refuse that."""
    made = make(target)
    answer = patch(target, {"count": 7, "lastTimestamp": "2024-01-01T00:05:00Z", "message": "all is well again"})
    assert answer.status == 200, answer.text
    assert bare(answer.json()) == {**bare(made), "count": 7, "lastTimestamp": "2024-01-01T00:05:00Z", "message": "all is well again"}
    assert answer.json()["metadata"]["uid"] == made["metadata"]["uid"]


def test_one_that_is_gone_is_not_made_by_a_patch(target: Target) -> None:
    target.client.delete(make(target))
    answer = patch(target, {"count": 2})
    assert refusal(answer) == (404, "NotFound")
    assert answer.json()["message"] == f'events "{NAME}" not found'
    assert make(target)["count"] == 1


@pytest.mark.parametrize("wrong,status,message", [
    ({"count": 2**31}, 400, "cannot unmarshal number 2147483648 into Go struct field Event.count of type int32"),
    ({"count": "2"}, 400, "cannot unmarshal string into Go struct field Event.count of type int32"),
    ({"lastTimestamp": "yesterday"}, 400, 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00"'),
    ({"involvedObject": {"kind": "Service", "namespace": "another", "name": "web"}}, 422,
     'involvedObject.namespace: Invalid value: "another": does not match event.namespace'),
])
def test_what_an_event_may_not_say(target: Target, wrong: Object, status: int, message: str) -> None:
    answer = post(target, event(target, **wrong))
    assert answer.status == status and message in answer.json()["message"], answer.text


def test_what_a_patch_may_not_say(target: Target) -> None:
    make(target)
    for change in ({"count": "2"}, {"count": 2**31}, {"lastTimestamp": "yesterday"}):
        assert refusal(patch(target, change)) == (422, "Invalid"), change


@pytest.mark.parametrize("more", [{"count": 2**31 - 1}, {"message": "x" * 2000}, {"type": "Odd"}, {"message": "gr\u00fcn \u20ac"},
                                  {"lastTimestamp": "9999-12-31T23:59:59Z"}])
def test_what_an_event_may_say(target: Target, more: Object) -> None:
    made = make(target, **more)
    assert bare(made) == {**bare(event(target, **more)), "eventTime": None}


def test_no_namespace_at_the_path_is_another_name(target: Target) -> None:
    answer = target.client.call("POST", events(target), {**event(target), "metadata": {"name": NAME, "namespace": "another"}})
    assert refusal(answer) == (400, "BadRequest")

"""What leader election relies on: Leases are made once, replaced only on top of the version that was read, and watched by name.
On the double and on a real kube-apiserver alike, see test_kubernetes_protocol.py."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.harness import objects as build
from tests.harness.http import Response

from .kubernetes_client import Object
from .test_kubernetes_protocol import Target, doubles, target

__all__ = ["doubles", "target"]  # fixtures

LATER = "2024-01-01T00:00:02.000000Z"


def leases(target: Target) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{target.namespace}/leases"


def lease(target: Target, name: str = "l", holder: str = "a", **more: Any) -> Object:
    return build.lease(name, holder, namespace=target.namespace, **more)


def post(target: Target, tree: Object) -> Response:
    return target.client.call("POST", leases(target), tree)


def make(target: Target, **more: Any) -> Object:
    answer = post(target, lease(target, **more))
    assert answer.status == 201, answer.text
    return answer.json()


def put(target: Target, tree: Object) -> Response:
    return target.client.call("PUT", f"{leases(target)}/{tree['metadata']['name']}", tree)


def renewed(read: Object, renew_time: str = LATER, **spec: Any) -> Object:
    tree = copy.deepcopy(read)
    tree["spec"].update({"renewTime": renew_time, **spec})
    return tree


def refusal(answer: Response) -> tuple[int, str]:
    body = answer.json()
    assert (body["kind"], body["status"]) == ("Status", "Failure"), body
    assert body["code"] == answer.status
    return answer.status, body.get("reason", "")


def test_one_that_is_not_there(target: Target) -> None:
    answer = target.client.get(f"{leases(target)}/l")
    assert refusal(answer) == (404, "NotFound")
    assert answer.json()["message"] == 'leases.coordination.k8s.io "l" not found'
    assert answer.json()["details"] == {"name": "l", "group": "coordination.k8s.io", "kind": "leases"}


def test_made_and_read(target: Target) -> None:
    made = make(target, labels={"a": "b"})
    read = target.client.get(f"{leases(target)}/l").json()
    assert read == made
    assert read["spec"] == lease(target)["spec"] and read["metadata"]["labels"] == {"a": "b"}
    assert {"uid", "resourceVersion", "creationTimestamp"} <= read["metadata"].keys()


def test_made_only_once(target: Target) -> None:
    make(target)
    answer = post(target, lease(target, holder="b"))
    assert refusal(answer) == (409, "AlreadyExists")
    assert answer.json()["message"] == 'leases.coordination.k8s.io "l" already exists'
    assert target.client.get(f"{leases(target)}/l").json()["spec"]["holderIdentity"] == "a"


def test_replaced_on_top_of_what_was_read_and_of_nothing_else(target: Target) -> None:
    made = make(target)
    first = put(target, renewed(made))
    assert first.status == 200 and first.json()["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    second = put(target, renewed(made, holderIdentity="b"))
    assert refusal(second) == (409, "Conflict")
    assert second.json()["message"] == ('Operation cannot be fulfilled on leases.coordination.k8s.io "l": the object has been modified; '
                                        "please apply your changes to the latest version and try again")
    assert target.client.get(f"{leases(target)}/l").json() == first.json()


def test_a_put_that_changes_nothing_makes_no_version(target: Target) -> None:
    made = make(target)
    answer = put(target, made)
    assert answer.status == 200
    assert answer.json()["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_a_put_without_a_version_is_refused(target: Target) -> None:
    make(target)
    answer = put(target, lease(target, holder="b"))
    assert refusal(answer) == (422, "Invalid")
    assert answer.json()["message"].endswith("metadata.resourceVersion: Invalid value: 0: must be specified for an update")


def test_deleted_since_it_was_read(target: Target) -> None:
    """A PUT carries the uid of what was read, and so makes none anew."""
    made = make(target)
    target.client.delete(made)
    answer = put(target, renewed(made))
    assert refusal(answer) == (409, "Conflict")
    assert made["metadata"]["uid"] in answer.json()["message"]
    assert target.client.get(f"{leases(target)}/l").status == 404
    again = make(target)
    assert refusal(put(target, renewed(made))) == (409, "Conflict")
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


def test_a_put_of_what_never_was_makes_it(target: Target) -> None:
    answer = put(target, lease(target))
    assert answer.status == 201 and answer.json()["spec"]["holderIdentity"] == "a"


def test_given_up_and_taken_over(target: Target) -> None:
    free = put(target, renewed(make(target), holderIdentity="", leaseDurationSeconds=1)).json()
    assert (free["spec"]["holderIdentity"], free["spec"]["leaseDurationSeconds"]) == ("", 1)
    taken = put(target, renewed(free, "2024-01-01T00:00:03.000000Z", holderIdentity="b", leaseDurationSeconds=15, leaseTransitions=1))
    assert taken.json()["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize("spec,status,message", [
    ({"leaseDurationSeconds": 0}, 422, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
    ({"leaseDurationSeconds": -1}, 422, "spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0"),
    ({"leaseTransitions": -1}, 422, "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
    ({"leaseDurationSeconds": 2**31}, 400, "cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"),
    ({"holderIdentity": 7}, 400, "cannot unmarshal number into Go struct field LeaseSpec.spec.holderIdentity of type string"),
    ({"renewTime": "2024-01-01T00:00:00Z"}, 400, 'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00"'),
    ({"acquireTime": "yesterday"}, 400, 'parsing time "yesterday" as "2006-01-02T15:04:05.000000Z07:00"'),
])
def test_what_a_lease_may_not_say(target: Target, spec: Object, status: int, message: str) -> None:
    answer = post(target, {**lease(target), "spec": spec})
    assert answer.status == status and message in answer.json()["message"], answer.text


@pytest.mark.parametrize("spec", [{}, {"leaseDurationSeconds": 2**31 - 1, "leaseTransitions": 2**31 - 1}, {"holderIdentity": None},
                                  {"renewTime": "2024-01-01T00:00:00.123456Z"}])
def test_what_a_lease_may_say(target: Target, spec: Object) -> None:
    answer = post(target, {**lease(target), "spec": spec})
    assert answer.status == 201
    assert answer.json()["spec"] == {key: value for key, value in spec.items() if value is not None}


def test_watched_by_its_name_from_any_version(target: Target) -> None:
    """Neither without a version nor with bookmarks: over etcd 3.4 that ends at once, "RequestWatchProgress is disabled"."""
    made = make(target)
    query = {"fieldSelector": "metadata.name=l", "resourceVersion": "0"}
    with target.client.watch(leases(target), **query) as watch:
        def news() -> Object:
            """The double and newer servers may send a bookmark all the same."""
            while (event := watch.event())["type"] == "BOOKMARK":
                pass
            return event

        first = news()
        assert first["type"] == "ADDED", first
        assert first["object"]["spec"]["holderIdentity"] == "a"
        assert first["object"]["kind"] == "Lease"
        make(target, name="other")
        free = put(target, renewed(made, holderIdentity="", leaseDurationSeconds=1)).json()
        target.client.delete(made)
        events = [news(), news()]
    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]
    assert events[0]["object"] == free
    assert {event["object"]["metadata"]["name"] for event in events} == {"l"}


def test_watched_before_it_is_made(target: Target) -> None:
    with target.client.watch(leases(target), fieldSelector="metadata.name=l", resourceVersion="0") as watch:
        make(target)
        assert watch.until("l")["type"] == "ADDED"


def test_listed(target: Target) -> None:
    make(target)
    found = target.client.list(leases(target), fieldSelector="metadata.name=l")
    assert (found["kind"], found["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    assert [item["spec"]["holderIdentity"] for item in found["items"]] == ["a"]

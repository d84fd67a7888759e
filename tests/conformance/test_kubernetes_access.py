"""What `doctor` relies on: an API server says who one is, and what one may do, on the double and on a real kube-apiserver alike,
see test_kubernetes_protocol.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.http import Response
from tests.harness.kube import KubeDouble

from .kubernetes_client import KubernetesClient, Object
from .test_kubernetes_protocol import REAL_URL, Target, opened

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LOW = "conformance-low"


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeDouble]:
    with KubeDouble(tmp_path_factory.mktemp("double"), token="t", low_token="low") as made:
        yield made


@pytest.fixture(params=["double", *(["real"] if REAL_URL else [])])
def target(request: pytest.FixtureRequest, double: KubeDouble) -> Iterator[Target]:
    yield from opened(request.param, {"double": double})


@pytest.fixture
def low(request: pytest.FixtureRequest, target: Target, double: KubeDouble) -> KubernetesClient:
    """A user who is known and may do nothing."""
    if target.client.url == double.url:
        return KubernetesClient(double.url, "low")
    accounts = f"/api/v1/namespaces/{target.namespace}/serviceaccounts"
    made = target.client.call("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": LOW}})
    assert made.status == 201, made.text
    asked = target.client.call("POST", f"{accounts}/{LOW}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                                                 "spec": {"expirationSeconds": 3600}})
    assert asked.status == 201, asked.text
    return as_user(target, asked.json()["status"]["token"])


def as_user(target: Target, token: str | None) -> KubernetesClient:
    client = KubernetesClient(target.client.url, token)
    client.tls = target.client.tls
    return client


def who(client: KubernetesClient) -> Response:
    return client.call("POST", SELF, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})


def may(client: KubernetesClient, **what: str) -> Response:
    return client.call("POST", ACCESS, review(what))


def review(what: Any) -> Object:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": what} if what else {}}


def test_who_one_is(target: Target, low: KubernetesClient) -> None:
    for client, user in ((target.client, "admin"), (low, "low")):
        answer = who(client)
        assert answer.status == 201 and answer.json()["kind"] == "SelfSubjectReview"
        assert answer.json()["status"]["userInfo"]["username"].endswith(user)


RIGHTS = [{"verb": "list", "resource": "nodes"},
          {"verb": "watch", "group": "discovery.k8s.io", "resource": "endpointslices", "namespace": "ns"},
          {"verb": "update", "group": "coordination.k8s.io", "resource": "leases", "namespace": "ns", "name": "l"},
          {"verb": "create", "resource": "events", "namespace": "ns"}]


@pytest.mark.parametrize("right", RIGHTS, ids=lambda right: right["resource"])
def test_what_one_may_do(target: Target, low: KubernetesClient, right: dict[str, str]) -> None:
    for client, allowed in ((target.client, True), (low, False)):
        answer = may(client, **right)
        assert answer.status == 201
        body = answer.json()
        assert (body["kind"], body["apiVersion"]) == ("SelfSubjectAccessReview", "authorization.k8s.io/v1")
        assert body["spec"]["resourceAttributes"] == right
        assert body["status"]["allowed"] is allowed


def test_nothing_is_left_behind(target: Target) -> None:
    before = target.version()
    who(target.client)
    may(target.client, verb="list", resource="nodes")
    assert target.version() == before
    for path in (SELF, ACCESS):
        assert target.client.get(path).status == 405


def test_a_question_without_a_question(target: Target) -> None:
    answer = target.client.call("POST", ACCESS, review({}))
    body = answer.json()
    assert (answer.status, body["reason"]) == (422, "Invalid")
    assert "exactly one of nonResourceAttributes or resourceAttributes must be specified" in body["message"]
    assert body["details"]["causes"][0]["field"] == "spec.resourceAttributes"


def test_no_user_gets_nothing(target: Target) -> None:
    nobody = as_user(target, None)
    for answer, kind in ((who(nobody), "selfsubjectreviews"), (may(nobody, verb="list", resource="nodes"), "selfsubjectaccessreviews")):
        body = answer.json()
        assert (answer.status, body["reason"], body["details"]["kind"]) == (403, "Forbidden", kind)
        assert 'User "system:anonymous" cannot create resource' in body["message"]


def test_credentials_that_do_not_count(target: Target) -> None:
    stranger = as_user(target, "wrong")
    assert who(stranger).status == may(stranger, verb="list", resource="nodes").status == 401
    assert stranger.get("/version").status == 401


def test_the_time_is_sent(target: Target) -> None:
    answer = target.client.get("/version")
    assert answer.status == 200 and answer.headers["Date"].endswith(" GMT")
    assert answer.json()["gitVersion"].startswith("v")


def test_one_verb_alone_can_be_missing(double: KubeDouble) -> None:
    """The double's own: what a test takes away."""
    client = KubernetesClient(double.url, "t")
    double.forbid("update leases", "ns/services")
    try:
        assert may(client, verb="update", resource="leases", namespace="x").json()["status"]["allowed"] is False
        assert may(client, verb="get", resource="leases", namespace="x").json()["status"]["allowed"] is True
        assert may(client, verb="list", resource="services", namespace="ns").json()["status"]["allowed"] is False
        assert may(client, verb="list", resource="services", namespace="x").json()["status"]["allowed"] is True
    finally:
        double.forbid()

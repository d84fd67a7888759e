"""What the daemon relies on in a Kubernetes API, checked on the double and on a real kube-apiserver alike.

The real one: KUBE_CONFORMANCE_URL, KUBE_CONFORMANCE_TOKEN (an admin's) and KUBE_CONFORMANCE_CA (a file);
KUBE_CONFORMANCE_ETCD=3.4 says that it runs over an etcd without progress requests. Objects are written by the API itself,
under names of this run.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import objects as build
from tests.harness.http import connect
from tests.harness.kube import KubeDouble
from tests.harness.parts import needs

from .kubernetes_client import KubernetesClient, Object

NODES = "/api/v1/nodes"
RUN = f"run-{os.getpid()}"
MARK = "example.com/conformance"
REAL_URL = os.environ.get("KUBE_CONFORMANCE_URL")
# Server -> the etcd below it.
ETCD = {"double": "3.6", "double-etcd-3.4": "3.4"}
if REAL_URL:
    ETCD["real"] = os.environ.get("KUBE_CONFORMANCE_ETCD", "3.6")

_numbers = itertools.count(1)


class Target:
    """One server, a namespace in it, and names that no other test of this run uses."""

    def __init__(self, client: KubernetesClient):
        self.client = client
        self.namespace = f"{RUN}-{next(_numbers)}"
        client.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.slices = f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices"
        self.endpoints = f"/api/v1/namespaces/{self.namespace}/endpoints"
        self._written: list[Object] = []

    def put(self, tree: Object) -> Object:
        self._written.append(tree)
        return self.client.put(tree)

    def slice_(self, name: str, *ips: str, service: str = "ing", **more: Any) -> Object:
        return build.slice_(name, service, [build.endpoint(ip, "node-a") for ip in ips or ("10.244.0.1",)],
                            namespace=self.namespace, **more)

    def put_slice(self, name: str, *ips: str, **more: Any) -> Object:
        return self.put(self.slice_(name, *ips, **more))

    def put_slices(self, count: int) -> list[str]:
        names = [f"slice-{i}" for i in range(count)]
        for name in names:
            self.put_slice(name)
        return names

    def version(self) -> str:
        return self.client.list(self.slices)["metadata"]["resourceVersion"]

    def clean(self) -> None:
        for tree in self._written:
            self.client.delete(tree)


@pytest.fixture(scope="module")
def doubles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, KubeDouble]]:
    home = tmp_path_factory.mktemp
    with KubeDouble(home("double"), token="t") as new, KubeDouble(home("double"), token="t", etcd="3.4") as old:
        for double in (new, old):
            double.settings(freshWaitSeconds=0.2)
        yield {"double": new, "double-etcd-3.4": old}


def opened(name: str, doubles: dict[str, KubeDouble]) -> Iterator[Target]:
    if name == "real":
        assert REAL_URL
        client = KubernetesClient(REAL_URL, os.environ.get("KUBE_CONFORMANCE_TOKEN"), os.environ.get("KUBE_CONFORMANCE_CA"))
    else:
        client = KubernetesClient(doubles[name].url, "t")
    built = Target(client)
    try:
        yield built
    finally:
        built.clean()


@pytest.fixture(params=ETCD)
def target(request: pytest.FixtureRequest, doubles: dict[str, KubeDouble]) -> Iterator[Target]:
    yield from opened(request.param, doubles)


@pytest.fixture(params=[name for name, etcd in ETCD.items() if etcd != "3.4"])
def streaming(request: pytest.FixtureRequest, doubles: dict[str, KubeDouble]) -> Iterator[Target]:
    """Servers that can stream lists."""
    yield from opened(request.param, doubles)


@pytest.fixture(params=[name for name, etcd in ETCD.items() if etcd == "3.4"])
def without_streaming(request: pytest.FixtureRequest, doubles: dict[str, KubeDouble]) -> Iterator[Target]:
    yield from opened(request.param, doubles)


@needs("a kube-apiserver ($KUBE_CONFORMANCE_URL)", REAL_URL)
def test_a_real_server_is_checked_too() -> None:
    assert "real" in ETCD


def names(items: list[Object]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


# --- lists


def test_list_names_its_kind_and_the_items_name_none(target: Target) -> None:
    target.put_slice("one")
    found = target.client.list(target.slices)
    assert (found["kind"], found["apiVersion"]) == ("EndpointSliceList", "discovery.k8s.io/v1")
    assert found["metadata"]["resourceVersion"].isdigit()
    [item] = found["items"]
    assert "kind" not in item and "apiVersion" not in item
    assert {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
            "managedFields"} <= item["metadata"].keys()


def test_empty_list(target: Target) -> None:
    assert target.client.list(target.slices)["items"] == []


def test_list_shows_its_own_namespace_only(target: Target) -> None:
    target.put_slice("one")
    other = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    assert "one" not in names(target.client.list(other)["items"])
    everywhere = target.client.list("/apis/discovery.k8s.io/v1/endpointslices")["items"]
    assert (target.namespace, "one") in [(i["metadata"]["namespace"], i["metadata"]["name"]) for i in everywhere]


@pytest.mark.parametrize("selector,expected", [
    ("kubernetes.io/service-name=ing", ["a", "b"]),
    ("kubernetes.io/service-name==other", ["c"]),
    ("kubernetes.io/service-name!=ing", ["c"]),
    ("kubernetes.io/service-name in (ing, other),zone", ["b"]),
    ("kubernetes.io/service-name notin (ing)", ["c"]),
    ("zone notin (2)", ["a", "b", "c"]),
    ("!zone", ["a", "c"]),
    ("zone=", []),
    ("", ["a", "b", "c"]),
])
def test_label_selector(target: Target, selector: str, expected: list[str]) -> None:
    target.put_slice("a")
    target.put_slice("b", labels={"zone": "1"})
    target.put_slice("c", service="other")
    assert names(target.client.list(target.slices, labelSelector=selector)["items"]) == expected


@pytest.mark.parametrize("selector,expected", [("metadata.name=b", ["b"]), ("metadata.name!=b", ["a", "c"]),
                                               ("metadata.name=no", [])])
def test_field_selector(target: Target, selector: str, expected: list[str]) -> None:
    for name in "abc":
        target.put_slice(name)
    assert names(target.client.list(target.slices, fieldSelector=selector)["items"]) == expected


def test_endpoints_carry_a_deprecation_warning(target: Target) -> None:
    target.put(build.endpoints("ing", [("10.244.0.1", "node-a")], namespace=target.namespace))
    answer = target.client.get(target.endpoints, fieldSelector="metadata.name=ing")
    assert answer.headers["Warning"].startswith("299 - ") and "deprecated" in answer.headers["Warning"]
    assert names(answer.json()["items"]) == ["ing"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_pages_hold_every_object_once(target: Target, limit: int) -> None:
    written = target.put_slices(5)
    page = target.client.list(target.slices, limit=limit)
    first_version, found, left = page["metadata"]["resourceVersion"], names(page["items"]), 5 - len(page["items"])
    while token := page["metadata"].get("continue"):
        assert len(page["items"]) == limit and page["metadata"]["remainingItemCount"] == left
        page = target.client.list(target.slices, **{"limit": limit, "continue": token})
        assert page["metadata"]["resourceVersion"] == first_version
        found += names(page["items"])
        left -= len(page["items"])
    assert found == written and left == 0


def test_selected_pages_name_no_remaining_count(target: Target) -> None:
    target.put_slices(3)
    page = target.client.list(target.slices, limit=2, labelSelector="kubernetes.io/service-name=ing")
    assert "continue" in page["metadata"] and "remainingItemCount" not in page["metadata"]


def test_later_pages_show_the_state_of_the_first(target: Target) -> None:
    written = target.put_slices(4)
    page = target.client.list(target.slices, limit=2)
    target.put_slice("slice-9")
    target.client.delete(target.slice_("slice-3"))
    rest = target.client.list(target.slices, **{"limit": 9, "continue": page["metadata"]["continue"]})
    assert names(page["items"]) + names(rest["items"]) == written


def test_version_zero_ignores_the_limit(target: Target) -> None:
    written = target.put_slices(3)
    target.client.list(target.slices)
    found = target.client.list(target.slices, limit=1, resourceVersion="0")
    assert names(found["items"]) == written and "continue" not in found["metadata"]


def test_continue_with_a_version_is_refused(target: Target) -> None:
    target.put_slices(2)
    meta = target.client.list(target.slices, limit=1)["metadata"]
    answer = target.client.get(target.slices, **{"continue": meta["continue"], "resourceVersion": meta["resourceVersion"]})
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("query,code,reason", [
    ({"continue": "nonsense"}, 400, "BadRequest"), ({"continue": "!!!"}, 400, "BadRequest"),
    ({"labelSelector": "!!"}, 400, "BadRequest"), ({"labelSelector": "a in"}, 400, "BadRequest"),
    ({"labelSelector": "a="}, 200, None), ({"labelSelector": "-a"}, 400, "BadRequest"),
    ({"fieldSelector": "spec.none=1"}, 400, "BadRequest"), ({"limit": "many"}, 400, "BadRequest"),
    ({"resourceVersion": "abc"}, 400, "BadRequest"), ({"resourceVersionMatch": "Exact"}, 422, "Invalid"),
    ({"sendInitialEvents": "true"}, 422, "Invalid"), ({"watch": "1", "resourceVersion": "abc"}, 500, None),
    ({"watch": "1", "sendInitialEvents": "true"}, 422, "Invalid"),
    ({"watch": "1", "resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}, 422, "Invalid"),
    ({"watch": "1", "timeoutSeconds": "soon"}, 400, "BadRequest"),
])
def test_refused_queries(target: Target, query: dict[str, str], code: int, reason: str | None) -> None:
    answer = target.client.get(target.slices, **query)
    assert answer.status == code, answer.text
    if code != 200:
        assert (answer.json()["kind"], answer.json()["code"], answer.json().get("reason")) == ("Status", code, reason)


def test_version_of_the_future_is_too_large(target: Target) -> None:
    answer = target.client.get(target.slices, resourceVersion="99999999")
    assert answer.status == 504 and answer.headers["Retry-After"] == "1"
    [cause] = answer.json()["details"]["causes"]
    assert cause["reason"] == "ResourceVersionTooLarge" and answer.json()["details"]["retryAfterSeconds"] == 1


def test_gzip_for_a_large_list_when_asked(target: Target) -> None:
    pad = {"example.com/pad": "x" * 150_000}
    tree = target.slice_("big")
    tree["metadata"]["annotations"] = pad
    target.put(tree)
    plain = target.client.call("GET", target.slices)
    packed = target.client.call("GET", target.slices, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers and len(plain.body) > 150_000
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < 15_000


def test_one_connection_serves_many_requests(target: Target) -> None:
    """Sent without waiting in between: what is asked early is not lost."""
    path = f"{target.slices}?limit=1"
    connection = connect(target.client.url, 20, target.client.tls)
    connection.connect()
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.client.token}\r\n"
    connection.sock.sendall((f"{head}\r\n" * 19 + f"{head}Connection: close\r\n\r\n").encode())
    got = b""
    while data := connection.sock.recv(65536):
        got += data
    connection.close()
    assert got.count(b"HTTP/1.1 200 OK") == got.count(b'"kind":"EndpointSliceList"') == 20


# --- single objects


def test_get_put_delete_of_one_object(target: Target) -> None:
    made = target.put_slice("one")
    path = f"{target.slices}/one"
    assert target.client.get(path).json() == made
    assert (made["kind"], made["metadata"]["namespace"], made["metadata"]["generation"]) == ("EndpointSlice", target.namespace, 1)
    again = target.client.call("POST", target.slices, target.slice_("one"))
    assert (again.status, again.json()["reason"]) == (409, "AlreadyExists")
    changed = target.put_slice("one", "10.244.0.9")
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["metadata"]["generation"] == 2
    stale = {**target.slice_("one"), "metadata": {**made["metadata"]}}
    conflict = target.client.call("PUT", path, stale)
    assert (conflict.status, conflict.json()["reason"]) == (409, "Conflict")
    gone = target.client.call("DELETE", path)
    assert (gone.status, gone.json()["status"], gone.json()["details"]["uid"]) == (200, "Success", made["metadata"]["uid"])
    missing = target.client.get(path)
    assert (missing.status, missing.json()["reason"], missing.json()["details"]["name"]) == (404, "NotFound", "one")


def test_writing_the_same_again_changes_no_version(target: Target) -> None:
    made = target.put_slice("one")
    assert target.put_slice("one")["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_status_of_a_node_is_written_apart(target: Target) -> None:
    name = target.namespace
    target.put(build.node(name, "10.9.0.1"))
    main = target.client.call("PUT", f"{NODES}/{name}", build.node(name, "10.9.0.2", labels={"a": "b"})).json()
    assert main["metadata"]["labels"]["a"] == "b" and main["status"]["addresses"][0]["address"] == "10.9.0.1"
    status = target.client.call("PUT", f"{NODES}/{name}/status", build.node(name, "10.9.0.3")).json()
    assert status["status"]["addresses"][0]["address"] == "10.9.0.3"


def test_merge_patch(target: Target) -> None:
    target.put_slice("one")
    answer = target.client.call("PATCH", f"{target.slices}/one", {"metadata": {"labels": {"a": "b"}}},
                                {"Content-Type": "application/merge-patch+json"})
    assert answer.json()["metadata"]["labels"] == {"kubernetes.io/service-name": "ing", "a": "b"}


@pytest.mark.parametrize("path", ["/apis/discovery.k8s.io/v9/endpointslices", "/api/v1/nonsense"])
def test_unknown_resources_are_404_with_a_status(target: Target, path: str) -> None:
    answer = target.client.get(path)
    assert (answer.status, answer.json()["reason"]) == (404, "NotFound")


def test_wrong_token_is_401(target: Target) -> None:
    stranger = KubernetesClient(target.client.url, "wrong")
    stranger.tls = target.client.tls
    answer = stranger.get(target.slices)
    assert (answer.status, answer.json()["reason"]) == (401, "Unauthorized")


def test_no_token_is_403(target: Target) -> None:
    stranger = KubernetesClient(target.client.url)
    stranger.tls = target.client.tls
    answer = stranger.get(target.slices)
    assert (answer.status, answer.json()["reason"]) == (403, "Forbidden")
    assert answer.json()["details"] == {"group": "discovery.k8s.io", "kind": "endpointslices"}
    assert stranger.get("/version").json()["major"] == "1"


# --- watches


def test_watch_from_a_version_shows_what_came_after_it(target: Target) -> None:
    target.put_slice("before")
    version = target.version()
    target.put_slice("after")
    with target.client.watch(target.slices, resourceVersion=version) as watch:
        assert watch.status == 200 and watch.headers["Content-Type"] == "application/json"
        first = watch.event()
        assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "after")
        assert (first["object"]["kind"], first["object"]["apiVersion"]) == ("EndpointSlice", "discovery.k8s.io/v1")


def test_watch_shows_changes_in_order_with_rising_versions(target: Target) -> None:
    with target.client.watch(target.slices, resourceVersion=target.version()) as watch:
        target.put_slice("one")
        target.put_slice("one", "10.244.0.7")
        target.client.delete(target.slice_("one"))
        events = [watch.event() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[1]["object"]["endpoints"][0]["addresses"] == events[2]["object"]["endpoints"][0]["addresses"] == ["10.244.0.7"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert len({event["object"]["metadata"]["uid"] for event in events}) == 1


def test_the_same_name_again_is_another_uid(target: Target) -> None:
    with target.client.watch(target.slices, resourceVersion=target.version()) as watch:
        target.put_slice("one")
        target.client.delete(target.slice_("one"))
        target.put_slice("one")
        events = [watch.event() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "DELETED", "ADDED"]
    assert events[0]["object"]["metadata"]["uid"] != events[2]["object"]["metadata"]["uid"]


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
def test_watch_without_a_version_begins_with_what_is_there(target: Target, query: dict[str, str]) -> None:
    target.put_slice("one")
    target.version()
    with target.client.watch(target.slices, timeoutSeconds="20", **query) as watch:
        assert watch.until("one")["type"] == "ADDED"
        target.put_slice("two")
        assert watch.until("two")["type"] == "ADDED"


def test_a_selector_turns_leaving_into_deleted_and_entering_into_added(target: Target) -> None:
    target.put_slice("one")
    with target.client.watch(target.slices, labelSelector="kubernetes.io/service-name=ing",
                             resourceVersion=target.version()) as watch:
        target.put_slice("one", service="other")
        gone = watch.event()
        target.put_slice("one", "10.244.0.8", service="other")
        target.put_slice("one", "10.244.0.9")
        back = watch.event()
    assert (gone["type"], back["type"]) == ("DELETED", "ADDED")
    assert gone["object"]["metadata"]["labels"]["kubernetes.io/service-name"] == "ing"
    assert int(back["object"]["metadata"]["resourceVersion"]) > int(gone["object"]["metadata"]["resourceVersion"])
    assert back["object"]["endpoints"][0]["addresses"] == ["10.244.0.9"]


def test_a_field_selector_watches_one_name(target: Target) -> None:
    with target.client.watch(target.slices, fieldSelector="metadata.name=two", resourceVersion=target.version()) as watch:
        target.put_slice("one")
        target.put_slice("two")
        assert watch.event()["object"]["metadata"]["name"] == "two"


def test_a_watch_ends_in_good_order_at_its_timeout(target: Target) -> None:
    with target.client.watch(target.slices, resourceVersion=target.version(), timeoutSeconds="1") as watch:
        assert watch.status == 200 and watch.rest() == []


def test_a_watch_from_the_future_waits(target: Target) -> None:
    with target.client.watch(target.slices, resourceVersion="99999999", timeoutSeconds="1") as watch:
        target.put_slice("one")
        assert watch.status == 200 and watch.rest() == []


def test_a_watch_is_never_compressed(target: Target) -> None:
    answer = target.client.call("GET", f"{target.slices}?watch=1&resourceVersion={target.version()}&timeoutSeconds=1",
                                headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200 and "Content-Encoding" not in answer.headers


# --- streaming lists


def test_streaming_list(streaming: Target) -> None:
    for name in ("b", "a"):
        streaming.put_slice(name)
    with streaming.client.streaming_list(streaming.slices) as watch:
        objects, end = watch.initial()
        assert names(objects) == ["a", "b"]
        assert end["type"] == "BOOKMARK" and end["object"]["kind"] == "EndpointSlice"
        assert int(end["object"]["metadata"]["resourceVersion"]) >= max(int(o["metadata"]["resourceVersion"]) for o in objects)
        streaming.put_slice("c")
        assert watch.until("c")["type"] == "ADDED"
        streaming.client.delete(streaming.slice_("a"))
        assert watch.until("a")["type"] == "DELETED"


def test_streaming_list_of_nothing_is_the_bookmark_alone(streaming: Target) -> None:
    with streaming.client.streaming_list(streaming.slices) as watch:
        assert watch.initial()[0] == []


def test_streaming_list_heeds_its_selector(streaming: Target) -> None:
    streaming.put_slice("one")
    streaming.put_slice("two", service="other")
    with streaming.client.streaming_list(streaming.slices, labelSelector="kubernetes.io/service-name=other") as watch:
        assert names(watch.initial()[0]) == ["two"]


def test_streaming_list_is_as_new_as_the_version_asked_for(streaming: Target) -> None:
    version = streaming.put_slice("one")["metadata"]["resourceVersion"]
    with streaming.client.streaming_list(streaming.slices, resourceVersion=version) as watch:
        objects, end = watch.initial()
        assert names(objects) == ["one"] and int(end["object"]["metadata"]["resourceVersion"]) >= int(version)


def test_a_watch_from_the_end_bookmark_goes_on_without_a_gap(streaming: Target) -> None:
    with streaming.client.streaming_list(streaming.slices) as watch:
        version = watch.initial()[1]["object"]["metadata"]["resourceVersion"]
    streaming.put_slice("one")
    with streaming.client.watch(streaming.slices, resourceVersion=version) as watch:
        assert watch.event()["object"]["metadata"]["name"] == "one"


def test_streaming_list_without_bookmarks_has_no_end(streaming: Target) -> None:
    streaming.put_slice("one")
    with streaming.client.watch(streaming.slices, sendInitialEvents="true", resourceVersionMatch="NotOlderThan",
                                timeoutSeconds="1") as watch:
        assert [event["type"] for event in watch.rest()] == ["ADDED"]


def test_initial_events_can_be_declined(streaming: Target) -> None:
    streaming.put_slice("one")
    with streaming.client.watch(streaming.slices, sendInitialEvents="false", resourceVersionMatch="NotOlderThan") as watch:
        streaming.put_slice("two")
        assert watch.event()["object"]["metadata"]["name"] == "two"


def test_streaming_list_of_the_future_is_an_error_event(streaming: Target) -> None:
    with streaming.client.streaming_list(streaming.slices, resourceVersion="99999999") as watch:
        assert watch.status == 200
        [event] = watch.rest()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_streaming_list_over_an_old_etcd(without_streaming: Target) -> None:
    with without_streaming.client.streaming_list(without_streaming.slices) as watch:
        assert watch.status == 200
        [event] = watch.rest()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 500, "InternalError")
    assert "RequestWatchProgress" in event["object"]["message"]

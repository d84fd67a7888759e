"""Every fault that the Kubernetes double offers does what it says: a test that relies on one must not pass for want of it."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from tests.conformance.kubernetes_client import KubernetesClient, Stream
from tests.harness import objects as build
from tests.harness.http import connect
from tests.harness.kube import KubeDouble
from tests.harness.process import wait_until


NODES = "/api/v1/nodes"
QUIET_S = 0.3
"""How long nothing has to come before it counts as silence."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeDouble]:
    with KubeDouble(tmp_path_factory.mktemp("double"), token="t") as double:
        yield double


@pytest.fixture
def double(started: KubeDouble) -> KubeDouble:
    """Three nodes, no faults, as if just started."""
    started.clear_faults()
    started.disconnect()
    started.restore({"resourceVersion": 100, "items": []})
    started.control("PUT", "/access", {"tokens": {"t": "admin"}, "forbidden": []})
    started.settings(streamingLists=True, etcd="3.6", freshWaitSeconds=0.1, bookmarkIntervalSeconds=60)
    started.put(*(build.node(f"node-{i}", f"10.0.0.{i}") for i in range(3)))
    return started


@pytest.fixture
def client(double: KubeDouble) -> KubernetesClient:
    return KubernetesClient(double.url, "t")


def silent(watch: Stream) -> bool:
    """Nothing comes, neither data nor an end."""
    try:
        watch.line(QUIET_S)
    except TimeoutError:
        return True
    return False


def raw_exchange(double: KubeDouble, path: str) -> bytes:
    """Everything that the server sends for one request, headers and framing included."""
    with socket.create_connection(("127.0.0.1", double.port), timeout=20) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nConnection: close\r\n\r\n".encode())
        got = b""
        while b"0\r\n\r\n" not in got:
            got += s.recv(65536)
    return got


def test_status_with_retry_after_hits_once(double: KubeDouble, client: KubernetesClient) -> None:
    fault = double.fault(resource="nodes", verb="list", status=429, retryAfter=7, message="slow down")
    answer = client.get(NODES)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
    assert (answer.json()["reason"], answer.json()["message"]) == ("TooManyRequests", "slow down")
    assert answer.json()["details"]["retryAfterSeconds"] == 7
    assert client.get(NODES).status == 200
    assert [(f["id"], f["hits"]) for f in double.faults()] == [(fault, 1)]
    assert [r["fault"] for r in double.requests("nodes")][-2:] == [fault, 0]


def test_only_the_matching_request_is_hit(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(resource="nodes", verb="resume", nth=2, status=503)
    version = client.list(NODES)["metadata"]["resourceVersion"]
    assert client.get("/api/v1/services").status == 200
    codes = []
    for _ in range(3):
        with client.watch(NODES, resourceVersion=version, timeoutSeconds="1") as watch:
            codes.append(watch.status)
    with client.streaming_list(NODES) as watch:
        codes.append(watch.status)
    assert codes == [200, 503, 200, 200]


def test_times_zero_hits_until_it_is_removed(double: KubeDouble, client: KubernetesClient) -> None:
    fault = double.fault(times=0, status=500)
    assert [client.get(NODES).status for _ in range(3)] == [500, 500, 500]
    double.control("DELETE", f"/faults/{fault}")
    assert client.get(NODES).status == 200


def test_tokens_change_under_a_running_watch(double: KubeDouble, client: KubernetesClient) -> None:
    with client.streaming_list(NODES) as watch:
        watch.initial()
        double.tokens(new="admin")
        assert client.get(NODES).status == 401
        double.put(build.node("late", "10.0.0.9"))
        assert watch.until("late")["type"] == "ADDED"
    client.token = "new"
    assert client.get(NODES).status == 200


def test_forbidden_resource(double: KubeDouble, client: KubernetesClient) -> None:
    double.forbid("endpointslices")
    answer = client.get("/apis/discovery.k8s.io/v1/namespaces/x/endpointslices")
    assert answer.status == 403 and 'cannot list resource "endpointslices"' in answer.json()["message"]
    assert client.get(NODES).status == 200
    double.forbid()
    assert client.get("/apis/discovery.k8s.io/v1/namespaces/x/endpointslices").status == 200


def test_streaming_lists_switched_off(double: KubeDouble, client: KubernetesClient) -> None:
    double.settings(streamingLists=False)
    with client.streaming_list(NODES) as watch:
        assert watch.status == 422
    assert client.get(NODES).status == 200


def test_streaming_list_refused_by_a_fault(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="streaming-list", status=422, times=0)
    with client.streaming_list(NODES) as watch:
        assert watch.status == 422 and json.loads(watch.answer.read())["reason"] == "Invalid"
    assert client.get(NODES).status == 200


@pytest.mark.parametrize("code,reason", [(410, "Expired"), (429, "TooManyRequests"), (500, "InternalError")])
def test_error_event_ends_the_stream(double: KubeDouble, client: KubernetesClient, code: int, reason: str) -> None:
    double.fault(verb="watch", error={"code": code, "message": "asked for", "retryAfter": 3}, afterEvents=2)
    with client.streaming_list(NODES) as watch:
        events = watch.rest()
    assert [event["type"] for event in events] == ["ADDED", "ADDED", "ERROR"]
    error = events[2]["object"]
    assert (error["kind"], error["code"], error["reason"]) == ("Status", code, reason)
    assert error["details"]["retryAfterSeconds"] == 3


def test_stall_keeps_the_socket_and_says_nothing(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", stall=True, initialEnd="after")
    with client.streaming_list(NODES) as watch:
        watch.initial()
        double.put(build.node("late", "10.0.0.9"))
        assert silent(watch)
        assert double.open_watches("nodes")
    wait_until(lambda: not double.open_watches("nodes"), 10, "the double to notice that the client has gone")


def test_stall_at_once(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", stall=True)
    with client.streaming_list(NODES) as watch:
        assert watch.status == 200 and silent(watch)


def test_hang_before_the_headers(double: KubeDouble) -> None:
    double.fault(verb="list", hang=True)
    connection = connect(double.url, QUIET_S)
    connection.request("GET", NODES, headers={"Authorization": "Bearer t"})
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()


@pytest.mark.parametrize("how,error", [("fin", http.client.IncompleteRead), ("reset", ConnectionResetError)])
@pytest.mark.parametrize("when,lines", [("before", 3), ("after", 4)])
def test_cut_around_the_end_of_the_initial_list(double: KubeDouble, client: KubernetesClient, how: str, error: type,
                                                when: str, lines: int) -> None:
    double.fault(verb="watch", cut=how, initialEnd=when)
    with client.streaming_list(NODES) as watch:
        got = []
        with pytest.raises(error):
            while line := _line_or_raise(watch):
                got.append(line)
    if how == "fin":
        assert len(got) == lines
        assert (b"initial-events-end" in got[-1]) == (when == "after")


def _line_or_raise(watch: Stream) -> bytes:
    """http.client reports a cut only to read(): a line at a time by it."""
    line = b""
    while not line.endswith(b"\n"):
        piece = watch.answer.read(1)
        if not piece:
            return line
        line += piece
    return line


def test_clean_cut_is_a_good_end_too_early(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", cut="clean", afterEvents=1)
    with client.streaming_list(NODES) as watch:
        assert [event["type"] for event in watch.rest()] == ["ADDED"]


def test_cut_within_a_line(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", cut="clean", afterBytes=100)
    with client.streaming_list(NODES) as watch:
        assert len(watch.answer.read()) == 100


@pytest.mark.parametrize("sizes", [1, 7, [1, 3, 500]])
def test_split_changes_the_framing_and_nothing_else(double: KubeDouble, client: KubernetesClient, sizes: object) -> None:
    plain = client.call("GET", NODES).body
    double.fault(verb="list", split=sizes)
    wire = raw_exchange(double, NODES)
    head, _, body = wire.partition(b"\r\n\r\n")
    pieces = []
    while body:
        size, _, body = body.partition(b"\r\n")
        pieces.append(body[:int(size, 16)])
        body = body[int(size, 16) + 2:]
    assert b"Transfer-Encoding: chunked" in head and b"".join(pieces) == plain
    turn = [sizes] if isinstance(sizes, int) else sizes
    assert [len(p) for p in pieces[:2]] == [turn[0], turn[1 % len(turn)]]  # type: ignore[index]


def test_split_of_a_watch(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", split=1)
    with client.streaming_list(NODES) as watch:
        assert len(watch.initial()[0]) == 3
        double.put(build.node("late", "10.0.0.9"))
        assert watch.until("late")["type"] == "ADDED"


def test_a_line_of_megabytes(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", pad=2_000_000)
    with client.streaming_list(NODES) as watch:
        lines = [watch.line() for _ in range(4)]
    assert len(lines[0]) > 2_000_000 > len(lines[1])
    assert json.loads(lines[0])["object"]["metadata"]["name"] == "node-0"


def test_a_list_with_a_huge_item(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="list", pad=2_000_000)
    found = client.list(NODES)
    assert len(found["items"]) == 3 and len(json.dumps(found["items"][0])) > 2_000_000


def test_truncated_json_in_a_good_answer(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="list", cut="clean", afterBytes=150)
    answer = client.get(NODES)
    assert answer.status == 200 and len(answer.body) == 150
    with pytest.raises(ValueError):
        answer.json()


def test_anything_can_be_inserted(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="watch", insert='{"type":"ADDED","object":{"kind":"Node","metadata":{"name":5}}}\n', afterEvents=1)
    with client.streaming_list(NODES) as watch:
        events = [watch.event() for _ in range(5)]
    assert events[1]["object"]["metadata"] == {"name": 5}
    assert [event["type"] for event in events] == ["ADDED", "ADDED", "ADDED", "ADDED", "BOOKMARK"]


def test_bytes_can_be_inserted(double: KubeDouble) -> None:
    """In the encoding that was asked for, whatever the client accepts."""
    double.fault(verb="watch", insertBase64="/////w==", encoding="protobuf", cut="clean")
    said = raw_exchange(double, f"{NODES}?watch=1")
    assert b"Content-Type: application/vnd.kubernetes.protobuf;stream=watch" in said and b"\r\n4\r\n\xff\xff\xff\xff\r\n0\r\n" in said


def test_html_and_an_empty_body(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="list", status=200, body="<html>Please log in</html>", contentType="text/html")
    double.fault(verb="list", status=200, body="")
    html, empty = client.get(NODES), client.get(NODES)
    assert (html.headers["Content-Type"], html.text) == ("text/html", "<html>Please log in</html>")
    assert (empty.status, empty.body) == (200, b"")


def test_410_on_the_second_page(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="next-page", status=410)
    token = client.list(NODES, limit=1)["metadata"]["continue"]
    answer = client.get(NODES, **{"limit": 1, "continue": token})
    assert (answer.status, answer.json()["reason"]) == (410, "Expired")


def test_redirect(double: KubeDouble, client: KubernetesClient) -> None:
    double.fault(verb="list", redirect="http://192.0.2.1/api/v1/nodes")
    answer = client.get(NODES)
    assert (answer.status, answer.headers["Location"]) == (302, "http://192.0.2.1/api/v1/nodes")


def test_disconnect_ends_the_watches_of_one_resource(double: KubeDouble, client: KubernetesClient) -> None:
    with client.streaming_list(NODES) as nodes, client.streaming_list("/api/v1/services") as services:
        nodes.initial()
        services.initial()
        assert double.disconnect("nodes", "watch", "reset") == 1
        with pytest.raises(ConnectionResetError):
            nodes.answer.read(1)
        assert silent(services)


def test_refused_connections_and_running_ones(double: KubeDouble, client: KubernetesClient) -> None:
    with client.streaming_list(NODES) as watch:
        watch.initial()
        double.listening(False)
        with pytest.raises(ConnectionRefusedError):
            client.get(NODES)
        double.put(build.node("late", "10.0.0.9"))
        assert watch.until("late")["type"] == "ADDED"
        double.listening(True)
        assert client.get(NODES).status == 200


def test_compacted_versions_are_gone(double: KubeDouble, client: KubernetesClient) -> None:
    page = client.list(NODES, limit=1)["metadata"]
    double.put(build.node("late", "10.0.0.9"))
    double.compact()
    with client.watch(NODES, resourceVersion=page["resourceVersion"]) as watch:
        assert watch.status == 200
        [event] = watch.rest()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    answer = client.get(NODES, **{"limit": 1, "continue": page["continue"]})
    assert (answer.status, answer.json()["reason"]) == (410, "Expired")
    inconsistent = client.list(NODES, **{"limit": 9, "continue": answer.json()["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in inconsistent["items"]] == ["node-1", "node-2"]


def test_bookmarks_come_in_their_interval(double: KubeDouble, client: KubernetesClient) -> None:
    double.settings(bookmarkIntervalSeconds=0.1)
    with client.watch(NODES, resourceVersion="100", allowWatchBookmarks="true", fieldSelector="metadata.name=none") as watch:
        double.put(build.node("other", "10.0.0.8"))
        events = [watch.event(), watch.event()]
    assert [event["type"] for event in events] == ["BOOKMARK", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["resourceVersion"] == client.list(NODES)["metadata"]["resourceVersion"]


def test_restart_keeps_objects_and_forgets_history(double: KubeDouble, client: KubernetesClient) -> None:
    before = client.list(NODES)
    old = str(int(before["metadata"]["resourceVersion"]) - 1)
    double.restart()
    assert client.list(NODES) == before
    with client.watch(NODES, resourceVersion=old) as watch:
        assert watch.event()["object"]["code"] == 410


def test_the_journal_shows_what_was_asked(double: KubeDouble, client: KubernetesClient) -> None:
    since = max((entry["n"] for entry in double.requests()), default=0)
    client.list(NODES, limit=1)
    with client.streaming_list(NODES) as watch:
        watch.initial()
        [entry] = double.open_watches("nodes")
        assert (entry["status"], entry["events"], entry["token"]) == (200, 4, "t")
    wait_until(lambda: not double.open_watches(), 10, "the watch to be over")
    listed, watched = double.requests(since=since)
    assert (listed["verbs"], listed["query"]) == (["first-page", "list"], {"limit": "1"})
    assert watched["verbs"] == ["streaming-list", "watch"]


@pytest.mark.parametrize("spec,why", [
    ({"verb": "list"}, "a fault does one of"), ({"status": "500"}, "wrong type"), ({"status": 500, "verb": "lst"}, "none of"),
    ({"cut": "soft"}, "none of"), ({"stauts": 500}, "no field"), ({"stall": True, "initialEnd": "at"}, "neither"),
])
def test_a_fault_with_a_mistake_is_refused(double: KubeDouble, spec: dict[str, object], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        double.fault(**spec)

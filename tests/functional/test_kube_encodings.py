"""Protobuf from the API server that cannot be read: the last good servers stay, one warning says what and where, JSON is asked for and
what it says is followed. Where an answer is split and what a message says are tables in tests/unit/kube/protobuf; here it is the program."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.doubles.kubernetes import protobuf
from tests.harness import objects
from tests.harness.daemon import Daemon

from .rig import NAMESPACE, SERVICE, Rig
from .test_watch_faults import hurried, make_rig, resumed, running, still_follows

__all__ = ["make_rig"]  # a fixture

UNREADABLE = 'level=warn msg="protobuf of the Kubernetes API is unreadable; JSON is used for an hour"'
PROTOBUF = "application/vnd.kubernetes.protobuf"
HTML = "<html><title>Please log in</title></html>"
# What would be seen in HAProxy, were it believed.
WRONG = objects.slice_(f"{SERVICE}-1", SERVICE, [objects.endpoint("10.244.3.7", "n3")], namespace=NAMESPACE)


def envelope(raw: bytes, kind: str = "EndpointSlice", api_version: str = "discovery.k8s.io/v1") -> bytes:
    meta = protobuf.length_delimited(1, api_version.encode()) + protobuf.length_delimited(2, kind.encode())
    return protobuf.MAGIC + protobuf.length_delimited(1, meta) + protobuf.length_delimited(2, raw)


def message(version: str = "7", **more: Any) -> bytes:
    """WRONG, whole, by itself."""
    tree = {**WRONG, **more, "metadata": {**WRONG["metadata"], "resourceVersion": version, **more.get("metadata", {})}}
    return protobuf.bare("EndpointSlice", tree)


def event(raw: bytes, type_: str = "MODIFIED", **kind: str) -> bytes:
    return protobuf.of_event(type_, envelope(raw, **kind))


def nested(depth: int) -> bytes:
    """An unknown field's group in a group in a group."""
    return protobuf.varint(99 << 3 | 3) * depth + protobuf.varint(99 << 3 | 4) * depth
# What is sent within a watch of EndpointSlices, and what the one warning says of it.
WATCHED: dict[str, tuple[bytes, str]] = {
    "4 GiB": (b"\xff\xff\xff\xff", "at byte 4 of the answer: an object has 4294967295 bytes, at most 16777216 are accepted"),
    "a group in metadata": (event(protobuf.length_delimited(1, protobuf.length_delimited(1, b"web-1") + nested(3))),
                            r"at byte 4 of the answer: watch event of endpointslice: endpointslice web-1: metadata: protobuf: a group at offset \d+"),
    "another kind": (event(message(), kind="Gateway"), r'object is a \\"Gateway\\", not a EndpointSlice'),
}


def bad(bytes_: bytes, **more: Any) -> dict[str, Any]:
    return {"insertBase64": base64.b64encode(bytes_).decode(), "encoding": "protobuf", "stall": True, **more}


def accepts(rig: Rig, resource: str) -> list[str]:
    return [r["headers"]["accept"] for r in rig.kube.requests(resource)]


def said(daemon: Daemon) -> list[str]:
    return [line for line in daemon.log().splitlines() if UNREADABLE in line]


def one_warning(daemon: Daemon, resource: str, what: str) -> None:
    lines = said(daemon)
    assert len(lines) == 1, lines
    assert f" resource={resource} " in lines[0] and re.search(what, lines[0]), f"{lines[0]} does not say {what}"


def warnings(daemon: Daemon) -> list[str]:
    """But those of the connections that the test itself ends."""
    return [line for line in daemon.log().splitlines() if re.search("level=(warn|error)", line) and " reason=lost " not in line]


@pytest.mark.parametrize("bytes_, what", WATCHED.values(), ids=WATCHED)
def test_in_a_watch(rig: Rig, bytes_: bytes, what: str) -> None:
    daemon = running(rig)
    commits = rig.commits()
    rig.kube.fault(resource="endpointslices", verb="resume", **bad(bytes_))
    assert rig.kube.disconnect("endpointslices", "watch") == 1
    daemon.wait_log(re.escape(UNREADABLE))
    assert rig.servers() == {"n1", "sorry"} and rig.commits() == commits, "the last good servers stay"
    hurried(daemon, lambda: daemon.metrics().sum("relists_total", resource="endpointslices", reason="garbled") == 1, "a list")
    still_follows(rig)
    rig.wait_in_sync()
    one_warning(daemon, "endpointslices", what)
    assert warnings(daemon) == said(daemon)
    assert accepts(rig, "endpointslices")[2:] == ["application/json"], "a list in JSON comes next, and no other is needed"


LISTED: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "html": (lambda: {"status": 200, "body": HTML, "contentType": PROTOBUF}, "it does not begin as that of Kubernetes does; is there a proxy in between"),
    "an item of groups": (lambda: bad(envelope(protobuf.length_delimited(2, nested(3)), kind="EndpointSliceList")), r"list item of endpointslice: protobuf: a group at offset \d+"),
    "half of it": (lambda: {"encoding": "protobuf", "cut": "clean", "afterBytes": 120}, r"the answer ended after 120 bytes and \d objects, before it was complete"),
}


@pytest.mark.parametrize("fault, what", LISTED.values(), ids=LISTED)
def test_in_a_list(make_rig: Any, fault: Callable[[], dict[str, Any]], what: str) -> None:
    """A second list: the watch before it has expired."""
    rig = make_rig(streaming_lists=False)
    daemon = running(rig)
    commits = rig.commits()
    rig.kube.fault(resource="endpointslices", verb="resume", status=410)
    rig.kube.fault(resource="endpointslices", verb="first-page", **{"afterBytes": 0, **fault()})
    assert rig.kube.disconnect("endpointslices", "watch") == 1
    hurried(daemon, lambda: bool(said(daemon)), "the warning")
    assert rig.servers() == {"n1", "sorry"} and rig.commits() == commits, "the last good servers stay"
    hurried(daemon, daemon.ready, "contact")
    still_follows(rig)
    rig.wait_in_sync()
    one_warning(daemon, "endpointslices", what)
    assert accepts(rig, "endpointslices")[-2:] == ["application/json"] * 2


def test_whatever_is_asked_for(rig: Rig) -> None:
    """A proxy's page with that content type, in answer to JSON as well, until it is gone."""
    daemon = running(rig)
    commits = rig.commits()
    page = rig.kube.fault(times=0, status=200, body=HTML, contentType=PROTOBUF)
    rig.kube.disconnect()
    hurried(daemon, lambda: next(f for f in rig.kube.faults() if f["id"] == page)["hits"] > 12, "some pages")
    daemon.wait_not_ready("stale, the last good state is in use")
    assert rig.servers() == {"n1", "sorry"} and rig.commits() == commits, "the last good servers stay"
    rig.kube.clear_faults()
    hurried(daemon, daemon.ready, "contact")
    still_follows(rig)
    assert len(said(daemon)) == 1
    once_each = re.findall('msg="no contact with the Kubernetes API; keeping the last state" (resource=[a-z]+) reason=garbled', daemon.log())
    assert once_each and sorted(once_each) == sorted(set(once_each)), "each watch says it once"


def test_a_server_that_switches_between_list_and_watch(make_rig: Any) -> None:
    """Either encoding at any time: what an answer says it is decides."""
    rig = make_rig(streaming_lists=False)
    for verb, encoding in (("first-page", "json"), ("resume", "protobuf"), ("resume", "json"), ("resume", "protobuf"), ("first-page", "protobuf"), ("resume", "json")):
        rig.kube.fault(resource="endpointslices", verb=verb, encoding=encoding)
    daemon = running(rig)
    for nodes in ((1, 2), (2,), (3, 4)):
        rig.pods(*nodes)
        rig.wait_servers(*nodes)
        watch, = rig.kube.open_watches("endpointslices")
        rig.kube.disconnect("endpointslices", "watch", "fin")
        resumed(rig, "endpointslices", watch["n"])
    rig.kube.compact()
    rig.kube.fault(resource="endpointslices", verb="resume", status=410)
    rig.kube.disconnect("endpointslices", "watch")
    hurried(daemon, lambda: daemon.metrics().sum("relists_total", resource="endpointslices", reason="expired") >= 1, "a list")
    still_follows(rig)
    hurried(daemon, lambda: all(f["hits"] == 1 for f in rig.kube.faults()), "each answer to have been asked for")
    still_follows(rig)
    rig.wait_in_sync()
    assert not said(daemon) and set(accepts(rig, "endpointslices")) == {f"{PROTOBUF},application/json"}

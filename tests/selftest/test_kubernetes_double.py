"""The double against what a real kube-apiserver answered: every recorded request again, every body byte for byte."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.kubernetes_client import KubernetesClient
from tests.harness.kube import KubeDouble
from tests.harness.parts import needs
from tests.harness.process import ROOT


RECORDINGS = ROOT.parent / "shared" / "data" / "kubernetes"
VERSIONS = {"1.34-etcd-3.6": "3.6", "1.34-etcd-3.4": "3.4"}
LISTS = {"nodes-list.json": "Node", "slices-list.json": "EndpointSlice", "endpoints-list.json": "Endpoints",
         "services-list.json": "Service"}
FIRST_VERSION = 212
"""Of every recorded list."""


def recorded(version: str) -> list[Any]:
    index = RECORDINGS / version / "index.json"
    return json.loads(index.read_text()) if index.exists() else []


CASES = [pytest.param(version, entry, id=f"{version}-{entry['file']}") for version in VERSIONS for entry in recorded(version)]
recordings = needs("recordings (../shared/data/kubernetes)", RECORDINGS.exists())
NONE = pytest.param("", {}, id="none", marks=recordings)


@recordings
def test_recordings_are_whole() -> None:
    assert {version: len(recorded(version)) for version in VERSIONS} == {"1.34-etcd-3.6": 20, "1.34-etcd-3.4": 19}


def recorded_state(version: str) -> dict[str, Any]:
    """What the recorded cluster held, from its own lists."""
    items = []
    for file, kind in LISTS.items():
        found = json.loads((RECORDINGS / version / file).read_text())
        items += [{"kind": kind, "apiVersion": found["apiVersion"], **item} for item in found["items"]]
    return {"resourceVersion": FIRST_VERSION, "items": items}


@pytest.fixture(scope="module")
def doubles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], KubeDouble]]:
    """One double for each recording, put back into the recorded state whenever it is asked for."""
    with contextlib.ExitStack() as stack:
        started: dict[str, KubeDouble] = {}

        def get(version: str) -> KubeDouble:
            if version not in started:
                started[version] = stack.enter_context(KubeDouble(
                    tmp_path_factory.mktemp("double"), token="admintoken", low_token="lowtoken", etcd=VERSIONS[version]))
            started[version].restore(recorded_state(version))
            return started[version]
        yield get


@pytest.mark.parametrize("version,entry", CASES or [NONE])
def test_recorded(doubles, version: str, entry: dict[str, Any]) -> None:
    double = doubles(version)
    expected = (RECORDINGS / version / entry["file"]).read_bytes()
    path = prepare(double, entry)
    double.settings(freshWaitSeconds=0.1)
    client = KubernetesClient(double.url, entry["token"])
    with client.watch(path) as answer:
        assert answer.status == entry["status"]
        for name, value in entry["headers"].items():
            assert answer.headers[name] == value
        if entry["file"].endswith(".jsonl") and b'"BOOKMARK"' in expected:
            got = streamed(double, answer, expected)
        else:
            got = answer.answer.read()
    assert got == expected


def prepare(double: KubeDouble, entry: dict[str, Any]) -> str:
    """The cluster's state at the time of the request; the path, with a shorter wait where only time would pass."""
    file = entry["file"]
    if file == "watch-expired.jsonl":
        double.advance(216)
        double.compact(216)
    if file == "slices-streaming-list.jsonl":
        double.advance(218)
    if file == "watch-short.jsonl":
        double.advance(221)
        return entry["path"].replace("timeoutSeconds=2", "timeoutSeconds=1")
    if file == "nodes-watch-bookmarks.jsonl":
        double.advance(233)
        double.settings(bookmarkIntervalSeconds=0.1)
    return entry["path"]


def streamed(double: KubeDouble, answer: Any, expected: bytes) -> bytes:
    """As many lines as were recorded; what was a write then is made again as soon as the stream is as far."""
    got = b""
    for line in expected.splitlines(keepends=True):
        event = json.loads(line)
        tree = event["object"]
        if event["type"] == "DELETED":
            double.delete(tree)
        elif event["type"] != "BOOKMARK" and int(tree["metadata"]["resourceVersion"]) > 218:
            double.put(tree)
        got += answer.line()
    return got

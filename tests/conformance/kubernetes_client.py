"""A plain client of a Kubernetes API, for the double and for a real kube-apiserver alike."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import ssl
from typing import Any
from urllib.parse import urlencode

from tests.doubles.kubernetes.objects import resource_of
from tests.harness.http import Response, connect, request

Object = dict[str, Any]


class Stream:
    """A running watch, read event by event."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse):
        self.connection, self.answer = connection, answer
        self.status, self.headers = answer.status, answer.headers

    def line(self, timeout: float = 20.0) -> bytes:
        """The next line with its newline; nothing once the server has ended the watch."""
        if self.connection.sock is not None:
            self.connection.sock.settimeout(timeout)
        return self.answer.readline()

    def event(self, timeout: float = 20.0) -> Object:
        line = self.line(timeout)
        assert line, "the watch ended where an event was expected"
        return json.loads(line)

    def until(self, name: str, type_: str = "", timeout: float = 20.0) -> Object:
        """The next event of the object with that name (and of that type); bookmarks and others are passed over."""
        while True:
            event = self.event(timeout)
            if event["object"]["metadata"].get("name") == name and type_ in ("", event["type"]):
                return event

    def rest(self, timeout: float = 20.0) -> list[Object]:
        """Every event up to the server's end of the watch."""
        events = []
        while line := self.line(timeout):
            events.append(json.loads(line))
        return events

    def initial(self) -> tuple[list[Object], Object]:
        """A streaming list: the objects and the bookmark that ends them."""
        objects = []
        while True:
            event = self.event()
            if event["object"]["metadata"].get("annotations", {}).get("k8s.io/initial-events-end") == "true":
                return objects, event
            assert event["type"] == "ADDED", event
            objects.append(event["object"])

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self.connection.close()


class KubernetesClient:
    def __init__(self, url: str, token: str | None = None, ca: os.PathLike[str] | str | None = None):
        self.url, self.token = url, token
        self.tls = ssl.create_default_context(cadata=pathlib.Path(ca).read_text()) if ca else None

    def _headers(self, headers: dict[str, str] | None = None) -> dict[str, str]:
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Accept": "application/json", **bearer, **(headers or {})}

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Response:
        return request(self.url, method, path, body, headers=self._headers(headers), tls=self.tls, timeout=30)

    def get(self, path: str, **query: Any) -> Response:
        return self.call("GET", _with(path, query))

    def list(self, path: str, **query: Any) -> Object:
        answer = self.get(path, **query)
        assert answer.status == 200, answer.text
        return answer.json()

    def watch(self, path: str, **query: Any) -> Stream:
        connection = connect(self.url, 30, self.tls)
        connection.request("GET", _with(path, {"watch": "1", **query} if query else {}), headers=self._headers())
        return Stream(connection, connection.getresponse())

    def streaming_list(self, path: str, **query: Any) -> Stream:
        return self.watch(path, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true",
                          **query)

    def put(self, tree: Object) -> Object:
        """Creates or replaces, whatever the version, status included; the object as the server has it."""
        path = collection_of(tree)
        answer = self.call("POST", path, tree)
        if answer.status == 409:
            path = f"{path}/{tree['metadata']['name']}"
            answer = self.call("PUT", path, tree)
            if answer.status == 200 and resource_of(tree).has_status:
                answer = self.call("PUT", f"{path}/status", tree)
        assert answer.status in (200, 201), answer.text
        return answer.json()

    def delete(self, tree: Object) -> None:
        answer = self.call("DELETE", f"{collection_of(tree)}/{tree['metadata']['name']}")
        assert answer.status in (200, 404), answer.text


def collection_of(tree: Object) -> str:
    return resource_of(tree).path(tree["metadata"].get("namespace", ""))


def _with(path: str, query: dict[str, Any]) -> str:
    return f"{path}?{urlencode(query)}" if query else path

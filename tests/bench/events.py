"""When each change of an EndpointSlice comes out of the API server: a watch of our own beside the controller's."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import socket
import ssl
import threading
import time
import urllib.parse


class EventWatch:
    """resourceVersion -> time.monotonic() of its event. A thread: the bench's own process has nothing to do meanwhile."""

    def __init__(self, url: str, namespace: str, ca: pathlib.Path | None, token: str):
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        if parts.scheme == "https":
            tls = ssl.create_default_context(cafile=str(ca))
            self._connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, context=tls)
        else:
            self._connection = http.client.HTTPConnection(host, port)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?watch=1&timeoutSeconds=600"
        self._arrived: dict[str, float] = {}
        self._changed = threading.Condition()

    def __enter__(self) -> "EventWatch":
        self._connection.request("GET", self._path, headers=self._headers)
        self._socket = self._connection.sock
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            raise OSError(f"GET {self._path}: {self._answer.status}")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def _read(self) -> None:
        try:
            while line := self._answer.readline():
                at = time.monotonic()
                version = json.loads(line)["object"]["metadata"]["resourceVersion"]
                with self._changed:
                    self._arrived[version] = at
                    self._changed.notify_all()
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # its end

    def time_of(self, version: str) -> float:
        with self._changed:
            if not self._changed.wait_for(lambda: version in self._arrived, 10):
                raise AssertionError(f"no event of resourceVersion {version} within 10 s")
            return self._arrived[version]

    def __exit__(self, *_: object) -> None:
        # Not close(): that waits for the thread that reads.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._connection.close()

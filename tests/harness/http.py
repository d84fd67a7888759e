"""One HTTP request to a TCP port, a TLS port or a unix socket, without a client's helpfulness."""

from __future__ import annotations

import base64
import dataclasses
import http.client
import json
import socket
import ssl
import urllib.parse
from typing import Any


@dataclasses.dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body) if self.body.strip() else None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self.unix_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix_path)


def connect(url: str, timeout: float = 20.0, tls: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    """`http://host:port`, `https://host:port` or `unix:/path`."""
    if url.startswith("unix:"):
        return _UnixConnection(url[5:], timeout)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=tls)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)


def request(url: str, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None,
            auth: str | None = None, content_type: str | None = None, timeout: float = 20.0,
            tls: ssl.SSLContext | None = None, connection: http.client.HTTPConnection | None = None) -> Response:
    """A dict or list is sent as JSON, text and bytes as they are (JSON too, unless content_type says otherwise)."""
    sent = dict(headers or {})
    if auth is not None:
        sent["Authorization"] = "Basic " + base64.b64encode(auth.encode()).decode()
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    if body is not None or content_type:
        sent.setdefault("Content-Type", content_type or "application/json")
    used = connection or connect(url, timeout, tls)
    try:
        used.request(method, path, body=body, headers=sent)
        answer = used.getresponse()
        return Response(answer.status, answer.headers, answer.read())
    finally:
        if connection is None:
            used.close()

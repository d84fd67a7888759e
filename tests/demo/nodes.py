"""The little backends that stand for the pods behind each node: each answers with its node's name."""

from __future__ import annotations

import http.server
import threading


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = self.server.node.encode() + b"\n"  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Traffic is counted where it starts."""


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """HAProxy's health checks connect and hang up: no news."""


class Backend:
    def __init__(self, node: str, address: str, port: int):
        self._server = _Server((address, port), _Handler)
        self._server.node = node  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

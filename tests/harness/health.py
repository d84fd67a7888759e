"""What kube-proxy serves at a Service's healthCheckNodePort: on each node 200 where it has a ready endpoint, 503 where not."""

from __future__ import annotations

import collections
import http.server
import threading
from collections.abc import Mapping


class HealthPort:
    """One port on several nodes (name -> loopback address); all are healthy at first. For `with`."""

    def __init__(self, nodes: Mapping[str, str], port: int):
        self.healthy = set(nodes)
        self.asked: collections.deque[tuple[str, str]] = collections.deque(maxlen=1000)
        """(node, "GET /healthz") of each request."""
        self._servers: list[http.server.ThreadingHTTPServer] = []
        try:
            for node, address in nodes.items():
                self._serve(node, address, port)
        except OSError:
            self.close()
            raise

    def _serve(self, node: str, address: str, port: int) -> None:
        healthy, asked = self.healthy, self.asked

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((node, f"{self.command} {self.path}"))
                self.send_response(200 if node in healthy else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_OPTIONS = do_GET

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer((address, port), Answer)
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> "HealthPort":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

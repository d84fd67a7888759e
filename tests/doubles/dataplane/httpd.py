"""HTTP/1.1 with keep-alive over TCP, TLS or a unix socket; where the faults do their work."""

from __future__ import annotations

import contextlib
import http.server
import math
import os
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .faults import Faults, Rule
from .web import Answer, Request

MAX_BODY = 64 * 1024 * 1024
PAGE = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>\n"
NO_HTTP = b"\x16\x03\x01\x00\xa5 this is no HTTP\r\n\x00\xff\r\n\r\n"


class RequestLog:
    """What was asked and answered, for GET /requests."""

    def __init__(self, path: str | None = None, limit: int = 20000):
        self.entries: list[dict[str, Any]] = []
        self.limit = limit
        self.lock = threading.Lock()
        self.under_way: list[threading.Event] = []
        self.file = open(path, "a", encoding="utf-8", buffering=1) if path else None

    def begin(self, request: Request) -> dict[str, Any]:
        entry: dict[str, Any] = {"time": time.time(), "method": request.method, "path": request.target,
                                 "body": request.body.decode(errors="replace"), "status": None,
                                 "host": request.headers.get("host", ""), **request.connection}
        with self.lock:
            self.entries = self.entries[-self.limit + 1:] + [entry]
        return entry

    @contextlib.contextmanager
    def carrying_out(self) -> Iterator[None]:
        """What it does to file and HAProxy may be seen from here on."""
        over = threading.Event()
        self.under_way.append(over)
        try:
            yield
        finally:
            self.under_way.remove(over)
            over.set()

    def told(self) -> list[dict[str, Any]]:
        """All entries; one whose effect can be seen has its status."""
        for over in list(self.under_way):
            over.wait(20)
        return list(self.entries)

    def end(self, entry: dict[str, Any], status: int | str) -> None:
        entry["status"] = status
        entry["ms"] = round((time.time() - entry["time"]) * 1000, 1)
        if self.file:
            self.file.write(f"{entry['method']} {entry['path']} -> {status} in {entry['ms']} ms\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: "Listener"
    entry: dict[str, Any]

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET

    def send_response(self, code: int, message: str | None = None) -> None:
        self.send_response_only(code, message)
        self.send_header("Date", self.date_time_string())

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def setup(self) -> None:
        self.disable_nagle_algorithm = self.server.address_family != socket.AF_UNIX
        super().setup()

    def _read_body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(64).split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline(8)
                if len(body) > MAX_BODY:
                    break
            self.rfile.readline(8)
            return body
        return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_BODY))

    def _connection(self) -> dict[str, Any]:
        """Which one it is, by the peer's port, and what TLS showed of the peer."""
        out: dict[str, Any] = {"connection": self.client_address[1]}
        if isinstance(self.connection, ssl.SSLSocket):
            subject = (self.connection.getpeercert() or {}).get("subject", ())
            out |= {"sni": getattr(self.connection, "asked_name", None), "tls": self.connection.version(),
                    "client": dict(pair for part in subject for pair in part).get("commonName")}
        return out

    def _serve(self) -> None:
        request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self._read_body())
        request.connection = self._connection()
        self.entry = entry = self.server.log.begin(request)
        status: int | str = "closed"
        try:
            status = self._obey(self.server.faults.match(request.method, request.target), request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            status = "peer gone"
        finally:
            self.server.log.end(entry, status)

    def _obey(self, rules: list[Rule], request: Request) -> int | str:
        for rule in rules:
            if rule.action == "delay":
                self.server.stopping.wait(rule.seconds)
        rule = next((r for r in rules if r.action != "delay"), None)
        if rule is None:
            return self._send(self._carry_out(request))
        if rule.apply:
            self._carry_out(request)
        return getattr(self, f"_fault_{rule.action}")(rule, request)

    def _carry_out(self, request: Request) -> Answer:
        with self.server.log.carrying_out():
            answer = self.server.answer(request)
            self.entry["status"] = answer.status
        return answer

    def _send(self, answer: Answer, cut: int | None = None, pause: float = 0.0, step: int = 0) -> int:
        body = answer.body()
        self.entry["status"] = answer.status  # before the client can know it
        self.send_response(answer.status)
        for name, value in answer.wire_headers().items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(body)))
        head = b"".join(self._headers_buffer) + b"\r\n"  # type: ignore[attr-defined]
        self._headers_buffer = []
        if self.command == "HEAD":
            body = b""
        data = head + body if cut is None else head + body[:cut]
        for start in range(0, len(data), step or len(data)):
            self.wfile.write(data[start:start + (step or len(data))])
            self.wfile.flush()
            if pause and self.server.stopping.wait(pause):
                break
        if cut is not None:
            self.close_connection = True
        return answer.status

    def _fault_answer(self, rule: Rule, _: Request) -> int:
        text = rule.body if isinstance(rule.body, str) else None
        answer = Answer(rule.status or 500, rule.body, dict(rule.headers), text, empty=rule.body is None)
        return self._send(answer)

    def _fault_rewrite(self, rule: Rule, request: Request) -> int:
        request.body = request.body.replace(rule.text[0].encode(), rule.text[1].encode(), 1)
        return self._send(self._carry_out(request))

    def _fault_lie(self, rule: Rule, request: Request) -> int:
        request.lie = rule.seconds or math.inf
        return self._send(self._carry_out(request))

    def _fault_close(self, rule: Rule, _: Request) -> str:
        if rule.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        return "closed"

    def _fault_truncate(self, rule: Rule, request: Request) -> int:
        return self._send(self._carry_out(request), cut=rule.bytes)

    def _fault_slow(self, rule: Rule, request: Request) -> int:
        return self._send(self._carry_out(request), pause=rule.seconds or 0.01, step=rule.bytes or 1)

    def _fault_garbage(self, _: Rule, __: Request) -> str:
        self.wfile.write(NO_HTTP)
        self.close_connection = True
        return "garbage"

    def _fault_html(self, rule: Rule, _: Request) -> int:
        return self._send(Answer(rule.status or 200, headers={"Content-Type": "text/html"}, text=PAGE.decode()))

    def _fault_huge(self, rule: Rule, _: Request) -> int:
        size = rule.bytes or 64 * 1024 * 1024
        self.send_response(rule.status or 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        left = size
        while left > 0:
            block = b'{"name":"x"},' * 1024
            self.wfile.write(block[:left] if left < size else (b"[" + block)[:left])
            left -= min(left, len(block) + (left == size))
        return rule.status or 200

    def _fault_hang(self, _: Rule, __: Request) -> str:
        self.connection.settimeout(0.2)
        while not self.server.stopping.is_set():
            try:
                if not self.connection.recv(4096):
                    break
            except TimeoutError:
                continue
        self.close_connection = True
        return "hung"


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """One listening socket; `where` is HOST:PORT or unix:PATH."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, where: str, answer: Callable[[Request], Answer], log: RequestLog, faults: Faults,
                 tls: ssl.SSLContext | None = None):
        self.answer = answer
        self.log = log
        self.faults = faults
        self.tls = tls
        self.stopping = threading.Event()
        if where.startswith("unix:"):
            self.address_family = socket.AF_UNIX
            address: Any = where[5:]
            if os.path.exists(address):
                os.unlink(address)
        else:
            host, _, port = where.rpartition(":")
            address = (host.strip("[]"), int(port))
            if ":" in address[0]:
                self.address_family = socket.AF_INET6
        super().__init__(address, Handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        return connection, address or ("unix", 0)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.tls:  # in the connection's own thread, so that a slow handshake holds up nobody else
            try:
                request.settimeout(10)
                request = self.tls.wrap_socket(request, server_side=True)
                request.settimeout(None)
            except OSError:
                return
        super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass

    def start(self) -> "Listener":
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()


def tls_context(cert: str, key: str, ca: str | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    def remember(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
        connection.asked_name = name

    context.sni_callback = remember
    if ca:
        context.load_verify_locations(ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context

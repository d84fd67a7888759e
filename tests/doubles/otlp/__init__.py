"""An OpenTelemetry collector for OTLP/HTTP in JSON: takes what is exactly as the specification has it, and can be made to misbehave.

What it is strict about: the mapping of ExportTraceServiceRequest to JSON (IDs in lower-case hex, 64-bit numbers as strings, enums as
numbers, no unknown field), that each span ends no sooner than it begins, and, by whole_traces, that a trace is a tree with one root
whose children lie within their parents."""

from __future__ import annotations

import dataclasses
import http.server
import json
import re
import ssl
import threading
from collections.abc import Callable
from typing import Any

NUMBER = re.compile(r"^(0|-?[1-9][0-9]*)$")


class Malformed(Exception):
    """What is not as the specification has it."""


def need(holds: object, what: str) -> None:
    if not holds:
        raise Malformed(what)


def fields(of: Any, where: str, needed: set[str], allowed: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    need(isinstance(of, dict), f"{where} is no object")
    need(needed <= of.keys() <= needed | allowed, f"{where} has the fields {sorted(of)}")
    return dict(of)


def number(text: Any, where: str, least: int = -2**63) -> int:
    need(isinstance(text, str) and NUMBER.match(text), f"{where} is no number in a string: {text!r}")
    need(least <= int(text) < 2**63, f"{where} is out of range: {text}")
    return int(text)


def identifier(text: Any, where: str, digits: int) -> str:
    need(isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", text) and text.strip("0"), f"{where} is no ID: {text!r}")
    return str(text)


def attributes(of: Any, where: str) -> dict[str, Any]:
    need(isinstance(of, list), f"{where} is no list")
    found: dict[str, Any] = {}
    for pair in of:
        key = fields(pair, where, {"key", "value"})["key"]
        need(isinstance(key, str) and key and key not in found, f"{where}: the key {key!r}")
        need(isinstance(pair["value"], dict) and len(pair["value"]) == 1, f"{where}: {key} has no one value")
        kind, value = next(iter(pair["value"].items()))
        if kind == "intValue":
            value = number(value, f"{where}: {key}")
        else:
            need({"stringValue": str, "boolValue": bool}.get(kind) is type(value), f"{where}: {key} is {kind} {value!r}")
        found[key] = value
    return found


@dataclasses.dataclass
class Span:
    trace: str
    id: str
    parent: str
    name: str
    begin: int
    end: int
    attributes: dict[str, Any]
    error: str | None  # None: it did not fail

    @staticmethod
    def of(got: Any) -> "Span":
        span = fields(got, "a span", {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"},
                      {"parentSpanId", "attributes", "status"})
        need(isinstance(span["name"], str) and span["name"], "a span has no name")
        need(type(span["kind"]) is int and 1 <= span["kind"] <= 5, f"kind {span['kind']!r}")
        status = fields(span.get("status", {}), "a status", set(), {"code", "message"})
        need(status.get("code", 0) in (0, 1, 2) and type(status.get("code", 0)) is int, f"status {status}")
        need("message" not in status or status.get("code") == 2, f"a message without an error: {status}")
        made = Span(identifier(span["traceId"], "traceId", 32), identifier(span["spanId"], "spanId", 16),
                    identifier(span["parentSpanId"], "parentSpanId", 16) if "parentSpanId" in span else "", span["name"],
                    number(span["startTimeUnixNano"], "startTimeUnixNano", 1), number(span["endTimeUnixNano"], "endTimeUnixNano", 1),
                    attributes(span.get("attributes", []), f"span {span['name']}"),
                    status.get("message", "") if status.get("code") == 2 else None)
        need(made.begin <= made.end, f"{made.name} ends before it begins")
        return made


def parse(body: bytes) -> tuple[dict[str, Any], list[Span]]:
    """The attributes of its resource, and its spans."""
    request = fields(json.loads(body), "the request", {"resourceSpans"})
    need(len(request["resourceSpans"]) == 1, "one resource is expected")
    of = fields(request["resourceSpans"][0], "resourceSpans", {"resource", "scopeSpans"})
    resource = attributes(fields(of["resource"], "resource", {"attributes"})["attributes"], "resource")
    spans = []
    for by in of["scopeSpans"]:
        scope = fields(fields(by, "scopeSpans", {"scope", "spans"})["scope"], "scope", {"name"}, {"version"})
        need(isinstance(scope["name"], str) and scope["name"], "the scope has no name")
        spans += [Span.of(span) for span in by["spans"]]
    need(spans, "there is no span in it")
    return resource, spans


class Trace:
    """All spans of one trace, once they are whole."""

    def __init__(self, spans: list[Span]):
        self.spans = sorted(spans, key=lambda s: (s.begin, s.end))
        by_id = {s.id: s for s in spans}
        need(len(by_id) == len(spans), "two spans have one ID")
        roots = [s for s in spans if not s.parent]
        need(len(roots) == 1, f"{len(roots)} roots: {[s.name for s in spans]}")
        self.root = roots[0]
        for s in spans:
            need(not s.parent or s.parent in by_id, f"{s.name} has a parent that did not come")
            need(not s.parent or (by_id[s.parent].begin <= s.begin and s.end <= by_id[s.parent].end), f"{s.name} is not within its parent")

    def names(self) -> list[str]:
        return [s.name for s in self.spans if s is not self.root]

    def named(self, name: str) -> list[Span]:
        return [s for s in self.spans if s.name == name]

    def result(self) -> str:
        return str(self.root.attributes.get("change.result", ""))


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Collector:
    """On a port of 127.0.0.1, until the end of `with`."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None):
        self.port = port
        self.tls = tls
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        self.spans: list[Span] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.problems: list[str] = []
        self.asked = 0
        self.answer: Answer | None = None  # instead of taking what comes
        self.over = threading.Event()
        self._lock = threading.Lock()

    def take(self, handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        with self._lock:
            self.asked += 1
            self.paths.append(handler.path)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            try:
                need(handler.headers["Content-Type"] == "application/json", f"Content-Type {handler.headers['Content-Type']}")
                resource, spans = parse(body)
            except (Malformed, ValueError, KeyError, TypeError) as e:
                self.problems.append(f"{e!r}: {body[:2000]!r}")
                reply(handler, 400, b"{}")
                return
            if self.answer is None:
                self.bodies.append(body)
                self.resources.append(resource)
                self.spans += spans
        if self.answer is not None:
            self.answer(handler)
        else:
            reply(handler, 200, b'{"partialSuccess":{}}')

    def traces(self) -> list[Trace]:
        """Those whose root has come, in the order of their beginnings; raises Malformed where one is no tree."""
        with self._lock:
            spans = list(self.spans)
        roots = [s for s in spans if not s.parent]
        made = [Trace([s for s in spans if s.trace == root.trace]) for root in roots]
        need(not self.problems, "; ".join(self.problems))
        return sorted(made, key=lambda t: t.root.begin)

    def __enter__(self) -> "Collector":
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                collector.take(self, self.rfile.read(int(self.headers.get("Content-Length", "0"))))

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # who was slow or vast is hung up on

        self.over.clear()
        self.server = Server(("127.0.0.1", self.port), Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def reply(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def silent(collector: Collector) -> Answer:
    return lambda handler: collector.over.wait() and None


def vast(collector: Collector) -> Answer:
    """A gigabyte."""
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(1 << 30))
        handler.end_headers()
        for _ in range(1024):
            if collector.over.is_set():
                return
            handler.wfile.write(b" " * (1 << 20))
    return answer


def slow(collector: Collector) -> Answer:
    """A byte now and then, never the last one."""
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not collector.over.wait(0.05):
            handler.wfile.write(b" ")
    return answer


def redirect(to: str) -> Answer:
    return lambda handler: reply(handler, 307, Location=to)

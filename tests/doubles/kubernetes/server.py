"""The API port: connections, routing, access, and the request journal."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import traceback
import uuid
from dataclasses import dataclass, field

from . import answer, lists, objectapi, protobuf, reviews
from .access import Access
from .encoding import encode
from .faults import Faults
from .http import MAX_HEAD, BadRequest, Request, Response, abort, read_request
from .journal import Entry, Journal
from .options import Options, parse
from .resources import Target, discovery, parse_path
from .status import ApiError
from .store import Store
from .version import VERSION
from .watches import Pace, Watch


@dataclass
class Api:
    """Everything that the API port answers from; the control port changes it."""

    store: Store
    journal: Journal
    access: Access = field(default_factory=Access)
    faults: Faults = field(default_factory=Faults)
    pace: Pace = field(default_factory=Pace)
    streaming_lists: bool = True
    etcd: str = "3.6"
    json_alone: bool = False
    """As an API server, or a proxy before it, that has no protobuf."""


@dataclass(eq=False)
class Connection:
    writer: asyncio.StreamWriter
    entry: Entry | None = None


class _Reader(asyncio.StreamReader):
    """Knows that the peer has gone without reading what a next request may already have brought."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop):
        super().__init__(limit, loop)
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


class Server:
    def __init__(self, api: Api):
        self.api = api
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._listen: tuple[str, int] = ("127.0.0.1", 0)
        self._tls: ssl.SSLContext | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        self._listen, self._tls = (host, port), tls
        await self.listen()
        return self._listen[1]

    async def listen(self) -> None:
        if self._server is None:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(
                lambda: asyncio.StreamReaderProtocol(_Reader(MAX_HEAD, loop), self._serve, loop), *self._listen, ssl=self._tls)
            self._listen = self._server.sockets[0].getsockname()[:2]

    def refuse(self) -> None:
        """New connections are refused from here on; those that are open stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def disconnect(self, resource: str = "", verb: str = "", how: str = "reset") -> int:
        """Ends the connections that are answering such a request (or are idle, when nothing is asked for)."""
        chosen = [c for c in self.connections if _concerns(c.entry, resource, verb)]
        for connection in chosen:
            abort(connection.writer, how)
        return len(chosen)

    async def _serve(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(writer)
        self.connections.add(connection)
        try:
            while (request := await read_request(reader)) is not None:
                if not await self._answer(connection, request, reader):
                    break
        except BadRequest as e:
            self.api.journal.say(f"bad request: {e}")
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except (ConnectionError, ssl.SSLError, asyncio.IncompleteReadError, answer.Cut):
            pass
        except Exception:
            self.api.journal.say("a bug in the double:\n" + traceback.format_exc())
        finally:
            self.connections.discard(connection)
            with contextlib.suppress(ConnectionError, ssl.SSLError, RuntimeError):
                writer.close()

    async def _answer(self, connection: Connection, request: Request, reader: _Reader) -> bool:
        """False when the connection is over. The peer's going away ends the answer, however long it would last."""
        peer = connection.writer.get_extra_info("peername")
        entry = self.api.journal.begin(request.method, request.path, request.query, request.headers, peer[1])
        connection.entry = entry
        response = Response(connection.writer, entry)
        work = asyncio.create_task(self._respond(request, response, entry))
        gone = asyncio.create_task(reader.gone.wait())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
            return not gone.done() and request.headers.get("connection", "").lower() != "close"
        finally:
            gone.cancel()
            connection.entry = None
            self.api.journal.end(entry)

    def _cannot_write(self, why: str) -> None:
        """A test's object that is wrong on purpose: from here on everything is JSON."""
        self.api.json_alone = True
        self.api.journal.say(f"cannot be written in protobuf, JSON from here on: {why}")

    async def _respond(self, request: Request, response: Response, entry: Entry) -> None:
        headers = {"Audit-Id": str(uuid.uuid4()), "Cache-Control": "no-cache, private", **answer.JSON}
        try:
            await self._route(request, response, entry, headers)
        except ApiError as e:
            body = e.body
            if answer.prefers_protobuf(request.headers.get("accept", "")) and not self.api.json_alone:
                headers["Content-Type"], body = protobuf.MEDIA_TYPE, protobuf.of_object("Status", "v1", e.status)
            await response.whole(e.code, {**headers, **e.headers}, body)

    async def _route(self, request: Request, response: Response, entry: Entry, headers: dict[str, str]) -> None:
        api = self.api
        target = parse_path(request.path)
        authorization = request.headers.get("authorization", "")
        entry.token = authorization.partition(" ")[2]
        options, refused = _options(request, target, api.streaming_lists)
        if target:
            entry.resource, entry.verbs = target.resource.plural, sorted(_verbs(request.method, target, options))
        fault = api.faults.pick(entry.resource, set(entry.verbs), entry.token)
        if fault:
            entry.fault = fault.id
            if await answer.refusal(response, fault):
                return
        user = api.access.user(authorization, _certificate_user(response.writer))
        if request.path in reviews.PATHS:
            code, body = reviews.answer(api.access, user, request)
            await response.whole(code, headers, body)
            return
        if target is None:
            await _unversioned(request, response, headers)
            return
        api.access.check(user, _verb(request.method, target, options), target)
        if request.method != "GET" or target.name:
            code, body = objectapi.answer(api.store, request, target)
            await response.whole(code, headers, body)
            return
        if refused:
            raise refused
        assert options
        if target.resource.deprecated:
            headers["Warning"] = f'299 - "{target.resource.deprecated}"'
        accept = request.headers.get("accept", "*/*")
        if not any(known in accept for known in ("json", protobuf.MEDIA_TYPE, "*/*")):
            raise ApiError(406, "only the following media types are accepted: application/json", "NotAcceptable", {})
        if options.must_be_fresh and (version := options.version()):
            await api.store.fresh(target.resource, version, api.etcd, api.pace.fresh_wait_s)
        encoding = "json" if api.json_alone else answer.chosen(accept, target.resource, fault)
        if options.watch:
            lines = Watch(api.store, target, options, api.etcd, api.pace).lines()
            if encoding == "protobuf":
                lines, headers["Content-Type"] = answer.in_protobuf(lines, self._cannot_write), protobuf.MEDIA_TYPE + ";stream=watch"
            await answer.send_watch(response, lines, headers, entry, fault)
            return
        head, shown = lists.listed(api.store, target, options, api.etcd)
        body = lists.in_json(head, shown)
        if encoding == "protobuf":
            try:
                body = iter([protobuf.of_list(head, [stored.to_write() for stored in shown])])
                headers["Content-Type"] = protobuf.MEDIA_TYPE
            except protobuf.CannotWrite as e:
                self._cannot_write(str(e))
        want_gzip = "gzip" in request.headers.get("accept-encoding", "")
        await answer.send_list(response, body, headers, want_gzip, fault)


def _concerns(entry: Entry | None, resource: str, verb: str) -> bool:
    if not resource and not verb:
        return True
    return (entry is not None and (not resource or entry.resource == resource)
            and (not verb or verb in entry.verbs))


def _options(request: Request, target: Target | None, streaming_lists: bool) -> tuple[Options | None, ApiError | None]:
    """Refusals wait until the request is known to be allowed, as on the real server."""
    if target is None:
        return None, None
    try:
        return parse(request.query, streaming_lists, target.resource.fields), None
    except ApiError as e:
        return None, e


def _verb(method: str, target: Target, options: Options | None) -> str:
    if method == "GET":
        return "get" if target.name else "watch" if options and options.watch else "list"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, method.lower())


def _verbs(method: str, target: Target, options: Options | None) -> set[str]:
    """What a fault can call this request."""
    verb = _verb(method, target, options)
    if verb == "watch" and options:
        return {"watch", "streaming-list" if options.initial_events else "resume"}
    if verb == "list" and options:
        return {"list", "next-page" if options.continue_token else "first-page"}
    return {verb}


def _certificate_user(writer: asyncio.StreamWriter) -> str:
    certificate = writer.get_extra_info("peercert") or {}
    names = {key: value for part in certificate.get("subject", ()) for key, value in part}
    return names.get("commonName", "")


async def _unversioned(request: Request, response: Response, headers: dict[str, str]) -> None:
    if request.path == "/version":
        await response.whole(200, headers, VERSION)
    elif request.path in ("/healthz", "/livez", "/readyz"):
        await response.whole(200, {**headers, "Content-Type": "text/plain; charset=utf-8"}, b"ok")
    elif (found := discovery(request.path)) is not None:
        await response.whole(200, headers, encode(found) + b"\n")
    elif request.path.startswith(("/api/", "/apis/")):
        raise ApiError(404, "the server could not find the requested resource", details={})
    else:
        await response.whole(404, {**headers, "Content-Type": "text/plain; charset=utf-8"}, b"404 page not found\n")

"""Just enough HTTP/1.1 to control every byte that leaves: requests in, responses with a length or in chunks out."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import http
import re
import socket
import struct
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024


class BadRequest(Exception):
    """What arrived is no HTTP request that can be answered; the connection ends."""


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    path: str = field(init=False)
    query: dict[str, str] = field(init=False)
    """The first of several values of one name, as the real server takes it."""

    def __post_init__(self) -> None:
        split = urllib.parse.urlsplit(self.target)
        self.path = urllib.parse.unquote(split.path)
        pairs = urllib.parse.parse_qsl(split.query, keep_blank_values=True)
        self.query = {}
        for name, value in pairs:
            self.query.setdefault(name, value)


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    """Up to the empty line. What does not begin with a request is refused at once, as a TLS hello may have no end of a line."""
    head = await reader.read(1)
    if head and not (head.isalpha() or head.isspace()):
        raise BadRequest(f"not an HTTP request: it begins with {head!r}")
    while not head.endswith(b"\r\n\r\n"):
        try:
            head += await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as e:
            if (head + e.partial).strip():
                raise BadRequest("the connection ended within a request's head") from None
            return b""
        except asyncio.LimitOverrunError:
            raise BadRequest(f"a request's head has more than {MAX_HEAD} bytes") from None
        if len(head) > MAX_HEAD:
            raise BadRequest(f"a request's head has more than {MAX_HEAD} bytes")
        first = head.partition(b"\n")[0]
        if not re.fullmatch(rb"\S+ \S+ HTTP/\d\.\d\r", first):
            raise BadRequest(f"not an HTTP request: {first.decode('latin-1')!r}")
    return head


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """None at a clean end of the connection."""
    head = await _read_head(reader)
    if not head:
        return None
    lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = lines[0].split(" ")
        headers = {name.strip().lower(): value.strip() for name, value in
                   (line.split(":", 1) for line in lines[1:] if line)}
        length = int(headers.get("content-length", "0"))
    except ValueError:
        raise BadRequest(f"not an HTTP request: {lines[0]!r}") from None
    if length > MAX_BODY:
        raise BadRequest(f"a body of {length} bytes")
    body = await reader.readexactly(length) if length else b""
    return Request(method, target, headers, body)


@dataclass(kw_only=True)
class Tally:
    """How far an answer got."""

    status: int = 0
    """0 while nothing was answered yet."""
    bytes: int = 0


class Response:
    """One answer on its way out; split, when set, cuts the body into pieces that leave one by one."""

    def __init__(self, writer: asyncio.StreamWriter, tally: Tally | None = None):
        self.writer = writer
        self.tally = tally or Tally()
        self.split: Callable[[bytes], Iterable[bytes]] | None = None
        self._chunked = False

    @property
    def started(self) -> bool:
        return self.tally.status != 0

    async def start(self, status: int, headers: dict[str, str], length: int | None = None) -> None:
        """Without a length the body is chunked."""
        self.tally.status, self._chunked = status, length is None
        phrase = http.HTTPStatus(status).phrase if status in http.HTTPStatus._value2member_map_ else "Unknown"
        lines = [f"HTTP/1.1 {status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"Date: {email.utils.formatdate(usegmt=True)}")
        lines.append("Transfer-Encoding: chunked" if self._chunked else f"Content-Length: {length}")
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        await self.writer.drain()

    async def write(self, data: bytes) -> None:
        for piece in self.split(data) if self.split else (data,):
            if not piece:
                continue
            self.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if self._chunked else piece)
            self.tally.bytes += len(piece)
            await self.writer.drain()
            if self.split:
                await asyncio.sleep(0)

    async def end(self) -> None:
        if self._chunked:
            self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def whole(self, status: int, headers: dict[str, str], body: bytes) -> None:
        await self.start(status, headers, len(body))
        await self.write(body)
        await self.end()


def abort(writer: asyncio.StreamWriter, how: str) -> None:
    """fin: an orderly close in the middle; reset: RST, so that the peer sees ECONNRESET."""
    sock = writer.get_extra_info("socket")
    if how == "reset" and sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()

"""A double of the SPIFFE Workload API, as a SPIRE agent serves it: FetchX509SVID and FetchX509Bundles over gRPC on a unix socket.
tests/conformance/test_workload_api.py holds it to a real one.

It runs in the process of the test. Its gRPC is that of Python's grpcio; the messages are built here byte by byte, so that a
test can send what no agent would. What even gRPC would not send, bytes of a broken stream, comes from broken.py."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc

SERVICE = "SpiffeWorkloadAPI"
HEADER = ("workload.spiffe.io", "true")
NOBODY = (grpc.StatusCode.PERMISSION_DENIED, "no identity issued")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def chunk(number: int, content: bytes | str) -> bytes:
    """A field of bytes, of text or of a message."""
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """What chunk() was called with, of a message that has nothing else."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        tag, length = varint(), varint()
        if tag & 7 != 2 or at + length > len(message):
            raise ValueError(f"no field of bytes before {at}")
        yield tag >> 3, message[at:at + length]
        at += length


@dataclass(frozen=True)
class Svid:
    """X509SVID: everything in DER."""

    spiffe_id: str
    chain: bytes
    key: bytes
    bundle: bytes
    hint: str = ""

    def message(self) -> bytes:
        return b"".join(chunk(n, content) for n, content in enumerate((self.spiffe_id, self.chain, self.key, self.bundle, self.hint), 1) if content)


def response(svids: Iterable[Svid], federated: Mapping[str, bytes] | None = None) -> bytes:
    """X509SVIDResponse."""
    return (b"".join(chunk(1, svid.message()) for svid in svids)
            + b"".join(chunk(3, chunk(1, domain) + chunk(2, bundle)) for domain, bundle in (federated or {}).items()))


def bundles(message: bytes) -> bytes:
    """X509BundlesResponse, of the bundles that an X509SVIDResponse has."""
    out = b""
    for number, content in fields(message):
        if number == 3:
            out += chunk(2, content)
        elif not out:
            svid = dict(fields(content))
            out = chunk(2, chunk(1, "/".join(svid[1].decode().split("/")[:3])) + chunk(2, svid[4]))
    return out


@dataclass
class _Now:
    """What every stream shows: a message or a refusal, and how often it was changed."""

    message: bytes | None = None
    refusal: tuple[grpc.StatusCode, str] | None = NOBODY
    version: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    open: int = 0


class Agent:
    """At first nobody is registered."""

    def __init__(self, socket: os.PathLike[str] | str):
        self.socket = pathlib.Path(socket)
        self._changed = threading.Condition()
        self._now = _Now()
        self._server: Any = None

    def start(self) -> "Agent":
        self.socket.unlink(missing_ok=True)
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {
            "FetchX509SVID": grpc.unary_stream_rpc_method_handler(lambda request, context: self._fetch(context, lambda message: message)),
            "FetchX509Bundles": grpc.unary_stream_rpc_method_handler(lambda request, context: self._fetch(context, bundles))}),))
        self._server.add_insecure_port(f"unix:{self.socket}")
        self._server.start()
        return self

    def stop(self) -> None:
        """Ends all streams; the socket goes, too."""
        if self._server is None:
            return
        server, self._server = self._server, None
        with self._changed:
            self._changed.notify_all()
        server.stop(grace=None).wait()
        self.socket.unlink(missing_ok=True)

    close = stop

    # --- what it says

    def give(self, message: bytes) -> None:
        self._set(message=message, refusal=None)

    def hold(self) -> None:
        """Streams wait for what is given next."""
        self._set(message=None, refusal=None)

    def forget(self) -> None:
        """Nobody is registered, as at first."""
        self._set(message=_Now.message, refusal=_Now.refusal)

    def refuse(self, code: grpc.StatusCode, text: str) -> None:
        """Streams that are open end with it, too."""
        self._set(message=None, refusal=(code, text))

    def _set(self, **what: Any) -> None:
        with self._changed:
            for name, value in what.items():
                setattr(self._now, name, value)
            self._now.version += 1
            self._changed.notify_all()

    # --- what it saw

    def requests(self) -> list[dict[str, str]]:
        """The metadata of each request."""
        with self._changed:
            return list(self._now.asked)

    def streams(self) -> int:
        with self._changed:
            return self._now.open

    def _fetch(self, context: grpc.ServicerContext, shape: Callable[[bytes], bytes]) -> Iterator[bytes]:
        metadata = [(name, str(value)) for name, value in context.invocation_metadata()]
        shown, server = -1, self._server
        with self._changed:
            self._now.asked.append(dict(metadata))
            self._now.open += 1
        try:
            # The security header is what keeps a server-side request forgery from an identity.
            if [value for name, value in metadata if name == HEADER[0]] != [HEADER[1]]:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "security header missing from request")
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._now.version != shown or not context.is_active() or server is not self._server, 0.2)
                    if not context.is_active() or server is not self._server:
                        context.abort(grpc.StatusCode.UNAVAILABLE, "the agent ends")
                    fresh, shown = self._now.version != shown, self._now.version
                    message, refusal = self._now.message, self._now.refusal
                if refusal is not None:
                    context.abort(*refusal)
                if fresh and message is not None:
                    yield shape(message)
        finally:
            with self._changed:
                self._now.open -= 1

"""A double of the SPIFFE Workload API, as a SPIRE agent serves it: FetchX509SVID over gRPC on a unix socket.

It runs in the process of the test. Its gRPC is that of Python's grpcio; the messages are built here byte by byte, so that a
test can send what no agent would. What even gRPC would not send, bytes of a broken stream, comes from broken.py."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import grpc

PATH = ("SpiffeWorkloadAPI", "FetchX509SVID")
HEADER = ("workload.spiffe.io", "true")


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


@dataclass
class _Now:
    """What every stream shows: a message or a refusal, and how often it was changed."""

    message: bytes | None = None
    refusal: tuple[grpc.StatusCode, str] | None = None
    version: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    open: int = 0


class Agent:
    """Without a message its streams wait."""

    def __init__(self, socket: os.PathLike[str] | str):
        self.socket = pathlib.Path(socket)
        self._changed = threading.Condition()
        self._now = _Now()
        self._server: Any = None

    def start(self) -> "Agent":
        self.socket.unlink(missing_ok=True)
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        service, method = PATH
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
            service, {method: grpc.unary_stream_rpc_method_handler(self._fetch)}),))
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

    def _fetch(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        metadata = {name: str(value) for name, value in context.invocation_metadata()}
        shown, server = -1, self._server
        with self._changed:
            self._now.asked.append(metadata)
            self._now.open += 1
        try:
            # The security header is what keeps a server-side request forgery from an identity.
            if request or metadata.get(HEADER[0]) != HEADER[1]:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "security header missing from request")
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._now.version != shown or not context.is_active() or server is not self._server, 0.2)
                    if not context.is_active() or server is not self._server:
                        return
                    fresh, shown = self._now.version != shown, self._now.version
                    message, refusal = self._now.message, self._now.refusal
                if refusal is not None:
                    context.abort(*refusal)
                if fresh and message is not None:
                    yield message
        finally:
            with self._changed:
                self._now.open -= 1

"""An agent that speaks HTTP/2 and no proper gRPC: it sends given bytes as the body of its answer, in given pieces, and then
leaves the stream open. Of HTTP/2 (RFC 9113) it has what one client on one stream needs."""

from __future__ import annotations

import os
import pathlib
import socket
import struct
import threading
import time
from collections.abc import Sequence

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS = 0, 1, 4
_ACK, _END_HEADERS, _END_STREAM = 1, 4, 1
# HPACK: ":status: 200" of the static table, then a name and a value as they are.
_HEAD = b"\x88" + b"".join(b"\x00" + bytes([len(n)]) + n + bytes([len(v)]) + v for n, v in [(b"content-type", b"application/grpc")])


def frame(message: bytes, compressed: int = 0, length: int | None = None) -> bytes:
    """A message with gRPC's five bytes in front of it; they may lie about its length."""
    return struct.pack(">BI", compressed, len(message) if length is None else length) + message


class BrokenAgent:
    def __init__(self, path: os.PathLike[str] | str, pieces: Sequence[bytes], pause: float = 0.0, end: bool = False):
        self.path, self.pieces, self.pause, self.end = pathlib.Path(path), pieces, pause, end
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX)

    def start(self) -> "BrokenAgent":
        self.path.unlink(missing_ok=True)
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def stop(self) -> None:
        self._listener.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._talk(connection)
            except OSError:
                pass  # it went

    def _talk(self, connection: socket.socket) -> None:
        self._read(connection, len(_PREFACE))
        self._send(connection, _SETTINGS, 0, 0)
        while True:
            header = self._read(connection, 9)
            length, kind, flags = int.from_bytes(header[:3], "big"), header[3], header[4]
            self._read(connection, length)
            if kind == _SETTINGS and not flags & _ACK:
                self._send(connection, _SETTINGS, _ACK, 0)
            if kind == _DATA:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        self._send(connection, _HEADERS, _END_HEADERS, 1, _HEAD)
        for i, piece in enumerate(self.pieces):
            time.sleep(self.pause if i else 0)
            self._send(connection, _DATA, _END_STREAM if self.end and i == len(self.pieces) - 1 else 0, 1, piece)

    @staticmethod
    def _send(connection: socket.socket, kind: int, flags: int, stream: int, payload: bytes = b"") -> None:
        connection.sendall(len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload)

    @staticmethod
    def _read(connection: socket.socket, n: int) -> bytes:
        out = b""
        while len(out) < n:
            got = connection.recv(n - len(out))
            if not got:
                raise OSError("the client closed")
            out += got
        return out

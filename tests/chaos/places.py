"""What stands behind HAProxy: at every loopback address, on the ports of a Service, a server that says at which address it was reached."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterable

from tests.harness.backends import QUESTION


class Places:
    """One thread for all; HAProxy's checks, which say nothing, are accepted and let go."""

    def __init__(self, ports: Iterable[int]):
        self._selector = selectors.DefaultSelector()
        self._over = threading.Event()
        for port in ports:
            listener = socket.create_server(("0.0.0.0", port), backlog=512)
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._run, name="places", daemon=True)

    def start(self) -> "Places":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._over.set()
        self._thread.join(5)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _run(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.2):
                with contextlib.suppress(OSError):
                    self._accept(key.fileobj) if key.data is None else self._answer(key.fileobj)  # type: ignore[arg-type]

    def _accept(self, listener: socket.socket) -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        self._selector.register(sock, selectors.EVENT_READ, "asked")

    def _answer(self, sock: socket.socket) -> None:
        self._selector.unregister(sock)
        with contextlib.closing(sock):
            if sock.recv(64) == QUESTION:
                sock.sendall(sock.getsockname()[0].encode() + b"\n")

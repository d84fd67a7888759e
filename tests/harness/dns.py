"""A name server that gives 127.0.0.1 to each name it is asked for: what resolvers do on the wire, without a network."""

from __future__ import annotations

import socket
import struct
import threading


class NameServer:
    """On port 53 (resolvers know no other), on an address of the loopback network that nobody else has. Needs root."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for last in range(1, 255):
            self.address = f"127.0.53.{last}"
            try:
                self.socket.bind((self.address, 53))
                break
            except OSError:
                continue
        else:
            raise AssertionError("no address in 127.0.53.0/24 has port 53 free")
        self.socket.settimeout(0.2)  # so that its end is seen
        self.ended = False
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "NameServer":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.thread.join()
        self.socket.close()

    def _serve(self) -> None:
        while not self.ended:
            try:
                query, client = self.socket.recvfrom(512)
            except TimeoutError:
                continue
            self.socket.sendto(self._answer(query), client)

    def _answer(self, query: bytes) -> bytes:
        """RFC 1035 4.1: the question comes back; A gets an address, all else nothing."""
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += query[at] + 1
        kind, = struct.unpack_from("!H", query, at + 1)
        self.asked.append(".".join(labels))
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 5, 4) + socket.inet_aton("127.0.0.1") if kind == 1 else b""
        return query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if record else 0, 0, 0) + query[12:at + 5] + record

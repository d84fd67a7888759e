"""Little TCP servers that stand for the nodes behind HAProxy: each says its name and records what arrived on the wire."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import ipaddress
import socket
import socketserver
import struct
import threading
from collections.abc import Iterable, Iterator

from .process import next_free_port, wait_until

PROXY_V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
QUESTION = b"who are you\n"
# As long as that one: the answer is the same, then everything said comes back until the caller hangs up.
STAY = b"stay please\n"


@dataclasses.dataclass(frozen=True)
class Arrival:
    """One connection: the PROXY v2 header in front ("" none, "LOCAL" HAProxy's own checks, else the client), and the bytes."""
    proxy: str
    data: bytes


def _read(sock: socket.socket, n: int) -> bytes:
    got = b""
    while len(got) < n:
        more = sock.recv(n - len(got))
        if not more:
            break
        got += more
    return got


def parse_proxy_v2(header: bytes, rest: bytes) -> str:
    """header: the 16 fixed bytes; rest: as many as its length field says."""
    version_command, family = header[12], header[13]
    if version_command >> 4 != 2:
        raise ValueError(f"PROXY header of version {version_command >> 4}")
    if version_command & 15 == 0:
        return "LOCAL"
    if family >> 4 != 1:
        raise ValueError(f"PROXY header with address family {family >> 4}")
    source, _, port, _ = struct.unpack("!4s4sHH", rest[:12])
    return f"{ipaddress.ip_address(source)}:{port}"


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        sock: socket.socket = self.request
        sock.settimeout(10)
        with contextlib.suppress(OSError):
            first = _read(sock, len(QUESTION))
            proxy = ""
            if first == PROXY_V2_SIGNATURE:
                fixed = first + _read(sock, 4)
                proxy = parse_proxy_v2(fixed, _read(sock, struct.unpack("!H", fixed[14:16])[0]))
                first = _read(sock, len(QUESTION))
            self.server.arrivals.append(Arrival(proxy, first))  # type: ignore[attr-defined]
            if first in (QUESTION, STAY):
                sock.sendall(self.server.label.encode() + b"\n")  # type: ignore[attr-defined]
            if first == STAY:
                sock.settimeout(120)
                while said := sock.recv(256):
                    sock.sendall(said)


class Backend(socketserver.ThreadingTCPServer):
    """One node: listens on its own loopback address."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, label: str, address: str, port: int):
        self.label = label
        self.arrivals: collections.deque[Arrival] = collections.deque(maxlen=10_000)
        super().__init__((address, port), _Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A malformed PROXY header is what a test checks, not what it should print."""
        self.arrivals.append(Arrival("broken", b""))

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def client_arrivals(self) -> list[Arrival]:
        """Without HAProxy's health checks, which send no question."""
        return [a for a in self.arrivals if a.data in (QUESTION, STAY)]


# What a kube-apiserver gives to Services unless asked otherwise.
NODE_PORTS = range(30000, 32768)


def node_port(addresses: Iterable[str]) -> int:
    """A port that is free on every one of the addresses, and that a Service may have as its nodePort."""
    return next_free_port(NODE_PORTS, list(addresses), "node-ports")


@contextlib.contextmanager
def backends(nodes: dict[str, str], port: int) -> Iterator[dict[str, Backend]]:
    """nodes: name -> loopback address."""
    running: dict[str, Backend] = {}
    try:
        for label, address in nodes.items():
            running[label] = Backend(label, address, port)
        yield running
    finally:
        for backend in running.values():
            backend.close()


def ask(port: int, host: str = "127.0.0.1", timeout: float = 3.0) -> str:
    """Who answers a connection to the frontend; "" where nobody does."""
    try:
        with contextlib.closing(socket.create_connection((host, port), timeout=timeout)) as sock:
            sock.sendall(QUESTION)
            answer = b""
            while more := sock.recv(256):
                answer += more
    except OSError:
        return ""
    return answer.decode().strip()


class Visit:
    """A connection through the frontend that stays open: `label` is who answered it."""

    def __init__(self, port: int, host: str = "127.0.0.1", timeout: float = 10.0):
        self._sock = socket.create_connection((host, port), timeout=timeout)
        self._sock.sendall(STAY)
        self._lines = self._sock.makefile("rb")
        self.label = self._lines.readline().decode().strip()

    def talk(self) -> bool:
        """Whether the other end still answers."""
        try:
            self._sock.sendall(b"still there\n")
            return self._lines.readline() == b"still there\n"
        except OSError:
            return False

    def close(self) -> None:
        self._lines.close()
        self._sock.close()

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def census(port: int, connections: int = 12) -> collections.Counter[str]:
    return collections.Counter(ask(port) for _ in range(connections))


def wait_traffic(port: int, nodes: Iterable[str], timeout: float = 30.0) -> None:
    """Until connections reach every one of these nodes and nothing else; with no nodes, until nobody answers."""
    wanted = set(nodes)

    def exactly() -> bool:
        # Nobody's answer takes HAProxy's whole connect timeout, so one will do.
        got = set(census(port, 4 * len(wanted) or 1))
        assert got == (wanted or {""}), f"traffic reaches {sorted(got)}"
        return True

    wait_until(exactly, timeout, f"traffic reaching exactly {sorted(wanted)}", interval=0.1)

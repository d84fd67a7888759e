"""A server that was added without a reload is spoken to as after one: PROXY v2, TLS, names, health checks, as its node sees them."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from tests.harness.certificates import Authority
from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig
from .test_local import beside

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
OWN = "  default-server inter 5s rise 2 fall 2 addr 127.0.0.1 port {fe}\n"

Arrival = tuple[str, str, str]
"""check or traffic, "PROXY", "LOCAL" or "", the name in the TLS handshake, or "plain"."""


class Node:
    """Listens at an address, and notes how each connection begins."""

    def __init__(self, address: str, home: pathlib.Path):
        self._pair = Authority(home).server()
        self._listener = socket.create_server((address, 0))
        self.port = self._listener.getsockname()[1]
        self.arrivals: set[Arrival] = set()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                threading.Thread(target=self._take, args=(taken,), daemon=True).start()

    def _take(self, sock: socket.socket) -> None:
        """A check hangs up as soon as it knows enough, and one on a busy machine before it has said anything: that is no arrival."""
        with sock:
            sock.settimeout(3)
            command, name, payload = "", "plain", b""
            with contextlib.suppress(OSError):
                first = sock.recv(16, socket.MSG_PEEK)
                if first.startswith(SIGNATURE):
                    head = sock.recv(16, socket.MSG_WAITALL)
                    command = {0x20: "LOCAL", 0x21: "PROXY"}[head[12]]
                    if length := int.from_bytes(head[14:16], "big"):
                        sock.recv(length, socket.MSG_WAITALL)
                    first = sock.recv(1, socket.MSG_PEEK)
                if first[:1] == b"\x16":
                    name, sock = self._decrypted(sock)
                payload = sock.recv(1)
            if payload:
                self.arrivals.add(("traffic" if payload == b"x" else "check", command, name))
            sock.close()

    def _decrypted(self, sock: socket.socket) -> tuple[str, socket.socket]:
        names = [""]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pair.certificate, self._pair.key)
        context.sni_callback = lambda _, name, __: names.append(name or "")  # type: ignore[assignment]
        served = context.wrap_socket(sock, server_side=True)
        return names[-1], served


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Iterator[Node]:
    made = Node("127.0.11.4", tmp_path)
    yield made
    made.close()


def visit(rig: Rig) -> None:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", rig.haproxy.port), 1) as client:
        client.sendall(b"x")
        client.settimeout(0.3)
        client.recv(1)


def seen(rig: Rig, node: Node) -> set[Arrival]:
    """How checks and traffic arrive from now on."""
    node.arrivals.clear()

    def both() -> bool:
        visit(rig)
        return {kind for kind, _, _ in node.arrivals} == {"check", "traffic"}

    wait_until(both, 20, f"checks and traffic at the node; so far {node.arrivals}", interval=0.05)
    return set(node.arrivals)


@pytest.mark.parametrize(("words", "wanted"), [
    ("", {("check", "", "plain"), ("traffic", "", "plain")}),
    ("send-proxy-v2", {("check", "LOCAL", "plain"), ("traffic", "PROXY", "plain")}),
    ("ssl verify none sni str(app.example) check-sni probe.example", {("check", "", "probe.example"), ("traffic", "", "app.example")}),
    ("send-proxy-v2 ssl verify none sni str(app.example)", {("check", "LOCAL", ""), ("traffic", "PROXY", "app.example")}),
])
def test_it_is_spoken_to_as_after_a_reload(tmp_path: pathlib.Path, node: Node, words: str, wanted: set[Arrival]) -> None:
    assert OWN in TEMPLATE
    # A check that says nothing is over before a listener hears of it.
    own = f"  tcp-check connect default\n  tcp-check send c\n  default-server inter 200ms rise 1 fall 1 {words}\n"
    with Rig(tmp_path / "r", TEMPLATE.replace(OWN, own)) as rig:
        rig.dataplane.kill()
        rig.service()
        daemon = rig.start(**beside(rig, HAPROXY_BACKEND_PORT=str(node.port)))
        daemon.wait_ready()
        worker = rig.haproxy.worker()
        rig.pods(4)
        wait_until(lambda: rig.haproxy.states("be").get("n4") == "ready", 15, "n4 is in rotation")
        daemon.wait_ready()
        added = seen(rig, node)
        assert rig.haproxy.worker() == worker
        rig.haproxy.reload()
        after = seen(rig, node)
        # HAProxy 3.2 resumes the session of the traffic for its checks, with the name in it.
        resumed = {(kind, proxy, name or "app.example") for kind, proxy, name in wanted}
        assert added == after and added in (wanted, resumed), (added, after)

"""python3 -m tests.harness.node_worker PORT NAME=ADDRESS...: the nodes of nodes.py, all in one asyncio process."""

from __future__ import annotations

import asyncio
import socket
import sys

from . import commands
from .backends import QUESTION, STAY

HTTP = b"GET "  # asks in HTTP who is there


class Node:
    def __init__(self, name: str, address: str, port: int):
        self.name, self.address, self.port = name, address, port
        self.late = 0.0
        self.asked = 0
        self.open: set[_Caller] = set()
        self._listener: socket.socket | None = None

    def listen(self) -> None:
        if self._listener is not None:
            return
        listener = socket.create_server((self.address, self.port), backlog=1024)
        listener.setblocking(False)
        self._listener = listener
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def _accept(self) -> None:
        assert self._listener
        loop = asyncio.get_running_loop()
        try:
            while True:
                sock, _ = self._listener.accept()
                sock.setblocking(False)
                _Caller(self, sock, loop)
        except BlockingIOError:
            pass

    def deaf(self) -> None:
        """No new connection is accepted, the open ones stay."""
        if self._listener is not None:
            self._accept()  # the kernel has said yes to these
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def drop(self) -> int:
        dropped = len(self.open)
        for caller in list(self.open):
            caller.close()
        return dropped


class _Caller:
    """One connection. Sockets by hand: a transport for each costs three times as much, 200 times a second."""

    def __init__(self, node: Node, sock: socket.socket, loop: asyncio.AbstractEventLoop):
        self.node, self.sock, self.loop = node, sock, loop
        self.heard = b""
        self.staying = False
        node.open.add(self)
        loop.add_reader(sock, self._readable)

    def _readable(self) -> None:
        try:
            more = self.sock.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self.close()
        elif self.staying:
            self._send(more)
        else:
            self.heard += more
            if self.heard.startswith(HTTP) and not self.heard.endswith(b"\r\n\r\n"):
                return
            if len(self.heard) >= len(QUESTION):
                self._asked()

    def _asked(self) -> None:
        self.node.asked += 1
        if self.heard not in (QUESTION, STAY) and not self.heard.startswith(HTTP):
            self.close()
        elif self.node.late:
            self.loop.call_later(self.node.late, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if self not in self.node.open:
            return
        self.staying = self.heard == STAY
        name = self.node.name.encode() + b"\n"
        self._send(name if not self.heard.startswith(HTTP) else b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(name), name))
        if not self.staying:
            self.close()

    def _send(self, data: bytes) -> None:
        try:
            self.sock.send(data)  # so little that it always fits
        except OSError:
            self.close()

    def close(self) -> None:
        if self in self.node.open:
            self.node.open.remove(self)
            self.loop.remove_reader(self.sock)
            self.sock.close()


def obey(nodes: dict[str, Node], line: str) -> str:
    what, name, *more = line.split()
    node = nodes[name]
    if what == "listen":
        node.listen()
    elif what == "deaf":
        node.deaf()
    elif what == "drop":
        return str(node.drop())
    elif what == "late":
        node.late = float(more[0])
    elif what == "asked":
        return str(node.asked)
    else:
        raise ValueError(f"unknown command {what}")
    return "ok"


async def serve(port: int, addresses: dict[str, str]) -> None:
    nodes = {name: Node(name, address, port) for name, address in addresses.items()}
    for node in nodes.values():
        node.listen()
    ended = commands.listen(lambda line: obey(nodes, line))
    commands.say("listening")
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:])))

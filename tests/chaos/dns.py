"""A name server of our own for *.chaos, which can vanish, and a way to start a program that asks it and nobody else."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import struct
import threading

DOMAIN = "chaos"
MODES = ("answers", "silent", "fails", "knows nothing", "gone")


def possible() -> str:
    """"" or why programs cannot be given another name server here."""
    return "" if os.geteuid() == 0 else "needs root (a mount namespace and port 53)"


class NameServer:
    """Every name is 127.0.0.1. Modes: silent swallows questions, fails is SERVFAIL, knows nothing is NXDOMAIN, gone: closed."""

    def __init__(self, home: pathlib.Path):
        self._sock: socket.socket | None = self._bound("")
        self.address = self._sock.getsockname()[0]
        self.resolv = home / "resolv.conf"
        # attempts:1 keeps a lost question from being asked for longer than the case takes.
        self.resolv.write_text(f"nameserver {self.address}\noptions timeout:2 attempts:1\n")
        self.mode, self._only = "answers", b""
        self.asked = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dns", daemon=True)

    @staticmethod
    def _bound(address: str) -> socket.socket:
        for last in [address] if address else [f"127.0.77.{i}" for i in range(1, 255)]:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with contextlib.suppress(OSError):
                sock.bind((last, 53))
                sock.settimeout(0.1)
                return sock
            sock.close()
        raise OSError("no address is free for a name server")

    def start(self) -> "NameServer":
        self._thread.start()
        return self

    def set(self, mode: str, only: bytes = b"") -> None:
        """only: the mode is for names that begin with this label (its length before it); others are answered."""
        # A closed port has no names.
        self._only = only
        self.mode = "fails" if only and mode == "gone" else mode

    def stop(self) -> None:
        self._over.set()
        self._thread.join(5)
        if self._sock:
            self._sock.close()

    def wrap(self, program: pathlib.Path) -> list[str]:
        """The command that runs it, under the pid that it is started with."""
        script = 'mount --bind "$1" /etc/resolv.conf && exec "$0"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(program), str(self.resolv)]

    def _run(self) -> None:
        while not self._over.is_set():
            if self.mode == "gone":
                if self._sock:
                    self._sock.close()
                    self._sock = None
                self._over.wait(0.05)
                continue
            self._sock = self._sock or self._bound(self.address)
            with contextlib.suppress(OSError, struct.error, IndexError):
                question, who = self._sock.recvfrom(1500)
                self.asked += 1
                mode = self.mode if question[12:].startswith(self._only) else "answers"
                if mode != "silent":
                    self._sock.sendto(answer(question, mode), who)


def answer(question: bytes, mode: str) -> bytes:
    at = 12
    while question[at]:
        at += question[at] + 1
    kind, = struct.unpack("!H", question[at + 1:at + 3])
    asked = question[12:at + 5]
    code = {"fails": 2, "knows nothing": 3}.get(mode, 0)
    found = kind == 1 and not code
    head = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, int(found), 0, 0)
    record = struct.pack("!HHHIH", 0xC00C, 1, 1, 1, 4) + socket.inet_aton("127.0.0.1") if found else b""
    return head + asked + record

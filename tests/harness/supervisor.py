"""In the place of systemd: the socket to which a service of Type=notify sends its state (sd_notify(3))."""

from __future__ import annotations

import os
import pathlib
import socket

from .process import wait_until


class Supervisor:
    """Listens at a path, or at "@name" in the abstract namespace; used with `with`."""

    def __init__(self, at: os.PathLike[str] | str):
        self.at = os.fspath(at)
        self.said: list[str] = []  # all assignments, oldest first
        self._socket: socket.socket | None = None

    def __enter__(self) -> "Supervisor":
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_away()

    def listen(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind("\0" + self.at[1:] if self.at.startswith("@") else self.at)
        if not self.at.startswith("@"):
            os.chmod(self.at, 0o666)  # the service is another user

    def go_away(self) -> None:
        """What was said is kept; what is said from here on finds nobody."""
        self.hear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if not self.at.startswith("@"):
            pathlib.Path(self.at).unlink(missing_ok=True)

    def hear(self) -> list[str]:
        """All that was said until now."""
        while self._socket is not None:
            try:
                self.said += self._socket.recv(65536).decode().splitlines()
            except BlockingIOError:
                break
        return self.said

    def of(self, name: str, since: int = 0) -> list[str]:
        """The values of one variable."""
        return [line.partition("=")[2] for line in self.hear()[since:] if line.startswith(name + "=")]

    def status(self) -> str:
        """The last STATUS; "" before the first."""
        return (self.of("STATUS") or [""])[-1]

    def wait_for(self, line: str, timeout: float = 20.0, since: int = 0) -> None:
        wait_until(lambda: line in self.hear()[since:], timeout, f"{line} among {self.said[since:]}")

    def wait_status(self, beginning: str, timeout: float = 20.0) -> str:
        def begins() -> str:
            status = self.status()
            assert status.startswith(beginning), f"the status is {status!r}"
            return status

        return wait_until(begins, timeout, f"a status that begins with {beginning!r}")

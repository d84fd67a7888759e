"""The ways to make a running HAProxy load its file anew, and to learn how that went."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import time


class Reloader:
    """Makes HAProxy load the file; reload() returns what HAProxy said, or raises ReloadFailed with it."""

    def reload(self) -> str:
        return ""


class ReloadFailed(Exception):
    def __init__(self, reason: str, output: str):
        super().__init__(reason)
        self.output = output


class SocketReloader(Reloader):
    """`reload` on the master socket (HAProxy 2.7 and later): the answer says how it went."""

    def __init__(self, path: str):
        self.path = path

    def reload(self) -> str:
        answer = ""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(60)
            try:
                s.connect(self.path)
                s.sendall(b"reload\n")
                while chunk := s.recv(65536):
                    answer += chunk.decode(errors="replace")
            except OSError as e:
                raise ReloadFailed(f"master socket {self.path}: {e}", answer) from e
        head, _, rest = answer.partition("\n")
        output = rest.removeprefix("--\n").strip("\n")
        if "Success=1" not in head:
            raise ReloadFailed("failed to reload configuration", output or answer.strip())
        return output


class SignalReloader(Reloader):
    """SIGUSR2 to the master of a master-worker HAProxy, followed to the end.

    The master executes itself anew to load the file and, up to 3.0, once more to wait for its workers, which its
    environment shows: there is a new worker by then, or the file was refused. With a log file, what it wrote meanwhile
    is the answer.
    """

    def __init__(self, pid_file: str, log: str | None = None, patience_s: float = 20.0):
        self.pid_file = pid_file
        self.log = pathlib.Path(log) if log else None
        self.patience_s = patience_s

    def reload(self) -> str:
        logged = self._logged()
        try:
            master = int(pathlib.Path(self.pid_file).read_text("ascii").split()[0])
            workers, incarnation = children(master), _incarnation(master)
            os.kill(master, signal.SIGUSR2)
        except (OSError, ValueError, IndexError) as e:
            raise ReloadFailed(f"no HAProxy master by {self.pid_file}: {e}", str(e)) from e
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            time.sleep(0.01)
            if _incarnation(master) == incarnation:
                continue
            if not _waits(master) or not _listens_to_usr2(master):
                continue
            if children(master) - workers:
                return ""
            raise ReloadFailed("HAProxy refused the file", self._logged()[len(logged):] or "HAProxy refused the file")
        raise ReloadFailed(f"no new worker after {self.patience_s:g} s", self._logged()[len(logged):])

    def _logged(self) -> str:
        return self.log.read_text(errors="replace") if self.log and self.log.exists() else ""


def children(pid: int) -> set[int]:
    try:
        return {int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()}
    except OSError:
        return set()


def _incarnation(pid: int) -> tuple[str, ...]:
    """Changes with each execve: where the kernel put the stack and the environment."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return stat[25], *stat[45:49]


def _waits(pid: int) -> bool:
    try:
        return b"HAPROXY_MWORKER_WAIT_ONLY=" in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _listens_to_usr2(pid: int) -> bool:
    """Until it does, the next signal would be lost or would kill it."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    bit = 1 << (signal.SIGUSR2 - 1)
    return bool(int(fields["SigCgt"], 16) & bit) and not int(fields["SigBlk"], 16) & bit

"""Processes that a test starts and stops by pid, free ports, and waiting for a condition."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

ROOT = pathlib.Path(__file__).resolve().parents[2]


# Below those of Services (harness/backends.py: 30000 up), which have a series of their own, and so below the range that the kernel
# hands to outgoing connections (32768 up): none of those takes one meanwhile.
_PORTS = range(15000, 30000)


def free_port(host: str = "127.0.0.1") -> int:
    """A TCP port that nobody listens on and that no other test of this user, in whichever process, is given for a long time."""
    return next_free_port(_PORTS, [host], "ports")


def next_free_port(ports: range, hosts: Sequence[str], series: str) -> int:
    """The same out of a certain range and on several addresses at once; those who share a range name the same series."""
    path = pathlib.Path(tempfile.gettempdir()) / f"haproxy-k8s-sync-{series}-{os.getuid()}"
    with open(path, "a+") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        last.seek(0)
        start = int(last.read() or 0)
        for step in range(1, len(ports)):
            port = ports[(start + step) % len(ports)]
            if not all(_is_free(port, host) for host in hosts):
                continue
            last.truncate(0)
            last.write(str(start + step))
            return port
    raise AssertionError(f"no port in {ports} is free on {', '.join(hosts)}")


def _is_free(port: int, host: str) -> bool:
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as s:
        try:
            s.bind((host, port))
        except OSError:
            return False
    return True


def wait_until(condition: Callable[[], T], timeout: float = 10.0, what: str = "", interval: float = 0.02) -> T:
    """Polls until condition() is truthy and returns its value; on timeout says what was awaited and the last failure."""
    deadline = time.monotonic() + timeout
    last: object = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = value
        except (OSError, AssertionError, KeyError, ValueError) as e:
            last = e
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {timeout:g} s for {what or condition!r}; last: {last!r}")
        time.sleep(interval)


def port_open(port: int, host: str = "127.0.0.1") -> bool:
    try:
        with contextlib.closing(socket.create_connection((host, port), timeout=1)):
            return True
    except OSError:
        return False


def _runs(pid: int) -> bool:
    """Whether it is there and not stopped: proc(5), the state behind the name. A double is no child of this process."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "TtZX"


class Process:
    """A child in a process group of its own, its output in a log file, ended by signal and reaped."""

    def __init__(self, argv: Sequence[str | os.PathLike[str]], log: os.PathLike[str] | str,
                 env: Mapping[str, str] | None = None, cwd: os.PathLike[str] | str | None = None,
                 name: str | None = None):
        self.argv = [os.fspath(a) for a in argv]
        self.name = name or os.path.basename(self.argv[0])
        self.log_path = pathlib.Path(log)
        self.popen = self._start(env, cwd)

    def _start(self, env: Mapping[str, str] | None, cwd: os.PathLike[str] | str | None) -> Any:
        with open(self.log_path, "ab") as out:
            return subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                    env=None if env is None else dict(env), cwd=cwd, start_new_session=True)

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def signal(self, signum: int) -> None:
        """SIGSTOP has stopped it when this returns; kill() alone comes back before that."""
        self.popen.send_signal(signum)
        while signum == signal.SIGSTOP and _runs(self.popen.pid):
            time.sleep(0.001)

    def wait(self, timeout: float = 10.0) -> int:
        return self.popen.wait(timeout)

    def stop(self, timeout: float = 10.0) -> int:
        """SIGTERM, then SIGKILL to the whole group after the timeout; returns the exit status."""
        if self.alive:
            self.popen.send_signal(signal.SIGCONT)
            self.popen.terminate()
            try:
                self.popen.wait(timeout)
            except subprocess.TimeoutExpired:
                pass
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return self.popen.wait(5)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait(5)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

"""The processes of a world under one roof: each can be killed, frozen, restarted, starved, and is started again when it has died."""

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import signal
from collections.abc import Callable

from tests.harness.daemon import Daemon, SANITIZER_EXIT
from tests.harness.haproxy import HAProxy
from tests.harness.process import Process, wait_until

FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


def clock_environment(clock: pathlib.Path, monotonic: bool = False) -> dict[str, str]:
    """For libfaketime: the wall clock is what the file says; the monotonic one too only if asked for."""
    if not clock.exists():
        clock.write_text("+0\n")
    assert FAKETIME
    env = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_CACHE_DURATION": "1"}
    return env if monotonic else {**env, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def children(pid: int) -> list[int]:
    try:
        own = [int(c) for task in os.listdir(f"/proc/{pid}/task")
               for c in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return []
    return own + [grandchild for child in own for grandchild in children(child)]


class Part:
    """process: the one that runs now, None before the first start. launch: as start, but waits for nobody else."""

    def __init__(self, name: str, process: Callable[[], Process | None], start: Callable[[], object],
                 stop: Callable[[], object] | None = None, launch: Callable[[], object] | None = None):
        self.name = name
        self._process, self._start, self._stop = process, start, stop
        self.launch = launch or start
        self.away = False
        """On purpose: the supervisor leaves it alone."""
        self.deaths = 0

    @property
    def alive(self) -> bool:
        process = self._process()
        return process is not None and process.alive

    @property
    def pid(self) -> int:
        process = self._process()
        assert process, f"{self.name} was not started"
        return process.pid

    def pids(self) -> list[int]:
        return [self.pid, *children(self.pid)] if self.alive else []

    def kill(self) -> None:
        """SIGKILL to it and all that it has started."""
        process = self._process()
        if process:
            process.kill()

    def signal(self, number: int) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def start(self) -> None:
        self._start()

    def restart(self) -> None:
        if self._stop:
            self._stop()
        elif process := self._process():
            process.stop()
        self._start()

    # --- limits; what they were is put back by unlimited()

    def limit(self, what: int, soft: Callable[[int], int]) -> str:
        self._limits = [(pid, what, resource.prlimit(pid, what)) for pid in self.pids()]
        said = []
        for pid, _, (_, hard) in self._limits:
            value = soft(pid)
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, what, (value, hard))
            said.append(f"{pid}: {value}")
        return ", ".join(said)

    def unlimited(self) -> None:
        for pid, what, limits in self._limits:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, what, limits)
        # Those that were started meanwhile have inherited it.
        for pid in self.pids():
            for _, what, limits in self._limits[:1]:
                with contextlib.suppress(ProcessLookupError):
                    resource.prlimit(pid, what, limits)

    _limits: list[tuple[int, int, tuple[int, int]]] = []


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def address_space(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


class ChaosDaemon(Daemon):
    """wrap: what stands before the program on its command line."""

    wrap: Callable[[pathlib.Path], list[str]] | None = None

    def start(self) -> "ChaosDaemon":
        argv = self.wrap(self.binary) if self.wrap else [str(self.binary)]
        self.process = Process(argv, self.log_path, env=self.env, cwd="/", name="haproxy-k8s-sync")
        return self

    def end(self) -> str:
        """SIGTERM; what is wrong with how it ended."""
        assert self.process
        process, self.process = self.process, None
        process.signal(signal.SIGTERM)
        try:
            status = process.wait(10)
        except Exception:
            process.kill()
            return "SIGTERM did not end it within 10 s"
        if status == SANITIZER_EXIT:
            return "a sanitizer's finding at its end"
        return "" if status == 0 else f"SIGTERM ended it with {status}"


class ChaosHAProxy(HAProxy):
    more_env: dict[str, str] = {}

    def start(self) -> "ChaosHAProxy":
        argv = [self.binary, "-W", "-S", f"{self.master_socket},level,admin", "-p", str(self.pid_file), "-f", str(self.config)]
        self.process = Process(argv, self.log_file, env={**os.environ, **self.more_env}, name="haproxy")
        wait_until(self._up, 10, f"haproxy's stats socket {self.socket}; its log: {self.log_file}")
        return self

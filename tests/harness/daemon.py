"""The daemon under test as a process: clean environment, log file, its health, readiness and metrics."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import time
from collections.abc import Mapping
from http.client import HTTPException

from . import http
from .metrics import Metrics
from .process import ROOT, Process, free_port, wait_until

STOP_WITHIN = 5.0
# What AddressSanitizer and UBSan exit with, so that a finding is never taken for one of the daemon's own exit codes.
SANITIZER_EXIT = 99


def program(build: str = "build") -> pathlib.Path:
    """$HAPROXY_K8S_SYNC, else the release build, or another one."""
    path = pathlib.Path(os.environ.get("HAPROXY_K8S_SYNC") or ROOT / build / "haproxy-k8s-sync")
    path = path if path.is_absolute() else ROOT / path
    if not os.access(path, os.X_OK):
        raise AssertionError(f"{path} is not there: run make first")
    return path


def quick_program() -> pathlib.Path:
    """The build that has no sanitizers, as their memory and time would be the test's, and no optimisation, which takes long to build."""
    return program("build/quick")


def clean_env(**settings: str) -> dict[str, str]:
    """Nothing of the caller's environment but the sanitizers' settings reaches the daemon."""
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
           "ASAN_OPTIONS": f"exitcode={SANITIZER_EXIT}:detect_leaks=1",
           "UBSAN_OPTIONS": f"exitcode={SANITIZER_EXIT}:print_stacktrace=1"}
    return env | settings


def check_env(**settings: str) -> dict[str, str]:
    """The same for check-config, which fails where the daemon would not start: outside of a pod that is without a kubeconfig."""
    return clean_env(**{"KUBECONFIG": str(ROOT / "tests/harness/anywhere.kubeconfig"), **settings})


class Daemon:
    """start() and stop() may be called again and again: that is a restart, the log goes on in the same file."""

    def __init__(self, home: pathlib.Path, settings: Mapping[str, str], binary: pathlib.Path | None = None):
        home.mkdir(parents=True, exist_ok=True)
        self.binary = binary or program()
        self.port = free_port()
        self.env = clean_env(LISTEN_ADDRESS=f"127.0.0.1:{self.port}", **settings)
        self.log_path = home / "daemon.log"
        self.flags: list[str] = []  # on its command line
        self.process: Process | None = None

    # --- life

    def start(self) -> "Daemon":
        self.process = Process([self.binary, *self.flags], self.log_path, env=self.env, cwd="/", name="haproxy-k8s-sync")
        return self

    def stop(self) -> float:
        """SIGTERM has to give exit 0 within 5 s; returns how long it took."""
        assert self.process, "the daemon was not started"
        process, self.process = self.process, None
        started = time.monotonic()
        process.signal(signal.SIGTERM)
        try:
            status = process.wait(STOP_WITHIN)
        except Exception as e:
            process.kill()
            raise AssertionError(f"SIGTERM did not end the daemon within {STOP_WITHIN:g} s:\n{self.tail()}") from e
        assert status == 0, f"SIGTERM ended the daemon with {status}:\n{self.tail()}"
        return time.monotonic() - started

    def kill(self) -> None:
        """SIGKILL: its own death in the middle of whatever it does."""
        if self.process:
            self.process.kill()
            self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """For the end of a test: a daemon that has died on its own is a failure, whatever else passed."""
        if self.process is None:
            return
        if not self.process.alive:
            status = self.process.wait()
            self.process = None
            raise AssertionError(f"the daemon ended by itself with {status}:\n{self.tail()}")
        self.stop()

    def __enter__(self) -> "Daemon":
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    @property
    def pid(self) -> int:
        assert self.process, "the daemon is not running"
        return self.process.pid

    # --- what it says

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def tail(self, lines: int = 25) -> str:
        return "\n".join(self.log().splitlines()[-lines:])

    def get(self, path: str, timeout: float = 5.0) -> tuple[int, str]:
        try:
            answer = http.request(f"http://127.0.0.1:{self.port}", "GET", path, timeout=timeout)
        except HTTPException as e:
            raise OSError(f"GET {path}: {e!r}") from e
        return answer.status, answer.text

    def ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def metrics(self) -> Metrics:
        status, text = self.get("/metrics")
        assert status == 200, f"/metrics answered {status}"
        return Metrics(text)

    # --- waiting

    def _await(self, condition: object, timeout: float, what: str) -> object:
        def alive_and() -> object:
            if self.process is not None and not self.process.alive:
                raise RuntimeError(f"the daemon ended with {self.process.wait()}")
            return condition()  # type: ignore[operator]

        try:
            return wait_until(alive_and, timeout, what)
        except (AssertionError, RuntimeError) as e:
            raise AssertionError(f"{e}\nthe daemon's log ends with:\n{self.tail()}") from e

    def wait_up(self, timeout: float = 10.0) -> None:
        self._await(lambda: self.get("/healthz")[0] == 200, timeout, "/healthz 200")

    def wait_ready(self, timeout: float = 20.0) -> None:
        def ready() -> bool:
            status, body = self.get("/readyz")
            assert status == 200, f"/readyz {status}: {body.strip()}"
            return True

        self._await(ready, timeout, "/readyz 200")

    def wait_not_ready(self, saying: str = "", timeout: float = 20.0) -> str:
        """Until /readyz is 503 and its body matches; returns the body."""
        def not_ready() -> str:
            status, body = self.get("/readyz")
            assert status == 503 and re.search(saying, body, re.I), f"/readyz {status}: {body.strip()}"
            return body or " "

        return str(self._await(not_ready, timeout, f"/readyz 503 saying {saying!r}"))

    def wait_log(self, pattern: str, timeout: float = 20.0, since: int = 0) -> None:
        self._await(lambda: re.search(pattern, self.log()[since:]), timeout, f"a log line matching {pattern!r}")

    def wait_metric(self, name: str, at_least: float, timeout: float = 20.0, **labels: str) -> float:
        def reached() -> float:
            value = self.metrics().sum(name, **labels)
            assert value >= at_least, f"{name}{labels or ''} is {value:g}, not {at_least:g} or more"
            return value or 1.0

        return float(str(self._await(reached, timeout, f"{name} >= {at_least:g}")))

    # --- what it costs (Linux)

    def memory_kib(self) -> dict[str, int]:
        """VmHWM (peak RSS), VmRSS, RssAnon ... as the kernel counts them."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return {k: int(v) for k, v in re.findall(r"^(Vm\w+|Rss\w+):\s+(\d+) kB$", status, re.M)}

    def cpu_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""Doubles as children of a process that has imported them already: to start Python and load them anew costs ten times as much as to run
most of the tests that want one. Each pytest worker has one such process, from the first double on until it ends itself."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from .process import ROOT, Process

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
# Their command lines.
MODULES = ("tests.doubles.dataplane.cli", "tests.doubles.kubernetes.__main__")


class Double(Process):
    """`python3 -m MODULE ARGUMENTS`, forked."""

    def __init__(self, module: str, arguments: Sequence[str], log: os.PathLike[str] | str, name: str | None = None,
                 cwd: os.PathLike[str] | str = ROOT):
        super().__init__([module, *arguments], log, cwd=cwd, name=name)

    def _start(self, env: Mapping[str, str] | None, cwd: os.PathLike[str] | str | None) -> "Child":
        return Child(nursery().ask(argv=self.argv, log=str(self.log_path.absolute()), cwd=os.fspath(cwd or "."),
                                   env=dict(os.environ if env is None else env)))


class Child:
    """Of subprocess.Popen what a Process uses."""

    def __init__(self, pid: int):
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = nursery().ask(status_of=self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.005)
        return status

    def send_signal(self, signum: int) -> None:
        if self.poll() is None:  # not reaped before it is asked for: the pid is its own
            os.kill(self.pid, signum)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class Nursery:
    """The process; one request at a time, a line of JSON each way."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.popen = subprocess.Popen([PYTHON, "-m", __name__], stdin=its, cwd=ROOT, start_new_session=True)
        its.close()
        self.stream = ours.makefile("rw")
        ours.close()
        atexit.register(self.close)

    def ask(self, **request: Any) -> Any:
        with self.lock:
            self.stream.write(json.dumps(request) + "\n")
            self.stream.flush()
            answer = self.stream.readline()
        if not answer:
            raise RuntimeError(f"the process that forks the doubles ended with {self.popen.wait(5)}")
        return json.loads(answer)

    def close(self) -> None:
        if self.owner == os.getpid():
            with contextlib.suppress(OSError):
                self.stream.close()
            self.popen.wait(10)


_nursery: Nursery | None = None
_making = threading.Lock()


def nursery() -> Nursery:
    global _nursery
    with _making:
        if _nursery is None:
            _nursery = Nursery()
        return _nursery


# --- in that process

def _become(request: dict[str, Any]) -> None:
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    null, log = os.open(os.devnull, os.O_RDONLY), os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for fd, at in ((null, 0), (log, 1), (log, 2)):
        os.dup2(fd, at)
    os.closerange(3, max(null, log) + 1)
    module, *arguments = sys.argv = request["argv"]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # to take everything down that was imported would copy the memory that it shares


def _status(pid: int) -> int | None:
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def _serve() -> dict[str, Any] | None:
    """Returns in the child with what it is to be, and at the end with None."""
    children: set[int] = set()
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(0), "wb", buffering=0)
    while line := asked.readline():
        request = json.loads(line)
        if "status_of" in request:
            answer = _status(request["status_of"])
            if answer is not None:
                children.discard(request["status_of"])
        else:
            answer = os.fork()
            if answer == 0:
                return dict(request)
            children.add(answer)
        answers.write(json.dumps(answer).encode() + b"\n")
    for pid in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    return None


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
        sys.modules.pop(name)  # that one is run, the others stay
    gc.freeze()  # collections in a child would copy what it shares
    if wanted := _serve():
        _become(wanted)

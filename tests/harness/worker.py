"""A helper of a test in a process of its own, so that the test's own Python does not disturb what it measures or serves.

It reads commands from its standard input, one a line, answers each with one line, and ends when that input ends: with the test,
however that ends.
"""

from __future__ import annotations

import os
import pathlib
import select
import subprocess
from collections.abc import Sequence

from .haproxy import PYTHON
from .process import ROOT

_ANSWER_WITHIN = 20.0


class Worker:
    """`python3 -m module arguments...`; its standard error goes to the log."""

    def __init__(self, module: str, arguments: Sequence[object], log: os.PathLike[str] | str):
        self.module = module
        self.log_path = pathlib.Path(log)
        with open(self.log_path, "ab") as err:
            self.popen = subprocess.Popen([PYTHON, "-m", module, *map(str, arguments)], cwd=ROOT, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=err, start_new_session=True)
        self._heard = b""

    @property
    def pid(self) -> int:
        return self.popen.pid

    def ask(self, command: str) -> str:
        """Sends a command and returns the answer."""
        assert self.popen.stdin
        try:
            self.popen.stdin.write(command.encode() + b"\n")
            self.popen.stdin.flush()
        except OSError as e:
            raise self._trouble(f"does not read {command!r}: {e}") from e
        return self.hear(command)

    def hear(self, command: str = "its start") -> str:
        """The next line that it says."""
        assert self.popen.stdout
        while b"\n" not in self._heard:
            if not select.select([self.popen.stdout], [], [], _ANSWER_WITHIN)[0]:
                raise self._trouble(f"did not answer {command!r} within {_ANSWER_WITHIN:g} s")
            more = os.read(self.popen.stdout.fileno(), 65536)
            if not more:
                raise self._trouble(f"ended at {command!r}")
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        answer = line.decode()
        if answer.startswith("error: "):
            raise self._trouble(f"answers {command!r} with {answer!r}")
        return answer

    def _trouble(self, what: str) -> AssertionError:
        return AssertionError(f"{self.module} {what}; its log {self.log_path}: {self.log_path.read_text(errors='replace')[-2000:]}")

    def finish(self, timeout: float = 30.0) -> None:
        """The end of its input; what it still has to write it writes."""
        if self.popen.stdin:
            self.popen.stdin.close()
        try:
            status = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._trouble(f"did not end within {timeout:g} s") from None
        if self.popen.stdout:
            self.popen.stdout.close()
        if status != 0:
            raise self._trouble(f"ended with {status}")

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(10)
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe:
                pipe.close()

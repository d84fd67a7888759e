"""What the daemon costs and how it fares, every few seconds, as the kernel and its own /metrics say it."""

from __future__ import annotations

import dataclasses
import http.client
import os
import pathlib
import re
import threading
import time
from collections.abc import Callable

from .stage import SERVICES, Stage


@dataclasses.dataclass(frozen=True)
class Sample:
    at: float
    """Seconds since the begin of the soak."""
    rss_kib: int
    anon_kib: int
    """Anonymous memory that is resident: heap and stacks. A leak of memory is here, while RSS has the program's own pages, too."""
    fds: int
    threads: int
    children: int
    cpu_s: float
    """Since its start."""
    in_sync: float | None
    """Backends in sync; None where it did not answer."""
    transactions: int | None
    """Open ones at the Data Plane API; None while that is away."""
    changes: int
    """So far."""


def _rollup(pid: int) -> dict[str, int]:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {name: int(kib) for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def _cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> int:
    """Processes of its own, those that nobody has waited for among them."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(len((task / "children").read_text().split()) for task in tasks)


def sample(stage: Stage, begin: float, changes: int) -> Sample:
    pid = stage.daemon.pid
    memory = _rollup(pid)
    try:
        in_sync: float | None = stage.daemon.metrics().sum("in_sync")
    except (OSError, AssertionError):  # it turns callers away where there are too many
        in_sync = None
    try:
        transactions: int | None = stage.open_transactions()
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        transactions = None
    return Sample(time.monotonic() - begin, memory["Rss"], memory["Anonymous"], len(os.listdir(f"/proc/{pid}/fd")),
                  len(os.listdir(f"/proc/{pid}/task")), _children(pid), _cpu_seconds(pid), in_sync, transactions, changes)


def all_in_step(one: Sample) -> bool:
    return one.in_sync == len(SERVICES)


class Sampler:
    """A thread, since what makes the changes also waits for servers that restart. `with Sampler(...) as sampler`."""

    def __init__(self, stage: Stage, begin: float, every: float, changes: Callable[[], int]):
        self.samples: list[Sample] = []
        self.failed: BaseException | None = None
        self._stage, self._begin, self._every, self._changes = stage, begin, every, changes
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                self.samples.append(sample(self._stage, self._begin, self._changes()))
                self._end.wait(self._every)
        except BaseException as e:  # noqa: BLE001  (reported by what started this thread)
            self.failed = e

    def check(self) -> None:
        """Raises what has ended it."""
        if self.failed is not None:
            raise AssertionError(f"no samples any more: {self.failed!r}\n{self._stage.daemon.tail()}") from self.failed

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(30)

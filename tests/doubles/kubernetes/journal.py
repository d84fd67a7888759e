"""What was asked and how it was answered: for the control port's /requests and the log file."""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from .http import Tally

KEPT = 20_000


@dataclass(kw_only=True)
class Entry(Tally):
    n: int
    method: str
    path: str
    query: dict[str, str]
    resource: str = ""
    verbs: list[str] = field(default_factory=list)
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    connection: int = 0
    """Which one it came by: the peer's port."""
    events: int = 0
    fault: int = 0
    """The id of the fault that hit it, 0 for none."""
    open: bool = True
    started: float = field(default_factory=time.time)
    ended: float = 0.0


class Journal:
    def __init__(self, log: TextIO | None = None):
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self._log = log
        self._last = 0

    def begin(self, method: str, path: str, query: dict[str, str], headers: dict[str, str], connection: int) -> Entry:
        self._last += 1
        entry = Entry(n=self._last, method=method, path=path, query=query, headers=headers, connection=connection)
        self._entries.append(entry)
        return entry

    def end(self, entry: Entry) -> None:
        entry.open, entry.ended = False, time.time()
        query = "&".join(f"{name}={value}" for name, value in entry.query.items())
        self.say(f"{entry.method} {entry.path}{'?' if query else ''}{query} status={entry.status} bytes={entry.bytes} "
                 f"events={entry.events} ms={(entry.ended - entry.started) * 1000:.0f}"
                 + (f" fault={entry.fault}" if entry.fault else ""))

    def say(self, text: str) -> None:
        now = time.time()
        stamp = time.strftime("%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}"
        print(stamp, text, file=self._log or sys.stderr, flush=True)

    def shown(self, since: int = 0) -> list[dict[str, Any]]:
        return [asdict(entry) for entry in self._entries if entry.n > since]

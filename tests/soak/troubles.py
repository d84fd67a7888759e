"""What befalls the parts beside the changes, each again and again at times from the seed."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import socket
import time
from collections.abc import Callable

from .stage import Stage


@dataclasses.dataclass(frozen=True)
class Trouble:
    at: float
    """time.monotonic() of its begin."""
    seconds: float
    what: str


def scrapers(stage: Stage) -> None:
    """Many at once: some read to the end, some hang up before, some never say what they want."""
    held = []
    for i in range(12):
        s = socket.create_connection(("127.0.0.1", stage.daemon.port), timeout=5)
        held.append(s)
        if i % 3:
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    for i, s in enumerate(held):
        with contextlib.suppress(OSError), contextlib.closing(s):
            if i % 3 == 1:
                while s.recv(65536):
                    pass


# name -> (every so many seconds on average, what is done). The order is that of the report.
KINDS: dict[str, tuple[float, Callable[[Stage], object]]] = {
    "connections to Kubernetes reset": (25, lambda stage: stage.to_kube.cut()),
    "connections to Kubernetes closed": (40, lambda stage: stage.to_kube.cut(politely=True)),
    "connections to the Data Plane API reset": (25, lambda stage: stage.to_dataplane.cut()),
    "history compacted": (60, lambda stage: stage.kube.compact()),
    "API server restarted": (120, lambda stage: stage.kube.restart()),
    "token rotated": (60, lambda stage: stage.rotate_token()),
    "SIGHUP": (30, lambda stage: stage.hang_up()),
    "HAProxy reloaded by others": (40, lambda stage: stage.haproxy.reload()),
    "HAProxy restarted": (180, lambda stage: stage.haproxy.restart()),
    "Data Plane API restarted": (150, lambda stage: stage.dataplane.restart()),
    "12 scrapers at once": (15, scrapers),
}


class Troubles:
    def __init__(self, stage: Stage, seed: int, seconds: float):
        """seconds: of the whole run; each kind has its turn even in a short one."""
        self.stage = stage
        self.seen: list[Trouble] = []
        self._dice = random.Random(seed)
        self._every = {what: min(every, seconds / 3) for what, (every, _) in KINDS.items()}
        now = time.monotonic()
        self._due = {what: now + self._dice.uniform(0.2, 1) * every for what, every in self._every.items()}

    def next_due(self) -> float:
        return min(self._due.values())

    def step(self) -> None:
        """The one that is due first."""
        what = min(self._due, key=lambda one: self._due[one])
        begin = time.monotonic()
        KINDS[what][1](self.stage)
        now = time.monotonic()
        self.seen.append(Trouble(begin, now - begin, what))
        self._due[what] = now + self._dice.uniform(0.5, 1.5) * self._every[what]

    def counts(self) -> dict[str, int]:
        return {what: sum(trouble.what == what for trouble in self.seen) for what in KINDS}

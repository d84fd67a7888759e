"""What happened, in order, with its time: changes, faults, and what was seen of them. Threads may all write to it."""

from __future__ import annotations

import dataclasses
import pathlib
import threading
import time


@dataclasses.dataclass(frozen=True)
class Event:
    at: float
    wall: str
    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Violation:
    at: float
    invariant: str
    text: str
    case: str


class Timeline:
    """The times in its lines are seconds since its making, and the wall clock beside them, as the daemon's log has it."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.began = time.monotonic()
        self.events: list[Event] = []
        self.violations: list[Violation] = []
        self.case = ""
        self._lock = threading.Lock()
        self._told: set[tuple[str, str, str]] = set()

    def say(self, kind: str, text: str) -> None:
        with self._lock:
            event = Event(time.monotonic() - self.began, time.strftime("%H:%M:%S"), kind, text)
            self.events.append(event)
            with open(self.path, "a") as out:
                out.write(line(event) + "\n")

    def violate(self, invariant: str, text: str, key: str = "") -> None:
        """Once for each case, invariant and key (default: the text): a sampler would say it twenty times a second."""
        with self._lock:
            mark = (self.case, invariant, key or text)
            if mark in self._told:
                return
            self._told.add(mark)
            self.violations.append(Violation(time.monotonic() - self.began, invariant, text, self.case))
        self.say("VIOLATED", f"{invariant}: {text}")

    def around(self, at: float, before: float = 15.0, after: float = 5.0) -> str:
        with self._lock:
            return "\n".join(line(e) for e in self.events if at - before <= e.at <= at + after)


def line(event: Event) -> str:
    return f"{event.at:8.2f} {event.wall} {event.kind:9} {event.text}"

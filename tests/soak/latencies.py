"""How long the daemon took for each change, out of its own log (LOG_FORMAT=json)."""

from __future__ import annotations

import calendar
import collections
import dataclasses
import json
import time
from collections.abc import Iterable

# msg -> (by which way, the field with its milliseconds)
WAYS = {"server state set at runtime": ("told", "event_to_runtime_ms"),
        "runtime update applied": ("fast", "event_to_commit_ms"),
        "backend changed": ("transaction", "event_to_commit_ms")}
NAMES = {"told": "event to runtime: a server told to drain", "fast": "event to file, without a reload",
         "transaction": "event to file, by a transaction"}


@dataclasses.dataclass(frozen=True)
class Latency:
    at: float
    """Seconds since the begin of the soak."""
    way: str
    ms: float


@dataclasses.dataclass(frozen=True)
class Log:
    latencies: tuple[Latency, ...]
    messages: dict[str, int]
    """How often each was said, at which level: "warn: ..." """


def _seconds(stamp: str) -> float:
    """2026-11-21T20:15:01.123Z"""
    whole, _, part = stamp.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{part or 0}")


def read(lines: Iterable[str], begin: float) -> Log:
    """begin: time.time() of the begin of the soak; what was before is left out."""
    found: list[Latency] = []
    messages: collections.Counter[str] = collections.Counter()
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue  # the last one may be half a line
        at = _seconds(said["time"]) - begin
        if at < 0:
            continue
        messages[f"{said['level']}: {said['msg']}"] += 1
        way, field = WAYS.get(said["msg"], ("", ""))
        if way and field in said:
            found.append(Latency(at, way, float(said[field])))
    return Log(tuple(found), dict(messages.most_common()))

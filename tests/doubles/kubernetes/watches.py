"""WATCH: from a version, from now, with synthetic initial events, and streaming lists."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from . import protobuf
from .encoding import encode
from .objects import Stored, type_header
from .options import Options
from .resources import Resource, Target
from .status import ApiError, status, too_large
from .store import ADDED, DELETED, MODIFIED, Event, Store

BOOKMARK, ERROR = "BOOKMARK", "ERROR"
_BATCH = 64
_BEFORE_DEADLINE_S = 2.0
"""The real server sends a last bookmark this long before a watch times out; none to a watch that is over before its first."""


@dataclass(frozen=True)
class Line:
    type: str
    data: bytes
    ends_initial: bool = False
    stored: Stored | None = None
    """Where it is of one."""

    def in_protobuf(self) -> bytes:
        if self.stored is not None:
            of, tree = self.stored.resource, self.stored.to_write()
            return protobuf.of_event(self.type, protobuf.of_object(of.kind, of.api_version, tree))
        tree = json.loads(self.data)["object"]
        return protobuf.of_event(self.type, protobuf.of_object(tree["kind"], tree["apiVersion"], tree))


@dataclass
class Pace:
    bookmark_interval_s: float = 60.0
    default_timeout_s: float = 3600.0
    fresh_wait_s: float = 3.0
    """How long a request for a version of the future is held back before it is refused."""


def error_line(code: int, message: str, reason: str | None = None, details: dict | None = None) -> Line:
    return Line(ERROR, encode({"type": ERROR, "object": status(code, message, reason, details)}) + b"\n")


def bookmark(resource: Resource, version: int, ends_initial: bool) -> Line:
    metadata: dict = {"resourceVersion": str(version)}
    if ends_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    body = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata, **resource.empty}
    return Line(BOOKMARK, encode({"type": BOOKMARK, "object": body}) + b"\n", ends_initial)


def object_line(type_: str, stored: Stored) -> Line:
    head = b'{"type":"%s","object":%s,' % (type_.encode(), type_header(stored.resource))
    return Line(type_, head + stored.item()[1:] + b"}\n", stored=stored)


class Watch:
    """One watch: checks first (start), then an endless run of batches until its timeout."""

    def __init__(self, store: Store, target: Target, options: Options, etcd: str, pace: Pace):
        self.store, self.target, self.options, self.etcd, self.pace = store, target, options, etcd, pace
        self.version = options.version()

    async def lines(self) -> AsyncIterator[list[Line]]:
        """Batches of lines; between two of them nothing is due, so that what was given can leave."""
        if self.options.initial_events and self.etcd == "3.4":
            yield [error_line(500, "a watch stream was requested by the client but the required storage feature "
                                   "RequestWatchProgress is disabled")]
            return
        started = time.monotonic()
        deadline = started + (self.options.timeout_s or self.pace.default_timeout_s)
        with self.store.subscribe(self.target.resource) as live:
            try:
                backlog = self._initial()
            except ApiError as e:
                yield [Line(ERROR, encode({"type": ERROR, "object": e.status}) + b"\n")]
                return
            for i in range(0, len(backlog), _BATCH):
                yield backlog[i:i + _BATCH]
            bookmark_at = started + self.pace.bookmark_interval_s
            while (now := time.monotonic()) < deadline:
                until = min(deadline, bookmark_at) if self.options.bookmarks else deadline
                if await _woken(live.wake, until - now):
                    live.wake.clear()
                    events = [line for event in _drained(live.events)
                              if event.version > (self.version or 0) and (line := self._line(event))]
                    if events:
                        yield events
                elif self.options.bookmarks and time.monotonic() >= bookmark_at:
                    yield [bookmark(self.target.resource, self._cached(), False)]
                    bookmark_at = self._next_bookmark(time.monotonic(), deadline)

    def _next_bookmark(self, now: float, deadline: float) -> float:
        last = deadline - _BEFORE_DEADLINE_S
        regular = now + self.pace.bookmark_interval_s
        return last if now < last < regular else regular

    def _initial(self) -> list[Line]:
        wanted, options = self.version, self.options
        if options.initial_events:
            if wanted is not None and wanted > self._cached():
                raise too_large(wanted, self._cached())
            lines = self._present()
            return lines + [bookmark(self.target.resource, self._cached(), True)] if options.bookmarks else lines
        if not wanted:
            return [] if options.initial_events is False and wanted is None else self._present()
        return [line for event in self.store.since(self.target.resource, wanted) if (line := self._line(event))]

    def _cached(self) -> int:
        return self.store.cache_version(self.target.resource, self.etcd)

    def _present(self) -> list[Line]:
        return [object_line(ADDED, stored) for stored in self.store.all(self.target.resource) if self._selected(stored)]

    def _selected(self, stored: Stored) -> bool:
        return ((not self.target.namespace or stored.namespace == self.target.namespace)
                and stored.selected(self.options.labels, self.options.fields))

    def _line(self, event: Event) -> Line | None:
        """What a selector makes of an event: an object that no longer matches is deleted, one that now does is added."""
        before = event.previous is not None and self._selected(event.previous)
        after = event.type != DELETED and self._selected(event.object)
        if before and after:
            return object_line(MODIFIED, event.object)
        if after:
            return object_line(ADDED, event.object)
        if before and event.previous is not None:
            return object_line(DELETED, event.previous.at(event.version))
        return None


async def _woken(wake: asyncio.Event, timeout: float) -> bool:
    try:
        await asyncio.wait_for(wake.wait(), max(timeout, 0.0))
        return True
    except asyncio.TimeoutError:
        return False


def _drained(events) -> list[Event]:
    out = []
    while events:
        out.append(events.popleft())
    return out

"""The objects, their history and the global resourceVersion: what etcd and the watch cache are to the real server."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .objects import Key, Stored, complete, from_tree, normalise, same_content
from .resources import Resource
from .status import too_old

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

HISTORY = 20_000
"""Events kept before the oldest are compacted by themselves."""


@dataclass(frozen=True)
class Event:
    version: int
    type: str
    object: Stored
    previous: Stored | None


class Subscription:
    """The events of one resource from now on, and a flag to wait for them."""

    def __init__(self, resource: Resource):
        self.resource = resource
        self.events: deque[Event] = deque()
        self.wake = asyncio.Event()

    def push(self, event: Event) -> None:
        self.events.append(event)
        self.wake.set()


class Store:
    def __init__(self, first_version: int = 100) -> None:
        self.version = first_version
        self.compacted = 0
        """A watch or an exact read from before this version is refused."""
        self._objects: dict[Resource, dict[Key, Stored]] = defaultdict(dict)
        self._touched: dict[Resource, int] = defaultdict(lambda: first_version)
        self._history: deque[Event] = deque()
        self._subscriptions: set[Subscription] = set()

    def get(self, resource: Resource, key: Key) -> Stored | None:
        return self._objects[resource].get(key)

    def cache_version(self, resource: Resource, etcd: str) -> int:
        """How far the watch cache of a resource knows to be: over an old etcd, which reports no progress, its last event."""
        return self._touched[resource] if etcd == "3.4" else self.version

    async def fresh(self, resource: Resource, version: int, etcd: str, wait_s: float) -> None:
        """Until the watch cache has reached a version, or the time is over; what follows then refuses by itself."""
        with self.subscribe(resource) as live:
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(wait_s):
                    while self.cache_version(resource, etcd) < version:
                        live.wake.clear()
                        await live.wake.wait()

    def all(self, resource: Resource, version: int | None = None) -> list[Stored]:
        """Every object in the order of keys, now or at a version that is not compacted."""
        objects = self._objects[resource]
        if version is not None and version < self.version:
            objects = self._rewound(resource, version)
        return [objects[key] for key in sorted(objects)]

    def _rewound(self, resource: Resource, version: int) -> dict[Key, Stored]:
        if version < self.compacted:
            raise too_old(version, self.compacted)
        objects = dict(self._objects[resource])
        for event in reversed(self._history):
            if event.version <= version:
                break
            if event.object.resource != resource:
                continue
            if event.previous is None:
                objects.pop(event.object.key, None)
            else:
                objects[event.object.key] = event.previous
        return objects

    def put(self, resource: Resource, tree: dict[str, Any]) -> Stored:
        """Creates or updates; nothing happens where the content is the same. Another uid is a delete and a create."""
        tree = normalise(resource, tree)
        key = (tree["metadata"].get("namespace", ""), tree["metadata"]["name"])
        previous = self.get(resource, key)
        uid = tree["metadata"].get("uid")
        if previous and uid and uid != previous.uid:
            self.delete(resource, key)
            previous = None
        if previous and same_content(previous.tree(), tree):
            return previous
        stored = complete(resource, tree, self.version + 1, previous)
        self._objects[resource][key] = stored
        self._record(Event(stored.version, MODIFIED if previous else ADDED, stored, previous))
        return stored

    def delete(self, resource: Resource, key: Key) -> Stored | None:
        previous = self._objects[resource].pop(key, None)
        if previous is None:
            return None
        gone = previous.at(self.version + 1)
        self._record(Event(gone.version, DELETED, gone, previous))
        return gone

    def _record(self, event: Event) -> None:
        self.version = self._touched[event.object.resource] = event.version
        self._history.append(event)
        if len(self._history) > HISTORY:
            self.compact(self._history[HISTORY // 10].version)
        for subscription in self._subscriptions:
            if subscription.resource == event.object.resource:
                subscription.push(event)

    def advance(self, version: int) -> None:
        """The version as if other resources had been written meanwhile."""
        self.version = max(self.version, version)

    def compact(self, version: int | None = None) -> int:
        """Forgets what led to this version (default: all); running watches are not touched, as on the real server."""
        self.compacted = max(self.compacted, min(self.version if version is None else version, self.version))
        while self._history and self._history[0].version <= self.compacted:
            self._history.popleft()
        return self.compacted

    def since(self, resource: Resource, version: int) -> list[Event]:
        if version < self.compacted:
            raise too_old(version, self.compacted)
        return [event for event in self._history if event.version > version and event.object.resource == resource]

    @contextlib.contextmanager
    def subscribe(self, resource: Resource) -> Iterator[Subscription]:
        subscription = Subscription(resource)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def adopt(self, objects: list[Stored]) -> None:
        """Objects with their versions, outside of history: generated or restored ones."""
        for stored in objects:
            self._objects[stored.resource][stored.key] = stored
            self._touched[stored.resource] = max(self._touched[stored.resource], stored.version)
            self.version = max(self.version, stored.version)
        self.compact()

    def restore(self, version: int, objects: list[tuple[Resource, dict[str, Any]]]) -> None:
        """Everything replaced: a cluster restored from a backup, or the double started again. No events, no history."""
        for held in self._objects.values():
            held.clear()
        self._history.clear()
        self._touched = defaultdict(int)
        self.version = self.compacted = version
        self.adopt([from_tree(resource, normalise(resource, tree)) for resource, tree in objects])

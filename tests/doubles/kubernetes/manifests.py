"""Objects from a directory of manifests: what changes there is an event."""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from .objects import BadObject, Key, UnknownKind, normalise, resource_of
from .resources import Resource
from .store import Store

INTERVAL_S = 0.01
DOUBT_S = 0.05
"""How long a content that would remove objects has to stand: an editor may be in the middle of writing."""
Owned = dict[tuple[Resource, Key], dict[str, Any]]


def parse(path: pathlib.Path, text: str, passed_over: Callable[[str], None]) -> Owned:
    """Every object in a file, by what it is; a List is what it lists, and kinds that are not served are passed over."""
    found: Owned = {}
    for tree in _flat(_documents(text)):
        try:
            resource = resource_of(tree)
        except UnknownKind as e:
            passed_over(f"{path.name}: passed over: {e}")
            continue
        meta = normalise(resource, tree)["metadata"]
        found[resource, (meta.get("namespace", ""), meta["name"])] = tree
    return found


class Loader(yaml.SafeLoader):
    """Leaves timestamps as they are written: JSON has no type for them."""
    yaml_implicit_resolvers = {first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
                               for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def _documents(text: str) -> list[Any]:
    try:
        return [tree for tree in yaml.load_all(text, Loader) if tree is not None]
    except yaml.YAMLError as e:
        raise BadObject(str(e)) from None


def _flat(trees: list[Any]) -> Iterator[Any]:
    for tree in trees:
        if isinstance(tree, dict) and str(tree.get("kind", "")).endswith("List") and "items" in tree:
            yield from tree["items"]
        else:
            yield tree


@dataclass
class _File:
    digest: str = ""
    owned: Owned | None = None
    doubted: str | None = None
    """The digest of a content that would remove objects, first seen at doubted_at."""
    doubted_at: float = 0.0


class Manifests:
    def __init__(self, directory: pathlib.Path, store: Store, say: Callable[[str], None]):
        self.directory, self.store, self.say = directory, store, say
        self._files: dict[pathlib.Path, _File] = {}

    async def run(self) -> None:
        while True:
            self.poll()
            await asyncio.sleep(INTERVAL_S)

    def poll(self) -> None:
        """Compares contents, not times: an edit within one tick of the clock counts, too."""
        seen: dict[pathlib.Path, str] = {}
        for path in sorted(self.directory.iterdir()):
            if path.suffix == ".yaml" and not path.name.startswith("."):
                try:
                    seen[path] = path.read_text(errors="replace")
                except OSError:
                    continue
        for path in [*seen, *(path for path in self._files if path not in seen)]:
            self._look(path, seen.get(path))

    def _look(self, path: pathlib.Path, text: str | None) -> None:
        file = self._files.setdefault(path, _File())
        digest = "gone" if text is None else hashlib.sha256(text.encode()).hexdigest()
        if digest == file.digest:
            file.doubted = None
            return
        try:
            owned = {} if text is None else parse(path, text, self.say)
        except ValueError as e:
            self.say(f"{path.name}: kept what it said before: {e}")
            file.digest = digest
            return
        missing = (file.owned or {}).keys() - owned.keys()
        if missing and file.doubted != digest:
            file.doubted, file.doubted_at = digest, time.monotonic()
        if missing and time.monotonic() < file.doubted_at + DOUBT_S:
            return
        self._apply(path, owned, missing)
        file.digest, file.owned, file.doubted = digest, owned, None
        if text is None:
            del self._files[path]

    def _apply(self, path: pathlib.Path, owned: Owned, missing: set[tuple[Resource, Key]]) -> None:
        for (resource, key), tree in owned.items():
            before = self.store.version
            stored = self.store.put(resource, tree)
            if self.store.version != before:
                self.say(f"{path.name}: {resource.kind} {key[1]} is at {stored.version}")
        for resource, key in missing:
            if not any((resource, key) in (file.owned or {}) for other, file in self._files.items() if other != path):
                if self.store.delete(resource, key):
                    self.say(f"{path.name}: {resource.kind} {key[1]} deleted")

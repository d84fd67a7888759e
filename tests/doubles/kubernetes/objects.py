"""One stored version of an object, and what the server adds to what a client wrote."""

from __future__ import annotations

import copy
import functools
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from .encoding import encode
from .protobuf import Written, node_of_parts, parts_of_node
from .resources import Resource, by_kind
from .selectors import Matches

Key = tuple[str, str]
"""Namespace and name; sorts as the real server's storage keys do."""

_METADATA_ORDER = ("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
                   "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences",
                   "finalizers", "managedFields")
_SERVER_FIELDS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


class BadObject(ValueError):
    """An object that cannot be stored; the text says why."""


class UnknownKind(BadObject):
    """An object of a kind that the double does not serve."""


@dataclass(frozen=True)
class Stored:
    resource: Resource
    namespace: str
    name: str
    uid: str
    version: int
    labels: dict[str, str] = field(repr=False)
    parts: tuple[bytes, ...] = field(repr=False)
    """The JSON text without kind and apiVersion; in parts, so that generated objects can share their bulk."""
    images: Written | None = field(default=None, repr=False)
    """What the last of several parts says, in protobuf."""
    rest: list[tuple[Written, Written, bytes]] = field(default_factory=list, repr=False, compare=False)
    """What the others say, once it was asked for: thousands of nodes are written in each list."""

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def fields(self) -> dict[str, str]:
        names = self.resource.fields
        own = {name: str(self.tree().get(name, "")) for name in names} if names else {}
        return {"metadata.name": self.name, "metadata.namespace": self.namespace, **own}

    def selected(self, labels: Matches, fields: Matches) -> bool:
        return labels(self.labels) and fields(self.fields)

    def item(self) -> bytes:
        """As an item of a list: a list's items name neither kind nor apiVersion."""
        return b"".join(self.parts)

    def typed(self) -> bytes:
        """As the object of an event or of a GET."""
        return type_header(self.resource) + b"," + self.item()[1:]

    def tree(self) -> dict[str, Any]:
        return json.loads(self.item())

    def to_write(self) -> dict[str, Any]:
        """The tree as protobuf is written from it."""
        if self.images is None:
            return self.tree()
        if not self.rest:
            self.rest.append(parts_of_node(json.loads(self.parts[0] + b"}}")))
        return node_of_parts(self.rest[0], self.images)

    def at(self, version: int) -> "Stored":
        """The same object with another resourceVersion, as a DELETED event carries it."""
        tree = self.tree()
        tree["metadata"]["resourceVersion"] = str(version)
        return from_tree(self.resource, tree)


@functools.cache
def type_header(resource: Resource) -> bytes:
    return encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1]


def from_tree(resource: Resource, tree: dict[str, Any]) -> Stored:
    """A complete object (metadata filled in) as it is stored."""
    meta = tree["metadata"]
    bare = {key: value for key, value in tree.items() if key not in ("kind", "apiVersion")}
    return Stored(resource, meta.get("namespace", ""), meta["name"], meta["uid"], int(meta["resourceVersion"]),
                  dict(meta.get("labels") or {}), (encode(bare),))


def resource_of(tree: Any) -> Resource:
    if not isinstance(tree, dict):
        raise BadObject(f"an object is a mapping with kind and metadata, this is {type(tree).__name__}")
    resource = by_kind(str(tree.get("kind")), str(tree.get("apiVersion")))
    if resource is None:
        raise UnknownKind(f"{tree.get('apiVersion')} {tree.get('kind')} is no resource that the double serves")
    return resource


def normalise(resource: Resource, tree: dict[str, Any]) -> dict[str, Any]:
    """A copy with metadata checked, namespaced and in the server's order; kind and apiVersion are left out."""
    metadata = tree.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise BadObject(f"{resource.kind}: metadata.name is missing")
    metadata = copy.deepcopy(metadata)
    if resource.namespaced:
        metadata.setdefault("namespace", "default")
    else:
        metadata.pop("namespace", None)
    ordered = {key: metadata.pop(key) for key in _METADATA_ORDER if key in metadata}
    ordered.update(metadata)
    rest = {key: copy.deepcopy(value) for key, value in tree.items() if key not in ("kind", "apiVersion", "metadata")}
    return {"metadata": ordered, **rest}


def _content(tree: dict[str, Any]) -> dict[str, Any]:
    """What a client wrote, without what the server keeps."""
    meta = {key: value for key, value in tree["metadata"].items() if key not in _SERVER_FIELDS}
    return {**tree, "metadata": meta}


def same_content(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return _content(one) == _content(other)


def _fields_v1(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {f"f:{key}": _fields_v1(inner) for key, inner in value.items()}


def managed_fields(resource: Resource, tree: dict[str, Any], now: str) -> list[dict[str, Any]]:
    """Shaped like the real thing; a client has to skip it, so that the owner's details do not matter."""
    owned: dict[str, Any] = _fields_v1({key: value for key, value in tree.items() if key != "metadata"})
    labels = tree["metadata"].get("labels")
    if labels:
        owned["f:metadata"] = {"f:labels": {".": {}, **_fields_v1(labels)}}
    return [{"manager": "unknown", "operation": "Update", "apiVersion": resource.api_version, "time": now,
             "fieldsType": "FieldsV1", "fieldsV1": owned}]


def complete(resource: Resource, tree: dict[str, Any], version: int, previous: Stored | None) -> Stored:
    """A normalised object with everything that the server adds; what the writer gave is kept."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    old = previous.tree()["metadata"] if previous else {}
    meta = tree["metadata"]
    meta["uid"] = meta.get("uid") or old.get("uid") or str(uuid.uuid4())
    meta["resourceVersion"] = str(version)
    if resource.has_generation:
        meta["generation"] = old.get("generation", 0) + 1
    meta["creationTimestamp"] = meta.get("creationTimestamp") or old.get("creationTimestamp") or now
    meta["managedFields"] = meta.get("managedFields") or managed_fields(resource, tree, now)
    return from_tree(resource, normalise(resource, tree))

"""LIST: whole, in pages, and at a version."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .encoding import encode
from .objects import Stored
from .options import EXACT, Options
from .resources import Target
from .status import ApiError, too_large
from .store import Store


@dataclass(frozen=True)
class _View:
    """What a list shows: objects as they were at a version (None: now), from a key on, so many; and the version it names."""

    at: int | None
    named: int
    after: str = ""
    limit: int = 0


def listed(store: Store, target: Target, options: Options, etcd: str) -> tuple[dict[str, Any], list[Stored]]:
    """The list without its items, and these; every refusal is raised here."""
    view = _continued(store, options) if options.continue_token else _first(store, target, options, etcd)
    objects = [stored for stored in store.all(target.resource, view.at)
               if (not target.namespace or stored.namespace == target.namespace)
               and stored.selected(options.labels, options.fields) and _start_key(stored, target, etcd) >= view.after]
    shown = objects[:view.limit] if view.limit else objects
    metadata: dict[str, Any] = {"resourceVersion": str(view.named)}
    if len(shown) < len(objects):
        metadata["continue"] = _token(view.named, _start_key(shown[-1], target, etcd) + "\0")
        if not options.label_text and not options.field_text:
            metadata["remainingItemCount"] = len(objects) - len(shown)
    head = {"kind": target.resource.kind + "List", "apiVersion": target.resource.api_version, "metadata": metadata}
    return head, shown


def in_json(head: dict[str, Any], shown: list[Stored]) -> Iterator[bytes]:
    """The answer in parts."""
    yield encode(head)[:-1] + b',"items":['
    for i, stored in enumerate(shown):
        yield (b"," if i else b"") + stored.item()
    yield b"]}\n"


def _continued(store: Store, options: Options) -> _View:
    if options.version_text not in ("", "0"):
        raise ApiError(400, "specifying resource version is not allowed when using continue")
    version, after = _parse_token(options.continue_token)
    limit = 0 if options.version_text else options.limit
    if 0 <= version < store.compacted:
        raise ApiError(410, "The provided continue parameter is too old: start a new list without it",
                       metadata={"continue": _token(-1, after)})
    if version < 0:
        return _View(None, store.version, after, limit)
    return _View(version, version, after, limit)


def _first(store: Store, target: Target, options: Options, etcd: str) -> _View:
    wanted = options.version()
    if wanted is None:
        return _View(None, store.version, limit=options.limit)
    cached = store.cache_version(target.resource, etcd)
    if wanted > cached:
        raise too_large(wanted, cached)
    if wanted and (options.version_match == EXACT or (options.limit and not options.version_match)):
        if wanted < store.compacted:
            raise ApiError(410, f"The resourceVersion for the provided list is too old: {wanted}")
        return _View(wanted, wanted, limit=options.limit)
    return _View(None, cached, limit=options.limit if wanted else 0)


def _start_key(stored: Stored, target: Target, etcd: str) -> str:
    """The key below the list's prefix; over an old etcd the list bypasses the watch cache, whose keys have a slash more."""
    path = stored.name if target.namespace or not stored.namespace else f"{stored.namespace}/{stored.name}"
    return path if etcd == "3.4" else "/" + path


def _token(version: int, start: str) -> str:
    text = encode({"v": "meta.k8s.io/v1", "rv": version, "start": start})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _parse_token(token: str) -> tuple[int, str]:
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ApiError(400, "invalid continue token: continue key is not valid: illegal base64 data") from None
    try:
        value = json.loads(text)
        return int(value["rv"]), str(value["start"])
    except (ValueError, KeyError, TypeError):
        shown = repr(chr(text[0])).replace("\\x", "\\u00") if text else "EOF"
        raise ApiError(400, "invalid continue token: continue key is not valid: "
                            f"invalid character {shown} looking for beginning of value") from None

"""What the real server refuses in an Event of core/v1, and what it adds: of the older kind, with a count and two times, and no
eventTime. Nearly everything else may be anything."""

from __future__ import annotations

import re
from typing import Any

from .status import ApiError

Tree = dict[str, Any]

_TIME = "2006-01-02T15:04:05Z07:00"
_TIMES = ("firstTimestamp", "lastTimestamp")
_DEFAULTS: Tree = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
                   "reportingComponent": "", "reportingInstance": ""}


def check(tree: Tree, patched: bool = False) -> None:
    """Completes the tree; a patch that makes it unreadable is refused in other words than such an object."""
    for key, value in _DEFAULTS.items():
        tree.setdefault(key, dict(value) if isinstance(value, dict) else value)
    if why := _unreadable(tree):
        raise ApiError(422, f' "" is invalid: patch: Invalid value: {why}', details={}) if patched else \
            ApiError(400, f'Event in version "v1" cannot be handled as a Event: {why}')
    meta = tree["metadata"]
    about, namespace = tree["involvedObject"].get("namespace", ""), meta.get("namespace", "")
    if about != namespace:
        raise _elsewhere(str(meta.get("name", "")), about)


def _unreadable(tree: Tree) -> str:
    count = tree.get("count", 0)
    if not isinstance(count, int) or isinstance(count, bool):
        return f"json: cannot unmarshal {'string' if isinstance(count, str) else 'value'} into Go struct field Event.count of type int32"
    if not -2**31 <= count < 2**31:
        return f"json: cannot unmarshal number {count} into Go struct field Event.count of type int32"
    for key in _TIMES:
        value = tree.get(key)
        if value is not None and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", str(value)):
            return f'parsing time "{value}" as "{_TIME}": cannot parse'
    return ""


def _elsewhere(name: str, namespace: str) -> ApiError:
    why = f'Invalid value: "{namespace}": does not match event.namespace'
    return ApiError(422, f'Event "{name}" is invalid: involvedObject.namespace: {why}', details={
        "name": name, "kind": "Event",
        "causes": [{"reason": "FieldValueInvalid", "message": why, "field": "involvedObject.namespace"}]})

"""GET, POST, PUT, PATCH and DELETE of single objects, so that what writes to a real server can write to the double, too."""

from __future__ import annotations

import json
import time
from typing import Any

from .encoding import encode
from .events import check as check_event
from .http import Request
from .leases import check as check_lease
from .objects import BadObject, Stored, resource_of
from .resources import EVENTS, LEASES, Target
from .status import ApiError, not_found
from .store import Store

Tree = dict[str, Any]

_DELETION = ("deletionTimestamp", "deletionGracePeriodSeconds")
"""What marks an object that is deleted but held by its finalizers; it goes with the last of them."""


def answer(store: Store, request: Request, target: Target) -> tuple[int, bytes]:
    """Status and body; refusals are raised."""
    method = request.method
    if method == "POST" and not target.name:
        return 201, _create(store, target, _tree(request, target)).typed() + b"\n"
    if not target.name or method not in ("GET", "PUT", "PATCH", "DELETE"):
        raise ApiError(405, "the server does not allow this method on the requested resource", details={})
    held = store.get(target.resource, (target.namespace, target.name))
    if held is None and method == "PUT" and target.resource.versioned:
        return 201, _create_by_put(store, target, _tree(request, target)).typed() + b"\n"
    if held is None:
        raise not_found(target)
    if method == "DELETE":
        return 200, _mark(store, target, held) if _finalizers(held) else _delete(store, target, held)
    if method == "PUT":
        held = _update(store, target, held, _tree(request, target))
    elif method == "PATCH":
        patched = _patched(request, held)
        if target.resource == EVENTS:
            check_event(patched, patched=True)
        held = _update(store, target, held, patched)
    return 200, held.typed() + b"\n"


def _tree(request: Request, target: Target) -> Tree:
    try:
        tree = json.loads(request.body)
        resource = resource_of(tree)
    except (ValueError, BadObject) as e:
        raise ApiError(400, f"the body cannot be read: {e}") from None
    if resource != target.resource:
        raise ApiError(400, f"the body is a {resource.kind}, the path is for a {target.resource.kind}")
    meta = tree.get("metadata") or {}
    if target.name and meta.get("name") != target.name:
        raise ApiError(400, f"the name of the object ({meta.get('name')}) does not match the name on the URL ({target.name})")
    if target.namespace and meta.setdefault("namespace", target.namespace) != target.namespace:
        raise ApiError(400, "the namespace of the provided object does not match the namespace sent on the request")
    if resource == LEASES:
        check_lease(tree)
    if resource == EVENTS:
        check_event(tree)
    return tree


def _put(store: Store, target: Target, tree: Tree) -> Stored:
    try:
        return store.put(target.resource, tree)
    except BadObject as e:
        raise ApiError(422, str(e), details=target.details) from None


def _create(store: Store, target: Target, tree: Tree) -> Stored:
    meta = tree.get("metadata") or {}
    named = Target(target.resource, target.namespace, str(meta.get("name", "")))
    if meta.get("resourceVersion"):
        raise ApiError(500, "resourceVersion should not be set on objects to be created", "")
    if store.get(target.resource, (target.namespace, named.name)):
        raise ApiError(409, f'{named.qualified} "{named.name}" already exists', "AlreadyExists", named.details)
    tree["metadata"] = {key: value for key, value in meta.items() if key != "uid"}
    return _put(store, target, tree)


def _another(target: Target, uid: str, held: str) -> ApiError:
    why = "StorageError: invalid object, Code: 4, " \
          f"Key: /registry/{target.resource.plural}/{target.namespace}/{target.name}, ResourceVersion: 0, " \
          f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {held}"
    return ApiError(409, f'Operation cannot be fulfilled on {target.qualified} "{target.name}": {why}', details=target.details)


def _create_by_put(store: Store, target: Target, tree: Tree) -> Stored:
    """One that was deleted since it was read still carries its uid, and is not made again."""
    if uid := tree["metadata"].get("uid"):
        raise _another(target, uid, "")
    tree["metadata"].pop("resourceVersion", None)
    return _put(store, target, tree)


def _without_version(target: Target) -> ApiError:
    why = "Invalid value: 0: must be specified for an update"
    return ApiError(422, f'{target.qualified} "{target.name}" is invalid: metadata.resourceVersion: {why}', details={
        **target.details, "causes": [{"reason": "FieldValueInvalid", "message": why, "field": "metadata.resourceVersion"}]})


def _update(store: Store, target: Target, held: Stored, tree: Tree) -> Stored:
    meta = tree["metadata"]
    version, uid = meta.get("resourceVersion"), meta.get("uid")
    if uid and uid != held.uid:
        raise _another(target, uid, held.uid)
    if not version and target.resource.versioned:
        raise _without_version(target)
    if version and version != str(held.version):
        raise ApiError(409, f'Operation cannot be fulfilled on {target.qualified} "{target.name}": the object has been modified; '
                            "please apply your changes to the latest version and try again", details=target.details)
    if target.resource.has_status:
        before = held.tree()
        tree = {**before, "status": tree.get("status", {})} if target.subresource else \
               {**tree, "status": before.get("status", {})}
    kept = {key: value for key, value in held.tree()["metadata"].items() if key in _DELETION}
    tree = {**tree, "metadata": {**tree["metadata"], **kept}}
    if kept and not tree["metadata"].get("finalizers"):
        store.delete(target.resource, held.key)
        return held
    return _put(store, target, tree)


def _patched(request: Request, held: Stored) -> Tree:
    if not request.headers.get("content-type", "").startswith("application/merge-patch+json"):
        raise ApiError(415, "the double knows application/merge-patch+json only", "UnsupportedMediaType")
    try:
        change = json.loads(request.body)
    except ValueError as e:
        raise ApiError(400, f"the patch cannot be read: {e}") from None
    return _merged(held.tree(), change)


def _merged(value: Any, change: Any) -> Any:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    merged = dict(value) if isinstance(value, dict) else {}
    for key, inner in change.items():
        if inner is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), inner)
    return merged


def _finalizers(held: Stored) -> list[str]:
    return held.tree()["metadata"].get("finalizers") or []


def _mark(store: Store, target: Target, held: Stored) -> bytes:
    tree = held.tree()
    if _DELETION[0] not in tree["metadata"]:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        tree["metadata"].update(zip(_DELETION, (now, 0)))
        held = _put(store, target, tree)
    return held.typed() + b"\n"


def _delete(store: Store, target: Target, held: Stored) -> bytes:
    store.delete(target.resource, held.key)
    details = {**target.details, "uid": held.uid}
    return encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}) + b"\n"

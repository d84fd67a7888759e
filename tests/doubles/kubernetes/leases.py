"""What the real server refuses in a Lease before it checks anything else, and what it leaves out."""

from __future__ import annotations

import re
from typing import Any

from .status import ApiError

Tree = dict[str, Any]

_MICRO_TIME = "2006-01-02T15:04:05.000000Z07:00"
_TYPES: dict[str, tuple[type, str]] = {
    "holderIdentity": (str, "string"), "leaseDurationSeconds": (int, "int32"), "leaseTransitions": (int, "int32"),
    "acquireTime": (str, ""), "renewTime": (str, ""), "strategy": (str, "string"), "preferredHolder": (str, "string")}
_LEAST = {"leaseDurationSeconds": (1, "greater than 0"), "leaseTransitions": (0, "greater than or equal to 0")}


def check(tree: Tree) -> None:
    spec = tree["spec"] = {key: value for key, value in (tree.get("spec") or {}).items() if value is not None}
    for key, value in spec.items():
        if key in _TYPES:
            _check_type(key, value)
    wrong = [(key, value, least) for key, (number, least) in _LEAST.items() if (value := spec.get(key)) is not None and value < number]
    if wrong:
        raise _invalid(str(tree["metadata"].get("name", "")), wrong)


def _check_type(key: str, value: Any) -> None:
    type_, shown = _TYPES[key]
    if not isinstance(value, type_) or isinstance(value, bool):
        raise _unreadable(f"json: cannot unmarshal {_json_type(value)} into Go struct field LeaseSpec.spec.{key} of type {shown}")
    if type_ is int and not -2**31 <= value < 2**31:
        raise _unreadable(f"json: cannot unmarshal number {value} into Go struct field LeaseSpec.spec.{key} of type int32")
    if not shown and not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}(Z|[+-]\d\d:\d\d)", value):
        raise _unreadable(f'parsing time "{value}" as "{_MICRO_TIME}": cannot parse')


def _json_type(value: Any) -> str:
    return {bool: "bool", int: "number", float: "number", str: "string", list: "array"}.get(type(value), "object")


def _unreadable(why: str) -> ApiError:
    return ApiError(400, f'Lease in version "v1" cannot be handled as a Lease: {why}')


def _invalid(name: str, wrong: list[tuple[str, int, str]]) -> ApiError:
    texts = [f"Invalid value: {value}: must be {least}" for _, value, least in wrong]
    fields = [f"spec.{key}" for key, _, _ in wrong]
    shown = ", ".join(f"{field}: {text}" for field, text in zip(fields, texts))
    causes = [{"reason": "FieldValueInvalid", "message": text, "field": field} for field, text in zip(fields, texts)]
    return ApiError(422, f'Lease.coordination.k8s.io "{name}" is invalid: {f"[{shown}]" if len(wrong) > 1 else shown}',
                    details={"name": name, "group": "coordination.k8s.io", "kind": "Lease", "causes": causes})

"""What a body must look like: the checks that the API makes before anything else, in its words.

3.0 gives each kind of failure a code of its own in the body (602 required, 605 pattern, 606 enum, 607/608 bounds),
3.4 says 422; the HTTP status is 422 with both.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import ApiError
from .servers import fields

NAME = r"^[^\s]+$"
SECTION_NAME = r"^[A-Za-z0-9-_.:]+$"
CODES = {"required": 602, "type": 601, "pattern": 605, "enum": 606, "min": 607, "max": 608}
ON_OFF = ["enabled", "disabled"]
MODES = ["http", "tcp", "log", "spop"]
ALGORITHMS = ["roundrobin", "static-rr", "leastconn", "first", "source", "uri", "url_param", "hdr", "random", "rdp-cookie",
              "hash"]
ADV_CHECKS = ["httpchk", "ldap-check", "mysql-check", "pgsql-check", "redis-check", "smtpchk", "ssl-hello-chk", "tcp-check"]


class Checker:
    def __init__(self, play: str, where: str = "body"):
        self.play = play
        self.where = where

    def fail(self, kind: str, message: str) -> None:
        raise ApiError(422, message, CODES[kind] if self.play == "3.0" else 422)

    def required(self, model: dict[str, Any], field: str) -> None:
        if model.get(field) in (None, ""):
            self.fail("required", f"{field} in {self.where} is required")

    def pattern(self, model: dict[str, Any], field: str, pattern: str) -> None:
        value = model.get(field)
        if value is not None and not re.search(pattern, value):
            self.fail("pattern", f"{field} in {self.where} should match '{pattern}'")

    def enum(self, model: dict[str, Any], field: str, allowed: list[str]) -> None:
        if model.get(field) not in (None, "", *allowed):
            self.fail("enum", f"{field} in {self.where} should be one of [{' '.join(allowed)}]")

    def bounds(self, model: dict[str, Any], field: str, low: int | None, high: int | None = None) -> None:
        value = model.get(field)
        if value is None:
            return
        if low is not None and value < low:
            self.fail("min", f"{field} in {self.where} should be greater than or equal to {low}")
        if high is not None and value > high:
            self.fail("max", f"{field} in {self.where} should be less than or equal to {high}")

    def type(self, model: dict[str, Any], field: str, kind: type) -> None:
        value = model.get(field)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            names = {int: "integer", str: "string", bool: "boolean", list: "array", dict: "object"}
            if self.play == "3.0":  # its decoder fails before the checks do
                raise ApiError(400, f"parsing {self.where} body failed, because {field} is no {names[kind]}")
            raise ApiError(422, f"{field} in {self.where} must be of type {names[kind]}")


_KINDS = {"flag": str, "str": str, "int": int, "time": int, "bool": bool, "list": list}


def clean_params(model: dict[str, Any], check: Checker) -> dict[str, Any]:
    """The known fields of a server, checked; unknown ones are ignored, as the API does."""
    out: dict[str, Any] = {}
    for _, field, kind in fields(check.play):
        if model.get(field) is None:
            continue
        check.type(model, field, _KINDS[kind])
        if kind == "flag":
            check.enum(model, field, ON_OFF)
        if kind == "str" and field != "agent-send":
            check.pattern(model, field, NAME)
        if kind == "int" and field.endswith("port"):
            check.bounds(model, field, 1, 65535)
        elif kind in ("int", "time"):
            check.bounds(model, field, 0)
        if model[field] not in ("", []):
            out[field] = model[field]
    return out


def clean_server(body: Any, play: str) -> dict[str, Any]:
    check = Checker(play)
    model = _object(body, check)
    for field, kind in (("name", str), ("address", str), ("port", int)):
        check.type(model, field, kind)
    check.required(model, "name")
    check.required(model, "address")
    check.pattern(model, "name", NAME)
    check.pattern(model, "address", NAME)
    check.bounds(model, "port", 1, 65535)
    out = clean_params(model, check)
    return {**out, **{k: model[k] for k in ("name", "address", "port") if model.get(k) is not None}}


def clean_template(body: Any, play: str) -> dict[str, Any]:
    check = Checker(play)
    model = _object(body, check)
    for field, kind in (("prefix", str), ("num_or_range", str), ("fqdn", str), ("port", int)):
        check.type(model, field, kind)
        if field != "port":
            check.required(model, field)
    check.bounds(model, "port", 1, 65535)
    out = clean_params(model, check)
    return {**out, **{k: model[k] for k in ("prefix", "num_or_range", "fqdn", "port") if model.get(k) is not None}}


def clean_backend(body: Any, play: str, known: set[str], full: bool) -> dict[str, Any]:
    check = Checker(play)
    model = _object(body, check)
    check.type(model, "name", str)
    check.required(model, "name")
    check.pattern(model, "name", SECTION_NAME)
    check.enum(model, "mode", MODES)
    check.enum(model, "adv_check", ADV_CHECKS)
    out = {k: v for k, v in model.items() if k in known and v not in (None, "")}
    if "balance" in out:
        inner = Checker(play, "body" if play == "3.0" else "body")
        inner.required(out["balance"], "algorithm")
        inner.enum(out["balance"], "algorithm", ALGORITHMS)
    if "default_server" in out:
        out["default_server"] = clean_params(_object(out["default_server"], check), check)
    for field in ("retries", "fullconn", "id"):
        check.type(out, field, int)
    if full:
        for name, key, clean in (("servers", "name", clean_server), ("server_templates", "prefix", clean_template)):
            members = _object(model.get(name) or {}, check)
            out[name] = {k: clean(v, play) for k, v in members.items()}
            for k, v in out[name].items():
                v[key] = k
    return out


def clean_runtime(body: Any, play: str) -> dict[str, Any]:
    check = Checker(play)
    model = _object(body, check)
    check.enum(model, "admin_state", ["ready", "maint", "drain"])
    check.enum(model, "operational_state", ["up", "down", "stopping"])
    check.bounds(model, "port", 1, 65535)
    return model


def _object(value: Any, check: Checker) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ApiError(400 if check.play == "3.0" else 422, f"{check.where} must be of type object")
    return value

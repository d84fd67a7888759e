"""What a body must look like: the checks that the API makes before anything else, in its words.

3.0 gives each kind of failure a code of its own in the body (602 required, 605 pattern, 606 enum, 608/609 bounds),
3.4 says 422; the HTTP status is 422 with both.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import ApiError
from .servers import fields

NAME = r"^[^\s]+$"
SECTION_NAME = r"^[A-Za-z0-9-_.:]+$"
CODES = {"required": 602, "pattern": 605, "enum": 606, "max": 608, "min": 609}
ON_OFF = ["enabled", "disabled"]
ENUMS = {
    "observe": ["layer4", "layer7"], "on-error": ["fastinter", "fail-check", "sudden-death", "mark-down"],
    "on-marked-down": ["shutdown-sessions"], "on-marked-up": ["shutdown-backup-sessions"],
    "resolve-prefer": ["ipv4", "ipv6"], "verify": ["none", "required"], "ws": ["auto", "h1", "h2"],
    "init-state": ["fully-up", "up", "down", "fully-down"], "log_proto": ["legacy", "octet-count"],
    "mode": ["http", "tcp", "log"], "http_reuse": ["aggressive", "always", "never", "safe"],
    "http_connection_mode": ["httpclose", "http-server-close", "http-keep-alive"],
    "adv_check": ["httpchk", "ldap-check", "mysql-check", "pgsql-check", "redis-check", "smtpchk", "ssl-hello-chk",
                  "tcp-check"],
}
ALGORITHMS = ["first", "hash", "hdr", "leastconn", "random", "rdp-cookie", "roundrobin", "source", "static-rr", "uri",
              "url_param"]
PROXY_OPTIONS = ["authority", "cert-cn", "cert-key", "cert-sig", "crc32c", "ssl", "ssl-cipher", "unique-id"]
ANY_NUMBER = {"weight", "fall", "rise", "maxconn", "minconn", "maxqueue", "max_reuse", "error_limit", "pool_low_conn",
              "pool_max_conn", "id"}


class Checker:
    def __init__(self, play: str, inside: str = ""):
        self.play = play
        self.inside = inside  # the object that holds the fields: "balance."
        self.where = "body"

    def fail(self, kind: str, message: str) -> None:
        raise ApiError(422, message, CODES[kind] if self.play == "3.0" else 422)

    def required(self, model: dict[str, Any], field: str) -> None:
        if model.get(field) in (None, ""):
            self.fail("required", f"{self.inside}{field} in {self.where} is required")

    def pattern(self, model: dict[str, Any], field: str, pattern: str) -> None:
        value = model.get(field)
        if value is not None and not re.search(pattern, value):
            self.fail("pattern", f"{self.inside}{field} in {self.where} should match '{pattern}'")

    def enum(self, model: dict[str, Any], field: str, allowed: list[str]) -> None:
        if model.get(field) not in (None, "", *allowed):
            self.fail("enum", f"{self.inside}{field} in {self.where} should be one of [{' '.join(allowed)}]")

    def bounds(self, model: dict[str, Any], field: str, low: int | None, high: int | None = None) -> None:
        value = model.get(field)
        if value is None:
            return
        if low is not None and value < low:
            self.fail("min", f"{self.inside}{field} in {self.where} should be greater than or equal to {low}")
        if high is not None and value > high:
            self.fail("max", f"{self.inside}{field} in {self.where} should be less than or equal to {high}")

    def type(self, model: dict[str, Any], field: str, kind: type) -> None:
        value = model.get(field)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            names = {int: "integer", str: "string", bool: "boolean", list: "array", dict: "object"}
            if self.play == "3.0":  # its decoder fails before the checks do
                raise ApiError(400, f'parsing data body from "" failed, because {field} is no {names[kind]}')
            raise ApiError(422, f"{self.inside}{field} in {self.where} must be of type {names[kind]}")


_KINDS = {**dict.fromkeys(("flag", "tls", "word", "source", "str"), str), "int": int, "time": int, "bool": bool,
          "list": list}


def clean_params(model: dict[str, Any], check: Checker) -> dict[str, Any]:
    """The known fields of a server, checked; unknown ones are ignored, as the API does."""
    out: dict[str, Any] = {}
    for _, field, kind in fields(check.play):
        if model.get(field) is None:
            continue
        check.type(model, field, _KINDS[kind])
        if kind in ("flag", "tls", "word"):
            check.enum(model, field, ON_OFF)
        elif field in ENUMS:
            check.enum(model, field, ENUMS[field])
        elif kind == "str" and field != "agent-send":
            check.pattern(model, field, NAME)
        elif kind == "int" and field.endswith("port"):
            check.bounds(model, field, 1, 65535)
        elif kind in ("int", "time") and field not in ANY_NUMBER:
            check.bounds(model, field, 0)
        elif field == "proxy-v2-options":
            for i, option in enumerate(model[field]):
                check.enum({f"{field}.{i}": option}, f"{field}.{i}", PROXY_OPTIONS)
        if model[field] not in ("", []):
            out[field] = model[field]
    return out


def clean_server(body: Any, play: str, inside: str = "") -> dict[str, Any]:
    """inside: the object that holds it, as in "servers.n1."; likewise for templates."""
    check = Checker(play, inside)
    model = _object(body, check)
    for field, kind in (("name", str), ("address", str), ("port", int)):
        check.type(model, field, kind)
    for field in ("address", "name"):
        check.required(model, field)
        check.pattern(model, field, NAME)
    check.bounds(model, "port", 1, 65535)
    out = clean_params(model, check)
    check.type(model, "metadata", dict)
    return {**out, **{k: model[k] for k in ("name", "address", "port", "metadata") if model.get(k) is not None}}


def clean_template(body: Any, play: str, inside: str = "") -> dict[str, Any]:
    check = Checker(play, inside)
    model = _object(body, check)
    for field, kind in (("prefix", str), ("num_or_range", str), ("fqdn", str), ("port", int)):
        check.type(model, field, kind)
        if field != "port":
            check.required(model, field)
    check.bounds(model, "port", 1, 65535)
    out = clean_params(model, check)
    return {**out, **{k: model[k] for k in ("prefix", "num_or_range", "fqdn", "port") if model.get(k) is not None}}


def clean_backend(body: Any, play: str, kinds: dict[str, type]) -> dict[str, Any]:
    """kinds: the type of each known field. Servers are checked even where they will not be written."""
    check = Checker(play)
    model = _object(body, check)
    for field, kind in kinds.items():
        check.type(model, field, kind)
        if field.endswith("_timeout"):
            check.bounds(model, field, 0)
    check.required(model, "name")
    for field in ("name", "from"):
        check.pattern(model, field, SECTION_NAME)
    for field in ("mode", "adv_check", "http_reuse", "http_connection_mode"):
        check.enum(model, field, ENUMS[field])
    out = {k: v for k, v in model.items() if k in kinds and v not in (None, "", {})}
    if "balance" in out:
        inner = Checker(play, "balance.")
        inner.required(out["balance"], "algorithm")
        inner.enum(out["balance"], "algorithm", ALGORITHMS)
    if "default_server" in out:
        out["default_server"] = clean_params(out["default_server"], Checker(play, "default_server."))
    for name, clean in (("servers", clean_server), ("server_templates", clean_template)):
        if name in out:  # what is written is the name inside, whatever the key says
            out[name] = {key: clean(member, play, f"{name}.{key}.") for key, member in out[name].items()}
    return out


def clean_runtime(body: Any, play: str) -> dict[str, Any]:
    check = Checker(play)
    model = _object(body, check)
    check.enum(model, "admin_state", ["ready", "maint", "drain"])
    check.enum(model, "operational_state", ["up", "down", "stopping"])
    check.bounds(model, "port", 1, 65535)
    return model


def _object(value: Any, check: Checker) -> dict[str, Any]:
    if value is None:  # `null` reads as an object of nothing
        return {}
    if not isinstance(value, dict):
        raise ApiError(400 if check.play == "3.0" else 422, f"{check.where} must be of type object")
    return value

"""The words of a server, server-template or default-server line <-> the JSON of the API.

FIELDS stands in the order in which the API writes the words. A flag is written `word` for enabled and its opposite for
disabled. Play 3.0 drops a word that it does not know; play 3.4 keeps such a line as it is and leaves it out of its answers.
"""

from __future__ import annotations

import json
from typing import Any

from .cfgfile import Line
from .words import format_time, parse_time

# (word on the line, field in the JSON, kind); kinds: flag, bool, str, int, time, list
FIELDS: list[tuple[str, str, str]] = [
    ("agent-check", "agent-check", "flag"), ("allow-0rtt", "allow_0rtt", "bool"), ("backup", "backup", "flag"),
    ("check", "check", "flag"), ("check-send-proxy", "check-send-proxy", "flag"), ("check-ssl", "check-ssl", "flag"),
    ("check-via-socks4", "check_via_socks4", "flag"), ("disabled", "maintenance", "flag"),
    ("send-proxy", "send-proxy", "flag"), ("send-proxy-v2", "send-proxy-v2", "flag"),
    ("send-proxy-v2-ssl", "send_proxy_v2_ssl", "flag"), ("send-proxy-v2-ssl-cn", "send_proxy_v2_ssl_cn", "flag"),
    ("ssl", "ssl", "flag"), ("ssl-reuse", "ssl_reuse", "flag"), ("tls-tickets", "tls_tickets", "flag"),
    ("stick", "stick", "flag"), ("tfo", "tfo", "flag"),
    ("agent-send", "agent-send", "str"), ("agent-inter", "agent-inter", "time"), ("agent-addr", "agent-addr", "str"),
    ("agent-port", "agent-port", "int"), ("alpn", "alpn", "str"), ("ca-file", "ssl_cafile", "str"),
    ("check-alpn", "check_alpn", "str"), ("check-proto", "check_proto", "str"), ("check-sni", "check-sni", "str"),
    ("ciphers", "ciphers", "str"), ("ciphersuites", "ciphersuites", "str"), ("cookie", "cookie", "str"),
    ("crl-file", "crl_file", "str"), ("crt", "ssl_certificate", "str"), ("error-limit", "error_limit", "int"),
    ("guid", "guid", "str"), ("fall", "fall", "int"), ("init-addr", "init-addr", "str"),
    ("inter", "inter", "time"), ("fastinter", "fastinter", "time"), ("downinter", "downinter", "time"),
    ("log-proto", "log_proto", "str"), ("maxconn", "maxconn", "int"), ("maxqueue", "maxqueue", "int"),
    ("max-reuse", "max_reuse", "int"), ("minconn", "minconn", "int"), ("namespace", "namespace", "str"),
    ("observe", "observe", "str"), ("on-error", "on-error", "str"), ("on-marked-down", "on-marked-down", "str"),
    ("on-marked-up", "on-marked-up", "str"), ("pool-low-conn", "pool_low_conn", "int"),
    ("pool-max-conn", "pool_max_conn", "int"), ("pool-purge-delay", "pool_purge_delay", "time"),
    ("addr", "health_check_address", "str"), ("port", "health_check_port", "int"), ("proto", "proto", "str"),
    ("redir", "redir", "str"), ("rise", "rise", "int"), ("resolve-opts", "resolve_opts", "str"),
    ("resolve-prefer", "resolve-prefer", "str"), ("resolve-net", "resolve-net", "str"), ("resolvers", "resolvers", "str"),
    ("proxy-v2-options", "proxy-v2-options", "list"), ("slowstart", "slowstart", "time"), ("sni", "sni", "str"),
    ("ssl-max-ver", "ssl_max_ver", "str"), ("ssl-min-ver", "ssl_min_ver", "str"), ("socks4", "socks4", "str"),
    ("tcp-ut", "tcp_ut", "time"), ("track", "track", "str"), ("verify", "verify", "str"),
    ("verifyhost", "verifyhost", "str"), ("weight", "weight", "int"), ("ws", "ws", "str"),
    ("pool-conn-name", "pool_conn_name", "str"), ("id", "id", "int"),
]
# Words that the 3.4 line knows and 3.0 does not.
_NEW = [("init-state", "init-state", "str"), ("sni-auto", "sni_auto", "flag"), ("idle-ping", "idle_ping", "time"),
        ("strict-maxconn", "strict-maxconn", "bool"), ("hash-key", "hash_key", "str")]
# The opposite of a flag where it is not "no-" + word. "maintenance": "enabled" is the word `disabled`.
OPPOSITE = {"disabled": "enabled", "stick": "non-stick"}


class UnknownWord(ValueError):
    """A word on a line that the played version does not know."""


def fields(play: str) -> list[tuple[str, str, str]]:
    return FIELDS if play == "3.0" else FIELDS + _NEW


def server_json(line: Line, play: str) -> dict[str, Any] | None:
    """A `server` line as JSON; None where the played version cannot read it."""
    address, port = split_address(line.words[2])
    try:
        model = {"name": line.words[1], "address": address, **params_json(line.words[3:], play), **_metadata(line)}
    except UnknownWord:
        return None
    if port is not None:
        model["port"] = port
    return model


def template_json(line: Line, play: str) -> dict[str, Any] | None:
    """A `server-template` line as JSON."""
    fqdn, port = split_address(line.words[3])
    try:
        model = {"prefix": line.words[1], "num_or_range": line.words[2], "fqdn": fqdn, **params_json(line.words[4:], play)}
    except UnknownWord:
        return None
    if port is not None:
        model["port"] = port
    return model


def _metadata(line: Line) -> dict[str, Any]:
    """A comment beside a server: JSON of the API's own, or somebody's words."""
    if line.comment is None:
        return {}
    try:
        found = json.loads(line.comment)
    except ValueError:
        found = None
    return {"metadata": found if isinstance(found, dict) else {"comment": line.comment}}


def comment_of(model: dict[str, Any]) -> str | None:
    """What a server's metadata becomes on its line."""
    return json.dumps(model["metadata"], separators=(",", ":"), sort_keys=True) if model.get("metadata") else None


def params_json(words: list[str], play: str) -> dict[str, Any]:
    known = {word: (field, kind) for word, field, kind in fields(play)}
    opposite = {OPPOSITE.get(word, f"no-{word}"): field for word, field, kind in fields(play) if kind == "flag"}
    out: dict[str, Any] = {}
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in opposite:
            out[opposite[word]] = "disabled"
        elif word not in known:
            if play != "3.0":
                raise UnknownWord(word)
        elif known[word][1] in ("flag", "bool"):
            out[known[word][0]] = "enabled" if known[word][1] == "flag" else True
        elif i < len(words):
            value = _value(words[i], known[word][1])
            i += 1
            if value is not None:
                out[known[word][0]] = value
    return out


def _value(text: str, kind: str) -> Any:
    if kind == "int":
        return int(text) if text.lstrip("-").isdigit() else None
    if kind == "time":
        return parse_time(text)
    return text.split(",") if kind == "list" else text


def server_words(model: dict[str, Any], play: str) -> list[str]:
    return ["server", model["name"], join_address(model["address"], model.get("port")), *params_words(model, play)]


def template_words(model: dict[str, Any], play: str) -> list[str]:
    return ["server-template", model["prefix"], model["num_or_range"], join_address(model["fqdn"], model.get("port")),
            *params_words(model, play)]


def params_words(model: dict[str, Any], play: str) -> list[str]:
    out: list[str] = []
    for word, field, kind in fields(play):
        value = model.get(field)
        if value in (None, "", []):
            continue
        if kind == "flag":
            out.append(word if value == "enabled" else OPPOSITE.get(word, f"no-{word}"))
        elif kind == "bool":
            out += [word] if value else []
        elif kind == "time":
            out += [word, format_time(value)]
        elif kind == "list":
            out += [word, ",".join(value)]
        else:
            out += [word, str(value)]
    return out


def drop_unknown(line: Line, start: int) -> None:
    """What 3.0 does to any server line when it writes the file: words that it does not know are lost."""
    known = {word: kind for word, _, kind in FIELDS}
    flags = {OPPOSITE.get(word, f"no-{word}") for word, _, kind in FIELDS if kind == "flag"}
    kept = line.words[:start]
    i = start
    while i < len(line.words):
        word = line.words[i]
        takes = known.get(word) not in (None, "flag", "bool")
        if word in known or word in flags:
            kept += line.words[i:i + 1 + takes]
        i += 1 + takes
    line.words = kept


def split_address(text: str) -> tuple[str, int | None]:
    if text.startswith("[") and "]" in text:
        host, _, rest = text[1:].partition("]")
        return host, int(rest[1:]) if rest[1:].isdigit() else None
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit():
        return host, int(port)
    return text, None


def join_address(address: str, port: int | None) -> str:
    if ":" in address and not address.startswith(("[", "unix@", "/", "abns@", "ipv6@")):
        address = f"[{address}]"
    return address if port is None else f"{address}:{port}"

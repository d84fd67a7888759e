"""The words of a server, server-template or default-server line <-> the JSON of the API.

FIELDS stands in the order in which the API writes the words. A flag is written `word` for enabled and its opposite for
disabled. Play 3.0 drops a word that it does not know; play 3.4 keeps such a line as it is, moves it to the end of its
section and leaves it out of its answers.
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
    ("sslv3", "sslv3", "tls"), ("tlsv10", "tlsv10", "tls"), ("tlsv11", "tlsv11", "tls"), ("tlsv12", "tlsv12", "tls"),
    ("tlsv13", "tlsv13", "tls"), ("ssl", "ssl", "flag"), ("ssl-reuse", "ssl_reuse", "flag"),
    ("tls-tickets", "tls_tickets", "flag"), ("stick", "stick", "flag"), ("tfo", "tfo", "flag"),
    ("agent-send", "agent-send", "str"), ("agent-inter", "agent-inter", "time"), ("agent-addr", "agent-addr", "str"),
    ("agent-port", "agent-port", "int"), ("alpn", "alpn", "str"), ("ca-file", "ssl_cafile", "str"),
    ("check-alpn", "check_alpn", "str"), ("check-proto", "check_proto", "str"), ("check-sni", "check-sni", "str"),
    ("ciphers", "ciphers", "str"), ("ciphersuites", "ciphersuites", "str"),
    ("client-sigalgs", "client_sigalgs", "str"), ("cookie", "cookie", "str"), ("crl-file", "crl_file", "str"),
    ("curves", "curves", "str"), ("crt", "ssl_certificate", "str"), ("error-limit", "error_limit", "int"),
    ("guid", "guid", "str"), ("fall", "fall", "int"), ("init-addr", "init-addr", "str"), ("inter", "inter", "time"),
    ("fastinter", "fastinter", "time"), ("downinter", "downinter", "time"), ("log-bufsize", "log-bufsize", "int"),
    ("log-proto", "log_proto", "str"), ("maxconn", "maxconn", "int"), ("maxqueue", "maxqueue", "int"),
    ("max-reuse", "max_reuse", "int"), ("minconn", "minconn", "int"), ("namespace", "namespace", "str"),
    ("npn", "npn", "str"), ("observe", "observe", "str"), ("on-error", "on-error", "str"),
    ("on-marked-down", "on-marked-down", "str"), ("on-marked-up", "on-marked-up", "str"),
    ("pool-low-conn", "pool_low_conn", "int"), ("pool-max-conn", "pool_max_conn", "int"),
    ("pool-purge-delay", "pool_purge_delay", "time"), ("addr", "health_check_address", "str"),
    ("port", "health_check_port", "int"), ("proto", "proto", "str"), ("redir", "redir", "str"),
    ("rise", "rise", "int"), ("resolve-opts", "resolve_opts", "str"), ("resolve-prefer", "resolve-prefer", "str"),
    ("resolve-net", "resolve-net", "str"), ("resolvers", "resolvers", "str"),
    ("proxy-v2-options", "proxy-v2-options", "list"), ("shard", "shard", "int"), ("sigalgs", "sigalgs", "str"),
    ("slowstart", "slowstart", "time"), ("sni", "sni", "str"), ("source", "source", "source"),
    ("ssl-max-ver", "ssl_max_ver", "str"), ("ssl-min-ver", "ssl_min_ver", "str"), ("socks4", "socks4", "str"),
    ("tcp-ut", "tcp_ut", "time"), ("track", "track", "str"), ("verify", "verify", "str"),
    ("verifyhost", "verifyhost", "str"), ("no-verifyhost", "no_verifyhost", "word"), ("weight", "weight", "int"),
    ("ws", "ws", "str"), ("pool-conn-name", "pool_conn_name", "str"), ("id", "id", "int"),
]
# Words that the 3.4 line knows and 3.0 does not.
NEW = [("check-reuse-pool", "check-reuse-pool", "flag"), ("renegotiate", "renegotiate", "flag"),
       ("sni-auto", "sni_auto", "flag"), ("check-sni-auto", "check_sni_auto", "flag"),
       ("strict-maxconn", "strict-maxconn", "bool"), ("cc", "cc", "str"), ("idle-ping", "idle_ping", "time"),
       ("init-state", "init-state", "str"), ("check-pool-conn-name", "check-pool-conn-name", "str"),
       ("hash-key", "hash_key", "str"), ("tcp-md5sig", "tcp_md5sig", "str"), ("ktls", "ktls", "str")]
# The opposite of a flag where it is not "no-" + word. "maintenance": "enabled" is the word `disabled`.
OPPOSITE = {"disabled": "enabled", "stick": "non-stick", "check-via-socks4": ""}
OPPOSITE_3_0 = {**OPPOSITE, "check-send-proxy": ""}


class UnknownWord(ValueError):
    """A word on a line that the played version does not know."""


def fields(play: str) -> list[tuple[str, str, str]]:
    return FIELDS if play == "3.0" else FIELDS + NEW


def _words_of(play: str) -> dict[str, tuple[str, str, Any]]:
    """Each word that may stand on a line -> field, kind, and the value where the word itself is one."""
    opposite = OPPOSITE_3_0 if play == "3.0" else OPPOSITE
    out: dict[str, tuple[str, str, Any]] = {}
    for word, field, kind in fields(play):
        if kind == "flag":
            out[word] = (field, kind, "enabled")
            out[opposite.get(word, f"no-{word}")] = (field, kind, "disabled")
        elif kind == "tls":
            out[f"force-{word}"], out[f"no-{word}"] = (field, kind, "enabled"), (field, kind, "disabled")
        else:
            out[word] = (field, kind, {"bool": True, "word": "enabled"}.get(kind))
    out.pop("", None)
    return out


WORDS = {play: _words_of(play) for play in ("3.0", "3.4")}


def server_json(line: Line, play: str) -> dict[str, Any]:
    address, port = split_address(line.words[2])
    model = {"name": line.words[1], "address": address, **params_json(line.words[3:], play),
             **comment_json(line.comment)}
    if port is not None:
        model["port"] = port
    return model


def template_json(line: Line, play: str) -> dict[str, Any]:
    fqdn, port = split_address(line.words[3])
    model = {"prefix": line.words[1], "num_or_range": line.words[2], "fqdn": fqdn, **params_json(line.words[4:], play)}
    if port is not None:
        model["port"] = port
    return model


def comment_json(comment: str | None) -> dict[str, Any]:
    """A comment beside a server or a backend's name: JSON of the API's own, or an operator's words."""
    if comment is None:
        return {}
    try:
        found = json.loads(comment)
    except ValueError:
        found = None
    return {"metadata": found if isinstance(found, dict) else {"comment": comment}}


def comment_of(model: dict[str, Any]) -> str | None:
    """What metadata become on the line."""
    return json.dumps(model["metadata"], separators=(",", ":"), sort_keys=True) if model.get("metadata") else None


def params_json(words: list[str], play: str) -> dict[str, Any]:
    known = WORDS["3.0" if play == "3.0" else "3.4"]
    out: dict[str, Any] = {}
    i = 0
    while i < len(words):
        if words[i] not in known:
            if play != "3.0":
                raise UnknownWord(words[i])
            i += 1
            continue
        field, kind, value = known[words[i]]
        size = word_count(words, i, kind, value)
        if kind == "source":
            value = " ".join(words[i + 1:i + size])
        elif size == 2:
            value = _value(words[i + 1], kind)
        if kind == "tls":
            out[f"force_{field}"] = value
        if value is not None:
            out[field] = value
        i += size
    return out


def word_count(words: list[str], i: int, kind: str, value: Any) -> int:
    """How many words one option takes."""
    if value is not None:
        return 1
    size = 2
    while kind == "source" and i + size + 1 < len(words) and words[i + size] in ("interface", "usesrc"):
        size += 2
    return size


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
            opposite = OPPOSITE_3_0 if play == "3.0" else OPPOSITE
            out += list(filter(None, [word if value == "enabled" else opposite.get(word, f"no-{word}")]))
        elif kind == "tls":
            out.append(f"force-{word}" if value == "enabled" else f"no-{word}")
        elif kind in ("bool", "word"):
            out += [word] if value in (True, "enabled") else []
        elif kind == "source":
            out += [word, *value.split()]
        elif kind == "time":
            out += [word, format_time(value)]
        elif kind == "list":
            out += [word, ",".join(value)]
        else:
            out += [word, str(value)]
    return out


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

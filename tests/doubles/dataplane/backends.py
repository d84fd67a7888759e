"""A backend's own fields (not its servers and rules) <-> the lines of its section.

Each base field owns one keyword. Writing a backend replaces all lines of base keywords: a field that is not in the
body is lost, and with it the comment above its line. Lines of other keywords are not the base's and stay.
"""

from __future__ import annotations

from typing import Any

from .cfgfile import Line, Section
from .servers import comment_json, comment_of, join_address, params_json, params_words, split_address
from .words import format_size, format_time, parse_size, parse_time

TIMES = {f"timeout {word}": field for word, field in [
    ("http-request", "http_request_timeout"), ("queue", "queue_timeout"),
    ("http-keep-alive", "http_keep_alive_timeout"),
    ("check", "check_timeout"), ("tunnel", "tunnel_timeout"), ("server", "server_timeout"),
    ("server-fin", "server_fin_timeout"), ("connect", "connect_timeout"), ("tarpit", "tarpit_timeout")]}
OPTIONS = {f"option {word}": field for word, field in [
    ("abortonclose", "abortonclose"), ("allbackups", "allbackups"), ("checkcache", "checkcache"),
    ("external-check", "external_check"), ("http-buffer-request", "http-buffer-request"),
    ("http-no-delay", "http-no-delay"), ("http-pretend-keepalive", "http_pretend_keepalive"),
    ("independent-streams", "independent_streams"), ("log-health-checks", "log_health_checks"),
    ("nolinger", "nolinger"),
    ("persist", "persist"), ("prefer-last-server", "prefer_last_server"), ("splice-auto", "splice_auto"),
    ("splice-request", "splice_request"), ("splice-response", "splice_response"), ("srvtcpka", "srvtcpka"),
    ("tcp-smart-connect", "tcp_smart_connect"), ("tcpka", "tcpka"), ("transparent", "transparent")]}
NUMBERS = {"id": "id", "retries": "retries", "fullconn": "fullconn", "max-keep-alive-queue": "max_keep_alive_queue",
           "hash-balance-factor": "hash_balance_factor"}
STRINGS = {"mode": "mode", "description": "description", "log-tag": "log_tag",
           "dynamic-cookie-key": "dynamic_cookie_key", "http-reuse": "http_reuse",
           "server-state-file-name": "server_state_file_name", "retry-on": "retry_on",
           "guid": "guid", "load-server-state-from-file": "load_server_state_from_file"}
FLAGS = {"disabled": "disabled", "enabled": "enabled"}
# Where several stand in a backend, the first of these is shown.
CHECKS = ["ssl-hello-chk", "smtpchk", "ldap-check", "mysql-check", "pgsql-check", "tcp-check", "redis-check", "httpchk"]
CHECK_PARAMS = {check: check.replace("-", "_") + "_params" for check in ("smtpchk", "mysql-check", "pgsql-check", "httpchk")}
CONNECTION = {"option httpclose": "httpclose", "option http-server-close": "http-server-close",
              "option http-keep-alive": "http-keep-alive"}
STRUCTURED = ["balance", "hash-type", "default-server", "stick-table", "option redispatch", "cookie",
              "option forwardfor", "source"]
BASE = {*TIMES, *OPTIONS, *NUMBERS, *STRINGS, *FLAGS, *CONNECTION, *STRUCTURED,
        *(f"option {check}" for check in CHECKS)}
TABLE_WORDS = {"type": "type", "len": "keylen", "size": "size", "expire": "expire", "peers": "peers", "store": "store",
               "srvkey": "srvkey", "write-to": "write_to"}


def backend_json(section: Section, play: str) -> dict[str, Any]:
    out: dict[str, Any] = {"name": section.name}
    if section.from_:
        out["from"] = section.from_
    out.update(comment_json(section.comment))
    for line in section.lines:
        if not line.unread:
            _read(line, out, play)
    return out


def _read(line: Line, out: dict[str, Any], play: str) -> None:
    key, words = line.keyword, line.words
    args = words[1:]
    if key in TIMES:
        out[TIMES[key]] = parse_time(words[2])
    elif key in OPTIONS:
        out[OPTIONS[key]] = "disabled" if words[0] == "no" else "enabled"
    elif key in NUMBERS:
        out[NUMBERS[key]] = int(words[1])
    elif key in STRINGS:
        out[STRINGS[key]] = " ".join(args)
    elif key in FLAGS:
        out[FLAGS[key]] = True
    elif key in CONNECTION:
        out["http_connection_mode"] = CONNECTION[key]
    elif key.startswith("option ") and key[7:] in CHECKS:
        if words[0] != "no":
            _read_check(key[7:], words[2:], out)
    elif key == "balance":
        out["balance"] = _read_balance(args)
    elif key == "hash-type":
        out["hash_type"] = dict(zip(("method", "function", "modifier"), args))
    elif key == "default-server":
        out.setdefault("default_server", {}).update(params_json(args, play))
    elif key == "stick-table":
        out["stick_table"] = _read_table(args)
    elif key == "option redispatch":
        out["redispatch"] = {"enabled": "disabled" if words[0] == "no" else "enabled"}
        if words[0] != "no" and len(words) > 2:
            out["redispatch"]["interval"] = int(words[2])
    elif key == "cookie":
        out["cookie"] = cookie_json(args)
    elif key == "option forwardfor":
        named = {k: v for k, v in zip(words[2:-1], words[3:]) if k in ("except", "header")}
        out["forwardfor"] = {"enabled": "enabled", **named,
                             **({"ifnone": True} if "if-none" in words else {})}
    elif key == "source":
        address, port = split_address(args[0])
        out["source"] = {"address": address, **({"port": port} if port else {})}


COOKIE_FLAGS = ("dynamic", "httponly", "indirect", "nocache", "postonly", "preserve", "secure")
COOKIE_TYPES = ("rewrite", "insert", "prefix")


def cookie_json(args: list[str]) -> dict[str, Any]:
    return {"name": args[0], **{word: True for word in args[1:] if word in COOKIE_FLAGS},
            **{"type": word for word in args[1:] if word in COOKIE_TYPES}}


def cookie_words(cookie: dict[str, Any]) -> list[str]:
    """The type stands between the other words and `secure`, wherever it stood."""
    return [cookie["name"], *(flag for flag in COOKIE_FLAGS[:-1] if cookie.get(flag)),
            *([cookie["type"]] if cookie.get("type") else []), *(["secure"] if cookie.get("secure") else [])]


def _read_check(check: str, args: list[str], out: dict[str, Any]) -> None:
    before = out.get("adv_check")
    if before and CHECKS.index(before) < CHECKS.index(check):
        return
    out.pop(CHECK_PARAMS.get(before or "", ""), None)
    out["adv_check"] = check
    if check in CHECK_PARAMS:
        out[CHECK_PARAMS[check]] = _check_params(check, args)  # {} where the line says no more


def _check_params(check: str, args: list[str]) -> dict[str, Any]:
    if check == "httpchk":
        return dict(zip(("uri",) if len(args) == 1 else ("method", "uri", "version"), args))
    if check == "smtpchk":
        return dict(zip(("hello", "domain"), args))
    out = {"username": args[args.index("user") + 1]} if "user" in args[:-1] else {}
    if check == "mysql-check" and out and args[-1] in ("pre-41", "post-41"):
        out["client_version"] = args[-1]
    return out


def _read_balance(args: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {"algorithm": args[0]}
    if args[0].startswith("random(") and args[0][7:-1].isdigit():
        out = {"algorithm": "random", "random_draws": int(args[0][7:-1])}
    elif args[0].startswith("hdr("):
        out = {"algorithm": "hdr", "hdr_name": args[0][4:-1]}
    elif args[0] == "hash" and len(args) > 1:
        out["hash_expression"] = " ".join(args[1:])
    elif args[0] == "url_param" and len(args) > 1:
        out["url_param"] = args[1]
    return out


def _read_table(args: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    i = 0
    while i < len(args):
        if args[i] == "nopurge":
            out["nopurge"] = True
            i += 1
            continue
        field = TABLE_WORDS.get(args[i])
        if field and i + 1 < len(args):
            value: Any = args[i + 1]
            value = parse_size(value) if field == "size" else parse_time(value) if field == "expire" else value
            out[field] = int(value) if field == "keylen" else value
        i += 2
    return out


def write_backend(section: Section, model: dict[str, Any], play: str) -> None:
    """Replaces the base fields of the section by those of the model; everything else of the section stays."""
    section.from_ = model.get("from", "")
    section.comment = comment_of(model)
    section.lines = [line for line in section.lines if line.unread or line.keyword not in BASE]
    for words in _base_words(model, play):
        section.put(Line(words))


def _base_words(model: dict[str, Any], play: str) -> list[list[str]]:
    out: list[list[str]] = []
    for key, field in TIMES.items():
        if model.get(field):
            out.append([*key.split(), format_time(model[field])])
    for key, field in OPTIONS.items():
        if model.get(field):
            out.append([*(["no"] if model[field] == "disabled" else []), *key.split()])
    for key, field in NUMBERS.items():
        if model.get(field) is not None and not (key == "id" and play == "3.0"):  # 3.0 loses it
            out.append([key, str(model[field])])
    out += [[key, str(model[field])] for key, field in STRINGS.items() if model.get(field)]
    out += [[key] for key, field in FLAGS.items() if model.get(field)]
    if model.get("http_connection_mode"):
        out.append(["option", model["http_connection_mode"]])
    if model.get("adv_check"):
        out.append(["option", model["adv_check"], *_check_args(model)])
    if model.get("balance"):
        out.append(["balance", *_balance_words(model["balance"])])
    if model.get("hash_type"):
        out.append(["hash-type", *(model["hash_type"][k] for k in ("method", "function", "modifier")
                                   if model["hash_type"].get(k))])
    if model.get("default_server"):
        out.append(["default-server", *params_words(model["default_server"], play)])
    if model.get("stick_table"):
        out.append(["stick-table", *_table_words(model["stick_table"])])
    if model.get("redispatch"):
        interval = model["redispatch"].get("interval")
        out.append([*(["no"] if model["redispatch"].get("enabled") == "disabled" else []), "option", "redispatch",
                    *([str(interval)] if interval else [])])
    if model.get("cookie"):
        out.append(["cookie", *cookie_words(model["cookie"])])
    if model.get("forwardfor"):
        out.append(["option", "forwardfor", *_forwardfor_words(model["forwardfor"])])
    if model.get("source"):
        out.append(["source", join_address(model["source"]["address"], model["source"].get("port"))])
    return out


def _forwardfor_words(model: dict[str, Any]) -> list[str]:
    out = [word for field in ("except", "header") if model.get(field) for word in (field, model[field])]
    return out + (["if-none"] if model.get("ifnone") else [])


def _check_args(model: dict[str, Any]) -> list[str]:
    check = model["adv_check"]
    if check == "httpchk":
        params = model.get("httpchk_params") or {}
        return [params[k] for k in ("method", "uri", "version") if params.get(k)]
    if check == "smtpchk":
        params = model.get("smtpchk_params") or {}
        return [params[k] for k in ("hello", "domain") if params.get(k)]
    if check in ("mysql-check", "pgsql-check"):
        params = model.get(CHECK_PARAMS[check]) or {}
        out = ["user", params["username"]] if params.get("username") else []
        return out + ([params["client_version"]] if out and params.get("client_version") else [])
    return []


def _balance_words(balance: dict[str, Any]) -> list[str]:
    algorithm = balance["algorithm"]
    if algorithm == "random" and balance.get("random_draws"):
        return [f"random({balance['random_draws']})"]
    if algorithm == "hdr" and balance.get("hdr_name"):
        return [f"hdr({balance['hdr_name']})"]
    if algorithm == "hash" and balance.get("hash_expression"):
        return ["hash", *balance["hash_expression"].split()]
    if algorithm == "url_param" and balance.get("url_param"):
        return ["url_param", balance["url_param"]]
    return [algorithm]


def _table_words(table: dict[str, Any]) -> list[str]:
    out: list[str] = []
    for word, field in TABLE_WORDS.items():
        value = table.get(field)
        if value in (None, ""):
            continue
        text = format_size(value) if field == "size" else format_time(value) if field == "expire" else str(value)
        out += [word, text]
        if field == "size" and table.get("nopurge"):
            out.append("nopurge")
    return out

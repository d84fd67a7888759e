"""Backends, their servers and their server templates."""

from __future__ import annotations

import random
from typing import Any

from . import backends as fields
from . import schema
from . import servers as members_of
from .cfgfile import Config, Line, Section
from .errors import ApiError
from .runtime import RuntimeRefused
from .service import Service
from .web import Answer, Request

KINDS = {"servers": ("server", members_of.server_json, members_of.server_words, schema.clean_server, "name"),
         "server_templates": ("server-template", members_of.template_json, members_of.template_words,
                              schema.clean_template, "prefix")}
LABEL = {"servers": "server", "server_templates": "server template"}
RULES = ("acl_list", "filter_list", "http_after_response_rule_list", "http_check_list", "http_error_rule_list",
         "http_request_rule_list", "http_response_rule_list", "log_target_list", "server_switching_rule_list",
         "stick_rule_list", "tcp_check_rule_list", "tcp_request_rule_list", "tcp_response_rule_list")
BASE_FIELDS: dict[str, type] = {
    **dict.fromkeys(("name", "from", "http_connection_mode", "adv_check", *fields.OPTIONS.values(),
                     *fields.STRINGS.values()), str),
    **dict.fromkeys(("httpchk_params", "smtpchk_params", "mysql_check_params", "pgsql_check_params", "balance",
                     "hash_type", "default_server", "stick_table", "redispatch", "cookie", "forwardfor", "source",
                     "metadata", "servers", "server_templates"), dict),
    **dict.fromkeys((*fields.TIMES.values(), *fields.NUMBERS.values()), int),
    **dict.fromkeys(fields.FLAGS.values(), bool),
}


def _not_both(request: Request) -> None:
    if request.tid and request.flag("force_reload"):
        raise ApiError(400, "Both force_reload and transaction specified, specify only one")


def _done(service: Service, request: Request, payload: Any, at_once: int, live: bool = False) -> Answer:
    """The answer to a change: inside a transaction, with a reload, or without one. `at_once` is the status without."""
    empty = payload is None
    if request.tid:
        return Answer(202, payload, empty=empty)
    if live:
        return Answer(at_once, payload, empty=empty)
    if request.flag("force_reload"):
        service.reloads.force()
        return Answer(at_once, payload, empty=empty)
    return Answer(202, payload, {"Reload-Id": service.reloads.schedule()}, empty=empty)


# backends

def _backend_json(section: Section, play: str, full: bool) -> dict[str, Any]:
    out = fields.backend_json(section, play)
    if full:
        for collection, (keyword, read, _, _, key) in KINDS.items():
            found = [read(line, play) for line in section.find(keyword)]
            if found:
                out[collection] = dict(sorted((m[key], m) for m in found))
    return out


def _need(config: Config, name: str, word: str) -> Section:
    section = config.section("backend", name)
    if section is None:
        raise ApiError(404, f"missing object: {word} {name} does not exist")
    return section


def backends(service: Service, request: Request) -> Answer:
    with service.lock:
        found = service.view(request.tid).kind("backend")
        random.shuffle(found)  # a map of Go's
        return Answer(200, [_backend_json(s, service.play, request.flag("full_section")) for s in found])


def backend(service: Service, request: Request) -> Answer:
    with service.lock:
        section = _need(service.view(request.tid), request.args[0], "Backend")
        return Answer(200, _backend_json(section, service.play, request.flag("full_section")))


def _body(service: Service, request: Request) -> dict[str, Any]:
    raw = request.json()
    full = request.flag("full_section")
    if full and isinstance(raw, dict) and any(raw.get(rule) for rule in RULES):
        raise ApiError(501, "the double has no rules in full_section; see backends.py")
    return schema.clean_backend(raw, service.play, BASE_FIELDS)


def _write(config: Config, section: Section, model: dict[str, Any], request: Request) -> None:
    if model.get("from") and config.section("defaults", model["from"]) is None:
        raise ApiError(400, f"validation error: Object {section.name} references missing defaults section in from")
    if not request.flag("full_section"):
        fields.write_backend(section, model, request.play)
        return
    section.lines, section.below = [], []
    fields.write_backend(section, model, request.play)
    for collection, (_, _, words, _, _) in KINDS.items():
        for member_model in model.get(collection, {}).values():
            section.put(Line(words(member_model, request.play), members_of.comment_of(member_model)))


def create_backend(service: Service, request: Request) -> Answer:
    _not_both(request)
    model = _body(service, request)

    def edit(config: Config) -> None:
        if config.section("backend", model["name"]) is not None:
            if request.flag("full_section"):  # the same in other words, as a lack
                raise ApiError(404, f"missing object: backend {model['name']} already exist")
            raise ApiError(409, f"object already exists: backend {model['name']} already exists")
        section = Section("backend", model["name"])
        _write(config, section, model, request)
        config.sections.append(section)
    with service.writer(request.tid):
        service.change(request.tid, request.version(), edit)
        return _done(service, request, model, 201)


def replace_backend(service: Service, request: Request) -> Answer:
    _not_both(request)
    model = _body(service, request)
    with service.writer(request.tid):
        service.change(request.tid, request.version(), lambda config: _write(
            config, _need(config, request.args[0], "backend"), model, request))
        return _done(service, request, model, 200)


def delete_backend(service: Service, request: Request) -> Answer:
    _not_both(request)
    with service.writer(request.tid):
        service.change(request.tid, request.version(), lambda config: config.sections.remove(
            _need(config, request.args[0], "backend")))
        return _done(service, request, None, 204)


# servers and server templates

def _find(section: Section | None, keyword: str, name: str) -> Line | None:
    return next((line for line in section.find(keyword) if line.words[1] == name), None) if section else None


def _need_member(config: Config, request: Request) -> Line:
    parent, collection, name = request.args
    line = _find(config.section("backend", parent), KINDS[collection][0], name)
    if line is None:
        raise ApiError(404, f"missing object: {LABEL[collection]} {name} does not exist in {parent} backend")
    return line


def members(service: Service, request: Request) -> Answer:
    parent, collection = request.args
    keyword, read = KINDS[collection][:2]
    with service.lock:
        section = service.view(request.tid).section("backend", parent)
        if section is None:
            return Answer(200, [])
        lines = section.find(keyword)
        if not lines and service.play != "3.0":
            return Answer(200, None)
        return Answer(200, [read(line, service.play) for line in lines])


def member(service: Service, request: Request) -> Answer:
    with service.lock:
        line = _need_member(service.view(request.tid), request)
        return Answer(200, KINDS[request.args[1]][1](line, service.play))


def create_member(service: Service, request: Request) -> Answer:
    _not_both(request)
    parent, collection = request.args
    keyword, _, words, clean, key = KINDS[collection]
    model = clean(request.json(), service.play)

    def edit(config: Config) -> None:
        section = config.section("backend", parent)
        if section is None:
            raise ApiError(400, f"missing parent: backend {parent} does not exist")
        if _find(section, keyword, model[key]):
            raise ApiError(409, f"object already exists: {LABEL[collection]} {model[key]} already exists in "
                                f"{parent} backend")
        section.put(Line(words(model, service.play), members_of.comment_of(model)))
    with service.writer(request.tid):
        service.change(request.tid, request.version(), edit)
        live = collection == "servers" and not request.tid and _add_live(service, parent, model)
        return _done(service, request, model, 201, live)


def _add_live(service: Service, parent: str, model: dict[str, Any]) -> bool:
    """A new server is live only where no default-server says anything; and it stays in maintenance."""
    config = service.config
    sections = [config.section("backend", parent), *config.kind("defaults")]
    if any(section and section.find("default-server") for section in sections):
        return False
    runtime = service.runtime()
    words = members_of.server_words(model, service.play)
    try:
        if runtime is None:
            return False
        runtime.add_server(parent, model["name"], words[2:])
    except (RuntimeRefused, OSError):
        return False
    return True


def replace_member(service: Service, request: Request) -> Answer:
    _not_both(request)
    parent, collection, _ = request.args
    _, read, words, clean, _ = KINDS[collection]
    model = clean(request.json(), service.play)

    def edit(config: Config) -> dict[str, Any]:
        line = _need_member(config, request)
        had = read(line, service.play)
        line.words, line.comment = words(model, service.play), members_of.comment_of(model)
        return had
    with service.writer(request.tid):
        _need_member(service.view(request.tid), request)
        had = service.change(request.tid, request.version(), edit)
        live = (not request.tid and collection == "servers"
                and service.apply_live(parent, model, had, request.lie))
        return _done(service, request, model, 200, live)


def delete_member(service: Service, request: Request) -> Answer:
    _not_both(request)

    def edit(config: Config) -> None:
        line = _need_member(config, request)
        _need(config, request.args[0], "backend").drop(line)
    with service.writer(request.tid):
        service.change(request.tid, request.version(), edit)
        return _done(service, request, None, 204)

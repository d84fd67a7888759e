"""The maps of the running HAProxy and their entries; the files do not change with them."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from .errors import ApiError
from .runtime import Runtime, RuntimeRefused
from .service import Service
from .web import Answer, Request, nothing

BLOCK = 8192  # characters
MAP = re.compile(r"(-?\d+) \(([^)]*)\) (.*)")


def _runtime(service: Service) -> Runtime:
    runtime = service.runtime()
    if runtime is None:
        raise ApiError(500, "retry - unable to configure runtime client")
    return runtime


def _maps(service: Service) -> list[dict[str, Any]]:
    return [{"id": m[1], "file": m[2], "description": m[3], "storage_name": pathlib.Path(m[2]).name}
            for m in map(MAP.match, _runtime(service).maps()) if m and m[2]]


def show_all(service: Service, _: Request) -> Answer:
    return Answer(200, _maps(service))


def _one(service: Service, name: str) -> dict[str, Any]:
    for found in _maps(service):
        if found["storage_name"] == name:
            return found
    raise ApiError(404, f"no data for {name}: not found")


def show(service: Service, request: Request) -> Answer:
    return Answer(200, _one(service, request.args[0]))


def entries(service: Service, request: Request) -> Answer:
    file = _one(service, request.args[0])["file"]
    return Answer(200, [_entry(line) for line in _runtime(service).map_entries(file)])


def _entry(line: str) -> dict[str, str]:
    """Of a value its first word; one without a value is the API's end."""
    words = line.split()
    if len(words) < 3:
        raise ApiError(500, "")
    return {"id": words[0], "key": words[1], "value": words[2]}


def _blocks(lines: list[str]) -> tuple[list[str], bool]:
    """As the API cuts them for HAProxy, lines lost and doubled included; and whether it had to."""
    blocks, now, gathered, last, cut = [], "", "", "", False
    for line in lines:
        now, last = now + last + line, ""
        if len(now) < BLOCK:
            gathered = now
        elif len(now) == BLOCK:
            blocks.append(now)
            now = ""
        else:
            cut = True
            blocks.append(gathered or line)
            now, gathered, last = "", "", line
    return blocks + ([gathered] if gathered else []), cut


def replace(service: Service, request: Request) -> Answer:
    """All at one stroke where they are cut; else they come behind those that are there."""
    models = request.json()
    runtime, file = _runtime(service), _one(service, request.args[0])["file"]
    blocks, cut = _blocks([f"{model['key']} {model.get('value', '')}\n" for model in models])
    if not blocks:
        raise ApiError(500, "")
    if service.play != "3.0" and any(";" in block for block in blocks):
        raise ApiError(400, "invalid character found in runtime command general error")
    if request.lie:
        return Answer(201, models)
    try:
        # 3.0 does not know what version an HAProxy built outside git is of, and takes it for an old one.
        if cut and (service.play != "3.0" or service.writes_from):
            version = runtime.prepare_map(file)
            for block in blocks:
                runtime.add_map_entries(f"@{version} {file}", block)
            runtime.commit_map(file, version)
        else:
            runtime.add_map_entries(file, blocks[0])
    except RuntimeRefused as e:
        raise ApiError(400, str(e)) from e
    return Answer(201, models)


def add(service: Service, request: Request) -> Answer:
    model = request.json()
    file = _one(service, request.args[0])["file"]
    try:
        _runtime(service).add_map_entry(file, model["key"], model["value"])
    except RuntimeRefused as e:
        raise ApiError(500, str(e)) from e
    return Answer(201, {"key": model["key"], "value": model["value"]})


def delete(service: Service, request: Request) -> Answer:
    """All of a key; or, up to 3.3, one by its id behind a "#"."""
    if service.play != "3.0" and re.search(r'[\r\n<>*;$#&{}"]', request.args[1]):
        raise ApiError(400, "id in path: string doesn't match the regular expression")
    file = _one(service, request.args[0])["file"]
    try:
        _runtime(service).delete_map_entry(file, request.args[1])
    except RuntimeRefused as e:
        raise ApiError(404, str(e)) from e
    return nothing(204)

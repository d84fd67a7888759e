"""The maps of the running HAProxy and their entries; the files do not change with them."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from .errors import ApiError
from .runtime import Runtime, RuntimeRefused
from .service import Service
from .web import Answer, Request, nothing

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
    number, key, value = (line.split(None, 2) + ["", ""])[:3]
    return {"id": number, "key": key, "value": value}


def add(service: Service, request: Request) -> Answer:
    model = request.json()
    file = _one(service, request.args[0])["file"]
    try:
        _runtime(service).add_map_entry(file, model["key"], model["value"])
    except RuntimeRefused as e:
        raise ApiError(500, str(e)) from e
    return Answer(201, {"key": model["key"], "value": model["value"]})


def delete(service: Service, request: Request) -> Answer:
    file = _one(service, request.args[0])["file"]
    try:
        _runtime(service).delete_map_entry(file, request.args[1])
    except RuntimeRefused as e:
        raise ApiError(404, str(e)) from e
    return nothing(204)

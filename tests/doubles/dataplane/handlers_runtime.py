"""Servers as the running HAProxy sees them."""

from __future__ import annotations

from . import schema
from .errors import ApiError
from .runtime import Runtime, RuntimeRefused, missing, server_json
from .service import Service
from .web import Answer, Request


def _runtime(service: Service) -> Runtime:
    runtime = service.runtime()
    if runtime is None:
        raise ApiError(500, "retry - unable to configure runtime client")
    return runtime


def _rows(service: Service, backend: str) -> list[dict[str, str]]:
    try:
        return _runtime(service).servers(backend)
    except OSError as e:
        raise ApiError(500, f"cannot reach the runtime API: {e}") from e


def servers(service: Service, request: Request) -> Answer:
    rows = _rows(service, request.args[0])
    if not rows:
        raise missing(request.args[0], 500 if service.play == "3.0" else 404)
    return Answer(200, [server_json(row, service.play) for row in rows])


def _one(service: Service, request: Request, status: int) -> dict[str, str]:
    backend, name = request.args
    for row in _rows(service, backend):
        if row["srv_name"] == name:
            return row
    raise missing(f"{backend}/{name}", status)


def server(service: Service, request: Request) -> Answer:
    return Answer(200, server_json(_one(service, request, 404), service.play))


def replace(service: Service, request: Request) -> Answer:
    backend, name = request.args
    model = schema.clean_runtime(request.json(), service.play)
    status = 500 if service.play == "3.0" else 404
    before = server_json(_one(service, request, status), service.play)
    runtime = _runtime(service)
    try:
        if model.get("admin_state") and model["admin_state"] != before["admin_state"]:
            runtime.set_state(backend, name, model["admin_state"])
        if service.play != "3.0":
            address, port = model.get("address") or before["address"], model.get("port") or before["port"]
            if (address, port) != (before["address"], before["port"]):
                runtime.set_address(backend, name, address, port)
            if model.get("weight") is not None and model["weight"] != before.get("weight"):
                runtime.set_weight(backend, name, model["weight"])
    except RuntimeRefused as e:
        raise ApiError(500, str(e)) from e
    return Answer(200, server_json(_one(service, request, status), service.play))

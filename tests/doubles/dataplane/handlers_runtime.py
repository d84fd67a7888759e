"""The running HAProxy: which process it is, and its servers as it sees them."""

from __future__ import annotations

from typing import Any

from . import schema
from .errors import ApiError
from .runtime import Runtime, RuntimeRefused, info_json, missing, server_json, statistics_json
from .servers import server_words
from .service import Service
from .web import Answer, Request, nothing


def _runtime(service: Service, lie: float = 0.0) -> Runtime:
    runtime = service.runtime(lie)
    if runtime is None:
        raise ApiError(500, "retry - unable to configure runtime client")
    return runtime


def info(service: Service, _: Request) -> Answer:
    """An HAProxy that is not there is no error here: 200, without `info`."""
    runtime = _runtime(service)
    try:
        return Answer(200, {"info": info_json(runtime.info()), "runtimeAPI": runtime.path})
    except OSError as e:
        return Answer(200, {"error": f"dial unix {runtime.path}: {e} [show info typed]", "runtimeAPI": runtime.path})


def statistics(service: Service, request: Request) -> Answer:
    """An HAProxy that is not there is one here; a list that would be empty is left out, and one that cannot be read."""
    runtime, kind = _runtime(service), request.query.get("type")
    try:
        rows = runtime.statistics()
    except OSError as e:
        return Answer(500, {"error": f"dial unix {runtime.path}: {e} [show stat]", "runtimeAPI": runtime.path})
    found = [one for one in map(statistics_json, rows or []) if kind in (None, one["type"])]
    return Answer(200, {"runtimeAPI": runtime.path, **({"stats": found} if found else {})})


def _rows(service: Service, backend: str) -> list[dict[str, str]]:
    """None where HAProxy is away: that looks like a backend that is not there."""
    try:
        return _runtime(service).servers(backend)
    except OSError:
        return []


def _odd(service: Service) -> int:
    """The status with which what is missing is answered where the API does not search for it by itself."""
    return 500 if service.play == "3.0" else 404


def servers(service: Service, request: Request) -> Answer:
    rows = _rows(service, request.args[0])
    if not rows:
        raise missing(request.args[0], _odd(service))
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
    """Only what differs from what the API shows is sent to HAProxy: maint is not, where a drain is shown as maint."""
    backend, name = request.args
    model = schema.clean_runtime(request.json(), service.play)
    before = server_json(_one(service, request, _odd(service)), service.play)
    runtime = _runtime(service, request.lie)
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
    after = server_json(_one(service, request, _odd(service)), service.play)
    return Answer(200, {**after, **_asked_for(model, after)} if request.lie else after)


def _asked_for(model: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in model.items() if field in shown and value is not None}


# In the order in which the API goes through them; one before 3.2 passes on the first that is there, and no other one.
ADDED = ("agent-check", "alpn", "backup", "ssl_cafile", "check", "health_check_address", "health_check_port", "check-send-proxy", "check-ssl",
         "ssl_certificate", "maintenance", "downinter", "error_limit", "fall", "fastinter", "inter", "maxconn", "maxqueue", "minconn", "observe",
         "on-error", "proto", "proxy-v2-options", "rise", "send-proxy", "send-proxy-v2", "slowstart", "sni", "ssl", "verify", "weight", "ws")


def add(service: Service, request: Request) -> Answer:
    """A server of the running HAProxy alone, in maintenance, whose health check does not begin."""
    model = request.json()
    if not model.get("name"):
        raise ApiError(400, "the new server must have a name")
    known = {field: model[field] for field in ADDED if model.get(field) not in (None, "")}
    if service.play == "3.0":
        known = dict(list(known.items())[:1])
    words = server_words({**known, "name": model["name"], "address": model["address"], "port": model.get("port")}, service.play)
    try:
        _runtime(service).add_server(request.args[0], model["name"], words[2:])
    except RuntimeRefused as e:
        raise ApiError(409 if "lready exists" in str(e) else 404 if "No such backend" in str(e) else 500, str(e)) from e
    return Answer(201, model)


def delete(service: Service, request: Request) -> Answer:
    """HAProxy deletes none that is in use; the API sets it into maintenance first."""
    backend, name = request.args
    row, runtime = _one(service, request, 404), _runtime(service)
    try:
        if server_json(row, service.play)["admin_state"] != "maint":
            runtime.do(f"disable server {backend}/{name}")
        runtime.delete_server(backend, name)
    except RuntimeRefused as e:
        raise ApiError(500, str(e)) from e
    return nothing(204)

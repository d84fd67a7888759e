"""Version, transactions and reloads."""

from __future__ import annotations

import re

from .errors import ApiError
from .service import Service
from .web import Answer, Request, nothing

RELOAD_ID = r"\d{4}-\d{2}-\d{2}-\d+"
RELEASES = {"3.0": "v3.0.15 double", "3.4": "v3.4.0 double"}


def info(service: Service, _: Request) -> Answer:
    return Answer(200, {"api": {"build_date": "0001-01-01T00:00:00.000Z", "version": RELEASES[service.play]},
                        "system": {}})


def version(service: Service, request: Request) -> Answer:
    with service.lock:
        return Answer(200, service.view(request.tid).version)


def all_transactions(service: Service, request: Request) -> Answer:
    status = request.query.get("status", "")
    if status not in ("", "failed", "in_progress"):
        raise ApiError(422, "status in query should be one of [failed in_progress]",
                       606 if service.play == "3.0" else 422)
    with service.lock:
        return Answer(200, service.transactions.list(status))


def begin(service: Service, request: Request) -> Answer:
    wanted = request.version(required=True)
    with service.lock:
        return Answer(201, service.begin(wanted))


def show(service: Service, request: Request) -> Answer:
    with service.lock:
        return Answer(200, service.transactions.json(request.args[0]))


def delete(service: Service, request: Request) -> Answer:
    with service.lock:
        service.transactions.delete(request.args[0])
    return nothing(204)


def commit(service: Service, request: Request) -> Answer:
    with service.writing:
        done = service.commit(request.args[0])
        if request.flag("force_reload"):
            service.reloads.force()
            return Answer(200, done)
        return Answer(202, done, {"Reload-Id": service.reloads.schedule()})


def reloads(service: Service, _: Request) -> Answer:
    return Answer(200, service.reloads.list())


def reload(service: Service, request: Request) -> Answer:
    if not re.fullmatch(RELOAD_ID, request.args[0]):
        raise ApiError(422, f"id in path should match '^{RELOAD_ID}$'", 605 if service.play == "3.0" else 422)
    return Answer(200, service.reloads.get(request.args[0]))

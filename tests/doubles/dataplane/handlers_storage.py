"""Files beside the configuration; which of these requests reload, and when they need not."""

from __future__ import annotations

import pathlib
import re

from .errors import ApiError
from .runtime import RuntimeRefused
from .service import Service
from .web import Answer, Request, nothing


def show_all(service: Service, request: Request) -> Answer:
    kind, = _args(service, request)
    with service.lock:
        return Answer(200, [service.storage.json(kind, path) for path in service.storage.all(kind)])


def show(service: Service, request: Request) -> Answer:
    kind, name = _args(service, request)
    with service.lock:
        path = service.storage.path(kind, name)
        if kind == "ssl_certificates":
            return Answer(200, service.storage.json(kind, path, full=True))
        return Answer(200, data=path.read_bytes())


def create(service: Service, request: Request) -> Answer:
    kind, = _args(service, request)
    name, content = upload(request)
    with service.lock:
        path = service.storage.create(kind, name, content)
        model = service.storage.json(kind, path, full=True)
    if kind == "maps":
        model["description"] = "managed but not loaded map file (no runtime ID)"
    if kind in ("maps", "general") or kind == "ssl_certificates" and not _reloads(request) and _live(service, path, True):
        return Answer(201, model)
    if kind == "ssl_crt_lists" and not request.flag("force_reload"):  # skip_reload is not heeded here
        return Answer(202, model, {"Reload-Id": service.reloads.schedule()})
    return _done(service, request, model, 201)


def replace(service: Service, request: Request) -> Answer:
    kind, name = _args(service, request)
    content = upload(request)[1] if kind == "general" else request.body
    with service.lock:
        path = service.storage.replace(kind, name, content)
        model = service.storage.json(kind, path, full=True) if kind == "ssl_certificates" else None
    if kind == "ssl_certificates" and not _reloads(request) and _live(service, path, False):
        return Answer(200, model)
    return _done(service, request, model, 204 if model is None else 200)


def delete(service: Service, request: Request) -> Answer:
    kind, name = _args(service, request)
    with service.lock:
        path = service.storage.path(kind, name)
        _not_in_use(service, path)
        path.unlink()
    if kind in ("maps", "general"):
        return nothing(204)
    return _done(service, request, None, 204)


def _args(service: Service, request: Request) -> tuple[str, ...]:
    if request.args[0] == "ssl_crt_lists" and service.play == "3.0":
        raise ApiError(404, f"path {request.path} was not found")
    return request.args


def _reloads(request: Request) -> bool:
    """Whether the request says itself how it is with a reload."""
    return request.flag("skip_reload") or request.flag("force_reload")


def _done(service: Service, request: Request, model: object, at_once: int) -> Answer:
    if request.flag("skip_reload"):
        return Answer(at_once, model, empty=model is None)
    if request.flag("force_reload"):
        service.reloads.force()
        return Answer(at_once, model, empty=model is None)
    return Answer(202, model, {"Reload-Id": service.reloads.schedule()}, empty=model is None)


def _live(service: Service, path: pathlib.Path, new: bool) -> bool:
    """From 3.2 on a certificate goes to HAProxy itself, which has it without a reload."""
    runtime = service.runtime() if service.play != "3.0" else None
    try:
        if runtime is not None:
            runtime.set_certificate(str(path), path.read_text(), new)
        return runtime is not None
    except (RuntimeRefused, OSError):
        return False


def _not_in_use(service: Service, path: pathlib.Path) -> None:
    """By a mere search in the configuration; the lines are counted from the second of what it would write without the checksum."""
    for number, line in enumerate(service.config.render().split("\n")[1:], -1):
        if str(path) in line and not line.strip().startswith("#"):
            raise ApiError(409, f"rejecting attempt to delete file {path} referenced in haproxy conf at line {number}: {line.strip()}")


def upload(request: Request) -> tuple[str, bytes]:
    """Name and content of the field `file_upload`."""
    kind = request.headers.get("content-type", "")
    boundary = re.search(r'^multipart/form-data;.*boundary="?([^";]+)', kind)
    if not boundary:
        raise ApiError(415, f'unsupported media type "{kind}", only [multipart/form-data] are allowed' if request.play == "3.0"
                       else f'header Content-Type has unexpected value "{kind}"')
    for part in (b"\r\n" + request.body).split(b"\r\n--" + boundary[1].encode())[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        names = dict(re.findall(r'\b(name|filename)="([^"]*)"', head.decode(errors="replace")))
        if names.get("name") == "file_upload" and "filename" in names:
            return names["filename"], content
    raise ApiError(400, 'parsing file_upload from "formData" failed, because http: no such file')

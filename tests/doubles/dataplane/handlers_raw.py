"""The whole configuration as text."""

from __future__ import annotations

from .cfgfile import managed
from .errors import ApiError
from .runtime import RuntimeRefused
from .service import Service
from .web import Answer, Request


def _text(service: Service, status: int, tid: str = "", **headers: str) -> Answer:
    text = service.raw(tid)
    written = {"Configuration-Checksum": text[len("# _md5hash="):text.index("\n")]} if managed(text) else {}
    return Answer(status, text=text, headers={**written, **{k.replace("_", "-"): v for k, v in headers.items()}})


def show(service: Service, request: Request) -> Answer:
    try:
        with service.lock:
            return _text(service, 200, request.tid)
    except ApiError as e:
        e.plain = service.play == "3.0"
        raise


def replace(service: Service, request: Request) -> Answer:
    _check_kind(service, request)
    if not request.body:
        raise ApiError(422, "data in body is required", 602) if service.play == "3.0" else ApiError(400, "value is required but missing")
    text = request.body.decode(errors="replace")
    try:
        if text and "\n" not in text:
            raise ApiError(400, "invalid configuration: no newline character found")
        with service.writing:
            service.replace_raw(text, request.version(), request.flag("skip_version"), request.flag("only_validate"))
            return _after(service, request)
    except ApiError as e:
        e.plain = service.play == "3.0" and e.status != 422
        raise


def _check_kind(service: Service, request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "text/plain":
        return
    if service.play != "3.0":
        raise ApiError(415, f'header Content-Type has unexpected value "{kind}"')
    if kind == "application/json":  # taken as a JSON string there
        raise ApiError(400, 'parsing data body from "" failed, because it is no string')
    raise ApiError(415, f'unsupported media type "{kind}", only [text/plain application/json] are allowed')


def _after(service: Service, request: Request) -> Answer:
    if request.flag("only_validate"):
        return _text(service, 202)
    if request.flag("skip_reload"):
        _act(service, request.headers.get("x-runtime-actions", ""), request.lie)
        return _text(service, 201)
    if request.flag("force_reload"):
        service.reloads.force()
        return _text(service, 201)
    return _text(service, 202, Reload_Id=service.reloads.schedule())


def _act(service: Service, actions: str, lie: float) -> None:
    """`SetServerAddr B S ADDRESS PORT` and its like, separated by semicolons: 500 for the first that fails. Of one that it does
    not know nothing comes, and a blank behind a semicolon makes one of those."""
    runtime = service.runtime(lie)
    for action in (a.split(" ") for a in actions.split(";") if a):
        try:
            if runtime is None:
                raise RuntimeRefused("no runtime API")
            if action[0] == "SetServerAddr":
                runtime.set_address(action[1], action[2], action[3], int(action[4]))
            elif action[0] == "SetServerWeight":
                runtime.set_weight(action[1], action[2], int(action[3]))
            elif action[0] == "SetServerState":
                runtime.set_state(action[1], action[2], action[3])
        except (RuntimeRefused, OSError, IndexError, ValueError) as e:
            raise ApiError(500, f"cannot execute {action[0]}: {e}") from e

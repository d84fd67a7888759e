"""The global section, as far as a client asks how HAProxy is reached and run."""

from __future__ import annotations

from typing import Any

from .service import Service
from .web import Answer, Request


def show(service: Service, request: Request) -> Answer:
    with service.lock:
        section = service.view(request.tid).section("global")
        out: dict[str, Any] = {}
        if section and section.find("master-worker"):
            out["master-worker"] = True
        sockets = [_socket(line.words) for line in (section.find("stats") if section else []) if line.words[1:2] == ["socket"]]
        if sockets:
            out["runtime_apis"] = sockets
        return Answer(200, out)


def _socket(words: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {"address": words[2]}
    options = iter(words[3:])
    for option in options:
        if option in ("mode", "level"):
            out[option] = next(options, "")
        elif option == "expose-fd" and next(options, "") == "listeners":
            out["expose_fd_listeners"] = True
    return out

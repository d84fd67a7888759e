"""The control port: what a test does to the double while it runs.

    DELETE an object's API path       deletes it; GET shows it
    POST   /objects                   creates or updates them: a JSON list
    POST   /compact                   {"resourceVersion": n}, default: everything so far
    POST   /advance                   {"resourceVersion": n}: as if other resources had been written
    GET    /state                     every object and the version; POST puts it back, without events
    POST   /faults                    adds one (see faults.py): {"id": n}; GET shows them, DELETE /faults[/id] removes
    GET    /requests[?since=n]        what was asked
    POST   /disconnect                {"resource", "verb", "how": "reset"|"fin"}: ends connections: {"closed": n}
    PUT    /listening                 {"open": false} refuses new connections, true takes them again
    PUT    /access                    {"tokens": {token: user}, "powerless": [user], "forbidden": [plural or namespace/plural,
                                      or for one verb "verb plural"]}
    PUT    /resources                 {"group", "version", "plural", "kind", "namespaced"}: one more is served; DELETE: no longer
    PUT    /settings                  {"streamingLists", "etcd", "bookmarkIntervalSeconds", "freshWaitSeconds"}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from .faults import BadFault
from .http import MAX_HEAD, BadRequest, Request, Response, read_request
from .objects import BadObject, resource_of
from .resources import ALL, Resource, Target, cease, parse_path, serve
from .server import Server


class Control:
    def __init__(self, server: Server):
        self.server = server
        self.api = server.api
        self._routes: dict[tuple[str, str], Callable[[Any, Request], Any]] = {
            ("POST", "/objects"): self._put_all, ("POST", "/compact"): self._compact,
            ("POST", "/advance"): self._advance, ("GET", "/state"): self._state, ("POST", "/state"): self._restore,
            ("POST", "/faults"): lambda body, _: {"id": self.api.faults.add(body).id},
            ("GET", "/faults"): lambda *_: [fault.shown() for fault in self.api.faults.all],
            ("DELETE", "/faults"): lambda *_: self.api.faults.remove(),
            ("GET", "/requests"): lambda _, request: self.api.journal.shown(int(request.query.get("since", "0"))),
            ("POST", "/disconnect"): lambda body, _: {"closed": self.server.disconnect(**body)},
            ("PUT", "/access"): self._access, ("PUT", "/settings"): self._settings,
            ("PUT", "/resources"): self._serve_resource, ("DELETE", "/resources"): self._cease_resource,
        }

    async def start(self, host: str, port: int) -> int:
        server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                status, value = await self._answer(request)
                body = json.dumps(value).encode() + b"\n"
                await Response(writer).whole(status, {"Content-Type": "application/json"}, body)
        except (BadRequest, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request) -> tuple[int, Any]:
        try:
            body = json.loads(request.body) if request.body else {}
            if (request.method, request.path) == ("PUT", "/listening"):
                await self.server.listen() if body["open"] else self.server.refuse()
                return 200, {}
            target = parse_path(request.path)
            if target and target.name:
                return self._object(request.method, target)
            if request.method == "DELETE" and request.path.startswith("/faults/"):
                self.api.faults.remove(int(request.path[len("/faults/"):]))
                return 200, {}
            route = self._routes.get((request.method, request.path))
            if route is None:
                return 404, {"error": f"{request.method} {request.path}: see control.py for what there is"}
            value = route(body, request)
            return 200, {} if value is None else value
        except (BadObject, BadFault, KeyError, TypeError, ValueError) as e:
            return 400, {"error": f"{type(e).__name__}: {e}"}

    def _object(self, method: str, target: Target) -> tuple[int, Any]:
        store, key = self.api.store, (target.namespace, target.name)
        if method == "GET":
            held = store.get(target.resource, key)
            return (200, json.loads(held.typed())) if held else (404, {"error": "no such object"})
        if method != "DELETE":
            return 405, {"error": "DELETE or GET"}
        gone = store.delete(target.resource, key)
        return (200, {"resourceVersion": str(gone.version)}) if gone else (404, {"error": "no such object"})

    def _put_all(self, trees: Any, _: Request) -> Any:
        resources = [resource_of(tree) for tree in trees]
        return [str(self.api.store.put(resource, tree).version) for resource, tree in zip(resources, trees)]

    def _compact(self, body: Any, _: Request) -> Any:
        version = body.get("resourceVersion")
        return {"resourceVersion": str(self.api.store.compact(None if version is None else int(version)))}

    def _advance(self, body: Any, _: Request) -> Any:
        self.api.store.advance(int(body["resourceVersion"]))

    def _state(self, *_: Any) -> Any:
        store = self.api.store
        items = [json.loads(stored.typed()) for resource in ALL for stored in store.all(resource)]
        return {"resourceVersion": str(store.version), "items": items}

    def _restore(self, body: Any, _: Request) -> Any:
        self.api.store.restore(int(body["resourceVersion"]), [(resource_of(tree), tree) for tree in body["items"]])

    def _serve_resource(self, body: Any, _: Request) -> Any:
        serve(Resource(**body))

    def _cease_resource(self, body: Any, _: Request) -> Any:
        """As with a CustomResourceDefinition: its objects go first."""
        resource = Resource(**body)
        for stored in list(self.api.store.all(resource)):
            self.api.store.delete(resource, stored.key)
        cease(resource)

    def _access(self, body: Any, _: Request) -> Any:
        access = self.api.access
        if "tokens" in body:
            access.tokens = dict(body["tokens"])
        if "powerless" in body:
            access.powerless = {*body["powerless"]}
        if "forbidden" in body:
            access.forbidden = {*body["forbidden"]}

    def _settings(self, body: Any, _: Request) -> Any:
        self.api.streaming_lists = body.get("streamingLists", self.api.streaming_lists)
        self.api.etcd = body.get("etcd", self.api.etcd)
        pace = self.api.pace
        pace.bookmark_interval_s = body.get("bookmarkIntervalSeconds", pace.bookmark_interval_s)
        pace.fresh_wait_s = body.get("freshWaitSeconds", pace.fresh_wait_s)

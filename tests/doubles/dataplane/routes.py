"""Path and method -> handler, with what every answer has in common: authentication, the version header, errors."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable

from . import (auth, handlers_certificates, handlers_config, handlers_global, handlers_maps, handlers_raw, handlers_runtime, handlers_storage,
               handlers_transactions)
from .errors import ApiError
from .service import Service
from .web import Answer, Request, error_answer

Handler = Callable[[Service, Request], Answer]
BASE = "/v3/services/haproxy"
FILES = "/storage/(maps|general|ssl_certificates|ssl_crt_lists)"

ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/v3/info", handlers_transactions.info),
    *((method, BASE + path, handler) for method, path, handler in [
        ("GET", "/configuration/version", handlers_transactions.version),
        ("GET", "/transactions", handlers_transactions.all_transactions),
        ("POST", "/transactions", handlers_transactions.begin),
        ("GET", "/transactions/([^/]+)", handlers_transactions.show),
        ("PUT", "/transactions/([^/]+)", handlers_transactions.commit),
        ("DELETE", "/transactions/([^/]+)", handlers_transactions.delete),
        ("GET", "/reloads", handlers_transactions.reloads),
        ("GET", "/reloads/([^/]+)", handlers_transactions.reload),
        ("GET", "/configuration/raw", handlers_raw.show),
        ("POST", "/configuration/raw", handlers_raw.replace),
        ("GET", "/configuration/global", handlers_global.show),
        ("GET", "/configuration/backends", handlers_config.backends),
        ("POST", "/configuration/backends", handlers_config.create_backend),
        ("GET", "/configuration/backends/([^/]+)", handlers_config.backend),
        ("PUT", "/configuration/backends/([^/]+)", handlers_config.replace_backend),
        ("DELETE", "/configuration/backends/([^/]+)", handlers_config.delete_backend),
        ("GET", "/configuration/backends/([^/]+)/(servers|server_templates)", handlers_config.members),
        ("POST", "/configuration/backends/([^/]+)/(servers|server_templates)", handlers_config.create_member),
        ("GET", "/configuration/backends/([^/]+)/(servers|server_templates)/([^/]+)", handlers_config.member),
        ("PUT", "/configuration/backends/([^/]+)/(servers|server_templates)/([^/]+)", handlers_config.replace_member),
        ("DELETE", "/configuration/backends/([^/]+)/(servers|server_templates)/([^/]+)", handlers_config.delete_member),
        ("GET", FILES, handlers_storage.show_all),
        ("POST", FILES, handlers_storage.create),
        ("GET", FILES + "/([^/]+)", handlers_storage.show),
        ("PUT", FILES + "/([^/]+)", handlers_storage.replace),
        ("DELETE", FILES + "/([^/]+)", handlers_storage.delete),
        ("GET", "/runtime/ssl_certs", handlers_certificates.show_all),
        ("GET", "/runtime/ssl_certs/([^/]+)", handlers_certificates.show),
        ("GET", "/runtime/maps", handlers_maps.show_all),
        ("GET", "/runtime/maps/([^/]+)", handlers_maps.show),
        ("PUT", "/runtime/maps/([^/]+)", handlers_maps.replace),
        ("GET", "/runtime/maps/([^/]+)/entries", handlers_maps.entries),
        ("POST", "/runtime/maps/([^/]+)/entries", handlers_maps.add),
        ("DELETE", "/runtime/maps/([^/]+)/entries/([^/]+)", handlers_maps.delete),
        ("GET", "/runtime/info", handlers_runtime.info),
        ("GET", "/stats/native", handlers_runtime.statistics),
        ("GET", "/runtime/backends/([^/]+)/servers", handlers_runtime.servers),
        ("POST", "/runtime/backends/([^/]+)/servers", handlers_runtime.add),
        ("GET", "/runtime/backends/([^/]+)/servers/([^/]+)", handlers_runtime.server),
        ("DELETE", "/runtime/backends/([^/]+)/servers/([^/]+)", handlers_runtime.delete),
        ("PUT", "/runtime/backends/([^/]+)/servers/([^/]+)", handlers_runtime.replace),
    ]),
]


class Api:
    def __init__(self, service: Service, extra_users: dict[str, str], token: str | None = None,
                 open_to_all: bool = False):
        self.service = service
        self.extra_users = extra_users
        self.token = token
        self.open_to_all = open_to_all
        self.routes = [(method, re.compile(path), handler) for method, path, handler in ROUTES]

    def answer(self, request: Request) -> Answer:
        service = self.service
        request.play = service.play
        service.look_at_file()
        try:
            answer = self._dispatch(request)
        except ApiError as e:
            answer = error_answer(e)
        except Exception as e:  # a panic answers 500 there too; a test sees the words
            answer = error_answer(ApiError(500, f"{type(e).__name__}: {e}"))
        answer.headers["Configuration-Version"] = str(service.version(request.tid))
        return answer

    def _authenticate(self, request: Request) -> None:
        header = request.headers.get("authorization")
        if self.open_to_all or (self.token and header == f"Bearer {self.token}"):
            return
        auth.check(header, {**auth.users(self.service.config), **self.extra_users}, self.service.play)

    def _dispatch(self, request: Request) -> Answer:
        """3.0 checks the path before it checks who asks, 3.4 the other way round."""
        if self.service.play != "3.0":
            self._authenticate(request)
        allowed = []
        for method, pattern, handler in self.routes:
            match = pattern.fullmatch(request.path)
            if match and method == request.method:
                if self.service.play == "3.0":
                    self._authenticate(request)
                request.args = tuple(map(urllib.parse.unquote, match.groups()))
                return handler(self.service, request)
            if match:
                allowed.append(method)
        if allowed:
            raise ApiError(405, f"method {request.method} is not allowed, but [{','.join(allowed)}] are")
        raise ApiError(404, f"path {request.path} was not found")

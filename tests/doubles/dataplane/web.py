"""A request and an answer as plain values, between the listeners and the handlers."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from typing import Any

from .errors import ApiError


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes = b""
    play: str = "3.4"
    args: tuple[str, ...] = ()
    connection: dict[str, Any] = dataclasses.field(default_factory=dict)  # for the log of requests
    lie: float = 0.0  # a fault: HAProxy is sent nothing before so many seconds have passed, and the answer says that it was

    @property
    def path(self) -> str:
        return urllib.parse.urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        pairs = urllib.parse.parse_qsl(urllib.parse.urlsplit(self.target).query, keep_blank_values=True)
        return dict(reversed(pairs))

    @property
    def tid(self) -> str:
        return self.query.get("transaction_id", "")

    def flag(self, name: str) -> bool:
        text = self.query.get(name)
        if text is None:
            return False
        if self.play == "3.0":
            return text.lower() in ("1", "true", "t", "yes", "y", "on", "ok", "checked", "selected", "enabled")
        if text not in ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"):
            raise ApiError(400, f"Invalid format for parameter {name}: error binding string parameter: strconv.ParseBool: "
                                f'parsing "{text}": invalid syntax')
        return text[0] in "1tT"

    def version(self, required: bool = False) -> int:
        text = self.query.get("version")
        if text is None:
            if required:
                raise (ApiError(422, "version in query is required", 602) if self.play == "3.0" else
                       ApiError(400, "Query argument version is required, but not found"))
            return 0
        if not text.lstrip("-").isdigit():
            raise (ApiError(422, f'version in query must be of type int64: "{text}"', 601) if self.play == "3.0" else
                   ApiError(400, "Invalid format for parameter version: error binding string parameter: strconv.ParseInt: "
                                 f'parsing "{text}": invalid syntax'))
        return int(text)

    def json(self) -> Any:
        old = self.play == "3.0"
        if not self.body and old:
            raise ApiError(422, "data in body is required", 602)
        kind = self.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":
            raise ApiError(415, f'unsupported media type "{kind}", only [application/json] are allowed' if old
                           else f'header Content-Type has unexpected value "{kind}"')
        try:
            text = self.body.decode()
            # the old decoder is blind to what follows the first value
            return json.JSONDecoder().raw_decode(text.lstrip())[0] if old else json.loads(text)
        except (ValueError, RecursionError) as e:
            raise ApiError(400, f'parsing data body from "" failed, because {e}' if old else
                           f"failed to decode request body: {e}") from e


@dataclasses.dataclass
class Answer:
    status: int
    payload: Any = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    text: str | None = None  # instead of a payload: sent as text/plain
    data: bytes | None = None  # likewise, a file as it is
    empty: bool = False

    def body(self) -> bytes:
        if self.empty:
            return b""
        if self.data is not None:
            return self.data
        if self.text is not None:
            return self.text.encode()
        return json.dumps(self.payload, separators=(",", ":")).encode() + b"\n"

    def wire_headers(self) -> dict[str, str]:
        out = dict(self.headers)
        if not self.empty:
            out.setdefault("Content-Type", "application/octet-stream" if self.data is not None else
                           "application/json" if self.text is None else "text/plain")
        return out


def nothing(status: int, **headers: str) -> Answer:
    return Answer(status, empty=True, headers={k.replace("_", "-"): v for k, v in headers.items()})


def error_answer(e: ApiError) -> Answer:
    headers = {"Content-Type": "text/plain"} if e.plain else {}
    return Answer(e.status, {"code": e.code, "message": e.message}, headers)

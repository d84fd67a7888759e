"""Server-sent events (HTML Living Standard, 9.2) as a client reads them, one after the other."""

from __future__ import annotations

import dataclasses
import http.client
import json
import time
from typing import Any


@dataclasses.dataclass
class Event:
    kind: str
    id: str
    data: str

    def json(self) -> Any:
        return json.loads(self.data)


class EventStream:
    """Refused: status is not 200, and there are no events."""

    def __init__(self, port: int, path: str = "/status/stream", timeout: float = 20.0):
        self._timeout = timeout
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._connection.request("GET", path, headers={"Accept": "text/event-stream"})
        self._answer = self._connection.getresponse()
        self.status, self.headers = self._answer.status, self._answer.headers
        self.retry_ms: int | None = None
        self._id = ""

    def next(self) -> Event:
        """Waits for it; EOFError where the other side has closed."""
        kind, data = "message", []
        while True:
            line = self._answer.readline()
            if not line:
                raise EOFError("the stream has ended")
            field, _, value = line.decode().rstrip("\n").partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                kind = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                self._id = value
            elif field == "retry":
                self.retry_ms = int(value)
            elif not field and not value and data:
                return Event(kind, self._id, "\n".join(data))

    def until(self, condition: Any, what: str) -> Event:
        """The next event whose JSON fulfils the condition."""
        deadline, seen = time.monotonic() + self._timeout, None
        while time.monotonic() < deadline:
            event = self.next()
            if event.kind == "message":
                seen = event.json()
                if condition(seen):
                    return event
        raise AssertionError(f"waited {self._timeout:g} s on the stream for {what}; last: {seen!r}"[:3000])

    def close(self) -> None:
        self._answer.close()
        self._connection.close()

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

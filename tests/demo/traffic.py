"""A steady stream of requests through HAProxy, each on a connection of its own; every answer and every failure is kept."""

from __future__ import annotations

import collections
import http.client
import itertools
import threading
import time
from dataclasses import dataclass

THREADS = 2
PAUSE_S = 0.015
KEPT = 20_000
"""Answers that are kept one by one; older ones are only counted."""


@dataclass(frozen=True)
class Answer:
    at: float
    """time.monotonic() when it was complete."""
    node: str
    """"" for a failure."""


class Traffic:
    def __init__(self, port: int, host: str = ""):
        self.port, self.host = port, host
        self.total = 0
        self.failed = 0
        self.first_error = ""
        self._answers: collections.deque[Answer] = collections.deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(THREADS)]

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            node, error = "", ""
            try:
                node = ask(self.port, self.host)
            except (OSError, http.client.HTTPException) as e:
                error = f"{type(e).__name__}: {e}"
            with self._lock:
                self._answers.append(Answer(time.monotonic(), node))
                self.total += 1
                self.failed += not node
                self.first_error = self.first_error or error

    def since(self, at: float) -> list[Answer]:
        """What was answered, or failed, from then on, oldest first."""
        with self._lock:
            return [answer for answer in self._answers if answer.at >= at]

    def last(self, count: int) -> list[Answer]:
        with self._lock:
            return list(itertools.islice(reversed(self._answers), count))[::-1]


def counts(answers: list[Answer]) -> dict[str, int]:
    return dict(collections.Counter(answer.node for answer in answers if answer.node))


def ask(port: int, host: str = "", path: str = "/") -> str:
    """One request: the name of the node that answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"status {answer.status}")
        return body.decode().strip()
    finally:
        connection.close()

"""What is seen of an HAProxy from outside, whichever controller has it: the versions of its file, its workers, its servers' states."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

from tests.harness.haproxy import HAProxy
from tests.harness.worker import Worker


@dataclasses.dataclass(frozen=True)
class Seen:
    """Each with the time (time.monotonic()) when it was first seen to be so."""
    versions: tuple[tuple[float, int], ...]
    workers: tuple[tuple[float, tuple[int, ...]], ...]
    servers: tuple[tuple[float, str, str], ...]
    """(time, name, "live", "drain", "maint", "down" by health check, or "absent")"""
    widest: float = 0.0
    """The longest time between two close looks, in seconds: how exact the times of servers are."""

    def reloads(self) -> list[float]:
        """When a new worker came."""
        known: set[int] = set()
        found = []
        for at, pids in self.workers:
            found += [at] * (len(set(pids) - known) if known else 0)
            known |= set(pids)
        return found

    def state(self, server: str, at: float) -> str:
        return next((state for seen, name, state in reversed(self.servers) if name == server and seen <= at), "absent")

    def first(self, server: str, since: float, live: bool) -> float | None:
        """When the server was first seen live, or not live, from then on; `since` itself where it already was."""
        if (self.state(server, since) == "live") == live:
            return since
        return next((at for at, name, state in self.servers if name == server and at > since and (state == "live") == live), None)


class Observer:
    """`with Observer(haproxy, backend, home) as observer`; afterwards observer.seen()."""

    def __init__(self, haproxy: HAProxy, backend: str, home: pathlib.Path):
        self.path = home / "observer.records"
        self._log = home / "observer.log"
        self._arguments = [haproxy.config, haproxy.socket, haproxy.pid_file, backend, self.path]

    def __enter__(self) -> "Observer":
        self._worker = Worker("tests.bench.observer_worker", self._arguments, self._log)
        self._worker.hear()
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.finish()

    def closely(self) -> None:
        """Every millisecond until a server changes, or for 0.3 s; else every ten."""
        self._worker.ask("closely")

    def seen(self) -> Seen:
        kinds: dict[str, list[list[Any]]] = {"version": [], "workers": [], "server": [], "widest": []}
        for line in self.path.read_text().splitlines():
            kind, *rest = json.loads(line)
            kinds[kind].append(rest)
        return Seen(tuple((at, version) for at, version in kinds["version"]),
                    tuple((at, tuple(pids)) for at, pids in kinds["workers"]),
                    tuple((at, name, state) for at, name, state in kinds["server"]),
                    max((widest for _, widest in kinds["widest"]), default=0.0))

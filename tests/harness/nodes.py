"""Nodes behind HAProxy for tests under load: like backends.py, but in a process of its own, which answers hundreds of new
connections a second without the test's help, and whose nodes can stop listening, hang up and be late."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from .worker import Worker


class Nodes:
    """name -> loopback address, all on one port and listening from the start; `with Nodes(...) as nodes`."""

    def __init__(self, addresses: Mapping[str, str], port: int, home: pathlib.Path):
        self.addresses = dict(addresses)
        self.port = port
        self._home = home
        self._worker: Worker | None = None

    def __enter__(self) -> "Nodes":
        self._home.mkdir(parents=True, exist_ok=True)
        words = [self.port, *(f"{name}={address}" for name, address in self.addresses.items())]
        self._worker = Worker("tests.harness.node_worker", words, self._home / "nodes.log")
        try:
            self._worker.hear()
        except BaseException:
            self._worker.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._worker
        self._worker.finish()

    def _tell(self, command: str) -> str:
        assert self._worker, "the nodes were not started"
        return self._worker.ask(command)

    def listen(self, name: str) -> None:
        self._tell(f"listen {name}")

    def deaf(self, name: str) -> None:
        """No new connection gets in, the open ones live on: a pod that shuts down with good manners."""
        self._tell(f"deaf {name}")

    def drop(self, name: str) -> int:
        """Hangs up on everybody; how many there were."""
        return int(self._tell(f"drop {name}"))

    def kill(self, name: str) -> None:
        """Its process has died: what is open ends, what is new is refused."""
        self.deaf(name)
        self.drop(name)

    def late(self, name: str, seconds: float) -> None:
        """From here on each answer comes so much later."""
        self._tell(f"late {name} {seconds}")

    def asked(self, name: str) -> int:
        """How many connections have asked it; HAProxy's checks ask nothing."""
        return int(self._tell(f"asked {name}"))

"""TCP relays in a process of their own, between the daemon and the servers it speaks to: connections are cut at will, as a firewall
or a load balancer does, while the servers live on."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from tests.harness.process import free_port
from tests.harness.worker import Worker


class Relays:
    """name -> port of a server on loopback; `ports[name]` is where its relay listens. `with Relays(...) as relays`."""

    def __init__(self, targets: Mapping[str, int], home: pathlib.Path):
        self.targets = dict(targets)
        self.ports = {name: free_port() for name in targets}
        self._home = home
        self._worker: Worker | None = None

    def __enter__(self) -> "Relays":
        self._home.mkdir(parents=True, exist_ok=True)
        words = [f"{name}={self.ports[name]}:{target}" for name, target in self.targets.items()]
        self._worker = Worker("tests.soak.relay_worker", words, self._home / "relays.log")
        try:
            self._worker.hear()
        except BaseException:
            self._worker.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._worker
        self._worker.finish()

    def _tell(self, command: str) -> int:
        assert self._worker, "the relays were not started"
        return int(self._worker.ask(command))

    def cut(self, name: str, how: str = "reset") -> int:
        """Ends every connection of this relay, by "reset" or by "fin"; how many there were."""
        return self._tell(f"cut {name} {how}")

    def open(self, name: str) -> int:
        """Connections at this moment."""
        return self._tell(f"open {name} -")

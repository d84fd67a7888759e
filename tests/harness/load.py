"""A steady load through HAProxy's frontend, from a process of its own: so many new connections a second, each of which asks who
is there, and some that stay and talk. tests/harness/nodes.py has nodes that keep up with it.

    with Load(haproxy.port, tmp_path, rate=200, visits=12) as load:
        ...
    traffic = load.stop()
    assert not traffic.failed and not traffic.slow and not traffic.broken, traffic.describe()
"""

from __future__ import annotations

import pathlib

from .load_records import Traffic, parse
from .worker import Worker


class Load:
    """rate: new connections a second; visits: those that stay; it ends by itself after that many seconds. site: asked for in HTTP, by
    connections that do not stay."""

    def __init__(self, port: int, home: pathlib.Path, *, rate: float = 200, visits: int = 0, seconds: float = 300,
                 host: str = "127.0.0.1", site: str = ""):
        home.mkdir(parents=True, exist_ok=True)
        self.path = home / "load.records"
        self._log = home / "load.log"
        self._arguments = [host, port, rate, visits, seconds, self.path, *([site] if site else [])]
        self._worker: Worker | None = None

    def start(self) -> "Load":
        self._worker = Worker("tests.harness.load_worker", self._arguments, self._log)
        try:
            self._worker.hear()
        except BaseException:
            self._worker.kill()
            raise
        return self

    def stop(self) -> Traffic:
        """All of it, once what had begun has ended. Again: the same."""
        if self._worker is not None:
            worker, self._worker = self._worker, None
            worker.finish()
        return self.so_far()

    def so_far(self) -> Traffic:
        """What has ended until about 0.1 s ago; visits are written when they end."""
        if not self.path.exists():
            return Traffic((), ())
        with open(self.path) as records:
            return parse(records)

    @property
    def pid(self) -> int:
        assert self._worker, "the load is not running"
        return self._worker.pid

    def __enter__(self) -> "Load":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

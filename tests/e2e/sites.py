"""Some HAProxies of one kind with a daemon in front of them, which gets its haproxy.cfg from a file."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
from collections.abc import Callable

from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import DataPlane, HAProxy
from tests.harness.local import LocalFiles
from tests.harness.process import wait_until

from .combinations import Combination
from .world import TEMPLATE, dataplane_of

class Sites:
    """Some HAProxies of one kind with a daemon in front of them, which gets `source`."""

    def __init__(self, home: pathlib.Path, combination: Combination):
        self.home, self.combination, self.parts = home, combination, combination.parts()
        self.list: list[tuple[HAProxy, DataPlane]] = []
        self.ends = contextlib.ExitStack()
        self.source = home / "source" / "haproxy.cfg"
        self.source.parent.mkdir()
        self.daemon: Daemon | None = None

    def add(self, count: int = 1) -> None:
        """Their frontends have one port, as they have one file, and so an address each."""
        for i in range(len(self.list), len(self.list) + count):
            home = self.home / f"h{i}"
            template = TEMPLATE.replace("{fe-http}", "{fe1}").replace("{fe-shop}", "{fe2}")
            haproxy = HAProxy(home, template, str(self.parts[self.combination.haproxy]), {"fe1": "0", "fe2": "0"})
            haproxy.config.write_text(haproxy.config.read_text().replace("bind 127.0.0.1:0", f"bind unix@{home}/fe.sock"))
            dataplane = dataplane_of(haproxy, home / "dataplane", self.combination, self.parts)
            self.ends.callback(haproxy.stop)
            haproxy.start()
            self.ends.callback(dataplane.stop)
            dataplane.start()
            self.list.append((haproxy, dataplane))

    def settings(self, **more: str) -> dict[str, str]:
        reached = self.list[0][1].settings()
        if len(self.list) > 1:
            reached["HAPROXY_DATAPLANE_URL"] = ",".join(dataplane.url for _, dataplane in self.list)
        return {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), **reached, "RESYNC_PERIOD": "2s",
                # Here they share a machine: the file of one has not the socket of another.
                "CONFIG_ALLOW_LOCKOUT": "true" if len(self.list) > 1 else "false", **more}

    def start(self, **settings: str) -> Daemon:
        self.daemon = Daemon(self.home / "daemon", self.settings(**settings))
        self.ends.callback(self.daemon.close)
        return self.daemon.start()

    def command(self, *words: str, given: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """`haproxy-k8s-sync config ...`"""
        return subprocess.run([program(), "config", *words], env=clean_env(**self.settings(**settings)), input=given, capture_output=True,
                              text=True, check=False, timeout=60)

    def put(self, text: str) -> None:
        """The file, at one stroke."""
        self.source.with_name("next").write_text(text)
        self.source.with_name("next").replace(self.source)

    def text(self, site: int = 0, balance: str = "roundrobin") -> str:
        """What that HAProxy began with, changed; with a backend that shows what runs."""
        first = self.list[site][0].dir.joinpath("first.cfg").read_text()
        return first.replace("leastconn", balance) + f"\nbackend by-{balance}\n  mode tcp\n"

    def validations(self, site: int = 0) -> int:
        """How often that HAProxy was asked what it says of a configuration."""
        dataplane = self.list[site][1]
        return dataplane.checks() if isinstance(dataplane, LocalFiles) else dataplane.access_log().count("only_validate")

    def await_reads(self, times: int = 2, site: int = 0) -> None:
        """Until its file was read so often more."""
        dataplane, daemon = self.list[site][1], self.daemon
        assert daemon is not None

        def reads() -> float:
            if isinstance(dataplane, LocalFiles):
                return daemon.metrics().sum("local_requests_total", request="read")
            return dataplane.access_log().count("GET /v3/services/haproxy/configuration/raw")

        before = reads()
        wait_until(lambda: reads() > before + times, 20, f"{times} further readings of the file")

    def add_by_hand(self, backend: str, site: int = 0) -> None:
        """Another writer adds a backend, and loads it."""
        haproxy, dataplane = self.list[site]
        if isinstance(dataplane, LocalFiles):
            dataplane.config.write_text(f"{dataplane.file()}\nbackend {backend}\n  mode tcp\n")
            haproxy.reload()
        else:
            answer = dataplane.post(f"/configuration/backends?version={dataplane.version()}&force_reload=true", {"name": backend, "mode": "tcp"})
            assert answer.status in (201, 202)

    def runs(self, site: int, balance: str) -> Callable[[], bool]:
        def check() -> bool:
            haproxy, dataplane = self.list[site]
            assert f"balance {balance}\n" in dataplane.file()
            return f"\nby-{balance},BACKEND," in haproxy.runtime("show stat")
        return check

"""HAProxy, a Data Plane API (real where there is one) and our daemon, as the measurements share them."""

from __future__ import annotations

import pathlib
import re

from tests.harness import realparts
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane
from tests.harness.process import wait_until

BACKEND = "bench"
SERVICE = "bench"
NODE_PORT = 30443
RELOAD_DELAY = 0.5
# Written by the bench itself, beside the daemon.
KEPT_SERVER = "alone"

# Checks are rare: what they cost HAProxy is not what is measured.
TEMPLATE = HEAD + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend bench

backend bench
  mode tcp
  balance roundrobin
  option tcp-check
  default-server inter 60s
"""


def haproxy() -> pathlib.Path:
    """The one that $HAPROXY names, or the system's."""
    try:
        return realparts.haproxy_chosen()
    except realparts.Missing:
        return realparts.haproxy_debian()


def data_plane(haproxy: HAProxy, home: pathlib.Path, reload_delay: float, double_delay: float | None = None) -> DataPlane:
    """The real one, or the double where that cannot be had."""
    try:
        return RealDataPlane(haproxy, home, str(realparts.dataplaneapi()), reload_delay)
    except realparts.Missing:
        return DoubleDataPlane(haproxy, haproxy.config, home, reload_delay=double_delay or reload_delay)


class Target:
    """One HAProxy with its Data Plane API; `with Target(home) as target`."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE, str(haproxy()))
        self.dataplane = data_plane(self.haproxy, home / "dataplane", 1.0, RELOAD_DELAY)

    def describe(self) -> str:
        haproxy = realparts.version_of(pathlib.Path(self.haproxy.binary)).split(" - ")[0]
        return f"{haproxy}; Data Plane API: {self.dataplane.kind} {self.dataplane.play}"

    def __enter__(self) -> "Target":
        self.haproxy.start()
        try:
            self.dataplane.start()
        except BaseException:
            self.haproxy.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.dataplane.stop()
        self.haproxy.stop()

    def server_count(self) -> int:
        return len(re.findall(r"^\s+server node-", self.dataplane.file(), re.M))

    def wait_servers(self, count: int, timeout: float = 120.0) -> None:
        """Until the file has this many servers of ours. Watched closely: it is the end of a measured time."""
        wait_until(lambda: self.server_count() == count, timeout, f"{count} servers in {self.haproxy.config}", 0.002)

    def wait_running(self, count: int, timeout: float = 120.0) -> None:
        """Until HAProxy runs with them: the reload is over and does not disturb what is measured next."""
        wait_until(lambda: len(self.haproxy.servers(BACKEND).keys() - {KEPT_SERVER}) == count, timeout,
                   f"{count} servers in HAProxy", 0.02)

    def daemon(self, kubeconfig: pathlib.Path, namespace: str, name: str = "daemon", **settings: str) -> Daemon:
        return Daemon(self.home / name, {
            "INGRESS_NAMESPACE": namespace, "INGRESS_SERVICE_NAME": SERVICE, "KUBECONFIG": str(kubeconfig),
            **self.dataplane.settings(), "HAPROXY_BACKEND_NAME": BACKEND, "HAPROXY_BACKEND_PORT": str(NODE_PORT),
            "RESYNC_PERIOD": "1h", "MAX_LOSS_PERCENT": "100", "ALLOW_EMPTY": "true", "HAPROXY_KEEP_SERVERS": KEPT_SERVER, **settings})


def cpu_seconds(pid: int) -> float:
    """Time on a CPU to the nanosecond, of all threads that still live; /proc/PID/stat has 10 ms ticks."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9

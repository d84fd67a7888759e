"""Many backends, on one HAProxy or several, whose files already hold all their servers; the Kubernetes double, and the daemon."""

from __future__ import annotations

import contextlib
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, HEAD, DataPlane, DoubleDataPlane, HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.lines import is_parked, server_lines
from tests.harness.local import LocalFiles
from tests.harness.process import wait_until
from tests.harness.worker import Worker

from .setup import cpu_seconds, data_plane, haproxy as haproxy_program

NAMESPACE = "scale"
PER_SLICE = 100
RELOAD_DELAY = 0.5
STILL_S = 0.4
"""Nothing is under way any more when hardly any CPU was used for so long."""
Object = dict[str, Any]

LOCAL, API, DOUBLES = "its own files", "a Data Plane API", "doubles of the Data Plane API"


def node_name(i: int) -> str:
    return f"node-{i:05d}"


def address(i: int) -> str:
    return f"127.20.{i >> 8}.{i & 255}"


def file_text(backends: int, servers: int) -> str:
    """As the daemon would write it: nothing is to be changed at its start. Few descriptors for connections leave them to the checks of
    20,000 servers, which are rare."""
    text = HEAD.replace("global\n", "global\n  maxconn 100\n") + "\nfrontend fe\n  bind 127.0.0.1:{fe}\n  default_backend b0\n"
    for b in range(backends):
        lines = "".join(f"  server {node_name(i)} {address(i)}:{30000 + b} check weight 100\n" for i in range(servers))
        text += f"\nbackend b{b}\n  mode tcp\n  balance roundrobin\n  option tcp-check\n  default-server inter 120s\n{lines}"
    return text


class ScaleStage:
    """way: LOCAL, API (the double where no real one is to be had), or DOUBLES, as many as are asked for."""

    def __init__(self, home: pathlib.Path, backends: int, servers: int, way: str = LOCAL, haproxies: int = 1,
                 binary: pathlib.Path | None = None, pods: int = 1, **settings: str):
        home.mkdir(parents=True)
        (home / "k").mkdir()
        self.backends, self.servers, self.way, self.pods = backends, servers, way, pods
        self.kube = KubeDouble(home / "k")
        text = file_text(backends, servers)
        self.haproxies = [HAProxy(home / str(i), text, str(haproxy_program())) for i in range(haproxies)]
        self.dataplanes = [self._dataplane(one, home / f"d{i}") for i, one in enumerate(self.haproxies)]
        self.daemon = Daemon(home / "daemon", {
            "INGRESS_SERVICES": ",".join(f"{NAMESPACE}/s{b}=b{b}" for b in range(backends)),
            "KUBECONFIG": str(self.kube.kubeconfig(home / "kubeconfig")), "RESYNC_PERIOD": "1h", **self._reached_by(), **settings}, binary)
        self._home = home

    def _dataplane(self, haproxy: HAProxy, home: pathlib.Path) -> DataPlane:
        if self.way == LOCAL:
            return LocalFiles(haproxy, home, counts_checks=False)
        if self.way == DOUBLES:
            return DoubleDataPlane(haproxy, haproxy.config, home, reload_delay=RELOAD_DELAY)
        return data_plane(haproxy, home, 1.0, RELOAD_DELAY)

    def _reached_by(self) -> dict[str, str]:
        if self.way == LOCAL:
            return self.dataplanes[0].settings()
        user, _, password = AUTH.partition(":")
        return {"HAPROXY_DATAPLANE_URL": ",".join(one.url for one in self.dataplanes), "HAPROXY_DATAPLANE_USERNAME": user,
                "HAPROXY_DATAPLANE_PASSWORD": password}

    def describe(self) -> str:
        one = self.dataplanes[0]
        return self.way if self.way != API else f"{self.way} ({one.kind} {one.play})"

    @contextlib.contextmanager
    def ready(self) -> Iterator[ScaleStage]:
        """All but the daemon runs."""
        with contextlib.ExitStack() as stack:
            for haproxy, dataplane in zip(self.haproxies, self.dataplanes):
                stack.enter_context(haproxy)
                stack.enter_context(dataplane)
            stack.enter_context(self.kube)
            self.kube.put(*(objects.node(node_name(i), address(i)) for i in range(self.servers)))
            for b in range(self.backends):
                self.kube.put(objects.service(f"s{b}", namespace=NAMESPACE, node_ports={"https": (443, 30000 + b)}), *self.slices(b))
            yield self

    @contextlib.contextmanager
    def probed(self) -> Iterator[Worker]:
        """/healthz is asked all the time; started before the daemon."""
        prober = Worker("tests.bench.health_prober", [self.daemon.port], self._home / "prober.log")
        prober.hear()
        try:
            yield prober
        finally:
            prober.kill()

    # --- Kubernetes

    def slices(self, b: int, out: range = range(0), conditions: dict[str, bool] = objects.NOT_READY) -> list[Object]:
        """A pod, or as many as are asked for, on each node; those of `out` are in these conditions."""
        return [self._slice(b, first, out, conditions) for first in range(0, self.servers * self.pods, PER_SLICE)]

    def _slice(self, b: int, first: int, out: range, conditions: dict[str, bool]) -> Object:
        pods = [objects.endpoint(f"10.{64 + b}.{i >> 8}.{i & 255}", node_name(i // self.pods), conditions if i in out else objects.READY)
                for i in range(first, min(first + PER_SLICE, self.servers * self.pods))]
        return objects.slice_(f"s{b}-{first // PER_SLICE}", f"s{b}", pods, namespace=NAMESPACE)

    def slice_(self, b: int, annotations: dict[str, str]) -> Object:
        """The first slice of that backend, whose endpoints are as ever."""
        made = self._slice(b, 0, range(0), objects.READY)
        made["metadata"]["annotations"] = annotations
        return made

    # --- what came of it

    def wait_first_sync(self, timeout: float = 120) -> None:
        """By the log: to ask for so many metrics time and again costs the daemon what is measured."""
        wanted = self.backends * len(self.dataplanes)
        wait_until(lambda: self.daemon.log().count('msg="HAProxy is in sync"') >= wanted, timeout,
                   f"{wanted} backends in sync; the log: {self.daemon.tail()}", 0.02)

    def wait_told(self, names: set[str], b: int = 0, timeout: float = 120) -> None:
        """Until exactly these are parked in each file."""
        wait_until(lambda: all(self.parked(b, i) == names for i in range(len(self.dataplanes))), timeout, f"{len(names)} servers parked", 0.02)

    def parked(self, b: int, dataplane: int = 0) -> set[str]:
        return {name for name, line in server_lines(self.dataplanes[dataplane].file(), f"b{b}").items() if is_parked(line)}

    def cpu(self) -> float:
        """Of the daemon and of its helper, where it has one."""
        return sum(cpu_seconds(pid) for pid in [self.daemon.pid, *_children(self.daemon.pid)])

    def anonymous_mib(self) -> float:
        return self.daemon.memory_kib()["RssAnon"] / 1024

    def settled(self, busy: float = 0.004, timeout: float = 60) -> float:
        """Its CPU, once nothing is under way. busy: the share of a core that it uses even then."""
        last = [self.cpu(), time.monotonic()]

        def at_rest() -> bool:
            time.sleep(STILL_S)
            before, last[:] = list(last), [self.cpu(), time.monotonic()]
            return last[0] - before[0] < busy * (last[1] - before[1])
        wait_until(at_rest, timeout, "the daemon to be at rest", 0)
        return last[0]


def _children(pid: int) -> list[int]:
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found

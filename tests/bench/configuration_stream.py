"""Changes of servers, of a map and of a certificate, one after the other, from a Secret under a steady load: how long until each is served,
as its client sees it, what it costs in reloads and connections, and beside that the same changes made by hand."""

from __future__ import annotations

import base64
import contextlib
import os
import pathlib
import re
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

from tests.harness import certificates, http, realparts
from tests.harness.backends import QUESTION, node_port
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, DataPlane, HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.load import Load
from tests.harness.load_records import percentile
from tests.harness.local import LocalFiles
from tests.harness.nodes import Nodes
from tests.harness.process import free_port, wait_until

from . import report
from .setup import data_plane, haproxy as haproxy_program

CHANGES, FLOORS, RATE, RELOAD_DELAY = 50, 15, 200.0, 0.02
PAUSE = 0.1  # between two changes: some connections come in each state
NODES = {f"node-{i}": f"127.0.18.{i}" for i in range(1, 5)}
KINDS = ("servers", "maps", "certificates")
NAMESPACE, NAME = "haproxy", "haproxy-config"
AIMS = {True: "p50 <= 40 ms", False: "p50 <= 150 ms"}
APPLIED = '"configuration applied"'

FIRST = HEAD + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend be
"""


class Site:
    """One HAProxy, and the state that its configuration has."""

    def __init__(self, home: pathlib.Path, local: bool):
        self.haproxy = HAProxy(home / "haproxy", FIRST + "\nbackend be\n", str(haproxy_program()))
        self.first = self.haproxy.config.read_text()
        self.plane: DataPlane
        if local:
            self.plane, self.folder = LocalFiles(self.haproxy, home / "dataplane", counts_checks=False), self.haproxy.dir
        else:
            self.plane = data_plane(self.haproxy, home / "dataplane", RELOAD_DELAY)
            self.folder = self.plane.dir / ("real" if self.plane.kind == "real" else "storage")
        self.local, self.port, self.map_port, self.tls_port = local, node_port(NODES.values()), free_port(), free_port()
        self.leaves = [certificates.self_signed(home, name) for name in ("one.example", "two.example")]
        self.places, self.weights, self.entry, self.leaf = ["node-1", "node-2"], [100, 0], 0, 0

    # what it has

    def text(self) -> str:
        servers = "".join(f"  server s{i} {NODES[place]}:{self.port} weight {weight}\n"
                          for i, (place, weight) in enumerate(zip(self.places, self.weights)))
        return (f"{self.first}  balance roundrobin\n{servers}\n"
                f"frontend map\n  mode http\n  bind 127.0.0.1:{self.map_port}\n  http-request return status 200 content-type text/plain "
                f'lf-string "%[str(x),map({self.folder}/maps/hosts.map)]"\n\n'
                f"frontend tls\n  mode http\n  bind 127.0.0.1:{self.tls_port} ssl crt {self.folder}/ssl/www_example_com.pem\n")

    def map(self) -> str:
        return f"x entry-{self.entry}\n" + "".join(f"host-{i}.example be\n" for i in range(200))

    def pem(self) -> str:
        return self.leaves[self.leaf].certificate.read_text() + self.leaves[self.leaf].key.read_text()

    def secret(self) -> dict[str, Any]:
        data = {"haproxy.cfg": self.text(), "maps_hosts.map": self.map(), "certs_www.example.com.pem": self.pem()}
        return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": NAME, "namespace": NAMESPACE},
                "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}

    # what its clients see

    def who(self) -> str:
        with socket.create_connection(("127.0.0.1", self.haproxy.port), 5) as s:
            s.sendall(QUESTION)
            return s.recv(100).decode().strip()

    def served(self, kind: str) -> bool:
        with contextlib.suppress(OSError):  # while a reload goes on, perhaps
            if kind == "servers":
                return self.who() == self.places[self.weights.index(100)]
            if kind == "maps":
                return http.request(f"http://127.0.0.1:{self.map_port}", "GET", "/").text == f"entry-{self.entry}"
            return ssl.get_server_certificate(("127.0.0.1", self.tls_port)) == self.leaves[self.leaf].certificate.read_text()
        return False

    def await_served(self, kind: str) -> None:
        wait_until(lambda: self.served(kind), 30, f"the change of {kind} to be served", 0.001)

    # what changes

    def change(self, kind: str, number: int) -> list[str]:
        """The commands that do the same to what runs."""
        if kind == "maps":
            self.entry += 1
            return [f"set map {self.folder}/maps/hosts.map x entry-{self.entry}"]
        if kind == "certificates":
            self.leaf = 1 - self.leaf
            path = f"{self.folder}/ssl/www_example_com.pem"
            return [f"set ssl cert {path} <<\n{self.pem()}\n", f"commit ssl cert {path}"]
        if number % 2:
            self.weights.reverse()
            return [f"set server be/s{i} weight {weight}" for i, weight in enumerate(self.weights)]
        i = self.weights.index(100)
        self.places[i] = next(name for name in NODES if name not in self.places)
        return [f"set server be/s{i} addr {NODES[self.places[i]]} port {self.port}"]

    def reloads(self) -> int:
        """As its master has counted them."""
        lines = self.haproxy.ask_master("show proc; quit").splitlines()
        return int(next(line for line in lines if re.match(r"\d+ +master", line)).split()[2])

    @contextlib.contextmanager
    def started(self) -> Iterator[None]:
        with self.haproxy, self.plane:
            yield


# --- by hand

def _put(path: pathlib.Path, text: str) -> None:
    with open(path.with_name("next"), "w", encoding="ascii") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    path.with_name("next").replace(path)


def _by_hand(site: Site, kind: str, commands: list[str]) -> None:
    """The file, and the commands."""
    if site.local:
        file, text = {"servers": (site.haproxy.config, site.text()), "maps": (site.folder / "maps/hosts.map", site.map()),
                      "certificates": (site.folder / "ssl/www_example_com.pem", site.pem())}[kind]
        _put(file, text)
        for command in commands:
            site.haproxy.runtime(command)
        return
    actions = [re.sub(r"set server be/(\S+) weight (\d+)", r"SetServerWeight be \1 \2", command) for command in commands]
    actions = [re.sub(r"set server be/(\S+) addr (\S+) port (\d+)", r"SetServerAddr be \1 \2 \3", action) for action in actions]
    answer = site.plane.post(f"/configuration/raw?version={site.plane.version()}&skip_reload=true", site.text().encode(),
                             headers={"Content-Type": "text/plain", "X-Runtime-Actions": ";".join(actions)})
    assert answer.status in (200, 201, 202), answer.text


def _floor(site: Site, kinds: list[str]) -> dict[str, list[float]]:
    """Milliseconds until each was served. An API has no request that does that for maps and certificates, whatever its version."""
    took: dict[str, list[float]] = {}
    for kind in kinds if site.local else ["servers"] if "servers" in kinds else []:
        for number in range(FLOORS):
            commands = site.change(kind, number)
            began = time.monotonic()
            _by_hand(site, kind, commands)
            site.await_served(kind)
            took.setdefault(kind, []).append((time.monotonic() - began) * 1000)
    return took


# --- by the daemon

def _daemon(site: Site, kube: KubeDouble, home: pathlib.Path, name: str) -> Daemon:
    return Daemon(home / name, {
        "CONFIG_SOURCE": "secret", "CONFIG_SECRET_NAMESPACE": NAMESPACE, "CONFIG_SECRET_NAME": NAME, "CONFIG_MIN_INTERVAL": "0",
        "RESYNC_PERIOD": "1h", "KUBECONFIG": str(kube.kubeconfig(home / "kubeconfig")), **site.plane.settings()})


def _begun(site: Site, kube: KubeDouble, daemon: Daemon) -> None:
    """Of what it did not write itself it does not know that HAProxy runs it: so there is a first change, which takes a reload."""
    kube.put(site.secret())
    daemon.wait_log('"configuration (applied|unchanged)"', 30)
    seen = len(daemon.log())
    site.change("servers", 0)
    kube.put(site.secret())
    daemon.wait_log(APPLIED, 30, seen)
    for kind in KINDS:
        site.await_served(kind)
    daemon.wait_ready(30)


def _stream(site: Site, kube: KubeDouble, daemon: Daemon, kinds: list[str]) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {}
    for number in range(CHANGES):
        kind, seen = kinds[number % len(kinds)], len(daemon.log())
        site.change(kind, number // len(kinds))
        secret = site.secret()
        began = time.monotonic()
        kube.put(secret)
        site.await_served(kind)
        took.setdefault(kind, []).append((time.monotonic() - began) * 1000)
        daemon.wait_log(APPLIED, 30, seen)  # the next one is a change of its own
        time.sleep(PAUSE)
    return took


def _figures(name: str, took: dict[str, list[float]], aim: str = "") -> None:
    for kind, values in {**took, "all": [ms for each in took.values() for ms in each]}.items():
        ascending = sorted(values)
        if ascending:
            report.figure(f"{name}, {kind}", f"p50 {percentile(ascending, 50):.1f} ms, p95 {percentile(ascending, 95):.1f} ms, n={len(ascending)}",
                          aim if kind == "all" else "")


def _measure(home: pathlib.Path, local: bool, kinds: list[str]) -> None:
    site = Site(home, local)
    (home / "kube").mkdir()
    with site.started(), KubeDouble(home / "kube") as kube, Nodes(NODES, site.port, home / "nodes"):
        with _daemon(site, kube, home, "first") as daemon:
            _begun(site, kube, daemon)
        floor = _floor(site, kinds)
        with _daemon(site, kube, home, "daemon") as daemon:
            _begun(site, kube, daemon)
            before, workers = site.reloads(), {site.haproxy.worker()}
            with Load(site.haproxy.port, home / "load", rate=RATE) as load:
                took = _stream(site, kube, daemon, kinds)
                traffic = load.stop()
            reloads = site.reloads() - before
            workers.add(site.haproxy.worker())
    haproxy = realparts.version_of(pathlib.Path(site.haproxy.binary)).split(" - ")[0]
    report.heading(f"{CHANGES} changes of {', '.join(kinds)} under {RATE:g} new connections/s; {haproxy}; "
                   + ("by its own file and sockets" if local else f"Data Plane API: {site.plane.kind} {site.plane.play}"))
    _figures("Secret changed -> served", took, AIMS[local])
    _figures("floor: by hand", floor)
    report.figure("reloads, as the master counts them", f"{reloads}{'' if len(workers) == 1 else ', another worker'}", "0")
    report.figure("new connections; failed", f"{len(traffic.connections)}; {len(traffic.failed)}", "0 failed")


def measure(home: pathlib.Path) -> None:
    kinds = os.environ.get("CHANGE", "").replace(",", " ").split() or list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        raise SystemExit(f"CHANGE: there is no {', '.join(unknown)}; there are {', '.join(KINDS)}")
    for name, local in (("local", True), ("api", False)):
        (home / name).mkdir(parents=True)
        _measure(home / name, local, kinds)

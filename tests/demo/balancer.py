"""A real HAProxy, with a Data Plane API or without ($TARGET=local: its own file and sockets), traffic's destinations behind it, and
the daemon: what each demo has."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

from tests.harness.backends import node_port
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import (HEAD, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane, haproxy_binary, haproxy_version,
                                   real_dataplane_binary)
from tests.harness.local import LocalFiles

from .nodes import Backend

BACKEND = "ingress"
NODE_PORT = 30080
RELOAD_DELAY_S = 1.0
SORRY = "sorry-page"
ADDRESSES = {**{f"node-{i}": f"127.0.10.{i}" for i in range(1, 7)}, SORRY: "127.0.10.99"}
PODS = {**{f"shop-{i}": f"127.0.10.1{i}" for i in range(1, 7)}, "blog-1": "127.0.10.21"}
"""Of the demo of Ingresses, which HAProxy reaches without a node between."""
FIRST = ("node-1", "node-2", "node-3")

HAPROXY_CFG = HEAD + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend {backend}

backend {backend}
  # This comment and the backup server are not the daemon's and have to stay.
  default-server inter 1s rise 1 fall 2
  server {sorry} 127.0.10.99:{node_port} backup
"""


class Unprepared(Exception):
    """What the demo needs and the machine lacks."""


def check_machine() -> None:
    missing = []
    if not haproxy_binary():
        missing.append("haproxy (Debian: haproxy)")
    if not importlib.util.find_spec("yaml"):
        missing.append("PyYAML for this Python (Debian: python3-yaml)")
    try:
        program()
    except AssertionError as e:
        missing.append(str(e))
    if missing:
        raise Unprepared("the demo cannot start, `make demo` installs and builds what it needs; missing: " + "; ".join(missing))


def free_node_port(claim: socket.socket) -> int:
    """30080 unless another program has it. Another demo that begins at the same time has it by the claim, at an address that no node has."""
    try:
        claim.bind(("127.0.10.100", NODE_PORT))
        for address in [*ADDRESSES.values(), *PODS.values()]:
            with contextlib.closing(socket.socket()) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((address, NODE_PORT))
        return NODE_PORT
    except OSError:
        return node_port([*ADDRESSES.values(), *PODS.values()])


def folders_of(plane: DataPlane) -> dict[str, str]:
    """Of the Data Plane API, which does not tell; beside HAProxy they are the daemon's own."""
    if plane.kind == LocalFiles.kind:
        return {}
    return {"HAPROXY_STORAGE_DIR": str(plane.dir / ("real" if plane.kind == "real" else "storage"))}


class Balancer:
    """Started by `with`; at its end everything is stopped by pid and the temporary directory is gone."""

    at_first = (SORRY, *FIRST)
    """The destinations that answer from the beginning."""
    config = HAPROXY_CFG
    """Of HAProxy, before the daemon."""

    def __init__(self) -> None:
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="haproxy-k8s-sync-demo-"))
        self.claim = socket.socket()
        self.node_port = free_node_port(self.claim)
        self.haproxy = HAProxy(self.home / "haproxy", self.config, values={
            "backend": BACKEND, "sorry": SORRY, "node_port": str(self.node_port)})
        self.dataplane = self._dataplane(self.haproxy, self.home / "dataplane")
        self.backends: dict[str, Backend] = {}
        self._stack = contextlib.ExitStack()
        self.daemon = Daemon(self.home / "daemon", self.settings())

    @property
    def is_local(self) -> bool:
        return self.dataplane.kind == LocalFiles.kind

    def _dataplane(self, haproxy: HAProxy, home: pathlib.Path) -> DataPlane:
        target = os.environ.get("TARGET") or "api"
        if target not in ("api", "local"):
            raise Unprepared(f"TARGET={target}: api or local")
        if target == "local":
            return LocalFiles(haproxy, home)
        real = real_dataplane_binary()
        if real:
            return RealDataPlane(haproxy, home, real, RELOAD_DELAY_S)
        return DoubleDataPlane(haproxy, haproxy.config, home, reload_delay=RELOAD_DELAY_S)

    def settings(self) -> dict[str, str]:
        """The settings of the daemon."""
        return self.dataplane.settings()

    def settings_file(self) -> pathlib.Path:
        """The same, and where the daemon listens, for `env $(cat ...)`: no value has a space."""
        path = self.home / "settings.env"
        settings = self.settings() | {"LISTEN_ADDRESS": f"127.0.0.1:{self.daemon.port}"}
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def ask_daemon(self, *arguments: str) -> str:
        """What the program prints for a subcommand."""
        asked = subprocess.run([self.daemon.binary, *arguments], env=self.settings(), capture_output=True, text=True, timeout=30)
        return asked.stdout + asked.stderr

    def prepare(self, stack: contextlib.ExitStack) -> None:
        """What the daemon reads."""
        raise NotImplementedError

    def __enter__(self) -> "Balancer":
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self.home, ignore_errors=True)
            stack.enter_context(self.claim)
            stack.callback(lambda: [self.remove_backend(name) for name in list(self.backends)])
            for name in self.at_first:
                self.add_backend(name)
            stack.enter_context(self.haproxy)
            stack.enter_context(self.dataplane)
            self.prepare(stack)
            stack.callback(self._stop_daemon)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """A second Ctrl-C must not leave half of it behind."""
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, signal.SIG_IGN)
        self._stack.close()

    def _stop_daemon(self) -> None:
        if self.daemon.process is not None:
            self.daemon.process.stop()

    def add_backend(self, node: str) -> None:
        self.backends[node] = Backend(node, {**ADDRESSES, **PODS}[node], self.node_port)

    def remove_backend(self, node: str) -> None:
        self.backends.pop(node).stop()

    def reloads(self) -> int:
        return self.haproxy.reloads()

    def alive(self) -> bool:
        process = self.daemon.process
        if process is not None and not process.alive:
            raise RuntimeError(f"the daemon ended by itself with {process.wait()}")
        return True

    def destinations(self) -> tuple[str, str]:
        return "nodes", f"little web servers on {ADDRESSES['node-1']}, .2, .3, port {self.node_port}"

    def parts(self) -> list[tuple[str, str]]:
        version = ".".join(map(str, haproxy_version(self.haproxy.binary)))
        kind = "none: the daemon writes haproxy.cfg and speaks to HAProxy's sockets" if self.is_local else \
            f"the real one, {os.path.basename(self.dataplane.command()[0])}" if self.dataplane.kind == "real" else \
            "its double (a real one is used when $DATAPLANEAPI or PATH has it)"
        return [("Data Plane API", kind), ("HAProxy", f"{version}, the real one, {self.haproxy.binary}"),
                self.destinations(),
                ("daemon", str(self.daemon.binary))]

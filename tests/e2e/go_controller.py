"""The Go controller beside a HAProxy: that program itself ($GO_CONTROLLER), or a model of what it was measured to write, which is played
where the program is not there, as in CI. Where it is, test_moving.py holds the model to it: both make the same file of the same file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Protocol

import pytest

from tests.harness import realparts
from tests.harness.process import Process
from tests.harness.realkube import ADMIN_TOKEN, Client

from .world import BACKEND, SERVICE, World

HEALTH_PORT = 8080  # which it cannot be talked out of
KINDS = ("model", "program")


class Running(Protocol):
    @property
    def alive(self) -> bool: ...

    def log(self) -> str: ...


@contextlib.contextmanager
def program() -> Iterator[pathlib.Path]:
    """The program, for one test of the whole run at a time."""
    given = os.environ.get("GO_CONTROLLER", "")
    if not given:
        pytest.skip("moving from the Go controller itself: GO_CONTROLLER does not name it; what it writes is played by a model (tests/e2e/go_controller.py)")
    with open(realparts.cache_dir() / ".go-controller", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", HEALTH_PORT)) == 0:
                pytest.skip(f"moving from the Go controller itself: port {HEALTH_PORT} is taken here, and it knows no other")
        yield pathlib.Path(given)


@contextlib.contextmanager
def run(world: World, binary: pathlib.Path, env: dict[str, str], name: str) -> Iterator[Process]:
    process = Process([binary], world.home / f"{name}.log", env=env, name="the Go controller")
    try:
        yield process
    finally:
        process.stop()


class Model:
    """Its servers are called NODE-PORT and are at the node's InternalIP, one for each address of an endpoint that is ready. All of them are
    put, or posted where they are not there; then the backend is put with nothing but name, balance and check; nothing is ever deleted."""

    def __init__(self, world: World):
        self.world = world
        self._kube = Client(world.kube.port, world.kube.ca, ADMIN_TOKEN)  # a connection serves one thread
        self._end = threading.Event()
        self._failure = ""
        self._written: list[tuple[str, str]] | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Model":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._kube.close()

    @property
    def alive(self) -> bool:
        return not self._failure

    def log(self) -> str:
        return self._failure

    def wanted(self) -> list[tuple[str, str]]:
        """(name, address) of each."""
        nodes = {n["metadata"]["name"]: a["address"] for n in self._kube.list("Node") for a in n["status"].get("addresses", [])
                 if a["type"] == "InternalIP"}
        slices = [s for s in self._kube.list("EndpointSlice", self.world.namespace)
                  if s["metadata"]["labels"].get("kubernetes.io/service-name") == SERVICE]
        ready = [e for s in slices for e in s.get("endpoints") or [] if e["conditions"].get("ready", True)]
        return [(f"{e.get('nodeName', at)}-{self.world.node_port}", nodes.get(e.get("nodeName", ""), at)) for e in ready for at in e["addresses"]]

    def write(self, wanted: list[tuple[str, str]]) -> None:
        api = self.world.dataplane
        tid = api.begin()
        of, servers = f"transaction_id={tid}", f"/configuration/backends/{BACKEND}/servers"
        for name, address in wanted:
            line = {"name": name, "address": address, "port": self.world.node_port, "weight": 1, "check": "enabled"}
            answer = api.put(f"{servers}/{name}?{of}", line)
            if answer.status == 404:
                answer = api.post(f"{servers}?{of}", line)
            assert answer.status < 300, answer.text
        backend = {"name": BACKEND, "adv_check": "tcp-check", "balance": {"algorithm": "roundrobin"}, "check_timeout": 5000}
        answer = api.put(f"/configuration/backends/{BACKEND}?{of}", backend)
        assert answer.status < 300, answer.text
        answer = api.commit(tid)
        assert answer.status < 300, answer.text

    def _work(self) -> None:
        while not self._end.wait(0.2):
            try:
                wanted = self.wanted()
                if wanted != self._written:  # the program also writes with each resync
                    self.write(wanted)
                    self._written = wanted
            except Exception as e:  # reported by the code that waits for what it should have written
                self._failure = f"the model of the Go controller: {e!r}"
                return


@contextlib.contextmanager
def started(world: World, kind: str) -> Iterator[Running]:
    """That kind of it, with the settings of the world's daemon."""
    if kind == "model":
        with Model(world) as model:
            yield model
        return
    names = ("INGRESS_", "HAPROXY_DATAPLANE_", "HAPROXY_BACKEND_", "KUBECONFIG")
    env = {name: value for name, value in world.settings().items() if name.startswith(names)}
    with program() as binary, run(world, binary, {**env, "HAPROXY_BACKEND_PORT": str(world.node_port), "PATH": "/usr/bin:/bin"},
                                  "go-controller") as process:
        yield process

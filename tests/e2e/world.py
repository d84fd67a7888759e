"""Everything of one case together: a real kube-apiserver, HAProxy, a Data Plane API, the nodes behind it, and our daemon."""

from __future__ import annotations

import os
import pathlib
import re
import signal
from collections.abc import Iterable

from tests.harness import objects
from tests.harness.backends import Backend, ask, wait_traffic
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane
from tests.harness.process import wait_until
from tests.harness.realkube import Object, RealKube

from .combinations import Combination

SERVICE = "ingress"
BACKEND = "ingress"
# Endpoint addresses may not be loopback ones on a real API server, node addresses may: so nodes are told apart by these.
NODES = {"node-a": "127.0.10.1", "node-b": "127.0.10.2", "node-c": "127.0.10.3", "node-d": "127.0.10.4",
         "node-a-moved": "127.0.10.11"}

# What a user may have: comments, another backend with much that is not ours, a backup server, a server of before.
TEMPLATE = """\
global
  stats socket {d}/haproxy.sock mode 600 level admin expose-fd listeners

defaults
  mode tcp
  timeout connect 2s
  timeout client 30s
  timeout server 30s

userlist dataplaneapi
  user admin insecure-password adminpwd

frontend fe
  bind 127.0.0.1:{fe}
  default_backend ingress

backend ingress
  mode tcp
  balance leastconn
  # a hand-written comment
  option tcp-check
  default-server inter 500ms rise 1 fall 2
  server old 127.0.10.99:9 check weight 50
  server sorry 127.0.10.98:9 backup

backend other
  mode tcp
  timeout server 77s
  stick-table type ip size 10k expire 5m
  server a 127.0.0.1:9
"""


def section(text: str, head: str) -> list[str]:
    """The lines below `head` up to the next section, e.g. section(cfg, "backend other")."""
    lines = text.splitlines()
    # The Data Plane API appends " from unnamed_defaults_1" to a section's first line.
    found = [i for i, line in enumerate(lines) if re.match(r"\S", line) and line.split()[:2] == head.split()]
    assert found, f"no section {head!r} in:\n{text}"
    body = []
    for line in lines[found[0] + 1:]:
        if re.match(r"\S", line) and not line.startswith("#"):
            break
        body.append(line)
    return [line for line in body if line.strip()]


def server_lines(text: str, backend: str = BACKEND) -> dict[str, str]:
    """name -> the rest of its line"""
    found = (re.match(r"\s+server (\S+) (.*)", line) for line in section(text, f"backend {backend}"))
    return {m[1]: m[2].strip() for m in found if m}


def without_ours(text: str) -> str:
    """The file without what the daemon (server lines) and the Data Plane API (its version) may change."""
    kept, backend = [], ""
    for line in text.splitlines():
        if re.match(r"\S", line):
            backend = line.split()[1] if line.startswith("backend ") else ""
        if line.startswith(("# _version", "# _md5hash")):
            continue
        if backend == BACKEND and re.match(r"\s+server ", line) and " backup" not in line:
            continue
        kept.append(line)
    return "\n".join(kept)


class World:
    """Made by the fixture `world`; a case asks it for nodes, pods and a daemon and says what it expects."""

    def __init__(self, home: pathlib.Path, combination: Combination, parts: dict[str, pathlib.Path], kube: RealKube,
                 namespace: str, node_port: int, backends: dict[str, Backend]):
        self.home = home
        self.combination = combination
        self.kube = kube
        self.namespace = namespace
        self.node_port = node_port
        self.backends = backends
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE, str(parts[combination.haproxy]))
        self.dataplane = self._dataplane(parts)
        self._daemon: Daemon | None = None
        kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        kube.grant("nodes", "slices", "endpoints", "services")

    def _dataplane(self, parts: dict[str, pathlib.Path]) -> DataPlane:
        if self.combination.dataplane == "real":
            return RealDataPlane(self.haproxy, self.home / "dataplane", str(parts["dataplaneapi"]))
        play = self.combination.dataplane.removeprefix("double-")
        return DoubleDataPlane(self.haproxy, self.haproxy.config, self.home / "dataplane", play, reload_delay=0.3)

    def start(self) -> None:
        self.haproxy.start()
        self.dataplane.start()

    def close(self) -> None:
        try:
            if self._daemon is not None:
                self._daemon.close()
        finally:
            if self._daemon is not None:
                self._daemon.kill()
            self.dataplane.stop()
            self.haproxy.stop()

    # --- our daemon

    @property
    def daemon(self) -> Daemon:
        assert self._daemon is not None, "this case has not started the daemon yet"
        return self._daemon

    def start_daemon(self, **settings: str) -> Daemon:
        """With settings that fit this world; a case's own replace them, "" takes one away."""
        user, password = AUTH.split(":")
        env = {"INGRESS_NAMESPACE": self.namespace, "INGRESS_SERVICE_NAME": SERVICE, "KUBECONFIG": str(self.kube.kubeconfig()),
               "HAPROXY_DATAPLANE_URL": self.dataplane.url, "HAPROXY_DATAPLANE_USERNAME": user,
               "HAPROXY_DATAPLANE_PASSWORD": password, "HAPROXY_BACKEND_NAME": BACKEND,
               "HAPROXY_BACKEND_PORT": str(self.node_port), "RESYNC_PERIOD": "30s", "LOG_LEVEL": "debug", **settings}
        self._daemon = Daemon(self.home / "daemon", {k: v for k, v in env.items() if v}).start()
        return self._daemon

    # --- what Kubernetes says

    def put_node(self, name: str, address: str = "") -> None:
        self.kube.admin.put(objects.node(name, address or NODES[name]))

    def put_nodes(self, *names: str) -> None:
        for name in names:
            self.put_node(name)

    def pods(self, nodes: Iterable[str]) -> list[Object]:
        return [objects.endpoint(f"10.1.0.{i}", node) for i, node in enumerate(nodes, 1)]

    def put_slice(self, *nodes: str, name: str = "ingress-1") -> None:
        """One ready pod on each of these nodes, a node named twice has two."""
        self.kube.admin.put(objects.slice_(name, SERVICE, self.pods(nodes), namespace=self.namespace))

    def delete_slice(self, name: str) -> None:
        self.kube.admin.delete("EndpointSlice", name, self.namespace)

    def put_endpoints(self, *nodes: str) -> None:
        self.kube.admin.put(objects.endpoints(SERVICE, [(f"10.1.0.{i}", n) for i, n in enumerate(nodes, 1)],
                                              namespace=self.namespace))

    # --- what HAProxy has

    def ours(self) -> dict[str, str]:
        """Our server lines in the file."""
        return {k: v for k, v in server_lines(self.dataplane.file()).items() if " backup" not in f" {v} "}

    def running(self) -> dict[str, str]:
        """Server -> address that HAProxy runs with at this moment."""
        return {k: v["srv_addr"] for k, v in self.haproxy.servers(BACKEND).items() if k != "sorry"}

    def expect(self, *nodes: str, timeout: float = 30.0, **addresses: str) -> None:
        """Until the file, the running HAProxy and the traffic all have exactly these nodes. addresses: node_a="127..." for one
        that moved."""
        moved = {k.replace("_", "-"): v for k, v in addresses.items()}
        wanted = {n: moved.get(n, NODES[n]) for n in nodes}

        def file_has_them() -> bool:
            have = {name: rest.split()[0] for name, rest in self.ours().items()}
            assert have == {n: f"{a}:{self.node_port}" for n, a in wanted.items()}, f"the file has {have}"
            return True

        def haproxy_has_them() -> bool:
            assert self.running() == wanted, f"HAProxy runs with {self.running()}"
            return True

        try:
            wait_until(file_has_them, timeout, f"servers {wanted} in {self.haproxy.config}")
            wait_until(haproxy_has_them, timeout, f"servers {wanted} in the running HAProxy")
            wait_traffic(self.haproxy.port, [self.label_of(n, a) for n, a in wanted.items()], timeout)
        except AssertionError as e:
            raise AssertionError(f"{e}\nthe daemon's log ends with:\n{self.daemon.tail()}") from e

    @staticmethod
    def label_of(node: str, address: str) -> str:
        return next((label for label, at in NODES.items() if at == address), node)

    def who_answers(self) -> str:
        return ask(self.haproxy.port)

    def version(self) -> int:
        """Goes up by one with every commit of anybody."""
        return self.dataplane.version()

    def in_step(self, timeout: float = 20.0) -> None:
        """Until the daemon itself says that all is well: ready (which a pending reload does not hold up) and loaded."""
        self.daemon.wait_ready(timeout)
        self.daemon.wait_metric("in_sync", 1, timeout)

    # --- trouble

    def hand_edit(self, *changes: tuple[str, str]) -> str:
        """Replaces text in haproxy.cfg as an editor does: beside it and renamed over it. Returns the new text."""
        text = self.dataplane.file()
        for old, new in changes:
            assert old in text, f"{old!r} is not in:\n{text}"
            text = text.replace(old, new)
        beside = self.haproxy.config.with_suffix(".edited")
        beside.write_text(text)
        os.replace(beside, self.haproxy.config)
        return text

    def pause(self) -> None:
        """The daemon sees nothing until resume(): what happens in between reaches it at once."""
        os.kill(self.daemon.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.daemon.pid, signal.SIGCONT)

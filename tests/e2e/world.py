"""Everything of one case together: a real kube-apiserver, HAProxy, a Data Plane API, the nodes behind it, and our daemon."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.bench import access_log
from tests.harness import objects
from tests.harness.backends import Backend, ask, backends, node_port, wait_traffic
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import HEAD, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane, admin_state
from tests.harness.lines import in_rotation, is_parked, parked, server_lines
from tests.harness.local import LocalFiles
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import Object, RealKube

from .combinations import Combination
from .rights import Rights

SERVICE = "ingress"
BACKEND = "ingress"
# Endpoint addresses may not be loopback ones on a real API server, node addresses may: so nodes are told apart by these.
NODES = {"node-a": "127.0.10.1", "node-b": "127.0.10.2", "node-c": "127.0.10.3", "node-d": "127.0.10.4",
         "node-a-moved": "127.0.10.11"}

# What a user may have: comments, another backend with much that is not ours, a backup server, a server of before. The
# two backends behind it, each with a frontend, are for those cases that need more than one.
TEMPLATE = HEAD + """\

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

frontend fe-http
  bind 127.0.0.1:{fe-http}
  default_backend ingress-http

backend ingress-http
  mode tcp

frontend fe-shop
  bind 127.0.0.1:{fe-shop}
  default_backend shop

backend shop
  mode tcp
"""


def without_ours(text: str) -> str:
    """The file without what the daemon (server lines) and the Data Plane API (its comments, the name of a defaults section that has none) may change."""
    kept, backend = [], ""
    for line in text.splitlines():
        if re.match(r"\S", line):
            backend = line.split()[1] if line.startswith("backend ") else ""
        if line.startswith(("# _version", "# _md5hash", "# Dataplaneapi managed File", "# changing file directly", "# haproxy-k8s-sync: ")):
            continue
        if backend == BACKEND and re.match(r"\s+server ", line) and " backup" not in line:
            continue
        kept.append(re.sub(r" (from )?unnamed_defaults_\d+$", "", line))
    return "\n".join(kept).strip()


@dataclasses.dataclass(frozen=True)
class Written:
    """What any writer has written through a Data Plane API, or the daemon into the file itself. Each transaction is a reload; of fast
    writes none is."""
    transactions: int = 0
    fast: int = 0

    def __sub__(self, before: "Written") -> "Written":
        return Written(self.transactions - before.transactions, self.fast - before.fast)


_marks = itertools.count(1)


def written(dataplane: DataPlane) -> Written:
    if isinstance(dataplane, LocalFiles):
        reloads = dataplane.reloads()
        return Written(reloads, dataplane.version() - reloads)
    # A line is in the log a moment after its answer: whatever was answered is there once a later request is.
    mark = f"/configuration/version?mark={next(_marks)}"
    assert dataplane.get(mark).status == 200
    wait_until(lambda: f"{mark} " in dataplane.access_log().replace('"', " "), 10, f"{mark} in the access log")
    kinds = access_log.count(dataplane.access_log())
    beside = {kind: count for kind, count in kinds.items() if kind in (access_log.RELOADING, access_log.OTHER)}
    assert not beside, f"neither a transaction nor a fast write: {beside}"
    return Written(kinds[access_log.TRANSACTION], kinds[access_log.FAST])


def dataplane_of(haproxy: HAProxy, home: pathlib.Path, combination: Combination, parts: dict[str, pathlib.Path]) -> DataPlane:
    """The combination's kind of Data Plane API in front of this HAProxy, or its own file and sockets."""
    if combination.dataplane == "local":
        return LocalFiles(haproxy, home)
    if combination.dataplane == "real":
        return RealDataPlane(haproxy, home, str(parts["dataplaneapi"]))
    play = combination.dataplane.removeprefix("double-")
    return DoubleDataPlane(haproxy, haproxy.config, home, play, reload_delay=0.3)


def free_node_port(kube: RealKube, addresses: Iterable[str] = NODES.values()) -> int:
    """One that a Service may have. The API server gives some out by itself, to Services of a case before, too."""
    specs = [service["spec"] for service in kube.admin.request("GET", "/api/v1/services")["items"]]
    taken = {spec.get("healthCheckNodePort") for spec in specs} | {port.get("nodePort") for spec in specs for port in spec["ports"]}
    while (port := node_port(addresses)) in taken:
        pass
    return port


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
        more = {"fe-http": str(free_port()), "fe-shop": str(free_port())}
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE, str(parts[combination.haproxy]), more)
        self.frontends = {BACKEND: self.haproxy.port, "ingress-http": int(more["fe-http"]), "shop": int(more["fe-shop"])}
        self.dataplane = dataplane_of(self.haproxy, home / "dataplane", combination, parts)
        self._daemon: Daemon | None = None
        self._ends = contextlib.ExitStack()
        self._nodes: set[str] = set()
        self.namespaces = [namespace]
        self.put_namespace(namespace)
        self.rights = Rights(kube, namespace)
        self.put_service()

    def start(self) -> None:
        self.haproxy.start()
        self.dataplane.start()

    def start_with(self, *changes: tuple[str, str]) -> None:
        """All anew, with another file: replaces text in it."""
        self.dataplane.stop()
        self.haproxy.stop()
        self.hand_edit(*changes)
        self.start()

    def close(self) -> None:
        try:
            if self._daemon is not None:
                self._daemon.close()
        finally:
            if self._daemon is not None:
                self._daemon.kill()
            self.dataplane.stop()
            self.haproxy.stop()
            self._ends.close()
            for namespace in self.namespaces:
                # Their nodePorts are the whole cluster's, which the next case shares.
                self.kube.admin.delete_all("Service", namespace)

    # --- our daemon

    @property
    def daemon(self) -> Daemon:
        assert self._daemon is not None, "this case has not started the daemon yet"
        return self._daemon

    def settings(self, **more: str) -> dict[str, str]:
        """The daemon's environment in this world; a case's own settings replace these, "" takes one away.

        MAX_LOSS_PERCENT=100: with two or three servers nearly every loss is more than half of them, which the brake would hold
        back for RESYNC_PERIOD. Its own cases set it."""
        env = {"INGRESS_NAMESPACE": self.namespace, "INGRESS_SERVICE_NAME": SERVICE, **self.dataplane.settings(),
               "HAPROXY_BACKEND_NAME": BACKEND, "MAX_LOSS_PERCENT": "100", "RESYNC_PERIOD": "30s", "LOG_LEVEL": "debug", **more}
        if "KUBECONFIG" not in env:
            env["KUBECONFIG"] = str(self.kube.kubeconfig(self.rights.token))
        return {name: value for name, value in env.items() if value}

    def adopt(self, daemon: Daemon) -> Daemon:
        """From here on it is the one that is meant: whose log is shown where a wait is in vain."""
        self._daemon = daemon
        return daemon

    def start_daemon(self, **settings: str) -> Daemon:
        self._daemon = Daemon(self.home / "daemon", self.settings(**settings)).start()
        return self._daemon

    def command(self, *words: str, binary: pathlib.Path | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
        """`haproxy-k8s-sync plan` and the like, in the daemon's environment and with its rights."""
        env = clean_env(**self.settings(**settings))
        return subprocess.run([binary or program(), *words], env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=90, check=False)

    def begin(self, *nodes: str, **settings: str) -> None:
        """The daemon, and one ready pod on each of these nodes, which are made unless the case has made them."""
        self.put_nodes(*(node for node in nodes if node not in self._nodes))
        self.put_slice(*nodes)
        self.start_daemon(**settings)

    def serve(self, *nodes: str, **settings: str) -> None:
        """The same until all is in sync."""
        self.begin(*nodes, **settings)
        self.expect(*nodes)
        self.in_step()

    def hurried(self, condition: Callable[[], object], what: str) -> None:
        """Waits for what comes after a retry: SIGHUP ends every wait for one."""
        def hurry() -> object:
            os.kill(self.daemon.pid, signal.SIGHUP)
            return condition()

        wait_until(hurry, 60, what, interval=0.5)

    # --- what Kubernetes says

    def put_namespace(self, name: str) -> None:
        self.kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def more_namespace(self, name: str) -> str:
        """A further namespace of this case, with the daemon's rights in it."""
        made = f"{self.namespace}-{name}"
        self.namespaces.append(made)
        self.put_namespace(made)
        self.rights.also_in(made)
        return made

    def open_port(self, mark: str = "") -> int:
        """A further port that every node serves and a Service may have as its nodePort; node-a says "node-a" and the mark."""
        port = free_node_port(self.kube)
        self._ends.enter_context(backends({f"{name}{mark}": address for name, address in NODES.items()}, port))
        return port

    def put_node(self, name: str, address: str = "", **more: Any) -> None:
        """more: labels, taints, addresses, ready, unschedulable."""
        self._nodes.add(name)
        self.kube.admin.put(objects.node(name, address or NODES[name], **more))

    def put_nodes(self, *names: str) -> None:
        for name in names:
            self.put_node(name)

    def patch_node(self, name: str, change: Object, status: bool = False) -> None:
        self.kube.admin.patch("Node", name, change, status=status)

    def put_service(self, name: str = SERVICE, **more: Any) -> Object:
        """By default with one port, https, whose nodePort is node_port; more goes to objects.service."""
        return self.kube.admin.put(objects.service(
            name, **{"namespace": self.namespace, "node_ports": {"https": (443, self.node_port)}, **more}))

    def patch_service(self, change: Object) -> Object:
        return self.kube.admin.patch("Service", SERVICE, change, self.namespace)

    def pods(self, nodes: Iterable[str]) -> list[Object]:
        return [objects.endpoint(f"10.1.0.{i}", node) for i, node in enumerate(nodes, 1)]

    def put_slice(self, *nodes: str, name: str = "ingress-1", service: str = SERVICE, terminating: Iterable[str] = (),
                  not_ready: Iterable[str] = (), **more: Any) -> None:
        """One ready pod on each of these nodes, a node named twice has two; besides them pods that terminate and still serve,
        and pods that are not ready. more goes to objects.slice_."""
        pods = [*((node, objects.READY) for node in nodes), *((node, objects.TERMINATING) for node in terminating),
                *((node, objects.NOT_READY) for node in not_ready)]
        built = [objects.endpoint(f"10.1.0.{i}", node, conditions) for i, (node, conditions) in enumerate(pods, 1)]
        self.kube.admin.put(objects.slice_(name, service, built, **{"namespace": self.namespace, **more}))

    def delete_slice(self, name: str) -> None:
        self.kube.admin.delete("EndpointSlice", name, self.namespace)

    def put_endpoints(self, *nodes: str) -> None:
        self.kube.admin.put(objects.endpoints(SERVICE, [(f"10.1.0.{i}", n) for i, n in enumerate(nodes, 1)],
                                              namespace=self.namespace))

    # --- what HAProxy has. A server that is out may be parked: its line is kept, in maintenance in the file and in HAProxy.
    # One that drains may have a live line, and drains in the running HAProxy alone.

    def all_ours(self, backend: str = BACKEND) -> dict[str, str]:
        """Our server lines in the file, the parked ones, too."""
        return {k: v for k, v in server_lines(self.dataplane.file(), backend).items() if " backup" not in f" {v} "}

    def ours(self, backend: str = BACKEND) -> dict[str, str]:
        """Those in rotation, as far as the file says."""
        return in_rotation(self.all_ours(backend))

    def parked(self, backend: str = BACKEND) -> set[str]:
        """Names of our lines that are `disabled`."""
        return parked(self.all_ours(backend))

    def addresses(self, backend: str = BACKEND) -> dict[str, str]:
        """Our servers in rotation in the file: name -> address:port"""
        return {name: rest.split()[0] for name, rest in self.ours(backend).items()}

    def runtime_states(self, backend: str = BACKEND) -> dict[str, str]:
        """Server -> "ready", "drain" or "maint", as HAProxy itself has it."""
        return {name: state for name, state in self.haproxy.states(backend).items() if name != "sorry"}

    def draining(self, backend: str = BACKEND) -> set[str]:
        """Those that drain in the running HAProxy."""
        return {name for name, state in self.runtime_states(backend).items() if state == "drain"}

    def resting(self, backend: str = BACKEND) -> set[str]:
        """Those that get no new connections, by whichever way: they drain or are in maintenance."""
        return {name for name, state in self.runtime_states(backend).items() if state != "ready"}

    def running(self, backend: str = BACKEND) -> dict[str, str]:
        """Server -> address that HAProxy runs with at this moment, without those in maintenance."""
        rows = self.haproxy.servers(backend).items()
        return {name: f"{row['srv_addr']}:{row['srv_port']}" for name, row in rows
                if name != "sorry" and admin_state(int(row["srv_admin_state"])) != "maint"}

    def expect_servers(self, wanted: dict[str, str], timeout: float = 30.0, backend: str = BACKEND) -> None:
        """Until the file and the running HAProxy have exactly these in rotation: name -> address:port. One that drains is among
        them where its line is live (expect_resting), a parked one is not."""
        def file_has_them() -> bool:
            assert self.addresses(backend) == wanted, f"the file has {self.addresses(backend)}"
            return True

        def haproxy_has_them() -> bool:
            assert self.running(backend) == wanted, f"HAProxy runs with {self.running(backend)}"
            return True

        with self.telling():
            wait_until(file_has_them, timeout, f"servers {wanted} in {self.haproxy.config}")
            wait_until(haproxy_has_them, timeout, f"servers {wanted} in the running HAProxy")

    def expect_gone(self, *nodes: str, timeout: float = 30.0, backend: str = BACKEND) -> None:
        """Until the file has no line for these, not even a parked one."""
        with self.telling():
            wait_until(lambda: not set(nodes) & set(self.all_ours(backend)), timeout, f"no line of {nodes} in the file")

    def expect_resting(self, *nodes: str, timeout: float = 30.0, backend: str = BACKEND) -> None:
        """Until these are kept, and get no new connections; whether others rest is not asked."""
        def rest() -> bool:
            kept, resting = set(self.all_ours(backend)), self.resting(backend)
            assert set(nodes) <= kept & resting, f"the file has {sorted(kept)}, HAProxy rests {sorted(resting)}"
            return True

        with self.telling():
            wait_until(rest, timeout, f"{nodes} resting in {self.haproxy.config} and HAProxy")

    def expect_one_truth(self, timeout: float = 30.0, backend: str = BACKEND) -> None:
        """Until the file says what runs: the same servers at the same addresses, in maintenance here as there. On this machine one that
        the file has no more is in maintenance until nobody uses it."""
        def same() -> bool:
            lines = {name: (line.split()[0], "maint" if is_parked(line) else "in rotation")
                     for name, line in self.all_ours(backend).items()}
            rows = {name: (f"{row['srv_addr']}:{row['srv_port']}", admin_state(int(row["srv_admin_state"])))
                    for name, row in self.haproxy.servers(backend).items() if name != "sorry"}
            runs = {name: (at, "maint" if state == "maint" else "in rotation") for name, (at, state) in rows.items()
                    if name in lines or state != "maint" or not self.combination.is_local}
            assert lines == runs, f"the file has {lines}, HAProxy {runs}"
            return True

        with self.telling():
            wait_until(same, timeout, "the file to say what runs")

    def expect(self, *nodes: str, timeout: float = 30.0, backend: str = BACKEND, port: int = 0, mark: str = "",
               **addresses: str) -> None:
        """Until the file, the running HAProxy and the traffic all have exactly these nodes. addresses: node_a="127..." for one
        that moved; port, mark: of open_port."""
        moved = {k.replace("_", "-"): v for k, v in addresses.items()}
        wanted = {n: moved.get(n, NODES[n]) for n in nodes}
        self.expect_servers({n: f"{a}:{port or self.node_port}" for n, a in wanted.items()}, timeout, backend)
        self.expect_traffic(*(self.label_of(n, a) + mark for n, a in wanted.items()), timeout=timeout, backend=backend)

    def expect_traffic(self, *labels: str, timeout: float = 30.0, backend: str = BACKEND) -> None:
        """Until new connections reach these and nobody else."""
        with self.telling():
            wait_traffic(self.frontends[backend], labels, timeout)

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        try:
            yield
        except AssertionError as e:
            raise AssertionError(f"{e}\nthe daemon's log ends with:\n{self.daemon.tail()}") from e

    @staticmethod
    def label_of(node: str, address: str) -> str:
        return next((label for label, at in NODES.items() if at == address), node)

    def who_answers(self) -> str:
        return ask(self.haproxy.port)

    def version(self) -> int:
        """Goes up by one with every write of any writer: a transaction, or a fast one."""
        return self.dataplane.version()

    def written(self) -> Written:
        """So far; two of them are compared: world.written() - before."""
        return written(self.dataplane)

    def removes_at_runtime(self) -> bool:
        """By HAProxy's sockets, or a Data Plane API from 3.2 on."""
        release = str(getattr(self.dataplane, "release", "") or getattr(self.dataplane, "play", ""))
        return self.combination.is_local or tuple(map(int, release.split(".")[:2])) >= (3, 2)

    def structural(self, changes: int = 1, fast: int = 0) -> Written:
        """What so many changes that add or remove servers are, besides fast ones: a Data Plane API needs a transaction for each, though from
        3.2 on the file is written before; beside its HAProxy the daemon sends commands, and they are fast."""
        return Written(fast=changes + fast) if self.combination.is_local else Written(transactions=changes, fast=fast)

    def await_structural(self, before: Written, changes: int = 1, fast: int = 0) -> None:
        """So much was written since, and no more: a new server may serve before its transaction."""
        want = self.structural(changes, fast)
        wait_until(lambda: (self.written() - before).transactions >= want.transactions, 10, f"{want}: {self.written() - before}")
        assert self.written() - before == want

    def await_reads(self, times: int = 3) -> None:
        """Until the daemon has read from HAProxy what it compares so often more, whatever came of it."""
        name, of, each = "http_requests_total", {"method": "GET"}, 6
        if self.combination.is_local:
            name, of, each = "local_requests_total", {"request": "read"}, 1
        of["target"] = self.dataplane.url
        self.daemon.wait_metric(name, self.daemon.metrics().sum(name, **of) + each * (times + 1), timeout=60, **of)

    def others_transactions(self) -> list[dict[str, Any]]:
        """And ours, as long as they are open."""
        return [] if self.combination.is_local else list(self.dataplane.get("/transactions").json() or [])

    @contextlib.contextmanager
    def no_reload(self) -> Iterator[None]:
        """What happens herein needs none."""
        worker, before = self.haproxy.worker(), self.written()
        yield
        done = self.written() - before
        assert done.transactions == 0, f"{done.transactions} transactions:\n{self.daemon.tail()}"
        assert self.haproxy.worker() == worker, f"HAProxy was reloaded:\n{self.daemon.tail()}"

    def in_step(self, timeout: float = 20.0, backends: int = 1) -> None:
        """Until the daemon itself says that all is well: ready (which a pending reload does not hold up) and loaded."""
        self.daemon.wait_ready(timeout)
        self.daemon.wait_metric("in_sync", backends, timeout)

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

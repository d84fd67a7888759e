"""Several clusters, each with a kube-apiserver and a daemon of its own, behind one backend of one HAProxy. Their nodes have the same
names."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from tests.harness import objects
from tests.harness.daemon import Daemon, program
from tests.harness.load import Load
from tests.harness.load_records import Traffic
from tests.harness.nodes import Nodes
from tests.harness.process import wait_until
from tests.harness.realkube import RealKube

from .rights import Rights
from .world import BACKEND, SERVICE, World, free_node_port

NODES = ("node-1", "node-2", "node-3")
FORMAT = "{cluster}_{node}"
RATE = 100.0


class Cluster:
    """Made by Clusters; its nodes listen from the start, and have no pods yet."""

    def __init__(self, world: World, name: str, kube: RealKube, network: int):
        self.world, self.name, self.kube = world, name, kube
        self.addresses = {node: f"127.0.{network}.{i}" for i, node in enumerate(NODES, 1)}
        self.port = free_node_port(kube, self.addresses.values())
        self.nodes = Nodes({f"{name}.{node}": address for node, address in self.addresses.items()}, self.port,
                           world.home / f"nodes-{name}")
        self._daemon: Daemon | None = None
        self._changes = 0
        kube.admin.delete_all("Node")
        kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
        self.rights = Rights(kube, world.namespace)
        for node, address in self.addresses.items():
            kube.admin.put(objects.node(node, address))
        kube.admin.put(objects.service(SERVICE, namespace=world.namespace, node_ports={"https": (443, self.port)}))

    def close(self) -> None:
        try:
            if self._daemon is not None:
                self._daemon.close()
        finally:
            if self._daemon is not None:
                self._daemon.kill()
            if self.kube.process is not None:
                self.kube.admin.delete_all("Service", self.world.namespace)

    # --- its daemon

    @property
    def daemon(self) -> Daemon:
        assert self._daemon is not None, f"the daemon of cluster {self.name} was not started"
        return self._daemon

    def start(self, **settings: str) -> Daemon:
        """settings: "" takes one away."""
        own = {"CLUSTER_NAME": self.name, "SERVER_NAME_FORMAT": FORMAT,
               "KUBECONFIG": str(self.kube.kubeconfig(self.rights.token)), **settings}
        self._daemon = Daemon(self.world.home / f"daemon-{self.name}", self.world.settings(**own)).start()
        return self._daemon

    def release(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """By the settings of its daemon, or by env."""
        ran = subprocess.run([program(), "release", *words], env=env or self.daemon.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=90, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def in_sync(self) -> None:
        self.daemon.wait_ready(60)
        self.daemon.wait_metric("in_sync", 1, 60, cluster=self.name)

    # --- what its API server says

    def pods(self, *nodes: str) -> None:
        """One ready pod, another one than before, on each of these."""
        self._changes += 1
        built = [objects.endpoint(f"10.{self._changes % 250}.0.{i}", node) for i, node in enumerate(nodes, 1)]
        self.kube.admin.put(objects.slice_(f"{SERVICE}-1", SERVICE, built, namespace=self.world.namespace))

    # --- what HAProxy has of it

    def names(self, *nodes: str) -> set[str]:
        return {f"{self.name}_{node}" for node in nodes}

    def lines(self) -> dict[str, str]:
        """Its lines in the file, parked ones among them."""
        return {name: line for name, line in self.world.all_ours().items() if name.startswith(f"{self.name}_")}

    def rotation(self) -> set[str]:
        """Those that take new connections, in the file and in HAProxy."""
        running = {name for name, state in self.world.runtime_states().items() if state == "ready"}
        return set(self.world.ours()) & running & set(self.lines())

    def expect(self, *nodes: str) -> None:
        """Until exactly these are in rotation, at its addresses."""
        def has_them() -> bool:
            have = self.rotation()
            assert have == self.names(*nodes), f"cluster {self.name} has {have} in rotation"
            assert {line.split()[0] for name, line in self.lines().items() if name in have} == \
                {f"{self.addresses[node]}:{self.port}" for node in nodes}
            return True

        wait_until(has_them, 60, f"{nodes} of cluster {self.name} in rotation; its daemon's log ends with:\n{self.daemon.tail()}")

    # --- its traffic

    def answers(self, *nodes: str) -> None:
        """Until new connections reach each of these."""
        asked = {node: self.nodes.asked(f"{self.name}.{node}") for node in nodes}
        wait_until(lambda: all(self.nodes.asked(f"{self.name}.{node}") > count for node, count in asked.items()), 30,
                   f"connections that reach {nodes} of cluster {self.name}")


class Clusters:
    def __init__(self, world: World, kubes: Sequence[RealKube]):
        self.world = world
        self.ends = contextlib.ExitStack()
        self.deaths: list[tuple[float, float]] = []
        self.list: list[Cluster] = []
        for i, (name, kube) in enumerate(zip("abc", kubes)):
            made = Cluster(world, name, kube, 40 + i)
            self.ends.callback(made.close)
            self.ends.enter_context(made.nodes)
            self.list.append(made)
        # What stood there before is at no address of these.
        line = "  server old 127.0.10.99:9 check weight 50\n"
        world.start_with((line, ""))

    def serve(self, *nodes: str, **settings: str) -> None:
        """Each has a pod on these, and all are in sync."""
        for cluster in self.list:
            cluster.pods(*nodes)
            cluster.start(**settings)
        for cluster in self.list:
            cluster.expect(*nodes)
            cluster.in_sync()

    def all_lines(self) -> dict[str, str]:
        return self.world.all_ours()

    def reverted(self, *of: Cluster) -> float:
        """How often a daemon of these (none: all) took what another wrote for another writer's doing."""
        return sum(cluster.daemon.metrics().sum("changes_reverted_total") for cluster in of or self.list)

    @contextlib.contextmanager
    def under_load(self) -> Iterator[Load]:
        """New connections all the time, none of which fails."""
        with Load(self.world.haproxy.port, self.world.home / "load", rate=RATE) as load:
            yield load
            self.no_failure(load.stop())

    def no_failure(self, traffic: Traffic) -> None:
        failed = [c for c in traffic.failed if not any(c.start < end and begin < c.end for begin, end in self.deaths)]
        assert len(traffic.connections) > RATE, traffic.describe()
        assert not failed, traffic.describe()


def up(world: World) -> set[str]:
    """Servers that HAProxy's checks say are UP and that take new connections."""
    states = world.runtime_states()
    return {name for name, row in world.haproxy.servers(BACKEND).items()
            if row["srv_op_state"] == "2" and states.get(name) == "ready"}

"""Six nodes under load: new connections without end, visits that stay, one to each node among them, and pods that come and go."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence

from tests.harness import objects
from tests.harness.backends import Visit
from tests.harness.load import Load
from tests.harness.load_records import Traffic
from tests.harness.nodes import Nodes
from tests.harness.process import wait_until

from .world import BACKEND, SERVICE, World, free_node_port

NODES = {f"node-{i}": f"127.0.16.{i}" for i in range(1, 7)}
RATE = 100.0
VISITS = 12


@dataclasses.dataclass(frozen=True)
class Rest:
    """Between these two times nobody new may have reached the node: HAProxy has been seen to keep it out of rotation."""
    node: str
    begin: float
    end: float


class Churn:
    """Made by `churn`, with the daemon in sync and the load on."""

    def __init__(self, world: World, nodes: Nodes, load: Load, addresses: Mapping[str, str]):
        self.world, self.nodes, self.load, self.addresses = world, nodes, load, addresses
        self.stays: dict[str, Visit] = {}
        """A visit to each node, besides those of the load."""
        self.rests: list[Rest] = []
        self.took: list[float] = []
        """Seconds from Kubernetes' answer to a change until HAProxy was seen to keep a node out of rotation."""
        self._deaths: list[tuple[float, float]] = []
        self._pods: dict[str, tuple[int, Mapping[str, bool]]] = {}
        self._resting: dict[str, float] = {}

    # --- pods

    def pods(self, nodes: Sequence[str], conditions: Mapping[str, bool] | None = objects.READY) -> None:
        """Each of these nodes has a pod of these conditions, or none. A ready one is another than before."""
        for node in nodes:
            number, _ = self._pods.get(node, (list(self.addresses).index(node) + 1, None))
            if conditions is None:
                del self._pods[node]
            else:
                self._pods[node] = (number + (100 if conditions == objects.READY and node in self._pods else 0), conditions)
        built = [objects.endpoint(f"10.1.0.{number}", node, known) for node, (number, known) in self._pods.items()]
        self.world.kube.admin.put(objects.slice_(f"{SERVICE}-1", SERVICE, built, namespace=self.world.namespace))

    def put_nodes(self, *names: str) -> None:
        for name in names:
            self.world.put_node(name, self.addresses[name])

    # --- what HAProxy makes of it

    def wait_state(self, state: str, *nodes: str) -> None:
        def all_are() -> bool:
            have = self.world.runtime_states()
            assert all(have.get(node) == state for node in nodes), f"HAProxy has {have}"
            return True

        with self.world.telling():
            wait_until(all_are, 30, f"{', '.join(nodes)} in state {state}", interval=0.01)

    def leaves(self, node: str) -> None:
        """Its pod terminates and still serves: until HAProxy drains it."""
        self.pods([node], objects.TERMINATING)
        self._rests(node, "drain")

    def is_lost(self, node: str) -> None:
        """Its pod is not ready any more: until HAProxy has it in maintenance."""
        self.pods([node], objects.NOT_READY)
        self._rests(node, "maint")

    def _rests(self, node: str, state: str) -> None:
        begin = time.monotonic()
        self.wait_state(state, node)
        self._resting[node] = time.monotonic()
        self.took.append(self._resting[node] - begin)

    def returns(self, node: str) -> None:
        """A new pod on it is ready: until HAProxy has it in rotation and connections reach it."""
        self.nodes.listen(node)
        if node in self._resting:
            self.rests.append(Rest(node, self._resting.pop(node), time.monotonic()))
        asked = self.nodes.asked(node)
        self.pods([node])
        self.wait_state("ready", node)
        wait_until(lambda: self.nodes.asked(node) > asked, 20, f"connections that reach {node}")

    def dies(self, node: str) -> None:
        """Its server, hard: a client that is being served at this moment cannot be helped."""
        begin = time.monotonic()
        self.nodes.kill(node)
        self._deaths.append((begin, time.monotonic()))

    # --- traffic

    def go_on(self, connections: int = 100) -> None:
        """Until so many more have come and gone."""
        enough = len(self.load.so_far().connections) + connections
        wait_until(lambda: len(self.load.so_far().connections) >= enough, 60, f"{connections} more connections", interval=0.2)

    def stay(self, *nodes: str) -> None:
        """A visit to each of these."""
        def all_are_visited() -> bool:
            visit = Visit(self.world.haproxy.port)
            if visit.label in self.stays or visit.label not in nodes:
                visit.close()
            else:
                self.stays[visit.label] = visit
            return self.stays.keys() >= set(nodes)

        wait_until(all_are_visited, 30, f"a visit to each of {', '.join(nodes)}")

    def broken(self) -> list[str]:
        """Nodes whose visit is not answered any more."""
        return [node for node, visit in self.stays.items() if not visit.talk()]

    def end(self) -> Traffic:
        """All that the load saw; checks what is true of every churn, and prints the figures."""
        for node, begin in self._resting.items():
            self.rests.append(Rest(node, begin, time.monotonic()))
        self._resting.clear()
        traffic = self.load.stop()
        print(f"{self.world.combination}: {traffic.describe()}")
        if self.took:
            print(f"out of rotation after {statistics.median(self.took) * 1000:.1f} ms (median), "
                  f"{max(self.took) * 1000:.1f} ms (the longest), as seen from the test")
        for rest in self.rests:
            late = [c for c in traffic.connections if c.node == rest.node and rest.begin < c.start < rest.end]
            assert not late, f"{len(late)} new connections to {rest.node} while it was out of rotation, {late[0]}"
        failed = [c for c in traffic.failed if not any(c.start < end and begin < c.end for begin, end in self._deaths)]
        assert not failed, f"{traffic.describe()}\nnot among those that died with a node: {failed[:5]}"
        return traffic


@contextlib.contextmanager
def churn(world: World, *begin_with: str, visits: int = VISITS, more: Mapping[str, str] | None = None,
          **settings: str) -> Iterator[Churn]:
    """These nodes (none: all) have a pod and a visit each; then the load is on. more: further ones that may come."""
    first = begin_with or tuple(NODES)
    all_nodes = {**NODES, **(more or {})}
    port = free_node_port(world.kube, all_nodes.values())
    world.put_service(node_ports={"https": (443, port)})
    with contextlib.ExitStack() as ends:
        nodes = ends.enter_context(Nodes(all_nodes, port, world.home / "nodes"))
        load = Load(world.haproxy.port, world.home / "load", rate=RATE, visits=visits)
        made = Churn(world, nodes, load, all_nodes)
        made.put_nodes(*first)
        made.pods(first)
        world.start_daemon(**{"DRAIN_TIMEOUT": "1h", **settings})
        made.wait_state("ready", *first)
        world.in_step()
        world.expect_one_truth()
        # After the first reload, so that they are on the worker that is to go on.
        ends.callback(lambda: [visit.close() for visit in made.stays.values()])
        made.stay(*first)
        ends.enter_context(load)
        made.go_on()
        yield made


def states(world: World) -> dict[str, str]:
    return {name: state for name, state in world.haproxy.states(BACKEND).items() if name in NODES}

"""A random but seeded stream of cluster changes, and which servers HAProxy must have in the end, worked out without the daemon.

    stream = Stream(seed, cluster, namespace="ingress", service="web", node_ports=(30443, 30444))
    stream.begin()                 # the first nodes, pods and the Service
    print(stream.step())           # one change; says what it was
    assert in_haproxy == stream.desired()

The choices depend on the seed and on nothing else: neither on time nor on whether the cluster could be written to. What could not be
written is kept in order and written first the next time, so that the API only ever shows states that the stream went through.
"""

from __future__ import annotations

import collections
import dataclasses
import http.client
import pathlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tests.harness import objects
from tests.harness.realkube import ApiError, Client

Object = dict[str, Any]

TAINT = ("ToBeDeletedByClusterAutoscaler", "NoSchedule")
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
PORT_NAME = "https"
# Serves no longer, but is still listed.
GONE_SOON = {"ready": False, "serving": False, "terminating": True}


class Cluster(Protocol):
    """What is written to: a KubeDouble as it is, a real API server through Admin."""

    def put(self, *objects: Object) -> object: ...
    def delete(self, *objects: Object) -> object: ...


class _Quick(Client):
    """Does not wait for an API server that hangs."""

    def _send(self, *request: Any) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=2)
        return super()._send(*request)


class Admin:
    """The client of a real API server as a Cluster; one that hangs is a failure after some seconds."""

    def __init__(self, client: Client, ca: pathlib.Path):
        self.client = _Quick(client.port, ca, client.token)

    def put(self, *trees: Object) -> None:
        for tree in trees:
            self.client.put(tree)

    def delete(self, *trees: Object) -> None:
        for tree in trees:
            self.client.delete(tree["kind"], tree["metadata"]["name"], tree["metadata"].get("namespace"))


@dataclasses.dataclass
class Node:
    name: str
    address: str
    excluded: bool = False
    tainted: bool = False
    ready: bool = True
    cordoned: bool = False

    @property
    def eligible(self) -> bool:
        return not self.excluded and not self.tainted

    def tree(self) -> Object:
        return objects.node(self.name, self.address, labels=EXCLUDED if self.excluded else None,
                            taints=[TAINT] if self.tainted else (), ready=self.ready, unschedulable=self.cordoned)


@dataclasses.dataclass
class Pod:
    node: str
    ip: str
    slice: str
    conditions: Mapping[str, bool]

    @property
    def ready(self) -> bool:
        return self.conditions["ready"]

    @property
    def last_resort(self) -> bool:
        """Usable where nobody is ready."""
        return self.conditions["serving"] and self.conditions["terminating"]


class Stream:
    """floor: no step leaves fewer usable nodes than this (0 allows none at all; see settle()). names, addresses: what a node
    may be called and have, by its number from 1 on and by that and how often it was renumbered; the defaults are loopback."""

    def __init__(self, seed: int | str, cluster: Cluster, *, namespace: str = objects.NAMESPACE, service: str = objects.SERVICE,
                 node_ports: Sequence[int] = (30443,), nodes: int = 6, most_nodes: int = 10, floor: int = 1,
                 names: Callable[[int], str] = lambda i: f"n{i}",
                 addresses: Callable[[int, int], str] = lambda i, moved: f"127.{40 + moved}.0.{i}"):
        self.random = random.Random(seed)
        self.cluster, self.namespace, self.service = cluster, namespace, service
        self.node_ports, self.first_nodes, self.most_nodes, self.floor = list(node_ports), nodes, most_nodes, floor
        self._name, self._address = names, addresses
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.node_port = self.node_ports[0]
        self.policy = "Cluster"
        self.more_ports = False
        self.steps = 0
        self.held = False
        """True: nothing is written for now."""
        self.trouble = ""
        """Why the last write that could not be made could not."""
        self._moved = 0
        self._ips = 0
        self._slices = 0
        self._pending: collections.deque[tuple[str, Object]] = collections.deque()

    # --- what must come of it

    def desired(self) -> dict[str, str]:
        """Server -> address:port that takes new connections once all is in sync and every drain is over. Empty: no endpoint is
        usable, and what was there last stays."""
        eligible = {name for name, node in self.nodes.items() if node.eligible}
        ready = {pod.node for pod in self.pods.values() if pod.ready and pod.node in eligible}
        usable = ready or {pod.node for pod in self.pods.values() if pod.last_resort and pod.node in eligible}
        return {name: f"{self.nodes[name].address}:{self.node_port}" for name in sorted(usable)}

    def announced(self) -> set[str]:
        """Nodes of which the cluster says that they go, or their pods do: their loss is none that has to be held."""
        return ({name for name, node in self.nodes.items() if not node.eligible}
                | {pod.node for pod in self.pods.values() if pod.conditions["terminating"]})

    # --- the stream

    def begin(self) -> None:
        self._write("put", self._service_tree())
        for i in range(1, self.first_nodes + 1):
            self._put_node(Node(self._name(i), self._address(i, 0)))
        self._slices = 1
        for i, name in enumerate(list(self.nodes), 1):
            if i <= max(2, self.first_nodes // 2):
                self._new_pod(name)
        self._write_slices(*{pod.slice for pod in self.pods.values()})
        self.flush()

    def step(self, prefer: str = "") -> str:
        """One change, written or kept for later; what it was. prefer: a kind of step (_STEPS), taken if it can be now."""
        self.steps += 1
        names = [name for name, weight in _STEPS.items() for _ in range(weight)]
        while True:
            before = self._snapshot()
            chosen = prefer or self.random.choice(names)
            prefer = ""
            said = getattr(self, f"_do_{chosen}")()
            if said and len(self.desired()) >= self.floor:
                break
            self._back_to(before)
        self.flush()
        return said

    def settle(self) -> str:
        """At least one ready pod on an eligible node: so that there is a desired state."""
        if any(pod.ready and self._eligible(pod.node) for pod in self.pods.values()):
            return ""
        eligible = [name for name, node in self.nodes.items() if node.eligible]
        if not eligible:
            name = [*self._free_names(), *sorted(self.nodes)][0]
            self._put_node(Node(name, self._address(self._number(name), self._moved)))
            eligible = [name]
        pod = self._new_pod(eligible[0])
        self._write_slices(pod.slice)
        self.flush()
        return f"a ready pod on {eligible[0]}, so that there is one"

    def flush(self) -> bool:
        """Writes what is not written yet; whether all of it is."""
        while self._pending and not self.held:
            verb, tree = self._pending[0]
            try:
                (self.cluster.put if verb == "put" else self.cluster.delete)(tree)
            except (OSError, AssertionError, ApiError, http.client.HTTPException) as e:
                # An answer that was lost: it had been deleted all the same.
                if verb == "put" or ": 404 " not in str(e):
                    self.trouble = f"{verb} {tree['kind']} {tree['metadata']['name']}: {e}"
                    return False
            self._pending.popleft()
        return not self._pending

    def trees(self) -> list[Object]:
        """Every object as the stream has it, written or not."""
        slices = sorted({pod.slice for pod in self.pods.values()})
        return [self._service_tree(), *(node.tree() for node in self.nodes.values()), *map(self._slice_tree, slices)]

    def write_again(self) -> None:
        """Everything as it is now: after writes whose answers were lost, which may have been carried out late."""
        for tree in self.trees():
            self._write("put", tree)

    @property
    def unwritten(self) -> int:
        return len(self._pending)

    # --- the steps; each returns what it did, or "" where it cannot be done now

    def _do_ready(self) -> str:
        pod = self._pick(lambda p: not p.ready and not p.conditions["terminating"])
        return pod and self._set(pod, objects.READY, "is ready") or ""

    def _do_unready(self) -> str:
        pod = self._pick(lambda p: p.ready)
        return pod and self._set(pod, objects.NOT_READY, "is not ready") or ""

    def _do_terminate(self) -> str:
        pod = self._pick(lambda p: p.ready)
        return pod and self._set(pod, objects.TERMINATING, "terminates and still serves") or ""

    def _do_wind_down(self) -> str:
        pod = self._pick(lambda p: p.last_resort)
        return pod and self._set(pod, GONE_SOON, "serves no longer") or ""

    def _do_pod_gone(self) -> str:
        pod = self._pick(lambda p: p.conditions["terminating"]) or self._pick(lambda p: True)
        if not pod:
            return ""
        del self.pods[pod.ip]
        self._write_slices(pod.slice)
        return f"pod {pod.ip} on {pod.node} is gone"

    def _do_pod_new(self) -> str:
        if len(self.pods) >= 2 * self.most_nodes or not self.nodes:
            return ""
        pod = self._new_pod(self.random.choice(sorted(self.nodes)))
        if self.random.random() < 0.3:
            pod.conditions = objects.NOT_READY
        self._write_slices(pod.slice)
        return f"pod {pod.ip} on {pod.node} appears, {'ready' if pod.ready else 'not ready'}"

    def _do_replace(self) -> str:
        """As a rolling update: one terminates and another on some node is ready, in one write."""
        old = self._pick(lambda p: p.ready)
        if not old:
            return ""
        new = self._new_pod(self.random.choice(sorted(self.nodes)), old.slice)
        old.conditions = objects.TERMINATING
        self._write_slices(old.slice)
        return f"pod {old.ip} on {old.node} terminates, pod {new.ip} on {new.node} is ready"

    def _do_node_new(self) -> str:
        free = self._free_names()
        if not free:
            return ""
        name = self.random.choice(free)
        self._put_node(Node(name, self._address(self._number(name), self._moved)))
        if self.random.random() < 0.7:
            self._write_slices(self._new_pod(name).slice)
        return f"node {name} is new, at {self.nodes[name].address}"

    def _do_node_gone(self) -> str:
        if len(self.nodes) < 3:
            return ""
        name = self.random.choice(sorted(self.nodes))
        node = self.nodes.pop(name)
        said = f"node {name} is gone"
        if self.random.random() < 0.5:
            touched = {pod.slice for pod in self.pods.values() if pod.node == name}
            self.pods = {ip: pod for ip, pod in self.pods.items() if pod.node != name}
            self._write_slices(*touched)
            said += " and its pods before it"
        self._write("delete", node.tree())
        return said

    def _do_node_renumbered(self) -> str:
        name = self.random.choice(sorted(self.nodes))
        self._moved += 1
        self._put_node(dataclasses.replace(self.nodes[name], address=self._address(self._number(name), self._moved)))
        return f"node {name} is at {self.nodes[name].address} now"

    def _do_tainted(self) -> str:
        return self._flip("tainted", "is tainted to be deleted", "is not tainted any more")

    def _do_excluded(self) -> str:
        return self._flip("excluded", "is excluded by its label", "is not excluded any more")

    def _do_heartbeat(self) -> str:
        return self._flip("ready", "is Ready", "is NotReady, which changes nothing")

    def _do_cordon(self) -> str:
        return self._flip("cordoned", "is cordoned, which changes nothing", "is not cordoned any more")

    def _do_split(self) -> str:
        """Pods move to another slice; meanwhile some are in both, as with the real controller."""
        slices = sorted({pod.slice for pod in self.pods.values()})
        if not slices:
            return ""
        source = self.random.choice(slices)
        moving = [pod for pod in self.pods.values() if pod.slice == source]
        if len(slices) > 1 and self.random.random() < 0.5:
            target = self.random.choice([name for name in slices if name != source])
        else:
            self._slices += 1
            target = f"{self.service}-{self._slices}"
            moving = self.random.sample(moving, max(1, len(moving) // 2))
        for pod in moving:
            pod.slice = target
        # The new place first: no pod is missing from both.
        self._write_slices(target, source)
        return f"{len(moving)} pods move from slice {source} to {target}"

    def _do_node_port(self) -> str:
        others = [port for port in self.node_ports if port != self.node_port]
        if not others:
            return ""
        self.node_port = self.random.choice(others)
        self._write("put", self._service_tree())
        return f"the Service's nodePort is {self.node_port} now"

    def _do_policy(self) -> str:
        self.policy = "Local" if self.policy == "Cluster" else "Cluster"
        self._write("put", self._service_tree())
        return f"the Service's externalTrafficPolicy is {self.policy} now"

    def _do_more_ports(self) -> str:
        self.more_ports = not self.more_ports
        self._write("put", self._service_tree())
        return f"the Service has {'one more port' if self.more_ports else 'its one port again'}"

    # --- how they do it

    def _flip(self, field: str, on: str, off: str) -> str:
        node = self.nodes[self.random.choice(sorted(self.nodes))]
        value = not getattr(node, field)
        self._put_node(dataclasses.replace(node, **{field: value}))
        return f"node {node.name} {on if value else off}"

    def _pick(self, wanted: Callable[[Pod], bool]) -> Pod | None:
        found = [pod for _, pod in sorted(self.pods.items()) if wanted(pod)]
        return self.random.choice(found) if found else None

    def _set(self, pod: Pod, conditions: Mapping[str, bool], said: str) -> str:
        pod.conditions = conditions
        self._write_slices(pod.slice)
        return f"pod {pod.ip} on {pod.node} {said}"

    def _new_pod(self, node: str, slice_: str = "") -> Pod:
        self._ips += 1
        slices = sorted({pod.slice for pod in self.pods.values()}) or [f"{self.service}-{self._slices}"]
        pod = Pod(node, f"10.244.{self._ips // 250}.{self._ips % 250 + 1}", slice_ or self.random.choice(slices), objects.READY)
        self.pods[pod.ip] = pod
        return pod

    def _eligible(self, name: str) -> bool:
        return name in self.nodes and self.nodes[name].eligible

    def _free_names(self) -> list[str]:
        return [name for name in map(self._name, range(1, self.most_nodes + 1)) if name not in self.nodes]

    def _number(self, name: str) -> int:
        return next(i for i in range(1, self.most_nodes + 1) if self._name(i) == name)

    def _snapshot(self) -> tuple[Any, ...]:
        return ({name: dataclasses.replace(node) for name, node in self.nodes.items()},
                {ip: dataclasses.replace(pod) for ip, pod in self.pods.items()},
                self.node_port, self.policy, self.more_ports, len(self._pending))

    def _back_to(self, before: tuple[Any, ...]) -> None:
        self.nodes, self.pods, self.node_port, self.policy, self.more_ports, pending = before
        while len(self._pending) > pending:
            self._pending.pop()

    def _put_node(self, node: Node) -> None:
        self.nodes[node.name] = node
        self._write("put", node.tree())

    def _write_slices(self, *names: str) -> None:
        for name in names:
            tree = self._slice_tree(name)
            # Of the empty ones some stay, as they may.
            self._write("put" if tree["endpoints"] or name.endswith("-1") else "delete", tree)

    def _slice_tree(self, name: str) -> Object:
        pods = [objects.endpoint(pod.ip, pod.node, pod.conditions) for _, pod in sorted(self.pods.items()) if pod.slice == name]
        return objects.slice_(name, self.service, pods, namespace=self.namespace, ports=[objects.port(8443, PORT_NAME)])

    def _service_tree(self) -> Object:
        ports = {PORT_NAME: (443, self.node_port), **({"metrics": (9100, 0)} if self.more_ports else {})}
        return objects.service(self.service, namespace=self.namespace, node_ports=ports, policy=self.policy)

    def _write(self, verb: str, tree: Object) -> None:
        self._pending.append((verb, tree))


# How often each is drawn.
_STEPS = {"ready": 6, "unready": 5, "terminate": 4, "wind_down": 2, "pod_gone": 3, "pod_new": 5, "replace": 4, "node_new": 3,
          "node_gone": 2, "node_renumbered": 2, "tainted": 2, "excluded": 2, "heartbeat": 2, "cordon": 1, "split": 3,
          "node_port": 1, "policy": 1, "more_ports": 1}

"""What happens in the demo, act by act, and how long each took."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.harness.process import wait_until

from .balancer import ADDRESSES, FIRST, RELOAD_DELAY_S
from .screen import Screen
from .show import concluded
from .stage import Stage
from .traffic import Traffic, counts

SHOW_S = 1.5
"""How long traffic is counted for a distribution."""
SETTLED_ANSWERS = 40
"""So many answers in a row without a node: it is out of the rotation."""


class By(enum.Enum):
    """How a change reaches HAProxy."""
    NOTHING = "-"
    COMMAND = "command"
    """A runtime command: the running HAProxy alone."""
    UPDATE = "update"
    """A runtime update: haproxy.cfg and the running HAProxy, without a reload."""
    TRANSACTION = "transaction"
    RELOAD = "reload"
    """Of haproxy.cfg, which the daemon wrote itself."""


@dataclass
class Outcome:
    what: str
    by: By
    done_ms: float | None = None
    traffic_ms: float | None = None
    writes: int = 0
    reloads: int = 0
    requests: int = 0
    failed: int = 0

    def row(self) -> list[str]:
        return [self.what, self.by.value, *map(_shown, (self.done_ms, self.traffic_ms, self.writes, self.reloads, self.requests,
                                                        self.failed))]

    @property
    def surprises(self) -> list[str]:
        """Where it went another way than expected."""
        found = []
        if self.by in (By.NOTHING, By.COMMAND) and self.writes:
            found.append(f"haproxy.cfg was written {self.writes} times")
        if self.by not in (By.TRANSACTION, By.RELOAD) and self.reloads:
            found.append(f"HAProxy was reloaded {self.reloads} times")
        return found


HEAD = ["what happened", "by", "HAProxy ms", "traffic ms", "writes", "reloads", "requests", "failed"]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


class Story:
    def __init__(self, stage: Stage, screen: Screen):
        self.stage, self.screen = stage, screen
        self.outcomes: list[Outcome] = []
        self.traffic = Traffic(stage.haproxy.port)
        self._ready = dict.fromkeys(FIRST, True)
        """Each node with a pod, and whether that is ready or on its way out."""
        self._parked: set[str] = set()
        """Nodes without one that HAProxy keeps in maintenance."""

    def first_sync(self) -> None:
        def change() -> str:
            self.stage.daemon.start()
            return "started: the daemon, beside the manifests of " + ", ".join(FIRST)
        self.act("first sync: three nodes", By.RELOAD if self.stage.is_local else By.TRANSACTION, change,
                 lambda at: wait_until(lambda: self._first_of(FIRST, at), 15, "traffic to reach a node"))

    def act(self, what: str, by: By, change: Callable[[], str], moved: Callable[[float], float]) -> None:
        """Changes a manifest, waits until HAProxy has what follows from it, and until the traffic has moved."""
        stage, outcome = self.stage, Outcome(what, by)
        version, reloads, started = stage.file_version(), stage.reloads(), time.monotonic()
        self.screen.say(change())
        if by is By.COMMAND:
            stage.wait_draining(self._leaving())
            outcome.done_ms = _since(started)
        elif by is not By.NOTHING:
            stage.wait_file(self._serving(), self._parked)
            outcome.done_ms = _since(started)
        at = moved(started)
        if by is not By.NOTHING:
            outcome.traffic_ms = (at - started) * 1000 if at > started else None
            stage.daemon.wait_metric("in_sync", 1)  # HAProxy runs it
        outcome.writes, outcome.reloads = stage.file_version() - version, stage.reloads() - reloads
        asked = self.traffic.since(started)
        outcome.requests, outcome.failed = len(asked), sum(not answer.node for answer in asked)
        self.outcomes.append(outcome)
        self._conclude(outcome)

    def _conclude(self, outcome: Outcome) -> None:
        meanwhile = f"{outcome.requests} requests meanwhile, {outcome.failed} failed"
        reloads = {0: "no reload", 1: "one reload"}.get(outcome.reloads, f"{outcome.reloads} reloads")
        moved = "no traffic to move" if outcome.traffic_ms is None else f"traffic moved after {outcome.traffic_ms:.0f} ms"
        if outcome.by is By.NOTHING:
            self.screen.good(f"no write, {reloads}; {meanwhile}")
        else:
            where = {By.COMMAND: "in HAProxy", By.UPDATE: "in haproxy.cfg and in HAProxy"}.get(outcome.by, "committed")
            self.screen.good(f"{where} after {outcome.done_ms:.0f} ms, {reloads}, {moved}; {meanwhile}")
        for surprise in outcome.surprises:
            self.screen.bad(f"but {surprise}")

    def node_drains(self, node: str) -> None:
        self._ready[node] = False
        self.act(f"{node} drains: pod leaves", By.COMMAND, self._write_endpoints, lambda at: self._last_of(node, at))
        self.screen.say(f"why? haproxy-k8s-sync explain {node} says:")
        self.screen.quote(self.stage.ask_daemon("explain", node))

    def pod_is_gone(self, node: str) -> None:
        del self._ready[node]
        self._parked.add(node)
        self.act(f"{node}'s pod gone: parked", By.UPDATE, self._write_endpoints, lambda at: self._last_of(node, at))

    def pod_moves(self, old: str, new: str) -> None:
        """To a node that HAProxy knows already."""
        del self._ready[old]
        self._ready[new] = True
        self._parked = self._parked - {new} | {old}
        self.act(f"pod moves, {old} to {new}", By.UPDATE, self._write_endpoints,
                 lambda at: wait_until(lambda: self._first_of((new,), at), 15, f"traffic to reach {new}"))

    def node_joins(self, node: str) -> None:
        """The machine comes before its pod."""
        seen = self._events()
        self.stage.add_backend(node)
        self.screen.say(f"added: {self.stage.manifests.node(node, ADDRESSES[node]).name}, no pod on it yet")
        self._wait_for_events(seen)
        self._ready[node] = True
        self.act(f"{node} is new: a ready pod", By.UPDATE if self.stage.is_local else By.TRANSACTION, self._write_endpoints,
                 lambda at: wait_until(lambda: self._first_of((node,), at), 15, f"traffic to reach {node}"))

    def heartbeat(self, node: str) -> None:
        seen = self._events()

        def change() -> str:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            return f"edited: {self.stage.manifests.node(node, ADDRESSES[node], now).name}, another lastHeartbeatTime"

        def moved(_: float) -> float:
            self._wait_for_events(seen)
            return self._quiet()
        self.act("a heartbeat: nothing to do", By.NOTHING, change, moved)

    def show_distribution(self) -> None:
        started = time.monotonic()
        time.sleep(SHOW_S)
        answers = self.traffic.since(started)
        self.screen.say(f"{len(answers)} requests through HAProxy in {SHOW_S:g} s were answered by:")
        self.screen.distribution(counts(answers), {name: ADDRESSES[name] for name in {*self._ready, *self._parked}})
        if set(counts(answers)) != self._serving():
            raise AssertionError(f"traffic reached {sorted(counts(answers))}, not {sorted(self._serving())}")

    def summary(self) -> bool:
        """The table; True when everything happened and nothing failed."""
        self.screen.heading("Summary")
        self.screen.table(HEAD, [outcome.row() for outcome in self.outcomes])
        self.screen.say("")
        self.screen.say("HAProxy ms: from the edit until the running HAProxy (runtime command), haproxy.cfg and it")
        if self.stage.is_local:
            self.screen.say("(runtime update) had the change. traffic ms: until requests followed. writes: of haproxy.cfg.")
        else:
            self.screen.say("(runtime update) or haproxy.cfg (transaction) had the change. traffic ms: until requests")
            self.screen.say(f"followed; after a transaction they wait for a reload, here up to {RELOAD_DELAY_S * 1000:.0f} ms (the Data Plane")
            self.screen.say("API's reload_delay; 5 s unless configured), but for servers that the API adds before (3.2 and newer).")
            self.screen.say("writes: of haproxy.cfg.")
        return concluded(self.screen, (self.traffic,), [f"{outcome.what}: {surprise}" for outcome in self.outcomes for surprise in outcome.surprises])

    def _write_endpoints(self) -> str:
        return f"edited: {self.stage.manifests.endpoints(self._ready).name}, pods on " + ", ".join(
            name if ready else f"{name} (terminating)" for name, ready in self._ready.items())

    def _serving(self) -> set[str]:
        return {name for name, ready in self._ready.items() if ready}

    def _leaving(self) -> set[str]:
        return {name for name, ready in self._ready.items() if not ready}

    def _last_of(self, node: str, since: float) -> float:
        """When the last answer of a node came, once enough others have come after it."""
        def settled() -> bool:
            recent = self.traffic.last(SETTLED_ANSWERS)
            return len(recent) == SETTLED_ANSWERS and node not in counts(recent)
        wait_until(settled, 15, f"the traffic to leave {node}")
        return max([answer.at for answer in self.traffic.since(since) if answer.node == node], default=since)

    def _first_of(self, nodes: tuple[str, ...], since: float) -> float | None:
        return next((answer.at for answer in self.traffic.since(since) if answer.node in nodes), None)

    def _events(self) -> int:
        """How many events the daemon's watches on nodes have got."""
        return sum(watch["events"] for watch in self.stage.kube.requests("nodes", "watch"))

    def _wait_for_events(self, seen: int) -> None:
        wait_until(lambda: self._events() > seen, 10, "the daemon to be sent the changed node")

    def _quiet(self) -> float:
        """Time enough for a commit and a reload, if there were one."""
        version, until = self.stage.file_version(), time.monotonic() + RELOAD_DELAY_S
        while time.monotonic() < until and self.stage.file_version() == version:
            time.sleep(0.02)
        return time.monotonic()


def _since(started: float) -> float:
    return (time.monotonic() - started) * 1000

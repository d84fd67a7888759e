"""What happens in the demo, act by act, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.harness.process import wait_until

from .screen import Screen
from .stage import ADDRESSES, FIRST, RELOAD_DELAY_S, Stage
from .traffic import Traffic, counts

SHOW_S = 1.5
"""How long traffic is counted for a distribution."""
SETTLED_ANSWERS = 40
"""So many answers in a row without a node: it is out of the rotation."""


@dataclass
class Outcome:
    what: str
    commit_ms: float | None = None
    traffic_ms: float | None = None
    transactions: int = 0
    reloads: int = 0
    requests: int = 0
    failed: int = 0

    def row(self) -> list[str]:
        return [self.what, *map(_shown, (self.commit_ms, self.traffic_ms, self.transactions, self.reloads, self.requests,
                                         self.failed))]


HEAD = ["what happened", "ms to commit", "ms to traffic", "commits", "reloads", "requests", "failed"]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


class Story:
    def __init__(self, stage: Stage, screen: Screen):
        self.stage, self.screen = stage, screen
        self.outcomes: list[Outcome] = []
        self.traffic = Traffic(stage.haproxy.port)
        self._ready = dict.fromkeys(FIRST, True)
        """Each node with a pod, and whether that is ready or on its way out."""

    def first_sync(self) -> None:
        def change() -> str:
            self.stage.daemon.start()
            return "started: the daemon, beside the manifests of " + ", ".join(FIRST)
        self.act("first sync: three nodes", True, change,
                 lambda at: wait_until(lambda: self._first_of(FIRST, at), 15, "traffic to reach a node"))

    def act(self, what: str, commit: bool, change: Callable[[], str], moved: Callable[[float], float]) -> None:
        """Changes a manifest, waits for the commit (False: there must be none) and until the traffic has moved."""
        stage, outcome = self.stage, Outcome(what)
        version, reloads, started = stage.file_version(), stage.reloads(), time.monotonic()
        self.screen.say(change())
        if commit:
            stage.wait_file({name for name, ready in self._ready.items() if ready},
                            {name for name, ready in self._ready.items() if not ready})
            outcome.commit_ms = _since(started)
        at = moved(started)
        if commit:
            outcome.traffic_ms = (at - started) * 1000 if at > started else None
            stage.daemon.wait_metric("in_sync", 1)  # HAProxy has loaded it
        outcome.transactions, outcome.reloads = stage.file_version() - version, stage.reloads() - reloads
        asked = self.traffic.since(started)
        outcome.requests, outcome.failed = len(asked), sum(not answer.node for answer in asked)
        self.outcomes.append(outcome)
        self._conclude(outcome)

    def _conclude(self, outcome: Outcome) -> None:
        if outcome.commit_ms is None and not outcome.transactions:
            self.screen.good(f"no transaction, no reload; {outcome.requests} requests meanwhile, {outcome.failed} failed")
        elif outcome.commit_ms is not None:
            moved = "no traffic to move" if outcome.traffic_ms is None else f"traffic moved after {outcome.traffic_ms:.0f} ms"
            self.screen.good(f"committed after {outcome.commit_ms:.0f} ms, {moved}; "
                             f"{outcome.requests} requests meanwhile, {outcome.failed} failed")

    def node_drains(self, node: str) -> None:
        self._ready[node] = False
        self.act(f"{node} drains: pod terminates", True, self._write_endpoints, lambda at: self._last_of(node, at))
        self.screen.say(f"why? haproxy-k8s-sync explain {node} says:")
        self.screen.quote(self.stage.ask_daemon("explain", node))

    def node_is_gone(self, node: str) -> None:
        """The machine goes after its pod."""
        def change() -> str:
            del self._ready[node]
            self._write_endpoints()
            return f"removed: its endpoint and {self.stage.manifests.remove_node(node).name}"
        self.act(f"{node} is gone: its line, too", True, change, lambda at: self._last_of(node, at))
        self.stage.remove_backend(node)
        self.screen.say(f"stopped: what served on {ADDRESSES[node]}")

    def node_joins(self, node: str) -> None:
        """The machine comes before its pod."""
        seen = self._events()
        self.stage.add_backend(node)
        self.screen.say(f"added: {self.stage.manifests.node(node, ADDRESSES[node]).name}, no pod on it yet")
        self._wait_for_events(seen)
        self._ready[node] = True
        self.act(f"{node} joins: a ready pod", True, self._write_endpoints,
                 lambda at: wait_until(lambda: self._first_of((node,), at), 15, f"traffic to reach {node}"))

    def heartbeat(self, node: str) -> None:
        seen = self._events()

        def change() -> str:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            return f"edited: {self.stage.manifests.node(node, ADDRESSES[node], now).name}, another lastHeartbeatTime"

        def moved(_: float) -> float:
            self._wait_for_events(seen)
            return self._quiet()
        self.act("a heartbeat: nothing to do", False, change, moved)

    def show_distribution(self) -> None:
        started = time.monotonic()
        time.sleep(SHOW_S)
        answers = self.traffic.since(started)
        self.screen.say(f"{len(answers)} requests through HAProxy in {SHOW_S:g} s were answered by:")
        wanted = {name for name, ready in self._ready.items() if ready}
        self.screen.distribution(counts(answers), {name: ADDRESSES[name] for name in self._ready})
        if set(counts(answers)) != wanted:
            raise AssertionError(f"traffic reached {sorted(counts(answers))}, not {sorted(wanted)}")

    def summary(self) -> bool:
        """The table; True when everything happened and nothing failed."""
        self.screen.heading("Summary")
        self.screen.table(HEAD, [outcome.row() for outcome in self.outcomes])
        self.screen.say("")
        self.screen.say("ms to commit: from the edit until haproxy.cfg was committed. ms to traffic: until requests")
        self.screen.say(f"followed; of these up to {RELOAD_DELAY_S * 1000:.0f} are the Data Plane API's own reload delay "
                        "(5 s unless configured).")
        traffic = self.traffic
        if traffic.failed:
            self.screen.bad(f"{traffic.failed} of {traffic.total} requests failed, the first: {traffic.first_error}")
        else:
            self.screen.good(f"{traffic.total} requests, 0 failed.")
        idle = [outcome for outcome in self.outcomes if outcome.commit_ms is None and outcome.transactions]
        for outcome in idle:
            self.screen.bad(f"{outcome.what}: yet there were {outcome.transactions} transactions")
        return not traffic.failed and not idle

    def _write_endpoints(self) -> str:
        return f"edited: {self.stage.manifests.endpoints(self._ready).name}, pods on " + ", ".join(
            name if ready else f"{name} (terminating)" for name, ready in self._ready.items())

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

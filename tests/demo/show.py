"""What the demos have in common: steps under traffic, which way each went, and the table of them at the end."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from tests.harness import http as requests
from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .balancer import RELOAD_DELAY_S, Balancer
from .screen import Screen
from .traffic import Answer, Traffic

HEAD = ["what happened", "way", "after ms", "reloads", "requests", "failed"]


@dataclass
class Step:
    what: str
    way: str
    """reload, runtime (by HAProxy's sockets or its API, without a reload), or what became of it otherwise."""
    expected_reloads: int
    took_ms: float
    reloads: int
    requests: int
    failed: int

    def row(self) -> list[str]:
        return [self.what, self.way, f"{self.took_ms:.0f}", str(self.reloads), str(self.requests), str(self.failed)]


def ask(port: int, host: str, path: str = "/") -> str:
    """Status, and text or redirect; "" where nobody answers."""
    try:
        said = requests.request(f"http://127.0.0.1:{port}", "GET", path, headers={"Host": host})
    except (OSError, http.client.HTTPException):
        return ""
    text = said.headers.get("location", "") if said.status == 308 else said.text.strip()
    return f"{said.status} {'' if text.startswith('<') else text}".strip()


def events(kube_url: str, namespace: str) -> list[str]:
    """As `kubectl get events` has them: type, reason, object, message."""
    items = json.loads(requests.request(kube_url, "GET", f"/api/v1/namespaces/{namespace}/events").text)["items"]
    return [f"{e['type']}  {e['reason']}  {e['involvedObject']['kind'].lower()}/{e['involvedObject']['name']}  {e['message']}" for e in items]


class Show:
    """`with`: at its end the traffic, too."""

    def __init__(self, stage: Balancer, screen: Screen, *traffic: Traffic, daemons: tuple[Daemon, ...] = ()):
        """traffic: of each HAProxy; a reload is one of all of them."""
        self.base, self.screen, self.all_traffic, self.daemons = stage, screen, traffic, daemons or (stage.daemon,)
        self.steps: list[Step] = []
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def ask_all_the_time(self) -> None:
        for traffic in self.all_traffic:
            self.stack.enter_context(traffic)

    def since(self, at: float) -> list[Answer]:
        return [answer for traffic in self.all_traffic for answer in traffic.since(at)]

    def step(self, what: str, way: str, change: Callable[[], object], happened: Callable[[], bool], reloads: int | None = None) -> None:
        """reloads: that it has to cost, of each HAProxy."""
        stage, before, started = self.base, self.base.reloads(), time.monotonic()
        expected = (way == "reload" if reloads is None else reloads) * len(self.all_traffic)
        self.screen.say(str(change()))
        wait_until(lambda: stage.alive() and happened(), 20, what, interval=0.002)
        took_ms = (time.monotonic() - started) * 1000
        for daemon in self.daemons if way not in ("refused", "rejected") else ():
            daemon.wait_ready()
        asked = self.since(started)
        step = Step(what, way, expected, took_ms, stage.reloads() - before, len(asked), sum(not answer.node for answer in asked))
        self.steps.append(step)
        self.screen.good(f"{way} after {took_ms:.0f} ms, reloads: {step.reloads}; {step.requests} requests meanwhile, {step.failed} failed")
        if step.reloads != expected:
            self.screen.bad(f"but {step.reloads} reloads")

    def summary(self) -> bool:
        """The table; True when everything happened and nothing failed."""
        self.screen.heading("Summary")
        self.screen.table(HEAD, [step.row() for step in self.steps])
        self.screen.say("")
        for line in self.notes():
            self.screen.say(line)
        if not self.base.is_local:
            self.screen.say(f"The Data Plane API reloads after up to {RELOAD_DELAY_S * 1000:.0f} ms (its reload_delay; 5 s unless configured).")
        return concluded(self.screen, self.all_traffic, [f"{step.what}: {step.reloads} reloads" for step in self.steps
                                                         if step.reloads != step.expected_reloads])

    def notes(self) -> list[str]:
        """On the columns of the table."""
        return ["way: reload, of each HAProxy, or runtime: the running HAProxy is changed, and its files. after ms: from the edit until a",
                "request got the new answer. Here nothing waits for CONFIG_MIN_INTERVAL (2 s unless it is set),",
                "the least time between two writes that need a reload."]


def concluded(screen: Screen, traffic: tuple[Traffic, ...], surprises: list[str]) -> bool:
    total, failed = (sum(getattr(one, what) for one in traffic) for what in ("total", "failed"))
    if failed:
        screen.bad(f"{failed} of {total} requests failed, the first: {next(one.first_error for one in traffic if one.failed)}")
    else:
        screen.good(f"{total} requests, 0 failed.")
    for surprise in surprises:
        screen.bad(surprise)
    return not failed and not surprises

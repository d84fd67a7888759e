"""One soak, from the first change to the last figure."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import os
import platform
import time
from typing import Any

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until
from tests.harness.realkube import ApiError

from . import latencies, verdict
from .changes import Changes
from .sampler import Sample, Sampler, all_in_step, sample
from .stage import NAMESPACE, SERVICES, Stage
from .troubles import Trouble, Troubles

SETTLE_S = 180.0


@dataclasses.dataclass(frozen=True)
class Settings:
    seconds: float
    seed: int
    rate: float
    """Changes a second."""
    every: float = 2.0
    """Seconds between two samples."""


@dataclasses.dataclass
class Result:
    """Everything that figures.json has."""
    settings: Settings
    about: dict[str, Any]
    samples: list[Sample]
    at_rest: tuple[Sample, Sample]
    """Before the first change, and after all have come through."""
    troubles: list[Trouble]
    counts: dict[str, int]
    log: latencies.Log
    metrics: dict[str, dict[str, float]]
    window: verdict.Window
    trends: list[verdict.Trend]
    failures: list[str]


def _counters(daemon: Daemon) -> dict[str, dict[str, float]]:
    metrics = daemon.metrics()
    return {name: {**metrics.by(name, label)} for name, label in (
        ("transactions_total", "result"), ("runtime_updates_total", "result"), ("runtime_commands_total", "result"),
        ("reloads_total", "result"), ("relists_total", "reason"), ("watch_restarts_total", "reason"),
        ("reconciles_total", "result"), ("drifts_total", ""), ("http_requests_total", "code"))}


def _settled(stage: Stage, changes: Changes) -> None:
    def in_step() -> bool:
        stage.hang_up()  # ends every wait for a retry
        # Those that still drain are in rotation in the file, and not ready in HAProxy: that has an end.
        for service, desired in changes.desired().items():
            for where, found in (("file", stage.servers(service)), ("running HAProxy", stage.running(service))):
                assert found == desired, f"{service}: the {where} has {found}, not {desired}"
        assert stage.in_step(), f"not in sync: {stage.daemon.get('/readyz')}"
        return True

    wait_until(in_step, SETTLE_S, "all to be in sync", interval=0.5)


def _rest(stage: Stage) -> Sample:
    """What it has open and holds once all is in sync; of several looks the least, as connections end a moment later."""
    looks = []
    for _ in range(10):
        looks.append(sample(stage, 0, 0))
        time.sleep(0.3)
    return min(looks, key=lambda one: (one.fds, one.anon_kib))


def _stream(stage: Stage, changes: Changes, troubles: Troubles, settings: Settings, begin: float, sampler: Sampler) -> None:
    """Ctrl-C ends it early."""
    now = time.monotonic()
    end, next_change = begin + settings.seconds, now
    with contextlib.suppress(KeyboardInterrupt):
        while now < end:
            sampler.check()
            if now >= next_change:
                changes.step()
                next_change = max(next_change + 1 / settings.rate, now)
            elif now >= troubles.next_due():
                troubles.step()
            now = time.monotonic()
            time.sleep(max(0.0, min(next_change, troubles.next_due(), end) - now))
            now = time.monotonic()


def _end(stage: Stage, changes: Changes, failures: list[str]) -> None:
    changes.settle()
    try:
        _settled(stage, changes)
    except AssertionError as e:
        failures.append(f"not in sync after the last change: {e}")
        return
    try:
        wait_until(lambda: stage.open_transactions() == 0, 30, "no open transaction")
    except AssertionError as e:
        failures.append(f"a transaction is left open: {e}")


def _about(stage: Stage, settings: Settings) -> dict[str, Any]:
    return {"parts": stage.describe(), "daemon": str(stage.daemon.binary), "cpus": os.cpu_count(), "machine": platform.machine(),
            "when": time.strftime("%Y-%m-%d %H:%M"), "load_before": round(os.getloadavg()[0], 2)}


def run(stage: Stage, settings: Settings) -> Result:
    failures: list[str] = []
    changes = Changes(stage.kube.cluster, NAMESPACE, SERVICES, settings.seed)
    changes.begin()
    about = _about(stage, settings)
    daemon = stage.daemon.start()
    daemon.wait_ready(60)
    _settled(stage, changes)
    before = after = _rest(stage)
    metrics: dict[str, dict[str, float]] = {}
    begin, wall = time.monotonic(), time.time()
    troubles = Troubles(stage, settings.seed, settings.seconds)
    with Sampler(stage, begin, settings.every, lambda: changes.done) as sampler:
        samples = sampler.samples
        # What has been measured is printed, whatever befalls us in the twentieth minute.
        try:
            _stream(stage, changes, troubles, settings, begin, sampler)
            # From here on nothing changes: what the trends are about has ended.
            samples = list(sampler.samples)
            _end(stage, changes, failures)
            sampler.check()
            after, metrics = _rest(stage), _counters(daemon)
            daemon.stop()
        except (AssertionError, OSError, http.client.HTTPException, ApiError) as e:
            failures.append(f"ended after {time.monotonic() - begin:.0f} s: {e}")
    w = verdict.window(samples[-1].at)
    trends = verdict.trends(samples, w)
    log = latencies.read(daemon.log().splitlines(), wall)
    about.update(load_after=round(os.getloadavg()[0], 2), nodes=changes.nodes_ever,
                 in_step=sum(map(all_in_step, samples)) / len(samples))
    failures += verdict.leaks(trends) + verdict.left_over(before, after)
    seen = [dataclasses.replace(trouble, at=trouble.at - begin) for trouble in troubles.seen]
    return Result(settings, about, samples, (before, after), seen, troubles.counts(), log, metrics, w, trends, failures)

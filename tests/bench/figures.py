"""From what was seen of a rolling update to the figures of its table."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterator, Sequence

from tests.harness.load_records import percentile

from . import access_log
from .rollout import Run


@dataclasses.dataclass(frozen=True)
class Figures:
    commits: int
    transactions: int
    fast: int
    runtime_calls: int
    reloads: int
    workers: int
    """At most at one time: old ones stay for the connections they still have."""
    connections: int
    failed: int
    slow: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    out_ms: tuple[float, ...]
    """Of each terminating node: from the watch event until HAProxy itself said that it is out of rotation; infinite where that was
    not before it was ready again."""
    last_ms: tuple[float, ...]
    """From the watch event to the last new connection that it still answered; negative where that was before."""
    back_ms: tuple[float, ...]
    broken: int
    slowest_talk_ms: float
    generator_late_ms: float
    looks_ms: float
    own_commit_ms: float | None
    own_runtime_ms: float | None


def _turns(run: Run) -> list[tuple[str, float, float]]:
    """(node, terminating, ready again) of each node."""
    at = {(mark.what, mark.node): mark.at for mark in run.marks}
    return [(mark.node, mark.at, at["ready", mark.node]) for mark in run.marks if mark.what == "terminating"]


def _out(run: Run) -> Iterator[float]:
    for node, terminating, ready in _turns(run):
        out = run.seen.first(node, terminating, live=False)
        yield (out - terminating) * 1000 if out is not None and out < ready else math.inf


def _back(run: Run) -> Iterator[float]:
    for node, _, ready in _turns(run):
        if run.seen.state(node, ready) == "live":
            continue  # it never left
        back = run.seen.first(node, ready, live=True)
        yield (back - ready) * 1000 if back is not None else math.inf


def _last(run: Run) -> Iterator[float]:
    for node, terminating, ready in _turns(run):
        last = run.traffic.between(run.begin, ready).last_of(node)
        if last is not None:
            yield (last - terminating) * 1000


def _own(run: Run, name: str) -> float | None:
    count = run.own.get(f"{name}_count", 0)
    return run.own[f"{name}_sum"] / count * 1000 if count else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def of(run: Run) -> Figures:
    seconds = run.traffic.seconds()
    versions = [version for at, version in run.seen.versions]
    return Figures(
        commits=run.writes[access_log.FAST] if run.controller.local else versions[-1] - versions[0], transactions=run.writes[access_log.TRANSACTION],
        fast=run.writes[access_log.FAST], runtime_calls=run.writes[access_log.RUNTIME],
        reloads=len(run.seen.reloads()), workers=max(len(pids) for _, pids in run.seen.workers),
        connections=len(run.traffic.connections), failed=len(run.traffic.failed), slow=len(run.traffic.slow),
        p50_ms=_ms(percentile(seconds, 50)), p99_ms=_ms(percentile(seconds, 99)), max_ms=_ms(percentile(seconds, 100)),
        out_ms=tuple(_out(run)), last_ms=tuple(_last(run)), back_ms=tuple(_back(run)),
        broken=len(run.traffic.broken), slowest_talk_ms=max((v.slowest for v in run.traffic.visits), default=0) * 1000,
        generator_late_ms=run.traffic.latest * 1000, looks_ms=run.seen.widest * 1000,
        own_commit_ms=_own(run, "watch_event_to_commit_seconds"), own_runtime_ms=_own(run, "watch_event_to_runtime_seconds"))


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    text = f"{_number(statistics.median_low(values))} / {_number(max(values))} ms"
    never = sum(math.isinf(value) for value in values)
    return text.replace("never ms", "never") + (f" ({never} of {len(values)})" if never else "")


def _number(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f}" if abs(value) < 100 else f"{value:.0f}"


def _single(value: float | None) -> str:
    return "-" if value is None else f"{_number(value)} ms"


def rows(figures: Sequence[Figures]) -> list[tuple[str, str, list[str]]]:
    """(what, aim, a value for each); what nobody has a figure of is left out."""
    def row(what: str, aim: str, *values: str) -> tuple[str, str, list[str]]:
        return what, aim, list(values)

    found = [
        row("commits (versions of the file)", "", *(str(f.commits) for f in figures)),
        row("  of these transactions, fast writes", "", *(f"{f.transactions}, {f.fast}" for f in figures)),
        row("runtime calls", "", *(str(f.runtime_calls) for f in figures)),
        row("reloads", "0", *(str(f.reloads) for f in figures)),
        row("workers at one time, at most", "1", *(str(f.workers) for f in figures)),
        row("new connections", "", *(str(f.connections) for f in figures)),
        row("failed", "0", *(str(f.failed) for f in figures)),
        row("slow (> 0.5 s)", "0", *(str(f.slow) for f in figures)),
        row("connection time p50 / p99 / max", "", *(
            f"{_number(f.p50_ms or 0)} / {_number(f.p99_ms or 0)} / {_number(f.max_ms or 0)} ms" for f in figures)),
        row("terminating: out of rotation p50 / max", "10 / 50 ms", *(_spread(f.out_ms) for f in figures)),
        row("  its last new connection p50 / max", "", *(_spread(f.last_ms) for f in figures)),
        row("ready: back in rotation p50 / max", "", *(_spread(f.back_ms) for f in figures)),
        row("long-lived connections broken", "0", *(str(f.broken) for f in figures)),
        row("  slowest exchange on one", "", *(_single(f.slowest_talk_ms) for f in figures)),
        row("its own metric: event to runtime, mean", "", *(_single(f.own_runtime_ms) for f in figures)),
        row("its own metric: event to commit, mean", "", *(_single(f.own_commit_ms) for f in figures)),
        row("exactness: generator late, at most", "", *(_single(f.generator_late_ms) for f in figures)),
        row("  looks at HAProxy apart, at most", "", *(_single(f.looks_ms) for f in figures)),
    ]
    return [(what, aim, values) for what, aim, values in found if set(values) != {"-"}]

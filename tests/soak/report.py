"""The figures as a plain table, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Sequence
from html import escape

from tests.bench import charts
from tests.bench.growth import Curve, Plot
from tests.harness.load_records import percentile

from . import latencies, verdict
from .soak import Result

Row = tuple[str, list[str]]
HEADS = ["", "", "begin", "end", "line rises by", "tolerance", "per hour"]


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def trend_rows(result: Result) -> Iterator[Row]:
    for one in result.trends:
        unit = f" {one.rule.unit}" if one.rule.unit else ""
        said = "LEAK" if one.leaks else "flat" if one.flat else "grows"
        # An hour of growing to one's size says nothing.
        per_hour = f"{one.per_hour:+,.1f}{unit}" if result.window.warm else "-"
        yield one.rule.name, [said, f"{_value(one.first)}{unit}", f"{_value(one.last)}{unit}", f"{one.rise:+,.1f}{unit}",
                              f"{_value(one.tolerance)}{unit}", per_hour]


def thirds(result: Result, way: str) -> tuple[list[float], list[float]]:
    """Milliseconds, ascending, of the first and of the last third of the window."""
    points = [(one.at, one.ms) for one in result.log.latencies if one.way == way]
    cut = verdict.parts(points, result.window.begin, result.window.end, 3)
    return sorted(cut[0]), sorted(cut[2])


def _percentiles(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{percentile(values, 50):.1f} / {percentile(values, 99):.1f} ms ({len(values)})"


def latency_rows(result: Result) -> Iterator[Row]:
    for way, name in latencies.NAMES.items():
        first, last = thirds(result, way)
        yield name, [_percentiles(first), _percentiles(last)]


def cpu_percent(result: Result) -> list[tuple[float, float]]:
    found = []
    for a, b in zip(result.samples, result.samples[1:]):
        found.append((b.at, (b.cpu_s - a.cpu_s) / max(b.at - a.at, 0.001) * 100))
    return found


def count_rows(result: Result) -> Iterator[Row]:
    last, (before, after) = result.samples[-1], result.at_rest
    yield "changes", [f"{last.changes:,} in {clock(last.at)}; {result.about['nodes']} nodes have there been"]
    yield "in sync", [f"{result.about['in_step']:.0%} of {len(result.samples)} samples"]
    yield "CPU", [f"{(last.cpu_s - result.samples[0].cpu_s) / max(last.at, 1) * 100:.2f} % of one"]
    yield "at rest, before and after", [
        f"{before.fds} and {after.fds} fds; {before.anon_kib:,} and {after.anon_kib:,} KiB anonymous; "
        f"{before.rss_kib:,} and {after.rss_kib:,} KiB RSS"]
    for name, by in result.metrics.items():
        text = ", ".join(f"{label or 'all'} {value:,.0f}" for label, value in sorted(by.items())) or "0"
        yield name.removesuffix("_total").replace("_", " "), [text]
    yield "troubles", ["; ".join(f"{what}: {n}" for what, n in result.counts.items())]
    yield "transactions open at once, at most", [str(max(one.transactions or 0 for one in result.samples))]


def said(result: Result) -> list[str]:
    """Warnings and errors of the daemon's log with how often each was written."""
    return [f"{n:,} x {message}" for message, n in result.log.messages.items() if message.startswith(("warn", "error"))]


def conclusion(result: Result) -> list[str]:
    w, lines = result.window, []
    if w.warm:
        lines.append(f"judged: minute 10 to {clock(w.end)}")
    else:
        lines.append(f"the tenth minute was not reached: judged is {clock(w.begin)} to {clock(w.end)}, where a program still finds "
                     "its size; TIME=30m says more")
    rising = [one.rule.name for one in result.trends if not one.flat]
    lines.append("flat: " + (", ".join(one.rule.name for one in result.trends if one.flat) or "nothing"))
    if rising:
        lines.append("not flat: " + ", ".join(rising))
    lines += [f"FAILED: {failure}" for failure in result.failures]
    if not result.failures:
        lines.append("no leak, in sync at the end, nothing left open")
    return lines


def text(result: Result) -> str:
    lines = [f"  {'':<20}{'':<6}" + "".join(f"{head:>16}" for head in HEADS[2:])]
    for name, values in trend_rows(result):
        lines.append(f"  {name:<20}{values[0]:<6}" + "".join(f"{value:>16}" for value in values[1:]))
    lines += ["", f"  {'p50 / p99 (how many)':<44}{'first third':<30}{'last third':<30}".rstrip()]
    lines += [f"  {name:<44}{first:<30}{last}" for name, (first, last) in latency_rows(result)]
    lines.append("")
    lines += [f"  {name:<36}{values[0]}" for name, values in count_rows(result)]
    lines += ["", *(f"  {line}" for line in said(result)), ""] if said(result) else [""]
    return "\n".join([*lines, *(f"  {line}" for line in conclusion(result))])


def _plots(result: Result) -> Iterator[Plot]:
    """Everything over time."""
    for one in result.trends:
        scale, unit = (1024.0, "MiB") if one.rule.unit == "KiB" else (1.0, one.rule.unit)
        points = tuple((sample.at, getattr(sample, one.rule.field) / scale) for sample in result.samples)
        yield Plot(one.rule.name, unit, "s", (Curve(one.rule.name, points),), log_x=False, log_y=False)
    yield Plot("CPU", "% of one", "s", (Curve("CPU", tuple(cpu_percent(result))),), log_x=False, log_y=False)
    yield Plot("How long a change took", "ms", "s", tuple(
        Curve(name, tuple((one.at, max(one.ms, 0.1)) for one in result.log.latencies if one.way == way and one.at <= result.samples[-1].at))
        for way, name in latencies.NAMES.items()), log_x=False, dots=True)


def page(result: Result, path: pathlib.Path) -> str:
    settings = result.settings
    about = f"{result.about['parts']}; {settings.rate:g} changes a second for {clock(settings.seconds)}, SEED={settings.seed}"
    return charts.write(path, "A soak of haproxy-k8s-sync", about, [
        *(f"<p>{escape(line)}</p>" for line in conclusion(result)),
        charts.table(HEADS, [(name, "", values) for name, values in trend_rows(result)]),
        charts.table(["p50 / p99 (how many)", "first third", "last third"], [(name, "", values) for name, values in latency_rows(result)]),
        charts.panels(list(_plots(result))), charts.table([], [(name, "", values) for name, values in count_rows(result)]),
        *(f"<p>{escape(one)}</p>" for one in said(result))])


def as_json(result: Result) -> str:
    tree = {"settings": dataclasses.asdict(result.settings), "about": result.about, "conclusion": conclusion(result),
            "failures": result.failures, "window": dataclasses.asdict(result.window),
            "trends": [{**dataclasses.asdict(one), "flat": one.flat, "leaks": one.leaks} for one in result.trends],
            "at_rest": [dataclasses.asdict(one) for one in result.at_rest], "counts": result.counts, "metrics": result.metrics,
            "messages": result.log.messages, "troubles": [dataclasses.asdict(one) for one in result.troubles],
            "samples": [dataclasses.asdict(one) for one in result.samples],
            "latencies": [dataclasses.asdict(one) for one in result.log.latencies]}
    return json.dumps(tree, indent=1) + "\n"

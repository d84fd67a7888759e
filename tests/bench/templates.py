"""Templates: a render, what the daemon does around it, one change among 3,000 routes, a rolling update of 50 pods."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pathlib
import re
import subprocess
import time
from typing import Any

from tests.harness import realparts
from tests.harness.load_records import percentile
from tests.harness.process import ROOT

from . import charts, report, template_rollout
from .growth import Curve, Plot
from .ingress_fixtures import objects
from .template_stage import APPLIED, TemplateStage, log_time

INGRESSES, ENDPOINTS = 10_000, 5
ROUTES_INGRESSES, ROUTES_PATHS, ROUTES_ENDPOINTS = 300, 10, 3
CHANGES, RENDERS = 40, 10
MOST_ANONYMOUS_MB = 60
REPORT = ROOT / "build" / "bench" / "templates.html"
EVENT, RENDERED, CHANGED, WRITTEN = "objects of the templates changed", "templates rendered", "configuration changed", "configuration written"


@dataclasses.dataclass
class Found:
    """What the page shows."""
    rows: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    changes: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    rollouts: list[template_rollout.Rollout] = dataclasses.field(default_factory=list)

    def figure(self, what: str, value: str, aim: str = "") -> None:
        report.figure(what, value, aim)
        self.rows.append((what, aim, value))


def _heading(found: Found, text: str) -> None:
    report.heading(text)
    found.rows.append((text, "", ""))


# --- the render alone

def _ours(fixtures: pathlib.Path, out: pathlib.Path) -> dict[str, float]:
    said = subprocess.run([ROOT / "build/bench/render", ROOT / "templates/ingress", fixtures, str(RENDERS), out], capture_output=True, text=True, check=True).stdout
    return {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", said)}


def _render(found: Found, home: pathlib.Path, made: dict[str, list[Any]]) -> None:
    home.mkdir(parents=True)
    fixtures = home / "fixtures.json"
    fixtures.write_text(json.dumps(made))
    own = _ours(fixtures, home / "ours")
    _heading(found, f"render of {INGRESSES:,} Ingresses with Services and {INGRESSES * ENDPOINTS:,} endpoints, the shipped set")
    found.figure("from the fork to all of the output", f"{own['median_ms']:.0f} ms ({own['min_ms']:.0f}..{own['max_ms']:.0f}, n={RENDERS})", "<= 300 ms")
    found.figure("processor time; most memory", f"{own['cpu_ms']:.0f} ms; {own['most_kib'] / 1024:.0f} MiB")
    found.figure("output", f"{own['bytes'] / 1e6:.1f} MB")


# --- the daemon around it

def _timed(command: list[Any]) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return (time.monotonic() - began) * 1000


def _check_ms(stage: TemplateStage) -> float:
    return _timed([stage.haproxy.binary, "-c", "-f", stage.haproxy.config])


def _last(lines: list[str], words: str) -> float:
    return log_time(next(line for line in reversed(lines) if words in line)) * 1000


def _whole(found: Found, home: pathlib.Path, made: dict[str, list[Any]]) -> None:
    with TemplateStage(home, made, wait_s=300).started() as stage:
        lines = stage.daemon.log().splitlines()
        event, changed, written, applied = (_last(lines, words) for words in (EVENT, CHANGED, WRITTEN, APPLIED))
        anonymous = stage.daemon.memory_kib()
        check = _check_ms(stage)
        began = time.monotonic()
        stage.haproxy.reload()
        reload = (time.monotonic() - began) * 1000
    _heading(found, f"the daemon with them, {stage.way}")
    found.figure("last event to what is to be written", f"{changed - event:.0f} ms")
    found.figure("to the write, without haproxy -c; with it", f"{written - event - check:.0f} ms; {written - event:.0f} ms", "<= 1000 ms without")
    found.figure("last event to verified", f"{applied - event:.0f} ms")
    found.figure("floor of the apply: haproxy -c and a reload", f"{check:.0f} ms + {reload:.0f} ms = {check + reload:.0f} ms by hand")
    found.figure("anonymous memory; resident at most", f"{anonymous['RssAnon'] / 1024:.1f} MiB; {anonymous['VmHWM'] / 1024:.1f} MiB", f"<= {MOST_ANONYMOUS_MB} MB")


# --- one change among many routes

def _changed(made: dict[str, list[Any]], kind: str, number: int) -> Any:
    one = copy.deepcopy(made["ingresses" if kind == "maps" else "slices"][number])
    if kind == "maps":
        one["spec"]["rules"][0]["host"] = f"new-{number}.example.com"
    else:
        one["endpoints"][0]["addresses"] = [f"10.200.0.{number + 1}"]
    return one


def _changes(found: Found, home: pathlib.Path) -> None:
    made = objects(ROUTES_INGRESSES, ROUTES_ENDPOINTS, ROUTES_PATHS)
    renders, spent = list[float](), dict[str, float]()
    with TemplateStage(home, made).started() as stage:
        stage.settled()
        before = stage.haproxy.reloads()
        for kind in ("maps", "servers"):
            began = stage.cpu_ms()
            for number in range(CHANGES):
                lines = stage.change(_changed(made, kind, number)).splitlines()
                event = log_time(next(line for line in lines if EVENT in line)) * 1000
                found.changes.setdefault(kind, []).append(_last(lines, APPLIED) - event)
                renders.append(_last(lines, RENDERED) - event)
            spent[kind] = (stage.cpu_ms() - began) / CHANGES
        reloads = stage.haproxy.reloads() - before
        checks = [_check_ms(stage) for _ in range(9)]
    _heading(found, f"one change among {ROUTES_INGRESSES * ROUTES_PATHS:,} routes of {ROUTES_INGRESSES} Ingresses, "
             f"{ROUTES_INGRESSES * ROUTES_ENDPOINTS} endpoints, {stage.way}")
    for kind, values in found.changes.items():
        ascending = sorted(values)
        found.figure(f"event -> verified, {kind}", f"p50 {percentile(ascending, 50):.0f} ms, p95 {percentile(ascending, 95):.0f} ms, n={len(ascending)}", "p50 <= 40 ms, p95 <= 80 ms")
        found.figure("  processor time for each", f"{spent[kind]:.0f} ms, haproxy -c included")
    found.figure("of that the render", report.spread(renders, "ms", 0))
    found.figure("haproxy -c alone, which neither waits for", report.spread(checks, "ms", 0))
    found.figure("reloads, as the master counts them", str(reloads), "0")


# --- a rolling update

def _rollouts(found: Found, home: pathlib.Path) -> None:
    for local in (True, False):
        try:
            played = template_rollout.play(home / ("local" if local else "api"), local)
        except realparts.Missing as e:
            report.note(f"skipped: a rolling update by a Data Plane API: {e}")
            continue
        found.rollouts.append(played)
        _heading(found, f"rolling update of {template_rollout.PODS} pods at {template_rollout.RATE:g} connections/s, {played.changes} changes in "
                 f"{played.end - played.begin:.0f} s; {played.haproxy}; {played.way}")
        found.figure("reloads, as the master counts them", str(played.reloads), "0")
        found.figure("requests; failed; slow (> 0.5 s)", f"{len(played.traffic.connections)}; {len(played.traffic.failed)}; {len(played.traffic.slow)}", "0 failed")
        found.figure("pods that answered", str(len({c.node for c in played.traffic.connections if c.node})), str(2 * template_rollout.PODS))


def measure(home: pathlib.Path) -> None:
    found = Found()
    made = objects(INGRESSES, ENDPOINTS)
    _render(found, home / "render", made)
    _whole(found, home / "whole", made)
    _changes(found, home / "changes")
    _rollouts(found, home)
    requests = {played.way: [math.inf if c.failed else c.seconds * 1000 for c in played.traffic.connections] for played in found.rollouts}
    plots = [Plot(title, "", "ms", tuple(Curve(name, charts.longer(values)) for name, values in curves.items()))
             for title, curves in (("Share of changes that took longer until they are known to run", found.changes),
                                   ("Share of requests during the rolling update that took longer", requests))]
    rows = [(what, aim, [value]) for what, aim, value in found.rows]
    print(charts.write(REPORT, "Templates", "both axes of the plots are logarithmic", [charts.table([], rows), charts.panels(plots)]))

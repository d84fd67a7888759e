"""What the report of the rolling update says, and in which order."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from html import escape

from . import figures, html, plots
from .rollout import GONE_S, TERMINATING_S, Run
from .stage import NODES, Settings


def _by_haproxy(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.haproxy, []).append(run)
    return found


def _introduction(runs: Sequence[Run], kube: str, settings: Settings) -> str:
    return "".join(f"<p>{text}</p>" for text in (
        f"{len(NODES)} nodes with one pod each, {settings.rate:g} new connections a second and {settings.visits} that stay and "
        f"talk, all through HAProxy. Node after node, the pod is replaced: it terminates and still serves for {TERMINATING_S:g} s, "
        f"is gone (its node refuses new connections, open ones live on), and {GONE_S:g} s later a new one is ready.",
        f'<span class="muted">{escape(kube)}; Data Plane API: {escape(runs[0].dataplane)}, reload_delay '
        f"{settings.reload_delay:g} s; RESYNC_PERIOD {escape(settings.resync)}; {os.cpu_count()} CPUs, {platform.machine()}; "
        f"{time.strftime('%Y-%m-%d %H:%M')}</span>"))


def render(runs: Sequence[Run], kube: str, settings: Settings) -> str:
    grouped = _by_haproxy(runs)
    ordered = [run for group in grouped.values() for run in group]
    names = {run.controller.name: plots.colour(run) for run in ordered}
    columns = [(f"HAProxy {version}", [(plots.colour(run), run.controller.name) for run in group])
               for version, group in grouped.items()]
    parts = [
        _introduction(runs, kube, settings),
        html.table(columns, figures.rows([figures.of(run) for run in ordered])),
        '<p class="muted">Out of rotation: from the watch event, as our own watch got it, until the running HAProxy itself gave '
        "the node no new connections (drain, maintenance, down by its check, or no longer there). Never: not before the node was "
        "ready again. Failed: refused, cut off or unanswered; slow: more than 0.5 s.</p>",
        "<h2>How long connections took</h2>",
        '<p class="muted">How many of all took longer than that; both axes are logarithmic. A line that reaches the right edge: '
        "so many failed.</p>",
        html.names([(colour, name) for name, colour in names.items()]),
        '<div class="panels">' + "".join(html.figure(f"HAProxy {version}", plots.latency(group))
                                         for version, group in grouped.items()) + "</div>",
        "<h2>Connections over time</h2>", html.signs(sorted(set(names.values()), reverse=True)),
        *(html.figure(f"{run.controller.name}, HAProxy {run.haproxy}", plots.timeline(run)) for run in ordered)]
    return html.page("A rolling update of six nodes under load", parts)

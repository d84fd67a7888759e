"""What the report about templates says: a table of figures, how long changes took, how long requests took during a rolling update."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from html import escape

from . import html
from .svg import Log, Point, Svg, polyline
from .template_rollout import Rollout

COLOURS = ("ours", "other")


def _shares(name: str, curves: Mapping[str, Sequence[float]], aims: Sequence[float] = (), width: float = 440, height: float = 260) -> str:
    """Of each list of milliseconds, how many of all took longer than that; failed ones are infinite."""
    most = max((len(values) for values in curves.values()), default=1)
    finite = [ms for values in curves.values() for ms in values if ms != float("inf")] or [1.0]
    svg = Svg(width, height, name)
    x = Log(min(finite) / 1.3, max(max(finite), *aims, 1.0) * 1.3, 46, width - 12)
    y = Log(10 ** -len(str(most)), 1, height - 40, 14)
    for share in y.decades()[1:]:
        svg.line((x.begin, y(share)), (x.end, y(share)), "grid")
        svg.text((x.begin - 6, y(share) + 4), f"{share * 100:g} %", "tick", "end")
    for ms in x.decades():
        svg.line((x(ms), y.begin), (x(ms), y.end), "grid")
        svg.text((x(ms), y.begin + 15), f"{ms:g} ms", "tick", "middle")
    for aim in aims:
        svg.line((x(aim), y.begin), (x(aim), y.end), "limit", f"aim: {aim:g} ms")
    svg.line((x.begin, y.begin), (x.end, y.begin), "axis")
    for colour, (curve, values) in zip(COLOURS, curves.items()):
        points: list[Point] = [(x.begin, y(1))]
        ascending = sorted(values)
        for i, ms in enumerate(ascending):
            left = (len(ascending) - i - 1) / len(ascending)
            points += [(x(min(ms, finite_end(x))), points[-1][1]), (x(min(ms, finite_end(x))), y(left) if left else y.begin)]
        svg.path(polyline(points), f"curve {colour}", curve)
    svg.text(((x.begin + x.end) / 2, height - 6), "time; the share that took longer", "tick", "middle")
    return str(svg)


def finite_end(x: Log) -> float:
    return float(10 ** x.high)


def _table(rows: Sequence[tuple[str, str, str]]) -> str:
    body = "".join(f'<tr><th scope="row"><b>{escape(what)}</b></th><td></td></tr>' if not value else
                   f'<tr><th scope="row" class="sub">{escape(what)}{html.hint(aim)}</th><td>{escape(value)}</td></tr>' for what, aim, value in rows)
    return f'<div class="scroll"><table><tbody>{body}</tbody></table></div>'


def _requests(played: Rollout) -> list[float]:
    return [float("inf") if c.failed else c.seconds * 1000 for c in played.traffic.connections]


def render(rows: Sequence[tuple[str, str, str]], changes: Mapping[str, Sequence[float]], rollouts: Sequence[Rollout]) -> str:
    names = [(colour, name) for colour, name in zip(COLOURS, changes)]
    ways = [(colour, played.way) for colour, played in zip(COLOURS, rollouts)]
    parts = [f'<p class="muted">{os.cpu_count()} CPUs, {platform.machine()}, load {os.getloadavg()[0]:.2f}; {time.strftime("%Y-%m-%d %H:%M")}</p>', _table(rows),
             "<h2>One change: from its event until it is known to run</h2>", html.names(names), _shares("Share of changes that took longer", changes, (40, 80)),
             "<h2>Requests during the rolling update</h2>", html.names(ways),
             _shares("Share of requests that took longer", {played.way: _requests(played) for played in rollouts})]
    return html.page("Templates", parts)

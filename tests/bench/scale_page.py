"""What the report about growth says: plots whose two axes are logarithmic, so that a power of the size is a straight line."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Mapping, Sequence
from html import escape

from . import html
from .growth import Plot, exponents, words
from .svg import Log, Svg, polyline

COLOURS = ("ours", "other")
TICK_APART, AIM = 18.0, 40.0
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480.0, 250.0, 64.0, 16.0, 14.0, 42.0


def number(value: float) -> str:
    """Three digits, and no more than that of them behind the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between the two, as many as there is room for."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    room = (HEIGHT - BOTTOM - TOP) / math.log10(high / low)
    found: list[float] = []
    for leads in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [lead * 10.0 ** power for power in powers for lead in leads if low <= lead * 10.0 ** power <= high]
        if all(math.log10(b / a) * room >= TICK_APART for a, b in zip(found, found[1:])):
            break
    return found


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Wide enough that what hardly grows looks so."""
    low, high = min(values) / 1.25, max(values) * 1.25
    if high / low < 6:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(6), middle * math.sqrt(6)
    return low, high


def _axes(svg: Svg, plot: Plot, x: Log, y: Log, low: float, high: float) -> None:
    for value in ticks(low, high):
        svg.line((x.begin, y(value)), (x.end, y(value)), "grid")
        svg.text((x.begin - 7, y(value) + 4), number(value), "tick", "end")
    shown = -math.inf
    for size in sorted({size for curve in plot.curves for size, _ in curve.points}):
        svg.line((x(size), y.begin), (x(size), y.end), "grid")
        if x(size) - shown > 38:
            svg.text((x(size), y.begin + 15), f"{size:,.0f}", "tick", "middle")
            shown = x(size)
    svg.line((x.begin, y.begin), (x.end, y.begin), "axis")
    svg.text(((x.begin + x.end) / 2, HEIGHT - 6), plot.over, "tick", "middle")


def _guide(svg: Svg, plot: Plot, x: Log, y: Log) -> None:
    """How steep "in proportion" is, from the first figure of the first curve on."""
    (size, value), end = plot.curves[0].points[0], 10 ** x.high
    top = 10 ** y.high
    until = min(end, size * top / value)
    svg.path(polyline([(x(size), y(value)), (x(until), y(value * until / size))]), "guide", "in proportion")


def drawn(plot: Plot, colours: Mapping[str, str]) -> str:
    """colours: by the names of curves."""
    values = [value for curve in plot.curves for _, value in curve.points if value > 0] or [1.0]
    sizes = [size for curve in plot.curves for size, _ in curve.points] or [1.0]
    low, high = _range([*values, *(most for _, most in plot.aims)])
    svg = Svg(WIDTH, HEIGHT, f"{plot.title} over {plot.over}")
    x = Log(min(sizes), max(sizes) if max(sizes) > min(sizes) else min(sizes) * 10, LEFT + 8, WIDTH - RIGHT - 8)
    y = Log(low, high, HEIGHT - BOTTOM, TOP + 4)
    _axes(svg, plot, x, y, low, high)
    if plot.curves:
        _guide(svg, plot, x, y)
    for curve in reversed(plot.curves):
        colour = colours[curve.name]
        svg.path(polyline((x(size), y(value)) for size, value in curve.points), f"curve {colour}", curve.name)
        for size, value in curve.points:
            svg.circle((x(size), y(value)), 3.4, f"swatch {colour}", f"{curve.name}, {size:,.0f} {plot.over}: {number(value)} {plot.unit}")
    for size, most in plot.aims:
        if min(sizes) <= size <= max(sizes):
            svg.line((x(size) - AIM, y(most)), (x(size) + 8, y(most)), "limit", f"aim: at most {most:g} {plot.unit} at {size:,.0f} {plot.over}")
            is_missed = any(dict(curve.points).get(size, 0) > most for curve in plot.curves)
            svg.text((x(size) + 8, y(most) + (14 if is_missed else -6)), f"aim ≤ {most:g}", "aim-at", "end")
    return str(svg)


def _key(plot: Plot, colours: Mapping[str, str]) -> str:
    return '<ul class="growth">' + "".join(
        f'<li><span class="dot {colours[curve.name]}"></span> {escape(curve.name)} <b>{escape(words(curve.points))}</b> '
        f'<span class="aim">{escape(exponents(curve.points))}</span></li>' for curve in plot.curves) + "</ul>"


def _figures(plots: Sequence[Plot]) -> str:
    """A curve has the same colour in all of them."""
    names = dict.fromkeys(curve.name for plot in plots for curve in plot.curves)
    colours = dict(zip(names, COLOURS))
    return '<div class="panels">' + "".join(html.figure(f"{plot.title}, {plot.unit}", drawn(plot, colours) + _key(plot, colours))
                                            for plot in plots if plot.curves) + "</div>"


def _table(plots: Sequence[Plot]) -> str:
    """One for each kind of size."""
    return "".join(_table_over(over, [plot for plot in plots if plot.over == over]) for over in dict.fromkeys(plot.over for plot in plots))


def _table_over(over: str, plots: Sequence[Plot]) -> str:
    sizes = sorted({size for plot in plots for curve in plot.curves for size, _ in curve.points})
    rows = []
    for plot in plots:
        for curve in plot.curves:
            values = dict(curve.points)
            aims = "; ".join(f"≤ {most:g} at {size:,.0f}" for size, most in plot.aims)
            rows.append((f"{plot.title}, {plot.unit}: {curve.name}", aims, [number(values[size]) if size in values else "-" for size in sizes]))
    return html.table([(over, [("", f"{size:,.0f}") for size in sizes])], rows) if rows else ""


def _row(what: str, aim: str, value: str) -> str:
    return f'<tr><th scope="row">{escape(what)}{html.hint(aim)}</th><td>{escape(value)}</td></tr>'


NOTES = {
    "Over nodes": "Nodes of 50 images each, served by the Kubernetes double, which is written in Python: the time is mostly its own. Three of the nodes have a pod.",
    "Over backends": "Backends of 100 servers each, the last of 64 with 300, in one HAProxy whose file already holds all of them. /healthz is asked every 20 ms from the start "
                     "on, through an event and a look. An event: one endpoint of one Service turns not ready, or ready again.",
    "Over HAProxies": "64 backends of 100 servers in each. Doubles of the Data Plane API without a HAProxy, all of them on this one machine: the time is mostly theirs. An "
                      "event is written to each of the HAProxies.",
}


def render(groups: Sequence[tuple[str, Sequence[Plot]]], leaving: Sequence[tuple[str, str, str]], seconds: float) -> str:
    parts = [f'<p class="muted">{os.cpu_count()} CPUs, {platform.machine()}, load {os.getloadavg()[0]:.2f}; {time.strftime("%Y-%m-%d %H:%M")}; taken in {seconds:.0f} s</p>',
             "<p>Both axes of each plot are logarithmic. Grey dots show how steep \"in proportion\" is. The words are those of a fitted power of the size: its exponent is 1 "
             "where a figure grows in proportion, 0 where it does not grow.</p>"]
    for name, plots in groups:
        if not any(plot.curves for plot in plots):
            continue
        parts += [f"<h2>{escape(name)}</h2>", f"<p>{escape(NOTES[name])}</p>", _figures(plots), f'<div class="sizes">{_table(plots)}</div>']
    if leaving:
        parts += ["<h2>Servers that leave the rotation at once</h2>",
                  f'<div class="scroll"><table><tbody>{"".join(_row(*row) for row in leaving)}</tbody></table></div>']
    return html.page("How cost and time grow", parts)

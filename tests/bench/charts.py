"""Reports as one self-contained page: plots as inline SVG, tables, no script, nothing fetched. Colours are the page's CSS, so that a
drawing follows its light or dark."""

from __future__ import annotations

import math
import os
import pathlib
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from html import escape

from .growth import Plot, Point, exponents, words

COLOURS = ("first", "second", "third")
TICK_APART = 18.0
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480.0, 250.0, 64.0, 16.0, 14.0, 42.0
ROOM = HEIGHT - BOTTOM - TOP
MOST_POINTS = 2000

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2126;--muted:#5a636e;--grid:#e3e7eb;--bad:#cf222e;
 --first:#0069a8;--second:#c2570c;--third:#8540b5}
@media(prefers-color-scheme:dark){:root{--bg:#12161b;--fg:#e4e8ec;--muted:#9aa4af;--grid:#272e36;--bad:#ff6b63;
 --first:#58aef0;--second:#f59a52;--third:#c297ee}}
body{margin:0 auto;max-width:1060px;padding:24px 20px 60px;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px}h2{font-size:18px;margin:36px 0 6px}.muted{color:var(--muted)}.scroll{overflow-x:auto;margin:14px 0}
table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{padding:4px 9px;text-align:right;border-bottom:1px solid var(--grid)}th:first-child{text-align:left;font-weight:400}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px 28px}
figure{margin:0}figcaption{font-weight:600}ul.key{margin:0;padding:0;list-style:none;font-size:13px}
.dot{display:inline-block;width:10px;height:10px}
svg{display:block;width:100%;height:auto}svg text{font-size:12px;fill:var(--muted)}svg line,svg path{fill:none;stroke:var(--grid)}
svg line.limit{stroke:var(--bad);stroke-dasharray:4 3}
""" + "".join(f"svg path.{c}{{stroke:var(--{c});stroke-width:1.8}}svg circle.{c}{{fill:var(--{c})}}.dot.{c}{{background:var(--{c})}}\n"
              for c in COLOURS)


def number(value: float) -> str:
    """Three digits, and no more than that of them behind the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def log_ticks(low: float, high: float, room: float = ROOM) -> list[float]:
    """Round numbers between the two, as many as there is room for."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    by_power = room / math.log10(high / low)
    found: list[float] = []
    for leads in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        found = [lead * 10.0 ** power for power in powers for lead in leads if low <= lead * 10.0 ** power <= high]
        if all(math.log10(b / a) * by_power >= TICK_APART for a, b in zip(found, found[1:])):
            break
    return found


def linear_ticks(low: float, high: float) -> list[float]:
    rough = max((high - low) / 6, 1e-9)
    power = 10 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough * 0.999)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


class Axis:
    """From values to the pixels begin..end; wide enough that what hardly differs is seen to."""

    def __init__(self, values: Sequence[float], begin: float, end: float, log: bool, widened: bool = True):
        self.begin, self.end = begin, end
        self.value: Callable[[float], float] = (lambda v: math.log10(max(v, 1e-9))) if log else float
        found = [value for value in values if math.isfinite(value) and (value > 0 or not log)] or [1.0]
        low, high = min(found), max(found)
        if not log:
            low, high = (max(0.0, low - 0.1 * (high - low + 1)), high + 0.1 * (high - low + 1)) if widened else (low, max(high, low + 1))
        elif widened:
            middle, most = math.sqrt(low * high), max(1.25 * math.sqrt(high / low), math.sqrt(6))
            low, high = middle / most, middle * most
        elif high == low:
            high = 10 * low
        self.low, self.high = low, high
        self.ticks = log_ticks(low, high, abs(end - begin) / (1 if widened else 2)) if log else linear_ticks(low, high)

    def __call__(self, value: float) -> float:
        low, high = self.value(self.low), self.value(self.high)
        return self.begin + (self.value(min(max(value, self.low), self.high)) - low) / (high - low) * (self.end - self.begin)


def _line(a: Point, b: Point, css: str = "") -> str:
    return f'<line class="{css}" x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'


def _text(at: Point, text: str, anchor: str) -> str:
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def drawn(plot: Plot, colours: Mapping[str, str]) -> str:
    """colours: by the names of curves."""
    points = [point for curve in plot.curves for point in curve.points]
    x = Axis([size for size, _ in points], LEFT + 8, WIDTH - RIGHT - 8, plot.log_x, False)
    y = Axis([value for _, value in points] + [most for _, most in plot.aims], HEIGHT - BOTTOM, TOP + 4, plot.log_y)
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(plot.title)} over {escape(plot.over)}">']
    for value in y.ticks:
        parts += [_line((x.begin, y(value)), (x.end, y(value))), _text((x.begin - 7, y(value) + 4), number(value), "end")]
    shown = -math.inf
    for size in sorted({size for size, _ in points}) if len({size for size, _ in points}) < 12 else x.ticks:
        parts.append(_line((x(size), y.begin), (x(size), y.end)))
        if x(size) - shown > 38:
            parts.append(_text((x(size), y.begin + 15), number(size), "middle"))
            shown = x(size)
    parts.append(_text(((x.begin + x.end) / 2, HEIGHT - 6), plot.over, "middle"))
    for curve in reversed(plot.curves):
        thin = curve.points[::len(curve.points) // MOST_POINTS + 1]
        if not plot.dots:
            parts.append(f'<path class="{colours[curve.name]}" d="M{"L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in thin)}"/>')
        if plot.dots or len(thin) < 12:
            told = (f"{curve.name}, {a:,.0f} {plot.over}: {number(b)} {plot.unit}" for a, b in thin)
            parts += [f'<circle class="{colours[curve.name]}" cx="{x(a):.1f}" cy="{y(b):.1f}" r="{2 if plot.dots else 3.4}">'
                      f"<title>{escape(tip)}</title></circle>" for (a, b), tip in zip(thin, told)]
    for size, most in plot.aims:
        if x.low <= size <= x.high:
            parts += [_line((x(size) - 40, y(most)), (x(size) + 8, y(most)), "limit"),
                      _text((x(size) + 8, y(most) - 6), f"aim ≤ {most:g}", "end")]
    return "".join(parts) + "</svg>"


def panels(plots: Sequence[Plot], grows: bool = False) -> str:
    """A curve has the same colour in all of them. grows: the words for how each grows stand beside its name."""
    colours = dict(zip(dict.fromkeys(curve.name for plot in plots for curve in plot.curves), COLOURS * 9))

    def panel(plot: Plot) -> str:
        key = "".join(f'<li><span class="dot {colours[curve.name]}"></span> {escape(curve.name)}'
                      + (f" <b>{escape(words(curve.points))}</b> {escape(exponents(curve.points))}" if grows else "") + "</li>"
                      for curve in plot.curves)
        caption = f"{plot.title}, {plot.unit}" if plot.unit else plot.title
        return f'<figure><figcaption>{escape(caption)}</figcaption>{drawn(plot, colours)}<ul class="key">{key}</ul></figure>'

    return '<div class="panels">' + "".join(panel(plot) for plot in plots if plot.curves) + "</div>"


def longer(values: Sequence[float]) -> tuple[Point, ...]:
    """How many of all took longer than a time, for an axis of powers: of those that took for ever alone the share is left."""
    ascending = sorted(value for value in values if math.isfinite(value))
    return tuple((value, (len(values) - i) / len(values)) for i, value in enumerate(ascending))


def table(heads: Sequence[str], rows: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """rows: (what, aim, values)"""
    body = "".join(f'<tr><th scope="row">{escape(what)}{f" <span class=muted>aim: {escape(aim)}</span>" if aim else ""}</th>'
                   + "".join(f"<td>{escape(value)}</td>" for value in values) + "</tr>" for what, aim, values in rows)
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    return f'<div class="scroll"><table>{f"<thead><tr>{head}</tr></thead>" if heads else ""}<tbody>{body}</tbody></table></div>'


def write(path: pathlib.Path, title: str, about: str, parts: Sequence[str]) -> str:
    """What to say of it."""
    machine = f'{os.cpu_count()} CPUs, {platform.machine()}, load {os.getloadavg()[0]:.2f}; {time.strftime("%Y-%m-%d %H:%M")}'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                    '<meta name="viewport" content="width=device-width, initial-scale=1">'
                    f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n"
                    f'<p class="muted">{escape(about)}; {machine}</p>\n' + "\n".join(parts) + "\n</body></html>\n")
    return f"  plots: {path}"

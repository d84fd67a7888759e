"""The plots of a soak over its time; each once for a wide window and once for a phone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.bench.svg import Linear, Log, Point, Svg, number, polyline

from . import latencies, report
from .sampler import all_in_step
from .soak import Result
from .troubles import KINDS

LEFT, RIGHT, TOP, AXIS = 58.0, 10.0, 12.0, 22.0
STEPS_S = (10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)


def both(draw: Callable[[float, str], str]) -> str:
    """draw(width, css class)"""
    return draw(980, "wide") + draw(370, "narrow")


class _Frame:
    """A drawing with the soak's time from left to right."""

    def __init__(self, result: Result, width: float, height: float, css: str, label: str, left: float = LEFT):
        self.result = result
        self.svg = Svg(width, height, label, css)
        self.x = Linear(0, result.samples[-1].at, left, width - RIGHT)
        self.bottom, self.height = height - AXIS, height
        self._narrow = css == "narrow"

    def begin(self) -> None:
        w = self.result.window
        self.svg.rect((self.x(0), TOP), self.x(w.begin) - self.x(0), self.bottom - TOP, "before", "not judged")
        most = 4 if self._narrow else 10
        step = next((one for one in STEPS_S if self.x.high / one <= most), STEPS_S[-1])
        for at in self.x.ticks(step):
            self.svg.line((self.x(at), TOP), (self.x(at), self.bottom), "grid")
            words = f"{at / 60:g} min" if step >= 60 else report.clock(at) if self.x.high > 120 else f"{at:g} s"
            self.svg.text((self.x(at), self.height - 6), words, "tick", "middle" if at else "start")

    def rows(self, y: Linear, values: Iterable[float], words: Callable[[float], str]) -> None:
        for value in values:
            self.svg.line((self.x.begin, y(value)), (self.x.end, y(value)), "grid")
            self.svg.text((self.x.begin - 6, y(value) + 4), words(value), "tick", "end")

    def end(self) -> str:
        self.svg.line((self.x.begin, self.bottom), (self.x.end, self.bottom), "axis")
        return str(self.svg)


def _round_step(span: float, most: int) -> float:
    rough = max(span / most, 1e-9)
    power = 10 ** math.floor(math.log10(rough))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= rough * 0.999)


def _series(result: Result, points: Sequence[Point], name: str, widest: float, fit: tuple[float, float] | None) -> str:
    """widest: what the axis spans at least, so that the least noise does not fill the drawing; fit: (value at the middle of the
    window, slope by the second)."""
    low, high = min(y for _, y in points), max(y for _, y in points)
    spare = max(0.08 * (high - low), (widest - (high - low)) / 2)
    low, high = max(0.0, low - spare), high + spare

    def draw(width: float, css: str) -> str:
        frame = _Frame(result, width, 170, css, name)
        y = Linear(low, high, frame.bottom, TOP)
        frame.begin()
        step = _round_step(high - low, 5)
        frame.rows(y, y.ticks(step), lambda value: f"{value:,.10g}")
        frame.svg.path(polyline((frame.x(at), y(value)) for at, value in points), "curve ours", name)
        if fit is not None:
            w = result.window
            middle, by_second = fit
            half = (w.end - w.begin) / 2
            frame.svg.line((frame.x(w.begin), y(middle - by_second * half)), (frame.x(w.end), y(middle + by_second * half)), "fit")
        return frame.end()

    return both(draw)


def costs(result: Result) -> Iterator[tuple[str, str]]:
    for one in result.trends:
        scale, unit = (1024.0, "MiB") if one.rule.unit == "KiB" else (1.0, one.rule.unit)
        points = [(sample.at, getattr(sample, one.rule.field) / scale) for sample in result.samples]
        if one.rule.field == "children" and not any(y for _, y in points):
            continue
        judged = sorted(y for at, y in points if at >= result.window.begin)
        middle = judged[len(judged) // 2]
        widest = max(4 * one.rule.tolerance / scale, 4 if scale == 1 else 0)
        name = f"{one.rule.name}{f', {unit}' if unit else ''}"
        yield name[0].upper() + name[1:], _series(result, points, name, widest, (middle, one.per_hour / 3600 / scale))
    cpu = report.cpu_percent(result)
    if cpu:
        yield "CPU, % of one", _series(result, cpu, "CPU", 4, None)


def _milliseconds(value: float) -> str:
    return f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms"


def latency(result: Result) -> str:
    found = [one for one in result.log.latencies if one.at <= result.samples[-1].at]
    values = [max(one.ms, 0.1) for one in found] or [1.0]

    def draw(width: float, css: str) -> str:
        frame = _Frame(result, width, 280, css, "How long each change took")
        y = Log(10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.01)), frame.bottom, TOP)
        frame.begin()
        frame.rows(y, y.decades(), _milliseconds)
        # Hundredths of a pixel make no difference, and of many in one place one is enough.
        for way in reversed(latencies.NAMES):
            places = {(number(frame.x(one.at)), number(y(max(one.ms, 0.1)))) for one in found if one.way == way}
            if places:
                frame.svg.path("".join(f"M{x} {at}h.01" for x, at in sorted(places)), f"dots {way}")
        return frame.end()

    return both(draw)


def troubles(result: Result) -> str:
    """A row for each kind, and one that says when all was in sync."""
    def draw(width: float, css: str) -> str:
        narrow = css == "narrow"
        row = 36.0 if narrow else 20.0
        frame = _Frame(result, width, TOP + row * (len(KINDS) + 1) + AXIS + 4, css, "Troubles over time", 12 if narrow else 272)
        frame.begin()

        def label(i: int, words: str) -> float:
            top = TOP + i * row
            if narrow:
                frame.svg.text((frame.x.begin, top + 13), words, "tick")
            else:
                frame.svg.text((frame.x.begin - 8, top + 15), words, "tick", "end")
            return top + row - 17

        y = label(0, "all in sync")
        since: float | None = None
        for one in [*result.samples, None]:
            if one is not None and all_in_step(one):
                since = one.at if since is None else since
            elif since is not None:
                until = one.at if one is not None else result.samples[-1].at
                frame.svg.rect((frame.x(since), y), max(frame.x(until) - frame.x(since), 0.6), 13, "instep")
                since = None
        for i, what in enumerate(KINDS, 1):
            y = label(i, what)
            for one in result.troubles:
                if one.what == what:
                    x = frame.x(one.at)
                    frame.svg.line((x, y), (x, y + 13), "trouble", f"{what} at {report.clock(one.at)}, {one.seconds:.1f} s")
        return frame.end()

    return both(draw)

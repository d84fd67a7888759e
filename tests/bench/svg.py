"""Drawing: scales and shapes as inline SVG. Colours are the page's CSS, so that a drawing follows its light or dark."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

Point = tuple[float, float]


class Linear:
    """From the values low..high to the pixels begin..end."""

    def __init__(self, low: float, high: float, begin: float, end: float):
        self.low, self.high, self.begin, self.end = low, high if high > low else low + 1, begin, end

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, step: float) -> list[float]:
        first = math.ceil(self.low / step)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


class Log(Linear):
    """The same by powers of ten."""

    def __init__(self, low: float, high: float, begin: float, end: float):
        super().__init__(math.log10(low), math.log10(high), begin, end)

    def __call__(self, value: float) -> float:
        return super().__call__(math.log10(value) if value > 0 else self.low)

    def decades(self) -> list[float]:
        return [10.0 ** power for power in range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)]


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Svg:
    """One drawing; label is what it shows, for whoever cannot see it."""

    def __init__(self, width: float, height: float, label: str, css_class: str = ""):
        self.width, self.height = width, height
        self._parts = [f'<svg class="{escape(css_class)}" viewBox="0 0 {number(width)} {number(height)}" role="img" '
                       f'aria-label="{escape(label)}">']

    def _add(self, tag: str, attributes: dict[str, object], css: str, tip: str = "", text: str = "") -> None:
        words = "".join(f' {name}="{number(value) if isinstance(value, (int, float)) else escape(str(value))}"'
                        for name, value in attributes.items())
        inside = (f"<title>{escape(tip)}</title>" if tip else "") + escape(text)
        self._parts.append(f'<{tag} class="{escape(css)}"{words}>{inside}</{tag}>' if inside
                           else f'<{tag} class="{escape(css)}"{words}/>')

    def line(self, a: Point, b: Point, css: str, tip: str = "") -> None:
        self._add("line", {"x1": a[0], "y1": a[1], "x2": b[0], "y2": b[1]}, css, tip)

    def rect(self, corner: Point, width: float, height: float, css: str, tip: str = "") -> None:
        self._add("rect", {"x": corner[0], "y": corner[1], "width": max(width, 0), "height": max(height, 0)}, css, tip)

    def circle(self, centre: Point, radius: float, css: str, tip: str = "") -> None:
        self._add("circle", {"cx": centre[0], "cy": centre[1], "r": radius}, css, tip)

    def cross(self, centre: Point, arm: float, css: str, tip: str = "") -> None:
        (x, y), a = centre, arm
        self.path(f"M{number(x - a)} {number(y - a)}L{number(x + a)} {number(y + a)}"
                  f"M{number(x - a)} {number(y + a)}L{number(x + a)} {number(y - a)}", css, tip)

    def path(self, data: str, css: str, tip: str = "") -> None:
        self._add("path", {"d": data}, css, tip)

    def text(self, at: Point, text: str, css: str = "", anchor: str = "start", tip: str = "") -> None:
        self._add("text", {"x": at[0], "y": at[1], "text-anchor": anchor}, css, tip, text)

    def __str__(self) -> str:
        return "".join(self._parts) + "</svg>"


def polyline(points: Iterable[Point]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def steps(edges: Sequence[float], values: Sequence[float], base: float) -> str:
    """The outline of a histogram: values[i] between edges[i] and edges[i + 1], standing on base; all in pixels."""
    points: list[Point] = [(edges[0], base)]
    for i, value in enumerate(values):
        points += [(edges[i], value), (edges[i + 1], value)]
    return polyline([*points, (edges[len(values)], base)]) + "Z"

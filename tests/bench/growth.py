"""How figures grow: a power of the size is fitted to them, and its exponent said in words."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

Point = tuple[float, float]
LAST = 3
"""So many of the largest sizes decide: a fixed cost hides among the small ones how it goes on."""


@dataclasses.dataclass(frozen=True)
class Curve:
    name: str
    points: tuple[Point, ...]
    """(size, figure), by size."""

    @property
    def growth(self) -> str:
        said = exponents(self.points)
        return words(self.points) + (f" ({said})" if said else "")


@dataclasses.dataclass(frozen=True)
class Plot:
    title: str
    unit: str
    over: str
    """What the sizes are of."""
    curves: tuple[Curve, ...]
    aims: tuple[Point, ...] = ()
    """(size, at most)."""
    log_x: bool = True
    log_y: bool = True
    dots: bool = False


def exponent(points: Sequence[Point]) -> float | None:
    """k of the line through log(figure) = k log(size) + c, by least squares; None: too few of them are above zero."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def words(points: Sequence[Point]) -> str:
    last = exponent(points[-LAST:])
    if last is None:
        return "too few figures to tell"
    return ("falls" if last < -0.15 else "hardly grows" if last < 0.2 else "grows less than in proportion" if last < 0.85 else
            "grows in proportion" if last <= 1.15 else "grows faster than in proportion")


def exponents(points: Sequence[Point]) -> str:
    """What the words are of; "" where there are none."""
    last, everything = exponent(points[-LAST:]), exponent(points)
    if last is None or everything is None:
        return ""
    return f"exponent {last:.2f}" + (f" of the last {LAST}, {everything:.2f} of all" if len(points) > LAST else "")

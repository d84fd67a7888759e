"""Whether a soak was flat, and what of it is a failure.

Flat: from the tenth minute on, a line through the samples (Theil-Sen: the median of the slopes between all pairs, which no
outlier moves) rises by no more than the tolerance until the end. That is reported, and no more: a heap that has found its size in
the twelfth minute is not flat and not a leak either.

A leak, which fails: the floor rises, all along. The time from the tenth minute on is cut in four; the least value in each is its
floor, since what is kept for good is there at the quietest moment, too. A leak is where each floor is above the one before, and
the last above the first by more than the tolerance. Only fds, child processes and anonymous memory can fail so.

A run that does not reach the twelfth minute reads its last two thirds instead and says so; memory that finds its size looks
like a leak there, so it may grow by FORGIVING times the tolerance.

Beside that these fail: a daemon that ends by itself, that is not in sync after the last change, or that leaves a transaction open.
No time is asserted: latencies are printed, those of the first third beside those of the last.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from .sampler import Sample

WARM_UP_S = 600.0
# So much must be left after the warm-up.
AT_LEAST_S = 120.0
FORGIVING = 4
# Medians of so many groups stand for all samples: the pairs of slopes grow with the square.
POINTS = 400


@dataclasses.dataclass(frozen=True)
class Rule:
    field: str
    name: str
    unit: str
    tolerance: float
    """Of the value, at least."""
    share: float
    """Of the value in the beginning, if that is more."""
    fails: bool


RULES = (Rule("anon_kib", "anonymous memory", "KiB", 256, 0.05, True), Rule("rss_kib", "RSS", "KiB", 512, 0.05, False),
         Rule("fds", "file descriptors", "", 2, 0, True), Rule("threads", "threads", "", 1, 0, False),
         Rule("children", "child processes", "", 1, 0, True))


@dataclasses.dataclass(frozen=True)
class Window:
    begin: float
    end: float
    warm: bool
    """It begins with the tenth minute."""


@dataclasses.dataclass(frozen=True)
class Trend:
    rule: Rule
    first: float
    """Median of the first quarter."""
    last: float
    per_hour: float
    rise: float
    """Of the line, from the begin of the window to its end."""
    floors: tuple[float, ...]
    tolerance: float
    limit: float
    """Of the floors, before they count as a leak: the tolerance, or more in a run that did not reach the tenth minute."""

    @property
    def flat(self) -> bool:
        return self.rise <= self.tolerance

    @property
    def leaks(self) -> bool:
        rising = len(self.floors) == 4 and all(b > a for a, b in zip(self.floors, self.floors[1:]))
        return self.rule.fails and rising and self.floors[-1] - self.floors[0] > self.limit


def window(end: float) -> Window:
    if end >= WARM_UP_S + AT_LEAST_S:
        return Window(WARM_UP_S, end, True)
    return Window(end / 3, end, False)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Theil-Sen; 0 with fewer than two points."""
    size = -(-len(points) // POINTS)
    groups = [points[i:i + size] for i in range(0, len(points), size)] if size else []
    thin = [(statistics.median(x for x, _ in group), statistics.median(y for _, y in group)) for group in groups]
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(thin) for x2, y2 in thin[i + 1:] if x2 > x1]
    return statistics.median(slopes) if slopes else 0.0


def parts(points: Sequence[tuple[float, float]], begin: float, end: float, n: int) -> list[list[float]]:
    """The values in each n-th of the time."""
    found: list[list[float]] = [[] for _ in range(n)]
    for at, value in points:
        if begin <= at <= end:
            found[min(int((at - begin) / (end - begin) * n), n - 1)].append(value)
    return found


def trend(rule: Rule, samples: Sequence[Sample], w: Window) -> Trend:
    points = [(one.at, float(getattr(one, rule.field))) for one in samples if w.begin <= one.at <= w.end]
    quarters = [quarter for quarter in parts(points, w.begin, w.end, 4) if quarter]
    if not quarters:
        return Trend(rule, 0, 0, 0, 0, (), rule.tolerance, rule.tolerance)
    first = statistics.median(quarters[0])
    tolerance = max(rule.tolerance, rule.share * first)
    limit = tolerance if w.warm or not rule.share else rule.tolerance * FORGIVING
    by_second = slope(points)
    return Trend(rule, first, statistics.median(quarters[-1]), by_second * 3600, by_second * (w.end - w.begin),
                 tuple(min(quarter) for quarter in quarters), tolerance, limit)


def trends(samples: Sequence[Sample], w: Window) -> list[Trend]:
    return [trend(rule, samples, w) for rule in RULES]


def leaks(found: Sequence[Trend]) -> list[str]:
    """What fails, in words."""
    words = []
    for one in found:
        if one.leaks:
            floors = " -> ".join(f"{floor:,.0f}" for floor in one.floors)
            words.append(" ".join([one.rule.name, "grows all along, at least", floors, one.rule.unit]).rstrip())
    return words


# Connections to peers are kept for the next request, and there may be one more of them than in the beginning.
SPARE_FDS = 4


def left_over(before: Sample, after: Sample) -> list[str]:
    """What fails, in words, of the daemon at rest before the first change and after the last."""
    found = []
    if after.fds > before.fds + SPARE_FDS:
        found.append(f"{after.fds} file descriptors at rest, of which there were {before.fds} before the first change")
    if after.children > before.children:
        found.append(f"{after.children} child processes at rest, of which there were {before.children} before the first one")
    return found

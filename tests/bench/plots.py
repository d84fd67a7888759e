"""The plots of the report: how long connections took, and what happened when."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from tests.harness.load_records import SLOW_S

from .rollout import Run
from .stage import NODES
from .svg import Linear, Log, Point, Svg, polyline, steps

SECONDS_TO_MS = 1000


def _milliseconds(value: float) -> str:
    return f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms"


# --- how long connections took


def _survivors(run: Run, x: Log, y: Log) -> list[Point]:
    """How many of all took longer than x; those that failed took for ever. One point for each pixel."""
    seconds, total = run.traffic.seconds(), len(run.traffic.connections)
    points: list[Point] = [(x.begin, y(1))]
    for i, took in enumerate(seconds):
        at = x(took * SECONDS_TO_MS)
        if at - points[-1][0] < 0.5 and i + 1 < len(seconds):
            continue
        left = (total - i - 1) / total
        points += [(at, points[-1][1]), (at, y(left) if left else y.begin)]
    if points[-1][1] < y.begin:
        points.append((x.end, points[-1][1]))
    return points


def latency(runs: Sequence[Run], width: float = 440, height: float = 260) -> str:
    """The runs on one HAProxy, one line each."""
    everything = [took * SECONDS_TO_MS for run in runs for took in run.traffic.seconds()] or [1.0]
    most = max(len(run.traffic.connections) for run in runs)
    svg = Svg(width, height, f"Share of connections that took longer than a time, HAProxy {runs[0].haproxy}")
    x = Log(min(0.1, min(everything)) if min(everything) < 0.2 else 0.2, max(2000.0, max(everything)) * 1.3, 46, width - 12)
    y = Log(10 ** -len(str(most)), 1, height - 40, 14)
    for share in y.decades()[1:]:
        svg.line((x.begin, y(share)), (x.end, y(share)), "grid")
        svg.text((x.begin - 6, y(share) + 4), f"{share * 100:g} %", "tick", "end")
    for took in x.decades():
        svg.line((x(took), y.begin), (x(took), y.end), "grid")
        svg.text((x(took), y.begin + 15), _milliseconds(took), "tick", "middle")
    slow = x(SLOW_S * SECONDS_TO_MS)
    svg.line((slow, y.begin), (slow, y.end), "limit")
    svg.text((slow - 5, y.end + 10), "slow: > 0.5 s", "tick", "end")
    svg.line((x.begin, y.begin), (x.end, y.begin), "axis")
    for run in reversed(runs):
        svg.path(polyline(_survivors(run, x, y)), f"curve {colour(run)}", run.controller.name)
    svg.text(((x.begin + x.end) / 2, height - 6), "connection time", "tick", "middle")
    return str(svg)


def colour(run: Run) -> str:
    return "ours" if run.controller.ours else "other"


# --- what happened when

ROW, STRIP, TROUBLE, AXIS = 34.0, 18.0, 58.0, 22.0


class _Timeline:
    def __init__(self, run: Run, width: float, narrow: bool):
        self.run, self.narrow = run, narrow
        self.bin_s = 0.5 if narrow else 0.25
        left = 62.0 if narrow else 66.0
        self.x = Linear(0, run.end - run.begin, left, width - 8)
        self.top = 2 * STRIP + 6
        self.bottom = self.top + len(NODES) * ROW
        self.height = self.bottom + TROUBLE + AXIS + 10
        self.svg = Svg(width, self.height, f"Connections over time, {run.controller.name} with HAProxy {run.haproxy}",
                       "narrow" if narrow else "wide")

    def draw(self) -> str:
        self._axis()
        for i, node in enumerate(NODES):
            self._node(node, self.top + i * ROW)
        self._strips()
        self._trouble()
        return str(self.svg)

    def _at(self, when: float) -> float:
        return self.x(when - self.run.begin)

    def _label(self, y: float, text: str, tip: str = "") -> None:
        self.svg.text((self.x.begin - 8, y), text, "tick", "end", tip)

    def _axis(self) -> None:
        y = self.height - AXIS
        for second in self.x.ticks(10 if self.narrow else 5):
            self.svg.line((self.x(second), self.top), (self.x(second), y), "grid")
            self.svg.text((self.x(second), y + 15), f"{second:g} s", "tick", "middle" if second else "start")

    def _node(self, node: str, top: float) -> None:
        base = top + ROW - 8
        self._bands(node, top, base)
        starts = sorted(c.start - self.run.begin for c in self.run.traffic.connections if c.node == node)
        bins = int((self.run.end - self.run.begin) / self.bin_s) + 1
        until = [bisect.bisect_left(starts, i * self.bin_s) for i in range(bins + 1)]
        counts = [later - earlier for earlier, later in zip(until, until[1:])]
        fair = self._fair()
        y = Linear(0, max(2.5 * fair, 1), base, top + 2)
        self.svg.path(steps([self.x(i * self.bin_s) for i in range(bins + 1)], [y(c) for c in counts], base),
                      f"area {colour(self.run)}", f"{node}: {len(starts)} new connections")
        self._label(base - 6, node)
        self._rotation(node, base + 2)

    def _fair(self) -> float:
        """A node's share of the connections in one bin."""
        return len(self.run.traffic.connections) / max(self.run.end - self.run.begin, 1) * self.bin_s / len(NODES)

    def _bands(self, node: str, top: float, base: float) -> None:
        at = {mark.what: self._at(mark.at) for mark in self.run.marks if mark.node == node}
        if len(at) < 3:
            return
        for what, then in (("terminating", "gone"), ("gone", "ready")):
            self.svg.rect((at[what], top + 1), at[then] - at[what], base - top - 1, what, f"{node}: {what}")
        self.svg.line((at["ready"], top + 1), (at["ready"], base), "ready", f"{node}: ready again")

    def _rotation(self, node: str, y: float) -> None:
        """A bar wherever the running HAProxy itself has the node in rotation."""
        seen = [(at, state) for at, name, state in self.run.seen.servers if name == node]
        since: float | None = None
        for at, state in [*seen, (self.run.end, "end")]:
            if since is not None:
                x, until = self._at(since), self._at(min(at, self.run.end))
                self.svg.rect((x, y), until - x, 2.5, f"rotation {colour(self.run)}", f"{node} in rotation")
            since = at if state == "live" else None

    def _strips(self) -> None:
        commits = [(at, version) for at, version in self.run.seen.versions[1:]]
        self._label(STRIP - 4, "commits")
        for at, version in commits:
            self.svg.line((self._at(at), 4), (self._at(at), STRIP), "commit", f"version {version} at {at - self.run.begin:.2f} s")
        self._label(2 * STRIP - 2, "reloads")
        for at in self.run.seen.reloads():
            x = self._at(at)
            self.svg.line((x, STRIP + 6), (x, self.bottom), "reload", f"reload at {at - self.run.begin:.2f} s")
            self.svg.circle((x, STRIP + 12), 3.5, "reload-dot", f"reload at {at - self.run.begin:.2f} s")

    def _trouble(self) -> None:
        top, base = self.bottom + 10, self.bottom + TROUBLE
        traffic = self.run.traffic
        longest = max([c.seconds for c in [*traffic.failed, *traffic.slow]] + [1.0])
        y = Linear(0, longest * 1.1, base, top)
        self.svg.line((self.x.begin, base), (self.x.end, base), "axis")
        self._label(top + 8, "slow,")
        self._label(top + 22, "failed")
        if not traffic.slow and not traffic.failed and not traffic.broken:
            self.svg.text(((self.x.begin + self.x.end) / 2, base - 14), "none slow, none failed, none broken", "none", "middle")
            return
        self.svg.text((self.x.end, y(longest) - 2), f"{longest:.1f} s", "tick", "end")
        self.svg.line((self.x.begin, y(longest)), (self.x.end, y(longest)), "grid")
        for c in traffic.slow:
            self.svg.circle((self._at(c.start), y(c.seconds)), 2.2, "slow", f"{c.seconds:.2f} s, {c.node}")
        for c in traffic.failed:
            self.svg.cross((self._at(c.start), y(c.seconds)), 3.5, "failed", f"failed after {c.seconds:.2f} s: {c.error}")
        for v in traffic.broken:
            x = self._at(v.end)
            self.svg.line((x, top), (x, base), "broken", f"long-lived one to {v.node} broken: {v.error}")


def timeline(run: Run) -> str:
    """For a wide window and for a phone: the style sheet shows one of them."""
    return _Timeline(run, 980, False).draw() + _Timeline(run, 370, True).draw()

"""What the load generator writes down, one JSON array a line, and what can be asked of it. All times are time.monotonic()'s, which
is the same clock in every process of a machine."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Sequence

SLOW_S = 0.5


@dataclasses.dataclass(frozen=True)
class Connection:
    due: float
    """When it was to begin: the generator waits for no answer before it begins the next one."""
    start: float
    end: float
    node: str
    """Who answered; "" nobody."""
    error: str = ""

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def seconds_from_due(self) -> float:
        """With what the generator itself was late."""
        return self.end - self.due

    @property
    def failed(self) -> bool:
        return not self.node

    @property
    def slow(self) -> bool:
        return not self.failed and self.seconds > SLOW_S


@dataclasses.dataclass(frozen=True)
class Visit:
    """A connection that stays and talks, from its beginning to its end."""
    number: int
    node: str
    start: float
    end: float
    talks: int
    slowest: float
    """Of its talks, in seconds."""
    error: str
    """Why it broke; "" where the generator ended it."""


@dataclasses.dataclass(frozen=True)
class Traffic:
    connections: tuple[Connection, ...]
    visits: tuple[Visit, ...]

    @property
    def failed(self) -> list[Connection]:
        return [c for c in self.connections if c.failed]

    @property
    def slow(self) -> list[Connection]:
        return [c for c in self.connections if c.slow]

    @property
    def broken(self) -> list[Visit]:
        return [v for v in self.visits if v.error]

    @property
    def latest(self) -> float:
        """How late the generator was at most: with more than some milliseconds, slow ones may be its own fault."""
        return max((c.start - c.due for c in self.connections), default=0.0)

    def between(self, begin: float, end: float = math.inf) -> "Traffic":
        """Connections that began in that time, and visits that were there then."""
        return Traffic(tuple(c for c in self.connections if begin <= c.start < end),
                       tuple(v for v in self.visits if v.start < end and v.end >= begin))

    def last_of(self, node: str) -> float | None:
        """When the last new connection that this node answered began."""
        return max((c.start for c in self.connections if c.node == node), default=None)

    def seconds(self) -> list[float]:
        """Of the connections that were answered, shortest first."""
        return sorted(c.seconds for c in self.connections if not c.failed)

    def describe(self) -> str:
        """For the message of an assertion: the figures, and what went wrong first."""
        wrong = [f"{c.start:.3f} s, {c.seconds:.3f} s long, {c.error or c.node}" for c in [*self.failed, *self.slow][:5]]
        wrong += [f"visit {v.number} to {v.node or 'nobody'} at {v.end:.3f} s: {v.error}" for v in self.broken[:5]]
        return (f"{len(self.connections)} connections, {len(self.failed)} failed, {len(self.slow)} slow; "
                f"{len(self.visits)} visits, {len(self.broken)} broken; "
                f"the generator was {self.latest:.3f} s late at most" + "".join(f"\n  {line}" for line in wrong))


def percentile(ascending: Sequence[float], percent: float) -> float | None:
    """The nearest rank; None of nothing."""
    if not ascending:
        return None
    return ascending[max(0, math.ceil(percent / 100 * len(ascending)) - 1)]


_KINDS: dict[str, Callable[..., Connection | Visit]] = {"connection": Connection, "visit": Visit}


def line_of(record: Connection | Visit) -> str:
    return json.dumps([type(record).__name__.lower(), *dataclasses.astuple(record)])


def parse(lines: Iterable[str]) -> Traffic:
    """A last line that is still being written is left out."""
    made = [_KINDS[kind](*fields) for kind, *fields in (json.loads(line) for line in lines if line.endswith("\n"))]
    connections = sorted((r for r in made if isinstance(r, Connection)), key=lambda c: c.start)
    return Traffic(tuple(connections), tuple(r for r in made if isinstance(r, Visit)))

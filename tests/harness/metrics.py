"""Prometheus text, parsed strictly enough that a page which Prometheus would refuse fails a test."""

from __future__ import annotations

import re

PREFIX = "haproxy_k8s_sync_"

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)')

Labels = frozenset[tuple[str, str]]


def _labels(text: str, line: str) -> Labels:
    labels: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        found = _LABEL.match(text, at)
        if not found:
            raise ValueError(f"bad labels in metrics line {line!r}")
        value = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], found[2])
        labels.append((found[1], value))
        at = found.end()
    return frozenset(labels)


class Metrics:
    """One scrape. Names may be given without the program's own prefix."""

    def __init__(self, text: str):
        self.samples: dict[str, dict[Labels, float]] = {}
        self.types: dict[str, str] = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.types[name] = kind
            elif line and not line.startswith("#"):
                self._add(line)

    def _add(self, line: str) -> None:
        found = _SAMPLE.match(line)
        if not found:
            raise ValueError(f"bad metrics line {line!r}")
        family = self.samples.setdefault(found[1], {})
        labels = _labels(found[2] or "", line)
        if labels in family:
            raise ValueError(f"metrics line given twice: {line!r}")
        family[labels] = float(found[3])

    def _family(self, name: str) -> dict[Labels, float]:
        return self.samples.get(PREFIX + name) or self.samples.get(name) or {}

    def sum(self, name: str, **labels: str) -> float:
        """Of every sample that has these labels; 0 where there is none."""
        wanted = set(labels.items())
        return sum(value for have, value in self._family(name).items() if wanted <= have)

    def value(self, name: str, **labels: str) -> float:
        """Of the one sample that has these labels."""
        wanted = set(labels.items())
        found = [value for have, value in self._family(name).items() if wanted <= have]
        if len(found) != 1:
            raise KeyError(f"{len(found)} samples of {name} with {labels}")
        return found[0]

    def state(self, name: str, **labels: str) -> str:
        """Which of a state set: exactly one of its series is 1, the others 0; "" where there are none."""
        values = {dict(have)["state"]: value for have, value in self._family(name).items() if set(labels.items()) <= have}
        if sorted(values.values()) != [0] * (len(values) - 1) + [1] * bool(values):
            raise ValueError(f"no state set: {name} {values}")
        return next((state for state, value in values.items() if value), "")

    def by(self, name: str, label: str) -> dict[str, float]:
        """Sums of a family by the values of one label."""
        sums: dict[str, float] = {}
        for have, value in self._family(name).items():
            key = dict(have).get(label, "")
            sums[key] = sums.get(key, 0.0) + value
        return sums

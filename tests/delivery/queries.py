"""What an expression of PromQL asks for, found by its form, and what the daemon has, by its own source."""

from __future__ import annotations

import functools
import re

from tests.harness.metrics import PREFIX
from tests.harness.process import ROOT

_REGISTERED = re.compile(r'METRIC_(\w+),\s*"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*"([\w,]*)\*?"\s*\}')
_PROCESS = re.compile(r'\{"(process_\w+)", "(\w+)", "')


@functools.cache
def known_metrics() -> dict[str, frozenset[str]]:
    """Name -> labels, with the names that a histogram's parts have."""
    found = {}
    for kind, name, _, labels in _REGISTERED.findall((ROOT / "src" / "report" / "metric_table.c").read_text()):
        own = frozenset(labels.split(",")) - {""}
        parts = ("_bucket", "_sum", "_count") if kind == "HISTOGRAM" else ("",)
        for part in parts:
            found[PREFIX + name + part] = own | ({"le"} if part == "_bucket" else frozenset())
    for name, _ in _PROCESS.findall((ROOT / "src" / "host" / "process.c").read_text()):
        found[name] = frozenset()
    return found


def families() -> set[str]:
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in known_metrics()}


def _without_strings(expr: str) -> str:
    return re.sub(r'"[^"]*"', '""', expr)


def metric_names(expr: str) -> set[str]:
    return set(re.findall(rf"\b(?:{PREFIX}\w+|process_\w+|up\b)", _without_strings(expr)))


def _matchers(expr: str) -> list[tuple[str, str, str]]:
    """(metric, label, value) of each matcher."""
    return [(metric, label, value) for metric, inner in re.findall(r"(\w+)\{([^}]*)\}", expr)
            for label, value in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', inner)]


def matched_values(expr: str, labels: tuple[str, ...]) -> set[str]:
    return {value for _, label, value in _matchers(expr) if label in labels}


def unknown_labels(expr: str, of_targets: set[str]) -> list[str]:
    """Labels that a matcher, a by (...) or an on (...) names and that none of its metrics has."""
    metrics = {"up": frozenset(), **known_metrics()}
    odd = [f"{metric}{{{label}}}" for metric, label, _ in _matchers(expr) if label not in of_targets | metrics[metric]]
    all_labels = of_targets.union(*(metrics[name] for name in metric_names(expr)))
    grouped = {name.strip() for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", expr) for name in group.split(",")}
    return odd + sorted(grouped - all_labels)


def clusters_lost(expr: str) -> list[str]:
    """What brings the series of several clusters together: an aggregation or a vector match that does not keep `cluster`, or one by no
    labels at all."""
    text = _without_strings(expr)
    lists = re.findall(r"\b(?:by|on) \(([^)]*)\)", text)
    lost = [labels for labels in lists if "cluster" not in {name.strip() for name in labels.split(",")}]
    return lost + re.findall(r"\b(?:sum|max|min|avg|count)\s*\(", text) + re.findall(r"\b(?:without|ignoring)\b", text)

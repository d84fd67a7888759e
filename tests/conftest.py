"""Skips are told by their reason, however many tests had it."""

from __future__ import annotations

import collections
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, (tuple, list))
                                  else str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")

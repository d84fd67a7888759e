"""Skips are told by their reason, however many tests had it. SIGINT ends what the tests start, even where a shell that runs them in
the background has it ignored: it is handled here, and so the default there."""

from __future__ import annotations

import collections
import signal
from typing import Any

signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, (tuple, list))
                                  else str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")

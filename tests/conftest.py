"""What a newcomer cannot have is not collected, and reported in one line. Skips are reported by their reason, however many tests had it. SIGINT
ends what the tests start, even where a shell that runs them in the background has it ignored: it is handled here, and so the default
there. TIMES=1: what each file and the longest tests took."""

from __future__ import annotations

import collections
import os
import resource
import signal
from collections.abc import Iterator
from typing import Any

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)
TIMES = bool(os.environ.get("TIMES"))


def _cpu_s() -> float:
    """Of this process and of all its children that have ended."""
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[BEGAN] = _cpu_s()
    yield


BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    now = _cpu_s()
    report.user_properties.append(("cpu_s", now - item.stash[BEGAN]))
    item.stash[BEGAN] = now


def _tell_times(terminalreporter: Any) -> None:
    by: dict[str, collections.defaultdict[str, list[float]]] = {"file": collections.defaultdict(lambda: [0.0, 0.0]), "test": collections.defaultdict(lambda: [0.0, 0.0])}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "user_properties") and hasattr(report, "duration"):
                # The list is the item's own: its last entry is this phase's.
                cpu_s = dict(report.user_properties).get("cpu_s", 0.0)
                for key, name in (("file", report.nodeid.partition("::")[0]), ("test", report.nodeid)):
                    by[key][name][0] += cpu_s
                    by[key][name][1] += report.duration
    for key, most in (("file", 1000), ("test", 60)):
        for name, (cpu_s, wall_s) in sorted(by[key].items(), key=lambda row: -row[1][1])[:most]:
            terminalreporter.write_line(f"time: {cpu_s:7.2f} s CPU {wall_s:7.2f} s {name}")
    terminalreporter.write_line("time: {:7.2f} s CPU {:7.2f} s of tests in all".format(*map(sum, zip(*by["file"].values()))))


# Of a part that is not here (tests/harness/parts.py), how many cases that need it.
NOT_RUN = pytest.StashKey[dict[str, int]]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(part, here): is not collected where the part is not here")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lacks = {item: mark.args[0] for item in items for mark in item.iter_markers("needs") if not mark.args[1]}
    items[:] = [item for item in items if item not in lacks]
    config.stash[NOT_RUN] = dict(collections.Counter(lacks.values()))
    if hasattr(config, "workeroutput"):
        config.workeroutput["not_run"] = config.stash[NOT_RUN]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each worker collects everything: any of them can say it."""
    node.config.stash[NOT_RUN] = getattr(node, "workeroutput", {}).get("not_run") or node.config.stash.get(NOT_RUN, {})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not_run := terminalreporter.config.stash.get(NOT_RUN, {}):
        terminalreporter.write_line(f"not run: {sum(not_run.values())} cases that need {', '.join(not_run)} (make e2e-full)")
    reasons = collections.Counter(report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, (tuple, list))
                                  else str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")
    if TIMES:
        _tell_times(terminalreporter)

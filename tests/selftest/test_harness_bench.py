"""What the bench of the rolling update counts and draws, from runs that are made up: its figures are those that one can count
by hand."""

from __future__ import annotations

import collections
import dataclasses
import math
import pathlib
import re

import pytest

from tests.bench import access_log, figures, rolling
from tests.bench.observer import Seen
from tests.bench.observer_worker import state_of
from tests.bench.rollout import Mark, Run
from tests.bench.stage import NODES, Controller, Settings
from tests.harness.load_records import Connection, Traffic, Visit

REAL_LOG = r'''
level=info msg="127.0.0.1 - - [x] \"POST /v3/services/haproxy/transactions?version=1 HTTP/1.1\" 201 99"
level=info msg="\"POST /v3/services/haproxy/configuration/backends/b/servers?transaction_id=1 HTTP/1.1\" 202 9"
level=info msg="127.0.0.1 - - [x] \"PUT /v3/services/haproxy/transactions/1 HTTP/1.1\" 202 78"
level=info msg="127.0.0.1 - - [x] \"GET /v3/services/haproxy/reloads/2026-01-01-0 HTTP/1.1\" 200 78"
level=info msg="\"PUT /v3/services/haproxy/configuration/backends/b/servers/a?version=2 HTTP/1.1\" 200 60"
level=info msg="\"PUT /v3/services/haproxy/configuration/backends/b/servers/a?version=3 HTTP/1.1\" 202 60"
level=info msg="\"PUT /v3/services/haproxy/configuration/backends/b/servers/a?version=3 HTTP/1.1\" 409 60"
level=info msg="\"PUT /v3/services/haproxy/runtime/backends/b/servers/a HTTP/1.1\" 200 103"
level=info msg="\"POST /v3/services/haproxy/configuration/raw?version=3&skip_reload=true HTTP/1.1\" 201 103"
'''


def as_double(log: str) -> str:
    return "".join(f"{method} {path} -> {status} in 1.0 ms\n"
                   for method, path, status in re.findall(r'\\"(\S+) (\S+) HTTP/1.1\\" (\d+)', log))


@pytest.mark.parametrize("log", [REAL_LOG, as_double(REAL_LOG)], ids=["real", "double"])
def test_writes_are_counted_by_kind(log: str) -> None:
    assert access_log.count(log) == {access_log.TRANSACTION: 1, access_log.FAST: 1, access_log.RELOADING: 1, access_log.RUNTIME: 1,
                                     access_log.REFUSED: 1, access_log.WHOLE: 1}


@pytest.mark.parametrize(("operational", "administrative", "state"), [
    (2, 0, "live"), (0, 0, "down"), (2, 0x08, "drain"), (0, 0x01, "maint"), (0, 0x05, "maint"), (0, 0x09, "maint"),
    (2, 0x04, "live"), (0, 0x20, "maint")])
def test_state_of_a_server(operational: int, administrative: int, state: str) -> None:
    """0x04 says that haproxy.cfg has it in maintenance, which stays set when the runtime ends it."""
    assert state_of(operational, administrative) == state


def connections(node: str, begin: float, end: float, every: float = 0.1) -> list[Connection]:
    return [Connection(begin + i * every, begin + i * every, begin + i * every + 0.001, node)
            for i in range(round((end - begin) / every))]


def made_run(out_after: float | None, ours: bool = True, **more: object) -> Run:
    """node-1 terminates at 12.0, is gone at 14.0 and ready at 15.0; it leaves the rotation so much later, and is back at 15.25."""
    servers = [(10.0, node, "live") for node in NODES]
    if out_after is not None:
        servers += [(12.0 + out_after, "node-1", "drain"), (12.5 + out_after, "node-1", "maint"), (15.25, "node-1", "live")]
    seen = Seen(((10.0, 7), (12.1, 8), (12.3, 9)), ((10.0, (100,)), (13.0, (100, 101)), (16.0, (101,))), tuple(servers), 0.002)
    traffic = Traffic(tuple(connections("node-1", 10, 12.02) + connections("node-2", 10, 20)
                            + [Connection(14.5, 14.5, 17.5, "", "an empty answer"), Connection(14.6, 14.61, 15.62, "node-2")]),
                      (Visit(0, "node-1", 10.0, 20.0, 99, 0.004, ""), Visit(1, "node-2", 10.0, 13.0, 30, 0.003, "hung up")))
    marks = (Mark(12.0, "terminating", "node-1"), Mark(14.0, "gone", "node-1"), Mark(15.0, "ready", "node-1"))
    controller = Controller("haproxy-k8s-sync" if ours else "an/<other>", pathlib.Path("/x"), ours)
    made = Run(controller, "2.6.12", "double 3.4", 10.0, 20.0, marks, traffic, seen,
               collections.Counter({access_log.TRANSACTION: 1, access_log.FAST: 1, access_log.RUNTIME: 3}), {})
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def test_figures() -> None:
    found = figures.of(made_run(0.003))
    assert (found.commits, found.transactions, found.fast, found.runtime_calls) == (2, 1, 1, 3)
    assert (found.reloads, found.workers) == (1, 2)
    assert (found.failed, found.slow, found.broken) == (1, 1, 1)
    assert found.out_ms == pytest.approx((3.0,)) and found.back_ms == pytest.approx((250.0,))
    assert found.last_ms == pytest.approx((-100.0,)), "the last that it answered began at 11.9"
    assert found.p50_ms == pytest.approx(1.0) and found.max_ms == pytest.approx(1010.0)
    assert found.slowest_talk_ms == pytest.approx(4.0) and found.generator_late_ms == pytest.approx(10.0)
    assert found.own_commit_ms is None


def test_a_node_that_does_not_leave_in_time_never_did() -> None:
    for after in (None, 3.1):
        assert figures.of(made_run(after)).out_ms == (math.inf,)
    assert figures.of(made_run(None)).back_ms == (), "nor did it come back"
    text = dict((what, values) for what, _, values in figures.rows([figures.of(made_run(None))]))
    assert text["terminating: out of rotation p50 / max"] == ["never / never (1 of 1)"]


def test_a_controllers_own_metrics() -> None:
    own = {"watch_event_to_runtime_seconds_sum": 0.012, "watch_event_to_runtime_seconds_count": 6.0, "watch_event_to_commit_seconds_count": 0.0,
           "watch_event_to_commit_seconds_sum": 0.0}
    found = figures.of(made_run(0.003, own=own))
    assert found.own_runtime_ms == pytest.approx(2.0) and found.own_commit_ms is None
    shown = [what for what, _, _ in figures.rows([found])]
    assert any("event to runtime" in what for what in shown) and not any("event to commit" in what for what in shown)


def test_page(tmp_path: pathlib.Path) -> None:
    dead = Traffic((Connection(11, 11, 26, "", "no answer"),), ())
    runs = [made_run(0.003), made_run(None, ours=False), made_run(None, traffic=dead, haproxy="3.0.1")]
    rolling._page(runs, "a <kube>", Settings(), tmp_path / "rolling.html")
    page = (tmp_path / "rolling.html").read_text()
    assert "<kube>" not in page and "<other>" not in page and page.count("<figure>") == 2
    assert page.count("an/&lt;other&gt;, HAProxy 2.6.12</th>") == 1 and "never / never (1 of 1)" in page

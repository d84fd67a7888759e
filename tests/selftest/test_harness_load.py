"""The load generator and its nodes: what they say of a server that is late, dead, or hangs up, is what happened."""

from __future__ import annotations

import math
import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from tests.harness.backends import node_port
from tests.harness.load import Load
from tests.harness.load_records import Connection, Traffic, Visit, line_of, parse, percentile
from tests.harness.nodes import Nodes
from tests.harness.process import free_port, wait_until

NODES = {"node-a": "127.0.11.1", "node-b": "127.0.11.2"}
HOST = NODES["node-a"]


@pytest.fixture
def nodes(tmp_path: pathlib.Path) -> Iterator[Nodes]:
    with Nodes(NODES, node_port(NODES.values()), tmp_path / "nodes") as made:
        yield made


def loaded(nodes: Nodes, home: pathlib.Path, **more: float) -> Load:
    """Straight at node-a: no HAProxy in between."""
    return Load(nodes.port, home / "load", host=HOST, **more)  # type: ignore[arg-type]


def wait_connections(load: Load, count: int, since: float = -math.inf) -> None:
    wait_until(lambda: len(load.so_far().between(since).connections) >= count, 20, f"{count} connections", 0.05)


def test_each_connection_is_answered_and_on_time(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    with loaded(nodes, tmp_path, rate=200, visits=4) as load:
        wait_connections(load, 200)
    traffic = load.stop()
    assert not traffic.failed and not traffic.slow and not traffic.broken, traffic.describe()
    assert {c.node for c in traffic.connections} == {v.node for v in traffic.visits} == {"node-a"}
    assert nodes.asked("node-a") == len(traffic.connections) + len(traffic.visits)
    assert nodes.asked("node-b") == 0
    assert len(traffic.visits) == 4 and all(v.talks > 0 for v in traffic.visits)
    dues = sorted(c.due for c in traffic.connections)
    assert all(later - earlier == pytest.approx(1 / 200, abs=1e-6) for earlier, later in zip(dues, dues[1:]))
    assert all(c.due <= c.start <= c.end for c in traffic.connections)


def test_a_late_answer_is_slow_and_does_not_hold_up_the_others(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    with loaded(nodes, tmp_path, rate=100) as load:
        wait_connections(load, 20)
        nodes.late("node-a", 1.0)
        from_then_on = time.monotonic()
        wait_until(lambda: load.so_far().slow, 20, "slow connections", 0.05)
        begun = nodes.asked("node-a")
        nodes.late("node-a", 0)
        until_then = time.monotonic()
        wait_connections(load, 20, until_then)
    traffic = load.stop()
    assert not traffic.failed, traffic.describe()
    late = traffic.between(from_then_on, until_then)
    assert len(late.slow) >= 50, "an open loop goes on while nobody answers"
    assert all(c.seconds >= 1.0 for c in late.slow) and begun >= len(traffic.between(-math.inf, from_then_on).connections)
    assert not traffic.between(until_then).slow


def test_the_generator_stopped_for_a_while_begins_what_was_due(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    """What it was late itself is told apart from what the other end was."""
    with loaded(nodes, tmp_path, rate=100) as load:
        wait_connections(load, 20)
        os.kill(load.pid, signal.SIGSTOP)
        in_the_middle = time.monotonic() + 0.4
        continued = threading.Timer(0.8, os.kill, (load.pid, signal.SIGCONT))
        continued.start()
        continued.join()
        wait_connections(load, 20, time.monotonic())
    traffic = load.stop()
    # A request that was under way then could not but be slow.
    assert not traffic.failed and not traffic.between(in_the_middle).slow, traffic.describe()
    assert traffic.latest > 0.5 and "late" in traffic.describe()
    assert any(c.seconds_from_due > 0.5 for c in traffic.between(in_the_middle).connections)
    dues = sorted(c.due for c in traffic.connections)
    assert max(later - earlier for earlier, later in zip(dues, dues[1:])) < 0.011


def test_nobody_there_is_a_failure(tmp_path: pathlib.Path) -> None:
    with Load(free_port(), tmp_path, rate=100, visits=1) as load:
        wait_connections(load, 10)
    traffic = load.stop()
    assert len(traffic.failed) == len(traffic.connections) and not traffic.slow
    assert "refused" in traffic.failed[0].error.lower()
    assert traffic.broken and "refused" in traffic.describe().lower()


def test_a_deaf_node_refuses_the_new_and_keeps_who_is_there(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    with loaded(nodes, tmp_path, rate=100, visits=3) as load:
        wait_connections(load, 20)
        nodes.deaf("node-a")
        wait_until(lambda: len(load.so_far().failed) >= 20, 20, "failures", 0.05)
        nodes.listen("node-a")
        listening = time.monotonic()
        wait_connections(load, 20, listening)
    traffic = load.stop()
    assert not traffic.broken, traffic.describe()
    assert not traffic.between(listening).failed, traffic.describe()


def test_a_node_that_hangs_up_breaks_its_visits_which_come_again(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    with loaded(nodes, tmp_path, rate=20, visits=3) as load:
        # Visits are written when they end: that all are there is seen by what node-a was asked.
        wait_until(lambda: nodes.asked("node-a") - len(load.so_far().connections) >= 3, 20, "three visits", 0.05)
        wait_until(lambda: nodes.drop("node-a") >= 3, 20, "three visits dropped")
        wait_until(lambda: len(load.so_far().broken) >= 3, 20, "three broken visits", 0.05)
    traffic = load.stop()
    assert {v.number for v in traffic.broken} == {0, 1, 2}
    # Who is hung up on before it has read the answer knows no node.
    assert {v.node for v in traffic.broken} <= {"node-a", ""} and all("hung up" in v.error or "reset" in v.error for v in traffic.broken)
    # Begun anew where there was time for it, and ended by us.
    assert all(not v.error for v in traffic.visits if v not in traffic.broken)


def test_an_empty_answer_is_a_failure(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    with loaded(nodes, tmp_path, rate=50) as load:
        nodes.late("node-a", 30)
        wait_until(lambda: nodes.asked("node-a") >= 5 and nodes.drop("node-a"), 20, "connections to hang up on")
        wait_until(lambda: load.so_far().failed, 20, "failures", 0.05)
        nodes.late("node-a", 0)
        nodes.drop("node-a")
        wait_until(lambda: any(not c.failed for c in load.so_far().connections), 20, "answers", 0.05)
    assert load.stop().failed[0].error


def test_it_ends_with_its_time(nodes: Nodes, tmp_path: pathlib.Path) -> None:
    load = loaded(nodes, tmp_path, rate=100, seconds=0.5).start()
    assert load._worker
    load._worker.popen.wait(20)
    assert 0 < len(load.stop().connections) < 100


def test_records_are_read_as_they_were_written() -> None:
    connection = Connection(1.0, 1.001, 1.6, "node-a")
    visit = Visit(3, "node-b", 1.0, 9.0, 80, 0.002, "hung up")
    lines = [line_of(connection) + "\n", line_of(visit) + "\n", line_of(connection)[:10]]
    assert parse(lines) == Traffic((connection,), (visit,))
    assert connection.slow and not connection.failed and Connection(1, 1, 9, "", "refused").failed


def test_what_counts_as_slow_and_failed() -> None:
    exactly, more, failed = Connection(0, 0, 0.5, "a"), Connection(0, 0, 0.501, "b"), Connection(0, 1, 9, "", "refused")
    traffic = Traffic((exactly, more, failed), ())
    assert traffic.slow == [more] and traffic.failed == [failed], "one that failed is not slow, too"
    assert traffic.seconds() == [0.5, 0.501]
    assert traffic.last_of("a") == 0 and traffic.last_of("nobody") is None
    assert traffic.between(0.5).connections == (failed,)


@pytest.mark.parametrize(("percent", "value"), [(50, 2), (99, 4), (100, 4), (25, 1), (0, 1)])
def test_percentile(percent: float, value: int) -> None:
    assert percentile([1, 2, 3, 4], percent) == value
    assert percentile([], percent) is None

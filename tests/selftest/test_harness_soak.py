"""The soak's verdict on made-up samples: what it calls flat, what a leak, and that noise is neither."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable

import pytest

from tests.soak import latencies, verdict
from tests.soak.changes import Changes
from tests.soak.sampler import Sample

MINUTES = 60.0
BASE = Sample(at=0, rss_kib=14_000, anon_kib=2_800, fds=16, threads=1, children=0, cpu_s=0, in_sync=2, transactions=0, changes=0)


def samples(minutes: float, **fields: Callable[[float], float]) -> list[Sample]:
    """field=value at that second"""
    times = [2.0 * i for i in range(int(minutes * MINUTES / 2) + 1)]
    return [dataclasses.replace(BASE, at=at, **{name: int(value(at)) for name, value in fields.items()}) for at in times]


def judge(minutes: float, field: str, value: Callable[[float], float]) -> verdict.Trend:
    made = samples(minutes, **{field: value})
    found = {one.rule.field: one for one in verdict.trends(made, verdict.window(made[-1].at))}
    return found[field]


def noisy(value: Callable[[float], float], by: float, seed: int = 1) -> Callable[[float], float]:
    dice = random.Random(seed)
    return lambda at: value(at) + dice.uniform(0, by)


@pytest.mark.parametrize("what, field, value", [
    ("nothing", "anon_kib", lambda at: 2800),
    ("noise", "anon_kib", noisy(lambda at: 2800, 800)),
    ("a saw", "anon_kib", lambda at: 2800 + at % 300),
    ("a step in the twelfth minute", "anon_kib", lambda at: 2800 + 1000 * (at > 700)),
    ("a start that takes nine minutes", "anon_kib", lambda at: 2000 + min(at, 540) * 10),
    ("connections that come and go", "fds", noisy(lambda at: 14, 9)),
    ("fewer and fewer", "fds", lambda at: 40 - at / 60),
])
def test_no_leak(what: str, field: str, value: Callable[[float], float]) -> None:
    assert not judge(30, field, value).leaks, what


@pytest.mark.parametrize("what, field, value", [
    ("slow", "anon_kib", lambda at: 2800 + at * 0.4),
    ("under noise", "anon_kib", noisy(lambda at: 2800 + at * 0.6, 400)),
    ("in syncs", "anon_kib", lambda at: 2800 + at // 120 * 100),
    ("an fd every five minutes", "fds", lambda at: 16 + at // 300),
    ("an fd under connections that come and go", "fds", noisy(lambda at: 16 + at / 120, 5)),
    ("a child every five minutes", "children", lambda at: at // 300),
])
def test_leak(what: str, field: str, value: Callable[[float], float]) -> None:
    found = judge(30, field, value)
    assert found.leaks and not found.flat, (what, found)
    words = verdict.leaks([found])
    assert len(words) == 1 and found.rule.name in words[0]


def test_flat_is_said_of_the_line_not_of_single_samples() -> None:
    peaks = judge(30, "anon_kib", lambda at: 2800 + 5000 * (int(at) % 100 == 0))
    assert peaks.flat and abs(peaks.per_hour) < 1
    step = judge(30, "anon_kib", lambda at: 2800 + 1000 * (at > 1200))
    assert not step.flat and not step.leaks


def test_memory_that_grows_and_is_given_as_rss_does_not_fail() -> None:
    found = judge(30, "rss_kib", lambda at: 14_000 + at * 2)
    assert not found.flat and not found.leaks


def test_short_run_says_so_and_forgives_memory_but_no_fds() -> None:
    assert not verdict.window(120).warm and not verdict.window(700).warm and verdict.window(720).warm
    assert verdict.window(720).begin == 600
    growing = judge(2, "anon_kib", lambda at: 2800 + at * 10)
    assert not growing.flat and not growing.leaks
    assert judge(2, "anon_kib", lambda at: 2800 + at * 30).leaks
    assert judge(2, "fds", lambda at: 16 + at / 10).leaks


def test_left_over() -> None:
    assert not verdict.left_over(BASE, dataclasses.replace(BASE, fds=20))
    assert "21 file descriptors" in verdict.left_over(BASE, dataclasses.replace(BASE, fds=21))[0]
    assert "1 child" in verdict.left_over(BASE, dataclasses.replace(BASE, children=1))[0]


def test_slope_of_few_and_of_many() -> None:
    assert verdict.slope([]) == verdict.slope([(1, 1)]) == 0
    assert verdict.slope([(0, 1), (10, 6)]) == pytest.approx(0.5)
    assert verdict.slope([(float(at), 3 * at) for at in range(20_000)]) == pytest.approx(3)


def test_latencies_out_of_the_log() -> None:
    begin = latencies._seconds("2026-11-21T20:00:00.000Z")
    lines = [json.dumps({"time": f"2026-11-21T{at}Z", "level": "info", "msg": msg, **more}) for at, msg, more in (
        ("19:59:59.900", "backend changed", {"event_to_commit_ms": 9}),
        ("20:00:01.500", "backend changed", {"event_to_commit_ms": 44.9}),
        ("20:00:02.000", "backend changed", {}), ("20:01:00.000", "server state set at runtime", {"event_to_runtime_ms": 3.1}),
        ("20:01:01.250", "runtime update applied", {"event_to_commit_ms": 12}))]
    found = latencies.read([*lines, '{"time":"2026-'], begin)
    assert [(one.at, one.way, one.ms) for one in found.latencies] == [
        (1.5, "transaction", 44.9), (60.0, "told", 3.1), (61.25, "fast", 12.0)]
    assert found.messages == {"info: backend changed": 2, "info: server state set at runtime": 1,
                              "info: runtime update applied": 1}


class _Nothing:
    def put(self, *trees: object) -> None:
        pass

    def delete(self, *trees: object) -> None:
        pass


def test_changes_are_bounded_repeatable_and_ever_new() -> None:
    def made(seed: int) -> tuple[list[str], Changes]:
        changes = Changes(_Nothing(), "soak", {"web": 30443, "shop": 30543}, seed)
        changes.begin()
        said = []
        for _ in range(3000):
            said.append(changes.step())
            assert all(len(stream.nodes) <= 10 for stream in changes.streams.values())
            places = [node.address for stream in changes.streams.values() for node in stream.nodes.values()]
            assert len(set(places)) == len(places)
        return said, changes

    said, changes = made(1)
    assert said == made(1)[0] and said != made(2)[0]
    assert changes.done == 3000 and changes.nodes_ever > 100 and all(changes.desired().values())

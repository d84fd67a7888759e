"""The double of the Data Plane API, in front of a real HAProxy."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.conformance.conftest import CONFIG
from tests.harness import http as harness_http
from tests.harness.haproxy import DoubleDataPlane, HAProxy, haproxy_binary


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., DoubleDataPlane]]:
    """start(*more arguments, play=...)."""
    with contextlib.ExitStack() as ends:
        def make(*more: str, play: str = "3.4") -> DoubleDataPlane:
            return started(ends, tmp_path, play, *more)
        yield make


def started(ends: contextlib.ExitStack, home: pathlib.Path, play: str = "3.4", *more: str) -> DoubleDataPlane:
    if not haproxy_binary():
        pytest.skip("no haproxy on this machine ($HAPROXY or PATH)")
    haproxy = ends.enter_context(HAProxy(home, CONFIG))
    return ends.enter_context(DoubleDataPlane(haproxy, haproxy.config, home, play, 0.05, list(more)))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def shared_double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoubleDataPlane]:
    with contextlib.ExitStack() as ends:
        yield started(ends, tmp_path_factory.mktemp("double"))


@pytest.fixture
def double(shared_double: DoubleDataPlane) -> DoubleDataPlane:
    """One for all that need no other arguments: no faults, no transactions, an empty log."""
    shared_double.clear_faults()
    for transaction in shared_double.get("/transactions").json():
        shared_double.delete(f"/transactions/{transaction['id']}")
    harness_http.request(shared_double.control or "", "DELETE", "/requests")
    return shared_double

"""The double of the Data Plane API alone, without an HAProxy."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.conformance.conftest import CONFIG
from tests.harness import http as harness_http
from tests.harness.haproxy import DoubleDataPlane


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Callable[..., DoubleDataPlane]]:
    """A double without HAProxy: start(*more arguments, play=...)."""
    started: list[DoubleDataPlane] = []

    def make(*more: str, play: str = "3.4", reload_delay: float = 0.05) -> DoubleDataPlane:
        config = tmp_path / "haproxy.cfg"
        config.write_text(CONFIG.replace("{d}", str(tmp_path)).replace("{fe}", "1"))
        double = DoubleDataPlane(None, config, tmp_path, play, reload_delay, list(more))
        started.append(double)
        return double.start()  # type: ignore[return-value]
    yield make
    for double in started:
        double.stop()


@pytest.fixture(scope="module")
def shared_double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoubleDataPlane]:
    directory = tmp_path_factory.mktemp("double")
    config = directory / "haproxy.cfg"
    config.write_text(CONFIG.replace("{d}", str(directory)).replace("{fe}", "1"))
    with DoubleDataPlane(None, config, directory, "3.4", 0.05) as double:
        yield double  # type: ignore[misc]


@pytest.fixture
def double(shared_double: DoubleDataPlane) -> DoubleDataPlane:
    """One without HAProxy for all that need no other arguments: no faults, no transactions, an empty log."""
    shared_double.clear_faults()
    for transaction in shared_double.get("/transactions").json():
        shared_double.delete(f"/transactions/{transaction['id']}")
    harness_http.request(shared_double.control or "", "DELETE", "/requests")
    return shared_double

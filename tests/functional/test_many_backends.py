"""Nine backends on one HAProxy: what a reading asks for where nothing changed, and that whatever did change is seen all the same."""

from __future__ import annotations

import pathlib
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.bench.scale_stage import API, ScaleStage
from tests.harness.daemon import quick_program
from tests.harness.process import wait_until

BACKENDS, SERVERS = 9, 3


@pytest.fixture
def stage(tmp_path: pathlib.Path) -> Iterator[ScaleStage]:
    made = ScaleStage(tmp_path / "stage", BACKENDS, SERVERS, API, binary=quick_program(), RESYNC_PERIOD="1s")
    with made.ready(), made.daemon:
        made.wait_first_sync()
        yield made


class Looks:
    """What the API was asked for since."""

    def __init__(self, stage: ScaleStage):
        self.stage = stage
        self.before = self._lines()

    def _lines(self) -> int:
        return len(self.stage.dataplanes[0].access_log().splitlines())

    def asked(self, path: str) -> int:
        log = self.stage.dataplanes[0].access_log().splitlines()[self.before:]
        return sum(path in urllib.parse.unquote(line) for line in log)

    def files(self) -> int:
        return self.asked("/configuration/raw")


def test_nothing_is_asked_for_twice(stage: ScaleStage) -> None:
    """The list is asked for once in ten readings, what runs each time."""
    looks = Looks(stage)
    wait_until(lambda: looks.files() >= 11, 30, "eleven looks", 0.2)
    assert 1 <= looks.asked("full_section") <= 2
    assert looks.asked("/runtime/backends/b8/servers") >= 10

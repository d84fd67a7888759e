"""Nine backends on one HAProxy: what a look asks for where nothing changed, and that whatever did change is seen all the same."""

from __future__ import annotations

import pathlib
import re
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.bench.scale_stage import API, ScaleStage, address, node_name
from tests.harness.lines import server_lines
from tests.harness.process import wait_until

BACKENDS, SERVERS = 9, 3
LINE = re.compile(r"(backend b4\n(?:.*\n)*?  server node-00001 )127\.20\.0\.1:")


@pytest.fixture
def stage(tmp_path: pathlib.Path) -> Iterator[ScaleStage]:
    made = ScaleStage(tmp_path / "stage", BACKENDS, SERVERS, API, RESYNC_PERIOD="1s")
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


def has_address(stage: ScaleStage) -> bool:
    return server_lines(stage.dataplanes[0].file(), "b4")[node_name(1)].startswith(f"{address(1)}:")


def test_nothing_is_asked_for_twice(stage: ScaleStage) -> None:
    """The list is asked for once in ten looks, what runs each time."""
    looks = Looks(stage)
    wait_until(lambda: looks.files() >= 11, 30, "eleven looks", 0.2)
    assert 1 <= looks.asked("full_section") <= 2
    assert looks.asked("/runtime/backends/b8/servers") >= 10


def test_an_edit_by_hand_is_seen(stage: ScaleStage) -> None:
    """It moves no version; a server that it changed goes back to what it is to be."""
    looks = Looks(stage)
    wait_until(lambda: looks.files() >= 3, 20, "looks that find what was there", 0.2)
    file = pathlib.Path(stage.haproxies[0].config)
    text = file.read_text()
    changed = LINE.sub(r"\g<1>127.20.9.9:", text)
    assert changed != text
    file.write_text(changed)
    stage.dataplanes[0].restart()  # who edits by hand tells it so
    wait_until(lambda: has_address(stage), 30, "the address to be back", 0.2)


def test_what_another_writer_changes_is_seen(stage: ScaleStage) -> None:
    dataplane = stage.dataplanes[0]
    looks = Looks(stage)
    wait_until(lambda: looks.files() >= 3, 20, "looks that find what was there", 0.2)
    for _ in range(2):  # what was written once is as it was, and is written again
        server = dataplane.get("/configuration/backends/b4/servers/node-00001").json()
        tid = dataplane.begin()
        assert dataplane.put(f"/configuration/backends/b4/servers/node-00001?transaction_id={tid}", server | {"address": "127.20.9.9"}).status in (200, 202)
        assert dataplane.commit(tid).status in (200, 202)
        wait_until(lambda: has_address(stage), 60, "the address to be back", 0.2)


def test_what_runs_is_read_each_time(stage: ScaleStage) -> None:
    looks = Looks(stage)
    wait_until(lambda: looks.files() >= 3, 20, "looks that find what was there", 0.2)
    stage.haproxies[0].runtime("set server b4/node-00001 state maint")
    wait_until(lambda: stage.daemon.metrics().value("servers_overridden", backend="b4") == 1, 20, "the operator's state to be seen", 0.2)

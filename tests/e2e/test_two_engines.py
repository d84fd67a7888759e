"""A whole configuration and the servers of its backends, by one daemon on one HAProxy: each keeps to its own lines."""

from __future__ import annotations

import itertools
import os
import pathlib
import re

import pytest

from tests.harness.process import wait_until

from .world import World

# What would be said if one took the other for another writer.
AT_ODDS = r"another writer|keeps reverting|missing in HAProxy's configuration|was changed by"


class Both:
    def __init__(self, world: World, source: pathlib.Path):
        self.world, self.source = world, source
        self.first = world.haproxy.config.read_text()
        self.marks = itertools.count(1)

    def text(self, mark: str) -> str:
        """What HAProxy began with, but for the lines of others; with a backend that shows what runs."""
        lines = [line for line in self.first.splitlines() if not re.match(r"  server (old|a) ", line)]
        return "\n".join(lines) + f"\n\nbackend by-{mark}\n  mode tcp\n"

    def put(self, text: str) -> None:
        fresh = self.source.with_name("next")
        fresh.write_text(text)
        os.replace(fresh, self.source)

    def put_next(self) -> str:
        mark = f"document-{next(self.marks)}"
        self.put(self.text(mark))
        return mark

    def runs(self, mark: str) -> None:
        def check() -> bool:
            assert f"\nbackend by-{mark}\n" in self.world.dataplane.file()
            return f"\nby-{mark},BACKEND," in self.world.haproxy.runtime("show stat")
        with self.world.telling():
            wait_until(check, 30, f"{mark} to run")

    def begin(self, *nodes: str, **settings: str) -> None:
        mark = self.put_next()
        self.world.begin(*nodes, CONFIG_SOURCE="file", CONFIG_FILE=str(self.source), CONFIG_KEEP_BACKENDS="other",
                         CONFIG_MIN_INTERVAL="0s", CONFIG_DRIFT="repair", LOG_LEVEL="info", RESYNC_PERIOD="2s", **settings)
        self.runs(mark)
        self.world.expect(*nodes)

    def kept(self) -> None:
        file = self.world.dataplane.file()
        assert "server sorry 127.0.10.98:9 backup" in file and re.search(r"backend other\n(  .*\n)*  server a 127.0.0.1:9\n", file), file
        assert "balance leastconn" in file and re.search(r"default-server .*inter 500(ms)?\b", file), file
        self.world.daemon.wait_ready()

    def well(self) -> None:
        """Nothing was lost, and neither was surprised by the other."""
        self.kept()
        assert not re.search(AT_ODDS, self.world.daemon.log()), re.search(f".*({AT_ODDS}).*", self.world.daemon.log())


@pytest.fixture
def both(world: World, tmp_path: pathlib.Path) -> Both:
    (tmp_path / "source").mkdir()
    return Both(world, tmp_path / "source" / "haproxy.cfg")


def test_endpoints_change_while_documents_are_applied(both: Both) -> None:
    world = both.world
    world.put_nodes("node-a", "node-b", "node-c", "node-d")
    both.begin("node-a", "node-b")
    both.well()
    for nodes in (["node-b", "node-c"], ["node-a", "node-b", "node-c"], ["node-d"], ["node-a", "node-d"], ["node-b", "node-c"]):
        mark = both.put_next()
        world.put_slice(*nodes)
        both.runs(mark)
    world.expect("node-b", "node-c")
    both.well()


def test_scaling_during_the_reload_of_a_document(both: Both) -> None:
    world = both.world
    world.put_nodes("node-a", "node-b", "node-c", "node-d")
    both.begin("node-a", "node-b")
    for nodes in (["node-a", "node-b", "node-c", "node-d"], ["node-a"], ["node-b", "node-c"]):
        seen = len(world.daemon.log())
        mark = both.put_next()
        world.daemon.wait_log("configuration written; a reload follows", 30, seen)
        world.put_slice(*nodes)
        world.expect(*nodes)
        both.runs(mark)
    both.well()


def test_a_rejected_document_does_not_stop_the_servers(both: Both) -> None:
    """HAProxy names its line as it is in the user's file, which has fewer of them before it."""
    world = both.world
    world.put_nodes("node-a", "node-b", "node-c")
    both.begin("node-a", "node-b")
    bad = both.text("bad") + "  bogus\n"
    seen = len(world.daemon.log())
    both.put(bad)
    world.daemon.wait_log(f"configuration rejected.*line {len(bad.splitlines())}: unknown keyword 'bogus'", 30, seen)
    world.put_slice("node-b", "node-c")
    world.expect("node-b", "node-c")
    both.runs("document-1")
    both.runs(both.put_next())
    world.expect("node-b", "node-c")
    both.well()

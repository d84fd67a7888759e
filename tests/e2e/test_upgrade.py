"""Upgrade and rollback: a version of before (previous_release) and this one, one after the other and side by side, over an HAProxy that
is in step. Neither may touch it; and a change that both see is made once."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest

from tests.harness.daemon import program
from tests.harness.process import ROOT, wait_until

from .handover import Handover, earlier, handover
from .world import World, Written

NEW, OLD = "new", "old"


def sanitized() -> pathlib.Path:
    path = pathlib.Path(os.environ.get("HAPROXY_K8S_SYNC_SANITIZED") or ROOT / "build" / "san" / "haproxy-k8s-sync")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not there: make test builds it")
    return path


@pytest.fixture
def nodes(world: World) -> World:
    """Two nodes that stay, one that will be out, one that will drain, and one in reserve."""
    world.put_nodes("node-a", "node-b", "node-c", "node-d", "node-a-moved")
    world.put_slice("node-a", "node-b", "node-c", "node-d")
    return world


@pytest.fixture
def both(nodes: World) -> Iterator[Handover]:
    with handover(nodes, {OLD: earlier("previous"), NEW: program()}) as made:
        yield made


def begin(both: Handover) -> None:
    """The old one brings it about: node-c is out, node-d drains, the server `old` is none of ours."""
    world = both.world
    both.start(OLD)
    both.wait({"node-a", "node-b", "node-c", "node-d"})
    world.put_slice("node-a", "node-b", "node-d")
    both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    world.put_slice("node-a", "node-b", terminating=["node-d"])
    both.wait({"node-a", "node-b"}, draining={"node-d"}, out={"node-c"})
    both.in_step(OLD)


def side_by_side_and_in_turn(both: Handover) -> None:
    with both.untouched("the new one beside the old one"):
        both.start(NEW)
    with both.untouched("plan of both"):
        both.nothing_to_do()
    with both.untouched("the new one after the old one"):
        both.stop(OLD)
    with both.untouched("the old one beside the new one"):
        both.start(OLD)
    with both.untouched("the old one after the new one"):
        both.stop(NEW)
    # In step by the one that comes, with nobody there meanwhile.
    with both.untouched("the new one after nobody"):
        both.stop(OLD)
        both.start(NEW)
    with both.untouched("the old one after nobody"):
        both.stop(NEW)
        both.start(OLD)


@pytest.mark.every_combination
def test_nothing_is_touched(both: Handover) -> None:
    begin(both)
    assert "node-c" in both.world.parked() and "node-d" in both.world.draining()
    side_by_side_and_in_turn(both)


@pytest.mark.one_combination
def test_nothing_is_touched_by_the_build_with_sanitizers(nodes: World) -> None:
    with handover(nodes, {OLD: earlier("previous"), NEW: sanitized()}) as both:
        begin(both)
        side_by_side_and_in_turn(both)


@pytest.mark.one_combination
def test_nothing_is_touched_with_the_oldest(nodes: World) -> None:
    """It knows of no parked servers: whoever leaves is gone, by a reload, and whoever drains is in maintenance in the file."""
    with handover(nodes, {OLD: earlier("oldest"), NEW: program()}) as both:
        begin(both)
        side_by_side_and_in_turn(both)


def settled(both: Handover) -> None:
    """Nobody writes any more, nobody complains of another's writing."""
    both.in_step(*both.running())
    with both.untouched("afterwards"):
        pass
    for name in both.running():
        assert both.daemons[name].metrics().sum("changes_undone_total") == 0, f"{name} says that its changes are undone"


def test_a_change_that_both_see_is_made_once(both: Handover) -> None:
    """Or once by each, at the same moment: but they agree, so there is an end to it."""
    world = both.world
    begin(both)
    both.start(NEW)

    def change(live: set[str], at_most: Written, out: set[str], *slice_: str, **terminating: list[str]) -> None:
        before = world.written()
        world.put_slice(*slice_, **terminating)  # type: ignore[arg-type]
        both.wait(live, out=out)
        settled(both)
        done = world.written() - before
        assert done.transactions <= at_most.transactions and done.fast <= at_most.fast, f"{done}\n{both.logs()}"

    # A new server: a transaction. The pods of node-d are gone: node-d is out.
    change({"node-a", "node-b", "node-a-moved"}, Written(2, 2), {"node-c", "node-d"}, "node-a", "node-b", "node-a-moved")
    # Known ones come back, others go: no reload is needed, whoever is first.
    change({"node-a", "node-c", "node-d"}, Written(0, 8), {"node-b", "node-a-moved"}, "node-a", "node-c", "node-d")
    both.nothing_to_do()


def test_changes_while_they_take_turns(both: Handover) -> None:
    """What happens while nobody is there is made by whoever comes next."""
    world = both.world
    begin(both)
    both.stop(OLD)
    world.put_slice("node-a", "node-b", "node-c")
    both.start(NEW)
    both.wait({"node-a", "node-b", "node-c"}, out={"node-d"})
    both.in_step(NEW)
    both.stop(NEW)
    world.put_slice("node-b", "node-c", "node-a-moved")
    both.start(OLD)
    both.wait({"node-b", "node-c", "node-a-moved"}, out={"node-a", "node-d"})
    settled(both)
    both.nothing_to_do()


# --- what one knows and the other does not


def test_a_drain_goes_on_with_the_next_one(both: Handover) -> None:
    """The drain itself is in HAProxy; that it is a drain of ours the next one sees from Kubernetes. It ends as it would have."""
    world = both.world
    begin(both)
    both.stop(OLD)
    both.start(NEW)
    assert "node-d" in world.draining()
    world.put_slice("node-a", "node-b")
    both.wait({"node-a", "node-b"}, out={"node-c", "node-d"})
    settled(both)
    both.stop(NEW)
    both.start(OLD)
    settled(both)
    assert {"node-c", "node-d"} <= world.parked()


def test_a_drain_taken_over_is_taken_back(both: Handover) -> None:
    """A ready pod while both are there, or after the one that told it to drain has gone: in rotation again."""
    world = both.world
    begin(both)
    both.start(NEW)
    both.stop(OLD)
    with both.world.no_reload():
        world.put_slice("node-a", "node-b", "node-d")
        both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    settled(both)

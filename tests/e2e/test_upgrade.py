"""Upgrade and rollback: a version of before (previous_release) and this one, one after the other and side by side, over an HAProxy
that is in sync. Neither may touch it; and a change that both see is made once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.daemon import program

from .handover import Handover, earlier, handover
from .world import World, Written

pytestmark = pytest.mark.needs_api("the release before knows no other way")

NEW, OLD = "new", "old"


@pytest.fixture
def both(world: World) -> Iterator[Handover]:
    """Two nodes that stay, one that will be out, one that will drain, and one in reserve."""
    world.put_nodes("node-a", "node-b", "node-c", "node-d", "node-a-moved")
    world.put_slice("node-a", "node-b", "node-c", "node-d")
    with handover(world, {OLD: earlier("previous"), NEW: program()}) as made:
        yield made


def begin(both: Handover) -> None:
    """The old one brings it about: node-c and node-d are out, the server `old` is none of ours."""
    both.start(OLD)
    both.wait({"node-a", "node-b", "node-c", "node-d"})
    both.world.put_slice("node-a", "node-b")
    both.wait({"node-a", "node-b"}, out={"node-c", "node-d"})
    both.in_step(OLD)


def begin_to_drain(both: Handover) -> None:
    """The same, but node-d drains: it has a pod that terminates and still serves."""
    both.start(OLD)
    both.wait({"node-a", "node-b", "node-c", "node-d"})
    both.world.put_slice("node-a", "node-b", terminating=["node-d"])
    both.wait({"node-a", "node-b"}, draining={"node-d"}, out={"node-c"})
    both.in_step(OLD)


def test_nothing_is_touched(both: Handover) -> None:
    begin(both)
    assert both.world.parked() == {"node-c", "node-d"}
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


def settled(both: Handover) -> None:
    """Nobody writes any more, nobody complains of another's writing."""
    both.in_step(*both.running())
    with both.untouched("afterwards"):
        pass
    for name in both.running():
        assert both.daemons[name].metrics().sum("changes_reverted_total") == 0, f"{name} says that its changes are undone"


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
    # Known ones come back, others go: no reload is needed, whichever is first.
    change({"node-a", "node-c", "node-d"}, Written(0, 8), {"node-b", "node-a-moved"}, "node-a", "node-c", "node-d")
    both.nothing_to_do()


# --- what one knows and the other does not


@pytest.mark.one_combination
def test_a_drain_goes_on_with_the_next_one(both: Handover) -> None:
    """The drain itself is in HAProxy; that it is one of ours the next one sees from Kubernetes. It ends as it would have."""
    begin_to_drain(both)
    world = both.world
    with both.untouched("the new one beside the old one, and the old one's end, in the middle of a drain"):
        both.start(NEW)
        both.nothing_to_do()
        both.stop(OLD)
    assert world.draining() == {"node-d"}
    with world.no_reload():
        world.put_slice("node-a", "node-b")
        both.wait({"node-a", "node-b"}, out={"node-c", "node-d"})
    settled(both)
    assert "node-d" in world.parked()


def test_a_drain_that_ends_while_nobody_is_there(both: Handover) -> None:
    """The new one leaves a drain in the file as it ends, by a write without a reload: so the next daemon, the old one, too,
    knows it for ours and takes it back."""
    begin_to_drain(both)
    world = both.world
    both.stop(OLD)
    both.start(NEW)
    before = world.written()
    with world.no_reload():
        both.stop(NEW)
        assert world.written() - before == Written(fast=1) and "node-d" in world.parked()
        world.put_slice("node-a", "node-b", "node-d")
        both.start(OLD)
        both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    settled(both)

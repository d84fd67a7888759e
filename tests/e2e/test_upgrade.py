"""Upgrade and rollback: a version of before (previous_release) and this one, one after the other and side by side, over an HAProxy
that is in sync. Neither may touch it; and a change that both see is made once."""

from __future__ import annotations

import itertools
import os
import pathlib
import time
from collections.abc import Iterator

import pytest

from tests.harness.daemon import program
from tests.harness.haproxy import HAProxy
from tests.harness.lines import parked, server_lines
from tests.harness.process import ROOT, free_port, wait_until

from .handover import Handover, earlier, handover
from .world import BACKEND, TEMPLATE, World, Written, dataplane_of

pytestmark = pytest.mark.needs_api("the release before knows no other way")

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


def test_nothing_is_touched(both: Handover) -> None:
    begin(both)
    assert both.world.parked() == {"node-c", "node-d"}
    side_by_side_and_in_turn(both)


@pytest.mark.one_combination
def test_nothing_is_touched_by_the_build_with_sanitizers(nodes: World) -> None:
    with handover(nodes, {OLD: earlier("previous"), NEW: sanitized()}) as both:
        begin(both)
        side_by_side_and_in_turn(both)


@pytest.mark.one_combination
def test_nothing_is_touched_at_two_haproxies(nodes: World) -> None:
    haproxy = HAProxy(nodes.home / "2" / "haproxy", TEMPLATE, nodes.haproxy.binary,
                      {"fe-http": str(free_port()), "fe-shop": str(free_port())})
    dataplane = dataplane_of(haproxy, nodes.home / "2" / "dataplane", nodes.combination, nodes.combination.parts())
    with haproxy, dataplane, handover(nodes, {OLD: earlier("previous"), NEW: program()}, [(haproxy, dataplane)]) as both:
        begin(both)
        assert parked(server_lines(dataplane.file(), BACKEND)) == {"node-c", "node-d"}
        side_by_side_and_in_turn(both)


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
    # Known ones come back, others go: no reload is needed, whoever is first.
    change({"node-a", "node-c", "node-d"}, Written(0, 8), {"node-b", "node-a-moved"}, "node-a", "node-c", "node-d")
    both.nothing_to_do()


@pytest.mark.one_combination
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


def test_a_drain_taken_over_is_taken_back(both: Handover) -> None:
    """A ready pod after the one that told it to drain has gone."""
    begin_to_drain(both)
    both.start(NEW)
    both.stop(OLD)
    with both.world.no_reload():
        both.world.put_slice("node-a", "node-b", "node-d")
        both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    settled(both)


def test_a_drain_that_ends_while_nobody_is_there(both: Handover) -> None:
    """The new one leaves a drain in the file as it ends, by a write without a reload: so whoever comes next, the old one, too,
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


@pytest.mark.one_combination
def test_a_drain_of_the_old_one_that_ends_while_nobody_is_there(both: Handover) -> None:
    """It left no word of it, so its drain looks like an operator's: respected, and told in /readyz. What the old one did to itself
    at every restart an upgrade cannot undo; see the FAQ, `overridden`."""
    begin_to_drain(both)
    world = both.world
    both.stop(OLD)
    assert world.draining() == {"node-d"}
    world.put_slice("node-a", "node-b", "node-d")
    new = both.start(NEW)
    new.wait_metric("servers_overridden", 1)
    both.rounds()
    assert world.draining() == {"node-d"} and "node-d" in new.get("/readyz")[1]
    world.haproxy.runtime("set server ingress/node-d state ready")
    both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    settled(both)


@pytest.mark.one_combination
def test_an_end_beside_another_one(both: Handover) -> None:
    """The new one leaves the drain in the file though the old one is there to look after it, to whom it is all the same."""
    begin_to_drain(both)
    both.start(NEW)
    before = both.world.written()
    with both.world.no_reload():
        both.stop(NEW)
        assert both.world.written() - before == Written(fast=1)
        settled(both)
        both.world.put_slice("node-a", "node-b", "node-d")
        both.wait({"node-a", "node-b", "node-d"}, out={"node-c"})
    settled(both)


@pytest.mark.one_combination
def test_the_time_that_a_server_is_parked_begins_anew(nodes: World) -> None:
    """Since when it is parked is in no file: a later start only makes it stay longer."""
    ttl_s = 6.0
    with handover(nodes, {OLD: earlier("previous"), NEW: program()}, PARK_TTL=f"{ttl_s:g}s") as both:
        begin(both)
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + ttl_s, 2 * ttl_s)  # over by the old one's clock
        both.stop(OLD)
        started = time.monotonic()
        both.start(NEW)
        nodes.put_slice("node-a", "node-b", "node-a-moved")
        both.wait({"node-a", "node-b", "node-a-moved"}, out={"node-c", "node-d"})
        kept = {"node-c", "node-d"} <= nodes.parked()
        assert kept or time.monotonic() > started + ttl_s, f"they went with the first transaction:\n{both.logs()}"
        # Over by its own clock as well, they go with a later one.
        more = itertools.count(1)

        def gone() -> bool:
            i = next(more)
            name = f"node-more-{i}"
            nodes.put_node(name, f"127.0.10.{100 + i}")
            nodes.put_slice("node-a", "node-b", name)
            both.wait({"node-a", "node-b", name}, out=set(nodes.all_ours()))
            return not {"node-c", "node-d"} & set(nodes.all_ours())

        wait_until(gone, 60, "a transaction to take the parked ones away", interval=1)

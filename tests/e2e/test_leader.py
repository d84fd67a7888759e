"""Leader election on a real API server, with the rights of deploy/rbac.yaml and no others: a Lease of one name, which may be read,
watched and replaced, and made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rights import NAME
from .world import World


@contextlib.contextmanager
def standby(world: World) -> Iterator[Daemon]:
    with Daemon(world.home / "second", world.settings(LEADER_ELECT="true")) as daemon:
        wait_until(lambda: "standing by for " in daemon.get("/readyz")[1], 30, f"a second replica stands by:\n{daemon.tail()}")
        yield daemon


@pytest.mark.one_combination
def test_two_replicas_hand_over(world: World) -> None:
    world.serve("node-a", "node-b", LEADER_ELECT="true")
    first = world.daemon
    with standby(world) as second:
        lease = world.kube.admin.get("Lease", NAME, world.namespace)
        assert lease["spec"]["holderIdentity"] in first.log() and lease["spec"]["leaseDurationSeconds"] == 15
        wait_until(lambda: world.kube.admin.get("Lease", NAME, world.namespace)["spec"]["renewTime"] > lease["spec"]["renewTime"], 20,
                   "the Lease is renewed")
        first.stop()
        # Not by waiting until it runs out, which takes 15 s.
        second.wait_log("leadership acquired", timeout=10)
        world.put_slice("node-b")
        world.expect("node-b")
        after = world.kube.admin.get("Lease", NAME, world.namespace)
        assert after["spec"]["holderIdentity"] in second.log()
        assert (after["spec"]["leaseTransitions"], lease["spec"]["leaseTransitions"]) == (1, 0)
        assert after["metadata"]["uid"] == lease["metadata"]["uid"]
        for daemon in (first, second):
            assert "watching the Lease is denied" not in daemon.log() and "cannot read or write the Lease" not in daemon.log()
    given_up = world.kube.admin.get("Lease", NAME, world.namespace)["spec"]
    assert (given_up["holderIdentity"], given_up["leaseDurationSeconds"], given_up["leaseTransitions"]) == ("", 1, 1)

"""Another controller's backend is taken over: its servers, named NAME-PORT, are at the very places that are desired."""

from __future__ import annotations

import os
import signal

from tests.harness.daemon import Daemon

from .handover import Traces
from .world import BACKEND, NODES, World

THREE = ("node-a", "node-b", "node-c")
# As in the manifests: nothing is set that has a default.
DEFAULTS = {"MAX_LOSS_PERCENT": "", "RESYNC_PERIOD": ""}


def named(world: World, *nodes: str) -> dict[str, str]:
    """What the other one calls the servers of these nodes -> their addresses and ports."""
    return {f"{node}-{world.node_port}": f"{NODES[node]}:{world.node_port}" for node in nodes}


def taken_over(world: World, **settings: str) -> tuple[Traces, Daemon]:
    """What there was before the daemon started."""
    lines = "".join(f"  server {name} {at} check weight 1\n" for name, at in named(world, *THREE).items())
    world.start_with(("  server old 127.0.10.99:9 check weight 50\n", lines), ("  balance leastconn\n", "  balance roundrobin\n"))
    world.put_nodes(*THREE)
    world.put_slice(*THREE)
    before = traces(world)
    return before, world.start_daemon(**DEFAULTS, **settings)


def traces(world: World) -> Traces:
    return Traces.of(world.haproxy, world.dataplane)


def compared(daemon: Daemon, times: int) -> None:
    """Until HAProxy was compared with what is desired so many times more, and all was in sync."""
    for _ in range(times):
        seen = daemon.metrics().sum("reconciles_total", result="in_sync")
        os.kill(daemon.pid, signal.SIGHUP)
        daemon.wait_metric("reconciles_total", seen + 1, timeout=60, result="in_sync")


def weights(world: World) -> dict[str, str]:
    return {name: row["srv_uweight"] for name, row in world.haproxy.servers(BACKEND).items() if name != "sorry"}


def test_taking_over_writes_nothing_and_the_names_stay(world: World) -> None:
    before, daemon = taken_over(world)
    world.in_step()
    compared(daemon, 3)
    world.expect_servers(named(world, *THREE))
    world.expect_traffic(*THREE)
    assert traces(world) == before
    assert daemon.metrics().sum("reloads_total") == 0
    daemon.wait_log("servers adopted under their names.*" +
                    ", ".join(rf"{name} .node {name.rpartition('-')[0]}." for name in named(world, *THREE)))

    # A node more is a transaction, in which the others keep name and weight.
    world.put_nodes("node-d")
    world.put_slice(*THREE, "node-d")
    four = {**named(world, *THREE), "node-d": f"{NODES['node-d']}:{world.node_port}"}
    world.expect_servers(four)
    world.expect_traffic(*THREE, "node-d")
    world.in_step()
    assert {name: weight for name, weight in weights(world).items() if name != "node-d"} == dict.fromkeys(named(world, *THREE), "1")
    world.expect_one_truth()

    # A node less, and back, are none.
    out = f"node-b-{world.node_port}"
    with world.no_reload():
        world.put_slice("node-a", "node-c", "node-d")
        world.expect_servers({name: at for name, at in four.items() if name != out})
        world.expect_traffic("node-a", "node-c", "node-d")
        world.in_step()
        assert world.parked() == {out}
        world.put_slice(*THREE, "node-d")
        world.expect_servers(four)
        world.expect_traffic(*THREE, "node-d")
        world.in_step()

"""`plan` and `explain` against the real parts, with the daemon's own settings and rights: what they say is what the daemon does."""

from __future__ import annotations

import json
import re
from typing import Any


from .world import NODES, World

IN_SYNC, TROUBLE, CHANGES = 0, 1, 2
EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"


def plan(world: World, status: int, **settings: str) -> dict[str, Any]:
    """As JSON; the text has to come to the same."""
    said = world.command("plan", "-o", "json", **settings)
    assert said.returncode == status, f"plan -o json ended with {said.returncode}:\n{said.stdout}\n{said.stderr}"
    text = world.command("plan", **settings)
    assert text.returncode == status, f"plan ended with {text.returncode}:\n{text.stdout}\n{text.stderr}"
    assert "\033" not in said.stdout + text.stdout, "colours without a terminal"
    parsed = json.loads(said.stdout)
    assert parsed["in_sync"] == (status == IN_SYNC)
    return dict(parsed)


def only_backend(planned: dict[str, Any]) -> dict[str, Any]:
    assert len(planned["backends"]) == 1 and not planned["problems"], planned
    return dict(planned["backends"][0])


def changes(backend: dict[str, Any]) -> set[tuple[str, str]]:
    return {(change["op"], change["server"]) for change in backend["changes"]}


def test_plan_says_what_the_daemon_then_does(world: World) -> None:
    world.put_nodes("node-a", "node-b", "node-c")
    world.put_node("node-d", labels={EXCLUDE: "true"})
    world.put_slice("node-a", "node-a", "node-b", "node-d")
    before = world.version(), world.dataplane.file()
    backend = only_backend(plan(world, CHANGES))
    assert backend["verdict"] == "changes"
    # The only one that serves goes into maintenance with the transaction that brings others.
    assert changes(backend) == {("add", "node-a"), ("add", "node-b"), ("change", "old")}
    assert all(change["reload"] for change in backend["changes"]) and backend["changes"][-1]["parks"]
    assert {(s["name"], s["address"], s["port"], s["state"]) for s in backend["servers"]} == {
        (name, NODES[name], world.node_port, "live") for name in ("node-a", "node-b")}
    reasons = {s["name"]: s["reason"] for s in backend["servers"]}
    assert reasons["node-a"] == f"2 ready endpoints on node node-a (slice ingress-1); nodePort {world.node_port} of its port https"
    left_out = {skip["server"]: skip["reason"] for skip in backend["left_out"]}
    assert EXCLUDE in left_out["node-d"]
    text = world.command("plan").stdout
    for line in (rf"\+ node-a +127\.0\.10\.1:{world.node_port} ", r"~ old +maintenance on \(parked\)", "~ balance leastconn -> roundrobin"):
        assert re.search(rf"^ *{line}", text, re.M), f"no line {line!r} in:\n{text}"
    assert (world.version(), world.dataplane.file()) == before, "plan has written something"
    assert not world.others_transactions()

    world.start_daemon()
    world.expect("node-a", "node-b")
    world.in_step()
    backend = only_backend(plan(world, IN_SYNC))
    assert backend["verdict"] == "in_sync" and backend["changes"] == [] and backend["parked"] == ["old"]
    world.put_slice("node-a")
    world.expect("node-a")
    world.in_step()
    assert set(only_backend(plan(world, IN_SYNC))["parked"]) == {"node-b", "old"}
    assert changes(only_backend(plan(world, CHANGES, PARK_TTL="0"))) == {("remove", "node-b"), ("remove", "old")}

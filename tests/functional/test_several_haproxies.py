"""One daemon, several HAProxies: each follows by itself, none delays another, and what is said names which."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Iterator

import pytest

from tests.harness.process import wait_until

from .pair import Pair
from .rig import Rig
from .test_runtime_updates import COMMIT, Reloads, compared_since, endpoints

# What the others may take while one is in trouble: far less than a request may (30 s).
SOON = 10.0


@pytest.fixture
def three(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, haproxies=3) as made:
        yield made


def in_sync(rig: Rig, *pairs: Pair, timeout: float = 20) -> None:
    assert rig.daemon
    for pair in pairs or rig.pairs:
        rig.daemon.wait_metric("in_sync", 1, timeout, backend="be", target=pair.dataplane.url)
        assert not pair.differences()
        pair.wait_closed("in_progress", "failed")


def in_step(rig: Rig, *nodes: int, **settings: str) -> None:
    rig.pods(*nodes)
    rig.start(**settings)
    rig.wait_servers_everywhere(*nodes)
    in_sync(rig)


def follow(rig: Rig, pairs: list[Pair], *nodes: int, timeout: float = 20) -> None:
    """Pods move, and these HAProxies follow."""
    rig.pods(*nodes)
    for pair in pairs:
        pair.wait_servers(*nodes, timeout=timeout)


def line_of(rig: Rig, pair: Pair) -> str:
    """What /readyz says of it."""
    assert rig.daemon
    found = [line for line in rig.daemon.get("/readyz")[1].splitlines() if f"target {pair.dataplane.url} backend be: " in line]
    assert len(found) == 1, found
    return found[0]


def gauge(rig: Rig, name: str, pair: Pair, **labels: str) -> float:
    assert rig.daemon
    return rig.daemon.metrics().sum(name, target=pair.dataplane.url, **labels)


# --- all is well

def test_all_follow_without_a_reload_and_are_told_apart(three: Rig) -> None:
    in_step(three, 1, 2, 3)
    reloads = [Reloads(pair) for pair in three.pairs]
    endpoints(three, [1, 2], [3])
    for pair in three.pairs:
        pair.wait_draining(3)
    endpoints(three, [1, 2])
    for pair in three.pairs:
        pair.wait_parked(3)
    follow(three, three.pairs, 1, 2, 3)
    in_sync(three)
    for pair, before in zip(three.pairs, reloads):
        before.none()
        assert line_of(three, pair).startswith("[+]") and "in sync" in line_of(three, pair)
        assert gauge(three, "transactions_total", pair, result="committed") == pair.commits() == 1
        assert gauge(three, "reloads_total", pair, result="succeeded") == 1
        assert gauge(three, "runtime_updates_total", pair, result="applied") == pair.fast_writes() == 2
        assert gauge(three, "runtime_commands_total", pair, result="applied") == pair.calls() == 2
        assert gauge(three, "runtime_verification", pair, state="verified") == 1
        assert gauge(three, "servers_configured", pair, backend="be") == 3
        three.daemon.wait_log(f'runtime update applied" backend=be target={pair.dataplane.url} server=n3')


# --- one is away

def test_one_that_is_dead_from_the_start_keeps_nobody_waiting(three: Rig) -> None:
    one, dead, third = three.pairs
    for pair in three.pairs:
        pair.dataplane.stop()
    three.pods(1, 2)
    three.start()
    body = three.daemon.wait_not_ready("Connection refused")
    assert all(f"[-]target {pair.dataplane.url} backend be: " in body for pair in three.pairs)
    for pair in (one, third):
        pair.dataplane.start()
    for pair in (one, third):
        pair.wait_servers(1, 2)
    in_sync(three, one, third)
    for nodes in ((2, 3), (1, 2, 3)):
        follow(three, [one, third], *nodes, timeout=SOON)
    in_sync(three, one, third)
    three.daemon.wait_ready()
    assert line_of(three, dead).startswith("[-]") and "Connection refused" in line_of(three, dead)
    assert [gauge(three, "in_sync", pair) for pair in three.pairs] == [1, 0, 1]
    three.daemon.wait_log(f"level=error .*target={dead.dataplane.url} .*Connection refused")
    dead.dataplane.start()  # and now it comes up
    dead.wait_servers(1, 2, 3, timeout=40)
    in_sync(three, timeout=40)
    assert line_of(three, dead).startswith("[+]")
    assert dead.commits() == 1, "it gets what is desired now, not what was"
    three.daemon.wait_log(f"problem resolved.*target={dead.dataplane.url}")


def test_haproxy_behind_one_that_is_down_is_that_ones_matter(three: Rig) -> None:
    in_step(three, 1, 2, RESYNC_PERIOD="1s")
    one, down, third = three.pairs
    down.haproxy.stop()
    follow(three, [one, third], 1, timeout=SOON)
    in_sync(three, one, third)
    down.haproxy.start()
    down.wait_servers(1, timeout=40)
    wait_until(lambda: gauge(three, "in_sync", down) == 1, 40, "the one that was down in sync")
    assert not down.differences()


# --- one hangs

def test_one_that_hangs_does_not_slow_the_others(three: Rig) -> None:
    in_step(three, 1, 2, 3, RESYNC_PERIOD="1s")
    one, stuck, third = three.pairs
    assert stuck.dataplane.process
    stuck.dataplane.process.signal(signal.SIGSTOP)  # in the middle of whatever it does
    for nodes in ((1, 2), (1, 2, 3), (2,), (1, 2, 3), (1,)):
        follow(three, [one, third], *nodes, timeout=SOON)
    in_sync(three, one, third)
    assert three.daemon.ready()
    stuck.dataplane.process.signal(signal.SIGCONT)
    three.daemon.process.signal(signal.SIGHUP)
    stuck.wait_servers(1, timeout=40)
    stuck.wait_parked(2, 3)
    in_sync(three, timeout=40)
    assert stuck.fast_writes() < one.fast_writes(), "the latest state, and not all between"


def test_stop_while_one_hangs_in_a_change(three: Rig) -> None:
    in_step(three, 1, 2, 3)
    one, stuck, third = three.pairs
    stuck.dataplane.fault({"action": "hang", **COMMIT})
    follow(three, [one, third], 1, 2, 3, 4, timeout=SOON)
    three.daemon.stop()  # exit 0 within 5 s
    three.daemon = None
    assert not one.transactions() and not third.transactions()


# --- one refuses

def test_change_that_one_refuses_is_made_on_the_others(three: Rig) -> None:
    in_step(three, 1, 2)
    one, refusing, third = three.pairs
    refusing.dataplane.fault({"action": "answer", "method": "POST", "path": r"/servers\?transaction_id=|skip_reload=true", "status": 422,
                              "body": {"code": 422, "message": "not with me"}, "headers": {"Configuration-Version": "1"}})
    follow(three, [one, third], 1, 2, 3)
    in_sync(three, one, third)
    wait_until(lambda: "not with me" in line_of(three, refusing), 20, "/readyz to say so")
    assert three.daemon.ready() and refusing.servers() == {"n1", "n2", "sorry"}
    follow(three, three.pairs, 2)  # what it does not refuse it gets
    refusing.dataplane.clear_faults()
    three.daemon.process.signal(signal.SIGHUP)
    in_sync(three)


# --- credentials

def other_password(pair: Pair, password: str) -> None:
    pair.hand_edit(pair.dataplane.file().replace("insecure-password adminpwd", f"insecure-password {password}"))
    pair.dataplane.auth = f"admin:{password}"


def test_wrong_credentials_of_one_are_its_own_trouble_until_they_are_mended(three: Rig, tmp_path: pathlib.Path) -> None:
    one, other, third = three.pairs
    other_password(other, "0ther-secret")
    secrets = tmp_path / "credentials"
    secrets.write_text(f"{other.dataplane.url} admin:wr0ng\n")
    three.pods(1, 2)
    three.start(HAPROXY_DATAPLANE_CREDENTIALS_FILE=str(secrets))
    for pair in (one, third):
        pair.wait_servers(1, 2)
    in_sync(three, one, third)
    three.daemon.wait_ready()
    wait_until(lambda: "refused the credentials" in line_of(three, other), 20, "/readyz to name it")
    assert "wr0ng" not in three.daemon.log() and other.servers() == {"n1", "sorry"}
    fresh = tmp_path / "fresh"
    fresh.write_text(f"{other.dataplane.url} admin:0ther-secret\n")
    fresh.replace(secrets)
    other.wait_servers(1, 2, timeout=40)
    in_sync(three, timeout=40)
    said = three.daemon.log() + three.daemon.get("/readyz")[1] + three.daemon.get("/metrics")[1]
    assert "0ther-secret" not in said and "adminpwd" not in said


def test_restart_finds_all_as_they_were(three: Rig) -> None:
    in_step(three, 1, 2, 3)
    follow(three, three.pairs, 1, 3)
    in_sync(three)
    before = [len(pair.writes()) for pair in three.pairs]
    three.daemon.restart()
    in_sync(three)
    compared_since(three)
    assert [len(pair.writes()) for pair in three.pairs] == before
    assert [pair.parked() for pair in three.pairs] == [{"n2"}] * 3

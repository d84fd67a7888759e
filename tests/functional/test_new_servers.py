"""Nodes that HAProxy has never seen, by a Data Plane API that can add servers to it (3.2 and newer): when they serve, and what takes a reload."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig
from .test_runtime_updates import Reloads, in_step, settled

ADD = "runtime/backends/be/servers$"


def serves(rig: Rig, name: str) -> bool:
    return rig.haproxy.servers("be").get(name, {}).get("srv_admin_state") == "0"


def test_a_new_server_serves_before_the_reload_that_begins_its_check(rig: Rig) -> None:
    in_step(rig, 1, 2)
    settled(rig)
    rig.dataplane.fault({"action": "delay", "path": "transactions", "method": "POST", "seconds": 3, "times": 1})
    reloads = Reloads(rig)
    rig.pods(1, 2, 3)
    wait_until(lambda: serves(rig, "n3"), 10, "it serves")
    reloads.none()
    rig.wait_servers(1, 2, 3)
    settled(rig)
    assert rig.commits() == reloads.before[0] + 1
    wait_until(lambda: int(rig.haproxy.servers("be")["n3"]["srv_check_state"]) & 4, 20, "its check")
    rig.daemon.wait_log('this change takes a reload.*why="server be/n3: HAProxy checks its health once it is reloaded"')


def test_with_an_older_api_it_serves_after_the_reload(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, TEMPLATE, "3.0") as rig:
        in_step(rig, 1, 2)
        settled(rig)
        rig.pods(1, 2, 3)
        rig.wait_servers(1, 2, 3)
        settled(rig)
        assert not any(r["method"] == "POST" and "runtime" in r["path"] for r in rig.dataplane.requests())


def test_an_answer_that_is_lost_and_an_add_that_fails(rig: Rig) -> None:
    """What is in the way of the short way is in the way of nothing else."""
    in_step(rig, 1)
    settled(rig)
    for number, fault in enumerate(({"action": "answer", "status": 500, "body": "words"}, {"action": "close"}, {"action": "close", "apply": True}), 2):
        rig.dataplane.fault({**fault, "path": ADD, "method": "POST", "times": 1})
        rig.pods(*range(1, number + 1))
        rig.wait_servers(*range(1, number + 1))
        settled(rig)
        assert all(serves(rig, f"n{k}") for k in range(1, number + 1))


@pytest.mark.parametrize("fault", [{"action": "truncate", "apply": True}, {"action": "close"}], ids=["carried out", "not carried out"])
def test_a_write_that_is_lost(rig: Rig, fault: dict[str, Any]) -> None:
    in_step(rig, 1)
    settled(rig)
    rig.dataplane.fault({**fault, "path": "configuration/raw.*skip_reload", "method": "POST", "times": 1})
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    settled(rig)
    assert serves(rig, "n2")


def test_the_daemon_is_killed_between_add_and_write(rig: Rig) -> None:
    """A server without a line is found by the next one, whatever is desired by then; or its write comes after all."""
    in_step(rig, 1)
    settled(rig)
    rig.dataplane.fault({"action": "delay", "path": "configuration/raw.*skip_reload", "method": "POST", "seconds": 3, "times": 1})
    rig.pods(1, 2)
    wait_until(lambda: "n2" in rig.haproxy.servers("be"), 10, "it is added")
    assert not serves(rig, "n2")
    rig.daemon.kill()
    rig.dataplane.clear_faults()
    rig.pods(1)
    rig.start()
    rig.wait_in_sync()
    assert "n2" not in rig.haproxy.servers("be") and not rig.differences()


def test_the_comment_of_a_write_is_that_of_the_last_one(rig: Rig) -> None:
    for number in (1, 2, 3):
        if number == 1:
            in_step(rig, 1)
        rig.pods(*range(1, number + 1))
        rig.wait_servers(*range(1, number + 1))
        settled(rig)
    assert rig.dataplane.file().count("# haproxy-k8s-sync: ") == 1 and rig.dataplane.file().count("# Dataplaneapi managed File") <= 1

"""Every ending of a transaction: what the daemon does, what it leaves behind, what it says."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.process import wait_until

from .rig import Rig

BEGIN = {"method": "POST", "path": r"/transactions\?version="}
ADD = {"method": "POST", "path": r"/servers\?transaction_id="}
REMOVE = {"method": "DELETE", "path": r"/servers/.*transaction_id="}
COMMIT = {"method": "PUT", "path": r"/transactions/[^?]+$"}
CHANGE = {"method": "PUT", "path": r"/servers/.*transaction_id="}
STEPS = {"begin": BEGIN, "add": ADD, "change": CHANGE, "commit": COMMIT}


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """With an API that adds no server to a running HAProxy: each new one takes a transaction."""
    with Rig(tmp_path, play="3.0") as made:
        yield made


def answer(step: dict[str, str], status: int, message: str = "made up", **more: Any) -> dict[str, Any]:
    return {"action": "answer", **step, "status": status, "body": {"code": status, "message": message}, "times": 1, **more}


def in_step(rig: Rig, **settings: str) -> None:
    rig.start(**settings)
    rig.wait_in_sync()
    rig.wait_closed()


def move(rig: Rig) -> None:
    """The one change of every case: the pod goes from n1 to n2, which adds one server and parks or removes one. As HAProxy would be
    left without any in between, both are in one transaction."""
    rig.pods(2)


def settled(rig: Rig) -> None:
    rig.wait_servers(2)
    rig.wait_in_sync()
    assert set(rig.all_lines()) - {"sorry", "n2"} == rig.parked() <= {"n1"}, "in neither way"
    assert not rig.differences()
    rig.wait_closed("in_progress")
    assert 'server a 127.0.0.1:9' in rig.dataplane.file()


@pytest.mark.parametrize("step, status, message", [("add", 409, "object already exists"), ("commit", 404, "transaction does not exist")])
def test_conflict_is_read_again_and_tried_at_once(rig: Rig, step: str, status: int, message: str) -> None:
    in_step(rig)
    # A dead transaction is known by the version 0, which only that answer carries.
    version = {"Configuration-Version": "0"} if "does not exist" in message else {}
    rig.dataplane.fault(answer(STEPS[step], status, message, headers=version))
    move(rig)
    settled(rig)
    assert rig.daemon.metrics().sum("transactions_total", result="conflict") == 1
    assert rig.daemon.metrics().sum("transactions_total", result="committed") == 1
    rig.daemon.wait_log("another writer changed HAProxy's configuration")


@pytest.mark.parametrize("step, applied", [("begin", True), ("change", False), ("commit", True)])
def test_connection_lost(rig: Rig, step: str, applied: bool) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "close", **STEPS[step], "times": 2, "apply": applied})
    move(rig)
    # One whose begin was applied and whose id never reached us may be left: nobody but a commit can end it.
    settled(rig)


def first_commit(rig: Rig) -> None:
    """The first commit of all gives the file its version: only from then on does a failed reload split file and API."""
    answer_ = rig.dataplane.commit(rig.dataplane.begin())
    assert answer_.status == 202
    rig.dataplane.follow(answer_.headers["Reload-ID"])


def test_a_commit_that_libcurl_sent_twice_is_not_taken_for_loaded(rig: Rig) -> None:
    first_commit(rig)
    in_step(rig)
    # The connection that was kept dies after the commit was carried out: libcurl sends it again, and the answer is a 404.
    rig.dataplane.fault({"action": "close", **COMMIT, "times": 1, "apply": True},
                        {"action": "fail-reload", "message": "[ALERT] no room for the new worker"})
    move(rig)
    rig.daemon.wait_metric("transactions_total", 1, result="conflict")
    settled(rig)
    rig.daemon.wait_log("reload without a change")


@pytest.mark.parametrize("step", ["begin", "add", "commit"])
def test_own_death(rig: Rig, step: str) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "delay", **STEPS[step], "seconds": 1.0, "times": 1})
    seen = len(rig.dataplane.requests())
    move(rig)
    wait_until(lambda: rig.daemon.metrics().sum("in_sync") == 0, 10, "the change to begin")
    if step != "begin":
        wait_until(lambda: len(rig.dataplane.requests()) > seen, 10, "the transaction to begin")
    rig.daemon.kill()
    rig.dataplane.clear_faults()
    rig.daemon.start()
    settled(rig)


def test_validation_error_is_said_and_retried_when_the_file_is_mended(rig: Rig) -> None:
    in_step(rig, RESYNC_PERIOD="1s")
    path = rig.dataplane.config
    good = path.read_text()
    rig.hand_edit(good.replace("timeout server 77s", "timeout server 77s\n  no-such-keyword 1"))
    move(rig)
    body = rig.daemon.wait_not_ready("no-such-keyword")
    assert "rejected the change" in body
    assert rig.servers() == {"n1", "sorry"}
    rig.wait_closed("in_progress", "failed")
    rig.hand_edit(good)
    settled(rig)


def test_hand_edit_in_the_middle(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "delay", **COMMIT, "seconds": 1.0, "times": 1})
    move(rig)
    wait_until(lambda: [t for t in rig.transactions() if t["status"] == "in_progress"], 10, "a transaction in progress")
    path = rig.dataplane.config
    rig.hand_edit(path.read_text().replace("timeout server 77s", "timeout server 78s"))
    settled(rig)
    assert "timeout server 78s" in rig.dataplane.file(), "the hand edit was lost"


def test_failed_reload_is_said_with_haproxys_words_and_repeated(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] cannot bind socket (Address already in use)"})
    move(rig)
    rig.daemon.wait_log("cannot bind socket")
    rig.wait_servers(2)
    rig.wait_in_sync()
    metrics = rig.daemon.metrics()
    assert metrics.sum("reloads_total", result="failed") == 1
    assert metrics.sum("reloads_total", result="succeeded") >= 1
    rig.daemon.wait_log("reloading it again")


def test_sigterm_in_the_middle_leaves_no_transaction(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "delay", **ADD, "seconds": 1.0, "times": 1})
    move(rig)
    wait_until(lambda: [t for t in rig.transactions() if t["status"] == "in_progress"], 10, "a transaction in progress")
    rig.daemon.stop()
    assert not rig.transactions()
    assert rig.servers() == {"n1", "sorry"}


def test_sigterm_while_the_api_is_silent_ends_in_time(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "hang", **BEGIN})
    move(rig)
    wait_until(lambda: rig.daemon.metrics().sum("in_sync") == 0, 10, "the change to begin")
    rig.daemon.stop()  # exit 0 within 5 s


def test_sighup_compares_now(rig: Rig) -> None:
    in_step(rig, RESYNC_PERIOD="1h")
    path = rig.dataplane.config
    rig.hand_edit(path.read_text().replace("server n1 127.0.11.1:30443", "server n1 127.0.11.1:30444"))
    rig.daemon.process.signal(1)
    wait_until(lambda: "server n1 127.0.11.1:30443" in rig.dataplane.file(), 10, "the hand edit to be repaired")
    rig.wait_in_sync()
    assert rig.commits() == 0 and rig.fast_writes() == 1, "HAProxy never ran it: a reload for nothing"
    assert not rig.differences()


def test_signals_while_starting_do_no_harm(rig: Rig) -> None:
    """As early as main() can answer for them: SIGHUP is no reason to end, SIGTERM ends in good order."""
    def holds_or_handles_sighup(pid: int) -> bool:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        masks = [int(re.search(rf"^{name}:\s+(\w+)$", status, re.M)[1], 16) for name in ("SigBlk", "SigCgt")]
        return any(mask & 1 for mask in masks)

    for _ in range(10):
        pid = rig.start().pid
        wait_until(lambda: holds_or_handles_sighup(pid), 10, "main() to hold signals back", interval=0.0005)
        rig.daemon.process.signal(1)
        rig.daemon.stop()

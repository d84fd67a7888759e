"""Every ending of a transaction: what the daemon does, what it leaves behind, what it says."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

from tests.harness.process import wait_until

from .rig import Rig

BEGIN = {"method": "POST", "path": r"/transactions\?version="}
ADD = {"method": "POST", "path": r"/servers\?transaction_id="}
REMOVE = {"method": "DELETE", "path": r"/servers/.*transaction_id="}
COMMIT = {"method": "PUT", "path": r"/transactions/[^?]+$"}
CHANGE = {"method": "PUT", "path": r"/servers/.*transaction_id="}
STEPS = {"begin": BEGIN, "add": ADD, "change": CHANGE, "remove": REMOVE, "commit": COMMIT}
# Servers that are out are parked, which is a change of their line; without parking they are removed.
NO_PARKING = {"PARK_TTL": "0"}


def answer(step: dict[str, str], status: int, message: str = "made up", **more: Any) -> dict[str, Any]:
    return {"action": "answer", **step, "status": status, "body": {"code": status, "message": message}, "times": 1, **more}


def in_step(rig: Rig, **settings: str) -> None:
    rig.start(**settings)
    rig.wait_in_sync()
    rig.wait_closed()


def in_step_for(rig: Rig, step: str) -> None:
    in_step(rig, **(NO_PARKING if step == "remove" else {}))


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


@pytest.mark.parametrize("step, status, message", [
    ("begin", 409, "version mismatch"),
    ("add", 409, "object already exists"),
    ("add", 400, "transaction does not exist: x"),
    ("change", 404, "missing object"),
    ("remove", 404, "missing object"),
    ("commit", 409, "version mismatch"),
    ("commit", 406, "transaction x is outdated and cannot be committed"),
    ("commit", 404, "transaction does not exist"),
])
def test_conflict_is_read_again_and_tried_at_once(rig: Rig, step: str, status: int, message: str) -> None:
    in_step_for(rig, step)
    # A dead transaction is told by the version 0, which only that answer carries.
    version = {"Configuration-Version": "0"} if "does not exist" in message else {}
    rig.dataplane.fault(answer(STEPS[step], status, message, headers=version))
    move(rig)
    settled(rig)
    assert rig.daemon.metrics().sum("transactions_total", result="conflict") == 1
    assert rig.daemon.metrics().sum("transactions_total", result="committed") == 1
    rig.daemon.wait_log("another writer changed HAProxy's configuration")


@pytest.mark.parametrize("step", ["begin", "add", "change", "remove", "commit"])
@pytest.mark.parametrize("status", [500, 503])
def test_server_errors_back_off_and_go_on(rig: Rig, step: str, status: int) -> None:
    in_step_for(rig, step)
    rig.dataplane.fault(answer(STEPS[step], status, "the disk is full"))
    move(rig)
    rig.daemon.wait_log("the disk is full")
    settled(rig)


@pytest.mark.parametrize("applied", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["begin", "add", "change", "remove", "commit"])
def test_connection_lost_at_every_step(rig: Rig, step: str, applied: bool) -> None:
    in_step_for(rig, step)
    rig.dataplane.fault({"action": "close", **STEPS[step], "times": 2, "apply": applied})
    move(rig)
    rig.wait_servers(2)
    rig.wait_in_sync()
    assert not rig.differences()
    # One whose begin was applied and whose id never reached us may be left: nobody but a commit can end it.
    rig.wait_closed("in_progress")


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


@pytest.mark.parametrize("step", ["begin", "add", "change", "remove", "commit"])
def test_own_death_at_every_step(rig: Rig, step: str) -> None:
    in_step_for(rig, step)
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


def test_what_earlier_runs_left_failed_or_outdated_is_deleted_at_start(rig: Rig) -> None:
    outdated, failed, committed = rig.dataplane.begin(), rig.dataplane.begin(), rig.dataplane.begin()
    rig.dataplane.post(f"/configuration/backends/be/servers?transaction_id={failed}",
                       {"name": "w", "address": "127.0.0.1", "port": 1, "weight": 9999})
    assert rig.dataplane.commit(failed).status == 400
    assert rig.dataplane.commit(committed).status in (200, 202)
    foreign = rig.dataplane.begin()
    assert {t["id"] for t in rig.transactions()} >= {outdated, failed, foreign}
    rig.start()
    rig.wait_in_sync()
    wait_until(lambda: {t["id"] for t in rig.transactions()} == {foreign}, 20, "all but the unknown one in progress to be deleted")


def test_outdated_ones_take_no_room(rig: Rig) -> None:
    in_step(rig)
    held = [rig.dataplane.begin() for _ in range(19)]
    last = rig.dataplane.begin()
    assert rig.dataplane.commit(last).status in (200, 202)  # the 19 are outdated now
    rig.dataplane.begin()
    assert set(held) <= {t["id"] for t in rig.transactions() if t["status"] == "outdated"}
    move(rig)
    settled(rig)
    assert not [w for w in rig.writes() if w[2] == 429]


def test_limit_reached_by_somebody_else_is_said_and_waited_for(rig: Rig) -> None:
    in_step(rig)
    held = [rig.dataplane.begin() for _ in range(20)]
    move(rig)
    body = rig.daemon.wait_not_ready("too many open transactions")
    assert "be" in body
    assert {t["id"] for t in rig.transactions()} == set(held), "somebody's open transactions were touched"
    for tid in held:
        rig.dataplane.delete(f"/transactions/{tid}")
    settled(rig)


# Carried out, and nobody knows. (Where nothing at all is answered, libcurl asks again on another connection.)
LOST_ANSWER = {"action": "truncate", "method": "PUT", "path": r"/backends/be/servers/\w+\?version=", "bytes": 5, "times": 1}


def parked(rig: Rig) -> None:
    """Four servers, three of them out, in maintenance in the file."""
    rig.pods(1, 2, 3, 4)
    in_step(rig)
    rig.pods(1)
    rig.wait_parked(2, 3, 4)
    rig.wait_in_sync()


def test_what_needs_no_transaction_goes_on_when_none_can_be_begun(rig: Rig) -> None:
    """An answer is lost, so that an empty commit is wanted, for which there is no room."""
    parked(rig)
    commits = rig.commits()
    rig.dataplane.fault({**answer(BEGIN, 429, "reached the maximum amount of 20 active transactions"), "times": 0},
                        LOST_ANSWER)
    rig.pods(1, 2, 3, 4)
    rig.wait_servers(1, 2, 3, 4)
    wait_until(lambda: rig.resting() == set(), 20, "the three to serve")
    assert "too many open transactions" in rig.daemon.wait_not_ready("too many open transactions")
    rig.pods(1, 2)  # and so it goes on
    rig.wait_parked(3, 4)
    assert rig.commits() == commits
    rig.dataplane.clear_faults()
    rig.wait_in_sync()
    assert rig.commits() == commits + 1 and not rig.differences()


def test_strangers_that_can_never_be_committed_make_room(rig: Rig) -> None:
    parked(rig)
    held = [rig.dataplane.begin() for _ in range(20)]
    rig.dataplane.fault(LOST_ANSWER)
    rig.pods(1, 2, 3, 4)
    rig.wait_servers(1, 2, 3, 4)
    rig.wait_in_sync()
    assert rig.resting() == set()
    log = rig.daemon.log()
    assert all(f"transaction={tid} " in log or f"transaction={tid}\n" in log for tid in held), "one is deleted without a word"
    rig.wait_closed()


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


def test_rejected_change_is_deleted_and_not_hammered(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({**answer(ADD, 422, "validation failure list: address is wrong"), "times": 0})
    move(rig)
    rig.daemon.wait_not_ready("address is wrong")
    rig.daemon.wait_metric("transactions_total", 1, result="rejected")
    rig.wait_closed("in_progress")
    rig.dataplane.clear_faults()
    rig.pods(2, 3)  # another wish: tried without waiting for the long backoff
    rig.wait_servers(2, 3, timeout=5)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_read_again(rig: Rig, status: int, tmp_path: Any) -> None:
    secret = tmp_path / "password"
    secret.write_text("adminpwd\n")
    in_step(rig, HAPROXY_DATAPLANE_PASSWORD="", HAPROXY_DATAPLANE_PASSWORD_FILE=str(secret), RESYNC_PERIOD="1s")
    if status == 403:
        rig.dataplane.fault(answer({"method": "", "path": "/"}, 403, "not allowed"))
        rig.daemon.wait_log("not allowed")
    else:
        secret.write_text("wrong\n")
        rig.daemon.wait_not_ready("401|credential")
        log = rig.daemon.log()
        assert "wrong" not in log and "adminpwd" not in log
        secret.write_text("adminpwd\n")
    move(rig)
    settled(rig)


def test_data_plane_restart_in_the_middle(rig: Rig) -> None:
    in_step(rig)
    rig.dataplane.fault({"action": "hang", **COMMIT, "times": 1})
    move(rig)
    wait_until(lambda: [t for t in rig.transactions() if t["status"] == "in_progress"], 10, "a transaction in progress")
    rig.dataplane.kill()
    rig.daemon.wait_not_ready("target")
    rig.dataplane.start()
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


def test_forgotten_reload_is_repeated(rig: Rig) -> None:
    in_step(rig)
    # Held until the daemon has asked: a reload that it sees to have happened needs nobody's word.
    rig.dataplane.fault({"action": "hold-ticker"}, answer({"method": "GET", "path": "/reloads/"}, 404, "reload not found"))
    move(rig)
    rig.daemon.wait_metric("reloads_total", 1, result="unknown")
    rig.dataplane.clear_faults()
    settled(rig)
    assert rig.daemon.metrics().sum("reloads_total", result="unknown") == 1
    rig.daemon.wait_log("reload without a change")


def test_nothing_to_do_is_no_transaction(rig: Rig) -> None:
    in_step(rig, RESYNC_PERIOD="1s")
    rig.daemon.wait_metric("reconciles_total", 4, result="in_sync")
    assert not rig.writes()


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


def test_reload_that_failed_while_we_were_away_is_repeated_at_start(rig: Rig) -> None:
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] no room for the new worker"})
    answer_ = rig.dataplane.commit(rig.dataplane.begin())
    rig.dataplane.follow(answer_.headers["Reload-ID"])
    in_step(rig)
    rig.daemon.wait_log("no room for the new worker")
    assert rig.daemon.metrics().sum("reloads_total", result="succeeded") == 1


def test_strangers_failed_reload_is_seen_and_repeated(rig: Rig) -> None:
    in_step(rig, RESYNC_PERIOD="1s")
    first_commit(rig)
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] somebody's mistake"})
    answer_ = rig.dataplane.commit(rig.dataplane.begin())
    rig.dataplane.follow(answer_.headers["Reload-ID"])
    rig.daemon.wait_log("a reload failed")
    rig.daemon.wait_metric("reloads_total", 1, result="succeeded")
    rig.wait_in_sync()
    assert f"# _version={rig.dataplane.version()}\n" in rig.dataplane.file()


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

"""Reloads: the ticker, ids, the end of each, and the two truths after one that failed."""

from __future__ import annotations

import socket
from collections.abc import Callable

from tests.harness.haproxy import DataPlane
from tests.harness.http import Response
from tests.harness.process import wait_until

from .say import error, reload_id, server, without_header
from .test_file import edit_and_wait

SERVERS = "/configuration/backends/be/servers"


def commit_of(plane: DataPlane, name: str) -> Response:
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server(name)).status == 202
    return plane.commit(tid)


def commit_with(plane: DataPlane, name: str) -> str:
    return reload_id(commit_of(plane, name))


def test_followed_to_its_end_the_change_is_live(plane: DataPlane) -> None:
    before = plane.haproxy.worker()
    rid = commit_with(plane, "n1")
    record = plane.follow(rid)
    assert record["id"] == rid and record["status"] == "succeeded" and isinstance(record["reload_timestamp"], int)
    assert plane.haproxy.worker() != before
    assert "n1" in plane.haproxy.servers("be")
    assert rid in [r["id"] for r in plane.get("/reloads").json()]


def test_a_pending_one_has_a_status_and_no_id(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    rid = commit_with(plane, "n1")
    assert plane.get(f"/reloads/{rid}").json() == {"status": "in_progress"}
    assert plane.get("/reloads").json() == [{"id": rid, "status": "in_progress"}]


def test_commits_before_the_ticker_share_an_id(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    assert commit_with(plane, "n1") == commit_with(plane, "n2") == commit_with(plane, "n3")
    assert plane.version() == 4


def test_a_forced_reload_carries_out_the_pending_one(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    rid = commit_with(plane, "n1")
    assert plane.commit(plane.begin(), "?force_reload=true").status == 200
    assert plane.reload_status(rid) == "succeeded"
    assert "n1" in plane.haproxy.servers("be")


def test_ids_count_up_and_start_again_with_the_api(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    first = commit_with(plane, "n1")
    plane.follow(first)
    second = commit_with(plane, "n2")
    plane.follow(second)
    assert (first[-2:], second[-2:], first[:-2] == second[:-2]) == ("-0", "-1", True)
    plane.restart()
    error(plane.get(f"/reloads/{second}"), 404)
    assert commit_with(plane, "n3") == first


def test_an_unknown_id_is_404_and_an_older_one_a_success_unseen(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    error(plane.get("/reloads/2020-01-01-7"), 404)
    rid = commit_with(plane, "n1")
    plane.follow(rid)
    assert plane.get("/reloads/2020-01-01-7").json() == {"id": "2020-01-01-7", "status": "succeeded"}
    error(plane.get(f"/reloads/{rid[:-1]}99"), 404)
    error(plane.get("/reloads/2199-01-01-0"), 404)


def occupied(plane: DataPlane) -> socket.socket:
    """Makes reloads fail, and only them: a frontend's port belongs to another program until the socket is closed."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    bind = f"  bind 127.0.0.1:{taken.getsockname()[1]}\n"
    edit_and_wait(plane, "  default_backend be\n", "  default_backend be\n" + bind)
    return taken


def impossible(plane: DataPlane) -> None:
    """The same for good, and at once: HAProxy tries a taken port for two seconds, a missing folder only once."""
    edit_and_wait(plane, "  default_backend be\n", "  default_backend be\n  bind /nowhere/at/all.sock\n")


def test_a_failed_reload_parts_the_file_and_the_api_until_a_commit_works(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=3)  # time to read before it
    plane.follow(commit_with(plane, "n0"))
    good = plane.file()
    with occupied(plane):
        rid = commit_with(plane, "n1")
        version = plane.version()
        wanted = plane.file()
        record = plane.follow(rid, 40)
        assert record["status"] == "failed", record
        assert "bind" in record["response"].lower(), record
        assert plane.file() == good, "the file is the last good one again"
        assert plane.raw() == good, "and so is the raw text"
        assert plane.version() == version, "the version is not"
        assert "n1" in [s["name"] for s in plane.get(SERVERS).json()], "nor are the servers"
        assert "n1" not in plane.haproxy.servers("be")
    rid = reload_id(plane.commit(plane.begin()))
    assert plane.follow(rid, 40)["status"] == "succeeded"
    assert without_header(plane.file()) == without_header(wanted), "an empty commit brought it back"
    assert "n1" in plane.haproxy.servers("be")


def test_a_restart_after_a_failed_reload_takes_the_version_back(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    plane.follow(commit_with(plane, "n0"))
    good = plane.version()
    impossible(plane)
    rid = commit_with(plane, "n1")
    assert plane.follow(rid, 40)["status"] == "failed"
    assert plane.version() == good + 2
    plane.restart()
    assert plane.version() == good
    assert "n1" not in [s["name"] for s in plane.get(SERVERS).json()]


def test_a_forced_reload_that_fails_is_400(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    plane.follow(commit_with(plane, "n0"))
    impossible(plane)
    tid = plane.begin()
    version = plane.version()
    assert "eload failed" in error(plane.commit(tid, "?force_reload=true"), 400)
    assert plane.version() == version + 1, "the commit itself is done"
    error(plane.commit(tid), 404)


def test_a_first_reload_that_fails_makes_the_restored_file_an_edit_by_hand(fresh: Callable[..., DataPlane]) -> None:
    """The last good file is the start file then, which has no checksum: the API takes it for an edit by hand."""
    plane = fresh()
    impossible(plane)
    version = plane.version()
    answer = commit_of(plane, "n1")
    assert int(answer.headers["Configuration-Version"]) == version + 1, "the reload may have failed by now"
    assert plane.follow(reload_id(answer), 40)["status"] == "failed"
    def gone() -> bool:  # the file is put back in place, not beside it: for a moment it may be read half, without the backend
        answer = plane.get(SERVERS)
        return answer.status == 200 and bool(answer.json()) and "n1" not in [s["name"] for s in answer.json()]
    wait_until(gone, 5, "the start file to be taken in")
    assert plane.version() == 2

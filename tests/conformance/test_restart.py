"""The API goes away and comes back in the middle of things."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane

from .say import error, reload_id, server

SERVERS = "/configuration/backends/be/servers"


@pytest.fixture(params=["stopped", "killed"])
def end(request: pytest.FixtureRequest) -> Callable[[DataPlane], None]:
    def act(plane: DataPlane) -> None:
        plane.stop() if request.param == "stopped" else plane.kill()
    return act


def test_an_open_transaction_survives_with_its_changes(fresh: Callable[..., DataPlane], end: Callable) -> None:
    plane = fresh()
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("n1"))
    end(plane)
    plane.start()
    assert plane.get(f"/transactions/{tid}").json() == {"_version": 1, "id": tid, "status": "in_progress"}
    assert "n1" in [s["name"] for s in plane.get(f"{SERVERS}?transaction_id={tid}").json()]
    assert plane.follow(reload_id(plane.commit(tid)))["status"] == "succeeded"
    assert "server n1" in plane.file()


def test_leaked_ones_count_against_the_limit_after_a_restart(fresh: Callable[..., DataPlane], end: Callable) -> None:
    plane = fresh()
    tids = [plane.begin() for _ in range(20)]
    end(plane)
    plane.start()
    error(plane.post(f"/transactions?version={plane.version()}"), 429)
    assert {t["id"] for t in plane.get("/transactions").json()} == set(tids)
    assert plane.delete(f"/transactions/{tids[0]}").status == 204
    assert plane.post(f"/transactions?version={plane.version()}").status == 201


def test_failed_and_outdated_ones_are_still_there(fresh: Callable[..., DataPlane], end: Callable) -> None:
    plane = fresh()
    failed = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={failed}", server("w", weight=300))
    error(plane.commit(failed), 400)
    winner, outdated = plane.begin(), plane.begin()
    reload_id(plane.commit(winner))
    end(plane)
    plane.start()
    assert {t["id"]: t["status"] for t in plane.get("/transactions").json()} == {failed: "failed", outdated: "outdated"}
    error(plane.commit(failed), 406)
    error(plane.commit(outdated), 406)
    assert plane.delete(f"/transactions/{failed}").status == plane.delete(f"/transactions/{outdated}").status == 204


def test_a_commit_before_the_end_is_in_the_file_not_live(fresh: Callable[..., DataPlane], end: Callable) -> None:
    plane = fresh(reload_delay=30)
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("n1"))
    rid = reload_id(plane.commit(tid))
    end(plane)
    plane.start()
    assert plane.version() == 2 and "server n1" in plane.file()
    error(plane.get(f"/reloads/{rid}"), 404)
    assert "n1" not in plane.haproxy.servers("be"), "the scheduled reload is forgotten"
    assert plane.commit(plane.begin(), "?force_reload=true").status == 200
    assert "n1" in plane.haproxy.servers("be")


def test_a_hand_edit_while_it_is_away(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    reload_id(plane.commit(plane.begin()))
    tid = plane.begin()
    plane.stop()
    plane.config.write_text(plane.file().replace("timeout connect 2s", "timeout connect 3s"))
    plane.start()
    assert plane.version() == 2, "no request read it: the version is the one in the file"
    reload_id(plane.commit(tid))
    assert "timeout connect 2s" in plane.file(), "and a transaction from before puts the old text back"

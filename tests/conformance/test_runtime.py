"""The running HAProxy: which process it is, and its servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.process import wait_until

from .say import before_3_2, error, release, reload_id

INFO = "/runtime/info"
SERVERS = "/runtime/backends/be/servers"


def test_info(plane: DataPlane) -> None:
    answer = plane.get(INFO)
    assert answer.status == 200 and set(answer.json()) == {"info", "runtimeAPI"}
    info = answer.json()["info"]
    assert info["pid"] == plane.haproxy.worker(), "the worker's, not the master's"
    assert isinstance(info["uptime"], int) and info["uptime"] >= 0
    assert isinstance(info["version"], str) and info["version"]


def test_info_after_a_reload(plane: DataPlane) -> None:
    before = plane.worker()
    assert plane.worker() == before
    plane.follow(reload_id(plane.commit(plane.begin())))
    assert plane.worker() == plane.haproxy.worker() != before
    assert plane.get(INFO).json()["info"]["uptime"] < 60, "it counts from the reload"


def test_while_haproxy_is_away(fresh: Callable[..., DataPlane]) -> None:
    """The process is asked for in vain with 200, and its servers look like ones that do not exist."""
    plane = fresh()
    plane.haproxy.stop()
    answer = plane.get(INFO)
    assert answer.status == 200 and set(answer.json()) == {"error", "runtimeAPI"}
    odd = 500 if before_3_2(plane) else 404
    error(plane.get(SERVERS), odd)
    error(plane.get(f"{SERVERS}/old"), 404)
    answer = plane.get("/stats/native?type=frontend")
    assert answer.status == 500 and set(answer.json()) == {"error", "runtimeAPI"}
    error(plane.put(f"{SERVERS}/old", {"admin_state": "drain"}), odd)
    plane.haproxy.start()
    wait_until(lambda: "info" in plane.get(INFO).json(), 5, "it to be found again: the master's socket may answer later than the worker's")
    assert plane.worker() == plane.haproxy.worker()
    assert plane.get(f"{SERVERS}/old").json()["admin_state"] == "ready"


def statistics(plane: DataPlane, kind: str) -> dict[str, dict[str, object]]:
    answer = plane.get(f"/stats/native?type={kind}")
    assert answer.status == 200 and set(answer.json()) == {"runtimeAPI", "stats"}
    assert all(row["type"] == kind for row in answer.json()["stats"])
    return {row["name"]: row["stats"] for row in answer.json()["stats"]}


def test_what_it_serves(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    assert {name: stats["status"] for name, stats in statistics(plane, "frontend").items()} == {"fe": "OPEN"}
    before = statistics(plane, "backend")["be"]
    assert isinstance(before["act"], int) and isinstance(before["bck"], int) and before["act"] + before["bck"] > 0
    for server in plane.haproxy.servers("be"):
        plane.haproxy.runtime(f"set server be/{server} state maint")
    assert {name: statistics(plane, "backend")["be"][name] for name in ("act", "bck", "status")} == {"act": 0, "bck": 0, "status": "DOWN"}
    plane.haproxy.runtime("disable frontend fe")
    assert statistics(plane, "frontend")["fe"]["status"] != "OPEN"


def test_what_the_checks_say(fresh: Callable[..., DataPlane]) -> None:
    """Nobody is at the address of the server old: with what that looks like, not only that it is down."""
    plane = fresh()

    def down() -> dict[str, object]:
        row = next(row for row in plane.get("/stats/native?type=server").json()["stats"] if row["name"] == "old")
        assert row["backend_name"] == "be" and str(row["stats"]["status"]).startswith("DOWN"), row
        return dict(row["stats"])

    stats = wait_until(down, 20, "its check to fail")
    assert str(stats["check_status"]).removeprefix("* ") == "L4CON" and "onnect" in str(stats["last_chk"]), stats


def test_get(plane: DataPlane) -> None:
    answer = plane.get(SERVERS)
    assert answer.status == 200
    old, sorry = answer.json()
    assert (old["name"], old["address"], old["port"], old["admin_state"]) == ("old", "127.0.9.1", 30443, "ready")
    assert old["operational_state"] in ("up", "down", "stopping") and sorry["name"] == "sorry"
    one = plane.get(f"{SERVERS}/old").json()
    assert {k: one[k] for k in ("name", "address", "port", "admin_state", "id")} == {
        k: old[k] for k in ("name", "address", "port", "admin_state", "id")}
    if release(plane) in ((3, 0), (3, 4)):
        assert ("weight" in one) == (release(plane) == (3, 4))


@pytest.mark.parametrize("state, admin", [("drain", "8"), ("maint", "1"), ("ready", "0")])
def test_admin_state(plane: DataPlane, state: str, admin: str) -> None:
    version, file = plane.version(), plane.file()
    answer = plane.put(f"{SERVERS}/old", {"admin_state": state})
    assert answer.status == 200 and answer.json()["admin_state"] == state
    assert plane.get(f"{SERVERS}/old").json()["admin_state"] == state
    assert int(plane.haproxy.servers("be")["old"]["srv_admin_state"]) & 0xF == int(admin)
    assert plane.version() == version and plane.file() == file, "the file knows nothing of it"
    plane.put(f"{SERVERS}/old", {"admin_state": "ready"})


def test_lost_at_the_next_reload(plane: DataPlane) -> None:
    plane.put(f"{SERVERS}/old", {"admin_state": "drain"})
    plane.follow(reload_id(plane.commit(plane.begin())))
    assert plane.get(f"{SERVERS}/old").json()["admin_state"] == "ready"


def test_what_is_set_already(plane: DataPlane) -> None:
    for _ in range(2):
        answer = plane.put(f"{SERVERS}/old", {"admin_state": "drain"})
        assert answer.status == 200 and answer.json()["admin_state"] == "drain"


def test_address_and_weight_only_in_later_versions(plane: DataPlane) -> None:
    answer = plane.put(f"{SERVERS}/old", {"address": "127.0.9.77", "port": 30777})
    assert answer.status == 200
    haproxy = plane.haproxy
    if release(plane) == (3, 0):
        assert haproxy.servers("be")["old"]["srv_addr"] == "127.0.9.1", "ignored without a word"
    elif release(plane) >= (3, 4):
        wait_until(lambda: haproxy.servers("be")["old"]["srv_addr"] == "127.0.9.77", 30, "the address, a moment later from HAProxy 3.0 on")


def test_what_is_not_there(plane: DataPlane) -> None:
    error(plane.get(f"{SERVERS}/no"), 404)
    odd = 500 if before_3_2(plane) else 404
    error(plane.get("/runtime/backends/none/servers"), odd)
    error(plane.put(f"{SERVERS}/no", {"admin_state": "drain"}), odd)
    error(plane.put("/runtime/backends/none/servers/no", {"admin_state": "drain"}), odd)


def test_a_state_that_is_none(plane: DataPlane) -> None:
    error(plane.put(f"{SERVERS}/old", {"admin_state": "asleep"}), 422)


def test_a_templates_servers(plane: DataPlane) -> None:
    got = plane.get("/runtime/backends/slots/servers").json()
    assert [(s["name"], s["admin_state"]) for s in got] == [("slot1", "maint"), ("slot2", "maint"), ("slot3", "maint")]

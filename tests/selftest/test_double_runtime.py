"""What only the double can do about the running HAProxy: lie, go deaf, forget."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.say import error, reload_id, server
from tests.harness.haproxy import DoubleDataPlane
from tests.harness.process import wait_until


SERVERS = "/configuration/backends/be/servers"
RUNNING = "/runtime/backends/be/servers"
OLD = server("old", address="127.0.9.1")


def state(double: DoubleDataPlane, name: str = "old") -> str:
    return str(double.get(f"{RUNNING}/{name}").json()["admin_state"])


def call(double: DoubleDataPlane, wanted: str) -> dict[str, Any]:
    answer = double.put(f"{RUNNING}/old", {"admin_state": wanted})
    assert answer.status == 200, answer.text
    return dict(answer.json())


def write(double: DoubleDataPlane, **change: Any) -> http.client.HTTPMessage:
    answer = double.put(f"{SERVERS}/old?version={double.version()}", {**OLD, **change})
    assert answer.status in (200, 202), answer.text
    return answer.headers


def reload(double: DoubleDataPlane) -> dict[str, Any]:
    return double.follow(reload_id(double.commit(double.begin())))


@pytest.fixture(autouse=True)
def as_at_first(request: pytest.FixtureRequest) -> None:
    """The shared double's `old` as its file had it."""
    if "double" not in request.fixturenames:
        return
    double: DoubleDataPlane = request.getfixturevalue("double")
    write(double)
    reload(double)


# --- faults

@pytest.mark.parametrize("method, path, hit", [
    ("GET", "runtime/backends/be/servers/old$", ("GET", f"{RUNNING}/old")),
    ("GET", "runtime/backends/be/servers$", ("GET", RUNNING)),
    ("PUT", "runtime/backends/be/servers/old$", ("PUT", f"{RUNNING}/old")),
    ("GET", "runtime/info$", ("GET", "/runtime/info"))])
def test_one_request_about_the_running_haproxy_fails_and_no_other(double: DoubleDataPlane, method: str, path: str,
                                                                   hit: tuple[str, str]) -> None:
    double.fault({"action": "answer", "method": method, "path": path, "status": 500, "body": {"code": 500, "message": "no"}})
    for verb, where in (("GET", f"{RUNNING}/old"), ("GET", RUNNING), ("GET", "/runtime/info"), ("PUT", f"{RUNNING}/old")):
        answer = double.request(verb, where, {"admin_state": "ready"} if verb == "PUT" else None)
        assert answer.status == (500 if (verb, where) == hit else 200), (verb, where)


def test_a_write_that_lies(double: DoubleDataPlane) -> None:
    double.fault({"action": "lie", "method": "PUT", "path": "configuration/backends/be/servers/old.version=", "times": 1})
    assert "Reload-ID" not in write(double, maintenance="enabled", address="127.0.9.7")
    assert "server old 127.0.9.7:30443 check disabled" in double.file()
    shown = double.get(f"{RUNNING}/old").json()
    assert (shown["admin_state"], shown["address"]) == ("ready", "127.0.9.1")
    write(double, address="127.0.9.7")
    write(double, maintenance="enabled", address="127.0.9.7")
    assert state(double) == "maint", "once is once"


def test_a_write_that_haproxy_follows_later(double: DoubleDataPlane) -> None:
    double.fault({"action": "lie", "method": "PUT", "path": "configuration/backends/be/servers/old.version=", "times": 1, "seconds": 0.3})
    assert "Reload-ID" not in write(double, address="127.0.9.6")
    assert double.get(f"{RUNNING}/old").json()["address"] != "127.0.9.6"
    wait_until(lambda: double.get(f"{RUNNING}/old").json()["address"] == "127.0.9.6", 5, "the address")


def test_a_call_that_lies(double: DoubleDataPlane) -> None:
    double.fault({"action": "lie", "method": "PUT", "path": "runtime/", "times": 1})
    assert call(double, "drain")["admin_state"] == "drain"
    assert state(double) == "ready"
    call(double, "drain")
    assert state(double) == "drain"


def test_a_reload_that_lies(double: DoubleDataPlane) -> None:
    pid = double.worker()
    double.fault({"action": "lie-reload", "times": 2})
    for _ in range(2):
        tid = double.begin()
        double.put(f"{SERVERS}/old?transaction_id={tid}", {**OLD, "address": "127.0.9.7"})
        assert double.follow(reload_id(double.commit(tid)))["status"] == "succeeded"
        assert "server old 127.0.9.7:30443" in double.file()
        assert double.worker() == pid and double.get(f"{RUNNING}/old").json()["address"] == "127.0.9.1"
    assert reload(double)["status"] == "succeeded"
    assert double.worker() != pid and double.get(f"{RUNNING}/old").json()["address"] == "127.0.9.7"


def test_several_reloads_fail(double: DoubleDataPlane) -> None:
    double.fault({"action": "fail-reload", "message": "no", "times": 2})
    assert [reload(double)["status"] for _ in range(3)] == ["failed", "failed", "succeeded"]


def test_ids_that_start_again(start: Callable[..., DoubleDataPlane]) -> None:
    double = start()
    first = reload(double)["id"]
    ours = reload(double)["id"]
    double.fault({"action": "hold-ticker"})
    waiting = reload_id(double.commit(double.begin()))
    double.fault({"action": "forget-reloads"})
    error(double.get(f"/reloads/{ours}"), 404)
    error(double.get(f"/reloads/{waiting}"), 404)
    stranger = reload_id(double.commit(double.begin()))
    assert stranger == first and double.reload_status(stranger) == "in_progress"
    double.clear_faults()
    assert double.follow(stranger)["status"] == "succeeded"
    error(double.get(f"/reloads/{waiting}"), 404)


@pytest.mark.parametrize("play, odd", [("3.0", 500), ("3.4", 404)])
def test_deaf_from_the_start_and_from_now_on(start: Callable[..., DoubleDataPlane], play: str, odd: int) -> None:
    double = start(play=play)
    assert state(double) == "ready"
    double.fault({"action": "deaf-runtime"})
    error(double.get(RUNNING), odd)
    error(double.put(f"{RUNNING}/old", {"admin_state": "drain"}), odd)
    assert "Reload-ID" not in write(double, maintenance="enabled")
    assert double.worker() > 0
    double.clear_faults()
    assert state(double) == "maint", "the write has come through"
    double.stop()
    double.more.append("--deaf-runtime")
    double.start()
    error(double.get(RUNNING), odd)
    double.clear_faults()
    error(double.get(RUNNING), odd)


def test_a_held_ticker_holds_no_write_up(double: DoubleDataPlane) -> None:
    double.fault({"action": "hold-ticker"})
    rid = reload_id(double.commit(double.begin()))
    assert "Reload-ID" not in write(double, weight=50)
    assert double.reload_status(rid) == "in_progress"
    double.clear_faults()
    wait_until(lambda: double.reload_status(rid) == "succeeded", 5, "the reload")

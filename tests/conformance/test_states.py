"""Ready, drain and maint: set in the running HAProxy by a call, in the file and the running one by a write, and what
becomes of the one by the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.http import Response

from .conftest import CONFIG
from .say import backend_lines, reload_id, server

WRITTEN = "/configuration/backends/be/servers/old"
RUNNING = "/runtime/backends/be/servers/old"
OLD = server("old", address="127.0.9.1")


def call(plane: DataPlane, state: str) -> Response:
    answer = plane.put(RUNNING, {"admin_state": state})
    assert answer.status == 200, answer.text
    return answer


def write(plane: DataPlane, path: str = WRITTEN, **change: Any) -> None:
    """A write that needs no reload, and that says so."""
    before = OLD if path == WRITTEN else {"name": "sorry", "address": "127.0.9.9", "port": 80, "backup": "enabled"}
    answer = plane.put(f"{path}?version={plane.version()}", {**before, **change})
    assert answer.status == 200 and "Reload-ID" not in answer.headers, answer.text


def reload(plane: DataPlane) -> None:
    assert plane.follow(reload_id(plane.commit(plane.begin())))["status"] == "succeeded"


def runs(plane: DataPlane) -> str:
    return plane.haproxy.states("be")["old"]


def line(plane: DataPlane) -> str:
    return next(found for found in backend_lines(plane.file(), "be") if "server old " in found)


def shown(plane: DataPlane) -> str:
    return str(plane.get(RUNNING).json()["admin_state"])


@pytest.mark.parametrize("back", [{}, {"maintenance": "disabled"}], ids=["key removed", "disabled"])
@pytest.mark.parametrize("first", ["drain", "maint"])
def test_out_and_back(plane: DataPlane, first: str, back: dict[str, str]) -> None:
    call(plane, first)
    assert runs(plane) == first and " disabled" not in line(plane)
    write(plane, maintenance="enabled")
    assert runs(plane) == shown(plane) == "maint" and " disabled" in line(plane)
    write(plane, **back)
    assert runs(plane) == shown(plane) == "ready" and " disabled" not in line(plane)


@pytest.mark.parametrize("path, change", [
    ("/configuration/backends/be/servers/sorry", {"port": 81}), (WRITTEN, {"weight": 50}),
    (WRITTEN, {"address": "127.0.9.7", "port": 30444}), (WRITTEN, {})],
    ids=["of another server", "of the weight", "of the address", "of nothing"])
@pytest.mark.parametrize("state", ["drain", "maint"])
def test_a_write_leaves_what_was_set_by_a_call(plane: DataPlane, state: str, path: str, change: dict) -> None:
    call(plane, state)
    write(plane, path, **change)
    assert runs(plane) == shown(plane) == state


def test_a_write_of_no_maintenance_where_the_line_said_nothing_ends_a_drain(plane: DataPlane) -> None:
    """A trap: to the API that is a change of the field, and HAProxy is sent `ready`."""
    call(plane, "drain")
    write(plane, maintenance="disabled")
    assert runs(plane) == "ready"


@pytest.mark.parametrize("state", ["drain", "maint"])
def test_a_reload_forgets_a_call(plane: DataPlane, state: str) -> None:
    call(plane, state)
    reload(plane)
    assert runs(plane) == shown(plane) == "ready"


def test_a_write_outlives_a_reload(plane: DataPlane) -> None:
    write(plane, maintenance="enabled")
    reload(plane)
    assert runs(plane) == shown(plane) == "maint"


def test_a_call_can_end_what_the_line_says_until_the_next_reload(plane: DataPlane) -> None:
    write(plane, maintenance="enabled")
    call(plane, "ready")
    write(plane, maintenance="enabled", weight=50)
    assert runs(plane) == "ready", "the field did not change, so no command is sent"
    reload(plane)
    assert runs(plane) == "maint"


@pytest.fixture
def returned(plane: DataPlane) -> DataPlane:
    """`old` was out when HAProxy was last reloaded, and came back without another reload."""
    write(plane, maintenance="enabled")
    reload(plane)
    write(plane)
    assert runs(plane) == shown(plane) == "ready"
    return plane


def test_a_drain_of_a_server_that_was_out_at_the_last_reload_is_shown_as_maint(returned: DataPlane) -> None:
    """A trap: HAProxy drains it, and prints the bits 4 + 8 in decimal; the API takes the 12 for hexadecimal."""
    plane = returned
    answer = call(plane, "drain")
    assert plane.haproxy.servers("be")["old"]["srv_admin_state"] == "12" and runs(plane) == "drain"
    assert answer.json()["admin_state"] == shown(plane) == "maint"
    assert answer.json()["operational_state"] == "up", "which no server in maint is"
    call(plane, "maint")
    assert runs(plane) == "drain", "and as it is shown as maint already, HAProxy is sent nothing"
    call(plane, "ready")
    assert runs(plane) == shown(plane) == "ready"


def test_a_write_takes_out_what_drains_after_all(returned: DataPlane) -> None:
    call(returned, "drain")
    write(returned, maintenance="enabled")
    assert runs(returned) == shown(returned) == "maint"
    write(returned)
    assert runs(returned) == shown(returned) == "ready"


def test_a_reload_ends_that(returned: DataPlane) -> None:
    reload(returned)
    call(returned, "drain")
    assert runs(returned) == shown(returned) == "drain"


def test_a_call_for_a_server_that_haproxy_does_not_have_yet(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    tid = plane.begin()
    plane.post(f"/configuration/backends/be/servers?transaction_id={tid}", server("n1"))
    reload_id(plane.commit(tid))
    assert plane.get("/runtime/backends/be/servers/n1").status == 404
    assert plane.put("/runtime/backends/be/servers/n1", {"admin_state": "drain"}).status in (404, 500)


def test_a_line_answers_a_default_server_that_takes_it_out(fresh: Callable[..., DataPlane]) -> None:
    """`disabled` by the defaults section, `backup` by the backend: only lines that say otherwise serve."""
    plane = fresh(CONFIG.replace("defaults\n", "defaults\n  default-server disabled\n", 1)
                  .replace("default-server inter 5s", "default-server backup inter 5s"))
    assert runs(plane) == "maint"
    write(plane, maintenance="disabled")
    assert runs(plane) == "ready" and " enabled" in line(plane)
    tid = plane.begin()
    new = server("n1", maintenance="disabled", backup="disabled")
    assert plane.post(f"/configuration/backends/be/servers?transaction_id={tid}", new).json() == new
    assert plane.follow(reload_id(plane.commit(tid)))["status"] == "succeeded"
    assert plane.haproxy.states("be") == {"old": "ready", "sorry": "maint", "n1": "ready"}
    found = next(one for one in backend_lines(plane.file(), "be") if "server n1 " in one)
    assert " enabled" in found and " no-backup" in found
    assert plane.get("/configuration/backends/be/servers/n1").json() == new
    stat = plane.haproxy.runtime("show stat be -1 -1").splitlines()
    rows = [dict(zip(stat[0].lstrip("# ").split(","), row.split(","))) for row in stat[1:] if row]
    assert {row["svname"]: row["bck"] for row in rows if row["svname"] in ("old", "n1")} == {"old": "1", "n1": "0"}

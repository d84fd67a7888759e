"""What the states of servers, checks at a port of their own and DNS names look like in the API, the file and HAProxy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.process import wait_until

from .say import backend_lines, error, reload_id, server

BE = "/configuration/backends/be"
SERVERS = f"{BE}/servers"
OLD = server("old", address="127.0.9.1")
MAINTENANCE_BY_CONFIGURATION = 4  # a bit of srv_admin_state


def line_of(plane: DataPlane, name: str) -> str:
    return next(line for line in backend_lines(plane.file(), "be") if f" {name} " in line).strip()


def running(plane: DataPlane, name: str) -> dict[str, str]:
    return plane.haproxy.servers("be")[name]


def in_maintenance(plane: DataPlane, name: str) -> bool:
    return bool(int(running(plane, name)["srv_admin_state"]) & MAINTENANCE_BY_CONFIGURATION)


def replace(plane: DataPlane, body: dict[str, Any]) -> dict[str, Any]:
    """PUT in a transaction that is loaded; what the API shows after."""
    tid = plane.begin()
    assert plane.put(f"{SERVERS}/{body['name']}?transaction_id={tid}", body).status == 202
    plane.follow(reload_id(plane.commit(tid)))
    return dict(plane.get(f"{SERVERS}/{body['name']}").json())


def change_backend(plane: DataPlane, **fields: Any) -> dict[str, Any]:
    """GET, merge (None: the field goes), PUT in a transaction that is loaded; what the API shows after."""
    tid = plane.begin()
    body = {**plane.get(f"{BE}?transaction_id={tid}").json(), **fields}
    answer = plane.put(f"{BE}?transaction_id={tid}", {k: v for k, v in body.items() if v is not None})
    assert answer.status == 202, answer.text
    plane.follow(reload_id(plane.commit(tid)))
    return dict(plane.get(BE).json())


def test_maintenance_is_disabled_in_the_file(plane: DataPlane) -> None:
    assert replace(plane, {**OLD, "maintenance": "enabled"}) == {**OLD, "maintenance": "enabled"}
    assert line_of(plane, "old") == "server old 127.0.9.1:30443 check disabled weight 100"
    assert in_maintenance(plane, "old")


def test_maintenance_without_the_field_leaves_no_word(plane: DataPlane) -> None:
    replace(plane, {**OLD, "maintenance": "enabled"})
    assert replace(plane, OLD) == OLD
    assert line_of(plane, "old") == "server old 127.0.9.1:30443 check weight 100"
    assert not in_maintenance(plane, "old")


def test_maintenance_disabled_is_a_word_of_its_own(plane: DataPlane) -> None:
    replace(plane, {**OLD, "maintenance": "enabled"})
    assert replace(plane, {**OLD, "maintenance": "disabled"}) == {**OLD, "maintenance": "disabled"}
    assert line_of(plane, "old") == "server old 127.0.9.1:30443 check enabled weight 100"
    assert not in_maintenance(plane, "old")


def test_a_draining_server_may_move_at_once(plane: DataPlane) -> None:
    moved = {**OLD, "address": "127.0.9.77", "port": 30999, "weight": 3, "maintenance": "enabled"}
    assert replace(plane, moved) == moved
    def now() -> tuple[str, ...]:  # HAProxy from 3.0 on takes a moment
        row = running(plane, "old")
        return row["srv_addr"], row["srv_port"], row["srv_uweight"]
    wait_until(lambda: now() == ("127.0.9.77", "30999", "3"), 30, "address, port and weight")
    assert in_maintenance(plane, "old")


def test_the_port_of_the_check(plane: DataPlane) -> None:
    assert replace(plane, {**OLD, "health_check_port": 32000}) == {**OLD, "health_check_port": 32000}
    assert line_of(plane, "old") == "server old 127.0.9.1:30443 check port 32000 weight 100"
    assert running(plane, "old")["srv_check_port"] == "32000"
    both = {**OLD, "health_check_port": 32001, "maintenance": "enabled"}
    assert replace(plane, both) == both
    assert line_of(plane, "old") == "server old 127.0.9.1:30443 check disabled port 32001 weight 100"
    assert replace(plane, OLD) == OLD
    assert " port " not in line_of(plane, "old")
    assert running(plane, "old")["srv_check_port"] == "0"


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_of_the_check_that_is_none(plane: DataPlane, port: int) -> None:
    error(plane.put(f"{SERVERS}/old?transaction_id={plane.begin()}", {**OLD, "health_check_port": port}), 422)


def test_httpchk_and_what_it_asks_for(plane: DataPlane) -> None:
    healthz = {"method": "GET", "uri": "/healthz"}
    shown = change_backend(plane, adv_check="httpchk", httpchk_params=healthz)
    assert (shown["adv_check"], shown["httpchk_params"]) == ("httpchk", healthz)
    lines = backend_lines(plane.file(), "be")
    assert "  option httpchk GET /healthz" in lines and "  option tcp-check" not in lines
    shown = change_backend(plane, adv_check="tcp-check", httpchk_params=None)
    assert shown["adv_check"] == "tcp-check" and "httpchk_params" not in shown
    lines = backend_lines(plane.file(), "be")
    assert "  option tcp-check" in lines and not any("httpchk" in line for line in lines)


def test_httpchk_alone_is_shown_with_empty_parameters(plane: DataPlane) -> None:
    shown = change_backend(plane, adv_check="httpchk")
    assert "  option httpchk" in backend_lines(plane.file(), "be")
    assert (shown["adv_check"], shown["httpchk_params"]) == ("httpchk", {})


def test_parameters_of_a_check_that_is_not_the_one_are_not_kept(plane: DataPlane) -> None:
    shown = change_backend(plane, adv_check="tcp-check", httpchk_params={"method": "GET", "uri": "/x"})
    assert "httpchk_params" not in shown
    assert not any("httpchk" in line for line in backend_lines(plane.file(), "be"))


def with_lines(plane: DataPlane, *lines: str) -> None:
    """These lines instead of `option tcp-check`."""
    text = plane.raw().replace("  option tcp-check\n", "".join(f"  {line}\n" for line in lines))
    answer = plane.post(f"/configuration/raw?version={plane.version()}&force_reload=true", text,
                        content_type="text/plain")
    assert answer.status == 201, answer.text


def test_of_two_checks_the_tcp_check_is_shown(plane: DataPlane) -> None:
    for lines in (["option tcp-check", "option httpchk GET /x"], ["option httpchk GET /x", "option tcp-check"]):
        start = plane.raw()
        with_lines(plane, *lines)
        shown = plane.get(BE).json()
        assert shown["adv_check"] == "tcp-check" and "httpchk_params" not in shown, lines
        plane.post(f"/configuration/raw?version={plane.version()}&force_reload=true", start, content_type="text/plain")


def test_an_http_check_rule_outlives_a_change_of_the_backend(plane: DataPlane) -> None:
    with_lines(plane, "option httpchk", "http-check send meth GET uri /mine")
    assert "http_check_list" not in plane.get(BE).json(), "the rules are no field of the backend"
    change_backend(plane, httpchk_params={"method": "GET", "uri": "/healthz"})
    lines = backend_lines(plane.file(), "be")
    assert "  option httpchk GET /healthz" in lines and "  http-check send meth GET uri /mine" in lines


def test_a_dns_name_needs_init_addr(plane: DataPlane) -> None:
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server("dns", address="nowhere.invalid")).status == 202
    assert "nowhere.invalid" in error(plane.commit(tid), 400), "HAProxy would not start while DNS is away"
    tid = plane.begin()
    body = server("dns", address="nowhere.invalid", **{"init-addr": "last,libc,none"})
    assert plane.post(f"{SERVERS}?transaction_id={tid}", body).status == 202
    plane.follow(reload_id(plane.commit(tid)))
    assert plane.get(f"{SERVERS}/dns").json() == body
    assert line_of(plane, "dns") == "server dns nowhere.invalid:30443 check init-addr last,libc,none weight 100"
    assert running(plane, "dns")["srv_fqdn"] == "nowhere.invalid"

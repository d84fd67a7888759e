"""Servers and server templates inside transactions."""

from __future__ import annotations

import pytest

from tests.harness.haproxy import DataPlane, haproxy_version

from .say import backend_lines, before_3_4, error, reload_id, server

SERVERS = "/configuration/backends/be/servers"


def names(plane: DataPlane, query: str = "") -> list[str]:
    return [s["name"] for s in plane.get(SERVERS + query).json()]


def test_add_replace_delete(plane: DataPlane) -> None:
    tid = plane.begin()
    inside = f"?transaction_id={tid}"
    added = plane.post(SERVERS + inside, server("n1"))
    assert added.status == 202 and added.json() == server("n1")
    assert "Reload-ID" not in added.headers
    assert names(plane, inside) == ["old", "sorry", "n1"]
    replaced = plane.put(f"{SERVERS}/n1{inside}", server("n1", port=30444, weight=7))
    assert replaced.status == 202 and replaced.json() == server("n1", port=30444, weight=7)
    deleted = plane.delete(f"{SERVERS}/old{inside}")
    assert (deleted.status, deleted.body) == (202, b"")
    assert names(plane, inside) == ["sorry", "n1"]
    assert names(plane) == ["old", "sorry"], "outside nothing has changed"
    assert plane.get(f"{SERVERS}/n1{inside}").json()["port"] == 30444
    error(plane.get(f"{SERVERS}/n1"), 404)
    plane.follow(reload_id(plane.commit(tid)))
    assert backend_lines(plane.file(), "be")[-2:] == ["  server sorry 127.0.9.9:80 backup",
                                                      "  server n1 127.0.9.2:30444 check weight 7"]
    assert set(plane.haproxy.servers("be")) == {"sorry", "n1"}


def test_a_replaced_server_keeps_its_place(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.put(f"{SERVERS}/old?transaction_id={tid}", server("old", address="127.0.9.8"))
    assert names(plane, f"?transaction_id={tid}") == ["old", "sorry"]


def test_what_is_there_already_or_not_at_all(plane: DataPlane) -> None:
    inside = f"?transaction_id={plane.begin()}"
    assert "already exists" in error(plane.post(SERVERS + inside, server("old")), 409)
    assert "does not exist" in error(plane.put(f"{SERVERS}/no{inside}", server("no")), 404)
    assert "does not exist" in error(plane.delete(f"{SERVERS}/no{inside}"), 404)
    error(plane.get(f"{SERVERS}/no{inside}"), 404)


def test_a_missing_backend(plane: DataPlane) -> None:
    inside = f"?transaction_id={plane.begin()}"
    missing = "/configuration/backends/none"
    empty = plane.get(f"{missing}/servers{inside}")
    assert (empty.status, empty.json()) == (200, []), "no error here"
    error(plane.post(f"{missing}/servers{inside}", server("x")), 400)
    error(plane.put(f"{missing}/servers/x{inside}", server("x")), 404)
    error(plane.delete(f"{missing}/servers/x{inside}"), 404)
    error(plane.get(missing + inside), 404)
    error(plane.put(missing + inside, {"name": "none"}), 404)


@pytest.mark.parametrize("body, code", [
    ({"address": "127.0.9.2"}, 602),
    ({"name": "a"}, 602),
    (server("a", port=70000), 608),
    (server("a", port=0), 609),
    (server("a", check="yes"), 606),
    (server("a b"), 605),
    (server("a", address="1 2"), 605),
    (server("a", maintenance="on"), 606),
])
def test_a_body_that_breaks_a_rule_is_422(plane: DataPlane, body: dict, code: int) -> None:
    answer = plane.post(f"{SERVERS}?transaction_id={plane.begin()}", body)
    error(answer, 422)
    assert answer.json()["code"] == (code if before_3_4(plane) else 422)


def test_a_body_that_is_no_json_is_400(plane: DataPlane) -> None:
    inside = f"?transaction_id={plane.begin()}"
    for body in ("{", '{"name": "a"', "nonsense"):
        error(plane.post(SERVERS + inside, body), 400)


def test_another_content_type_is_415(plane: DataPlane) -> None:
    inside = f"?transaction_id={plane.begin()}"
    error(plane.post(SERVERS + inside, "x", content_type="text/plain"), 415)


def test_an_unknown_field_is_ignored(plane: DataPlane) -> None:
    answer = plane.post(f"{SERVERS}?transaction_id={plane.begin()}", server("u", bogus=1))
    assert answer.status == 202 and answer.json() == server("u")


@pytest.mark.parametrize("body", [server("w", weight=300), server("a/b"), server("a#b")])
def test_what_the_api_takes_and_haproxy_refuses(plane: DataPlane, body: dict) -> None:
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", body).status == 202
    assert error(plane.commit(tid), 400).startswith("validation error")


def test_fields_keep_their_names(plane: DataPlane) -> None:
    full = {"name": "f", "address": "127.0.9.3", "port": 1, "check": "enabled", "weight": 0, "maintenance": "enabled",
            "send-proxy-v2": "enabled", "init-addr": "last,libc,none", "proxy-v2-options": ["crc32c", "unique-id"],
            "inter": 7000, "fall": 3, "rise": 4, "on-marked-down": "shutdown-sessions", "slowstart": 60000,
            "maxconn": 5, "health_check_port": 81, "check-send-proxy": "enabled", "observe": "layer4"}
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", full)
    reload_id(plane.commit(tid))
    assert plane.get(f"{SERVERS}/f").json() == full
    line = next(line for line in backend_lines(plane.file(), "be") if " f " in line)
    for words in ("weight 0", "disabled", "send-proxy-v2", "init-addr last,libc,none",
                  "proxy-v2-options crc32c,unique-id", "inter 7s", "slowstart 1m", "port 81"):
        assert words in line, line


def test_a_comment_beside_a_server_is_metadata(plane: DataPlane) -> None:
    tid = plane.begin()
    inside = f"?transaction_id={tid}"
    plane.post(SERVERS + inside, server("m", metadata={"who": "me"}))
    plane.post(SERVERS + inside, server("dropped", metadata={"who": "me"}))
    plane.put(f"{SERVERS}/dropped{inside}", server("dropped"))
    reload_id(plane.commit(tid))
    lines = backend_lines(plane.file(), "be")
    assert lines[-2:] == ['  server m 127.0.9.2:30443 check weight 100 # {"who":"me"}',
                          "  server dropped 127.0.9.2:30443 check weight 100"], "what is not sent is lost"
    assert plane.get(f"{SERVERS}/m").json() == server("m", metadata={"who": "me"})


def test_switched_off_is_written_and_read(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("off", check="disabled", maintenance="disabled"))
    plane.commit(tid)
    line = next(line for line in backend_lines(plane.file(), "be") if " off " in line)
    assert "no-check" in line and " enabled" in line
    got = plane.get(f"{SERVERS}/off").json()
    assert (got["check"], got["maintenance"]) == ("disabled", "disabled")


@pytest.mark.parametrize("address", ["2001:db8::7", "fd00::1"])
def test_an_ipv6_address(plane: DataPlane, address: str) -> None:
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server("six", address=address)).status == 202
    reload_id(plane.commit(tid))
    assert f"server six [{address}]:30443 check weight 100" in plane.file()
    assert plane.get(f"{SERVERS}/six").json() == server("six", address=address)


def test_a_backend_of_templates_alone(plane: DataPlane) -> None:
    answer = plane.get("/configuration/backends/slots/servers")
    assert answer.status == 200
    assert answer.json() == ([] if before_3_4(plane) else None)
    assert plane.get("/configuration/backends/slots/server_templates").json() == [
        {"prefix": "slot", "num_or_range": "3", "fqdn": "127.0.0.1", "port": 65535, "check": "enabled",
         "maintenance": "enabled"}]


def test_a_server_beside_a_template_is_written_before_it(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.post(f"/configuration/backends/slots/servers?transaction_id={tid}", server("n1"))
    reload_id(plane.commit(tid))
    assert backend_lines(plane.file(), "slots")[1:] == ["  server n1 127.0.9.2:30443 check weight 100",
                                                        "  server-template slot 3 127.0.0.1:65535 check disabled"]


def test_a_clash_with_a_templates_name_fails_at_commit(plane: DataPlane) -> None:
    """By HAProxy's check alone: 3.4 takes it, and runs two servers of that name."""
    tid = plane.begin()
    assert plane.post(f"/configuration/backends/slots/servers?transaction_id={tid}", server("slot1")).status == 202
    answer = plane.commit(tid)
    if haproxy_version(plane.haproxy.binary) < (3, 4):
        assert "slot1" in error(answer, 400)
        return
    plane.follow(reload_id(answer))
    assert [row["srv_name"] for row in plane.haproxy.all_servers("slots")] == ["slot1", "slot1", "slot2", "slot3"]


def test_many_in_one_transaction(plane: DataPlane) -> None:
    tid = plane.begin()
    for i in range(40):
        assert plane.post(f"{SERVERS}?transaction_id={tid}", server(f"n{i}", address=f"127.0.8.{i}")).status == 202
    reload_id(plane.commit(tid))
    assert names(plane) == ["old", "sorry", *(f"n{i}" for i in range(40))]

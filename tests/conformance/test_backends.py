"""The backend itself: what a write keeps and what it loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.doubles.dataplane.handlers_config import RULES
from tests.harness.haproxy import DataPlane
from tests.harness.process import wait_until

from .say import backend_lines, before_3_2, error, is_3_1_14, is_3_2_0, reload_id, server

BE = "/configuration/backends/be"
BASE = {"name": "be", "mode": "tcp", "balance": {"algorithm": "leastconn"}, "adv_check": "tcp-check",
        "from": "unnamed_defaults_1", "default_server": {"inter": 5000, "rise": 2, "fall": 2}}


def test_get(plane: DataPlane) -> None:
    assert plane.get(BE).json() == BASE
    assert plane.get("/configuration/backends/other").json() == {
        "name": "other", "mode": "tcp", "from": "unnamed_defaults_1", "server_timeout": 77000,
        "stick_table": {"type": "ip", "size": 10240, "expire": 300000}}
    assert {b["name"] for b in plane.get("/configuration/backends").json()} == {"be", "slots", "other", "bare"}


def test_get_merge_put_changes_only_what_is_meant(plane: DataPlane) -> None:
    before = backend_lines(plane.file(), "be")
    tid = plane.begin()
    merged = {**plane.get(f"{BE}?transaction_id={tid}").json(), "balance": {"algorithm": "roundrobin"}}
    answer = plane.put(f"{BE}?transaction_id={tid}", merged)
    assert answer.status == 202 and answer.json() == merged
    reload_id(plane.commit(tid))
    after = backend_lines(plane.file(), "be")
    assert "  balance roundrobin" in after and "  option tcp-check" in after and "  mode tcp" in after
    for kept in ("  # above a rule", "  tcp-request content accept if TRUE # beside it",
                 "  server old 127.0.9.1:30443 check weight 100", "  server sorry 127.0.9.9:80 backup"):
        assert kept in before and kept in after, after
    assert plane.get(BE).json() == merged


def test_a_put_loses_the_fields_that_are_not_sent_and_keeps_servers(plane: DataPlane) -> None:
    tid = plane.begin()
    body = {"name": "other", "balance": {"algorithm": "roundrobin"}}
    assert plane.put(f"/configuration/backends/other?transaction_id={tid}", body).status == 202
    reload_id(plane.commit(tid))
    assert backend_lines(plane.file(), "other") == ["  balance roundrobin", "  server a 127.0.0.1:9"]
    assert "\nbackend other\n" in plane.file(), "even its defaults"
    assert plane.get("/configuration/backends/other").json() == body


def test_default_server_with_send_proxy_v2(plane: DataPlane) -> None:
    tid = plane.begin()
    merged = plane.get(f"{BE}?transaction_id={tid}").json()
    merged["default_server"]["send-proxy-v2"] = "enabled"
    plane.put(f"{BE}?transaction_id={tid}", merged)
    reload_id(plane.commit(tid))
    line = next(line for line in backend_lines(plane.file(), "be") if "default-server" in line)
    assert sorted(line.split()) == sorted("default-server send-proxy-v2 fall 2 inter 5s rise 2".split())
    assert plane.get(BE).json() == merged


def test_other_backends_stay_byte_for_byte(plane: DataPlane) -> None:
    before = {name: backend_lines(plane.file(), name) for name in ("slots", "other", "bare")}
    tid = plane.begin()
    plane.put(f"{BE}?transaction_id={tid}", {**BASE, "balance": {"algorithm": "source"}})
    plane.post(f"{BE}/servers?transaction_id={tid}", server("n1"))
    plane.delete(f"{BE}/servers/old?transaction_id={tid}")
    reload_id(plane.commit(tid))
    assert {name: backend_lines(plane.file(), name) for name in ("slots", "other", "bare")} == before


def test_full_section_get(plane: DataPlane) -> None:
    got = plane.get("/configuration/backends/other?full_section=true").json()
    assert got["servers"] == {"a": {"name": "a", "address": "127.0.0.1", "port": 9}}
    got = plane.get("/configuration/backends/slots?full_section=true").json()
    assert list(got["server_templates"]) == ["slot"]


ALL = "/configuration/backends?full_section=true"


def _all(plane: DataPlane, inside: str = "") -> dict[str, dict[str, Any]]:
    """By name, for the list has no order; without what the double has not. `*_persist_list` are base fields."""
    got = plane.get(f"{ALL}{inside}")
    assert got.status == 200
    listed = {b["name"]: {k: v for k, v in b.items() if k not in RULES} for b in got.json()}
    assert len(listed) == len(got.json())
    return listed


def _as_one_by_one(plane: DataPlane, inside: str = "") -> dict[str, dict[str, Any]]:
    """What GETs of each backend, its servers and its templates say, as full_section has it."""
    out = {}
    for listed in plane.get(f"/configuration/backends{inside}").json():
        path = f"/configuration/backends/{listed['name']}"
        base = plane.get(f"{path}{inside}").json()
        assert listed == base
        for kind, key in (("servers", "name"), ("server_templates", "prefix")):
            members = plane.get(f"{path}/{kind}{inside}").json() or []
            base |= {kind: {m[key]: m for m in members}} if members else {}
        out[base["name"]] = base
    return out


def test_full_section_of_all(plane: DataPlane) -> None:
    got = plane.get(ALL)
    assert got.headers["Configuration-Version"] == str(plane.version())
    listed = _all(plane)
    assert set(listed) == {"be", "slots", "other", "bare"}
    assert set(listed["be"]["servers"]) == {"old", "sorry"} and set(listed["slots"]["server_templates"]) == {"slot"}
    assert "servers" not in listed["slots"] and "server_templates" not in listed["be"], "not empty, but absent"
    assert listed == _as_one_by_one(plane)


def test_full_section_of_all_has_servers_by_name(plane: DataPlane) -> None:
    tid = plane.begin()
    for name in ("n3", "n10", "n1"):
        plane.post(f"/configuration/backends/bare/servers?transaction_id={tid}", server(name))
    plane.post(f"/configuration/backends?transaction_id={tid}", {"name": "empty", "mode": "tcp"})
    listed = _all(plane, f"&transaction_id={tid}")
    assert list(listed["bare"]["servers"]) == ["n1", "n10", "n3", "one"], "the order of the file is lost"
    assert [s["name"] for s in plane.get(f"/configuration/backends/bare/servers?transaction_id={tid}").json()] == [
        "one", "n3", "n10", "n1"]
    assert listed["empty"] == {"name": "empty", "mode": "tcp"}
    assert listed == _as_one_by_one(plane, f"?transaction_id={tid}")
    assert set(_all(plane)) == {"be", "slots", "other", "bare"}


def test_full_section_of_all_shows_servers_as_their_list_does(fresh: Callable[..., DataPlane]) -> None:
    """Also what 3.0 drops of a line, and the line that 3.1.14, 3.2 and newer leave out of their answers."""
    plane = fresh()
    before = plane.version()
    edited = plane.config.with_suffix(".edited")
    edited.write_text(plane.file().replace("  server one", "  server odd 127.0.9.7:80 no-such-word\n  server one"))
    edited.replace(plane.config)
    wait_until(lambda: plane.version() > before, 10, "the edit is noticed")
    shown = plane.get("/configuration/backends/bare/servers").json()
    assert [s["name"] for s in shown] == (["odd", "one"] if before_3_2(plane) and not is_3_1_14(plane) else ["one"])
    assert _all(plane) == _as_one_by_one(plane)


def test_full_section_put_replaces_everything(plane: DataPlane) -> None:
    tid = plane.begin()
    body = {"name": "be", "mode": "tcp", "from": "unnamed_defaults_1", "servers": {"n1": server("n1")}}
    assert plane.put(f"{BE}?full_section=true&transaction_id={tid}", body).status == 202
    reload_id(plane.commit(tid))
    assert backend_lines(plane.file(), "be") == ["  mode tcp", "  server n1 127.0.9.2:30443 check weight 100"], \
        "rules and comments that were not sent are gone"


def test_full_section_round_trip(plane: DataPlane) -> None:
    tid = plane.begin()
    path = "/configuration/backends/other?full_section=true"
    got = plane.get(f"{path}&transaction_id={tid}").json()
    got["servers"]["b"] = server("b")
    assert plane.put(f"{path}&transaction_id={tid}", got).status == 202
    reload_id(plane.commit(tid))
    assert plane.get(path).json() == got
    assert "  timeout server 77s" in backend_lines(plane.file(), "other")


MADE = {"name": "made", "mode": "tcp", "balance": {"algorithm": "roundrobin"}, "adv_check": "tcp-check"}
FULL = "/configuration/backends?full_section=true"


def test_full_section_create(plane: DataPlane) -> None:
    servers = {f"n{i}": server(f"n{i}", address=f"127.0.8.{i}") for i in range(12)}
    servers["out"] = server("out", maintenance="enabled")
    tid = plane.begin()
    created = plane.post(f"{FULL}&transaction_id={tid}", {**MADE, "servers": servers})
    assert created.status == 202 and created.json() == {**MADE, "servers": servers}
    assert {s["name"]: s for s in plane.get(f"/configuration/backends/made/servers?transaction_id={tid}").json()} == servers
    plane.follow(reload_id(plane.commit(tid)))
    assert plane.get("/configuration/backends/made?full_section=true").json() == {**MADE, "servers": servers}
    assert plane.haproxy.states("made") == {name: "maint" if name == "out" else "ready" for name in servers}


def test_full_section_by_version(plane: DataPlane) -> None:
    version = plane.version()
    created = plane.post(f"{FULL}&version={version}", {**MADE, "servers": {"a": server("a")}})
    assert plane.follow(reload_id(created))["status"] == "succeeded"
    replaced = plane.put(f"/configuration/backends/made?full_section=true&version={version + 1}",
                         {**MADE, "servers": {"b": server("b")}})
    assert plane.follow(reload_id(replaced))["status"] == "succeeded"
    assert set(plane.haproxy.servers("made")) == {"b"}


def test_full_section_create_of_what_is_there_is_404(plane: DataPlane) -> None:
    inside = f"transaction_id={plane.begin()}"
    assert "already exist" in error(plane.post(f"{FULL}&{inside}", {**MADE, "name": "be"}), 404)
    assert "already exist" in error(plane.post(f"/configuration/backends?{inside}", {**MADE, "name": "be"}), 409)


def test_full_section_a_server_has_its_name_inside(plane: DataPlane) -> None:
    inside = f"transaction_id={plane.begin()}"
    error(plane.post(f"{FULL}&{inside}", {**MADE, "servers": {"a": {"address": "127.0.8.1"}}}), 422)
    error(plane.post(f"{FULL}&{inside}", {**MADE, "servers": {"a": {"name": "a", "port": 1}}}), 422)
    assert plane.post(f"{FULL}&{inside}", {**MADE, "servers": {"key": server("a")}}).status == 202
    assert [s["name"] for s in plane.get(f"/configuration/backends/made/servers?{inside}").json()] == ["a"]


def test_servers_without_full_section_are_said_and_not_written(plane: DataPlane) -> None:
    tid = plane.begin()
    body = {**MADE, "servers": {"a": server("a")}}
    created = plane.post(f"/configuration/backends?transaction_id={tid}", body)
    assert created.status == 202 and created.json() == body
    assert not plane.get(f"/configuration/backends/made/servers?transaction_id={tid}").json()


def test_create_and_delete(plane: DataPlane) -> None:
    tid = plane.begin()
    body = {"name": "new", "mode": "tcp", "balance": {"algorithm": "roundrobin"}, "adv_check": "tcp-check"}
    created = plane.post(f"/configuration/backends?transaction_id={tid}", body)
    assert created.status == 202 and created.json() == body
    assert "already exists" in error(plane.post(f"/configuration/backends?transaction_id={tid}", body), 409)
    assert plane.post(f"/configuration/backends/new/servers?transaction_id={tid}", server("n1")).status == 202
    reload_id(plane.commit(tid))
    assert backend_lines(plane.file(), "new") == ["  mode tcp", "  balance roundrobin", "  option tcp-check",
                                                  "  server n1 127.0.9.2:30443 check weight 100"]
    tid = plane.begin()
    deleted = plane.delete(f"/configuration/backends/new?transaction_id={tid}")
    assert (deleted.status, deleted.body) == (202, b"")
    reload_id(plane.commit(tid))
    error(plane.get("/configuration/backends/new"), 404)
    error(plane.delete(f"/configuration/backends/new?version={plane.version()}"), 404)


def test_a_body_that_breaks_a_rule_is_422(plane: DataPlane) -> None:
    inside = f"?transaction_id={plane.begin()}"
    error(plane.put(BE + inside, {"mode": "tcp"}), 422)
    error(plane.put(BE + inside, {"name": "be", "mode": "udp"}), 422)
    error(plane.put(BE + inside, {"name": "be", "balance": {"algorithm": "best"}}), 422)
    error(plane.put(BE + inside, {"name": "be", "adv_check": "ping"}), 422)
    error(plane.put(BE + inside, {"name": "be", "default_server": {"check": "yes"}}), 422)


def test_defaults_that_do_not_exist(plane: DataPlane) -> None:
    error(plane.put(f"{BE}?transaction_id={plane.begin()}", {"name": "be", "mode": "tcp", "from": "nowhere"}), 400)


def test_old_ones_lose_the_id_on_every_put(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.put(f"{BE}?transaction_id={tid}", {**BASE, "id": 77})
    reload_id(plane.commit(tid))
    kept = not before_3_2(plane) and not is_3_2_0(plane)
    assert plane.get(BE).json().get("id") == (77 if kept else None)
    assert ("  id 77" in backend_lines(plane.file(), "be")) == kept


def test_a_comment_stands_above_all_lines_of_its_keyword(plane: DataPlane) -> None:
    text = plane.raw().replace("  server sorry", "  # about sorry\n  server sorry")
    assert plane.post(f"/configuration/raw?version={plane.version()}&skip_reload=true", text,
                      content_type="text/plain").status == 201
    assert "  # about sorry\n  server old" in plane.file()
    tid = plane.begin()
    plane.delete(f"{BE}/servers/sorry?transaction_id={tid}")
    reload_id(plane.commit(tid))
    assert "  # about sorry\n  server old" in plane.file()

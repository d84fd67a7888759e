"""The one write that lands in the file and in the running HAProxy without a reload, and its edges."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.process import wait_until

from .say import backend_lines, error, reload_id, server

SERVERS = "/configuration/backends/be/servers"
SERVER = f"{SERVERS}/old"
OLD = server("old", address="127.0.9.1")
SORRY = {"name": "sorry", "address": "127.0.9.9", "port": 80, "backup": "enabled"}


def shows(plane: DataPlane, name: str, **columns: str) -> None:
    """From HAProxy 3.0 on a task of its own brings an address or a port about, some milliseconds after the answer."""
    haproxy = plane.haproxy
    wait_until(lambda: columns.items() <= haproxy.servers("be")[name].items(), 30, f"{name} with {columns}")


def put(plane: DataPlane, body: dict, path: str = SERVER):
    return plane.put(f"{path}?version={plane.version()}", body)


@pytest.mark.parametrize("change, column, value", [
    ({"address": "127.0.9.7", "port": 30999}, "srv_addr", "127.0.9.7"),
    ({"port": 30998}, "srv_port", "30998"),
    ({"weight": 50}, "srv_uweight", "50"),
    ({"maintenance": "enabled"}, "srv_admin_state", "1"),
    ({"address": "127.0.9.8", "port": 31000, "weight": 9, "maintenance": "enabled"}, "srv_port", "31000"),
])
def test_no_reload(plane: DataPlane, change: dict, column: str, value: str) -> None:
    worker, version = plane.haproxy.worker(), plane.version()
    answer = put(plane, {**OLD, **change})
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert answer.json() == {**OLD, **change}
    assert answer.headers["Configuration-Version"] == str(version + 1)
    shows(plane, "old", **{column: value})
    assert plane.get(SERVER).json() == {**OLD, **change}
    assert any(line.startswith("  server old ") for line in backend_lines(plane.file(), "be"))
    assert plane.haproxy.worker() == worker


def test_out_of_maintenance_again(plane: DataPlane) -> None:
    put(plane, {**OLD, "maintenance": "enabled"})
    assert put(plane, {**OLD, "maintenance": "disabled"}).status == 200
    assert plane.haproxy.servers("be")["old"]["srv_admin_state"] == "0"
    assert " enabled " in next(line for line in backend_lines(plane.file(), "be") if "server old" in line)


def test_nothing_changed_still_counts_a_version(plane: DataPlane) -> None:
    version = plane.version()
    answer = put(plane, OLD)
    assert (answer.status, plane.version()) == (200, version + 1)


@pytest.mark.parametrize("body", [
    {**OLD, "inter": 7000}, {k: v for k, v in OLD.items() if k != "weight"}, {**OLD, "send-proxy-v2": "enabled"},
    {k: v for k, v in OLD.items() if k != "check"}, {**OLD, "weight": 5, "fall": 7}])
def test_another_field_or_a_removed_weight_reloads(plane: DataPlane, body: dict) -> None:
    assert plane.follow(reload_id(put(plane, body)))["status"] == "succeeded"
    assert plane.get(SERVER).json() == body


def test_a_weight_where_none_was(plane: DataPlane) -> None:
    assert put(plane, {**SORRY, "weight": 7}, f"{SERVERS}/sorry").status == 200
    assert plane.haproxy.servers("be")["sorry"]["srv_uweight"] == "7"
    assert "  server sorry 127.0.9.9:80 backup weight 7" in backend_lines(plane.file(), "be")


def test_a_port_where_none_was_and_gone_again(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", {"name": "bare", "address": "127.0.9.50"})
    plane.follow(reload_id(plane.commit(tid)))
    with_port = {"name": "bare", "address": "127.0.9.51", "port": 99}
    assert put(plane, with_port, f"{SERVERS}/bare").status == 200
    shows(plane, "bare", srv_addr="127.0.9.51", srv_port="99")
    assert "  server bare 127.0.9.51:99" in backend_lines(plane.file(), "be")
    reload_id(put(plane, {"name": "bare", "address": "127.0.9.51"}, f"{SERVERS}/bare"))


def test_an_address_that_is_a_name_is_in_the_file_only(plane: DataPlane) -> None:
    """A trap: 200 and no reload, while HAProxy, which takes no name there, goes on with the old address."""
    answer = put(plane, {**OLD, "address": "localhost"})
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert "  server old localhost:30443 check weight 100" in backend_lines(plane.file(), "be")
    assert plane.haproxy.servers("be")["old"]["srv_addr"] == "127.0.9.1"
    assert plane.get("/runtime/backends/be/servers/old").json()["address"] == "127.0.9.1"
    assert put(plane, {**OLD, "address": "127.0.9.8"}).status == 200
    shows(plane, "old", srv_addr="127.0.9.8")  # from a name to an address there is no trap


def test_a_check_port_comes_live_and_goes_by_a_reload(plane: DataPlane) -> None:
    for port in (81, 82):
        assert put(plane, {**OLD, "health_check_port": port}).status == 200
        assert plane.haproxy.servers("be")["old"]["srv_check_port"] == str(port)
        assert f"  server old 127.0.9.1:30443 check port {port} weight 100" in backend_lines(plane.file(), "be")
    plane.follow(reload_id(put(plane, OLD)))
    assert plane.haproxy.servers("be")["old"]["srv_check_port"] == "0"


def test_a_check_port_where_nothing_is_checked_is_in_the_file_only(plane: DataPlane) -> None:
    answer = put(plane, {**SORRY, "health_check_port": 82}, f"{SERVERS}/sorry")
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert plane.haproxy.servers("be")["sorry"]["srv_check_port"] == "0"


def test_one_after_the_other_by_the_version_in_the_answer(plane: DataPlane) -> None:
    version = str(plane.version())
    for weight in (61, 62, 63):
        answer = plane.put(f"{SERVER}?version={version}", {**OLD, "weight": weight})
        assert answer.status == 200, answer.text
        version = answer.headers["Configuration-Version"]
    assert plane.haproxy.servers("be")["old"]["srv_uweight"] == "63"


def test_it_outdates_an_open_transaction_and_a_runtime_call_does_not(plane: DataPlane) -> None:
    kept = plane.begin()
    assert plane.put("/runtime/backends/be/servers/old", {"admin_state": "drain"}).status == 200
    plane.follow(reload_id(plane.commit(kept)))
    outdated = plane.begin()
    assert put(plane, {**OLD, "weight": 60}).status == 200
    assert plane.get(f"/transactions/{outdated}").json()["status"] == "in_progress", "it does not know yet"
    assert plane.post(f"{SERVERS}?transaction_id={outdated}", server("late")).status == 202
    assert "version" in error(plane.commit(outdated), 409)
    assert plane.get(f"/transactions/{outdated}").json()["status"] == "outdated"
    error(plane.commit(outdated), 406)
    assert plane.delete(f"/transactions/{outdated}").status == 204


def test_a_server_that_haproxy_does_not_have_yet(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("n1"))
    rid = reload_id(plane.commit(tid))
    assert reload_id(put(plane, server("n1", weight=5), f"{SERVERS}/n1")) == rid, "both wait for the same reload"
    assert put(plane, {**OLD, "weight": 9}).status == 200, "the others do not"
    assert plane.haproxy.servers("be")["old"]["srv_uweight"] == "9"


def test_while_haproxy_is_away(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(reload_delay=30)
    plane.haproxy.stop()
    reload_id(put(plane, {**OLD, "weight": 9}))
    assert plane.get(SERVER).json() == {**OLD, "weight": 9}


def test_a_list_alone_is_neither_live_nor_reloaded(plane: DataPlane) -> None:
    """A trap: 200, and the running HAProxy knows nothing of it."""
    answer = put(plane, {**OLD, "proxy-v2-options": ["crc32c"]})
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert "proxy-v2-options crc32c" in plane.file()


def test_refusals(plane: DataPlane) -> None:
    version = plane.version()
    error(plane.put(f"{SERVER}?version={version - 1}", OLD), 409)
    error(plane.put(SERVER, OLD), 400)
    error(put(plane, server("no"), f"{SERVERS}/no"), 404)
    error(put(plane, {**OLD, "weight": 300}), 400)
    assert plane.version() == version
    assert plane.get(SERVER).json() == OLD


def test_a_refused_versioned_write_leaves_a_failed_transaction_behind(plane: DataPlane) -> None:
    error(put(plane, {**OLD, "weight": 300}), 400)
    left = plane.get("/transactions").json()
    assert [t["status"] for t in left] == ["failed"]
    assert plane.delete(f"/transactions/{left[0]['id']}").status == 204


def test_a_versioned_add_reloads_where_there_is_a_default_server(plane: DataPlane) -> None:
    answer = plane.post(f"{SERVERS}?version={plane.version()}", server("n9"))
    assert plane.follow(reload_id(answer))["status"] == "succeeded"
    assert "n9" in plane.haproxy.servers("be")


def test_a_versioned_add_without_default_server_is_live_at_once_but_not_in_use(plane: DataPlane) -> None:
    """The one trap among the adds: no reload will come, and the server does not get what its line says.

    It stays in maintenance; 3.0 forgets its weight and puts it to use where it has no check.
    """
    worker = plane.haproxy.worker()
    answer = plane.post(f"/configuration/backends/bare/servers?version={plane.version()}",
                        {"name": "two", "address": "127.0.9.6", "port": 30443, "weight": 10, "check": "enabled"})
    assert answer.status == 201 and "Reload-ID" not in answer.headers
    assert plane.haproxy.servers("bare")["two"]["srv_admin_state"] == "1"
    assert plane.haproxy.worker() == worker


def test_a_versioned_delete_always_reloads(plane: DataPlane) -> None:
    answer = plane.delete(f"{SERVER}?version={plane.version()}")
    assert answer.body == b""
    plane.follow(reload_id(answer))
    assert set(plane.haproxy.servers("be")) == {"sorry"}


def test_forced(plane: DataPlane) -> None:
    assert plane.post(f"{SERVERS}?version={plane.version()}&force_reload=true", server("n1")).status == 201
    assert plane.put(f"{SERVERS}/n1?version={plane.version()}&force_reload=true", server("n1", fall=9)).status == 200
    answer = plane.delete(f"{SERVERS}/n1?version={plane.version()}&force_reload=true")
    assert (answer.status, answer.body) == (204, b"")

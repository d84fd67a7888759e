"""The one write that lands in the file and in the running HAProxy without a reload, and its edges."""

from __future__ import annotations

import pytest

from tests.harness.haproxy import DataPlane

from .say import backend_lines, error, reload_id, server

SERVER = "/configuration/backends/be/servers/old"
OLD = server("old", address="127.0.9.1")


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
    assert plane.haproxy is not None
    worker, version = plane.haproxy.worker(), plane.version()
    answer = put(plane, {**OLD, **change})
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert answer.json() == {**OLD, **change}
    assert answer.headers["Configuration-Version"] == str(version + 1)
    assert plane.haproxy.servers("be")["old"][column] == value
    assert plane.get(SERVER).json() == {**OLD, **change}
    assert any(line.startswith("  server old ") for line in backend_lines(plane.file(), "be"))
    assert plane.haproxy.worker() == worker


def test_out_of_maintenance_again(plane: DataPlane) -> None:
    assert plane.haproxy is not None
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


def test_a_list_alone_is_neither_live_nor_reloaded(plane: DataPlane) -> None:
    """A trap: 200, and the running HAProxy knows nothing of it."""
    answer = put(plane, {**OLD, "proxy-v2-options": ["crc32c"]})
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert "proxy-v2-options crc32c" in plane.file()


def test_refusals(plane: DataPlane) -> None:
    version = plane.version()
    error(plane.put(f"{SERVER}?version={version - 1}", OLD), 409)
    error(plane.put(SERVER, OLD), 400)
    error(put(plane, server("no"), "/configuration/backends/be/servers/no"), 404)
    error(put(plane, {**OLD, "weight": 300}), 400)
    assert plane.version() == version
    assert plane.get(SERVER).json() == OLD


def test_a_refused_versioned_write_leaves_a_failed_transaction_behind(plane: DataPlane) -> None:
    error(put(plane, {**OLD, "weight": 300}), 400)
    left = plane.get("/transactions").json()
    assert [t["status"] for t in left] == ["failed"]
    assert plane.delete(f"/transactions/{left[0]['id']}").status == 204


def test_a_versioned_add_reloads_where_there_is_a_default_server(plane: DataPlane) -> None:
    answer = plane.post(f"/configuration/backends/be/servers?version={plane.version()}", server("n9"))
    assert plane.follow(reload_id(answer))["status"] == "succeeded"
    assert plane.haproxy is not None and "n9" in plane.haproxy.servers("be")


def test_a_versioned_add_without_default_server_is_live_at_once_but_not_in_use(plane: DataPlane) -> None:
    """The one trap among the adds: no reload will come, and the server does not get what its line says.

    It stays in maintenance; 3.0 forgets its weight and puts it to use where it has no check.
    """
    assert plane.haproxy is not None
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
    assert plane.haproxy is not None and set(plane.haproxy.servers("be")) == {"sorry"}


def test_forced(plane: DataPlane) -> None:
    base = "/configuration/backends/be/servers"
    assert plane.post(f"{base}?version={plane.version()}&force_reload=true", server("n1")).status == 201
    assert plane.put(f"{base}/n1?version={plane.version()}&force_reload=true", server("n1", fall=9)).status == 200
    answer = plane.delete(f"{base}/n1?version={plane.version()}&force_reload=true")
    assert (answer.status, answer.body) == (204, b"")

"""Servers that are added to the running HAProxy alone, and deleted there: without a reload, and without the file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.haproxy import DataPlane

from .say import adds_with_one_word, error, release

SERVERS = "/runtime/backends/be/servers"


def add(plane: DataPlane, name: str, **more: Any) -> None:
    answer = plane.post(SERVERS, {"name": name, "address": "127.0.9.7", "port": 30443, **more})
    assert answer.status == 201, (answer.status, answer.text)


def row(plane: DataPlane, name: str) -> dict[str, str]:
    return plane.haproxy.servers("be")[name]


def delete(plane: DataPlane, name: str) -> None:
    assert plane.delete(f"{SERVERS}/{name}").status == 204
    assert name not in plane.haproxy.servers("be")


def test_it_comes_in_maintenance_and_is_in_no_file(plane: DataPlane) -> None:
    version, file = plane.version(), plane.file()
    add(plane, "plain", backup="enabled")
    got = plane.get(f"{SERVERS}/plain").json()
    assert (got["address"], got["port"], got["admin_state"]) == ("127.0.9.7", 30443, "maint")
    assert plane.put(f"{SERVERS}/plain", {"admin_state": "ready"}).json()["admin_state"] == "ready"
    assert plane.version() == version and plane.file() == file
    delete(plane, "plain")


def test_its_words(plane: DataPlane) -> None:
    """Before 3.0.18 and 3.1.14 the API passes on the first of them that it knows, and says nothing of the others."""
    add(plane, "worded", backup="enabled", weight=7, **{"send-proxy-v2": "enabled"})
    assert row(plane, "worded")["srv_iweight"] == ("1" if adds_with_one_word(plane) else "7")
    delete(plane, "worded")


def test_its_health_check_does_not_begin(plane: DataPlane) -> None:
    """2: configured, 4: enabled. `enable health` is nothing that the API sends; the first server has both from the file."""
    add(plane, "checked", check="enabled", inter=100)
    plane.put(f"{SERVERS}/checked", {"admin_state": "ready"})
    assert int(row(plane, "checked")["srv_check_state"]) & 6 == 2
    assert int(row(plane, "old")["srv_check_state"]) & 6 == 6
    if release(plane) >= (3, 4):
        assert plane.get(f"{SERVERS}/checked").json()["check_state"] & 6 == 2
    delete(plane, "checked")


def test_no_second_one_of_its_name(plane: DataPlane) -> None:
    answer = plane.post(SERVERS, {"name": "old", "address": "127.0.9.7", "port": 30443, "backup": "enabled"})
    assert answer.status in (409, 500) and "lready exists" in answer.text, answer.text
    assert row(plane, "old")["srv_addr"] == "127.0.9.1"


def test_what_cannot_be_deleted(plane: DataPlane) -> None:
    error(plane.delete(f"{SERVERS}/none"), 404)


@pytest.mark.parametrize("body", [{"address": "127.0.9.7", "port": 1}, {"name": "", "address": "127.0.9.7", "port": 1}])
def test_one_without_a_name(plane: DataPlane, body: dict[str, Any]) -> None:
    assert plane.post(SERVERS, body).status in (400, 422)

"""How HAProxy is reached and run, as its global section says; for `doctor`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane

from .conftest import CONFIG

SOCKET = "stats socket {d}/haproxy.sock mode 600 level admin expose-fd listeners"


def test_the_socket(plane: DataPlane) -> None:
    assert plane.haproxy
    answer = plane.get("/configuration/global")
    assert answer.status == 200 and answer.headers["Configuration-Version"].isdigit()
    assert answer.json()["runtime_apis"] == [{"address": str(plane.haproxy.socket), "expose_fd_listeners": True, "level": "admin",
                                              "mode": "600"}]
    assert "master-worker" not in answer.json()


@pytest.mark.parametrize(("change", "sockets"), [
    (f"{SOCKET}\n  master-worker", ["admin"]),
    (f"{SOCKET}\n  stats socket {{d}}/second.sock level user", ["admin", "user"]),
])
def test_master_worker_and_levels(fresh: Callable[..., DataPlane], change: str, sockets: list[str]) -> None:
    plane = fresh(config=CONFIG.replace(SOCKET, change))
    body = plane.get("/configuration/global").json()
    assert body.get("master-worker", False) is ("master-worker" in change)
    assert [one.get("level") for one in body["runtime_apis"]] == sockets

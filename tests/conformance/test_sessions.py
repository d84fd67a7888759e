"""What becomes of connections that are open when their server goes: on a real HAProxy, changed by the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.harness.backends import Visit, ask, backends, node_port, wait_traffic
from tests.harness.haproxy import HEAD, DataPlane
from tests.harness.process import wait_until

from .say import reload_id

NODES = {"n1": "127.0.12.1", "n2": "127.0.12.2"}
CONFIG = HEAD.replace("30s", "60s") + """
frontend fe
  bind 127.0.0.1:{fe}
  default_backend be

backend be
  balance roundrobin
  {default}
"""
SHUTDOWN = "default-server on-marked-down shutdown-sessions"


@pytest.fixture
def plane_of(fresh: Callable[..., DataPlane]) -> Iterator[Callable[[str], DataPlane]]:
    """Makes HAProxy in front of n1 and n2, with this default-server line."""
    port = node_port(NODES.values())

    def make(default: str) -> DataPlane:
        servers = "".join(f"  server {name} {address}:{port} weight 10\n" for name, address in NODES.items())
        return fresh(CONFIG.replace("{default}", default) + servers)

    with backends(NODES, port):
        yield make


def visit(plane: DataPlane, node: str) -> Visit:
    """A connection that this node answers and that stays open."""
    for _ in NODES:
        made = Visit(plane.haproxy.port)
        if made.label == node:
            return made
        made.close()
    raise AssertionError(f"none of {len(NODES)} connections in a row reached {node}")


def call(plane: DataPlane, state: str) -> None:
    assert plane.put("/runtime/backends/be/servers/n1", {"admin_state": state}).status == 200


def write(plane: DataPlane, **change: str) -> None:
    path = "/configuration/backends/be/servers/n1"
    had = {k: v for k, v in plane.get(path).json().items() if k != "maintenance"}
    answer = plane.put(f"{path}?version={plane.version()}", {**had, **change})
    assert answer.status == 200 and "Reload-ID" not in answer.headers, answer.text


def maint_by_call(plane: DataPlane) -> None:
    call(plane, "maint")


def maint_by_write(plane: DataPlane) -> None:
    write(plane, maintenance="enabled")


@pytest.mark.parametrize("out", [maint_by_call, maint_by_write])
def test_it_survives_drain_and_dies_in_maint_where_the_backend_says_so(plane_of: Callable, out: Callable) -> None:
    plane = plane_of(SHUTDOWN)
    with visit(plane, "n1") as open_one, visit(plane, "n2") as other:
        call(plane, "drain")
        wait_traffic(plane.haproxy.port, ["n2"])
        assert open_one.talk()
        out(plane)
        wait_until(lambda: not open_one.talk(), 10, "the connection to end")
        assert other.talk()


@pytest.mark.parametrize("out", [maint_by_call, maint_by_write])
def test_it_survives_maint_where_the_backend_says_nothing(plane_of: Callable, out: Callable) -> None:
    plane = plane_of("")
    with visit(plane, "n1") as open_one:
        call(plane, "drain")
        out(plane)
        assert plane.haproxy.states("be")["n1"] == "maint"
        wait_traffic(plane.haproxy.port, ["n2"])
        assert open_one.talk()
        write(plane, maintenance="enabled")
        write(plane)
        wait_traffic(plane.haproxy.port, ["n1", "n2"])
        assert open_one.talk()


def test_both_survive_a_reload_on_the_old_worker(plane_of: Callable) -> None:
    """Even one whose backend would end it: the new worker knows nothing of it, the old one hears of no maintenance."""
    plane = plane_of(SHUTDOWN)
    with visit(plane, "n1") as open_one:
        plane.follow(reload_id(plane.commit(plane.begin())))
        write(plane, maintenance="enabled")
        wait_traffic(plane.haproxy.port, ["n2"])
        assert open_one.talk()


def test_out_is_out_for_new_connections_at_once(plane_of: Callable) -> None:
    """Not once traffic moves: each call and each write has taken effect by the time it is answered."""
    plane = plane_of("")
    port = plane.haproxy.port
    for out, back in ((lambda: call(plane, "drain"), lambda: call(plane, "ready")),
                      (lambda: maint_by_write(plane), lambda: write(plane))):
        for _ in range(5):
            out()
            assert [ask(port) for _ in range(4)] == ["n2"] * 4
            back()
            assert sorted(ask(port) for _ in range(4)) == ["n1", "n1", "n2", "n2"]

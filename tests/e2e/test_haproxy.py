"""What happens to HAProxy and its file: hand edits, PROXY v2, reloads that fail, and nothing at all."""

from __future__ import annotations

import contextlib
import socket

import pytest

from tests.harness.lines import section
from tests.harness.process import free_port, wait_until

from .world import BACKEND, World, without_ours


def in_step(world: World, **settings: str) -> None:
    world.serve("node-a", "node-b", **settings)


@pytest.mark.every_combination
def test_hand_edit_is_repaired_and_what_is_not_ours_stays(world: World) -> None:
    in_step(world, RESYNC_PERIOD="2s")
    line = f"server node-a {world.ours()['node-a']}"
    edited = world.hand_edit(
        (line, "server rogue 127.0.10.97:9 check"),
        ("timeout server 77s", "timeout server 78s"),
        ("stick-table type ip size 10k expire 5m", "stick-table type ip size 20k expire 5m"))
    world.expect("node-a", "node-b")
    world.in_step()
    assert without_ours(world.dataplane.file()) == without_ours(edited)
    assert "timeout server 78s" in "\n".join(section(world.dataplane.file(), "backend other"))


@pytest.mark.every_combination
def test_proxy_v2_reaches_the_backend(world: World) -> None:
    in_step(world, HAPROXY_SEND_PROXY_V2="true")
    for name in ("node-a", "node-b"):
        def seen(backend: str = name) -> bool:
            world.who_answers()
            arrivals = world.backends[backend].client_arrivals()
            assert arrivals and arrivals[-1].proxy.startswith("127.0.0.1:"), f"{backend} saw {arrivals[-1:]}"
            return True

        wait_until(seen, 20, f"a PROXY v2 header with the client's address at {name}")
    default_server = [line for line in section(world.dataplane.file(), "backend ingress") if "default-server" in line]
    assert any("send-proxy-v2" in line for line in default_server)
    assert not any("send-proxy-v2" in line for line in world.ours().values())


@pytest.mark.every_combination
def test_failed_reload_is_repaired(world: World) -> None:
    """A port that another program holds passes `haproxy -c` and fails the reload."""
    in_step(world, RESYNC_PERIOD="1s")
    with contextlib.closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", free_port()))
        holder.listen()
        port = holder.getsockname()[1]
        bind = f"  bind 127.0.0.1:{world.haproxy.port}\n"
        # Of the backend itself nothing changes by a command: our repair is a reload on every way.
        version = world.dataplane.version()
        world.hand_edit((bind, f"{bind}  bind 127.0.0.1:{port}\n"), ("  balance roundrobin\n", "  balance leastconn\n"))
        # An API that has not read the file yet writes over it.
        wait_until(lambda: world.dataplane.version() != version, 20, "the edit is read")
        world.put_nodes("node-c")
        world.put_slice("node-a", "node-c")
        world.daemon.wait_metric("reloads_total", 1, result="failed", timeout=90)
        # While Data Plane API 3.0 reads its users anew it refuses a command, which is the last trouble for that moment.
        world.daemon.wait_not_ready("reload")
        # HAProxy goes on with what it had; what commands can change without a reload was changed.
        assert set(world.haproxy.servers(BACKEND)) == {"node-a", "node-b", "old", "sorry"}
        assert set(world.running()) == {"node-a"}
        assert world.who_answers() == "node-a"
    world.expect("node-a", "node-c", timeout=90)
    world.in_step(60)

"""What happens to HAProxy and its file: hand edits, PROXY v2, reloads that fail, and nothing at all."""

from __future__ import annotations

import contextlib
import socket

import pytest

from tests.harness.lines import section, server_lines
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


def test_hand_edit_of_a_weight_is_the_operators_to_make(world: World) -> None:
    in_step(world, RESYNC_PERIOD="1s")
    line = f"server node-a {world.ours()['node-a']}"
    assert " weight 100" in line
    version = world.version() + (0 if world.combination.is_local else 1)
    world.hand_edit((line, line.replace(" weight 100", " weight 7")))
    wait_until(lambda: world.version() == version, 10, "the Data Plane API to notice the edit, which counts as one")
    world.put_nodes("node-c")
    world.put_slice("node-a", "node-b", "node-c")
    world.expect("node-a", "node-b", "node-c")
    assert "weight 7" in world.ours()["node-a"]
    assert world.version() == version + 1


def test_kept_servers_are_never_touched(world: World) -> None:
    line = server_lines(world.dataplane.file(), BACKEND)["old"]
    world.put_nodes("node-a")
    world.put_slice("node-a")
    world.start_daemon(HAPROXY_KEEP_SERVERS="ol*")
    wait_until(lambda: set(world.ours()) == {"old", "node-a"}, 30, "node-a beside old")
    world.in_step()
    assert world.ours()["old"].split() == line.split()


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


def test_no_proxy_header_unless_asked(world: World) -> None:
    in_step(world)
    arrivals = [a for name in ("node-a", "node-b") for a in world.backends[name].client_arrivals()]
    assert arrivals and all(a.proxy == "" for a in arrivals)


@pytest.mark.every_combination
def test_failed_reload_is_repaired(world: World) -> None:
    """A port that somebody holds passes `haproxy -c` and fails the reload."""
    in_step(world, RESYNC_PERIOD="1s")
    with contextlib.closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", free_port()))
        holder.listen()
        port = holder.getsockname()[1]
        bind = f"  bind 127.0.0.1:{world.haproxy.port}\n"
        # Of the backend itself nothing changes by a command: our repair is a reload on every way.
        world.hand_edit((bind, f"{bind}  bind 127.0.0.1:{port}\n"), ("  balance roundrobin\n", "  balance leastconn\n"))
        world.put_nodes("node-c")
        world.put_slice("node-a", "node-c")
        world.daemon.wait_metric("reloads_total", 1, result="failed", timeout=90)
        # While Data Plane API 3.0 reads its users anew it refuses a command, which is the last trouble for that moment.
        world.daemon.wait_not_ready("reload")
        # HAProxy goes on with what it had; what it can be told without a reload, it was.
        assert set(world.haproxy.servers(BACKEND)) == {"node-a", "node-b", "old", "sorry"}
        assert set(world.running()) == {"node-a"}
        assert world.who_answers() == "node-a"
    world.expect("node-a", "node-c", timeout=90)
    world.in_step(60)


def test_nothing_is_written_when_nothing_happens(world: World) -> None:
    in_step(world, RESYNC_PERIOD="1s")
    version, text, worker = world.version(), world.dataplane.file(), world.haproxy.worker()
    reconciles = world.daemon.metrics().sum("reconciles_total")
    for beat in range(5):
        # What kubelets do all day.
        world.kube.admin.patch("Node", "node-a", {"status": {"conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:0{beat}Z"}]}}, status=True)
    world.daemon.wait_metric("reconciles_total", reconciles + 4)
    assert (world.version(), world.dataplane.file(), world.haproxy.worker()) == (version, text, worker)


def test_missing_backend_is_said_and_made_only_when_allowed(world: World) -> None:
    world.put_nodes("node-a")
    world.put_slice("node-a")
    before = world.dataplane.file()
    daemon = world.start_daemon(HAPROXY_BACKEND_NAME="not-there", RESYNC_PERIOD="1s")
    daemon.wait_not_ready("not-there")
    daemon.wait_log("not-there")
    assert world.dataplane.file() == before
    daemon.stop()
    world.start_daemon(HAPROXY_BACKEND_NAME="not-there", HAPROXY_CREATE_BACKEND="true")
    world.in_step()
    assert set(server_lines(world.dataplane.file(), "not-there")) == {"node-a"}
    assert set(server_lines(world.dataplane.file(), BACKEND)) == {"old", "sorry"}


def test_running_backend_has_what_the_file_has_after_many_changes(world: World) -> None:
    in_step(world)
    world.put_nodes("node-c", "node-d")
    for nodes in (["node-a", "node-c"], ["node-d"], ["node-b", "node-d"], ["node-a", "node-b", "node-c", "node-d"]):
        world.put_slice(*nodes)
        world.expect(*nodes)
    world.in_step()

"""`doctor` and the running daemon, the health of HAProxy's servers, and the names that there are where one is wrong."""

from __future__ import annotations

import pathlib
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.harness import objects
from tests.harness.process import free_port, wait_until

from .doctor import lines, look
from .rig import BACKEND, BY_NODE_PORT, NAMESPACE, PORT, SERVICE, SEVERAL, TEMPLATE, Rig


@pytest.fixture
def running(rig: Rig) -> Iterator[Rig]:
    rig.service()
    assert rig.start() is rig.daemon
    rig.daemon.wait_ready()
    rig.wait_in_sync()
    yield rig


def at(rig: Rig) -> dict[str, str]:
    assert rig.daemon
    return {"LISTEN_ADDRESS": f"127.0.0.1:{rig.daemon.port}"}


def test_a_daemon_that_runs(running: Rig) -> None:
    found = look(running, **at(running))
    assert found.one("daemon.running")["status"] == "ok"
    found.says("daemon.ready", "ok", "yes")
    found.says("daemon.sync", "ok", "yes")
    assert "\nReady. haproxy-k8s-sync plan shows what would change.\n" in found.text
    found.says("daemon.version", "ok", "as this program")


def test_none_runs(rig: Rig) -> None:
    rig.service()
    found = look(rig, LISTEN_ADDRESS=f"127.0.0.1:{free_port()}")
    found.says("daemon.running", "skip", "which is no failure")
    assert found.all("daemon.ready") == found.all("daemon.sync") == [] and "daemon.running" not in found.failed()


def test_a_daemon_that_is_not_ready(running: Rig) -> None:
    assert running.daemon
    running.kube.listening(False)
    running.kube.disconnect()
    running.daemon.wait_not_ready("watch nodes: stale", timeout=60)
    found = look(running, **at(running))
    found.says("daemon.ready", "warn", "watch nodes: stale")
    assert [check for check in found.failed() if check.startswith("daemon")] == [], "its cause is Kubernetes', which fails for itself"


def test_a_daemon_that_is_behind(running: Rig) -> None:
    assert running.daemon
    running.dataplane.stop()
    running.pods(1, 2)
    running.daemon.wait_not_ready("target .*be", timeout=60)
    found = look(running, **at(running))
    found.says("daemon.sync", "warn", f"1 of 1 backends are not: {BACKEND} at {running.dataplane.url} (problem)")


def test_a_daemon_that_is_ready_and_warns(running: Rig) -> None:
    running.pods()
    assert running.daemon
    wait_until(lambda: "keeping the last servers" in running.daemon.get("/readyz?verbose")[1], 20, "it holds what it has")
    look(running, **at(running)).says("daemon.warnings", "warn", "keeping the last servers")


def test_without_a_status_page(rig: Rig) -> None:
    rig.service()
    rig.start(STATUS_PAGE="false").wait_ready()
    found = look(rig, **at(rig))
    found.says("daemon.ready", "ok", "yes")
    found.says("daemon.sync", "skip", "STATUS_PAGE")


def test_one_that_listens_elsewhere(running: Rig) -> None:
    assert running.daemon and running.daemon.process
    found = look(running, LISTEN_ADDRESS=f"127.0.0.1:{free_port()}").says("daemon.running", "warn", "nothing answers at LISTEN_ADDRESS; ")
    assert f"process {running.daemon.process.pid} of this machine is a daemon for {running.dataplane.url}, with LISTEN_ADDRESS=" in found["found"]
    assert f"127.0.0.1:{running.daemon.port}" in found["found"]


def test_one_that_manages_something_else(running: Rig) -> None:
    found = look(running, **at(running), HAPROXY_BACKEND_NAME="other")
    found.says("daemon.settings", "warn", f"it has other backends: {BACKEND} {NAMESPACE}/{SERVICE}:")
    assert look(running, **at(running)).all("daemon.settings") == []


class Other(BaseHTTPRequestHandler):
    status, body = "", ""

    def do_GET(self) -> None:  # noqa: N802
        text = {"/readyz": "[+]watch nodes: synced\n", "/status": '{"version": "9.9.9", "state": "in_sync"}'}[self.path] if self.body else "hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("ours", [True, False], ids=["another version", "another program"])
def test_another_one_answers(rig: Rig, ours: bool) -> None:
    rig.service()
    server = HTTPServer(("127.0.0.1", 0), type("One", (Other,), {"body": "ours" if ours else ""}))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        found = look(rig, LISTEN_ADDRESS=f"127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    if ours:
        assert "systemctl restart haproxy-k8s-sync" in lines(found.says("daemon.version", "warn", "9.9.9"))
    else:
        found.says("daemon.running", "warn", "something else answers")


def test_one_that_hangs(rig: Rig) -> None:
    rig.service()
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        found = look(rig, "--timeout=3s", LISTEN_ADDRESS=f"127.0.0.1:{deaf.getsockname()[1]}")
    found.says("daemon.running", "warn", "does not answer")


# --- HAProxy's health

def test_servers_that_are_up(running: Rig) -> None:
    look(running).says("backend.health", "ok", "1 of 1 desired servers are UP")


@pytest.mark.parametrize("play", ["3.0", "3.4"])
def test_servers_that_are_down_and_what_their_checks_say(tmp_path: pathlib.Path, play: str) -> None:
    """Their checks go to the nodes' own port, where nobody is. Once one has failed there is no other: while one is under way, HAProxy
    does not say what was wrong with the one before."""
    with Rig(tmp_path, TEMPLATE.replace(" addr 127.0.0.1 port {fe}", "").replace("inter 5s", "inter 5s fastinter 100ms downinter 1h"), play) as rig:
        rig.service()
        wait_until(lambda: ",n1," in (stat := rig.haproxy.runtime("show stat be 4 -1")) and ",DOWN," in stat, 20, "the check to fail")
        found = look(rig).says("backend.health", "warn", "1 of 1 desired servers are DOWN in HAProxy: n1 (L4CON: ")
        assert "onnect" in found["found"] and "nothing listens at that port" in found["why"]
        assert f"nc -zv -w 2 127.0.11.1 {PORT}" in lines(found)
        here = look(rig, HAPROXY_DATAPLANE_URL="", HAPROXY_DATAPLANE_USERNAME="", HAPROXY_DATAPLANE_PASSWORD="", HAPROXY_CONFIG_FILE=str(rig.haproxy.config),
                    HAPROXY_MASTER_SOCKET=str(rig.haproxy.master_socket), HAPROXY_STATS_SOCKET=str(rig.haproxy.socket), HAPROXY_BIN=rig.haproxy.binary)
        assert here.says("backend.health", "warn", "are DOWN")["found"] == found["found"], "by its own socket it says the same"


# --- names

@pytest.fixture
def several(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, SEVERAL) as made:
        made.service()
        yield made


def test_the_backends_that_there_are(several: Rig) -> None:
    found = look(several, HAPROXY_BACKEND_NAME="eb2")
    failed = found.says("backend.exists", "fail", "haproxy.cfg has no backend of this name; it has be2, ")
    assert "be, " in failed["found"] + ", " and "be3" in failed["found"]
    assert failed["fixes"][0]["how"] == "did you mean be2? Then set (or in INGRESS_SERVICES)" and lines(failed)[0] == "HAPROXY_BACKEND_NAME=be2"
    far = look(several, HAPROXY_BACKEND_NAME="nowhere").says("backend.exists", "fail", "; it has ")
    assert lines(far)[0] == "backend nowhere", "none is near: it is a new one"


def test_the_services_that_there_are(several: Rig) -> None:
    several.kube.put(*(objects.service(f"s{i}", namespace=NAMESPACE, node_ports={"http": (80, 31000 + i)}) for i in range(12)),
                     objects.service("wbe", namespace="elsewhere", node_ports={"http": (80, 31100)}))
    found = look(several, INGRESS_SERVICE_NAME="wbe", **BY_NODE_PORT)
    failed = found.says("service.object", "fail", f"there is no Service wbe in namespace {NAMESPACE}; there are {SERVICE}, ")
    assert "and 3 more" in failed["found"] and "one of that name is in elsewhere" in failed["found"]
    assert lines(failed) == [f"INGRESS_SERVICE_NAME={SERVICE}", "INGRESS_NAMESPACE=elsewhere"]


def test_names_that_may_not_be_listed(several: Rig) -> None:
    several.kube.fault(resource="services", verb="list", status=403, times=4)
    failed = look(several, INGRESS_SERVICE_NAME="wbe", **BY_NODE_PORT).says("service.object", "fail", "there is no Service wbe")
    assert "there are" not in failed["found"] and "kubectl get services -A" in lines(failed)

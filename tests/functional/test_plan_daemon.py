"""`plan` beside the running daemon: that gives its own where it leads and has the same backends, HAProxies and settings, and where it does
not, `plan` says why."""

from __future__ import annotations

import dataclasses
import http.server
import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import free_port

from .rig import NAMESPACE, SERVICE, SEVERAL, Rig, program
from .test_leader import Replicas
from .test_plan import Run, look
from .test_runtime_updates import WRITE, endpoints, in_step

PAUSED = {"haproxy-k8s-sync/paused": "true"}


def beside(rig: Rig, *words: str, port: int = 0, **settings: str) -> Run:
    """By the settings alone: the daemon is asked at its LISTEN_ADDRESS."""
    at = port or (rig.daemon.port if rig.daemon else 0)
    return look(rig, "plan", *words, LISTEN_ADDRESS=f"127.0.0.1:{at}", **settings)


def used(rig: Rig, **settings: str) -> dict[str, Any]:
    """What it says of the backend, in JSON; that it knows what the daemon knows is checked."""
    run = beside(rig, "-o", "json", **settings)
    assert rig.daemon and run.json()["daemon"] == {"url": f"http://127.0.0.1:{rig.daemon.port}", "used": True, "why": None}
    return run.backend()


def unused(run: Run, why: str) -> None:
    """The plan is made all the same."""
    assert run.said(rf"^daemon at http://\S+: not used: {why}"), run.out
    assert run.status == 0 and run.said("in sync: 1 server"), run.out + run.err


def status(rig: Rig) -> dict[str, Any]:
    assert rig.daemon
    return dict(json.loads(rig.daemon.get("/status")[1]))


# --- what it remembers

def test_drain_in_progress(rig: Rig) -> None:
    in_step(rig, 1, 2, DRAIN_TIMEOUT="1h")
    endpoints(rig, [1], [2])
    rig.wait_draining(2)
    rig.wait_in_sync()
    server, = [s for s in used(rig, DRAIN_TIMEOUT="1h")["servers"] if s["name"] == "n2"]
    until = server["until"]
    assert server["state"] == "draining" and until > status(rig)["generated_at"]
    run = beside(rig, DRAIN_TIMEOUT="1h")
    assert run.status == 0 and run.said(rf"= n2 \S+ weight 100 draining until {until[:19]}Z"), run.out
    assert run.said(r"^daemon at http://127.0.0.1:\d+: its memory is used")
    alone = look(rig, "plan", "-o", "json", DRAIN_TIMEOUT="1h")
    assert alone.json()["daemon"] is None and [s["until"] for s in alone.backend()["servers"]] == [None, None]


def test_runtime_updates_that_failed(rig: Rig) -> None:
    in_step(rig, 1, 2, 3)
    rig.dataplane.fault({"action": "lie", **WRITE})
    for nodes in ((1, 2), (1, 2, 3), (1, 2), (1, 2, 3)):
        rig.pods(*nodes)
        rig.wait_servers(*nodes)
        rig.wait_in_sync()
    assert status(rig)["haproxies"][0]["runtime_verification"] == "failed"
    rig.service(annotations=PAUSED)
    rig.pods(1, 2)
    assert rig.daemon
    rig.daemon.wait_metric("changes_pending", 1)
    be = used(rig)
    assert be["verdict"] == "not_written" and [c["reload"] for c in be["changes"]] == [True] and "did not apply" in be["reload_why"]
    assert beside(rig).said("1 to park; by a transaction and a reload")
    assert [c["reload"] for c in look(rig, "plan", "-o", "json").backend()["changes"]] == [False]
    commits = rig.commits()
    rig.service()
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    assert rig.commits() == commits + 1, "and so it was"


# --- it is not used

def test_it_does_not_lead(rig: Rig) -> None:
    replicas = Replicas(rig)
    try:
        led_by_the_other(replicas.start())
    finally:
        replicas.close(True)


def led_by_the_other(replicas: Replicas) -> None:
    rig = replicas.rig
    env = {name: {key: replicas[name].env[key] for key in ("KUBECONFIG", "HAPROXY_DATAPLANE_URL")} for name in ("a", "b")}
    assert beside(rig, "-o", "json", port=replicas["a"].port, **env["a"]).json()["daemon"]["used"]
    unused(beside(rig, port=replicas["b"].port, **env["b"]), "it is not the leader")


def test_it_has_other_backends_or_haproxies(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, SEVERAL) as rig:
        rig.service()
        rig.start()
        rig.wait_in_sync()
        unused(beside(rig, INGRESS_SERVICE_PORT="https"), "it has other backends")
        run = beside(rig, INGRESS_SERVICES=f"{NAMESPACE}/{SERVICE}=be,{NAMESPACE}/{SERVICE}=be2", INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="",
                     HAPROXY_BACKEND_NAME="", HAPROXY_BACKEND_PORT="")
        assert run.said("not used: it has other backends")
        assert beside(rig, HAPROXY_BACKEND_NAME="be2").said("not used: it has other backends")
        unused(beside(rig, HAPROXY_DATAPLANE_URL=rig.dataplane.url.replace("127.0.0.1", "localhost")), "it has other HAProxies")


def test_there_is_none(rig: Rig) -> None:
    port = free_port()
    unused(beside(rig, port=port), f"GET http://127.0.0.1:{port}/plan: .*refused")
    assert beside(rig, "-o", "json", port=port).json()["daemon"]["used"] is False
    unused(beside(rig, port=port, STATUS_PAGE="false"), "STATUS_PAGE=false")
    assert beside(rig, "--daemon=none", port=port).said("^backend be")
    rig.start()
    rig.wait_in_sync()
    assert rig.daemon
    assert look(rig, "plan", f"--daemon=http://127.0.0.1:{rig.daemon.port}", "-o", "json", STATUS_PAGE="false").json()["daemon"]["used"]


def test_it_answers_its_own_machine_alone(rig: Rig) -> None:
    """By another address than 127.0.0.1, it cannot know that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect(("198.51.100.1", 9))
        here = way.getsockname()[0]
    rig.daemon = Daemon(rig.home / "daemon", rig.settings(), program())
    rig.daemon.env["LISTEN_ADDRESS"] = f"0.0.0.0:{rig.daemon.port}"
    rig.daemon.start()
    rig.wait_in_sync()
    if not here.startswith("127."):
        assert look(rig, "plan", f"--daemon=http://{here}:{rig.daemon.port}").said("not used: it answers /plan with HTTP 403")
    assert look(rig, "plan", f"--daemon=http://127.0.0.1:{rig.daemon.port}", "-o", "json").json()["daemon"]["used"]


def test_it_has_other_settings(rig: Rig) -> None:
    rig.start()
    rig.wait_in_sync()
    unused(beside(rig, PARK_TTL="7h"), r"it has other settings \(PARK_TTL\)")
    assert used(rig, LOG_FORMAT="json")["verdict"] == "in_sync", "that decides nothing"


GOOD = {"why": None, "settings": "backends=", "status": 0, "out": "in sync", "problems": ""}
ANSWERS: dict[str, tuple[int, bytes, str]] = {
    "html": (200, b"<html>it works</html>", "its plan is not JSON"),
    "something else": (200, b"{}", "settings is missing or empty"),
    "its own reason": (200, b'{"why": "it is asleep"}', "it is asleep"),
    "other settings": (200, json.dumps(GOOD).encode(), "it has other backends"),
    "elsewhere": (302, b"", "it answers /plan with HTTP 302"),
    "huge": (200, b"[" + b"1," * 5_000_000 + b"1]", "GET .*/plan: .*8388608"),
}


@dataclasses.dataclass
class Stranger:
    port: int
    answer: tuple[int, bytes]
    asked: int = 0


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    """Another program at the port."""
    made = Stranger(0, (200, b""))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked += 1
            self.send_response(made.answer[0])
            self.send_header("Location", f"http://127.0.0.1:{made.port}/other")
            self.send_header("Content-Length", str(len(made.answer[1])))
            self.end_headers()
            try:
                self.wfile.write(made.answer[1])
            except OSError:
                pass  # it has heard enough

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def test_something_else_is_at_the_port(rig: Rig, stranger: Stranger) -> None:
    for name, (code, body, why) in ANSWERS.items():
        stranger.answer = (code, body)
        stranger.asked = 0
        unused(beside(rig, port=stranger.port), why)
        assert stranger.asked == 1, name


def test_something_silent_is_at_the_port(rig: Rig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kept: list[socket.socket] = []

        def accept() -> None:
            kept.append(silent.accept()[0])
            kept[0].recv(1)
            kept[0].sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{")

        thread = threading.Thread(target=accept)
        thread.start()
        unused(beside(rig, port=silent.getsockname()[1]), "GET .*/plan: .*(timed out|timeout)")
        thread.join()
        kept[0].close()

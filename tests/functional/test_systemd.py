"""Under systemd or its like: notified when the daemon is ready, how it stands, that its loop turns, and that it stops."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness.process import free_port, wait_until
from tests.harness.supervisor import Supervisor

from .rig import Rig, program
from .wrapped import start_in

# The watchdog's interval: it is to be notified in half of that.
WATCHED = "400000"


@pytest.fixture
def supervisor(tmp_path: pathlib.Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "notify") as made:
        yield made


def not_ready(body: str) -> list[str]:
    return re.findall(r"^\[-\](.*)", body, re.M)


def life(rig: Rig, supervisor: Supervisor) -> None:
    supervisor.wait_for("READY=1")
    daemon = rig.daemon
    assert daemon.get("/healthz")[0] == 200, "ready is what answers"
    supervisor.wait_status("ready")
    assert supervisor.said[0] == "READY=1"
    rig.wait_in_sync()
    rig.dataplane.stop()
    rig.pods(1, 2)
    daemon.wait_not_ready("target")
    supervisor.wait_status("not ready: target " + rig.dataplane.url)
    wait_until(lambda: supervisor.status() == f"not ready: {not_ready(daemon.get('/readyz')[1])[0]}", 20, "what /readyz says")
    rig.dataplane.start()
    rig.wait_servers(1, 2)
    supervisor.wait_status("ready")
    before = len(supervisor.hear())
    daemon.process.signal(signal.SIGHUP)
    supervisor.wait_for("RELOADING=1", since=before)
    wait_until(lambda: "READY=1" in supervisor.hear()[supervisor.said.index("RELOADING=1", before):], 20, "the end of the reload")
    assert float(supervisor.of("MONOTONIC_USEC")[0]) > 0
    wait_until(lambda: len(supervisor.of("WATCHDOG", before)) >= 3, 20, "the watchdog to be told")
    daemon.stop()
    supervisor.hear()
    assert supervisor.said.index("STOPPING=1") > before and supervisor.said.count("STOPPING=1") == 1
    assert supervisor.said.count("READY=1") == 2, "once, and once after SIGHUP"
    assert supervisor.status().startswith("stopping")


def test_life_as_it_is_notified(rig: Rig, supervisor: Supervisor) -> None:
    rig.start(NOTIFY_SOCKET=supervisor.at, WATCHDOG_USEC=WATCHED)
    life(rig, supervisor)


def test_life_as_it_is_notified_from_under_the_filter(rig: Rig) -> None:
    """By the other kind of address. The filter lets no socket of this kind be made any more."""
    with Supervisor(f"@{rig.home}/notify") as supervisor:
        start_in(rig, 'exec "$DAEMON"', SECCOMP="true", NOTIFY_SOCKET=supervisor.at, WATCHDOG_USEC=WATCHED)
        life(rig, supervisor)


def test_ready_while_nothing_else_is_up(rig: Rig, supervisor: Supervisor) -> None:
    """Or an outage would have the supervisor kill it at its start, again and again."""
    rig.kube.listening(False)
    rig.dataplane.stop()
    daemon = rig.start(NOTIFY_SOCKET=supervisor.at)
    supervisor.wait_for("READY=1")
    supervisor.wait_status("not ready: watch nodes: not synced")
    assert "more, see /readyz)" in supervisor.status()
    assert supervisor.of("WATCHDOG") == [], "nobody watches"
    rig.kube.listening(True)
    rig.dataplane.start()
    supervisor.wait_status("ready", 40)
    daemon.stop()


@pytest.mark.parametrize("filtered", ["true", "false"])
def test_supervisor_that_goes_and_comes(rig: Rig, filtered: str) -> None:
    """Nobody there is no reason to wait or to end; a supervisor that listens there later hears all of it."""
    supervisor = Supervisor(rig.home / "notify")
    daemon = start_in(rig, 'exec "$DAEMON"', SECCOMP=filtered, NOTIFY_SOCKET=supervisor.at, WATCHDOG_USEC=WATCHED)
    rig.wait_in_sync()
    daemon.wait_log("cannot notify systemd; retrying")
    with supervisor:
        supervisor.wait_for("READY=1")
        supervisor.wait_status("ready")
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    seen = len(supervisor.said)
    with supervisor:
        wait_until(lambda: supervisor.of("WATCHDOG", seen), 20, "the watchdog to be told")
        daemon.stop()
        assert "STOPPING=1" in supervisor.hear()[seen:]
    assert daemon.log().count("cannot notify systemd") <= 2, "once for each time that nobody is there"


def test_start_that_fails_is_never_ready(rig: Rig, supervisor: Supervisor) -> None:
    env = rig.settings(NOTIFY_SOCKET=supervisor.at, LISTEN_ADDRESS=f"127.0.0.1:{rig.kube.port}")
    done = subprocess.run([program()], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "cannot start" in done.stderr
    assert supervisor.hear() == []


def test_commands_notify_nothing(rig: Rig, supervisor: Supervisor) -> None:
    """They may run in the unit beside the daemon (ExecStartPre, systemd-run)."""
    env = rig.settings(NOTIFY_SOCKET=supervisor.at, WATCHDOG_USEC=WATCHED, LISTEN_ADDRESS=f":{free_port()}")
    for command, status in (["check-config"], 0), (["plan"], 0), (["explain", "n1"], 0), (["--help"], 0):
        done = subprocess.run([program(), *command], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
    assert supervisor.hear() == []


def test_plugin_does_not_get_the_notify_socket(rig: Rig, supervisor: Supervisor) -> None:
    plugin = rig.home / "plugin"
    answer = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "x"}}
    plugin.write_text(f"#!/bin/sh\nenv >{rig.home}/environment\necho '{json.dumps(answer)}'\n")
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": os.fspath(plugin), "interactiveMode": "Never"}}
    path = rig.kube.kubeconfig(rig.home / "by-plugin", token="", user=user)
    rig.start(KUBECONFIG=str(path), NOTIFY_SOCKET=supervisor.at, WATCHDOG_USEC=WATCHED, WATCHDOG_PID="1", OTHER="kept")
    rig.wait_in_sync()
    environment = (rig.home / "environment").read_text()
    assert "\nOTHER=kept\n" in f"\n{environment}"
    assert not re.search(r"^(NOTIFY|WATCHDOG)_", environment, re.M), environment
    supervisor.wait_for("READY=1")
    assert supervisor.of("WATCHDOG") == [], "the watchdog is another process's"

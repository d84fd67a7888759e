"""The ways to check and reload a HAProxy of this machine: a command, further files of its; what hangs there, and a daemon that ends
the daemon meanwhile."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Iterator

import pytest

from tests.harness.daemon import STOP_WITHIN
from tests.harness.process import Process, wait_until

from . import test_local
from .rig import Rig
from .test_local import Local, await_log, beside, state

local, rig = test_local.local, test_local.rig  # fixtures


def script(path: pathlib.Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def by_command(home: pathlib.Path, pid_file: pathlib.Path, first: str = "") -> dict[str, str]:
    return {"HAPROXY_RELOAD_COMMAND": script(home / "reload", f"{first}\nexec kill -USR2 $(cat {pid_file})")}


# --- by a command


def test_a_whole_configuration_is_loaded_by_a_command(local: Local) -> None:
    local.put(local.text("one"))
    with local.daemon(**by_command(local.home, local.haproxy.pid_file)) as daemon:
        for count, word in enumerate(("one", "two"), 1):
            local.put(local.text(word))
            local.await_says(word)
            await_log(daemon, 'msg="configuration applied"', count)
            wait_until(daemon.ready, 10, "ready")
        assert daemon.metrics().sum("reloads_total", result="succeeded") == 2


def test_servers_are_loaded_by_a_command(rig: Rig, tmp_path: pathlib.Path) -> None:
    """With a change that no command can make."""
    worker = rig.haproxy.worker()
    daemon = rig.start(**beside(rig, HAPROXY_BALANCE="source", **by_command(tmp_path, rig.haproxy.pid_file)))
    rig.pods(1, 2)
    wait_until(lambda: state(rig, "n2") == "ready", 15, "n2 runs")
    daemon.wait_ready()
    daemon.wait_log("HAProxy reloaded")
    assert rig.haproxy.worker() != worker and "balance source" in rig.haproxy.config.read_text()


def test_a_haproxy_without_a_master_is_named(local: Local) -> None:
    """It was started without -W, and the socket is that of the worker: nothing can be loaded, and it keeps what it runs."""
    local.haproxy.stop()
    alone = Process([local.haproxy.binary, "-db", "-f", str(local.haproxy.config)], local.home / "alone.log", name="haproxy")
    try:
        wait_until(lambda: local.says() == "zero", 10, "HAProxy without a master")
        local.put(local.text("one"))
        with local.daemon(HAPROXY_MASTER_SOCKET=str(local.haproxy.socket)) as daemon:
            await_log(daemon, "(is it the master's socket, and was HAProxy started with -W?)")
            daemon.wait_not_ready("written; not verified yet")
            assert alone.alive and local.says() == "zero" and "Data Plane" not in daemon.log()
    finally:
        alone.stop()


# --- further files of the same HAProxy


BASE = "defaults base\n  mode http\n  timeout connect 1s\n  timeout client 5s\n  timeout server 5s\n"


@pytest.mark.parametrize("front", [True, False], ids=["in front", "behind"])
def test_files_beside_it_count(tmp_path: pathlib.Path, front: bool) -> None:
    """Each of the two is nothing without the other, and in the other order."""
    made = Local(tmp_path)
    config, static = made.haproxy.config, tmp_path / "static.cfg"
    head, _, rest = made.first.partition("defaults\n")
    frontend = "frontend fe from base\n" + rest.partition("frontend fe\n")[2]
    made.first = head + frontend if front else head + BASE + frontend
    static.write_text(BASE if front else "backend more from base\n")
    config.write_text(made.first)
    made.haproxy.files = [static, config] if front else [config, static]
    with made.haproxy:
        made.put(made.text("one"))
        with made.daemon(HAPROXY_CHECK_FILES=str(static) if front else f"{config},{static}") as daemon:
            made.await_says("one")
            wait_until(daemon.ready, 10, "ready")
            made.put(made.text("two").replace(" base\n", " basis\n"))
            await_log(daemon, "configuration rejected; no HAProxy gets it")
            assert f"section '{'basis' if front else 'base'}' not found" in daemon.get("/readyz")[1] and made.says() == "one"
            made.put(made.text("three"))
            made.await_says("three")


# --- what hangs, and who ends meanwhile


class Gate:
    """A `haproxy -c` or a reload that waits, once it is closed."""

    def __init__(self, local: Local, step: str):
        self.hold, self.asked = local.home / "hold", local.home / "asked"
        waits = f"[ ! -p {self.hold} ] || {{ : >{self.asked}; cat {self.hold}; }}"
        if step == "check":
            self.settings = {"HAPROXY_BIN": script(local.home / "checker", f'{waits}\nexec {local.haproxy.binary} "$@"')}
        else:
            self.settings = by_command(local.home, local.haproxy.pid_file, waits)

    def close(self) -> None:
        os.mkfifo(self.hold)

    def open(self) -> None:
        """For each client; who waits gets what is to be read: nothing."""
        self.hold.rename(held := self.hold.with_name("held"))
        os.close(os.open(held, os.O_RDWR))


@pytest.fixture
def running(local: Local) -> Iterator[Local]:
    local.put(local.text("one"))
    with local.daemon("before") as daemon:
        local.await_says("one")
        wait_until(daemon.ready, 10, "ready")
    yield local


def in_group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("step, killed", [("check", False), ("reload", True)])
def test_the_daemon_ends_at_each_step(running: Local, step: str, killed: bool) -> None:
    """The next daemon goes on where it stopped, with one reload."""
    local, gate = running, Gate(running, step)

    def left() -> list[str]:
        return [path.name for path in local.haproxy.dir.glob(".*") if not path.name.endswith(".lock")]

    gate.close()
    worker, daemon = local.haproxy.worker(), local.daemon(**gate.settings).start()
    local.put(local.text("two"))
    wait_until(gate.asked.exists, 20, f"the {step} that waits")
    if killed:
        assert daemon.process is not None
        os.kill(daemon.pid, signal.SIGKILL)  # and not its helpers, which tidy up and end by themselves
        daemon.process.popen.wait(5)
        wait_until(lambda: not left(), 20, "nothing left beside haproxy.cfg")
        wait_until(lambda: not in_group(daemon.pid), 20, "its helpers to end")
        daemon.kill()
    else:
        assert daemon.stop() < STOP_WITHIN
    assert local.says() == "one" and local.haproxy.worker() == worker
    assert local.haproxy.config.read_text() == local.text("one" if step == "check" else "two")
    assert left() == []
    with local.daemon("next") as after:
        local.await_says("two")
        wait_until(after.ready, 20, "ready")
        worker = local.haproxy.worker()
        assert after.metrics().sum("reloads_total") == 1
    with local.daemon("last") as last:
        wait_until(last.ready, 10, "ready")
        assert local.haproxy.worker() == worker


def test_a_check_that_hangs_holds_up_nobody(running: Local) -> None:
    local, gate = running, Gate(running, "check")
    with local.daemon(**gate.settings) as daemon:
        wait_until(daemon.ready, 10, "ready")
        gate.close()
        local.put(local.text("two"))
        wait_until(gate.asked.exists, 20, "the check that hangs")
        assert daemon.get("/livez")[0] == 200 and daemon.get("/readyz")[1] and local.says() == "one"
        assert local.haproxy.config.read_text() == local.text("one")
        gate.open()
        local.await_says("two")
        wait_until(daemon.ready, 10, "ready")

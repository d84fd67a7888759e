"""Daemons on one haproxy.cfg, one after the other: what was written and not loaded, and who waits for whom."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.harness.process import wait_until

from . import test_local
from .rig import Rig
from .test_local import Local, await_log, beside

local, rig = test_local.local, test_local.rig  # fixtures

UNLOADED = "haproxy.cfg was written and not loaded; loading it"


def never_reloads(home: pathlib.Path) -> tuple[dict[str, str], pathlib.Path]:
    """A command that hangs instead of a reload, and the file that says that it was asked."""
    program, asked = home / "hangs", home / "asked"
    program.write_text(f"#!/bin/sh\n: >{asked}\nexec sleep 1000\n")
    program.chmod(0o755)
    return {"HAPROXY_RELOAD_COMMAND": str(program)}, asked


def test_a_configuration_that_was_not_loaded_is_loaded_by_the_next_daemon(local: Local) -> None:
    local.put(local.text("one"))
    hangs, asked = never_reloads(local.home)
    worker = local.haproxy.worker()
    daemon = local.daemon(**hangs).start()
    wait_until(asked.exists, 15, "the reload that hangs")
    daemon.kill()
    assert local.haproxy.config.read_text() == local.text("one") and local.says() == "zero" and local.haproxy.worker() == worker
    with local.daemon("next") as after:
        local.await_says("one")
        await_log(after, UNLOADED)
        wait_until(after.ready, 10, "ready")
        assert local.haproxy.config.read_text() == local.text("one")
        worker = local.haproxy.worker()
    with local.daemon("last") as last:  # it is loaded once
        wait_until(last.ready, 10, "ready")
        assert local.haproxy.worker() == worker and UNLOADED not in last.log()


def test_a_haproxy_that_does_not_run_is_one_cause(local: Local) -> None:
    """Each reload that fails is not taken for what an earlier daemon left."""
    local.put(local.first)
    with local.daemon() as daemon:
        wait_until(daemon.ready, 10, "ready")
        local.haproxy.stop()
        local.put(local.text("one"))
        await_log(daemon, "reload without a change", 2)
        assert daemon.log().count("reload failed; HAProxy keeps what it ran before") == 1 and UNLOADED not in daemon.log()
        local.haproxy.start()
        local.await_says("one")
        wait_until(daemon.ready, 15, "ready")


def test_another_configuration_comes_meanwhile(local: Local) -> None:
    local.put(local.text("one"))
    hangs, asked = never_reloads(local.home)
    daemon = local.daemon(**hangs).start()
    wait_until(asked.exists, 15, "the reload that hangs")
    daemon.kill()
    local.put(local.text("two"))
    with local.daemon("next") as after:
        local.await_says("two")
        wait_until(after.ready, 10, "ready")
        worker = local.haproxy.worker()
    with local.daemon("last") as last:
        wait_until(last.ready, 10, "ready")
        assert local.haproxy.worker() == worker


def test_servers_that_were_not_loaded_are_loaded_by_the_next_daemon(rig: Rig, tmp_path: pathlib.Path) -> None:
    hangs, asked = never_reloads(tmp_path)
    nobody = {"HAPROXY_MASTER_SOCKET": "", "HAPROXY_STATS_SOCKET": str(tmp_path / "nobody.sock")}
    rig.pods(1, 2)
    daemon = rig.start(**beside(rig, **hangs, **nobody))
    wait_until(asked.exists, 15, "the reload that hangs")
    daemon.kill()
    assert "server n2 " in rig.haproxy.config.read_text() and "n2" not in rig.haproxy.servers("be")
    after = rig.start(**beside(rig))
    after.wait_log(re.escape(UNLOADED))
    wait_until(lambda: "n2" in rig.haproxy.servers("be"), 15, "n2 runs")
    after.wait_log("HAProxy reloaded")
    after.wait_ready()
    worker = rig.haproxy.worker()
    after.stop()
    last = rig.start(**beside(rig))
    last.wait_ready()
    assert rig.haproxy.worker() == worker and UNLOADED not in last.log()[last.log().rindex("msg=started"):]


@pytest.mark.parametrize("killed", [False, True])
def test_a_second_daemon_waits_and_takes_over(local: Local, killed: bool) -> None:
    local.put(local.text("one"))
    other = local.home / "other.cfg"
    other.write_text(local.text("other"))
    with local.daemon() as first:
        local.await_says("one")
        wait_until(first.ready, 10, "ready")
        with local.daemon("second", CONFIG_FILE=str(other), STATE_DIR=str(local.home / "second-state")) as second:
            waits = f"another daemon (pid {first.pid}) writes {local.haproxy.config}; this one waits until that ends"
            await_log(second, waits)
            wait_until(lambda: waits in second.get("/readyz")[1], 10, f"{waits} in /readyz")
            assert waits in second.get("/status")[1]
            local.put(local.text("two"))
            local.await_says("two")
            said = [line for line in second.log().splitlines() if waits in line]
            assert len(said) == 1, "\n".join(said)
            if killed:
                first.kill()
            else:
                first.stop()
            local.await_says("other")
            wait_until(second.ready, 10, "ready")
            assert "the other daemon has left HAProxy's file to this one" in second.log()

"""Files whose meaning any write of a Data Plane API changes: they are not written to, and it is said why, by line number."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.harness.daemon import clean_env
from tests.harness.haproxy import haproxy_binary
from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig, program

Make = Callable[..., Rig]

CONDITIONAL = TEMPLATE + """
backend aside
.if defined(NOT_THERE)
  timeout server 1s
.endif
  server a 127.0.0.1:9
"""
TWO_DEFAULTS = TEMPLATE + """
defaults
  mode http
  timeout connect 3s
  timeout client 31s
  timeout server 31s

backend aside
  server a 127.0.0.1:9
"""
NOTHING = "nothing is written: a write would change the meaning of haproxy.cfg: "
OVER = "a conditional, whose branches would all become active: replace it"


def line_of(template: str, text: str) -> int:
    return template.splitlines().index(text) + 1


def says(rig: Rig, *words: str) -> tuple[int, str]:
    done = subprocess.run([program(), *words], env=clean_env(**rig.settings()), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def wait_refused(rig: Rig, text: str) -> str:
    def refused() -> str:
        status, body = rig.daemon.get("/readyz")  # type: ignore[union-attr]
        return body if status == 503 and text in body else ""

    return str(wait_until(refused, 20, f"/readyz saying {text!r}"))


def test_such_a_file_is_not_written_to(rig_of: Make) -> None:
    rig, why = rig_of(CONDITIONAL), OVER
    line = f"lines {line_of(CONDITIONAL, '.if defined(NOT_THERE)')}, {line_of(CONDITIONAL, '.endif')}: "
    before = rig.dataplane.file()
    daemon = rig.start(RESYNC_PERIOD="1s")
    wait_refused(rig, NOTHING + line + why)
    rig.pods(1, 2, 3)
    daemon.wait_log(f'level=error msg="{NOTHING[:-2]}".*{why}')
    looked = daemon.metrics().sum("http_requests_total", method="GET")
    daemon.wait_metric("http_requests_total", looked + 10, method="GET")
    os.kill(daemon.pid, signal.SIGHUP)
    daemon.wait_metric("http_requests_total", looked + 20, method="GET")
    assert rig.dataplane.file() == before
    assert not rig.writes() and not rig.transactions() and not rig.looks()
    assert why in daemon.get("/status")[1]
    status, plan = says(rig, "plan")
    assert status == 1 and line + why in plan, plan
    explain = says(rig, "explain", "n3")[1]
    assert NOTHING + line + why in " ".join(explain.split()), explain
    status, doctor = says(rig, "doctor")
    assert status == 1 and line + why in doctor and "nothing is written until that is fixed" in doctor, doctor
    rig.hand_edit(TEMPLATE.replace("{d}", str(rig.haproxy.dir)).replace("{fe}", str(rig.haproxy.port)))
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()
    daemon.wait_log('msg="problem resolved"')
    rig.dataplane.follow(str(rig.dataplane.get("/reloads").json()[-1]["id"]))


def test_and_not_written_to_where_it_does_not(rig_of: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    haproxy, real = tmp_path / "haproxy-of-no-git", haproxy_binary()
    haproxy.write_text(f'#!/bin/sh\n[ "$*" != -v ] || {{ {real} -v | sed "s/-[^ ]* / /"; exit; }}\nexec {real} "$@"\n')
    haproxy.chmod(0o755)
    monkeypatch.setenv("HAPROXY", str(haproxy))
    rig = rig_of(TWO_DEFAULTS)
    before = rig.dataplane.file()
    rig.start()
    wait_refused(rig, f"line {line_of(TWO_DEFAULTS, 'frontend fe')} (frontend fe) would inherit from defaults unnamed_defaults_2 "
                      "instead of defaults unnamed_defaults_1")
    rig.pods(1, 2)
    status, plan = says(rig, "plan")
    assert "a proxy without `from` before the last of several defaults sections" in plan, plan
    assert rig.dataplane.file() == before
    assert not rig.writes()
    rig.wait_closed()
    assert rig.looks() == 2, "the daemon's, and that of plan"
    os.kill(rig.daemon.pid, signal.SIGHUP)  # type: ignore[union-attr]
    wait_until(lambda: rig.looks() == 3, 20, "another look")
    assert rig.dataplane.file() == before


def test_who_drains_is_sent_all_the_same(rig_of: Make) -> None:
    rig = rig_of(CONDITIONAL.replace("  server sorry", "  server n2 127.0.11.2:30443 check weight 100\n  server sorry"))
    before = rig.dataplane.file()
    rig.pods(1, 2)
    rig.start()
    wait_refused(rig, OVER)
    rig.pods(1, 2, conditions={"ready": False, "serving": True, "terminating": True})
    rig.pods(1)
    rig.daemon.wait_metric("runtime_commands_total", 1)  # type: ignore[union-attr]
    assert rig.dataplane.file() == before

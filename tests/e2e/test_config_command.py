"""haproxy-k8s-sync config plan, validate, apply, history and rollback, with HAProxies that run."""

from __future__ import annotations

import json
import pathlib


from tests.harness.process import wait_until

from .sites import Sites


def test_plan_says_what_would_change_and_writes_nothing(sites: Sites, tmp_path: pathlib.Path) -> None:
    dataplane = sites.list[0][1]
    before, version = dataplane.file(), dataplane.version()
    sites.source.write_text(sites.text())
    done = sites.command("plan")
    assert done.returncode == 2, done.stderr
    assert f"{dataplane.url}: accepted; a reload: " in done.stdout
    assert "    backend ingress: balance\n" in done.stdout and "    backend by-roundrobin: new\n" in done.stdout
    assert "    backend ingress\n        - balance " in done.stdout and "        + balance roundrobin\n" in done.stdout
    same = tmp_path / "same.cfg"
    same.write_text("# the same\n" + before)
    done = sites.command("plan", str(same))
    assert (done.returncode, "accepted; no change" in done.stdout) == (0, True), done.stdout
    found = json.loads(sites.command("plan", "-", "-o", "json", given=sites.text()).stdout)
    assert (found["source"], found["targets"][0]["state"], found["targets"][0]["effect"]) == ("standard input", "valid", "reload")
    assert found["targets"][0]["change_count"] == len(found["targets"][0]["changes"]) > 1
    assert {"section": "backend ingress", "line": "+ balance roundrobin"} in found["targets"][0]["lines"]
    assert found["targets"][0]["line_count"] == len(found["targets"][0]["lines"])
    secret = sites.text() + "userlist others\n  user someone insecure-password hunter2\n"
    done = sites.command("plan", "-", given=secret)
    assert "+ user someone insecure-password ***" in done.stdout and "hunter2" not in done.stdout, done.stdout
    assert dataplane.file() == before and dataplane.version() == version


def test_validate_names_the_line(sites: Sites) -> None:
    good = sites.text()
    bad = good.replace("  balance roundrobin", "  bogus roundrobin")
    line = bad.splitlines().index("  bogus roundrobin") + 1
    assert sites.command("validate", "-", given=good).returncode == 0
    done = sites.command("validate", "-", given=bad)
    assert done.returncode == 1 and f"line {line}: unknown keyword 'bogus'" in " ".join(done.stdout.split()), done.stdout
    done = sites.command("validate", "-", given=good + "backend x # no line break at the end, and\n.if defined(X)\n")
    said = done.stdout if sites.combination.is_local else done.stderr  # by HAProxy there, to which conditionals are no matter
    assert done.returncode == 1 and f"line {good.count(chr(10)) + 2}" in said, done
    done = sites.command("validate", "/nonexistent.cfg")
    assert done.returncode == 1 and "/nonexistent.cfg: No such file or directory" in done.stderr


def test_apply_ends_when_it_runs(sites: Sites) -> None:
    sites.source.write_text(sites.text())
    done = sites.command("apply", str(sites.source))
    assert done.returncode == 0 and "applied and verified" in done.stdout, done.stdout + done.stderr
    assert sites.runs(0, "roundrobin")()
    done = sites.command("apply", "-", given=sites.text().replace("  balance roundrobin", "  bogus roundrobin"))
    assert done.returncode == 1 and "rejected" in done.stdout
    assert sites.runs(0, "roundrobin")()


def test_history_and_rollback(sites: Sites, tmp_path: pathlib.Path) -> None:
    """It holds over a restart, until the source changes."""
    state = str(tmp_path / "state")
    done = sites.command("history")
    assert done.returncode == 1 and "STATE_DIR is not set: the daemon keeps its versions in memory alone" in done.stderr
    sites.source.write_text(sites.text())
    daemon = sites.start(STATE_DIR=state, SECCOMP="true", CONFIG_MIN_INTERVAL="0s")
    daemon.wait_log("msg=\"configuration applied\"", 20)
    seen = len(daemon.log())
    sites.source.write_text(sites.text(balance="static-rr"))
    daemon.wait_log("msg=\"configuration applied\"", 20, seen)
    assert sites.runs(0, "static-rr")()
    versions = json.loads(sites.command("history", "-o", "json", STATE_DIR=state).stdout)["versions"]
    assert [(v["number"], v["targets"]) for v in versions] == [(2, [sites.list[0][1].url]), (1, [sites.list[0][1].url])]
    assert str(sites.source) in sites.command("history", STATE_DIR=state).stdout
    done = sites.command("rollback", "7", STATE_DIR=state)
    assert done.returncode == 1 and "there is no version 7" in done.stderr

    done = sites.command("rollback", STATE_DIR=state)
    assert done.returncode == 0 and "The daemon rolls back to version 1" in done.stdout, done.stderr
    wait_until(sites.runs(0, "roundrobin"), 20)
    seen = len(daemon.log())
    daemon.stop()
    daemon.start()
    daemon.wait_log("configuration rolled back", 20, seen)
    daemon.wait_ready()
    assert sites.runs(0, "roundrobin")()
    assert json.loads(daemon.get("/status")[1])["haproxies"][0]["configuration"]["rolled_back_to"] == 1
    seen = len(daemon.log())
    sites.source.write_text(sites.text(balance="first"))
    wait_until(sites.runs(0, "first"), 20)
    assert "rolled back" not in daemon.log()[seen:]
    wait_until(lambda: json.loads(daemon.get("/status")[1])["haproxies"][0]["configuration"]["rolled_back_to"] is None, 10, "no rollback in /status")
    assert sites.command("apply", STATE_DIR=state).returncode == 0
    assert "request=apply" in daemon.log()[seen:]
    daemon.stop()
    done = sites.command("rollback", "1", "--timeout=100ms", STATE_DIR=state)
    assert done.returncode == 1 and "no running daemon has processed it" in done.stderr

"""The whole configuration on a HAProxy of this machine: its own file and sockets, no Data Plane API anywhere."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.harness import http
from tests.harness.daemon import Daemon, clean_env
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.process import wait_until

from .rig import Rig, program

TEMPLATE = PLAIN + """\
frontend fe
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain string "zero"
"""


class Local:
    """A HAProxy that runs, the file that the daemon follows, and the daemon's settings."""

    def __init__(self, home: pathlib.Path, template: str = TEMPLATE, values: dict[str, str] | None = None):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", template, values=values)
        self.first = self.haproxy.config.read_text()
        self.source = home / "source.cfg"
        self.settings = {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "HAPROXY_CONFIG_FILE": str(self.haproxy.config),
                         "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                         "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / "state")}

    def text(self, word: str) -> str:
        return self.first.replace('"zero"', f'"{word}"')

    def daemon(self, name: str = "daemon", **more: str) -> Daemon:
        return Daemon(self.home / name, self.settings | more, program())

    def put(self, text: str) -> None:
        """As an editor does: a new file in its place."""
        fresh = self.source.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(self.source)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`haproxy-k8s-sync config ...`"""
        return subprocess.run([program(), "config", *words], env=clean_env(**self.settings), capture_output=True, text=True, check=False, timeout=60)

    def says(self) -> str:
        return http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/").text

    def await_says(self, word: str) -> None:
        wait_until(lambda: self.says() == word, 15, f"HAProxy says {word}")


@pytest.fixture
def local(tmp_path: pathlib.Path) -> Iterator[Local]:
    made = Local(tmp_path)
    with made.haproxy:
        yield made


def await_log(daemon: Daemon, what: str, times: int = 1) -> None:
    wait_until(lambda: daemon.log().count(what) >= times, 30, f"{times} times in the log: {what}\n{daemon.tail()}")


def test_what_the_source_has_is_what_haproxy_has_byte_for_byte(local: Local) -> None:
    odd = local.text("one") + "\n# the end \t\n.if defined(NOBODY)\nfrontend never\n  bind :1\n.endif\n\n\n"
    local.put(odd)
    worker = local.haproxy.worker()
    os.chmod(local.haproxy.config, 0o640)
    before = local.haproxy.config.stat()
    with local.daemon() as daemon:
        local.await_says("one")
        assert local.haproxy.config.read_text() == odd
        wait_until(daemon.ready, 10, "ready")
        after = local.haproxy.config.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
        await_log(daemon, 'msg="configuration applied"')
        assert local.haproxy.worker() != worker
        local.put(local.text("two"))
        local.await_says("two")
        await_log(daemon, 'msg="configuration applied"', 2)
        assert "Data Plane" not in daemon.log()
    worker = local.haproxy.worker()
    with local.daemon() as daemon:  # another start changes nothing
        wait_until(daemon.ready, 10, "ready")
        assert local.haproxy.worker() == worker


def test_a_link_stays_a_link(local: Local) -> None:
    real = local.haproxy.dir / "real.cfg"
    local.haproxy.config.rename(real)
    local.haproxy.config.symlink_to(real.name)
    local.put(local.text("one"))
    with local.daemon():
        local.await_says("one")
        assert local.haproxy.config.is_symlink() and real.read_text() == local.text("one")


def test_a_helper_that_dies_ends_the_daemon_with_a_reason(local: Local) -> None:
    local.put(local.text("one"))
    daemon = local.daemon().start()
    local.await_says("one")
    helpers = pathlib.Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    assert len(helpers) == 2
    os.kill(int(helpers[0]), signal.SIGKILL)
    assert daemon.process and daemon.process.wait(10) == 1
    assert "the helper process ended; stopping, to be started again" in daemon.log()
    with local.daemon("next") as again:
        wait_until(again.ready, 10, "ready")
        assert local.says() == "one"


def gone(local: Local) -> None:
    local.haproxy.stop()


def no_folder(local: Local) -> None:
    local.settings["HAPROXY_CONFIG_FILE"] = str(local.home / "nowhere" / "haproxy.cfg")


def no_program(local: Local) -> None:
    local.settings["HAPROXY_BIN"] = "/nowhere/haproxy"


def no_sockets(local: Local) -> None:
    local.settings["HAPROXY_MASTER_SOCKET"] = local.settings["HAPROXY_STATS_SOCKET"] = str(local.home / "nobody.sock")


@pytest.mark.parametrize(("strike", "says"), [
    (no_folder, "/nowhere/haproxy.cfg: No such file or directory"),
    (no_program, "/nowhere/haproxy"),
    (no_sockets, "nobody.sock"),
])
def test_what_cannot_work_says_what_and_where(local: Local, strike: Callable[[Local], None], says: str) -> None:
    strike(local)
    local.put(local.text("one"))
    with local.daemon() as daemon:
        await_log(daemon, says)
        assert not daemon.ready() and "Data Plane" not in daemon.log()


def test_a_haproxy_that_comes_back_has_the_file(local: Local) -> None:
    local.put(local.text("one"))
    with local.daemon() as daemon:
        local.await_says("one")
        wait_until(daemon.ready, 10, "ready")
        gone(local)
        local.put(local.text("two"))
        wait_until(lambda: local.haproxy.config.read_text() == local.text("two"), 15, "the new file")
        local.haproxy.start()
        local.await_says("two")
        daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
        wait_until(daemon.ready, 20, "ready")


def test_the_commands_know_it(local: Local) -> None:
    local.put(local.text("one"))
    with local.daemon() as daemon:
        local.await_says("one")
        wait_until(daemon.ready, 10, "ready")
        local.put(local.text("two"))
        local.await_says("two")
        await_log(daemon, 'msg="configuration applied"', 2)
        history = local.command("history")
        assert history.returncode == 0 and len(re.findall(r"^\s*\d+ ", history.stdout, re.M)) >= 2, history.stdout
        assert local.command("rollback", "1").returncode == 0
        local.await_says("one")
        plan = local.command("plan", str(local.source))
        assert str(local.haproxy.config) in plan.stdout and "frontend fe" in plan.stdout, plan.stdout + plan.stderr


def test_a_reload_that_nobody_can_be_asked_for_rejects_nothing(local: Local) -> None:
    program, asked = local.home / "reload", local.home / "asked"
    program.write_text(f"#!/bin/sh\necho >>{asked}\nkill -9 $$\n")
    program.chmod(0o755)
    local.put(local.text("one"))
    with local.daemon(HAPROXY_RELOAD_COMMAND=str(program)) as daemon:
        wait_until(lambda: asked.exists() and asked.read_text().count("\n") >= 2, 60, "it is tried again")
        assert local.haproxy.config.read_text() == local.text("one") and local.says() == "zero"
        assert "is lost: " in daemon.log() and "HAProxy reloaded" not in daemon.log() and not daemon.ready(), daemon.tail()
        again = local.home / "again"
        again.write_text(f"#!/bin/sh\nkill -USR2 {local.haproxy.pid_file.read_text().split()[0]}\n")
        again.chmod(0o755)
        again.rename(program)
        local.await_says("one")
        wait_until(daemon.ready, 60, "ready")


# --- servers of a Service, in their lines

def beside(rig: Rig, **more: str) -> dict[str, str]:
    return {"HAPROXY_DATAPLANE_URL": "", "HAPROXY_DATAPLANE_USERNAME": "", "HAPROXY_DATAPLANE_PASSWORD": "",
            "HAPROXY_CONFIG_FILE": str(rig.haproxy.config), "HAPROXY_MASTER_SOCKET": str(rig.haproxy.master_socket),
            "HAPROXY_STATS_SOCKET": str(rig.haproxy.socket), "HAPROXY_BIN": rig.haproxy.binary, **more}


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        made.dataplane.kill()  # there is none, and what it does to the file is over
        made.service()
        yield made


def others(text: str) -> list[str]:
    """All lines but those of our servers."""
    return [line for line in text.splitlines(keepends=True) if not re.match(r"\s*server n\d ", line)]


def state(rig: Rig, name: str) -> str | None:
    return rig.haproxy.states("be").get(name)


def test_servers_are_kept_in_their_lines(rig: Rig) -> None:
    config = rig.haproxy.config
    config.write_text(config.read_text().replace("\nbackend be", "\n# by hand \t\n.if defined(NOBODY)\nfrontend never\n  bind :1\n.endif\n\nbackend be"))
    before = config.read_text()
    daemon = rig.start(**beside(rig))
    daemon.wait_ready()
    assert config.read_text() == before
    rig.pods(1, 2, 3)
    wait_until(lambda: {"n1", "n2", "n3"} <= set(rig.haproxy.servers("be")), 15, "three servers run")
    daemon.wait_ready()
    worker = rig.haproxy.worker()
    rig.pods(2, 3)
    wait_until(lambda: state(rig, "n1") == "maint", 15, "n1 is out")
    rig.pods(1, 2, 3)
    wait_until(lambda: state(rig, "n1") == "ready", 15, "n1 is back")
    rig.node(2, "127.0.11.77")
    wait_until(lambda: rig.haproxy.servers("be")["n2"]["srv_addr"] == "127.0.11.77", 15, "n2 has moved")
    daemon.wait_ready()
    assert rig.haproxy.worker() == worker, "no reload for any of that"
    assert "server n2 127.0.11.77:" in config.read_text()
    assert others(config.read_text()) == others(before)
    assert "Data Plane" not in daemon.log()


def test_a_file_that_cannot_be_written_is_named_and_written_later(rig: Rig) -> None:
    daemon = rig.start(**beside(rig))
    daemon.wait_ready()
    before = rig.haproxy.config.read_text()
    in_the_way = rig.haproxy.config.with_name(".haproxy.cfg.new")
    in_the_way.mkdir()
    rig.pods(1, 2)
    daemon.wait_not_ready("cannot change HAProxy's configuration: .*haproxy.cfg: .*File exists")
    assert rig.haproxy.config.read_text() == before
    in_the_way.rmdir()
    daemon.wait_ready()
    assert "server n2 " in rig.haproxy.config.read_text() and state(rig, "n2") == "ready"
    assert "Data Plane" not in daemon.log()


def test_a_haproxy_that_does_not_answer_is_named(rig: Rig) -> None:
    daemon = rig.start(**beside(rig))
    daemon.wait_ready()
    rig.haproxy.stop()
    daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
    daemon.wait_not_ready("HAProxy does not answer: is it running?|cannot read")
    assert "Data Plane" not in daemon.log()


def test_why_a_change_takes_a_reload_is_said_once(rig: Rig) -> None:
    config = rig.haproxy.config
    config.write_text(config.read_text().replace("balance roundrobin", "balance static-rr"))
    rig.haproxy.reload()
    daemon = rig.start(**beside(rig, PARK_TTL="0s", HAPROXY_BALANCE="static-rr"))
    daemon.wait_ready()
    for last in (2, 3):
        rig.pods(*range(1, last + 1))
        wait_until(lambda last=last: state(rig, f"n{last}") == "ready", 15, f"n{last} is in rotation")
        daemon.wait_ready()
    said = re.findall(r'msg="this change takes a reload".*', daemon.log())
    assert len(said) == 1 and "backend be: add server: HAProxy says: Backend " in said[0], said


class Older(socketserver.StreamRequestHandler):
    """HAProxy's socket, of one that says that it is older."""

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as behind:
            behind.connect(str(self.server.behind))  # type: ignore[attr-defined]
            behind.sendall(self.rfile.read())
            behind.shutdown(socket.SHUT_WR)
            self.wfile.write(re.sub(rb"(?m)^Version: .*", b"Version: 2.4.30", behind.makefile("rb").read()))


def test_a_haproxy_that_is_too_old_is_named_once(rig: Rig, tmp_path: pathlib.Path) -> None:
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "older"), Older) as server:
        server.behind = rig.haproxy.socket  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        daemon = rig.start(**beside(rig, HAPROXY_STATS_SOCKET=str(tmp_path / "older")))
        daemon.wait_ready()
        rig.pods(1, 2)
        wait_until(lambda: state(rig, "n2") == "ready", 15, "n2 is in rotation")
        daemon.wait_ready()
        said = re.findall(r'msg="this HAProxy is older than 2.6.*', daemon.log())
        assert len(said) == 1 and "haproxy=2.4.30" in said[0] and str(rig.haproxy.config) in said[0], said
        server.shutdown()


def test_apply_forgets_a_rejection(local: Local) -> None:
    """What was rejected is asked about once more, as an operator who asks may have changed what it was rejected for."""
    with local.daemon() as daemon:
        local.put(local.text("one") + "  bogus\n")
        daemon.wait_log("configuration rejected.*unknown keyword 'bogus'")
        seen = len(daemon.log())
        assert local.command("apply").returncode == 0
        daemon.wait_log("configuration rejected.*unknown keyword 'bogus'", since=seen)
        assert "refreshing now" in daemon.log()[seen:] and "SIGHUP received" not in daemon.log()
        assert daemon.log().count('"configuration rejected; ') == 2

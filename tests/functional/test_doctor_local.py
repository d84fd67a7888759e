"""`doctor` beside a HAProxy that is reached by its own file and sockets: what goes wrong there, each with what repairs it."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

import pytest

from tests.harness.daemon import Daemon, clean_env, quick_program
from tests.harness.haproxy import PLAIN, HAProxy, haproxy_binary, haproxy_version
from tests.harness.process import Process, wait_until

from .doctor import Found, both, lines, look
from .rig import Rig, program
from .wrapped import root_only

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

TEMPLATE = PLAIN.replace("defaults\n", "  stats socket {d}/operator.sock mode 666 level operator\ndefaults\n") + """\
frontend fe
  bind 127.0.0.1:{port}
  default_backend be
backend be
  server n1 127.0.0.1:9
"""
NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


class Balancer(HAProxy):
    """A HAProxy whose command line is the test's."""

    def begin(self, *words: str, file: pathlib.Path | None = None) -> "Balancer":
        self.process = Process([self.binary, *words, "-p", str(self.pid_file), "-f", str(file or self.config)], self.log_file, name="haproxy")
        wait_until(lambda: "Pid:" in self._ask(self.socket, "show info"), 10, f"{self.socket}; its log: {self.log_file}")
        if "-S" in words:  # the master comes back behind its worker
            master = pathlib.Path(words[words.index("-S") + 1].partition(",")[0])
            wait_until(lambda: re.search(f"^{self.worker()} |Permission denied", self._ask(master, "show proc; quit"), re.M), 10, f"{master}")
        return self

    def start(self) -> "Balancer":
        return self.begin("-W", "-S", f"{self.master_socket},mode,666")


class Place:
    """A folder that any user can reach, with a HAProxy in it, and the settings for that."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = Balancer(home / "h", TEMPLATE)
        self.config = self.haproxy.config
        self.source = home / "source.cfg"
        self.source.write_text(self.config.read_text())
        self.settings = {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "STATE_DIR": str(home / "state"),
                         "HAPROXY_CONFIG_FILE": str(self.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket),
                         "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary}

    def script(self, name: str, text: str) -> str:
        path = self.home / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def seen(self) -> list[tuple[str, int, int]]:
        """All files that lie there but what HAProxy itself writes."""
        found = ((path, path.lstat()) for path in self.home.rglob("*") if path.suffix not in (".log", ".pid", ".tmp") and not path.is_dir())
        return sorted((str(path), state.st_ino, state.st_mtime_ns) for path, state in found)

    def look(self, *words: str, before: Sequence[str] = (), settings: dict[str, str] | None = None) -> Found:
        """before: a command in front of doctor."""
        env, there = clean_env(**(self.settings | (settings or {}))), self.seen()
        try:
            return both([*before, str(program())], [*before, str(quick_program())], *words, env=env)
        finally:
            assert self.seen() == there, "it changed something"


@pytest.fixture
def place() -> Iterator[Place]:
    home = pathlib.Path(tempfile.mkdtemp(prefix="doctor-"))
    home.chmod(0o755)
    try:
        made = Place(home)
        try:
            yield made
        finally:
            made.haproxy.stop()
    finally:
        shutil.rmtree(home)


@pytest.fixture
def running(place: Place) -> Place:
    place.haproxy.start()
    return place


# --- all is well

def test_all_is_well(running: Place) -> None:
    found = running.look()
    assert found.status == 0 and "\nReady. haproxy-k8s-sync config plan shows what would change.\n" in found.text, found.text
    assert {check["status"] for check in found.checks if check["id"] not in ("clock.synchronised", "daemon.running")} == {"ok"}, found.text
    worker, master = running.haproxy.worker(), running.haproxy.process.pid  # type: ignore[union-attr]
    version = ".".join(map(str, haproxy_version(running.haproxy.binary)))
    for id_, text in (("config", f"{running.config.stat().st_size} bytes"), ("write", "may replace it"), ("lock", "no daemon manages this file"),
                      ("program", f"{running.haproxy.binary} is HAProxy {version}"), ("check", "takes the file as it is"),
                      ("running", f"runs, process {worker}, for "), ("master-worker", f"master {master}, worker {worker};"),
                      ("reload", "by the master's socket; 0 so far"), ("runtime", f"{running.haproxy.socket} answers, level admin")):
        assert found.one(f"haproxy.{id_}")["subject"] == str(running.config)
        found.says(f"haproxy.{id_}", "ok", text)
    assert f"\nHAProxy {running.config}\n" in found.text


def test_while_the_daemon_runs(running: Place) -> None:
    with Daemon(running.home / "daemon", running.settings | {"STATE_DIR": str(running.home / "daemon-state")}, program()) as daemon:
        running.source.write_text(running.source.read_text().replace("timeout client 5s", "timeout client 6s"))
        wait_until(lambda: "timeout client 6s" in running.config.read_text(), 20, "the new configuration")
        wait_until(daemon.ready, 20, "ready")
        env = clean_env(**running.settings)
        found = both([str(program())], [str(quick_program())], env=env)
        assert found.status == 0, found.text
        found.says("haproxy.lock", "ok", f"process {daemon.pid} manages this file")
        found.says("haproxy.reload", "ok", "1 so far, the last one succeeded")
        running.source.write_text("nonsense\n")
        daemon.wait_not_ready("there is no section")
        found = both([str(program())], [str(quick_program())], env=env | {"LISTEN_ADDRESS": f"127.0.0.1:{daemon.port}"})
        assert found.status == 0 and "\nNothing failed, but the daemon that runs is not ready, see its section." in found.text, found.text


@root
def test_a_stats_socket_that_is_closed_to_the_daemon(running: Place) -> None:
    """The master's says that a new worker is there: nothing is loaded again and again for the other one."""
    for path in (running.home, running.haproxy.dir, running.config):
        os.chown(path, NOBODY, NOBODY)
    running.source.write_text(running.source.read_text().replace("timeout client 5s", "timeout client 6s"))
    frame = pathlib.Path(running.script("frame", f"exec {' '.join(AS_NOBODY)} {quick_program()}"))
    with Daemon(running.home / "daemon", running.settings, frame) as daemon:
        daemon.wait_log('msg="configuration applied"')
        daemon.wait_ready()
        assert daemon.metrics().sum("reloads_total") == 1
    found = running.look(before=AS_NOBODY)
    found.says("haproxy.running", "ok", f"runs, process {running.haproxy.worker()}, as its master says")
    found.says("haproxy.runtime", "fail", f"user nobody may not connect to {running.haproxy.socket}")


# --- servers of a Service

@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        made.dataplane.kill()  # there is none
        made.service()
        yield made


def beside(rig: Rig, **more: str) -> dict[str, str]:
    return {"HAPROXY_DATAPLANE_URL": "", "HAPROXY_DATAPLANE_USERNAME": "", "HAPROXY_DATAPLANE_PASSWORD": "",
            "HAPROXY_CONFIG_FILE": str(rig.haproxy.config), "HAPROXY_MASTER_SOCKET": str(rig.haproxy.master_socket),
            "HAPROXY_STATS_SOCKET": str(rig.haproxy.socket), "HAPROXY_BIN": rig.haproxy.binary, **more}


def test_the_backends_of_services(rig: Rig) -> None:
    found = look(rig, **beside(rig))
    assert found.status == 0, found.text
    assert [check["section"] for check in found.checks if check["section"] in ("service", "haproxy", "backend")] == sorted(
        (check["section"] for check in found.checks if check["section"] in ("service", "haproxy", "backend")), key=["service", "haproxy", "backend"].index)
    found.says("backend.exists", "ok", "1 managed, 1 unmanaged")
    found.says("backend.plan", "ok", "in sync")
    assert not found.all("haproxy.drift") and "Data Plane" not in found.text
    rig.pods(1, 2)
    look(rig, **beside(rig)).says("backend.plan", "ok", "1 change to make")
    look(rig, **beside(rig, HAPROXY_BACKEND_NAME="nowhere")).says("backend.exists", "fail", "haproxy.cfg has no backend of this name")


def test_a_file_that_was_not_loaded(rig: Rig) -> None:
    text = rig.haproxy.config.read_text()
    rig.haproxy.config.write_text(text + "backend fresh\n  mode tcp\n")
    found = look(rig, **beside(rig, HAPROXY_BACKEND_NAME="fresh"))
    found.says("haproxy.drift", "warn", "backend fresh is in haproxy.cfg, and not in what runs")
    rig.haproxy.config.write_text(text.replace("server n1 127.0.11.1:30443 check weight 100", "server n1 127.0.11.9:30443 check weight 100"))
    look(rig, **beside(rig)).says("haproxy.drift", "warn", "running HAProxy differs from haproxy.cfg: backend be: server n1")
    rig.haproxy.config.write_text(text.replace("\nbackend be\n", "\nbackend be\n.if defined(A)\n  mode tcp\n.endif\n"))
    look(rig, **beside(rig)).says("backend.exists", "fail", "a conditional (.if) decides what backend be is")


# --- the file

def test_no_file(running: Place) -> None:
    found = running.look(settings={"HAPROXY_CONFIG_FILE": str(running.home / "none.cfg")})
    assert found.status == 1
    found.says("haproxy.config", "fail", "none.cfg: No such file or directory")
    found.says("haproxy.write", "skip", "needs haproxy.cfg")
    found.says("haproxy.check", "skip", "needs haproxy.cfg")
    found = running.look(settings={"HAPROXY_CONFIG_FILE": str(running.home)})
    found.says("haproxy.config", "fail", f"{running.home} is no file")


def test_a_link_is_followed(running: Place) -> None:
    link = running.home / "haproxy.cfg"
    link.symlink_to(running.config)
    found = running.look(settings={"HAPROXY_CONFIG_FILE": str(link)})
    assert found.status == 0, found.text
    found.says("haproxy.config", "ok", f"a link to {running.config}, which is followed and stays")
    found.says("haproxy.write", "ok", f"in {running.haproxy.dir}")
    link.unlink()
    link.symlink_to("nobody.cfg")
    found = running.look(settings={"HAPROXY_CONFIG_FILE": str(link)})
    found.says("haproxy.config", "fail", "is a link to nobody.cfg: No such file")


@root
def test_another_user(running: Place) -> None:
    found = running.look(before=AS_NOBODY)
    text = f"may not make a file in {running.haproxy.dir} (root:root, mode 0755)"
    check = found.says("haproxy.write", "fail", text)
    assert f"chgrp nogroup {running.haproxy.dir}" in lines(check) and f"chmod g+wx {running.haproxy.dir}" in lines(check)
    check = found.says("haproxy.runtime", "fail", f"user nobody may not connect to {running.haproxy.socket} (root:root, mode 0600)")
    assert any("mode 660 group haproxy level admin" in line for line in lines(check))
    found.says("haproxy.master-worker", "ok", "worker")
    # As doctor says, step by step.
    for line in lines(found.one("haproxy.write")):
        subprocess.run(line.split(), check=True)
    found = running.look(before=AS_NOBODY)
    owner = next(c for c in found.all("haproxy.write") if "belongs to user root" in c["found"])
    group = next(c for c in found.all("haproxy.write") if "is of group root" in c["found"])
    for line in (*lines(owner), *(line for line in lines(group) if line.startswith("chgrp"))):
        subprocess.run(line.split(), check=True)
    found = running.look(before=AS_NOBODY, settings={"HAPROXY_STATS_SOCKET": ""})
    found.says("haproxy.write", "ok", "user nobody may replace it")
    assert found.status == 0, found.text
    running.config.chmod(0)
    found = running.look(before=AS_NOBODY, settings={"HAPROXY_STATS_SOCKET": ""})
    found.says("haproxy.config", "fail", "user nobody may not read")


@root_only
def test_a_file_that_is_mounted_by_itself(running: Place) -> None:
    other = running.home / "other.cfg"
    other.write_text(running.config.read_text())
    mounts = ["unshare", "-m", "sh", "-c", f"mount --bind {other} {running.config} && exec \"$@\"", "sh"]
    check = running.look(before=mounts).says("haproxy.write", "fail", f"{running.config} is mounted by itself")
    assert any("mount the folder" in fix["how"] for fix in check["fixes"])
    read_only = ["unshare", "-m", "sh", "-c", f"d={running.haproxy.dir}; mount --bind $d $d && mount -o remount,bind,ro $d && exec \"$@\"", "sh"]
    check = running.look(before=read_only).says("haproxy.write", "fail", f"{running.haproxy.dir} is read-only for this process")
    assert f"ReadWritePaths={running.haproxy.dir}" in lines(check)


# --- the program, and what it says

def test_no_such_program(running: Place) -> None:
    found = running.look(settings={"HAPROXY_BIN": "/nowhere/haproxy"})
    assert found.failed() == ["haproxy.program"]
    found.says("haproxy.program", "fail", "/nowhere/haproxy: no such program that user")
    found.says("haproxy.check", "skip", "needs HAPROXY_BIN")
    found = running.look(settings={"HAPROXY_BIN": "/bin/true"})
    found.says("haproxy.program", "fail", "/bin/true -v does not answer as a HAProxy does")


def test_a_file_that_haproxy_refuses(running: Place) -> None:
    running.config.write_text(running.config.read_text().replace("timeout client", "timeout cliant"))
    found = running.look()
    assert found.failed() == ["haproxy.check"]
    check = found.says("haproxy.check", "fail", "refuses the file: line 8: ")
    assert lines(check) == [f"{running.haproxy.binary} -c -f {running.config}"]


BY_ENVIRONMENT = ".if defined(PROD)\nbackend broken\n  no-such-keyword\n.endif\n"


def test_the_environment_of_the_check(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the daemon would refuse, or not see, in that environment; no value is printed."""
    place.config.write_text(place.config.read_text() + BY_ENVIRONMENT)
    file = place.home / "environment"
    file.write_text("PROD=secret\n")
    found = place.look()
    found.says("haproxy.environment", "warn", "none but PATH, as no socket shows HAProxy's; haproxy.cfg uses, and it has not PROD")
    place.haproxy.start()
    assert not place.look().failed()
    found = place.look(settings={"HAPROXY_ENVIRONMENT_FILE": str(file)})
    assert found.failed() == ["haproxy.check"] and "secret" not in found.text
    found.says("haproxy.check", "fail", "unknown keyword 'no-such-keyword'")
    check = found.says("haproxy.environment", "warn", f"that of {file}; HAProxy has other values of PROD")
    assert lines(check) == ["HAPROXY_ENVIRONMENT_FILE="]
    found = place.look(settings={"HAPROXY_ENVIRONMENT_FILE": str(file) + "s"})
    found.says("haproxy.check", "fail", f"cannot read {file}s, the environment of HAProxy: No such file")
    found.says("haproxy.environment", "skip", "needs haproxy -c")
    place.haproxy.stop()
    monkeypatch.setenv("PROD", "secret")
    place.config.write_text(place.config.read_text().replace("  no-such-keyword\n", ""))
    place.haproxy.start()
    place.config.write_text(place.config.read_text().replace("backend broken\n", "backend broken\n  no-such-keyword\n"))
    found = place.look()
    assert found.failed() == ["haproxy.check"] and "secret" not in found.text
    found.says("haproxy.environment", "ok", f"HAProxy's own (show env, by {place.haproxy.socket})")


STATES = "  load-server-state-from-file global\n"


def test_states_that_come_from_a_file(running: Place, rig: Rig) -> None:
    """Of the whole configuration, and of a backend that is managed."""
    text = running.config.read_text()
    assert not running.look().all("haproxy.states")
    running.config.write_text(text.replace("  timeout connect", STATES + "  timeout connect"))
    check = running.look().says("haproxy.states", "warn", "line 7, load-server-state-from-file: a reload may bring back old states")
    assert lines(check) == ["backend NAME", "  load-server-state-from-file none"]
    rig.haproxy.config.write_text(rig.haproxy.config.read_text() + "backend elsewhere\n" + STATES)
    assert not look(rig, **beside(rig)).all("haproxy.states")
    rig.haproxy.config.write_text(rig.haproxy.config.read_text().replace("\nbackend be\n", "\nbackend be\n" + STATES))
    assert lines(look(rig, **beside(rig)).says("haproxy.states", "warn", "a reload may bring back")) == ["backend be", "  load-server-state-from-file none"]


def test_files_beside_it_count(place: Place) -> None:
    more = place.home / "more.cfg"
    more.write_text("backend elsewhere\n  mode http\n  server a 127.0.0.1:9\n")
    place.config.write_text(place.config.read_text().replace("default_backend be", "default_backend elsewhere"))
    place.haproxy.begin("-W", "-S", f"{place.haproxy.master_socket}", "-f", str(more))
    found = place.look()
    found.says("haproxy.check", "fail", "elsewhere")
    found = place.look(settings={"HAPROXY_CHECK_FILES": f"{more},{place.config}"})
    assert found.status == 0, found.text


# --- sockets

def test_nobody_runs(place: Place) -> None:
    found = place.look()
    assert found.failed() == ["haproxy.running", "haproxy.master-worker", "haproxy.runtime"]
    check = found.says("haproxy.running", "fail", "no HAProxy answers at a socket that is set")
    assert f"haproxy -W -S {place.haproxy.master_socket} -f {place.config}" in lines(check)
    found.says("haproxy.master-worker", "fail", f"there is no {place.haproxy.master_socket} (HAPROXY_MASTER_SOCKET)")
    found.says("haproxy.reload", "skip", "needs the master's socket")


def test_a_haproxy_without_a_master(place: Place) -> None:
    place.haproxy.begin("-db")
    found = place.look()
    check = found.says("haproxy.master-worker", "fail", f"there is no {place.haproxy.master_socket} (HAPROXY_MASTER_SOCKET)")
    assert "runs without a master (no -W)" in check["why"]
    assert f"haproxy -W -S {place.haproxy.master_socket} -f {place.config}" in lines(check)
    assert found.failed() == ["haproxy.master-worker"]


def test_sockets_that_are_none(running: Place) -> None:
    found = running.look(settings={"HAPROXY_MASTER_SOCKET": str(running.config), "HAPROXY_STATS_SOCKET": str(running.home / "none.sock")})
    found.says("haproxy.master-worker", "fail", f"{running.config} is no socket")
    check = found.says("haproxy.runtime", "fail", "there is no ")
    assert f"HAPROXY_STATS_SOCKET={running.haproxy.socket}" in lines(check)
    dead = running.home / "dead.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(dead))
    found = running.look(settings={"HAPROXY_MASTER_SOCKET": str(dead), "HAPROXY_STATS_SOCKET": str(dead)})
    found.says("haproxy.master-worker", "fail", f"no process listens at {dead} any more")
    found.says("haproxy.runtime", "fail", f"no process listens at {dead} any more")
    found = running.look(settings={"HAPROXY_MASTER_SOCKET": str(running.haproxy.socket)})
    found.says("haproxy.master-worker", "fail", f"{running.haproxy.socket}: HAProxy says: Unknown command")


def test_levels(running: Place) -> None:
    operator = str(running.haproxy.dir / "operator.sock")
    check = running.look(settings={"HAPROXY_STATS_SOCKET": operator}).says("haproxy.runtime", "warn", f"{operator} has level operator")
    assert f"HAPROXY_STATS_SOCKET={running.haproxy.socket}" in lines(check)
    running.haproxy.stop()
    running.haproxy.begin("-W", "-S", f"{running.haproxy.master_socket},level,user")
    found = running.look(settings={"HAPROXY_STATS_SOCKET": ""})
    if haproxy_version(running.haproxy.binary) < (3, 1):
        found.says("haproxy.reload", "fail", "the master's socket has level user, which refuses a reload")
        found.says("haproxy.runtime", "warn", "the master's socket has level user")
    else:
        found.says("haproxy.master-worker", "fail", "has level user, which may not ask")
        found.says("haproxy.reload", "skip", "needs the master's socket")


def test_a_reload_that_failed(running: Place) -> None:
    good = running.config.read_text()
    running.config.write_text(good.replace("timeout client", "timeout cliant"))
    running.haproxy.process.signal(signal.SIGUSR2)  # type: ignore[union-attr]
    asked = HAProxy._ask
    wait_until(lambda: "[failed: 1]" in asked(running.haproxy.master_socket, "show proc; quit"), 15, "the reload to fail")
    running.config.write_text(good)
    found = running.look()
    assert found.failed() == ["haproxy.reload"], found.text
    found.says("haproxy.reload", "fail", "the last one failed, 1 in a row")

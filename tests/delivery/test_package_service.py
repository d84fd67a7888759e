"""The package on a load balancer: installed, set up, started by a real systemd, watched over, upgraded, purged."""

from __future__ import annotations

import os
import pathlib
import re
import signal
from collections.abc import Iterator

import pytest

from tests.functional.rig import Rig
from tests.harness.daemon import Daemon
from tests.harness.haproxy import AUTH
from tests.harness.process import free_port, wait_until

from . import package
from .machine import Machine, marks
from .once import version

pytestmark = [*marks, package.needs_debhelper]

UNIT = "haproxy-k8s-sync.service"
ASK = "haproxy-k8s-sync-as-service"
NOWHERE = "--no-pager"


class Balancer:
    """A machine beside the HAProxy and the Kubernetes of a rig, which it reaches by loopback."""

    def __init__(self, machine: Machine, rig: Rig, home: pathlib.Path):
        self.machine, self.rig = machine, rig
        self.deb = package.find(home)
        self.port = free_port()

    def install(self) -> None:
        self.machine.run("dpkg", "-i", self.machine.copy(self.deb, "/tmp"))

    def set_up(self, **more: str) -> None:
        """What the manual page says: two files, and the settings."""
        user, password = AUTH.split(":")
        wanted = self.rig.settings(HAPROXY_DATAPLANE_USERNAME=user, LISTEN_ADDRESS=f"127.0.0.1:{self.port}", HAPROXY_DATAPLANE_PASSWORD="",
                                   KUBECONFIG="", RESYNC_PERIOD="1s", **more)
        path = self.machine.path("/etc/haproxy-k8s-sync.env")
        shipped = path.read_text().split("\n# set\n")[0]
        path.write_text(shipped + "\n# set\n" + "".join(f"{name}={value}\n" for name, value in wanted.items()))
        self.machine.write("/etc/haproxy-k8s-sync/kubeconfig", self.rig.kube.kubeconfig(self.rig.home / "kubeconfig").read_text(), 0o600)
        self.machine.write("/etc/haproxy-k8s-sync/password", f"{password}\n", 0o600)

    def start(self) -> None:
        done = self.machine.call("systemctl", "start", UNIT)
        assert done.returncode == 0, done.stderr + self.machine.journal(UNIT)

    def show(self, *names: str) -> list[str]:
        shown = self.machine.show(UNIT, *names)
        return [shown[name] for name in names]

    def status_text(self) -> str:
        return self.machine.value(UNIT, "StatusText")

    def wait_status(self, beginning: str) -> None:
        wait_until(lambda: self.status_text().startswith(beginning), 30, f"a status that begins with {beginning!r}", interval=0.1)

    def wait_restarted(self, before: int) -> None:
        """Until systemd has started it again by itself, after so many times."""
        def is_back() -> bool:
            restarts, state = self.show("NRestarts", "ActiveState")
            return int(restarts) > before and state == "active"

        wait_until(is_back, 60, "it to be started again", interval=0.1)

    def wait_in_step(self, *nodes: int) -> None:
        self.rig.wait_servers(*nodes)
        self.wait_status("ready")

    def pages(self) -> Daemon:
        """The daemon as far as it can be asked over the network."""
        asked = Daemon(self.rig.home / "asked", {})
        asked.port = self.port
        return asked


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        yield made


@pytest.fixture
def balancer(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balancer]:
    home = package.folder(tmp_path_factory)
    with Machine(rig.home / "balancer") as machine:
        yield Balancer(machine, rig, home)


def status_of(pid: int) -> dict[str, str]:
    return dict(re.findall(r"^(\w+):[ \t]*(.*?)[ \t]*$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M))


def test_first_hour(balancer: Balancer) -> None:
    """Installed; not started before it is set up; asked what it would do; started; locked in; sent signals; stopped; purged."""
    machine, rig = balancer.machine, balancer.rig
    before = left_by_us(machine)
    balancer.install()
    assert balancer.show("ActiveState", "Result", "UnitFileState") == ["inactive", "success", "enabled"]
    assert machine.call("systemctl", "start", UNIT).returncode == 0 and "exec-condition" in machine.journal(UNIT), "skipped, not failed"
    assert machine.run("systemctl", "--failed", "--no-legend", NOWHERE) == ""
    said = machine.call("systemd-analyze", "verify", UNIT)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", ""), "the unit, and the manual page that it names"
    assert "install -m 600 kubeconfig password" in machine.run("man", "haproxy-k8s-sync")
    assert machine.run("man", "-w", ASK).strip().endswith("haproxy-k8s-sync.8.gz")

    balancer.set_up()
    rig.pods(1, 2)
    done = machine.call(ASK, "plan", "--color=never")
    assert done.returncode == 2 and "n2" in done.stdout, done.stdout + done.stderr
    assert "secret_password" in machine.run(ASK, "check-config") and machine.call(ASK).returncode == 64
    balancer.start()
    assert balancer.show("ActiveState", "SubState", "Result") == ["active", "running", "success"]
    balancer.wait_in_step(1, 2)
    assert machine.call(ASK, "plan").returncode == 0
    locked_in(balancer)

    machine.run("systemctl", "reload", UNIT)
    wait_until(lambda: "refreshing now (SIGHUP" in machine.journal(UNIT), 20, "the comparison")
    assert balancer.show("ActiveState", "NRestarts") == ["active", "0"]
    rig.dataplane.stop()
    rig.pods(1)
    balancer.wait_status("not ready: target " + rig.dataplane.url)
    rig.dataplane.start()
    rig.wait_parked(2)
    balancer.wait_status("ready")

    machine.run("systemctl", "stop", UNIT)
    assert balancer.show("ActiveState", "Result", "ExecMainStatus") == ["inactive", "success", "0"]
    assert rig.servers() == {"n1", "sorry"}, "HAProxy stays as it is"
    machine.run("dpkg", "--purge", "haproxy-k8s-sync")
    assert left_by_us(machine) - before == set()


def left_by_us(machine: Machine) -> set[str]:
    """All that is called like us, and all that nobody owns, but for caches and this very tree."""
    found = machine.run("find", "/etc", "/lib/systemd", "/usr", "/var", "/run", "-xdev", "(", "-name", "*haproxy-k8s-sync*", "-o", "-nouser", ")", "-print")
    return {name for name in found.splitlines() if not name.startswith(("/var/cache/man/", "/run/systemd/", "/run/log/"))}


def locked_in(balancer: Balancer) -> None:
    """Nobody in particular, without rights, under two filters; the credentials are its own alone."""
    machine = balancer.machine
    pid = machine.pid(UNIT)
    now = status_of(pid)
    uids = set(now["Uid"].split())
    assert len(uids) == 1 and 61184 <= int(uids.pop()) <= 65519, "a user of DynamicUser="
    assert {now[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}
    assert (now["NoNewPrivs"], now["Seccomp"]) == ("1", "2")
    assert "seccomp=true" in machine.journal(UNIT)
    folder = machine.path(f"/proc/{machine.value(UNIT, 'MainPID')}/root/run/credentials/{UNIT}")
    assert {path.name: path.stat().st_mode & 0o227 for path in folder.iterdir()} == {"secret_kubeconfig": 0, "secret_password": 0}
    outside = machine.run("runuser", "-u", "nobody", "--", "ls", f"/run/credentials/{UNIT}", status=None)
    assert "secret" not in outside
    metrics = balancer.pages().metrics()
    assert metrics.sum("process_open_fds") > 3 and metrics.sum("process_resident_memory_bytes") > 0, "its own /proc is closed to it"
    assert metrics.sum("process_max_fds") == 1024


def test_what_goes_wrong_later(balancer: Balancer) -> None:
    """A loop that stands still; a crash; settings that are wrong; a new version; a boot after it was set up."""
    machine, rig = balancer.machine, balancer.rig
    balancer.install()
    balancer.set_up()
    machine.write(f"/etc/systemd/system/{UNIT}.d/test.conf", "[Service]\nWatchdogSec=5s\nRestartSec=100ms\n")
    machine.run("systemctl", "daemon-reload")
    rig.kube.listening(False)
    rig.dataplane.stop()
    balancer.start()  # returns, though nothing else is up
    balancer.wait_status("not ready: ")
    rig.kube.listening(True)
    rig.dataplane.start()
    balancer.wait_in_step(1)

    first = machine.pid(UNIT)
    os.kill(first, signal.SIGSTOP)
    balancer.wait_restarted(0)
    assert "Watchdog timeout" in machine.journal(UNIT) and machine.pid(UNIT) != first
    rig.pods(1, 2)
    balancer.wait_in_step(1, 2)
    restarts = int(balancer.show("NRestarts")[0])
    os.kill(machine.pid(UNIT), signal.SIGKILL)
    balancer.wait_restarted(restarts)
    balancer.wait_in_step(1, 2)

    balancer.set_up(NODE_MODE="nonsense")
    assert machine.call("systemctl", "restart", UNIT).returncode != 0
    assert balancer.show("ActiveState", "Result", "ExecMainStatus") == ["failed", "exit-code", "78"], "not tried again"
    assert 'NODE_MODE=\\"nonsense\\": expected' in machine.journal(UNIT)
    balancer.set_up()
    balancer.start()
    running = machine.pid(UNIT)
    settings = machine.path("/etc/haproxy-k8s-sync.env").read_text()
    balancer.install()  # as an upgrade does: the settings stay, and the new one runs
    assert machine.path("/etc/haproxy-k8s-sync.env").read_text() == settings
    wait_until(lambda: machine.pid(UNIT) != running, 20, "the new one to run")
    balancer.wait_in_step(1, 2)
    machine.run("dpkg", "--remove", "haproxy-k8s-sync")
    assert balancer.show("ActiveState") == ["inactive"] and machine.path("/etc/haproxy-k8s-sync/password").exists(), "removed, not purged"
    assert version() in balancer.deb.name and rig.servers() == {"n1", "n2", "sorry"}

"""docs/upgrade.md, "Debian package": an older package, settings and credentials of a user's own, this package over it, and back."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.functional.rig import Rig

from . import package
from .docs_blocks import DOCS, blocks
from .machine import Machine, marks
from .once import run, version
from .test_package_service import ASK, UNIT, Balancer

pytestmark = [*marks, package.needs_debhelper]

OLDER = "0.9.9"
SETTINGS = "/etc/haproxy-k8s-sync.env"
LOCAL = "/usr/share/haproxy-k8s-sync/local.conf"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/local.conf"
OWN = "# a line of the user's own\n"
MEMORY = {OLDER: "536870912", version(): "1073741824"}  # of local.conf
UNATTENDED = "-o Dpkg::Options::=--force-confold"
FINISH = "dpkg --force-confold --configure haproxy-k8s-sync"


def pack_older(deb: pathlib.Path, home: pathlib.Path) -> pathlib.Path:
    """The same package as an older version, whose settings file and local.conf were others."""
    tree, older = home / "tree", home / f"haproxy-k8s-sync_{OLDER}_older.deb"
    run("dpkg-deb", "-R", deb, tree)
    for name, of, to in (("DEBIAN/control", f"Version: {version()}\n", f"Version: {OLDER}\n"), (LOCAL, "MemoryMax=1G", "MemoryMax=512M"),
                         (SETTINGS, "", f"# as it was in {OLDER}\n")):
        path = tree / name.lstrip("/")
        assert of in path.read_text()
        path.write_text(path.read_text().replace(of, to, 1))
    run("dpkg-deb", "-b", tree, older)
    return older


@pytest.fixture
def balancer(tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balancer]:
    """The older package runs there, in sync; the newer one lies where the page has it."""
    home = package.folder(tmp_path_factory)
    older = pack_older(package.find(home), tmp_path)
    with Rig(tmp_path) as rig, Machine(tmp_path / "balancer") as machine:
        made = Balancer(machine, rig, home)
        # Neither is needed for a file, and both take longer than all else: the lists of all packages, and the index of all manual pages.
        machine.run("sh", "-c", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/lib/man-db/auto-update")
        machine.run("mkdir", "-p", "/root/build")
        machine.copy(package.find(home), "/root/build")
        machine.copy(older, "/root/build")
        status, said = apt(machine, f"./build/{older.name}")
        assert status == 0 and installed(machine) == f"{OLDER} installed", said
        made.set_up()
        made.start()
        made.wait_in_step(1)
        yield made


def of_the_page() -> list[str]:
    """Its commands for a load balancer, without the one that makes the package."""
    text = (DOCS / "upgrade.md").read_text()
    found, = [block.text.splitlines() for block in blocks(DOCS / "upgrade.md") if "apt-get install" in block.text]
    assert found[0] == "make deb"
    assert all(f"`{said}`" in text for said in ("apt-get install --allow-downgrades", UNATTENDED, FINISH))
    return found[1:]


def apt(machine: Machine, *words: str) -> tuple[int, str]:
    return shell(machine, " ".join(("apt-get install", *words)))


def shell(machine: Machine, line: str) -> tuple[int, str]:
    done = machine.call("sh", "-ec", f"cd /root; {line}")
    return done.returncode, done.stdout + done.stderr


def installed(machine: Machine) -> str:
    return machine.run("dpkg-query", "-W", "-f", "${Version} ${db:Status-Status}", "haproxy-k8s-sync")


def credentials(machine: Machine) -> dict[str, tuple[str, int]]:
    folder = machine.path("/etc/haproxy-k8s-sync")
    return {path.name: (path.read_text(), path.stat().st_mode & 0o777) for path in folder.iterdir()}


def test_upgrade_and_downgrade(balancer: Balancer) -> None:
    machine, rig_ = balancer.machine, balancer.rig
    machine.write("/etc/haproxy-k8s-sync/own.pem", OWN, 0o600)
    env = machine.path(SETTINGS)
    env.write_text(env.read_text() + OWN)
    kept, mine = credentials(machine), env.read_text()
    running, worker, before = machine.pid(UNIT), rig_.haproxy.worker(), rig_.dataplane.file()

    # Both have changed the settings: apt asks, and without an answer it stops there, with the older one still running.
    install, *checks = of_the_page()
    finish, unattended = FINISH, install.replace("apt-get", f"apt-get {UNATTENDED}")
    status, said = shell(machine, install)
    assert status != 0 and f"Configuration file '{SETTINGS}'" in said, said
    assert env.read_text() == mine and machine.pid(UNIT) == running
    status, said = shell(machine, finish)
    assert status == 0 and installed(machine) == f"{version()} installed", said
    assert env.read_text() == mine and credentials(machine) == kept and oct(env.stat().st_mode)[-3:] == "640"
    assert machine.path(f"{SETTINGS}.dpkg-dist").exists(), "what it would have written lies beside it"
    upgraded = machine.pid(UNIT)
    assert upgraded != running
    balancer.wait_in_step(1)
    for line in checks:
        assert shell(machine, line)[0] == 0, shell(machine, line)
    assert (rig_.haproxy.worker(), rig_.dataplane.file()) == (worker, before), "HAProxy is as it was"

    # And back. Nobody is asked: the settings are the user's, and the older package's are those that it had.
    older = f"./build/haproxy-k8s-sync_{OLDER}_older.deb"
    assert apt(machine, "-y", older)[0] != 0, "a downgrade has to be asked for"
    assert installed(machine) == f"{version()} installed"
    status, said = apt(machine, "-y", "--allow-downgrades", UNATTENDED, older)
    assert status == 0 and installed(machine) == f"{OLDER} installed", said
    assert env.read_text() == mine and credentials(machine) == kept and machine.pid(UNIT) != upgraded
    balancer.wait_in_step(1)
    assert machine.call(ASK, "plan").returncode == 0
    assert (rig_.haproxy.worker(), rig_.dataplane.file()) == (worker, before)

    # A service that was stopped is started, one that was disabled is not; what is linked changes with the package.
    machine.run("systemctl", "stop", UNIT)
    status, said = shell(machine, unattended)
    assert status == 0 and balancer.show("ActiveState") == ["active"], said
    machine.run("systemctl", "disable", "--now", UNIT)
    machine.run("mkdir", "-p", str(pathlib.Path(DROP_IN).parent))
    machine.run("ln", "-s", LOCAL, DROP_IN)
    machine.run("systemctl", "daemon-reload")
    assert balancer.show("MemoryMax") == [MEMORY[version()]]
    status, said = apt(machine, "-y", "--allow-downgrades", UNATTENDED, older)
    assert status == 0 and balancer.show("MemoryMax", "ActiveState") == [MEMORY[OLDER], "inactive"], said
    assert env.read_text() == mine and credentials(machine) == kept

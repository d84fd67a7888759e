"""A machine of its own under a real systemd: this one's files below a layer that goes away with it, and namespaces around it.

Only root with the right to mount can have one. Its network is this machine's, so that it reaches what a test has started.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from tests.functional.wrapped import root_only
from tests.harness.process import Process, wait_until

SYSTEMD = "/lib/systemd/systemd"
needs_systemd = pytest.mark.skipif(not os.path.exists(SYSTEMD), reason="no systemd here (Debian's package systemd)")
marks = [root_only, needs_systemd]

# Nothing of what this machine would start is started: of the units only those that are named here, and what they need.
# Mounts that a service makes have to come back to its manager, so all are shared; pivot_root, since a process in a chroot
# gets no user namespace.
BOOT = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 machine "$1"
cd "$1"
mkdir up work root
mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root
cd root
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount -t tmpfs -o mode=755 dev dev
mkdir dev/shm dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for node in null zero full random urandom tty; do
    : >dev/$node
    mount --bind /dev/$node dev/$node
done
ln -s /proc/self/fd dev/fd
rm -rf usr/lib/systemd/system/*.wants etc/systemd/system/*.wants usr/sbin/policy-rc.d var/log/journal
printf '[Unit]\\nDefaultDependencies=no\\nWants=systemd-journald.service dbus.socket\\n' >etc/systemd/system/machine.target
echo 0123456789abcdef0123456789abcdef >etc/machine-id
: >etc/fstab
mkdir .before
pivot_root . .before
umount -l /.before
rmdir /.before
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin %s --system --unit=machine.target --show-status=no --log-target=journal
""" % SYSTEMD


def _control_group() -> pathlib.Path:
    """A new one in the tree of cgroup2, which is beside those of version 1, or instead of them."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    found = re.search(r"^\S+ \S+ \S+ / (\S+) .* - cgroup2 ", mounts, re.M)
    if not found:
        pytest.skip("no cgroup2 is mounted here: systemd keeps track of its services by it")
    try:
        return pathlib.Path(tempfile.mkdtemp(prefix="machine-", dir=found[1]))
    except OSError as e:
        pytest.skip(f"no control group can be made here, which systemd needs: {e}")


class Machine:
    def __init__(self, home: pathlib.Path):
        self.home = home
        self.log = home / "machine.log"
        self.groups = _control_group()
        self.init = 0
        self._process: Process | None = None

    def __enter__(self) -> "Machine":
        (self.home / "machine").mkdir(parents=True)
        # In a group of its own first: the namespace makes that the root of all that it sees.
        outer = 'echo 0 >"$1/cgroup.procs"; exec unshare -mpfiuC --kill-child bash -c "$2" boot "$3"'
        try:
            self._process = Process(["bash", "-ec", outer, "group", self.groups, BOOT, self.home / "machine"], self.log, name="machine")
            wait_until(self._is_up, 60, f"systemd to be up; see {self.log}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
        for folder in sorted(self.groups.rglob("*"), reverse=True):
            if folder.is_dir():
                wait_until(lambda: folder.rmdir() or True, 20, f"{folder} to be empty")
        wait_until(lambda: self.groups.rmdir() or True, 20, f"{self.groups} to be empty")

    def _is_up(self) -> bool:
        assert self._process
        if not self._process.alive:
            raise RuntimeError(f"the machine ended: {self.log.read_text()}")
        children = pathlib.Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        self.init = int(children[0]) if children else 0
        return self.init != 0 and self.path("/run/systemd/system").exists() and self.run("systemctl", "is-system-running", status=None) == "running\n"

    # --- its files and its programs

    def path(self, name: str) -> pathlib.Path:
        """A file of its own, as it is called from here."""
        return pathlib.Path(f"/proc/{self.init}/root") / name.lstrip("/")

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.chmod(mode)
        path.write_text(text)

    def copy(self, file: pathlib.Path, folder: str) -> str:
        shutil.copy(file, self.path(folder))
        return f"{folder}/{file.name}"

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": ""}
        return subprocess.run(["nsenter", "-t", str(self.init), "-m", "-p", "-i", "-u", "-C", "-r", "-w", *command], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)

    def run(self, *command: str, status: int | None = 0) -> str:
        """Its standard output."""
        done = self.call(*command)
        assert status is None or done.returncode == status, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    # --- its services

    def show(self, unit: str, *names: str) -> dict[str, str]:
        """Properties of a unit."""
        lines = self.run("systemctl", "show", unit, *(f"-p{name}" for name in names)).splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def value(self, unit: str, name: str) -> str:
        return self.show(unit, name).get(name, "")

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit)

    def pid(self, unit: str) -> int:
        """The main process, as it is called from here."""
        inner = self.value(unit, "MainPID")
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                status = (folder / "status").read_text()
                if re.search(rf"^NSpid:\t\d+\t{inner}$", status, re.M) and os.readlink(folder / "ns/pid") == os.readlink(f"/proc/{self.init}/ns/pid"):
                    return int(folder.name)
            except OSError:
                continue
        raise AssertionError(f"{unit} has no process {inner}")

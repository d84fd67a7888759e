"""A rendered pod, played by processes: each container in a root of its own image, read-only, as the pod's user, with its volumes."""

from __future__ import annotations

import os
import pathlib
import shlex
import signal
import subprocess

from tests.harness.process import Process

from .helm import Document, only
from .pod import container, settings

# What an engine gives each container.
DEVICES = ("null", "zero", "urandom", "random")


class Pod:
    """roots: image -> the folder that is its file system, and what is hidden of it; a layer above it goes with the container."""

    def __init__(self, home: pathlib.Path, found: list[Document], roots: dict[str, tuple[pathlib.Path, tuple[str, ...]]],
                 contents: dict[str, dict[str, str]]):
        self.home, self.found, self.roots = home, found, roots
        self.spec = only(found, "Deployment")["spec"]["template"]["spec"]
        self.user = self.spec["securityContext"]["runAsUser"]
        self.group = self.spec["securityContext"]["fsGroup"]
        self.processes: dict[str, Process] = {}
        for volume in self.spec["volumes"]:
            self._volume(volume["name"], contents.get(volume["name"], {}))

    def _volume(self, name: str, files: dict[str, str]) -> None:
        folder = self.volume(name)
        folder.mkdir(parents=True)
        os.chown(folder, 0, self.group)
        folder.chmod(0o2777)
        for file, text in files.items():
            (folder / file).write_text(text)
            os.chown(folder / file, 0, self.group)
            (folder / file).chmod(0o440)

    def volume(self, name: str) -> pathlib.Path:
        return self.home / "volumes" / name

    def _script(self, one: Document) -> str:
        work = self.home / one["name"]
        work.mkdir(exist_ok=True)
        root = work / "root"
        image, hidden = self.roots[one["image"]]
        lines = [f"mount -t tmpfs tmpfs {work}", f"cd {work}", "mkdir up work root",
                 f"mount -t overlay overlay -o lowerdir={image},upperdir=up,workdir=work root",
                 *(f"rm -rf root{path}" for path in hidden),
                 f"mkdir -p root/proc root/dev {' '.join('root' + m['mountPath'] for m in one['volumeMounts'])}",
                 "mount -t tmpfs dev root/dev", *(f": >root/dev/{name}; mount --bind /dev/{name} root/dev/{name}" for name in DEVICES),
                 "mount -t proc proc root/proc"]
        assert one["securityContext"]["readOnlyRootFilesystem"] and one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        lines.append("mount -o remount,ro root")
        for mount in one["volumeMounts"]:
            lines.append(f"mount --bind {self.volume(mount['name'])} root{mount['mountPath']}")
            if mount.get("readOnly"):
                lines.append(f"mount -o remount,bind,ro root{mount['mountPath']}")
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        if one["name"] == container(self.found)["name"]:
            env |= settings(self.found)
        words = [*one.get("command", ["/usr/bin/haproxy-k8s-sync"]), *one.get("args", [])]
        enter = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in env.items()), "/usr/bin/setpriv", "--no-new-privs",
                 "/usr/sbin/chroot", f"--userspec={self.user}:{self.spec['securityContext']['runAsGroup']}", f"--groups={self.group}", str(root)]
        return f"{'; '.join(lines)}; exec {shlex.join([*enter, *words])}"

    def _words(self, one: Document) -> list[str]:
        return ["unshare", "-m", "bash", "-ec", self._script(one)]

    def begin(self) -> None:
        """The init containers, each to its end."""
        for one in self.spec["initContainers"]:
            done = subprocess.run(self._words(one), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{one['name']}: {done.returncode}\n{done.stdout}{done.stderr}"

    def start(self, name: str) -> Process:
        one = next(c for c in self.spec["containers"] if c["name"] == name)
        self.processes[name] = Process(self._words(one), self.home / f"{name}.log", name=name)
        return self.processes[name]

    def log(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()

    def stop(self) -> None:
        for process in self.processes.values():
            process.signal(signal.SIGTERM)
        for process in self.processes.values():
            process.wait(20)

"""An OCI archive as a container engine sees it: its configuration, its files, and the daemon run in them as an engine would run it,
as far as the kernel alone can: another root, read-only, another user, the few files that engines add, nothing else of the machine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import tarfile
from typing import Any

Object = dict[str, Any]


class Archive:
    def __init__(self, path: pathlib.Path):
        self.tar = tarfile.open(path)
        self.index = json.loads(self._member("index.json"))
        self.digest = str(self.index["manifests"][0]["digest"])
        self.manifest: Object = json.loads(self.blob(self.digest))
        self.config: Object = json.loads(self.blob(self.manifest["config"]["digest"]))

    def _member(self, name: str) -> bytes:
        member = self.tar.extractfile(name)
        assert member, f"{name} is no file"
        return member.read()

    def blob(self, digest: str) -> bytes:
        algorithm, _, value = digest.partition(":")
        data = self._member(f"blobs/{algorithm}/{value}")
        assert hashlib.sha256(data).hexdigest() == value, f"{digest} is not what its name says"
        return data

    def layers(self) -> list[tarfile.TarFile]:
        return [tarfile.open(fileobj=io.BytesIO(self.blob(layer["digest"]))) for layer in self.manifest["layers"]]

    def unpack(self, home: pathlib.Path) -> pathlib.Path:
        home.mkdir(parents=True, exist_ok=True)
        for layer in self.layers():
            layer.extractall(home, numeric_owner=True)
        return home

    @property
    def environment(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.config["config"].get("Env", []))


def loader(program: pathlib.Path) -> str:
    """The program that an ELF file names as the one to load it."""
    text = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    named = re.search(r"Requesting program interpreter: (\S+)\]", text)
    assert named, text
    return named[1]


# What engines put over /etc, and where Kubernetes puts a pod's token.
ADDED = ("etc/hosts", "etc/resolv.conf", "etc/hostname", "dev/null")
TOKEN = "var/run/secrets/kubernetes.io/serviceaccount"


class Container:
    """root: unpacked, and used up by this. settings/ is where the test's own files are mounted, at /settings."""

    def __init__(self, home: pathlib.Path, archive: Archive, nameserver: str = "127.0.0.1", hosts: str = ""):
        self.home, self.archive = home, archive
        self.root = archive.unpack(home / "root")
        self.settings = home / "settings"
        self.token = home / "token"
        self.traces: list[pathlib.Path] = []
        for folder in (self.settings, self.token, self.root / "settings", self.root / TOKEN, self.root / "proc", self.root / "dev"):
            folder.mkdir(parents=True)
        given = {"etc/hosts": f"127.0.0.1 localhost\n{hosts}", "etc/resolv.conf": f"nameserver {nameserver}\noptions timeout:2\n",
                 "etc/hostname": "pod\n", "dev/null": ""}
        for name in ADDED:
            (self.root / name).write_text(given[name])

    def frame(self, *arguments: str, over: dict[str, pathlib.Path] | None = None) -> pathlib.Path:
        """A script that becomes the image's entrypoint with these arguments, and keeps its process's number. over: files of the
        image that a user mounts others upon."""
        config = self.archive.config["config"]
        trace = self.home / f"trace-{len(self.traces)}"
        self.traces.append(trace)
        uid, _, gid = config["User"].partition(":")
        inside = [f"mount --bind {self.root} {self.root}", f"mount -o remount,bind,ro {self.root}",
                  f"mount -t proc -o ro proc {self.root}/proc", f"mount --bind /dev/null {self.root}/dev/null"]
        mounts = {"settings": self.settings, TOKEN: self.token, **(over or {})}
        inside += [f"mount --bind -o ro {path} {self.root}/{name}" for name, path in mounts.items()]
        command = ["strace", "-f", "-D", "-q", "-o", str(trace), "-e", "trace=%file", "/usr/sbin/chroot", f"--userspec={uid}:{gid}",
                   "--groups=", str(self.root), *config["Entrypoint"], *config.get("Cmd", []), *arguments]
        inside.append(f"exec {shlex.join(command)}")
        script = self.home / f"frame-{len(self.traces)}"
        script.write_text(f"#!/bin/bash\nexec unshare -m bash -ec {shlex.quote('; '.join(inside))}\n")
        script.chmod(0o755)
        return script

    # --- which files the daemon asked for

    def asked(self) -> tuple[set[str], set[str]]:
        """(found, missing): the paths that it asked for in all runs, as it named them."""
        found: set[str] = set()
        missing: set[str] = set()
        program = self.archive.config["config"]["Entrypoint"][0]
        for trace in self.traces:
            # What comes before that is chroot(8), a program of this machine.
            started = re.search(rf'execve\("{re.escape(program)}", .* = 0$', text := trace.read_text(), re.M)
            assert started, f"the daemon's start is not in {trace}"
            # The kernel itself opens these two.
            found |= {program, loader(self.root / program.lstrip("/"))}
            for call in re.finditer(r'\b\w+\((?:AT_FDCWD, )?"(/[^"]*)".* = (.*)$', text[started.end():], re.M):
                (missing if call[2].startswith("-1 ENO") else found).add(os.path.normpath(call[1]))
        return found, missing - found

    def files_behind(self, paths: set[str]) -> set[str]:
        """What of the root a path leads by: each symbolic link on the way, and the file at its end."""
        behind: set[str] = set()
        for path in paths:
            self._follow(path, behind, 0)
        return behind

    def _follow(self, path: str, behind: set[str], depth: int) -> None:
        assert depth < 20, f"{path} leads in circles"
        at = ""
        parts = [part for part in path.split("/") if part]
        for i, part in enumerate(parts):
            at = f"{at}/{part}"
            here = self.root / at.lstrip("/")
            if here.is_symlink():
                behind.add(at)
                rest = "/".join(parts[i + 1:])
                target = os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(here), rest))
                return self._follow(target, behind, depth + 1)
        behind.add(at)

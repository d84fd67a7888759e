"""The daemon in another frame: the plain build (a filter of system calls and sanitizers do not go together), run by a wrapper."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess

import pytest

from tests.harness.daemon import Daemon, quick_program

from .rig import Rig

CAP_SYS_PTRACE = 19


def _has_capability(number: int) -> bool:
    held = re.search(r"^CapEff:\s+(\w+)$", pathlib.Path("/proc/self/status").read_text(), re.M)
    return held is not None and bool(int(held[1], 16) >> number & 1)


def _can_mount() -> bool:
    """Root in a container without further rights cannot."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


root_only = pytest.mark.skipif(not _can_mount(), reason="no right to mount here: only with it can such a frame be made")
sees_memory = pytest.mark.skipif(not _has_capability(CAP_SYS_PTRACE), reason="no CAP_SYS_PTRACE here: the daemon's memory is closed to us")


def start_in(rig: Rig, script: str, **settings: str) -> Daemon:
    """Starts the daemon by a shell script that ends in `exec ... "$DAEMON"`, so that its process is the daemon's. The frame is not
    given to the daemon: what the script needs stands in itself."""
    path = rig.home / "frame"
    path.write_text(f"#!/bin/bash\nset -e\nDAEMON={shlex.quote(str(quick_program()))}\n{script}\n")
    path.chmod(0o755)
    rig.daemon = Daemon(rig.home / "daemon", rig.settings(**settings), path).start()
    return rig.daemon


def in_names(home: pathlib.Path, server: str, last: str) -> str:
    """A script that asks this name server alone, in a mount namespace of its own; last: a command in front of the daemon, or nothing."""
    (home / "resolv.conf").write_text(f"nameserver {server}\noptions timeout:2\n")
    (home / "nsswitch.conf").write_text("hosts: files dns\n")
    binds = "; ".join(f"mount --bind {shlex.quote(str(home / name))} /etc/{name}" for name in ("resolv.conf", "nsswitch.conf"))
    return f"export DAEMON; exec unshare -m bash -ec {shlex.quote(f'{binds}; D=$DAEMON; unset DAEMON; exec {last} $D')}"

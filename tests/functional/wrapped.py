"""The daemon in another frame: the plain build (a filter of system calls and sanitizers do not go together), run by a wrapper."""

from __future__ import annotations

import os
import pathlib
import shlex

import pytest

from tests.harness.daemon import Daemon

from .rig import Rig, program

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a frame")


def plain() -> pathlib.Path:
    """The build without sanitizers: beside the one that the other tests run."""
    path = program()
    path = path.parent.parent / path.name if path.parent.name == "san" else path
    if not path.exists():
        pytest.fail(f"{path} is not there: make builds it", pytrace=False)
    return path


def start_in(rig: Rig, script: str, **settings: str) -> Daemon:
    """Starts the daemon by a shell script that ends in `exec ... "$DAEMON"`, so that its process is the daemon's. The frame is not
    told to the daemon: what the script needs stands in itself."""
    path = rig.home / "frame"
    path.write_text(f"#!/bin/bash\nset -e\nDAEMON={shlex.quote(str(plain()))}\n{script}\n")
    path.chmod(0o755)
    rig.daemon = Daemon(rig.home / "daemon", rig.settings(**settings), path).start()
    return rig.daemon


def names(home: pathlib.Path, *aliases: str) -> str:
    """The part of a script that gives 127.0.0.1 these names, in a mount namespace of its own."""
    hosts = home / "hosts"
    hosts.write_text("127.0.0.1 localhost " + " ".join(aliases) + "\n")
    return f"mount --bind {shlex.quote(str(hosts))} /etc/hosts"

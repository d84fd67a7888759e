"""The Debian package as `make deb` makes it, of the daemon that is tested."""

from __future__ import annotations

import pathlib
import shutil

import pytest

from tests.harness.daemon import program
from tests.harness.process import ROOT

from .once import once, run, version

EPOCH = "1700000000"
needs_debhelper = pytest.mark.skipif(shutil.which("dh") is None, reason="no dh here (Debian's package debhelper)")


def pack(home: pathlib.Path, root: pathlib.Path = ROOT) -> None:
    """What `make deb` does once the program is built; root: the sources."""
    shutil.copy(program(), home / "haproxy-k8s-sync")
    run(root / "scripts/deb", version(), home, cwd=root, SOURCE_DATE_EPOCH=EPOCH)


def folder(factory: pytest.TempPathFactory) -> pathlib.Path:
    return once(factory, "deb", pack)


def find(home: pathlib.Path, name: str = "haproxy-k8s-sync") -> pathlib.Path:
    found, = home.glob(f"{name}_{version()}_*.deb")
    return found

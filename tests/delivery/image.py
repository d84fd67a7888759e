"""The image as `make image` makes it, of the daemon that is tested."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness.daemon import program

from .once import once, run, version

EPOCH = "1700000000"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def build_rootfs(home: pathlib.Path) -> None:
    run("scripts/rootfs", program(), home / "rootfs", SOURCE_DATE_EPOCH=EPOCH)


def archive(root: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
    run("scripts/image", root, path, version(), SOURCE_DATE_EPOCH=EPOCH, REVISION=REVISION)
    return path


def rootfs(factory: pytest.TempPathFactory) -> pathlib.Path:
    return once(factory, "rootfs", build_rootfs) / "rootfs"


def image(factory: pytest.TempPathFactory) -> pathlib.Path:
    """The archive."""
    root = rootfs(factory)
    return once(factory, "image", lambda home: archive(root, home / "image.oci.tar") and None) / "image.oci.tar"

"""The source tarball of `make dist`: the same bytes for the same commit, and a tree that builds on its own."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import tarfile

import pytest

from tests.harness.daemon import program
from tests.harness.process import ROOT

from .once import once, run, version

NAME = f"haproxy-k8s-sync-{version()}"
in_git = pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no git work tree here")
pytestmark = in_git


def pack(home: pathlib.Path) -> None:
    # A clone, so that a commit made meanwhile is not in one half of the tests alone; depth: what a checkout of a workflow has.
    run("git", "clone", "-q", "--depth=1", f"file://{ROOT}", home / "clone")
    run("make", "-s", "dist", f"B={home}", cwd=home / "clone")


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return once(tmp_path_factory, "dist", pack)


def test_checksum(packed: pathlib.Path) -> None:
    data = (packed / f"{NAME}.tar.gz").read_bytes()
    assert (packed / "SHA256SUMS").read_text() == f"{hashlib.sha256(data).hexdigest()}  {NAME}.tar.gz\n"


def test_same_commit_same_bytes(packed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Another clone, another umask, another time zone."""
    run("git", "clone", "-q", f"file://{packed}/clone", tmp_path / "clone")
    run("bash", "-c", f"umask 077; scripts/dist {version()} {tmp_path}", cwd=tmp_path / "clone", TZ="Asia/Tokyo")
    assert (tmp_path / f"{NAME}.tar.gz").read_bytes() == (packed / f"{NAME}.tar.gz").read_bytes()


def test_contents(packed: pathlib.Path) -> None:
    with tarfile.open(packed / f"{NAME}.tar.gz") as tar:
        members = tar.getmembers()
    names = {member.name for member in members}
    assert all(name == NAME or name.startswith(f"{NAME}/") for name in names)
    for needed in ("LICENSE", "Makefile", "README.md", "CHANGELOG.md", "Dockerfile", "scripts/rootfs", "deploy/deployment.yaml", ".cargo/config.toml"):
        assert f"{NAME}/{needed}" in names
    locked = re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource', (ROOT / "src/template/Cargo.lock").read_text())
    assert locked and all(f"{NAME}/vendor/{crate}-{number}/Cargo.toml" in names for crate, number in locked)
    assert not any("__pycache__" in name or name.startswith(f"{NAME}/build") for name in names)
    assert len({member.mtime for member in members}) == 1
    assert not any(member.mode & 0o022 for member in members)


def unpack_and_build(packed: pathlib.Path, home: pathlib.Path) -> None:
    with tarfile.open(packed / f"{NAME}.tar.gz") as tar:
        tar.extractall(home)
    # In a network namespace with nothing in it, and with nothing that cargo has fetched before.
    alone = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-rn")
    run(*alone, "make", "-s", "-j2", "build/haproxy-k8s-sync", cwd=home / NAME, CARGO_HOME=str(home / "cargo"))


@pytest.fixture(scope="session")
def tree(packed: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Without git, and without what lies beside a developer's tree."""
    return once(tmp_path_factory, "dist-tree", lambda home: unpack_and_build(packed, home)) / NAME


def test_it_builds(tree: pathlib.Path, packed: pathlib.Path) -> None:
    commit = run("git", "rev-parse", "--short=12", "HEAD", cwd=packed / "clone").strip()
    assert run(tree / "build/haproxy-k8s-sync", "--version", cwd=tree) == f"haproxy-k8s-sync {version()}, commit {commit}\n"
    # Without git the time of everything built is that of the commit all the same.
    assert run("scripts/source-date", cwd=tree) == run("git", "log", "-1", "--format=%ct", cwd=packed / "clone")


def flags(folder: pathlib.Path, sources: pathlib.Path) -> str:
    path = folder / "obj/flags"
    return path.read_text().replace(str(sources), "") if path.exists() else "unknown"


def test_same_sources_same_program(tree: pathlib.Path, packed: pathlib.Path) -> None:
    """To the byte, debug information and build id included, though the folders are different ones."""
    sources = [path for path in run("git", "ls-files", "src", "cmd", "Makefile").split()]
    built = program().stat().st_mtime
    commit = run("git", "rev-parse", "HEAD", cwd=packed / "clone").strip()
    if (commit[:12] not in run(program(), "--version") or run("git", "diff", "--stat", commit, "--", "src", "cmd", "Makefile")
            or any((ROOT / path).stat().st_mtime > built for path in sources)):
        pytest.skip("the daemon under test is not of the last commit's sources")
    if flags(program().parent, ROOT) != flags(tree / "build", tree):
        pytest.skip("the daemon under test was built with other flags")
    assert program().read_bytes() == (tree / "build/haproxy-k8s-sync").read_bytes()

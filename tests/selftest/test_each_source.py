"""scripts/each-source asks a tool again unless nothing that its answer depends on has changed, and never remembers a failure."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Fails where the source says so, and writes down whom it was asked about.
TOOL = """#!/bin/sh
[ "$1" != --version ] || { cat "$VERSION"; exit; }
echo "$2" >>"$ASKED"
! grep -q BAD "$2"
"""


class Tree:
    def __init__(self, home: pathlib.Path):
        self.home, self.path = home, home / "tree"
        self.path.mkdir()
        (self.path / "scripts").mkdir()
        for name in ("each-source", "files"):
            shutil.copy(ROOT / "scripts" / name, self.path / "scripts" / name)
        for name, text in {".clang-tidy": "a", "src/x/a.c": '#include "x/a.h"\n', "src/x/a.h": "int a;\n", "src/x/b.c": "int b;\n"}.items():
            self.write(name, text)
        self.tool, self.version = home / "tool", home / "version"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.version.write_text("1\n")

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def run(self, *flags: str, remember: str = "yes") -> tuple[bool, list[str]]:
        """Whether all passed; which sources the tool was asked about."""
        asked = self.home / "asked"
        asked.write_text("")
        ended = subprocess.run(
            [self.path / "scripts/each-source", "gcc", "-Isrc", "--", self.tool, f"-I{self.path}/src", "{}", *flags], check=False, timeout=300,
            stdout=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": str(self.home / "cache"), "ASKED": str(asked),
                                            "VERSION": str(self.version), "REMEMBER": remember})
        return ended.returncode == 0, sorted(pathlib.Path(name).name for name in asked.read_text().split())


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Tree:
    return Tree(tmp_path)


def test_what_passed_is_not_asked_again_in_another_clone_either(tree: Tree) -> None:
    assert tree.run() == (True, ["a.c", "b.c"])
    assert tree.run() == (True, [])
    assert tree.run(remember="no") == (True, ["a.c", "b.c"])
    tree.path = tree.path.rename(tree.home / "another")
    assert tree.run() == (True, [])


def test_whatever_changes_is_asked_again(tree: Tree) -> None:
    assert tree.run() == (True, ["a.c", "b.c"])
    tree.write("src/x/a.h", "int a; /* a comment */\n")
    assert tree.run() == (True, ["a.c"])
    tree.write("src/x/b.c", "int b;  \n")
    assert tree.run() == (True, ["b.c"])
    assert tree.run("-O2") == (True, ["a.c", "b.c"])
    tree.version.write_text("2\n")
    assert tree.run() == (True, ["a.c", "b.c"])
    tree.write(".clang-tidy", "b")
    assert tree.run() == (True, ["a.c", "b.c"])


def test_a_failure_is_never_remembered(tree: Tree) -> None:
    tree.write("src/x/b.c", "int BAD;\n")
    assert tree.run() == (False, ["a.c", "b.c"])
    assert tree.run() == (False, ["b.c"])
    tree.write("src/x/b.c", '#include "x/gone.h"\n')  # of which nothing can be summed
    assert tree.run() == (True, ["b.c"])
    assert tree.run() == (True, ["b.c"])

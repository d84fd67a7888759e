"""Things that take long to make and that several test processes read: made once in a run, by the first of them."""

from __future__ import annotations

import fcntl
import os
import pathlib
import subprocess
from collections.abc import Callable

import pytest

from tests.harness.process import ROOT


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """A folder of that name that make() has filled. With pytest-xdist the parent of the base folder is that of the whole run."""
    base = factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"once-{name}"
    home.mkdir(exist_ok=True)
    with open(home / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / ".done").exists():
            make(home)
            (home / ".done").touch()
    return home


def run(*command: object, cwd: os.PathLike[str] | str = ROOT, **env: str) -> str:
    """Standard output; what a command says when it fails is what the test fails with."""
    words = [str(word) for word in command]
    # What an outer make hands to its children is not meant for one that a test starts.
    own = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SOURCE_DATE_EPOCH", "B")}
    done = subprocess.run(words, cwd=cwd, env={**own, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def version() -> str:
    """VERSION of the Makefile."""
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("VERSION"))
    return line.split("=")[1].strip()

"""Earlier versions of the daemon, built from this repository's own history; which ones is in the file previous_release."""

from __future__ import annotations

import fcntl
import os
import pathlib
import subprocess
import tempfile

from tests.harness import realparts
from tests.harness.process import ROOT

PINNED = pathlib.Path(__file__).with_name("previous_release")
CACHE = realparts.cache_dir() / "previous"


class Missing(Exception):
    """A version that cannot be had here, with the reason: a named skip."""


def commits() -> dict[str, str]:
    """name -> commit"""
    lines = (line.split() for line in PINNED.read_text().splitlines())
    return {words[0]: words[1] for words in lines if words and not words[0].startswith("#")}


def _git(*words: str) -> subprocess.CompletedProcess[bytes]:
    # The user who runs the tests in a container may not own the tree.
    return subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *words], capture_output=True, check=False)


def _archive(commit: str) -> bytes:
    try:
        known = _git("cat-file", "-e", f"{commit}^{{commit}}")
    except FileNotFoundError as e:
        raise Missing("no git here to get earlier versions from the history with") from e
    if known.returncode != 0:
        # Without a history there is nothing to ask; in a whole one, the commit would be there.
        shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() != b"false"
        assert shallow, f"{PINNED} names {commit}, which is no commit here"
        raise Missing(f"commit {commit} is not in this repository's history (a shallow clone, or no clone): git fetch --unshallow")
    done = _git("archive", commit, "Makefile", "src", "cmd")
    assert done.returncode == 0, f"git archive {commit}: {done.stderr.decode()}"
    return done.stdout


def _make(commit: str, target: pathlib.Path) -> None:
    archive = _archive(commit)
    with tempfile.TemporaryDirectory(prefix="previous-") as name:
        home = pathlib.Path(name)
        subprocess.run(["tar", "x", "-C", name], input=archive, check=True)
        # A compiler of today may warn of what none did then.
        words = ["make", "-s", f"B={home}/b", "WARN=-w", f"{home}/b/haproxy-k8s-sync"]
        done = subprocess.run(words, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{commit} does not build: {' '.join(words)}\n{(done.stdout + done.stderr)[-3000:]}"
        half = target.with_suffix(".new")
        half.write_bytes((home / "b" / "haproxy-k8s-sync").read_bytes())
        half.chmod(0o755)
        os.replace(half, target)


def program(name: str) -> pathlib.Path:
    """The daemon of this name in previous_release; built once, several test processes wait for one of them."""
    commit = commits()[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    target = CACHE / f"haproxy-k8s-sync-{commit}"
    with open(CACHE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _make(commit, target)
    return target

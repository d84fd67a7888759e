"""Debian's promtool over rules, alerts' tests and metrics."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

from tests.harness.process import ROOT


def promtool(*words: object, cwd: pathlib.Path = ROOT, stdin: str = "") -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    assert program, "no promtool on PATH (Debian's package prometheus): scripts/deps delivery"
    return subprocess.run([program, *(str(w) for w in words)], cwd=cwd, input=stdin, capture_output=True, text=True, check=False)


def refused(path: pathlib.Path, groups: list[dict[str, Any]]) -> str:
    """Writes a rule file; what `promtool check rules` has against it, "" for nothing."""
    path.write_text(json.dumps({"groups": groups}))
    done = promtool("check", "rules", path)
    # Duplicates and the like are printed, but not by the exit status.
    odd = [line for line in done.stdout.splitlines() if "duplicate" in line or "warning" in line.lower()]
    return done.stdout + done.stderr if done.returncode != 0 or odd else ""

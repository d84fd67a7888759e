"""What scripts/deps asks apt for, on a Debian of which only the packages' names are real: dpkg, apt, cargo and root are doubles."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOUBLES = {
    # Every package that stands in the file "have", one a line.
    "dpkg-query": 'for p in "$@"; do grep -qx -- "$p" "$HAVE" && echo "installed $p"; done; exit 1',
    # Not root, and a sudo that does nothing: it ends where something would be installed.
    "id": "echo 1000",
    "sudo": "exit 1",
}
NEW, OLD = "1.70.0", "1.63.0"


def asked_for(tmp_path: pathlib.Path, release: int, *have: str, cargo: str | None = None, group: str = "build") -> tuple[list[str], str]:
    """The packages that would be installed, and all that was said."""
    path = tmp_path / "bin"
    path.mkdir()
    doubles = {**DOUBLES, "cargo": f"echo 'cargo {cargo} (0 2024-01-01)'" if cargo else "exit 127"}
    for name, body in doubles.items():
        (path / name).write_text(f"#!/bin/sh\n{body}\n")
        (path / name).chmod(0o755)
    (tmp_path / "have").write_text("".join(f"{name}\n" for name in have))
    (tmp_path / "os-release").write_text(f'ID=debian\nVERSION_ID="{release}"\n')
    ended = subprocess.run(
        [ROOT / "scripts/deps", group], capture_output=True, text=True, check=False, timeout=300,
        env={"PATH": f"{path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path), "HAVE": str(tmp_path / "have"),
             "OS_RELEASE": str(tmp_path / "os-release")})
    said = ended.stdout + ended.stderr
    lines = [line.partition("installing: ")[2] for line in said.splitlines() if "installing: " in line]
    return (lines[0].split() if lines else []), said


@pytest.mark.parametrize(("release", "wanted", "other"), [(12, {"cargo-web", "rustc-web"}, "cargo"),
                                                          (13, {"cargo", "rustc"}, "cargo-web")])
def test_where_there_is_no_cargo_the_release_s_own_is_asked_for(tmp_path: pathlib.Path, release: int, wanted: set[str], other: str) -> None:
    packages, said = asked_for(tmp_path, release)
    assert {"gcc", "libyyjson-dev", "ca-certificates"} | wanted <= set(packages), said
    assert other not in packages


def test_a_cargo_that_is_new_enough_is_enough(tmp_path: pathlib.Path) -> None:
    packages, said = asked_for(tmp_path, 12, cargo=NEW)
    assert "gcc" in packages, said
    assert not [name for name in packages if "cargo" in name or "rustc" in name]


@pytest.mark.parametrize("have", [("cargo", "rustc"), ("rustc",)])
def test_debian_s_old_one_is_not_put_away(tmp_path: pathlib.Path, have: tuple[str, ...]) -> None:
    packages, said = asked_for(tmp_path, 12, *have, cargo=OLD)
    assert "gcc" in packages and "the build is without templates" in said
    assert not [name for name in packages if "cargo" in name or "rustc" in name]


def test_what_is_there_is_not_asked_for(tmp_path: pathlib.Path) -> None:
    packages, said = asked_for(tmp_path, 12, "gcc", "cargo-web")
    assert "gcc" not in packages and "cargo-web" not in packages and "rustc-web" in packages, said

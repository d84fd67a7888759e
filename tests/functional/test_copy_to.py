"""copy-to: the program with its loader and libraries, at work where none of them are."""

from __future__ import annotations

import os
import pathlib
import subprocess

from tests.harness.daemon import clean_env, quick_program

from .wrapped import root_only


def copied(folder: pathlib.Path, program: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    before = os.umask(0o077)
    try:
        return subprocess.run([program or quick_program(), "copy-to", folder], env=clean_env(), capture_output=True, text=True, check=False, timeout=60)
    finally:
        os.umask(before)


def words(folder: str) -> list[str]:
    return [f"{folder}/ld.so", "--library-path", folder, f"{folder}/haproxy-k8s-sync"]


@root_only
def test_it_runs_where_nothing_else_is(tmp_path: pathlib.Path) -> None:
    """As another user than the one who copied it; check-config has loaded and used the libraries."""
    there = tmp_path / "root/opt"
    there.mkdir(parents=True)
    assert (done := copied(there)).returncode == 0 and done.stdout == done.stderr == ""
    os.chmod(tmp_path, 0o755)
    command = ["/usr/sbin/chroot", "--userspec=65532:65532", "--groups=", str(tmp_path / "root"), *words("/opt"), "check-config"]
    env = clean_env(CONFIG_SOURCE="file", CONFIG_FILE="/a.cfg", HAPROXY_CONFIG_FILE="/b.cfg", HAPROXY_MASTER_SOCKET="/c.sock")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and "HAPROXY_CONFIG_FILE=/b.cfg" in done.stdout
    names = {path.name for path in there.iterdir()}
    assert {"ld.so", "haproxy-k8s-sync", "libc.so.6"} < names and not [name for name in names if name.startswith((".", "ld-linux"))]


def test_what_is_there_is_replaced(tmp_path: pathlib.Path) -> None:
    """Also by the copy itself, of what it runs from."""
    (tmp_path / "libc.so.6").write_text("not one")
    (tmp_path / ".ld.so.new").write_text("of one that was killed")
    assert copied(tmp_path).returncode == 0
    first = {path.name: (path.stat().st_ino, path.read_bytes()) for path in tmp_path.iterdir()}
    done = subprocess.run([*words(str(tmp_path)), "copy-to", str(tmp_path)], env=clean_env(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert all(path.stat().st_ino != first[path.name][0] for path in tmp_path.iterdir())
    assert subprocess.run([*words(str(tmp_path)), "--version"], capture_output=True, text=True, check=True).stdout.startswith("haproxy-k8s-sync ")


def test_what_goes_wrong_is_named(tmp_path: pathlib.Path) -> None:
    done = copied(tmp_path / "none")
    assert done.returncode == 1 and f"cannot open the folder {tmp_path / 'none'}: No such file or directory" in done.stderr
    (tmp_path / "ld.so").mkdir()
    done = copied(tmp_path)
    assert done.returncode == 1 and f"cannot write {tmp_path}/ld.so: Is a directory" in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]

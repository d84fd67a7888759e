"""The harness for real parts, as far as it can be tested without any: how each is started, and that a missing one is named."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

from tests.harness.haproxy import dataplane_version, reloads_by_socket
from tests.harness.process import ROOT


@pytest.mark.parametrize("dataplane, haproxy, by_socket", [
    ("3.0.15", (2, 6), False), ("3.4.0", (2, 6), False), ("3.0.12", (2, 8), True), ("3.1.6", (2, 8), True),
    ("3.0.12", (3, 2), False), ("3.0.13", (3, 2), True), ("3.1.8", (3, 4), False), ("3.1.9", (3, 4), True),
    ("3.2.3", (3, 2), False), ("3.2.4", (3, 2), True), ("3.3.0", (3, 2), True), ("3.4.0", (3, 4), True), ("", (3, 2), True)])
def test_who_reloads_by_the_masters_socket(dataplane: str, haproxy: tuple[int, int], by_socket: bool) -> None:
    assert reloads_by_socket(dataplane, haproxy) == by_socket


@pytest.mark.parametrize("said, version", [("HAProxy Data Plane API v3.1.6 dev.dirty", "3.1.6"), ("HAProxy Data Plane API  dev.dirty", "")])
def test_a_build_without_a_version(tmp_path: pathlib.Path, said: str, version: str) -> None:
    program = tmp_path / "dataplaneapi"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    assert dataplane_version(str(program)) == version


def test_the_matrix_of_versions_names_what_is_missing(tmp_path: pathlib.Path) -> None:
    haproxy = tmp_path / "haproxy"
    haproxy.write_text("#!/bin/sh\necho 'HAProxy version 3.2.0-1 2025/05/28'\n")
    haproxy.chmod(0o755)
    env = {**os.environ, "DATAPLANEAPIS": "/nowhere/dataplaneapi", "HAPROXYS": f"{haproxy} /nowhere/haproxy"}
    done = subprocess.run([ROOT / "tests/e2e/full", "conformance"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    table = [re.split("  +", line) for line in done.stdout.splitlines()[-3:]]
    assert [row[0] for row in table] == ["Data Plane API", *["no program: /nowhere/dataplaneapi"] * 2]
    assert [row[1:] for row in table[1:]] == [["3.2.0", "missing"], ["no program: /nowhere/haproxy", "missing"]]

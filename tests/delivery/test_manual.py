"""The manual page: its form, and that its commands, options, files and exit statuses are those of the daemon and its unit.

Its list of settings is held to the table by tests/unit/settings/test_settings_pages.c."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.harness.daemon import program
from tests.harness.process import ROOT

from .test_completion import words_of_help

PAGE = ROOT / "deploy/man/haproxy-k8s-sync.8"
TEXT = PAGE.read_text()
needs_mandoc = pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc here (Debian's package mandoc)")


def section(name: str) -> str:
    found = re.search(rf'^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)', TEXT, re.M | re.S)
    assert found, f"no section {name}"
    return found[1]


@needs_mandoc
def test_mandoc_has_nothing_to_say() -> None:
    said = subprocess.run(["mandoc", "-T", "lint", PAGE], capture_output=True, text=True).stdout.splitlines()
    # Which other pages there are is a matter of the machine.
    assert [line for line in said if "referenced manual not found" not in line] == []


@needs_mandoc
def test_it_can_be_read() -> None:
    """Nothing runs out of a terminal, and each section has its text."""
    page = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=80", PAGE], capture_output=True, text=True, check=True).stdout
    lines = re.sub(r".\x08", "", page).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if re.fullmatch(r"[A-Z][A-Z ]+", line)] == re.findall(r"^\.Sh (.*)", TEXT, re.M)


def test_commands_and_options_are_those_of_help() -> None:
    commands, options = words_of_help()
    for name, text in (("synopsis", section("SYNOPSIS")), ("list", section("DESCRIPTION"))):
        shown = {word for word in re.findall(r"^\.(?:It )?Cm ([a-z][\w-]*)", text, re.M) if word not in ("json", "junit", "text", "server")}
        assert shown == commands, name
    listed = {f"-{word}" for word in re.findall(r"Fl (-[a-z]+(?:-[a-z]+)*)", section("DESCRIPTION"))}
    assert listed - {"--output", "--colour"} == options, "--output is -o there, and --colour another spelling"
    synopsis = {f"-{word}" for word in re.findall(r"Fl (-[a-z]+(?:-[a-z]+)*)", section("SYNOPSIS"))}
    assert synopsis == options


def test_exit_statuses_are_those_of_the_source() -> None:
    listed = set(re.findall(r"^\.It (\d+)", section("EXIT STATUS"), re.M))
    defined = set()
    for header in ROOT.glob("src/**/*.h"):
        defined |= set(re.findall(r"#define \w*EXIT\w* (\d+)", header.read_text()))
    assert listed == defined | {"0", "1"}


def test_files_are_those_of_the_unit_and_the_package() -> None:
    unit = (ROOT / "deploy/systemd/haproxy-k8s-sync.service").read_text()
    for name in ("/etc/haproxy-k8s-sync.env", "/etc/haproxy-k8s-sync/kubeconfig", "secret_"):
        assert name in TEXT and name in unit, name
    page = (ROOT / "docs/sidecar.md").read_text()
    for line in re.findall(r"^# ((?:useradd|install -d -g|chown) .*)", section("THE SERVICE"), re.M):
        assert line in page.replace(" --shell /usr/sbin/nologin", ""), f"{line}: not what docs/sidecar.md says"
    rules = (ROOT / "deploy/debian/rules").read_text()
    example, = re.findall(r"^\.It Pa (/usr/share/doc/\S+)", section("FILES"), re.M)
    assert "examples/" in example and f"/{example.rpartition('/')[2]}" in rules


def test_signals_are_those_of_help() -> None:
    said = subprocess.run([program(), "help", "all"], capture_output=True, text=True, check=True).stdout
    for name in set(re.findall(r"\bSIG[A-Z]+", said)):
        assert f"Dv {name}" in section("SIGNALS"), name

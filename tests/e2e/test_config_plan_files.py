"""What `config plan` says of the files beside a haproxy.cfg, and what the daemon then does, with HAProxies that run."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.harness.certificates import self_signed
from tests.harness.process import wait_until

from .sites import Sites
from .test_configuration_churn import reloads
from .test_configuration_files import LIST, Files, pem

TOLD = "files changed in the running HAProxy; no reload"


@pytest.fixture
def files(sites: Sites) -> Files:
    return Files(sites)


def content(files: Files) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for folder in files.folders.values() for path in folder.glob("[!.]*")}


def planned(files: Files, changed: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """With the files of a copy, which then takes the place of the daemon's; each by its name."""
    to = files.dir.with_name("planned")
    shutil.copytree(files.dir, to)
    for name, text in changed.items():
        (to / name).write_text(text)
    done = files.sites.command("plan", "-o", "json", CONFIG_FILES_DIR=str(to))
    shutil.rmtree(to)
    assert done.returncode == 2 and "PRIVATE" not in done.stdout, done.stdout + done.stderr
    found = json.loads(done.stdout)["targets"][0]
    return found, {f["name"]: f for f in found["files"]}


@pytest.mark.every_combination
@pytest.mark.every_local
def test_what_is_planned_is_what_happens(files: Files) -> None:
    one, two = (pem(self_signed(files.sites.home, name)) for name in ("one.example", "two.example"))
    files.put("maps/hosts.map", "one.example b1\ntwo.example b1\n")
    files.put("files/sorry.http", "HTTP/1.0 503 x\r\n\r\n")
    files.put("certs/www.pem", one)
    files.give(files.text(["b1", "b2"], f"  errorfile 503 {files.folders['files']}/sorry.http\n"
                                        f"  bind unix@{files.sites.home}/tls.sock ssl crt {files.folders['certs']}/www.pem\n"))
    files.start()
    kinds: list[tuple[str, str, str | None]] = [
        ("maps/hosts.map", "one.example b2\nthree.example b1\n", "runtime"), ("certs/www.pem", two, None), ("files/sorry.http", "HTTP/1.0 503 y\r\n\r\n", "reload"),
        ("maps/hosts.map", "# none\none.example b1\n", "runtime"), ("maps/new.map", "a b\n", None), ("maps/new.map", "a c\n", None)]
    without = 0
    own_list = files.folders["files"] / LIST
    for name, text, effect in kinds:
        wait_until(lambda: own_list.exists() and " - " not in own_list.read_text(), 20, "what runs is noted")
        kept, loads = content(files), reloads(files.haproxy)
        found, each = planned(files, {name: text})
        assert {n: f["effect"] for n, f in each.items() if n != name and f["effect"] != "unchanged"} == {}, found
        assert each[name]["effect"] in ({effect} if effect else {"runtime", "reload", "stored"}), found
        assert found["effect"] == (each[name]["effect"] if each[name]["effect"] != "stored" else "none"), found
        assert bool(each[name]["commands"]) == (found["effect"] == "runtime") and found["reload_why"] == (f"{name}: {each[name]['why']}" if each[name]["why"] else None)
        if name == "maps/hosts.map":
            assert each[name]["entries"] == {"new": int("three" in text), "gone": 1, "changed": 1}, found
        assert content(files) == kept and reloads(files.haproxy) == loads
        files.put(name, text)
        files.applied()
        without += found["effect"] != "reload"
        assert (reloads(files.haproxy) != loads) == (found["effect"] == "reload"), f"{found} {files.daemon.tail()}"
        assert files.daemon.log().count(TOLD) == without, f"{found} {files.daemon.tail()}"

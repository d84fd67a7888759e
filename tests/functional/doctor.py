"""Runs `doctor` on a rig and asks what it found; each run is checked to have written nothing and to show no secret."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.harness.daemon import clean_env, quick_program

from .rig import Rig, program

ESCAPE = "\x1b"
LONGEST = 60  # s
PASSWORD = "adminpwd"
NO_DAEMON = "127.0.0.1:1"
"""LISTEN_ADDRESS where none answers: one that runs on this machine is another test's."""


@dataclasses.dataclass
class Found:
    status: int
    checks: list[dict[str, Any]]
    text: str

    def all(self, id_: str) -> list[dict[str, Any]]:
        return [check for check in self.checks if check["id"] == id_]

    def one(self, id_: str) -> dict[str, Any]:
        found = self.all(id_)
        assert len(found) == 1, f"{len(found)} checks {id_}:\n{self.text}"
        return found[0]

    def failed(self) -> list[str]:
        return [check["id"] for check in self.checks if check["status"] == "fail"]

    def says(self, id_: str, status: str, text: str) -> dict[str, Any]:
        """One of that id, with that status, and that in what was found or in its why; the check."""
        for check in self.all(id_):
            if check["status"] == status and text in f"{check['found']}; {check['why']}":
                return check
        raise AssertionError(f"no {id_} that is {status} with {text!r}:\n{self.text}")


def lines(check: dict[str, Any]) -> list[str]:
    """What is to be copied."""
    return [line for fix in check["fixes"] for line in fix["lines"]]


def ask(*words: str, env: dict[str, str], timeout: float = LONGEST) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)


def both(command: Sequence[str], same: Sequence[str], *words: str, env: dict[str, str], timeout: float = LONGEST) -> Found:
    """As JSON and as text, which have to say the same; `same` is the same program without sanitizers, which is enough for the other half."""
    return compare(*(ask(*program, "doctor", *words, "-o", how, env=env, timeout=timeout) for program, how in ((command, "json"), (same, "text"))))


def run(rig: Rig, *words: str, binary: pathlib.Path | None = None, **settings: str) -> "subprocess.CompletedProcess[str]":
    done = ask(str(binary or program()), "doctor", *words, env=clean_env(**rig.settings(**{"LISTEN_ADDRESS": NO_DAEMON, **settings})))
    for secret in filter(None, (PASSWORD, *(value for name, value in settings.items() if name.endswith(("PASSWORD", "TOKEN"))))):
        assert secret not in done.stdout + done.stderr, f"{secret} is shown"
    return done


def look(rig: Rig, *words: str, **settings: str) -> Found:
    """As JSON and as text, which have to say the same."""
    running = rig.dataplane.process is not None and rig.dataplane.process.alive
    before = rig.writes() if running else None
    as_json, as_text = run(rig, "-o", "json", *words, **settings), run(rig, *words, binary=quick_program(), **settings)
    assert not running or rig.writes() == before, "it wrote something"
    return compare(as_json, as_text)


def compare(as_json: "subprocess.CompletedProcess[str]", as_text: "subprocess.CompletedProcess[str]") -> Found:
    """The same as JSON and as text."""
    body = json.loads(as_json.stdout)
    found = Found(as_json.returncode, body["checks"], as_text.stdout + as_text.stderr)
    statuses = [check["status"] for check in found.checks]
    assert as_text.returncode == found.status
    assert ESCAPE not in found.text
    assert not re.search(r"\{[a-z-]+\}", found.text), "a word of a text that its section does not know"
    assert body["counts"] == {mark: statuses.count(mark) for mark in ("ok", "warn", "fail", "skip")}
    assert body["status"] == ("fail" if found.status else "warn" if "warn" in statuses else "ok")
    for mark, shown in (("ok", "[ok]"), ("warn", "[warn]"), ("fail", "[FAIL] "), ("skip", "[skip]")):
        assert as_text.stdout.count(f"\n  {shown}") == statuses.count(mark), (mark, as_text.stdout, as_json.stdout)
    for check in found.checks:
        assert check["found"] and check["label"]
        assert check["status"] != "fail" or check["fixes"] or check["section"] == "settings" or check["why"], f"no fix: {check}"
        for line in lines(check):
            assert f"\n                {line}\n" in as_text.stdout, f"not to be copied: {line}"
    return found

"""What happens in the demo of whole configurations: haproxy.cfg is edited, and what the daemon makes of each edit."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time
from dataclasses import dataclass

from tests.harness.process import wait_until

from .balancer import ADDRESSES, BACKEND, FIRST, SORRY, Balancer
from .manifests import replaced
from .screen import Screen
from .traffic import Traffic, counts

TYPING_ERROR = "  balanse leastconn\n"


class FileBalancer(Balancer):
    """Its haproxy.cfg comes from a file, which begins as a copy."""

    @property
    def source(self) -> pathlib.Path:
        return self.home / "git" / "haproxy.cfg"

    def settings(self) -> dict[str, str]:
        return {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "STATE_DIR": str(self.home / "state"), **super().settings()}

    def prepare(self, stack: contextlib.ExitStack) -> None:
        self.source.parent.mkdir()
        self.source.write_text(self.haproxy.config.read_text())

    def edit(self, old: str, new: str) -> None:
        text = self.source.read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {self.source}"
        replaced(self.source, text.replace(old, new))

    def server_lines(self, *nodes: str) -> str:
        return "".join(f"  server {node} {ADDRESSES[node]}:{self.node_port} check\n" for node in nodes)

    def parts(self) -> list[tuple[str, str]]:
        return [*super().parts(), ("its file", str(self.source))]


@dataclass
class Edit:
    what: str
    answer: str
    """The log message that ends it."""
    reloads: int
    """How many it has to cost."""
    took_ms: float = 0.0
    found_reloads: int = 0
    requests: int = 0
    failed: int = 0

    def row(self) -> list[str]:
        return [self.what, self.answer.removeprefix("configuration "), f"{self.took_ms:.0f}", str(self.found_reloads), str(self.requests),
                str(self.failed)]


class ConfigurationStory:
    def __init__(self, stage: FileBalancer, screen: Screen):
        self.stage, self.screen = stage, screen
        self.traffic = Traffic(stage.haproxy.port)
        self.edits: list[Edit] = []

    def play(self) -> None:
        stage, screen = self.stage, self.screen
        sorry = f"  server {SORRY} {ADDRESSES[SORRY]}:{stage.node_port} backup\n"
        screen.heading("1. The daemon starts: its file is what HAProxy has, so nothing is written")
        stage.daemon.start()
        self.await_answer(Edit("the file as it is", "configuration unchanged", 0), 0)
        screen.heading("2. Three servers more: validated, written, loaded by one reload, verified")
        self.edit(Edit("three servers", "configuration applied", 1), sorry, sorry + stage.server_lines(*FIRST))
        self.await_nodes(set(FIRST))
        screen.heading("3. A comment: it means the same to HAProxy, so nothing is written")
        self.edit(Edit("a comment", "configuration unchanged", 0), f"\nbackend {BACKEND}\n", f"\n# Owner: team-web.\nbackend {BACKEND}\n")
        screen.heading("4. A typing error: HAProxy refuses it, and goes on with what it has")
        before = stage.dataplane.file()
        self.edit(Edit("a typing error", "configuration rejected", 0), "  default-server", TYPING_ERROR + "  default-server")
        self.show_rejection(before)
        screen.heading("5. It is corrected, and a server goes: what that changes is asked for first")
        stage.edit(TYPING_ERROR, "")  # what has run before
        stage.daemon.wait_ready()
        self.show_plan(stage.server_lines("node-3"))
        self.edit(Edit("one server goes", "configuration applied", 0 if stage.is_local else 1), stage.server_lines("node-3"), "")
        self.await_nodes(set(FIRST) - {"node-3"})
        screen.heading("6. What ran when")
        screen.quote(stage.ask_daemon("config", "history"))

    def edit(self, expected: Edit, old: str, new: str) -> None:
        seen = len(self.stage.daemon.log())
        started = time.monotonic()
        reloads = self.stage.reloads()
        self.stage.edit(old, new)
        self.screen.say(f"edited: {self.stage.source}")
        self.await_answer(expected, seen, started, reloads)

    def await_answer(self, expected: Edit, seen: int, started: float | None = None, reloads: int | None = None) -> None:
        started = time.monotonic() if started is None else started
        reloads = self.stage.reloads() if reloads is None else reloads
        self.stage.daemon.wait_log(f'msg="{expected.answer}', 20, seen)
        expected.took_ms = (time.monotonic() - started) * 1000
        expected.found_reloads = self.stage.reloads() - reloads
        asked = self.traffic.since(started)
        expected.requests, expected.failed = len(asked), sum(not answer.node for answer in asked)
        self.edits.append(expected)
        self.screen.good(f"{expected.answer} after {expected.took_ms:.0f} ms, reloads: {expected.found_reloads}; "
                         f"{expected.requests} requests meanwhile, {expected.failed} failed")

    def await_nodes(self, nodes: set[str]) -> None:
        """The new worker passes its health checks first."""
        def settled() -> bool:
            recent = self.traffic.last(40)
            return len(recent) == 40 and set(counts(recent)) == nodes
        wait_until(settled, 15, f"traffic to be answered by {', '.join(sorted(nodes))}")
        self.screen.say(f"traffic is answered by {', '.join(sorted(nodes))}")

    def show_rejection(self, before: str) -> None:
        """The line is that of the file that was edited, and HAProxy has what it had."""
        stage = self.stage
        line = stage.source.read_text().splitlines().index(TYPING_ERROR.rstrip()) + 1
        stage.daemon.wait_not_ready(f"line {line}")
        self.screen.say("/readyz says:")
        self.screen.quote(stage.daemon.get("/readyz")[1])
        if stage.dataplane.file() != before:
            raise AssertionError("haproxy.cfg is another one after a rejection")

    def show_plan(self, gone: str) -> None:
        """Of a copy, so that nothing is applied yet."""
        copy = self.stage.home / "next.cfg"
        copy.write_text(self.stage.source.read_text().replace(gone, ""))
        self.screen.say(f"haproxy-k8s-sync config plan {copy}")
        said = self.stage.ask_daemon("config", "plan", str(copy))
        self.screen.quote(said)
        if "node-3" not in said:
            raise AssertionError("the plan does not name the server that goes")

    def summary(self) -> bool:
        """The table; True when everything happened and nothing failed."""
        screen, traffic = self.screen, self.traffic
        screen.heading("Summary")
        screen.table(["edit", "answer", "after ms", "reloads", "requests", "failed"], [edit.row() for edit in self.edits])
        screen.say("")
        screen.say("after ms: from the edit until the daemon's answer, which is the end of the reload where")
        screen.say("there is one. What comes within 2 s of the last write (CONFIG_MIN_INTERVAL) waits for that.")
        if traffic.failed:
            screen.bad(f"{traffic.failed} of {traffic.total} requests failed, the first: {traffic.first_error}")
        else:
            screen.good(f"{traffic.total} requests, 0 failed.")
        surprises = [edit for edit in self.edits if edit.found_reloads != edit.reloads]
        for edit in surprises:
            screen.bad(f"{edit.what}: {edit.found_reloads} reloads, not {edit.reloads}")
        return not traffic.failed and not surprises

    def show_places(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("Edit the file and watch; a mistake is refused with its line:")
        screen.say(f"  {os.environ.get('EDITOR', 'vi')} {stage.source}")
        ask = f"  env $(cat {stage.settings_file()}) {stage.daemon.binary} config"
        screen.say("What would a file change, what ran when, and back to the one before:")
        for words in (f"plan {stage.source}", "history", "rollback"):
            screen.say(f"{ask} {words}")

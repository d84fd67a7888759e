"""What happens in the demo of whole configurations: haproxy.cfg is edited, and what the daemon makes of each edit."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable

from tests.harness.process import wait_until

from .balancer import ADDRESSES, BACKEND, FIRST, SORRY, Balancer
from .manifests import replaced
from .screen import Screen
from .show import Show
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


class ConfigurationStory(Show):
    def __init__(self, stage: FileBalancer, screen: Screen):
        self.stage, self.traffic = stage, Traffic(stage.haproxy.port)
        super().__init__(stage, screen, self.traffic)

    def play(self) -> None:
        stage, screen = self.stage, self.screen
        sorry = f"  server {SORRY} {ADDRESSES[SORRY]}:{stage.node_port} backup\n"
        screen.heading("1. The daemon starts: its file is what HAProxy has, so nothing is written")
        self.ask_all_the_time()
        self.answered("the file as it is", "unchanged", 0, self._start)
        screen.heading("2. Three servers more: validated, written, loaded by one reload, verified")
        self.edit("three servers", "applied", 1, sorry, sorry + stage.server_lines(*FIRST))
        self.await_nodes(set(FIRST))
        screen.heading("3. A comment: it means the same to HAProxy, so nothing is written")
        self.edit("a comment", "unchanged", 0, f"\nbackend {BACKEND}\n", f"\n# Owner: team-web.\nbackend {BACKEND}\n")
        screen.heading("4. A typing error: HAProxy refuses it, and goes on with what it has")
        before = stage.dataplane.file()
        self.edit("a typing error", "rejected", 0, "  default-server", TYPING_ERROR + "  default-server")
        self.show_rejection(before)
        screen.heading("5. It is corrected, and a server goes: what that changes is asked for first")
        stage.edit(TYPING_ERROR, "")  # what has run before
        stage.daemon.wait_ready()
        self.show_plan(stage.server_lines("node-3"))
        self.edit("one server goes", "applied", 0, stage.server_lines("node-3"), "")
        self.await_nodes(set(FIRST) - {"node-3"})
        screen.heading("6. What ran when")
        screen.quote(stage.ask_daemon("config", "history"))

    def edit(self, what: str, answer: str, reloads: int, old: str, new: str) -> None:
        """answer: of the daemon, in its log."""
        def change() -> str:
            self.stage.edit(old, new)
            return f"edited: {self.stage.source}"
        self.answered(what, answer, reloads, change)

    def answered(self, what: str, answer: str, reloads: int, change: Callable[[], str]) -> None:
        path = self.stage.daemon.log_path
        seen = len(self.stage.daemon.log()) if path.exists() else 0
        self.step(what, answer, change, lambda: f'msg="configuration {answer}' in self.stage.daemon.log()[seen:], reloads)

    def _start(self) -> str:
        self.stage.daemon.start()
        return "started: the daemon"

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

    def notes(self) -> list[str]:
        return ["way: the daemon's answer. after ms: from the edit until then, which is the end of the reload where",
                "there is one. What comes within 2 s of the last write (CONFIG_MIN_INTERVAL) waits for that."]

    def show_places(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("Edit the file and watch; a mistake is refused with its line:")
        screen.say(f"  {os.environ.get('EDITOR', 'vi')} {stage.source}")
        ask = f"  env $(cat {stage.settings_file()}) {stage.daemon.binary} config"
        screen.say("What would a file change, what ran when, and back to the one before:")
        for words in (f"plan {stage.source}", "history", "rollback"):
            screen.say(f"{ask} {words}")

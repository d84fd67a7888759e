"""`config plan` says before a change of haproxy.cfg what the daemon then does: nothing, runtime commands, or a reload and why."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.daemon import clean_env
from tests.harness.process import free_port, wait_until

from .rig import Rig, program
from .test_config_by_runtime import ADDRESS, PLAIN, WEIGHT, Site
from .test_config_secret import SOURCE
from .test_local import Local, await_log, gone

SERVERS = """\
backend be
  balance roundrobin
  server n1 127.0.0.1:9 weight 10
  server n2 127.0.0.1:9 weight 10
"""
DONE = 'msg="configuration applied"', 'msg="configuration unchanged"'


class Planned(Local):
    """Its frontend stays; what changes are servers, mostly."""

    def config(self, servers: str = SERVERS) -> str:
        return self.first + servers

    def plan(self, text: str) -> dict[str, Any]:
        new = self.home / "next.cfg"
        new.write_text(text)
        done = self.command("plan", str(new), "-o", "json")
        found: dict[str, Any] = json.loads(done.stdout)["targets"][0]
        assert done.returncode == (0 if found["effect"] == "none" else 2), done.stdout + done.stderr
        return found

    def says_plan(self, text: str) -> str:
        new = self.home / "next.cfg"
        new.write_text(text)
        return self.command("plan", str(new)).stdout


@pytest.fixture
def planned(tmp_path: pathlib.Path) -> Iterator[Planned]:
    made = Planned(tmp_path)
    with made.haproxy:
        yield made


def test_what_is_planned_is_what_happens(planned: Planned) -> None:
    text = planned.config()
    planned.put(text)
    heavier = text.replace("n1 127.0.0.1:9 weight 10", "n1 127.0.0.1:9 weight 20")
    moved = heavier.replace("n2 127.0.0.1:9 weight 10", "n2 127.0.0.2:10 weight 10 disabled")
    third = moved + "  server n3 127.0.0.3:9 check\n"
    less = third.replace("  server n1 127.0.0.1:9 weight 20\n", "")
    other_algorithm = less.replace("balance roundrobin", "balance source")
    new_bind = other_algorithm.replace("frontend fe\n", f"frontend fe\n  bind 127.0.0.1:{free_port()}\n")
    changes: list[tuple[str, str, list[str] | None]] = [
        (f"# only a comment\n{text}", "none", None),
        (heavier, "runtime", ["set server be/n1 weight 20"]),
        (moved, "runtime", ["set server be/n2 addr 127.0.0.2 port 10", "set server be/n2 state maint"]),
        (third, "runtime", ["add server be/n3 127.0.0.3:9 check", "enable health be/n3", "enable server be/n3"]),
        (less, "runtime", ["set server be/n1 state maint", "del server be/n1"]),
        (other_algorithm, "backend be: balance", None),
        (new_bind, "frontend fe: new bind", None)]
    with planned.daemon() as daemon:
        wait_until(daemon.ready, 10, "ready")
        for number, (next_text, effect, commands) in enumerate(changes, 2):
            found, worker = planned.plan(next_text), planned.haproxy.worker()
            reloads = effect not in ("none", "runtime")
            assert found["effect"] == ("reload" if reloads else effect), found
            assert (found["reload_why"], found["commands"]) == (effect if reloads else None, commands or []), found
            written = planned.haproxy.config.read_bytes()
            planned.put(next_text)
            wait_until(lambda: sum(daemon.log().count(done) for done in DONE) >= number, 20, daemon.tail())
            wait_until(daemon.ready, 10, "ready")
            assert (planned.haproxy.worker() != worker) == reloads, daemon.tail()
            assert (planned.haproxy.config.read_bytes() == written) == (effect == "none"), daemon.tail()
        assert daemon.log().count("HAProxy runs its changes without a reload") == 4, daemon.tail()


def test_the_text_says_it_in_words(planned: Planned) -> None:
    planned.put(planned.config())
    with planned.daemon() as daemon:
        wait_until(daemon.ready, 10, "ready")
    assert "accepted; no change\n" in planned.says_plan("# new\n" + planned.config())
    said = planned.says_plan(planned.config().replace("n1 127.0.0.1:9 weight 10", "n1 127.0.0.1:9 weight 11"))
    assert "accepted; no reload: by the runtime API\n    set server be/n1 weight 11\n" in said, said
    assert "accepted; a reload: backend be: balance\n" in planned.says_plan(planned.config().replace("roundrobin", "leastconn"))
    asked = planned.plan(planned.config() + "  server token-1 127.0.0.3:9 agent-check agent-port 9 agent-send 2468135\n")
    assert asked["commands"][0] == "add server be/token-1 127.0.0.3:9 agent-check agent-port 9 agent-send ***", asked
    assert "2468135" not in json.dumps(asked)
    gone(planned)
    said = planned.says_plan(planned.config().replace("n1 127.0.0.1:9 weight 10", "n1 127.0.0.1:9 weight 11"))
    assert "accepted; a reload: what HAProxy runs could not be read\n" in said, said
    by_hand = planned.haproxy.config.read_text().replace("timeout client 5s", "timeout client 6s")
    planned.haproxy.config.write_text(by_hand)
    said = planned.says_plan(by_hand.replace("n1 127.0.0.1:9 weight 10", "n1 127.0.0.1:9 weight 11"))
    assert "accepted; a reload: haproxy.cfg is not known to be what HAProxy runs\n" in said, said


def test_who_comes_next_knows_what_runs(planned: Planned) -> None:
    """A change that came while no daemon ran takes no reload either."""
    planned.put(planned.config())
    with planned.daemon() as daemon:
        wait_until(daemon.ready, 10, "ready")
    heavier = planned.config().replace("n1 127.0.0.1:9 weight 10", "n1 127.0.0.1:9 weight 11")
    worker = planned.haproxy.worker()
    assert planned.plan(heavier)["effect"] == "runtime"
    planned.put(heavier)
    with planned.daemon("next") as daemon:
        wait_until(daemon.ready, 10, "ready")
        await_log(daemon, "HAProxy runs its changes without a reload")
        assert planned.haproxy.worker() == worker and planned.haproxy.servers("be")["n1"]["srv_uweight"] == "11"


def test_by_an_api(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, PLAIN) as rig:
        def plan(text: str) -> tuple[str, str | None, list[str]]:
            done = subprocess.run([program(), "config", "plan", "-", "-o", "json"], env=clean_env(**rig.settings(**SOURCE)), input=text,
                                  capture_output=True, text=True, check=False, timeout=60)
            found = json.loads(done.stdout)["targets"][0]
            return found["effect"], found["reload_why"], found["commands"]

        theirs = rig.haproxy.config.read_text().replace(WEIGHT, "weight 5")
        assert plan(theirs)[:2] == ("reload", "haproxy.cfg is not known to be what HAProxy runs")
        site = Site(rig, "3.4")
        site.change((WEIGHT, "weight 50"))
        site.applied("weight 50")
        assert site.without_reload()
        version = rig.dataplane.version()
        assert plan("# a comment\n" + site.text) == ("none", None, [])
        moved = site.text.replace(ADDRESS, "127.0.11.2:30444").replace("weight 50", "weight 7 disabled")
        assert plan(moved) == ("runtime", None, ["SetServerAddr be n1 127.0.11.2 30444", "SetServerWeight be n1 7", "SetServerState be n1 maint"])
        more = moved.replace("  server sorry", "  server n2 127.0.11.2:30443 weight 100\n  server sorry")
        added = 'POST /runtime/backends/be/servers {"name":"n2","address":"127.0.11.2","port":30443,"weight":100}'
        assert plan(more) == ("runtime", None, [added, "SetServerState be n2 ready", *plan(moved)[2]])
        checked = more.replace("n2 127.0.11.2:30443", "n2 127.0.11.2:30443 check")
        assert plan(checked)[:2] == ("reload", "server be/n2: HAProxy checks its health once it is reloaded")
        assert rig.dataplane.version() == version
        site.put(moved)
        site.applied("127.0.11.2:30444")
        assert site.without_reload() and site.agrees()
        site.put(more)
        site.applied("server n2")
        assert site.without_reload() and site.agrees()
        assert plan(more.replace("weight 7", "weight 8"))[0] == "runtime"

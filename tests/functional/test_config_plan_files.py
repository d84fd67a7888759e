"""`config plan` says of each file beside haproxy.cfg what the daemon then does: nothing, these commands or requests, or a reload and why."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.daemon import clean_env
from tests.harness.process import wait_until

from .rig import Rig, program
from .test_config_by_runtime import ADDRESS, PLAIN
from .test_config_files_by_runtime import MANY, Site as ApiSite, become, next_files
from .test_local import await_log
from .test_local_files import APPLIED, Site
from .test_local_files_runtime import TAKES, TOLD, Between

SAME = 'msg="configuration unchanged"'


def plan(settings: dict[str, str], files: pathlib.Path, config: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), "config", "plan", str(config), *words], env=clean_env(**{**settings, "CONFIG_FILES_DIR": str(files)}),
                          capture_output=True, text=True, check=False, timeout=60)


def planned(settings: dict[str, str], files: pathlib.Path, config: pathlib.Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the one HAProxy: all, and each file by its name."""
    done = plan(settings, files, config, "-o", "json")
    found: dict[str, Any] = json.loads(done.stdout)["targets"][0]
    changes = found["effect"] != "none" or any(f["effect"] != "unchanged" for f in found["files"])
    assert done.returncode == (2 if changes else 0), done.stdout + done.stderr
    assert "PRIVATE" not in done.stdout
    return found, {f["name"]: f for f in found["files"]}


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with made.haproxy:
        yield made


class Told:
    """What HAProxy is sent of files, as `config plan` shows it."""

    def __init__(self, site: Site):
        self.commands: list[str] = []
        self.server = Between(site)
        self.server.says = self.note
        site.settings["HAPROXY_STATS_SOCKET"] = str(self.server.path)

    def note(self, command: str) -> None:
        if re.match("prepare|add map|set map|del map|commit|set ssl", command):
            for one in command.splitlines()[0].split("; "):
                shown = re.sub("@[0-9]+", "@VERSION", one)
                if shown not in self.commands:  # a long map goes in parts
                    self.commands.append(shown)

    def take(self) -> list[str]:
        taken, self.commands = self.commands, []
        return taken


def test_what_is_planned_beside_its_haproxy_is_what_happens(site: Site) -> None:
    told = Told(site)
    maps, ssl, general = (str(site.own / folder) for folder in ("maps", "ssl", "general"))
    as_map = [f"prepare map {maps}/hosts.map", f"add map @VERSION {maps}/hosts.map <<", f"commit map @VERSION {maps}/hosts.map"]
    as_certificate = [f"set ssl cert {ssl}/www_example_com.pem <<", f"commit ssl cert {ssl}/www_example_com.pem"]
    text = site.text(tls=True, more=f"  errorfile 503 {general}/sorry.http\n  http-request deny if {{ src -f {maps}/list.map }}\n")
    for name, first in {"maps/hosts.map": "x one\na 1\nb 1\nb 2\n", "maps/list.map": "192.0.2.1\n", "maps/spare.map": "a 1\n",
                        "certs/www.example.com.pem": site.pem(0), "files/sorry.http": "HTTP/1.0 503 x\r\n\r\n"}.items():
        site.give(name, first)
    page, listed = "it is neither a map nor a certificate", "HAProxy has it as a list for an ACL"
    anyway = "the same change takes a reload, which loads it"
    kinds: list[tuple[dict[str, str | None], str | None, dict[str, tuple[str, Any]]]] = [
        ({}, None, {}),
        ({"maps/hosts.map": "x two\nb 1\nb 3\nc 1\n"}, None, {"maps/hosts.map": ("runtime", as_map)}),
        ({"maps/hosts.map": "# nothing\n"}, None, {"maps/hosts.map": ("runtime", [as_map[0], as_map[2]])}),
        ({"maps/hosts.map": "".join(f"h{i} {'v' * 50}\n" for i in range(500))}, None, {"maps/hosts.map": ("runtime", as_map)}),
        ({"maps/hosts.map": "".join(f"h{i} {'v' * 50}\n" for i in range(2, 501)) + "h0 x\n"}, None,
         {"maps/hosts.map": ("runtime", [f"add map {maps}/hosts.map h500 {'v' * 50}", f"set map {maps}/hosts.map h0 x", f"del map {maps}/hosts.map h1"])}),
        ({"certs/www.example.com.pem": site.pem(1)}, None, {"certs/www.example.com.pem": ("runtime", as_certificate)}),
        ({"certs/www.example.com.pem": site.pem(0), "maps/hosts.map": "x one\n"}, None,
         {"certs/www.example.com.pem": ("runtime", as_certificate), "maps/hosts.map": ("runtime", as_map)}),
        ({"maps/spare.map": "a 2\n", "maps/new.map": "a 2\n"}, None, {"maps/spare.map": ("stored", None), "maps/new.map": ("stored", None)}),
        ({"files/sorry.http": "HTTP/1.0 503 y\r\n\r\n"}, f"files/sorry.http: {page}", {"files/sorry.http": ("reload", page)}),
        ({"maps/list.map": "192.0.2.2\n"}, f"maps/list.map: {listed}", {"maps/list.map": ("reload", listed)}),
        ({"files/new.lua": "-- new\n", "maps/hosts.map": "x two\n"}, f"files/new.lua: {page}",
         {"files/new.lua": ("reload", page), "maps/hosts.map": ("reload", anyway)}),
        ({"files/new.lua": None, "maps/hosts.map": "x three\n"}, None, {"files/new.lua": ("deleted", None), "maps/hosts.map": ("runtime", as_map)})]
    config = site.home / "next.cfg"
    config.write_text(text)
    site.put(text)
    with site.daemon() as daemon:
        site.await_says("one")
        for changed, reload, expected in kinds:
            await_log(daemon, APPLIED)
            wait_until(lambda: " - " not in (site.own / "general/haproxy-k8s-sync.files").read_text(), 20, "what runs is noted")
            wait_until(daemon.ready, 10, "ready")
            told.take()
            before = site.beside()
            to = next_files(site.files, changed)
            found, files = planned(site.settings, to, config)
            assert not told.take() and site.beside() == before, "it changes something"
            assert (found["effect"], found["reload_why"]) == ("reload" if reload else "runtime" if any(e == "runtime" for e, _ in expected.values()) else "none",
                                                              reload), found
            commands = [c for f in found["files"] for c in f["commands"]]
            for name, says in files.items():
                effect, more = expected.get(name, ("unchanged", None))
                assert (says["effect"], says["why"]) == (effect, more if effect == "reload" else None), says
                assert says["commands"] == (more if effect == "runtime" else []), says
            assert set(expected) <= set(files), files
            worker, seen = site.haproxy.worker(), len(daemon.log())
            become(site.files, to)
            if not changed:
                continue
            wait_until(lambda: re.search(f"{APPLIED}|{SAME}", daemon.log()[seen:]) is not None, 20, daemon.tail())
            wait_until(daemon.ready, 10, "ready")
            assert (site.haproxy.worker() != worker) == (reload is not None), daemon.tail()
            if reload:
                assert f'{TAKES}" target={site.haproxy.config} why="{reload}"' in daemon.log()[seen:], daemon.tail()
            else:
                assert TOLD in daemon.log()[seen:], daemon.tail()
                assert told.take() == commands


def test_how_many_entries_of_a_map_change(site: Site) -> None:
    site.give("maps/hosts.map", "x one\na 1\nb 1\nb 2\nc 1\n")
    site.put(site.text())
    config = site.home / "next.cfg"
    config.write_text(site.text())
    with site.daemon() as daemon:
        site.await_says("one")
        await_log(daemon, APPLIED)
        site.settled("maps/hosts.map")
        to = next_files(site.files, {"maps/hosts.map": "# said\nx two\nb 1\nd 1\ne 1\n", "maps/new.map": "a 1\nb 1\n"})
        _, files = planned(site.settings, to, config)
        assert files["maps/hosts.map"]["entries"] == {"new": 2, "gone": 3, "changed": 1}
        assert files["maps/new.map"]["entries"] == {"new": 2, "gone": 0, "changed": 0}
        said = plan(site.settings, to, config).stdout
        assert "; no reload: by the runtime API\n" in said, said
        assert "    maps/hosts.map: no reload: by the runtime API; entries: 2 new, 3 gone, 1 changed\n        prepare map " in said, said
        assert "    maps/new.map: stored; HAProxy does not have it loaded; entries: 2 new, 0 gone, 0 changed\n" in said, said


def test_without_haproxy_or_for_another_haproxy_cfg(site: Site) -> None:
    """A file that haproxy.cfg is to name, and what cannot be asked, take a reload."""
    site.give("maps/hosts.map", "x one\n")
    site.give("maps/spare.map", "x one\n")
    site.put(site.text())
    config = site.home / "next.cfg"
    with site.daemon() as daemon:
        site.await_says("one")
        await_log(daemon, APPLIED)
        site.settled("maps/hosts.map", "maps/spare.map")
    to = next_files(site.files, {"maps/spare.map": "x two\n"})
    config.write_text(site.text())
    assert planned(site.settings, to, config)[1]["maps/spare.map"]["effect"] == "stored"
    config.write_text(site.text().replace("hosts.map,none", "spare.map,none"))
    found, files = planned(site.settings, to, config)
    assert (found["effect"], files["maps/spare.map"]["why"]) == ("reload", "haproxy.cfg names it, and HAProxy does not have it loaded")
    config.write_text(site.text())
    less = {**site.settings, "HAPROXY_STATS_SOCKET": str(site.home / "nobody")}
    shutil.copy(site.files / "maps/spare.map", to / "maps")
    (to / "maps/hosts.map").write_text("x three\n")
    found, files = planned(less, to, config)
    assert (found["effect"], files["maps/hosts.map"]["effect"], files["maps/spare.map"]["effect"]) == ("reload", "reload", "unchanged"), found
    assert "nobody" in files["maps/hosts.map"]["why"], files


def requests_of(site: ApiSite, since: int) -> list[str]:
    """That HAProxy is sent, as `config plan` shows them."""
    return [f"PUT {r['path']}" for r in site.rig.dataplane.requests()[since:]
            if r["method"] == "PUT" and "skip_reload" not in json.dumps(r) and re.search("/runtime/maps|/storage/ssl", r["path"])]


def test_what_is_planned_by_an_api_is_what_happens(tmp_path: pathlib.Path) -> None:
    api = "/v3/services/haproxy"
    with Rig(tmp_path, PLAIN, "3.4") as rig:
        site = ApiSite(rig, "3.4")
        settings = rig.settings(**site.settings)
        a_map, a_certificate = [f"PUT {api}/runtime/maps/hosts.map"], [f"PUT {api}/storage/ssl_certificates/www_example_com.pem"]
        words = "the Data Plane API cannot set or cannot show the value of a.example (several words, none, a ';')"
        page = "HAProxy reads it when it starts"
        few = "the Data Plane API replaces no map of at most 8 KiB, but adds to it what it is to have"
        kinds: list[tuple[dict[str, str | None], dict[str, tuple[str, Any]]]] = [
            ({}, {}),
            ({"maps/hosts.map": "a.example other\nb.example be\n" + MANY}, {"maps/hosts.map": ("runtime", a_map)}),
            ({"maps/hosts.map": "a.example other\nb.example be\n"}, {"maps/hosts.map": ("reload", few)}),
            ({"certs/www.example.com.pem": site.pem(rig.home)}, {"certs/www.example.com.pem": ("runtime", a_certificate)}),
            ({"maps/hosts.map": "a.example two words\n"}, {"maps/hosts.map": ("reload", words)}),
            ({"files/sorry.http": "HTTP/1.0 503 y\r\n\r\n"}, {"files/sorry.http": ("reload", page)}),
            ({"maps/new.map": "a b\n"}, {"maps/new.map": ("reload", "it is new")}),
            ({"maps/new.map": "a c\n" + MANY}, {"maps/new.map": ("reload", "HAProxy has none by its path")}),
            ({"maps/new.map": None, "maps/hosts.map": "a.example be\n" + MANY}, {"maps/new.map": ("deleted", None), "maps/hosts.map": ("runtime", a_map)})]
        for changed, expected in kinds:
            list_of = rig.dataplane.dir / "storage/general/haproxy-k8s-sync.files"
            wait_until(lambda: " - " not in list_of.read_text(), 20, "what runs is noted")  # noqa: B023
            to, since = next_files(site.files, changed), len(rig.dataplane.requests())
            found, files = planned(settings, to, site.source)
            assert not [r for r in rig.dataplane.requests()[since:] if r["method"] != "GET" and "only_validate" not in json.dumps(r)]
            for name, says in files.items():
                effect, more = expected.get(name, ("unchanged", None))
                assert (says["effect"], says["why"]) == (effect, more if effect == "reload" else None), says
                assert says["commands"] == (more if effect == "runtime" else []), says
            assert set(expected) <= set(files), files
            whys = [f"{name}: {why}" for name, (effect, why) in expected.items() if effect == "reload"]
            assert (found["effect"], found["reload_why"]) == (("reload", whys[0]) if whys else ("runtime" if expected else "none", None)), found
            commands = [c for f in found["files"] for c in f["commands"]]
            worker, since, seen, asked = rig.haproxy.worker(), len(rig.dataplane.requests()), len(site.daemon.log()), site.asked_for()
            become(site.files, to)
            if not changed:
                continue
            wait_until(lambda: re.search(f"{APPLIED}|{SAME}", site.daemon.log()[seen:]) is not None, 30, site.daemon.tail())  # noqa: B023
            site.daemon.wait_ready()
            said = site.daemon.log()[seen:]
            assert (rig.haproxy.worker() != worker or site.asked_for() != asked) == bool(whys), site.daemon.tail()
            assert (TAKES in said, TOLD in said) == (bool(whys), not whys), site.daemon.tail()
            if not whys:
                assert requests_of(site, since) == commands
            elif whys[0] != "maps/new.map: HAProxy has none by its path":
                assert whys[0] in said.replace('\\"', '"'), said


def test_a_change_of_haproxy_cfg_and_a_map(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, PLAIN, "3.4") as rig:
        site = ApiSite(rig, "3.4")
        to, config = next_files(site.files, {"maps/hosts.map": "a.example other\n" + MANY}), rig.home / "next.cfg"
        whole = site.source.read_text()
        config.write_text(whole.replace(ADDRESS, "127.0.11.3:30443"))
        found, files = planned(rig.settings(**site.settings), to, config)
        assert found["effect"] == files["maps/hosts.map"]["effect"] == "runtime" and found["commands"] == ["SetServerAddr be n1 127.0.11.3 30443"], found
        config.write_text(whole.replace("timeout client", "timeout http-keep-alive 3s\n  timeout client"))
        found, files = planned(rig.settings(**site.settings), to, config)
        assert (found["effect"], files["maps/hosts.map"]["why"]) == ("reload", "the same change takes a reload, which loads it"), found
        assert found["reload_why"].startswith("defaults"), found

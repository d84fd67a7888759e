"""`make demo`, `make demo-config`, `make demo-ingress` and `make demo-services` as a user runs them: what they promise is seen, the file stays editable, nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.demo.screen import LogTail, Screen
from tests.harness import http
from tests.harness.daemon import quick_program
from tests.harness.process import ROOT, Process, wait_until


def started(target: str, log: pathlib.Path, *words: str) -> Process:
    return Process(["/usr/bin/python3", "-m", "tests.demo", *words], log, cwd=ROOT, name="demo",
                   env={**os.environ, "TARGET": target, "HAPROXY_K8S_SYNC": str(quick_program())})


def rows(said: str, ways: str) -> list[tuple[str, ...]]:
    """What happened, by which way, reloads and requests meanwhile; none of them failed."""
    assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
    return re.findall(rf"^   (\S.*?) {{2,}}({ways}) +[0-9]+ +([0-9]+) +([0-9]+) +0$", said, re.M)


def place(said: str, what: str) -> str:
    found = re.search(rf"^   {what} +(?:curl (?:-H '[^']*' )?)?(\S+)$", said, re.M)
    assert found, said
    return found[1]


def try_commands(said: str) -> None:
    """As they are printed, by a shell; but for the editor."""
    program = re.escape(str(quick_program()))
    commands = re.findall(rf"^   .*?(?<!\S)((?:curl|env|sed|echo|{program}) \S.*)$", said.split("== Still running")[1], re.M)
    assert len(commands) > 5, said
    for command in commands:
        done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and ("curl" not in command or "<h1>" not in done.stdout), (command, done)


@contextlib.contextmanager
def kept(target: str, log: pathlib.Path, last: str, folder: str, *words: str) -> Iterator[tuple[Process, str, pathlib.Path]]:
    """It, what it said once it is through, and a place that it named; interrupted at the end, it leaves nothing."""
    demo = started(target, log, "--keep", *words)
    try:
        wait_until(lambda: not demo.alive or last in demo.log(), 60, "the demo to be through")
        assert demo.alive, demo.log()
        said = demo.log()
        path = pathlib.Path(place(said, folder))
        yield demo, said, path
        try_commands(said)
        demo.signal(signal.SIGINT)
        assert demo.wait(20) == 0, demo.log()
        assert not path.parent.exists(), "its folder is left"
    finally:
        demo.stop()


def test_servers_come_and_go_without_an_api(tmp_path: pathlib.Path) -> None:
    demo = started("local", tmp_path / "log")
    try:
        assert demo.wait(60) == 0, demo.log()
        said = demo.log()
        assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
        ways = re.findall(r"^   (\S.*?) {2,}(reload|command|update|-) +[0-9-]+ +[0-9-]+ +([0-9]+) +([0-9]+) +[0-9]+ +0$", said, re.M)
        assert ways == [("first sync: three nodes", "reload", "1", "1"), ("node-3 drains: pod leaves", "command", "0", "0"),
                        ("node-3's pod gone: parked", "update", "1", "0"), ("pod moves, node-2 to node-3", "update", "2", "0"),
                        ("node-4 is new: a ready pod", "update", "1", "0"), ("a heartbeat: nothing to do", "-", "0", "0")], said
    finally:
        demo.stop()


def test_what_runs_on_is_asked_with_its_own_environment(tmp_path: pathlib.Path) -> None:
    with kept("api", tmp_path / "log", "Edit a manifest and watch", "manifests") as (_, said, _):
        plan = re.search(r"^     (env \$\(cat .* plan)$", said, re.M)
        assert plan, said
        asked = subprocess.run(["/bin/sh", "-c", plan[1]], capture_output=True, text=True, timeout=60)
        assert asked.returncode == 0 and "its memory is used" in asked.stdout, asked


def test_a_heading_comes_after_the_log_of_what_was_before(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tests.demo.screen._POLL_S", 600)
    shown = Screen()
    with LogTail(shown, "daemon", tmp_path / "log"):
        (tmp_path / "log").write_text("parked\nhal")
        shown.heading("the next")
        assert capsys.readouterr().out == "   daemon | parked\n\n== the next\n"
        (tmp_path / "log").write_text("parked\nhalf\n")
    assert capsys.readouterr().out == "   daemon | half\n"


@pytest.mark.parametrize("target", ["api", "local"])
def test_a_whole_configuration_is_shown_and_stays_editable(target: str, tmp_path: pathlib.Path) -> None:
    with kept(target, tmp_path / "log", "Edit the file and watch", "the file", "--configuration") as (demo, said, source):
        assert re.search(r"rejected: line 21: unknown keyword 'balanse'", said), said
        assert [row[:3] for row in rows(said, "unchanged|applied|rejected")] == [
            ("the file as it is", "unchanged", "0"), ("three servers", "applied", "1"), ("a comment", "unchanged", "0"),
            ("a typing error", "rejected", "0"), ("one server goes", "applied", "0")], said
        source.write_text(source.read_text().replace("  timeout connect 2s", "  timeout connect 3s"))
        wait_until(lambda: 'msg="configuration applied"' in demo.log()[len(said):], 20, "the edit to be applied")


def test_ingresses_by_the_shipped_set(tmp_path: pathlib.Path) -> None:
    with kept("local", tmp_path / "log", "What does the set make of", "manifests", "--ingress") as (_, said, manifests):
        assert re.search(r"^\[-\]configuration source: .*: ingress-backend:\d+:14: .*the line: balance {{ options\[1\] or balanse }}", said, re.M), said
        assert re.search(r"^   Event: .*ingress/takeover .*Ingress shop/shop has it already", said, re.M), said
        steps = rows(said, "reload|runtime|refused")
        assert [step[:3] for step in steps] == [
            ("the daemon starts", "reload", "1"), ("an Ingress", "reload", "1"), ("a host and a path more", "runtime", "0"), ("https", "reload", "1"),
            ("a typing error", "refused", "0"), ("repaired: an Ingress waited", "runtime", "0"), ("a rollout of three pods", "runtime", "0"),
            ("two of one path", "reload", "1")], said
        assert all(int(step[3]) > 0 for step in steps[3:]), "nobody asked meanwhile"
        edited(manifests / "www-ingress.yaml", "www.shop.example", "/cart", "shop-", place(said, "HAProxy's front"))


@pytest.mark.parametrize("target", ["api", "local"])
def test_annotated_services_on_two_haproxies(target: str, tmp_path: pathlib.Path) -> None:
    with kept(target, tmp_path / "log", "What comes of them?", "manifests", "--services") as (_, said, manifests):
        assert re.search(r'^   Event: .*LeftOut +service/blog +haproxy-k8s-sync/web.path is "today": expected a path', said, re.M), said
        assert [row[:3] for row in rows(said, "reload|runtime")] == [
            ("a Service is annotated", "reload", "2"), ("another Service", "reload", "2"), ("another host name, a path", *(("reload", "2") if target == "api" else ("runtime", "0"))),
            ("a typing error", "reload", "2"), ("repaired", "reload", "2")], said
        edited(manifests / "blog-service.yaml", "news.example", "/today", "blog on ",
               place(said, "HAProxy's front"), place(said, "the other HAProxy's front"))


def edited(manifest: pathlib.Path, host: str, path: str, answer: str, *fronts: str) -> None:
    """Another host name, by hand."""
    manifest.write_text(manifest.read_text().replace(host, "mine.example"))
    for front in fronts:
        wait_until(lambda f=front: http.request(f, "GET", path, headers={"Host": "mine.example"}).text.startswith(answer), 20, "the edit")

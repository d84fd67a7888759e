"""`make demo`, `make demo-config`, `make demo-ingress` and `make demo-services` as somebody runs them: what they promise is seen, the file stays editable, nothing is left behind."""

from __future__ import annotations

import os
import pathlib
import re
import signal

import pytest

from tests.harness import http
from tests.harness.daemon import quick_program
from tests.harness.process import ROOT, Process, wait_until


def started(target: str, log: pathlib.Path, *words: str) -> Process:
    return Process(["/usr/bin/python3", "-m", "tests.demo", *words], log, cwd=ROOT, name="demo", env={**os.environ, "TARGET": target, "HAPROXY_K8S_SYNC": str(quick_program())})


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


@pytest.mark.parametrize("target", ["api", "local"])
def test_a_whole_configuration_is_shown_and_stays_editable(target: str, tmp_path: pathlib.Path) -> None:
    demo = started(target, tmp_path / "log", "--configuration", "--keep")
    try:
        wait_until(lambda: (not demo.alive or "Edit the file and watch" in demo.log()), 60, "the demo to be through")
        said = demo.log()
        assert demo.alive, said
        assert re.search(r"rejected: line 21: unknown keyword 'balanse'", said), said
        assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
        answers = re.findall(r"^   (\S.*?) {2,}(unchanged|applied|rejected) +[0-9]+ +([0-9]+) +[0-9]+ +([0-9]+)$", said, re.M)
        assert answers == [("the file as it is", "unchanged", "0", "0"), ("three servers", "applied", "1", "0"),
                           ("a comment", "unchanged", "0", "0"), ("a typing error", "rejected", "0", "0"),
                           ("one server goes", "applied", "0" if target == "local" else "1", "0")], said
        source = pathlib.Path(re.search(r"^   the file +(\S+)$", said, re.M)[1])  # type: ignore[index]
        source.write_text(source.read_text().replace("  timeout connect 2s", "  timeout connect 3s"))
        wait_until(lambda: 'msg="configuration applied"' in demo.log()[len(said):], 20, "the edit to be applied")
        demo.signal(signal.SIGINT)
        assert demo.wait(20) == 0, demo.log()
        assert not source.parent.parent.exists(), "its folder is left"
    finally:
        demo.stop()


def test_ingresses_by_the_shipped_set(tmp_path: pathlib.Path) -> None:
    demo = started("local", tmp_path / "log", "--ingress", "--keep")
    try:
        wait_until(lambda: (not demo.alive or "What does the set make of" in demo.log()), 60, "the demo to be through")
        said = demo.log()
        assert demo.alive, said
        assert re.search(r"^\[-\]configuration source: .*: ingress-backend:\d+:14: .*the line: balance {{ options\[1\] or balanse }}", said, re.M), said
        assert re.search(r"^   Event: .*ingress/takeover .*Ingress shop/shop has it already", said, re.M), said
        assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
        steps = re.findall(r"^   (\S.*?) {2,}(reload|runtime|refused) +[0-9]+ +([0-9]+) +([0-9]+) +0$", said, re.M)
        assert [step[:3] for step in steps] == [
            ("the daemon starts", "reload", "1"), ("an Ingress", "reload", "1"), ("a host and a path more", "runtime", "0"), ("https", "reload", "1"),
            ("a typing error", "refused", "0"), ("repaired: an Ingress waited", "runtime", "0"), ("a rollout of three pods", "runtime", "0"),
            ("two of one path", "reload", "1")], said
        assert all(int(step[3]) > 0 for step in steps[3:]), "nobody asked meanwhile"
        manifest = pathlib.Path(re.search(r"^   manifests +(\S+)$", said, re.M)[1]) / "www-ingress.yaml"  # type: ignore[index]
        front = re.search(r"^   HAProxy's front +curl (\S+)$", said, re.M)[1]  # type: ignore[index]
        manifest.write_text(manifest.read_text().replace("www.shop.example", "mine.example"))
        wait_until(lambda: http.request(front, "GET", "/cart", headers={"Host": "mine.example"}).text.startswith("shop-"), 20, "the edit to be applied")
        demo.signal(signal.SIGINT)
        assert demo.wait(20) == 0, demo.log()
        assert not manifest.parent.parent.exists(), "its folder is left"
    finally:
        demo.stop()


@pytest.mark.parametrize("target", ["api", "local"])
def test_annotated_services_on_two_haproxies(target: str, tmp_path: pathlib.Path) -> None:
    demo = started(target, tmp_path / "log", "--services", "--keep")
    try:
        wait_until(lambda: (not demo.alive or "What comes of them?" in demo.log()), 60, "the demo to be through")
        said = demo.log()
        assert demo.alive, said
        assert re.search(r'^   Event: .*LeftOut +service/blog +haproxy-k8s-sync/web.path is "today": expected a path', said, re.M), said
        assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
        steps = re.findall(r"^   (\S.*?) {2,}(reload|runtime) +[0-9]+ +([0-9]+) +[0-9]+ +0$", said, re.M)
        assert steps == [("a Service is annotated", "reload", "2"), ("another Service", "reload", "2"), ("another host name, a path", "runtime", "0"),
                         ("a typing error", "reload", "2"), ("repaired", "reload", "2")], said
        manifest = pathlib.Path(re.search(r"^   manifests +(\S+)$", said, re.M)[1]) / "blog-service.yaml"  # type: ignore[index]
        fronts = [re.search(rf"^   {name} +curl (\S+)$", said, re.M)[1] for name in ("HAProxy's front", "the other HAProxy's front")]  # type: ignore[index]
        manifest.write_text(manifest.read_text().replace("news.example", "mine.example"))
        for front in fronts:
            wait_until(lambda f=front: http.request(f, "GET", "/today", headers={"Host": "mine.example"}).text.startswith("blog on "), 20, "the edit to be applied")
        demo.signal(signal.SIGINT)
        assert demo.wait(20) == 0, demo.log()
        assert not manifest.parent.parent.exists(), "its folder is left"
    finally:
        demo.stop()

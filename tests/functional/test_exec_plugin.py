"""Kubernetes credentials by a plugin of the kubeconfig: given, renewed, refused, late, broken; and nothing of it left behind."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import Authority, Pair
from tests.harness.daemon import clean_env
from tests.harness.process import wait_until

from .rig import Rig, program

V1 = "client.authentication.k8s.io/v1"
GIVEN = "Kubernetes credentials received from the plugin"
FAILED = "credential plugin failed"

# Does what the files beside it say. "hang" lets it wait, deaf to signals, with a child of its own.
SCRIPT = """#!/bin/sh
cd "$(dirname "$0")" || exit 99
echo "$$" >>runs
ls -l /proc/self/fd >fds
env >environment
if [ -e hang ]; then
    trap '' TERM INT HUP
    sleep 1000 &
    echo "$!" >>children
    while [ -e hang ]; do sleep 0.05; done
fi
cd -P reply || exit 98
cat answer
cat said >&2
exit "$(cat status)"
"""


class Plugin:
    def __init__(self, home: pathlib.Path):
        home.mkdir()
        self.home = home
        self.path = home / "plugin"
        self.replies = 0
        self.install()

    def install(self) -> None:
        self._put("plugin", SCRIPT, 0o755)

    def _put(self, name: str, text: str, mode: int = 0o644) -> None:
        fresh = self.home / f"{name}.new"
        fresh.write_text(text)
        fresh.chmod(mode)
        os.replace(fresh, self.home / name)

    def prints(self, answer: str, status: int = 0, said: str = "") -> None:
        """From the next run on; all at once, for one may come just now."""
        self.replies += 1
        fresh, link = self.home / f"reply-{self.replies}", self.home / "reply.new"
        fresh.mkdir()
        for name, text in (("said", said), ("status", str(status)), ("answer", answer)):
            (fresh / name).write_text(text)
        link.symlink_to(fresh)
        os.replace(link, self.home / "reply")

    def gives(self, token: str = "", pair: Pair | None = None, seconds: float = 0, version: str = V1) -> None:
        """Credentials that are good for so many seconds; 0: it does not say."""
        status: dict[str, str] = {}
        if token:
            status["token"] = token
        if pair:
            status |= {"clientCertificateData": pair.certificate.read_text(), "clientKeyData": pair.key.read_text()}
        if seconds:
            status["expirationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        self.prints(json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status}))

    def hangs(self, yes: bool = True) -> None:
        (self.home / "hang").touch() if yes else (self.home / "hang").unlink()

    def text(self, name: str) -> str:
        path = self.home / name
        return path.read_text() if path.exists() else ""

    @property
    def runs(self) -> int:
        return len(self.text("runs").split())

    def alive(self) -> list[int]:
        """Of all that it ever was."""
        pids = [int(pid) for pid in (self.text("runs") + self.text("children")).split()]
        return [pid for pid in pids if _runs(pid)]

    def user(self, **more: Any) -> dict[str, Any]:
        """As a kubeconfig has it, by a path relative to it."""
        return {"exec": {"apiVersion": V1, "command": "./plug/plugin", "interactiveMode": "Never", **more}}


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


class World:
    def __init__(self, home: pathlib.Path, **kube: Any):
        self.plugin = Plugin(home / "plug")
        self.rig = Rig(home, **{"token": "unknown-to-all", **kube})

    def settings(self, cluster: dict[str, Any] | None = None, **more: Any) -> dict[str, str]:
        path = self.rig.kube.kubeconfig(self.rig.home / "by-plugin", token="", user=self.plugin.user(**more), cluster=cluster)
        return {"KUBECONFIG": str(path), "RESYNC_PERIOD": "1s"}

    def start(self, **more: Any) -> None:
        self.rig.start(**self.settings(**more))

    def works(self, *nodes: int) -> None:
        self.rig.pods(*nodes)
        self.rig.wait_servers(*nodes)
        self.rig.wait_in_sync()

    def tokens_seen(self) -> set[str]:
        return {r["token"] for r in self.rig.kube.requests() if r["path"].startswith(("/api/", "/apis/"))}


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    made = World(tmp_path)
    with made.rig:
        yield made
    assert not made.plugin.alive(), "left behind"


# --- given and renewed

def test_token_of_the_plugin(world: World) -> None:
    world.plugin.gives("one")
    world.rig.kube.tokens(one="admin")
    world.start()
    world.works(1, 2)
    assert world.plugin.runs == 1 and world.tokens_seen() == {"one"}
    status, body = world.rig.daemon.get("/readyz?verbose")
    assert status == 200 and re.search(r"\[\+\]credentials by \S+/plug/plugin: there", body)
    log = world.rig.daemon.log()
    assert "level=warn" not in log, "the first run is nothing to warn of"
    assert log.count(GIVEN) == 1 and "one" not in re.findall(r"\S+", log) and "credentials by" in log
    info = re.search(r"^KUBERNETES_EXEC_INFO=(.*)$", world.plugin.text("environment"), re.M)
    assert info and json.loads(info[1]) == {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False}}
    assert "HAPROXY_DATAPLANE" not in world.plugin.text("environment")


def test_nothing_of_ours_reaches_a_plugin_that_runs_beside_watches(world: World) -> None:
    world.rig.kube.tokens(one="admin")
    world.plugin.gives("one", seconds=4)
    world.start()
    world.works(1, 2)
    # Both to their end: the second may not have read yet what it answers, the third not have written all that it sees.
    wait_until(lambda: world.plugin.runs >= 2 and not world.plugin.alive(), 30, "the second run")
    world.plugin.gives("one", seconds=600)
    wait_until(lambda: world.plugin.runs >= 3 and not world.plugin.alive(), 30, "the third run")
    # 0, 1, 2, and what ls reads.
    names = re.findall(r" (\d+) -> (\S+)", world.plugin.text("fds"))
    assert sorted(int(fd) for fd, _ in names) == [0, 1, 2, 3], names
    assert dict(names)["0"] == "/dev/null" and not any("socket" in where for _, where in names)


# --- refused

def test_refused_token_is_replaced_at_once(world: World) -> None:
    world.rig.kube.tokens(one="admin")
    world.plugin.gives("one")
    world.start()
    world.works(1, 2)
    world.plugin.gives("two")
    world.rig.kube.tokens(two="admin")
    world.rig.kube.disconnect()
    world.works(1, 3)
    assert "two" in world.tokens_seen() and world.rig.daemon.log().count("why=refused") >= 1
    assert world.plugin.runs <= 3, "once for each answer, and perhaps once for a late 401 to the old one"
    world.rig.daemon.wait_ready()


# --- late, broken, missing


@pytest.mark.parametrize("again", [False, True], ids=["first-run", "later-run"])
def test_daemon_stops_while_a_plugin_hangs(world: World, again: bool) -> None:
    world.rig.kube.tokens(one="admin")
    world.plugin.gives("one")
    if not again:
        world.plugin.hangs()
    world.start()
    if again:
        world.works(1, 2)
        world.plugin.hangs()
        world.rig.kube.tokens(two="admin")
        world.rig.kube.disconnect()
    wait_until(lambda: world.plugin.text("children"), 20, "the plugin to hang")
    assert len(world.plugin.alive()) >= 2
    world.rig.daemon.stop()  # fails after 5 s
    wait_until(lambda: not world.plugin.alive(), 5, "an end of the plugin and its child")


def test_missing_plugin_says_where_to_get_it(world: World) -> None:
    world.rig.kube.tokens(one="admin")
    world.plugin.path.unlink()
    world.plugin.gives("one")
    world.start(installHint="It is in the package\nkube-login.")
    world.rig.daemon.wait_not_ready(r"the credential plugin: \S+/plug/plugin cannot be started: No such file or directory; "
                                    "the kubeconfig says: It is in the package kube-login.")
    world.plugin.install()
    world.rig.daemon.wait_ready(40)
    world.works(1, 2)


# --- client certificates

def test_client_certificate_of_the_plugin(tmp_path: pathlib.Path) -> None:
    ca, people = Authority(tmp_path / "pki"), Authority(tmp_path / "people", "people")
    server, strangers = ca.server(), Authority(tmp_path / "strangers", "strangers")
    world = World(tmp_path, token="", tls=(server.certificate, server.key), ca=ca.certificate, client_ca=people.certificate)
    with world.rig:
        world.plugin.gives(pair=people.client("one"), seconds=4)
        world.start(provideClusterInfo=True)
        world.works(1, 2)
        info = json.loads(re.search(r"^KUBERNETES_EXEC_INFO=(.*)$", world.plugin.text("environment"), re.M)[1])
        assert "certificate-authority-data" in info["spec"]["cluster"]
        assert "kind=certificate" in world.rig.daemon.log()
        # The next pair is of no use: the last one stays.
        one = people.client("one")
        world.plugin.gives(pair=Pair(one.certificate, strangers.client("x").key), seconds=600)
        world.rig.daemon.wait_log(f"{FAILED}.*client key.*in_use=\"the last ones\"", timeout=30)
        world.rig.kube.disconnect()
        world.works(1, 3)
        world.plugin.gives(pair=people.client("two"), seconds=600)
        world.rig.daemon.wait_log(f"{GIVEN}.*why=expiring kind=certificate", timeout=40)
        world.rig.kube.disconnect()
        world.works(1, 2, 3)
        world.rig.daemon.wait_ready(90)  # it is asked again after a backoff
    assert not world.plugin.alive()


# --- the other commands

def run(world: World, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), *words], env=clean_env(**world.rig.settings(**world.settings(**more))), capture_output=True,
                          stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)


def test_plan_runs_it_and_check_config_does_not(world: World) -> None:
    world.rig.kube.tokens(one="admin")
    world.plugin.gives("one")
    world.rig.pods(1, 2)
    checked = run(world, "check-config")
    assert checked.returncode == 0 and world.plugin.runs == 0, checked.stderr
    planned = run(world, "plan")
    assert world.plugin.runs == 1 and "n2" in planned.stdout, planned.stderr
    explained = run(world, "explain", "n2")
    assert world.plugin.runs == 2 and "n2" in explained.stdout, explained.stderr


def test_kubeconfig_that_no_daemon_can_use(world: World) -> None:
    for words in (["check-config"], ["plan"], []):
        done = run(world, *words, interactiveMode="Always")
        assert done.returncode == 78 and "user.exec.interactiveMode: Always: the plugin needs a terminal" in done.stdout + done.stderr, done.stderr
    assert world.plugin.runs == 0


def test_token_beside_a_plugin_comes_first_and_that_is_said(world: World) -> None:
    world.rig.kube.tokens(beside="admin")
    path = world.rig.kube.kubeconfig(world.rig.home / "both", token="beside", user=world.plugin.user())
    world.rig.start(KUBECONFIG=str(path))
    world.works(1, 2)
    world.rig.daemon.wait_log("level=warn .*credential plugin of the kubeconfig not used; the credentials beside it take precedence")
    assert world.plugin.runs == 0 and world.tokens_seen() == {"beside"}

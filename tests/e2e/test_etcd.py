"""Configurations by way of a real etcd: producers that publish, load balancers that take, test, load and report; on Debian's etcd 3.4 and on 3.6
with TLS and authentication."""

from __future__ import annotations

import contextlib
import json
import pathlib
import random
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.harness import http, realparts
from tests.harness.daemon import Daemon
from tests.harness.etcd import Etcd, Tls, pair_of
from tests.harness.backends import node_port
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.load import Load
from tests.harness.nodes import Nodes
from tests.harness.process import free_port, wait_until

PATH = "/haproxy/east"
# Their rights are those of docs/examples/etcd/roles.sh.
PASSWORDS = {"producer": "its-password", "load-balancer": "their-password"}
STATIC = PLAIN.replace("level admin\n", "level admin\n  setenv LISTEN {listen}\n")


def page(port: int | str, text: str, name: str = "web") -> str:
    """A configuration that answers so."""
    return f"frontend {name}\n  mode http\n  bind \"127.0.0.1:{port}\"\n  http-request return status 200 content-type text/plain string {text}\n"


class LoadBalancer:
    """A HAProxy that reads a file of ours behind the operator's, and the daemon beside it."""

    def __init__(self, line: Line, name: str, paths: dict[str, str] | None = None, **more: str):
        self.name, self.home, self.line = name, line.home / name, line
        self.port = free_port()  # where a configuration says ${LISTEN}
        self.haproxy = HAProxy(self.home / "h", STATIC, values={"listen": str(self.port)})  # the paths of sockets are short
        self.dynamic: dict[str, pathlib.Path] = {}
        for path in paths or {"dynamic": PATH}:
            self.dynamic[path] = self.home / "h" / f"{path}.cfg"
            self.dynamic[path].write_text("# nothing yet\n")
            self.haproxy.files.append(self.dynamic[path])
        self.daemons = [Daemon(self.home / f"daemon-{file}", {
            **line.settings("load-balancer", path), "CONFIG_SOURCE": "etcd", "ETCD_NAME": name, "HAPROXY_CONFIG_FILE": str(self.dynamic[file]),
            "HAPROXY_CHECK_FILES": ",".join(map(str, self.haproxy.files)), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket),
            "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(self.state(file)), **more})
            for file, path in (paths or {"dynamic": PATH}).items()]

    def state(self, file: str = "dynamic") -> pathlib.Path:
        path = self.home / f"state-{file}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def daemon(self) -> Daemon:
        return self.daemons[0]

    def start(self) -> None:
        self.haproxy.start()
        for daemon in self.daemons:
            daemon.start()

    def stop(self) -> None:
        for daemon in self.daemons:
            if daemon.process:
                daemon.stop()
        self.haproxy.stop()

    def says(self) -> dict[str, object]:
        text = self.line.etcd.get(f"{PATH}/status/{self.name}")
        return json.loads(text) if text else {}


class Line:
    """etcd, and what stands at its two ends."""

    def __init__(self, home: pathlib.Path, etcd: Etcd, users: bool):
        self.home, self.etcd, self.users, self.port = home, etcd, users, free_port()
        self.source = home / "source.cfg"
        self.ends = contextlib.ExitStack()
        self.lbs: list[LoadBalancer] = []

    def settings(self, user: str, path: str = PATH) -> dict[str, str]:
        login = {"ETCD_USER": user, "ETCD_PASSWORD": PASSWORDS[user]} if self.users else {}
        return {"ETCD_ENDPOINTS": self.etcd.url, "ETCD_PATH": path, **login, **pair_of(self.etcd.tls), "RESYNC_PERIOD": "2s",
                "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug"}

    def write(self, text: str, source: pathlib.Path | None = None) -> None:
        path = source or self.source
        half = path.with_suffix(".new")
        half.write_text(text)
        half.rename(path)

    def producer(self, name: str = "producer", path: str = PATH, source: pathlib.Path | None = None, **more: str) -> Daemon:
        daemon = Daemon(self.home / name, {**self.settings("producer", path), "CONFIG_TARGET": "etcd", "CONFIG_SOURCE": "file",
                                           "CONFIG_FILE": str(source or self.source), "ETCD_NAME": name, **more})
        self.ends.callback(daemon.close)
        return daemon.start()

    def load_balancer(self, name: str, paths: dict[str, str] | None = None, start: bool = True, **more: str) -> LoadBalancer:
        lb = LoadBalancer(self, name, paths, **more)
        self.ends.callback(lb.stop)
        if start:
            lb.start()
        self.lbs.append(lb)
        return lb

    def answer(self, port: int | None = None) -> str:
        with contextlib.suppress(OSError):
            return http.request(f"http://127.0.0.1:{port or self.port}", "GET", "/").text
        return ""

    def manifest(self, path: str = PATH) -> dict[str, object]:
        text = self.etcd.get(f"{path}/manifest")
        return json.loads(text) if text else {}

    def version(self) -> int:
        return int(str(self.manifest().get("version", 0)))


@pytest.fixture
def line(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Line]:
    secure = request.param == "etcd-tls-auth"
    etcd = Etcd(realparts.PARTS["etcd" if secure else "etcd-debian"](), tmp_path, Tls(tmp_path / "tls") if secure else None)
    with etcd:
        if secure:
            etcd.secure(PASSWORDS)
        made = Line(tmp_path, etcd, secure)
        with made.ends:
            yield made


def same_text(line: Line, *lbs: LoadBalancer) -> bool:
    return all(lb.dynamic["dynamic"].read_text() == line.source.read_text() for lb in lbs)


@pytest.mark.parametrize("line", ["etcd-debian", "etcd-tls-auth"], indirect=True)
def test_a_change_reaches_each_load_balancer(line: Line) -> None:
    line.write(page(line.port, "one"))
    producer = line.producer()
    lbs = [line.load_balancer("lb-1")]
    wait_until(lambda: line.answer() == "one", 60, f"it is served: {lbs[0].daemon.tail()}")
    producer.wait_ready()
    lbs[0].daemon.wait_ready()
    assert line.etcd.get(PATH) == line.source.read_text(), "as older consumers read it"
    # Two more, that cannot listen at the same port: they take what is published now.
    line.write("backend b\n  server s 127.0.0.1:1\n")
    lbs += [line.load_balancer("lb-2"), line.load_balancer("lb-3")]
    for number in range(2, 9):
        line.write(f"backend b{number}\n  server s 127.0.0.1:1\n")
        wait_until(lambda: same_text(line, *lbs), 30, "all have it")
    wait_until(lambda: all(lb.says().get("state") == "in_sync" and lb.says().get("version") == line.version() for lb in lbs), 30,
               f"all say so: {[lb.says() for lb in lbs]}")
    producer.wait_metric("haproxy_k8s_sync_load_balancers", 3, state="in_sync")
    versions = sorted(int(key.rsplit("/", 1)[1]) for key in line.etcd.all(f"{PATH}/versions/"))
    assert versions == list(range(line.version() - 4, line.version() + 1)), "the last five"
    assert len(line.etcd.all(f"{PATH}/parts/")) == 5, "and what they name"
    # What no HAProxy takes is in etcd, and runs nowhere; each says why.
    good = line.source.read_text()
    line.write(good + "backend wrong\n  unknown keyword\n")
    wait_until(lambda: all(lb.says().get("state") == "failed" and "unknown keyword" in str(lb.says().get("reason")) for lb in lbs), 30,
               f"they refuse it: {[lb.says() for lb in lbs]}")
    assert all(lb.dynamic["dynamic"].read_text() == good for lb in lbs)
    producer.wait_metric("haproxy_k8s_sync_load_balancers", 3, state="failed")
    line.write(good)
    wait_until(lambda: all(lb.says().get("state") == "in_sync" for lb in lbs), 30, "and are well again")
    # One that is gone is seen to be: its key ends with its lease. Here it is taken away at once.
    lbs[2].stop()
    line.etcd.delete(f"{PATH}/status/lb-3")
    wait_until(lambda: producer.metrics().value("haproxy_k8s_sync_load_balancers", state="in_sync") == 2, 20, "two are left")


@pytest.mark.parametrize("line", ["etcd-tls-auth"], indirect=True)
def test_two_producers(line: Line) -> None:
    """Of one cluster: each version is published once. Of two: the second is refused the path, and says why."""
    line.write("backend one\n")
    first, second = line.producer("first", CLUSTER_NAME="east"), line.producer("second", CLUSTER_NAME="east")
    first.wait_ready()
    second.wait_ready()
    for number in range(2, 6):
        line.write(f"backend b{number}\n")
        wait_until(lambda: line.etcd.get(PATH) == line.source.read_text(), 20, "it is published")
        first.wait_ready()
        second.wait_ready()
    assert line.version() == 5, f"each of five once: {line.manifest()}"
    other = line.home / "other.cfg"
    other.write_text("backend other\n")
    stranger = line.producer("stranger", source=other, CLUSTER_NAME="west")
    assert "east" in stranger.wait_not_ready("the cluster east publishes there")
    assert line.version() == 5
    # And where another writer's value lies, without a manifest.
    line.etcd.put(f"{PATH}/taken", "mine\n")
    taken = line.producer("taken", path=f"{PATH}/taken", source=other)
    taken.wait_not_ready("another program uses it")
    assert line.etcd.get(f"{PATH}/taken") == "mine\n"
    line.etcd.delete(f"{PATH}/taken")
    taken.wait_ready()
    assert line.etcd.get(f"{PATH}/taken") == "backend other\n"


@pytest.mark.parametrize("line", ["etcd-debian"], indirect=True)
def test_a_part_is_missing_or_changed(line: Line) -> None:
    files = line.home / "files"
    (files / "maps").mkdir(parents=True)
    (files / "maps" / "hosts.map").write_text("a b\n")
    line.write(page(line.port, "one"))
    producer = line.producer(CONFIG_FILES_DIR=str(files))
    producer.wait_ready()
    parts = line.etcd.all(f"{PATH}/parts/")
    part = next(key for key, value in parts.items() if value == "a b\n")
    producer.stop()
    for broken in (None, "a c\n"):
        line.etcd.delete(part) if broken is None else line.etcd.put(part, broken)
        lb = line.load_balancer("lb-m" if broken is None else "lb-c")
        lb.daemon.wait_not_ready("is missing" if broken is None else "in etcd has changed")
        assert lb.dynamic["dynamic"].read_text() == "# nothing yet\n"
        producer.start()
        wait_until(lambda: line.etcd.get(part) == "a b\n", 20, f"the producer repairs it: {producer.tail()}")
        wait_until(lambda: same_text(line, lb), 60, f"and it is taken: {lb.daemon.tail()}")
        assert (lb.home / "h" / "maps" / "hosts.map").read_text() == "a b\n"
        lb.stop()
        producer.stop()
    # Another writer overwrites the value itself: no load balancer takes that, and the producer repairs it.
    producer.start()
    producer.wait_ready()
    lb = line.load_balancer("lb")
    wait_until(lambda: line.answer() == "one", 60, "it is served")
    line.etcd.put(PATH, page(line.port, "evil"))
    wait_until(lambda: line.etcd.get(PATH) == line.source.read_text(), 20, "repaired")
    assert line.answer() == "one" and "evil" not in lb.dynamic["dynamic"].read_text()


@pytest.mark.parametrize("line", ["etcd-debian", "etcd-tls-auth"], indirect=True)
def test_etcd_is_compacted_and_goes_away(line: Line) -> None:
    line.write(page(line.port, "one"))
    producer = line.producer()
    lb = line.load_balancer("lb", CONFIG_DRIFT="repair")
    wait_until(lambda: line.answer() == "one", 60, f"it is served: {lb.daemon.tail()}")
    lb.daemon.wait_ready()
    # Behind its back: what it has read is compacted away while it does not read.
    lb.daemon.stop()
    for text in ("two", "three"):
        line.write(page(line.port, text))
        wait_until(lambda: line.etcd.get(PATH) == line.source.read_text(), 20, "it is published")
    line.etcd.compact()
    lb.daemon.start()
    wait_until(lambda: line.answer() == "three", 30, "the newest")
    lb.daemon.wait_ready()
    # While its watch is broken.
    line.etcd.kill()
    lb.daemon.wait_not_ready("etcd")
    line.write(page(line.port, "four"))
    assert line.answer() == "three", "what runs stays"
    # The load balancer starts anew, and its file was lost: the last good copy serves.
    lb.daemon.stop()
    lb.dynamic["dynamic"].write_text("# lost\n")
    lb.haproxy.stop()
    lb.haproxy.start()
    lb.daemon.start()
    wait_until(lambda: line.answer() == "three", 30, f"from STATE_DIR: {lb.daemon.tail()}")
    line.etcd.start()
    wait_until(lambda: line.answer() == "four", 60, f"etcd is back: {lb.daemon.tail()} {producer.tail()}")
    line.etcd.compact()
    line.write(page(line.port, "five"))
    wait_until(lambda: line.answer() == "five", 30, "all goes on")
    lb.daemon.wait_ready()
    producer.wait_ready()


LOADED = {f"n{i}": f"127.0.17.{i}" for i in range(1, 5)}


@pytest.mark.parametrize("line", ["etcd-tls-auth"], indirect=True)
def test_under_load(line: Line) -> None:
    """Servers that come and go reach the running HAProxy by commands, also through etcd; what needs a reload gets one; no connection fails."""
    port = node_port(LOADED.values())

    def text(number: int, timeout: int) -> str:
        names = list(LOADED)[number % 2:number % 2 + 3]
        lines = "".join(f"  server {name} {LOADED[name]}:{port}\n" for name in names)
        return (f"frontend busy\n  mode tcp\n  bind 127.0.0.1:{line.port}\n  default_backend nodes\n"
                f"backend nodes\n  mode tcp\n  balance roundrobin\n  timeout server {timeout}s\n{lines}")

    with Nodes(LOADED, port, line.home / "nodes"):
        line.write(text(0, 20))
        line.producer()
        lb = line.load_balancer("lb")
        wait_until(lambda: set(lb.haproxy.servers("nodes")) == {"n1", "n2", "n3"}, 60, f"it is served: {lb.daemon.tail()}")
        lb.daemon.wait_ready()
        with Load(line.port, line.home / "load") as load:
            for number in range(1, 13):
                reloads = number % 3 == 0
                worker = lb.haproxy.worker()
                line.write(text(number, 20 + number if reloads else 20 + number // 3 * 3))
                names = set(list(LOADED)[number % 2:number % 2 + 3])
                wait_until(lambda: set(lb.haproxy.servers("nodes")) == names and same_text(line, lb), 30, f"{names}: {lb.daemon.tail()}")
                lb.daemon.wait_ready()
                if lb.haproxy.can_reload_by_socket:
                    assert (lb.haproxy.worker() != worker) == reloads, f"change {number}: {lb.daemon.tail(60)}"
            traffic = load.stop()
    assert traffic.connections and not traffic.failed, traffic.describe()


SHELL = """\
set -e
curl -sf $TLS -H "Authorization: $TOKEN" $ETCD/v3/kv/range -d "{\\"key\\":\\"$(printf %s "$KEY" | base64 -w0)\\"}" |
    sed 's/.*"value":"\\([^"]*\\)".*/\\1/' | base64 -d > $HOME/dynamic.cfg.new
$HAPROXY -f $HOME/haproxy.cfg -f $HOME/dynamic.cfg.new -c -q
mv $HOME/dynamic.cfg.new $HOME/dynamic.cfg
"""


@pytest.mark.parametrize("line", ["etcd-tls-auth"], indirect=True)
def test_an_older_consumer(line: Line) -> None:
    """A shell script that knows nothing of a manifest."""
    line.write(page(line.port, "one"))
    line.producer().wait_ready()
    haproxy = HAProxy(line.home / "older", STATIC, values={"listen": str(free_port())})
    tls = line.etcd.tls
    words = f"--cacert {tls.authority.certificate} --cert {tls.client.certificate} --key {tls.client.key}" if tls else ""
    subprocess.run(["sh", "-c", SHELL], check=True, timeout=30, env={
        "PATH": "/usr/bin:/bin", "HOME": str(haproxy.dir), "ETCD": line.etcd.url, "KEY": PATH, "TLS": words, "TOKEN": line.etcd.token, "HAPROXY": haproxy.binary})
    haproxy.files.append(haproxy.dir / "dynamic.cfg")
    with haproxy:
        assert line.answer() == "one"


@pytest.mark.parametrize("line", ["etcd-debian"], indirect=True)
def test_two_clusters_into_one_load_balancer(line: Line) -> None:
    west_port, west = free_port(), line.home / "west.cfg"
    line.write(page(line.port, "east", "east"))
    west.write_text(page(west_port, "west", "west"))
    line.producer("east", CLUSTER_NAME="east")
    line.producer("west", path="/haproxy/west", source=west, CLUSTER_NAME="west")
    lb = line.load_balancer("lb", {"east": PATH, "west": "/haproxy/west"})
    wait_until(lambda: line.answer() == "east" and line.answer(west_port) == "west", 60, f"both: {[d.tail() for d in lb.daemons]}")
    for text in ("west-2", "west-3"):
        line.write(page(west_port, text, "west"), west)
        wait_until(lambda: line.answer(west_port) == text, 30, f"the one: {lb.daemons[1].tail()}")
        assert line.answer() == "east"
    for daemon in lb.daemons:
        daemon.wait_ready()


@pytest.mark.parametrize(("line", "seed"), [("etcd-debian", 1), ("etcd-tls-auth", 2)], indirect=["line"])
def test_each_is_killed_at_any_moment(line: Line, seed: int) -> None:
    """Two producers, three load balancers, etcd: one after the other dies, or stands still for a while, somewhere in a change. In etcd there is
    always a whole version, what a load balancer serves is always one that was published, and in the end all have the newest."""
    dice = random.Random(seed)
    files = line.home / "files"
    (files / "maps").mkdir(parents=True)
    number = 0

    def change() -> None:
        nonlocal number
        number += 1
        (files / "maps" / "numbers.map").write_text(f"number {number}\n")
        line.write(page("${LISTEN}", f"n{number}"))

    change()
    producers = [line.producer(f"producer-{i}", CONFIG_FILES_DIR=str(files)) for i in (1, 2)]
    lbs = [line.load_balancer(f"lb-{i}") for i in (1, 2, 3)]
    wait_until(lambda: all(line.answer(lb.port) == "n1" for lb in lbs), 60, f"it is served: {lbs[0].daemon.tail()}")
    seen: set[str] = set()
    for _ in range(16):
        change()
        victim = dice.choice([*producers, *(lb.daemon for lb in lbs), line.etcd])
        assert victim.process
        moment = time.monotonic() + dice.uniform(0, 0.3)
        wait_until(lambda: time.monotonic() > moment, 1, "some moment of the change")
        if dice.random() < 0.5:
            victim.process.signal(signal.SIGSTOP)
            seen |= {line.answer(lb.port) for lb in lbs}
            if dice.random() < 0.5:
                change()
            victim.process.signal(signal.SIGCONT)
        else:
            victim.kill()
            seen |= {line.answer(lb.port) for lb in lbs}
            victim.start()
        manifest = wait_until(line.manifest, 20, "a manifest")
        whole = line.etcd.all(f"{PATH}/parts/")
        named = [*manifest["configuration"]["parts"], *manifest["bundle"]["parts"]]  # type: ignore[index]
        assert all(f"{PATH}/parts/{part}" in whole for part in named) or line.manifest() != manifest, "a whole version"
    assert "" not in seen and all(1 <= int(answer[1:]) <= number for answer in seen), seen
    for lb in lbs:
        wait_until(lambda: line.answer(lb.port) == f"n{number}", 60, f"the newest: {lb.daemon.tail()}")
        wait_until(lambda: (lb.home / "h" / "maps" / "numbers.map").read_text() == f"number {number}\n", 30, "and its map")
    for daemon in (*producers, *(lb.daemon for lb in lbs)):
        daemon.wait_ready(60)
    wait_until(lambda: all(lb.says().get("state") == "in_sync" and lb.says().get("version") == line.version() for lb in lbs), 90, "all say so")

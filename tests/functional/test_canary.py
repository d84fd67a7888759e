"""Two HAProxies: a configuration goes to one first, which is watched; and what one does badly with goes back on both."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .pair import Pair
from .rig import Rig
from .test_config_secret import SOURCE

# The same for both: what differs is in the environment and the folder that each was started with.
TEMPLATE = """\
global
  stats socket /proc/self/cwd/haproxy.sock mode 600 level admin
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
userlist dataplaneapi
  user admin insecure-password adminpwd
frontend fe
  bind "127.0.0.1:${SITE_PORT}"
  http-request return status 200 if { path / }
frontend second
  bind "127.0.0.1:${SITE_SECOND}"
  default_backend be
backend be
  default-server inter 100ms fall 2 rise 1
  server s 127.0.0.1:80 addr 127.0.0.1 port "${SITE_PORT}" check
"""


class Two(Rig):
    """Each in its own folder. The third port of the second one is taken by somebody else."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home, TEMPLATE, haproxies=2)
        self.source, self.state = home / "source.cfg", home / "state"
        self.taken = socket.create_server(("127.0.0.1", 0))
        self.ports = [(free_port(), free_port()), (free_port(), self.taken.getsockname()[1])]

    def _start_pairs(self) -> None:
        for i, pair in enumerate(self.pairs):
            with contextlib.chdir(pair.haproxy.dir), pytest.MonkeyPatch.context() as env:
                env.setenv("SITE_PORT", str(pair.haproxy.port))
                env.setenv("SITE_SECOND", str(self.ports[i][0]))
                env.setenv("SITE_THIRD", str(self.ports[i][1]))
                pair.dataplane.cwd = pair.haproxy.dir
                pair.start()
        self._started = len(self.pairs)

    def __exit__(self, kind: object, *rest: object) -> None:
        super().__exit__(kind, *rest)
        self.taken.close()

    def text(self, word: str, more: str = "") -> str:
        return f"{TEMPLATE}{more}\nbackend by-{word}\n"

    def put(self, word: str, more: str = "") -> None:
        fresh = self.source.with_suffix(".new")
        fresh.write_text(self.text(word, more))
        fresh.rename(self.source)

    def begin(self, **settings: str) -> Daemon:
        """With a first configuration, which both run, and which was watched to its end."""
        self.put("first")
        self.start(**{**SOURCE, "CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "CONFIG_SECRET_NAMESPACE": "", "CONFIG_SECRET_NAME": "",
                      "CONFIG_CANARY_TIME": "3s", "CONFIG_MIN_INTERVAL": "0s", "STATE_DIR": str(self.state), **settings})
        assert self.daemon
        self.runs("first", *self.pairs)
        wait_until(self.proven, 40, "the first one is proven")
        return self.daemon

    def proven(self) -> bool:
        kept = json.loads((self.state / "configuration.json").read_text())
        return bool(kept["proven"] == kept["versions"][0]["number"])

    def has(self, word: str, pair: Pair) -> bool:
        with contextlib.suppress(OSError):
            return f"\nby-{word},BACKEND," in pair.haproxy.runtime("show stat")
        return False

    def runs(self, word: str, *pairs: Pair, timeout: float = 30) -> None:
        assert self.daemon
        for pair in pairs:
            wait_until(lambda: self.has(word, pair), timeout, f"{pair.dataplane.url} runs {word}\n{self.daemon.tail()}")


@pytest.fixture
def two(tmp_path: pathlib.Path) -> Iterator[Two]:
    with Two(tmp_path) as made:
        yield made


def test_the_second_one_waits_for_the_first(two: Two) -> None:
    daemon = two.begin(CONFIG_CANARY="1")
    first, second = two.pairs
    two.put("next")
    two.runs("next", first)
    assert not two.has("next", second)
    assert daemon.metrics().sum("configuration_canary_pending") == 1
    daemon.wait_log("canary passed; the others get the configuration")
    two.runs("next", second)
    wait_until(two.proven, 40, "it is proven")
    assert daemon.metrics().sum("configuration_canary_pending") == 0


def test_a_failed_canary_goes_back_and_no_other_gets_it(two: Two) -> None:
    daemon = two.begin(CONFIG_CANARY="1")
    first, second = two.pairs
    worker = second.haproxy.worker()
    two.put("bad")
    two.runs("bad", first)
    first.haproxy.runtime("shutdown frontend second")
    daemon.wait_log("canary failed; no other HAProxy gets the configuration.*takes no connections for: second")
    daemon.wait_log("configuration rolled back automatically.*reason=listener")
    two.runs("first", first)
    wait_until(daemon.ready, 20, "ready")
    assert second.haproxy.worker() == worker and not two.has("bad", second)
    two.put("third")
    two.runs("third", first, second)


def test_backends_without_servers_fail_a_canary(two: Two) -> None:
    daemon = two.begin(CONFIG_CANARY="1", CONFIG_CANARY_TIME="5s")
    first, second = two.pairs
    two.put("bad", "backend more\n")
    two.runs("bad", first)
    first.haproxy.runtime("set server be/s state maint")
    daemon.wait_log("configuration rolled back automatically.*reason=backend.*be .1 before")
    two.runs("first", first)
    assert not two.has("bad", second)


def test_servers_that_died_everywhere_fail_none(two: Two) -> None:
    daemon = two.begin(CONFIG_CANARY="1", CONFIG_CANARY_TIME="5s")
    first, second = two.pairs
    two.put("good")
    two.runs("good", first)
    for pair in (second, first):
        pair.haproxy.runtime("set server be/s state maint")
    daemon.wait_log("nothing is rolled back.*on another HAProxy, too")
    two.runs("good", second)
    assert "rolled back automatically" not in daemon.log()


def test_what_one_cannot_load_goes_back_on_the_other(two: Two) -> None:
    daemon = two.begin()
    two.put("bad", 'frontend third\n  bind "127.0.0.1:${SITE_THIRD}"\n')
    daemon.wait_log("configuration could not be loaded; the previous one is restored")
    daemon.wait_log("configuration rolled back automatically.*reason=reload")
    two.runs("first", *two.pairs)
    wait_until(lambda: not any(two.has("bad", pair) for pair in two.pairs), 20, "none runs it")
    wait_until(daemon.ready, 20, "ready")


def test_a_backend_without_servers_is_reported_or_rolled_back(two: Two) -> None:
    daemon = two.begin(CONFIG_ROLLBACK="serving")
    two.put("bad")
    two.runs("bad", *two.pairs)
    two.pairs[0].haproxy.runtime("set server be/s state maint")
    daemon.wait_log("configuration rolled back automatically.*reason=backend.*be .1 before")
    two.runs("first", *two.pairs)

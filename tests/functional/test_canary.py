"""Two HAProxies: a configuration goes to one first, which is watched; and what one does badly with goes back on both."""

from __future__ import annotations

import contextlib
import pathlib
import socket
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.haproxy import IN_ITS_FOLDER
from tests.harness.process import free_port, wait_until

from .pair import Pair
from .rig import Rig
from .test_config_secret import SOURCE
from .test_rollback import remember

TEMPLATE = IN_ITS_FOLDER + """\
  http-request return status 200 if { path / }
frontend second
  bind "127.0.0.1:${SITE_SECOND}"
  default_backend be
backend be
  server s 127.0.0.1:80
"""


class Two(Rig):
    """Each in its own folder. The third port of the second one is taken by another program."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home, self.text("first"), haproxies=2)
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
        """Both run the first configuration, which was watched to its end."""
        self.put("first")
        remember(self.state, self.source, self.text("first"), *(pair.dataplane.url for pair in self.pairs))
        daemon = self.start(**{**SOURCE, "CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.source), "CONFIG_SECRET_NAMESPACE": "", "CONFIG_SECRET_NAME": "",
                               "CONFIG_CANARY_TIME": "1s", "CONFIG_MIN_INTERVAL": "0s", "STATE_DIR": str(self.state), **settings})
        daemon.wait_ready()
        return daemon

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


def test_a_failed_canary_goes_back_and_no_other_gets_it_and_one_that_passes_is_followed(two: Two) -> None:
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
    two.runs("third", first)
    assert not two.has("third", second) and daemon.metrics().sum("configuration_canary_pending") == 1
    daemon.wait_log("canary passed; the others get the configuration")
    two.runs("third", second)
    wait_until(lambda: daemon.metrics().sum("configuration_canary_pending") == 0, 40, "no canary is watched")


def test_what_one_cannot_load_goes_back_on_the_other(two: Two) -> None:
    daemon = two.begin()
    two.put("bad", 'frontend third\n  bind "127.0.0.1:${SITE_THIRD}"\n')
    daemon.wait_log("configuration could not be loaded; the previous one is restored")
    daemon.wait_log("configuration rolled back automatically.*reason=reload")
    two.runs("first", *two.pairs)
    wait_until(lambda: not any(two.has("bad", pair) for pair in two.pairs), 20, "none runs it")
    wait_until(daemon.ready, 20, "ready")

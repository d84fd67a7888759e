"""What a HAProxy does badly with is rolled back by itself: on a HAProxy of this machine, whose worker dies, a listener of which is
missing, whose backends lose their servers. A configuration is watched for 10 s at least: each test begins as if that were over."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import signal
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .test_local import Local, await_log


def remember(folder: pathlib.Path, source: pathlib.Path, text: str, *targets: str) -> None:
    """What a daemon leaves there after it has watched that text to its end at these HAProxies: store.h."""
    folder.mkdir()
    (folder / "version-1.cfg").write_text(text)
    hash_ = hashlib.sha256(text.encode()).hexdigest()
    version = {"number": 1, "sha256": hash_, "id": hash_, "with_files": False, "text_sha256": hash_, "source": str(source), "applied": "2026-01-01T00:00:00.000Z",
               "bytes": len(text), "targets": targets}
    (folder / "configuration.json").write_text(json.dumps({"versions": [version], "rejections": [], "proven": 1}))


class Watched(Local):
    """One that has a version to go back to, and a listener beside its own."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home)
        self.second = free_port()

    def text(self, word: str) -> str:
        return super().text(word) + f"frontend second\n  bind 127.0.0.1:{self.second}\n  default_backend be\nbackend be\n  server s 127.0.0.1:{self.haproxy.port}\n"

    def sha256(self, word: str) -> str:
        return hashlib.sha256(self.text(word).encode()).hexdigest()

    def await_proven(self) -> None:
        """The latest version was watched to its end."""
        def proven() -> bool:
            kept = json.loads((self.home / "state" / "configuration.json").read_text())
            return bool(kept["proven"] == kept["versions"][0]["number"])

        wait_until(proven, 30, "it is proven")

    def served(self, daemon: Daemon, word: str) -> None:
        """It was loaded, and the watch of it has begun."""
        self.await_says(word)
        wait_until(lambda: 'msg="configuration applied"' in daemon.log().rpartition("configuration changed")[2], 10, daemon.tail)

    def lose_listener(self) -> None:
        self.haproxy.runtime("shutdown frontend second")


@pytest.fixture
def watched(tmp_path: pathlib.Path) -> Iterator[Watched]:
    """Its HAProxy runs the version `good`, which is proven."""
    made = Watched(tmp_path)
    made.haproxy.config.write_text(made.text("good"))
    made.put(made.text("good"))
    remember(tmp_path / "state", made.source, made.text("good"), str(made.haproxy.config))
    with made.haproxy:
        yield made


ROLLED_BACK = "configuration rolled back automatically"
LISTENER = "HAProxy takes no connections for: second"


def put_bad(watched: Watched, daemon: Daemon, word: str) -> None:
    """A configuration after which a listener disappears."""
    watched.put(watched.text(word))
    watched.served(daemon, word)
    watched.lose_listener()


def test_a_listener_that_is_missing_rolls_back_until_the_source_changes(watched: Watched) -> None:
    with watched.daemon() as daemon:
        wait_until(daemon.ready, 15, "ready")
        put_bad(watched, daemon, "bad")
        daemon.wait_log(f"{ROLLED_BACK}.*reason=listener evidence=\"{LISTENER}")
        watched.await_says("good")
        wait_until(daemon.ready, 15, "ready")
        assert watched.haproxy.config.read_text() == watched.text("good")
        assert daemon.metrics().sum("configuration_rollbacks_total", reason="listener") == 1
        watched.put(watched.text("third"))
        watched.await_says("third")


def test_what_was_rolled_back_is_not_tried_again_but_by_sighup(watched: Watched) -> None:
    with watched.daemon() as daemon:
        wait_until(daemon.ready, 15, "ready")
        put_bad(watched, daemon, "bad")
        daemon.wait_log(ROLLED_BACK)
        watched.await_says("good")
    with watched.daemon("again") as daemon:
        wait_until(daemon.ready, 15, "ready")
        told = json.loads(daemon.get("/status")[1])["haproxies"][0]["configuration"]
        assert LISTENER in told["evidence"] and told["rolled_back_to"] == 1 and told["rolled_back_from"] == watched.sha256("bad")
        assert daemon.metrics().sum("configuration_rolled_back") == 1
        assert watched.says() == "good" and LISTENER in daemon.get("/readyz")[1]
        watched.put(watched.text("bad"))  # the same again is no change
        daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
        watched.await_says("bad")
        watched.await_proven()
        assert daemon.metrics().sum("configuration_rolled_back") == 0


def test_a_restart_amid_the_watch_goes_on_with_it(watched: Watched) -> None:
    with watched.daemon() as daemon:
        wait_until(daemon.ready, 15, "ready")
        watched.put(watched.text("bad"))
        watched.served(daemon, "bad")
    with watched.daemon("again") as daemon:
        await_log(daemon, 'msg="configuration unchanged"')
        watched.lose_listener()
        daemon.wait_log(f"{ROLLED_BACK}.*{LISTENER}")
        watched.await_says("good")


def test_a_worker_that_dies_leaves_the_file_from_before(watched: Watched) -> None:
    with watched.daemon() as daemon:
        wait_until(daemon.ready, 15, "ready")
        watched.put(watched.text("bad"))
        watched.served(daemon, "bad")
        os.kill(watched.haproxy.worker(), signal.SIGKILL)  # and with it its master ends
        daemon.wait_log(f"{ROLLED_BACK}.*reason=worker")
        wait_until(lambda: watched.haproxy.config.read_text() == watched.text("good"), 20, "the file from before")
        watched.haproxy.start()
        watched.await_says("good")
        wait_until(daemon.ready, 90, "ready")


def test_neither_a_reload_of_another_nor_what_a_configuration_removes_is_evidence(watched: Watched) -> None:
    with watched.daemon(CONFIG_ROLLBACK="serving") as daemon:
        wait_until(daemon.ready, 15, "ready")
        watched.put(Local.text(watched, "less"))  # neither the listener nor the backend
        watched.served(daemon, "less")
        watched.haproxy.reload()
        watched.await_proven()
        assert ROLLED_BACK not in daemon.log()


@pytest.mark.parametrize("policy", ["auto", "serving"])
def test_a_backend_that_loses_all_servers(watched: Watched, policy: str) -> None:
    with watched.daemon(CONFIG_ROLLBACK=policy) as daemon:
        wait_until(daemon.ready, 15, "ready")
        watched.put(watched.text("bad"))
        watched.served(daemon, "bad")
        watched.haproxy.runtime("set server be/s state maint")
        if policy == "serving":
            daemon.wait_log(f"{ROLLED_BACK}.*reason=backend.*be .1 before")
            watched.await_says("good")
        else:
            daemon.wait_log("nothing is rolled back.*CONFIG_ROLLBACK is not serving.*be .1 before")
            assert watched.says() == "bad"


def test_report_puts_nothing_back(watched: Watched) -> None:
    with watched.daemon(CONFIG_ROLLBACK="report") as daemon:
        wait_until(daemon.ready, 15, "ready")
        put_bad(watched, daemon, "bad")
        daemon.wait_log(f"has problems with the configuration; nothing is rolled back.*{LISTENER}")
        assert ROLLED_BACK not in daemon.log() and watched.says() == "bad"
        assert daemon.metrics().sum("configuration_rollbacks_total") == 0

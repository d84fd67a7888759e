"""A whole haproxy.cfg whose changes need no reload: a Data Plane API writes it and tells HAProxy, and what runs is read back."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig
from .test_config_secret import SOURCE, secret

# No health check says anything of servers that nobody listens at.
PLAIN = TEMPLATE.replace("  default-server inter 5s rise 2 fall 2 addr 127.0.0.1 port {fe}\n", "").replace(" check ", " ")
ADDRESS, WEIGHT = "127.0.11.1:30443", "weight 100"
WRITE = "configuration/raw.*skip_reload"


class Site:
    """What it begins with is applied, and runs."""

    def __init__(self, rig: Rig, **settings: str):
        self.rig = rig
        self.text = rig.haproxy.config.read_text()
        self.put(self.text)
        self.daemon: Daemon = rig.start(**{**SOURCE, "RESYNC_PERIOD": "30s", **settings})
        self.applied("")
        self.worker = rig.haproxy.worker()
        self.reloads = self.count_reloads()

    def put(self, text: str) -> None:
        self.text = text
        self.rig.kube.put(secret(text))

    def change(self, *pairs: tuple[str, str]) -> None:
        text = self.text
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        self.put(text)

    def applied(self, what: str) -> None:
        wait_until(lambda: what in self.rig.dataplane.file(), 20, f"{what!r} in the file")
        self.daemon.wait_ready()

    def count_reloads(self) -> int:
        return len(self.rig.dataplane.get("/reloads").json())

    def agrees(self) -> bool:
        return not self.rig.differences()

    def without_reload(self) -> bool:
        return self.count_reloads() == self.reloads and self.rig.haproxy.worker() == self.worker

    def reloaded(self) -> None:
        wait_until(lambda: self.count_reloads() > self.reloads and self.rig.haproxy.worker() != self.worker, 20, "a reload")
        self.daemon.wait_ready()
        self.worker, self.reloads = self.rig.haproxy.worker(), self.count_reloads()


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, PLAIN, request.param) as rig:
        yield Site(rig)


def test_address_weight_and_maintenance(site: Site) -> None:
    for old, new in ((ADDRESS, "127.0.11.2:30444"), (WEIGHT, "weight 7"), ("weight 7", "weight 7 disabled"),
                     ("127.0.11.2:30444", "[::1]:30445"), ("weight 7 disabled", "weight 9")):
        site.change((old, new))
        site.applied(new)
        assert site.agrees() and site.without_reload(), new
    assert site.daemon.log().count("HAProxy runs its changes without a reload") == 5


def test_several_changes_at_once(site: Site) -> None:
    site.change((ADDRESS, "127.0.11.3:30443"), (WEIGHT, "weight 5 disabled"), ("server a 127.0.0.1:9", "server a 127.0.0.2:9"))
    site.applied("127.0.0.2:9")
    assert site.agrees() and not site.rig.differences("other") and site.without_reload()

"""SPIFFE: the daemon's identity from a Workload API, and that of the Data Plane API verified by it."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.doubles.spiffe import Agent, Svid, response
from tests.harness.certificates import Authority, Pair, der, key_der
from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import Rig

grpc = pytest.importorskip("grpc")

DOMAIN = "spiffe://example.test"
OURS = f"{DOMAIN}/lb/haproxy-k8s-sync"
PLANE = f"{DOMAIN}/lb/dataplane"
OTHER = f"{DOMAIN}/lb/other"
NEEDS = "no identity from the SPIFFE Workload API"


def svid(authority: Authority, name: str, spiffe_id: str = OURS, seconds: int = 3600, bundle: tuple[Authority, ...] = ()) -> Svid:
    pair = authority.svid(name, spiffe_id, seconds)
    return Svid(spiffe_id, der(pair.certificate), key_der(pair.key), der(*(a.certificate for a in bundle or (authority,))))


class World:
    """A Data Plane API with an SVID that wants one of its clients, and an agent."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.ca = Authority(home / "pki")
        self.server, self.clients = Pair(home / "server.crt", home / "server.key"), home / "clients.crt"
        self.agent = Agent(home / "agent.sock")
        self.rig = Rig(home)
        shutil.copy(self.ca.certificate, self.clients)
        self.serve_as(self.ca.svid("plane", PLANE))
        self.rig.dataplane.serve_tls(self.server, self.clients, self.ca.client("harness"))

    def serve_as(self, pair: Pair) -> None:
        """The double reads these when it is started."""
        shutil.copy(pair.certificate, self.server.certificate)
        shutil.copy(pair.key, self.server.key)

    def be(self, name: str, **more: Any) -> None:
        self.agent.give(response([svid(self.ca, name, **more)]))

    def start(self, **more: str) -> Daemon:
        return self.rig.start(**{"SPIRE_AGENT_SOCKET": str(self.agent.socket), "SPIFFE_PEER_ID": PLANE, "RESYNC_PERIOD": "1s", **more})

    def asked(self) -> list[dict[str, Any]]:
        return [r for r in self.rig.dataplane.requests() if r["client"] != "harness"]

    def asks_as(self, client: str) -> None:
        before = len(self.asked())
        wait_until(lambda: client in {r["client"] for r in self.asked()[before:]}, 20, f"a request of {client}")

    def works(self, *nodes: int) -> None:
        self.rig.pods(*nodes)
        self.rig.wait_servers(*nodes)
        self.rig.wait_in_sync()


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    made = World(tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(made.agent.stop)
        stack.enter_context(made.rig)
        made.agent.start()
        yield made


def test_identity_is_fetched_and_used(world: World) -> None:
    world.be("one")
    daemon = world.start()
    world.works(1, 2)
    assert {r["client"] for r in world.asked()} == {"one"}
    assert [r["workload.spiffe.io"] for r in world.agent.requests()] == ["true"]
    assert re.search(f"SPIFFE identity received.*spiffe_id={OURS}", daemon.log())
    assert "level=warn" not in daemon.log() and "level=error" not in daemon.log()

"""The daemon with a real SPIRE: its identity is that of a server and an agent, and so is the Data Plane API's. What a double of the
agent can show is in test_spiffe.py."""

from __future__ import annotations

import contextlib
import pathlib
import re
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.doubles.spiffe import NOBODY
from tests.harness.certificates import Authority, Pair
from tests.harness.daemon import Daemon
from tests.harness.parts import real_spire
from tests.harness.process import wait_until
from tests.harness.spire import Spire

from .doctor import look
from .rig import Rig

DOMAIN = "spiffe://example.test"
OURS, PLANE, OTHER = (f"{DOMAIN}/lb/{name}" for name in ("haproxy-k8s-sync", "dataplane", "other"))
FOREIGN = "spiffe://foreign.test"
RENEWED = "SPIFFE identity renewed.*svid_changed=true"
SHORT_S = 10  # an agent renews it after a second or two
PATIENCE_S = 60

pytestmark = real_spire


class World:
    """A Data Plane API that has an SVID and wants one of its clients."""

    def __init__(self, home: pathlib.Path, upstream: Authority | None):
        self.spire, self.rig = Spire(home / "spire", upstream=upstream), Rig(home)
        self.server, self.clients = Pair(home / "server.crt", home / "server.key"), home / "clients.crt"

    def serve(self, spiffe_id: str = PLANE) -> None:
        """With what SPIRE gives and trusts now; the Data Plane API reads it when it is started."""
        pair = self.spire.mint("plane", spiffe_id)
        shutil.copy(pair.certificate, self.server.certificate)
        shutil.copy(pair.key, self.server.key)
        shutil.copy(self.spire.bundle(), self.clients)
        self.rig.dataplane.serve_tls(self.server, self.clients, self.spire.mint("harness", f"{DOMAIN}/harness"))

    def settings(self, **more: str) -> dict[str, str]:
        return {"SPIRE_AGENT_SOCKET": str(self.spire.socket), "SPIFFE_PEER_ID": PLANE, "RESYNC_PERIOD": "1s", **more}

    def start(self) -> Daemon:
        return self.rig.start(**self.settings())

    def works(self, *nodes: int) -> None:
        self.rig.pods(*nodes)
        self.rig.wait_servers(*nodes)
        self.rig.wait_in_sync()

    def renewed(self, daemon: Daemon, more: int = 1) -> None:
        before = renewals(daemon)
        wait_until(lambda: renewals(daemon) >= before + more, PATIENCE_S, f"{more} more renewals")


def renewals(daemon: Daemon) -> int:
    return len(re.findall(RENEWED, daemon.log()))


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[World]:
    """With "below another CA" as its parameter SPIRE's own is no root."""
    made = World(tmp_path, Authority(tmp_path / "upstream", "upstream") if hasattr(request, "param") else None)
    with contextlib.ExitStack() as stack:
        stack.callback(made.spire.stop)
        made.spire.start()
        made.serve()
        stack.enter_context(made.rig)
        yield made


def test_no_request_fails_while_the_agent_renews(world: World) -> None:
    world.spire.register(OURS, SHORT_S)
    daemon = world.start()
    world.works(1, 2)
    for i in range(3):
        world.renewed(daemon)
        world.works(*range(1, 2 + i % 4))
    assert daemon.metrics().sum("http_requests_total", code="0") == 0, "none was without an answer"
    assert {r["status"] for r in world.rig.dataplane.requests() if r["client"] != "harness"} <= {200, 201, 202, 204}
    assert "level=warn" not in daemon.log() and "level=error" not in daemon.log()


def test_agent_that_hangs_until_the_identity_has_expired(world: World) -> None:
    world.spire.register(OURS, SHORT_S)
    daemon = world.start()
    world.works(1, 2)
    world.spire.signal_agent(signal.SIGSTOP)
    daemon.wait_log("level=error .*X.509 SVID expired; nothing is sent to the Data Plane API until there is a new one", PATIENCE_S)
    daemon.wait_not_ready("SPIFFE identity: .*expired")
    world.rig.pods(1, 2, 3)
    world.spire.signal_agent(signal.SIGCONT)
    world.works(1, 2, 3)


def test_entry_that_comes_late_and_goes(world: World) -> None:
    daemon = world.start()
    daemon.wait_log(f"level=warn .*PERMISSION_DENIED: no identity is registered for this process .{NOBODY[1]}.")
    assert not [r for r in world.rig.dataplane.requests() if r["client"] != "harness"]
    world.spire.register(OURS)
    world.works(1, 2)
    world.spire.forget()
    daemon.wait_log("level=warn .*keeping the identity.*PERMISSION_DENIED", PATIENCE_S)
    world.works(1)


def test_ca_that_is_replaced(world: World) -> None:
    """The next one is trusted, then signs, then the one before is revoked."""
    world.spire.register(OURS, SHORT_S)
    daemon = world.start()
    world.works(1, 2)
    new = world.spire.prepare()
    daemon.wait_log("SPIFFE identity renewed.*bundle_changed=true", PATIENCE_S)
    old = world.spire.activate(new)
    world.serve()
    world.rig.dataplane.restart()
    world.renewed(daemon, 2)
    world.works(1, 2, 3)
    world.spire.revoke(old)
    wait_until(lambda: len(re.findall("bundle_changed=true", daemon.log())) >= 2, PATIENCE_S, "a bundle without the CA before")
    world.serve()
    world.rig.dataplane.restart()
    world.works(1)


@pytest.mark.parametrize("world", ["below another CA"], indirect=True)
def test_chains_with_an_intermediate_ca(world: World) -> None:
    """The bundle has the root alone: both sides send what is in between."""
    world.spire.register(OURS, SHORT_S)
    daemon = world.start()
    world.renewed(daemon)
    world.works(1, 2)
    assert world.spire.bundle().read_text().count("BEGIN CERTIFICATE") == 1
    assert world.server.certificate.read_text().count("BEGIN CERTIFICATE") == 2
    assert "level=warn" not in daemon.log() and "level=error" not in daemon.log()


def test_entry_with_a_federated_bundle(world: World, tmp_path: pathlib.Path) -> None:
    """The Data Plane API has an identity of that trust domain."""
    foreign, plane = Authority(tmp_path / "foreign", "foreign"), f"{FOREIGN}/dataplane"
    world.spire.trust(FOREIGN, foreign.certificate)
    world.spire.register(OURS, 3600, "-federatesWith", FOREIGN)
    world.rig.dataplane.stop()
    world.rig.dataplane.serve_tls(foreign.svid("plane", plane), world.clients, world.spire.mint("harness", f"{DOMAIN}/harness"))
    world.rig.dataplane.start()
    world.rig.start(**world.settings(SPIFFE_PEER_ID=plane))
    world.works(1, 2)


def test_doctor(world: World) -> None:
    found = look(world.rig, **world.settings())
    found.says("spiffe.agent", "fail", "PERMISSION_DENIED")
    world.spire.register(OURS)
    found = look(world.rig, **world.settings())
    found.says("spiffe.agent", "ok", "answers")
    found.says("spiffe.identity", "ok", f"{OURS} until 20")
    found.says("haproxy.identity", "ok", f"{PLANE}, as SPIFFE_PEER_ID has it")

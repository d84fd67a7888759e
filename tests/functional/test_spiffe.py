"""SPIFFE: the daemon's identity from a Workload API, and that of the Data Plane API verified by it."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.doubles.spiffe import Agent, Svid, response
from tests.doubles.spiffe.broken import BrokenAgent, frame
from tests.harness import memory
from tests.harness.certificates import Authority, Pair, der, key_der
from tests.harness.daemon import Daemon, clean_env, quick_program
from tests.harness.process import wait_until
from tests.harness.svids import svid

from .doctor import lines, look, run
from .rig import Rig, program
from .test_sandbox import trace_of_filtered, traced
from .test_secrets import all_gone, key_forms
from .wrapped import root_only, sees_memory, start_in

DOMAIN = "spiffe://example.test"
OURS = f"{DOMAIN}/lb/haproxy-k8s-sync"
PLANE = f"{DOMAIN}/lb/dataplane"
OTHER = f"{DOMAIN}/lb/other"
NEEDS = "no identity from the SPIFFE Workload API"


class World:
    """A Data Plane API with an SVID that wants one of its clients, and an agent."""

    def __init__(self, home: pathlib.Path, play: str):
        self.home = home
        self.ca = Authority(home / "pki")
        self.server, self.clients = Pair(home / "server.crt", home / "server.key"), home / "clients.crt"
        self.agent = Agent(home / "agent.sock")
        self.rig = Rig(home, play=play)
        shutil.copy(self.ca.certificate, self.clients)
        self.serve_as(self.ca.svid("plane", PLANE))
        self.rig.dataplane.serve_tls(self.server, self.clients, self.ca.client("harness"))

    def serve_as(self, pair: Pair) -> None:
        """The double reads these when it is started."""
        shutil.copy(pair.certificate, self.server.certificate)
        shutil.copy(pair.key, self.server.key)

    def be(self, name: str, **more: Any) -> None:
        self.agent.give(response([svid(self.ca, name, OURS, **more)]))

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
def world(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(tmp_path, getattr(request, "param", "3.4"))
    with contextlib.ExitStack() as stack:
        stack.callback(made.agent.stop)
        stack.enter_context(made.rig)
        made.agent.start()
        yield made


def left(daemon: Daemon) -> float:
    return daemon.metrics().sum("spiffe_svid_expiration_timestamp_seconds", spiffe_id=OURS) - time.time()


def renewals(daemon: Daemon) -> int:
    return daemon.log().count("SPIFFE identity renewed")


def status(daemon: Daemon) -> dict[str, Any]:
    return dict(json.loads(daemon.get("/status")[1]))


def identity_check(daemon: Daemon) -> dict[str, str]:
    (check,) = [c for c in status(daemon)["checks"] if c["name"] == "SPIFFE identity"]
    return dict(check)


def test_identity_is_fetched_and_used_and_shown(world: World) -> None:
    world.be("one", seconds=3000)
    daemon = world.start()
    world.works(1, 2)
    assert {r["client"] for r in world.asked()} == {"one"}
    assert [r["workload.spiffe.io"] for r in world.agent.requests()] == ["true"]
    assert re.search(f"SPIFFE identity received.*spiffe_id={OURS}", daemon.log())
    assert "level=warn" not in daemon.log() and "level=error" not in daemon.log()
    assert 2000 < left(daemon) <= 3000
    assert daemon.metrics().sum("tls_certificate_expiration_timestamp_seconds") == 0, "which are alerted of for days"
    check = identity_check(daemon)
    assert check["state"] == "ok" and check["reason"].startswith(f"{OURS} until 20")
    assert {c["certificate"] for c in status(daemon)["certificates"] if c["peer"] == world.rig.dataplane.url} == {"client", "server"}


# --- an agent that is away

def test_agent_that_comes_later(world: World) -> None:
    world.agent.stop()
    daemon = world.start()
    daemon.wait_log(f"level=warn .*SPIFFE Workload API does not answer; waiting for an identity.*{world.agent.socket}")
    daemon.wait_log(NEEDS)
    daemon.wait_not_ready("SPIFFE identity: no identity from the SPIFFE Workload API at .*SPIRE_AGENT_SOCKET")
    assert not world.asked(), "nothing goes out without an identity"
    world.be("one")
    world.agent.start()
    world.works(1, 2)
    assert {r["client"] for r in world.asked()} == {"one"}


def test_agent_that_goes_away_and_comes_back(world: World) -> None:
    world.be("one")
    daemon = world.start()
    world.works(1, 2)
    world.agent.stop()
    daemon.wait_log("level=warn .*SPIFFE Workload API does not answer; keeping the identity")
    world.rig.dataplane.restart()  # so that there are new connections
    world.works(1, 2, 3)
    check = identity_check(daemon)
    assert check["state"] == "warn" and "does not answer" in check["reason"] and daemon.ready()
    world.be("two")
    world.agent.start()
    world.asks_as("two")
    world.works(1)
    assert "SPIFFE Workload API answers again" in daemon.log()


# --- rotation

def test_no_request_fails_while_svids_are_rotated(world: World) -> None:
    world.be("c0")
    daemon = world.start()
    world.works(1, 2)
    for i in range(1, 5):
        world.be(f"c{i}")
        world.rig.pods(*range(1, 2 + i % 4))
        world.asks_as(f"c{i}")
    world.works(1, 2, 3)
    assert renewals(daemon) == 4
    assert daemon.metrics().sum("http_requests_total", code="0") == 0, "none was without an answer"
    assert {r["status"] for r in world.asked()} <= {200, 201, 202, 204}
    assert "level=warn" not in daemon.log() and "level=error" not in daemon.log()


@pytest.mark.parametrize("world", ["3.0"], indirect=True)  # each new server takes a transaction
def test_a_request_under_way_ends_as_the_one_that_it_began_as(world: World) -> None:
    world.be("one")
    daemon = world.start(RESYNC_PERIOD="1h")
    world.works(1, 2)
    world.rig.dataplane.fault({"action": "delay", "seconds": 2, "path": "."})
    world.rig.pods(1, 2, 3)
    daemon.wait_log("method=POST path=./transactions.version=2. status=201")  # the next one follows at once
    world.be("two")
    daemon.wait_log("SPIFFE identity renewed")
    assert {r["client"] for r in world.asked()} == {"one"}
    before = len(world.asked())
    wait_until(lambda: len(world.asked()) > before + 1, 20, "further requests")
    world.rig.dataplane.clear_faults()
    world.works(1, 2, 3)
    behind = daemon.log().partition("SPIFFE identity renewed")[2]
    assert re.search("Data Plane API request.*", behind)[0].split(" status=")[1].startswith("202 "), "the one under way"
    assert {r["client"] for r in world.asked()[before:]} == {"two"}
    assert daemon.metrics().sum("http_requests_total", code="0") == 0


def test_bundle_of_a_new_ca(world: World) -> None:
    """As SPIRE does it: the new CA is trusted first, then signs, then the old one goes."""
    new = Authority(world.home / "pki2", "ca2")
    one = world.ca.svid("one", OURS)

    def give(pair: Pair, *bundle: Authority) -> None:
        world.agent.give(response([Svid(OURS, der(pair.certificate), key_der(pair.key), der(*(a.certificate for a in bundle)))]))

    give(one, world.ca)
    daemon = world.start()
    world.works(1, 2)
    give(one, world.ca, new)
    daemon.wait_log("SPIFFE identity renewed.*svid_changed=false bundle_changed=true")
    world.clients.write_text(world.ca.certificate.read_text() + new.certificate.read_text())
    world.serve_as(new.svid("plane", PLANE))
    world.rig.dataplane.restart()
    world.works(1, 2, 3)
    give(new.svid("two", OURS), new)
    world.asks_as("two")
    world.works(1)


def test_what_the_bundle_has_no_more_is_not_trusted_on_an_old_connection(world: World) -> None:
    world.be("one")
    daemon = world.start()
    world.works(1, 2)
    one, new = world.ca.svid("one", OURS), Authority(world.home / "pki2", "ca2")
    world.agent.give(response([Svid(OURS, der(one.certificate), key_der(one.key), der(new.certificate))]))
    daemon.wait_log("SPIFFE identity renewed")
    daemon.wait_not_ready("is not trusted by the bundle")
    asked = len(world.asked())
    world.rig.pods(1)
    daemon.wait_log(f"level=(warn|error) .*the certificate of {PLANE} is not trusted by the bundle of {DOMAIN}: ")
    assert len(world.asked()) == asked, "a request went out to a server that is not trusted any more"
    world.be("two")
    world.rig.wait_servers(1, timeout=40)


# --- an SVID that expires

def test_expired_svid_is_not_used(world: World) -> None:
    world.be("short", seconds=6)
    daemon = world.start()
    world.works(1, 2)
    daemon.wait_log(f"level=error .*X.509 SVID expired.*spiffe_id={OURS}")
    daemon.wait_not_ready(f"SPIFFE identity: the X.509 SVID {OURS} expired at 20")
    asked = len(world.asked())
    world.rig.pods(1, 2, 3)
    daemon.wait_log(f"level=(warn|error) .*target={world.rig.dataplane.url}.*the X.509 SVID {OURS} expired at")
    assert len(world.asked()) == asked, "nothing goes out with it"
    assert left(daemon) < 0
    wait_until(lambda: len(world.agent.requests()) > 1, 30, "the agent to be asked anew")
    world.be("long")
    world.rig.wait_servers(1, 2, 3, timeout=40)
    world.works(1)


# --- who the Data Plane API is

def serve(world: World, pair: Pair) -> None:
    world.serve_as(pair)
    world.rig.dataplane.restart()


def test_wrong_peer_id(world: World) -> None:
    serve(world, world.ca.svid("plane", OTHER))
    world.be("one")
    daemon = world.start()
    daemon.wait_log(f"level=(warn|error) .*its SPIFFE ID is {OTHER}: expected {PLANE} .SPIFFE_PEER_ID.")
    assert not world.asked(), "not one request got through"
    serve(world, world.ca.svid("plane", PLANE))
    world.rig.wait_servers(1, timeout=40)
    world.works(1, 2)


def test_without_a_peer_id_the_one_that_was_seen_is_named(world: World) -> None:
    world.be("one")
    daemon = world.start(SPIFFE_PEER_ID="")
    world.works(1, 2)
    world.works(1)
    found = re.findall(f"level=warn .*target={world.rig.dataplane.url} spiffe_id={PLANE} fix=\"?SPIFFE_PEER_ID={PLANE}", daemon.log())
    assert len(found) == 1 == daemon.log().count("any SPIFFE ID of the trust domain is accepted")
    check = identity_check(daemon)
    assert check["state"] == "warn" and PLANE in check["reason"] and "SPIFFE_PEER_ID" in check["hint"]


def test_chains_with_an_intermediate_ca(world: World) -> None:
    """As with an upstream CA: the bundle has the root alone, and both sides send what is in between."""
    between = world.ca.subordinate("between")
    plane, ours = between.svid("plane", PLANE), between.svid("one", OURS)
    world.server.certificate.write_text(plane.certificate.read_text() + between.certificate.read_text())
    shutil.copy(plane.key, world.server.key)
    world.rig.dataplane.restart()
    world.agent.give(response([Svid(OURS, der(ours.certificate, between.certificate), key_der(ours.key), der(world.ca.certificate))]))
    world.start()
    world.works(1, 2)
    assert {r["client"] for r in world.asked()} == {"one"}


# --- an agent that sends rubbish

def test_a_broken_stream_leaves_the_last_identity_in_use(world: World) -> None:
    world.be("good")
    daemon = world.start()
    world.works(1, 2)
    world.agent.give(b"\x0b<html>")
    daemon.wait_log("level=warn .*keeping the identity.*the SPIFFE Workload API's answer cannot be used: .*protobuf: a group at offset 0")
    world.agent.stop()
    broken = BrokenAgent(world.agent.socket, [frame(b"", length=0xFFFFFFFF)], 0).start()
    wait_until(lambda: broken.connections > 1, 40, "another try")
    broken.stop()
    world.rig.dataplane.restart()
    world.works(1)
    world.be("better")
    world.agent.start()
    world.asks_as("better")


# --- commands, and the filter

def settings(world: World, **more: str) -> dict[str, str]:
    return {"SPIRE_AGENT_SOCKET": f"unix://{world.agent.socket}", "SPIFFE_PEER_ID": PLANE, **more}


def test_plan_and_doctor_have_an_identity_too(world: World) -> None:
    world.be("one")
    world.rig.pods(1, 2)
    env = clean_env(**world.rig.settings(**settings(world)))
    done = subprocess.run([program(), "plan"], env=env, capture_output=True, text=True, timeout=60)
    assert "n2" in done.stdout and done.returncode in (0, 2), done.stdout + done.stderr
    found = look(world.rig, **settings(world))
    found.says("spiffe.agent", "ok", "answers")
    found.says("spiffe.identity", "ok", f"{OURS} until 20")
    found.says("haproxy.identity", "ok", f"{PLANE}, as SPIFFE_PEER_ID has it")
    found.says("haproxy.tls", "ok", "certificate verified")
    assert not found.all("haproxy.certificates"), "which are to be renewed by an operator"
    found = look(world.rig, **settings(world, SPIFFE_PEER_ID=""))
    assert f"SPIFFE_PEER_ID={PLANE}" in lines(found.says("haproxy.identity", "warn", f"{PLANE}, which is not checked"))
    look(world.rig, **settings(world, SPIFFE_PEER_ID=OTHER)).says("haproxy.tls", "fail", f"its SPIFFE ID is {PLANE}: expected {OTHER}")
    world.be("old", seconds=-60)
    assert f"{OURS} expired at 20" in run(world.rig, "-o", "json", **settings(world)).stdout, "as text a moment later it may say why, too"


def test_doctor_and_plan_without_an_agent(world: World) -> None:
    world.agent.stop()
    found = look(world.rig, **settings(world))
    found.says("spiffe.agent", "fail", str(world.agent.socket))
    found.says("spiffe.identity", "skip", "needs the Workload API")
    found.says("haproxy.connection", "skip", "needs an identity, see SPIFFE")
    env = clean_env(**world.rig.settings(**settings(world)))
    done = subprocess.run([program(), "plan"], env=env, capture_output=True, text=True, timeout=60)
    assert NEEDS in done.stdout + done.stderr and done.returncode == 1


@sees_memory
def test_key_of_an_svid_that_was_renewed_is_nowhere_in_memory(world: World) -> None:
    one, two = (world.ca.svid(name, OURS) for name in ("one", "two"))

    def give(pair: Pair) -> None:
        world.agent.give(response([Svid(OURS, der(pair.certificate), key_der(pair.key), der(world.ca.certificate))]))

    give(one)
    daemon = world.rig.daemon = Daemon(world.home / "daemon", world.rig.settings(**settings(world, RESYNC_PERIOD="1s")), quick_program()).start()
    world.works(1, 2)
    forms = key_forms(one.key.read_text())
    assert memory.places(daemon.pid, forms), "this test sees none"
    give(two)
    world.asks_as("two")
    world.rig.dataplane.restart()  # connections that are kept have theirs
    world.works(1)
    all_gone(daemon, forms)
    assert "PRIVATE KEY" not in daemon.log()


@root_only
@traced
def test_the_filter_lets_the_agent_be_asked(world: World) -> None:
    world.be("one")
    trace = world.home / "trace"
    daemon = start_in(world.rig, f"exec strace -f -D -q -o {trace} $DAEMON", **settings(world, SECCOMP="true", RESYNC_PERIOD="1s"))
    world.works(1, 2)
    world.agent.stop()
    daemon.wait_log("keeping the identity")
    world.be("two")
    world.agent.start()
    world.asks_as("two")
    daemon.stop()
    trace_of_filtered(trace, 1)

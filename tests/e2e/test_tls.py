"""Mutual TLS as the real parts speak it: the Data Plane API, and a kube-apiserver that knows a user by his certificate."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import time

import pytest

from tests.harness.certificates import Authority, Pair
from tests.harness.process import wait_until
from tests.harness.spire import Spire, why_not

from .rights import NAME
from .world import World

SERVER_NAME = "haproxy.example.test"
DAY = 86400


def put(pair: Pair, certificate: pathlib.Path, key: pathlib.Path) -> None:
    """Replaces what the daemon was given."""
    for source, target in ((pair.certificate, certificate), (pair.key, key)):
        shutil.copy(source, target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)


def expires_in(world: World, certificate: str, peer: str) -> float:
    return world.daemon.metrics().sum("tls_certificate_expiration_timestamp_seconds", certificate=certificate, peer=peer) - time.time()


@pytest.mark.needs_api("TLS towards the API")
@pytest.mark.every_combination
def test_mutual_tls_with_the_data_plane_api(world: World, tmp_path: pathlib.Path) -> None:
    """By address, with a certificate for a name, by a client certificate that is renewed; the API is started again between."""
    ca, people = Authority(tmp_path / "pki"), Authority(tmp_path / "people", "people")
    server = ca.server(alternatives=f"DNS:{SERVER_NAME}")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    put(people.client("one"), certificate, key)
    world.dataplane.stop()
    world.dataplane.serve_tls(server, people.certificate, people.client("harness"))
    world.dataplane.start()
    world.serve("node-a", "node-b", HAPROXY_DATAPLANE_CA_FILE=str(ca.certificate), HAPROXY_DATAPLANE_CERT_FILE=str(certificate),
                HAPROXY_DATAPLANE_KEY_FILE=str(key), HAPROXY_DATAPLANE_SERVER_NAME=SERVER_NAME, RESYNC_PERIOD="2s")
    for which in ("ca", "client", "server"):
        assert DAY < expires_in(world, which, world.dataplane.url) <= 2 * DAY, which
    put(people.client("two", days=1), certificate, key)
    wait_until(lambda: 0 < expires_in(world, "client", world.dataplane.url) <= DAY, 20, "the renewed certificate in the metric")
    world.put_slice("node-b")
    world.expect("node-b")
    world.dataplane.restart()
    world.put_slice("node-a", "node-b")
    world.expect("node-a", "node-b")
    world.in_step()


@pytest.mark.needs_api("TLS towards the API")
@pytest.mark.one_combination
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_spire_with_the_data_plane_api(world: World, tmp_path: pathlib.Path) -> None:
    """The SVIDs of both sides are of one SPIRE; the daemon's is renewed all the while, until the agent is killed, and when it is back."""
    spire, ours, plane = Spire(tmp_path / "spire"), "spiffe://example.test/sync", "spiffe://example.test/dataplane"
    with contextlib.ExitStack() as stack:
        stack.callback(spire.stop)
        spire.start()
        spire.register(ours, seconds=10)
        world.dataplane.stop()
        world.dataplane.serve_tls(spire.mint("plane", plane), spire.bundle(), spire.mint("harness", "spiffe://example.test/harness"))
        world.dataplane.start()
        world.serve("node-a", "node-b", SPIRE_AGENT_SOCKET=str(spire.socket), SPIFFE_PEER_ID=plane, RESYNC_PERIOD="1s")
        for nodes in (("node-b",), ("node-a", "node-b")):
            renewals = world.daemon.log().count("SPIFFE identity renewed")
            wait_until(lambda: world.daemon.log().count("SPIFFE identity renewed") > renewals, 60, "a renewal")
            world.put_slice(*nodes)
            world.expect(*nodes)
        spire.lengthen(ours)
        wait_until(lambda: world.daemon.metrics().sum("spiffe_svid_expiration_timestamp_seconds") > time.time() + 600, 60, "one for an hour")
        spire.kill_agent()
        world.daemon.wait_log("SPIFFE Workload API does not answer; keeping the identity")
        world.put_slice("node-b")
        world.expect("node-b")
        spire.start_agent()
        world.daemon.wait_log("SPIFFE Workload API answers again", 60)
        world.put_slice("node-a", "node-b")
        world.expect("node-a", "node-b")
        world.in_step()
        assert world.daemon.metrics().sum("http_requests_total", code="0", target=world.dataplane.url) == 0


@pytest.mark.one_combination
def test_client_certificate_in_the_kubeconfig(world: World, tmp_path: pathlib.Path) -> None:
    """Of the user that the manifest's ServiceAccount is, so with its rights."""
    mine = world.kube.people.client(f"system:serviceaccount:{world.namespace}:{NAME}")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    put(mine, certificate, key)
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    world.serve("node-a", "node-b", KUBECONFIG=str(world.kube.kubeconfig(token="", user=user)))
    for which in ("ca", "client", "server"):
        assert DAY < expires_in(world, which, "kubernetes") <= 2 * DAY, which
    stranger = Authority(tmp_path / "strangers").client(mine.certificate.stem)
    put(stranger, certificate, key)
    world.put_slice("node-b")
    world.expect("node-b")  # watches go on
    put(mine, certificate, key)

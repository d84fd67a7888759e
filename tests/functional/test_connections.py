"""Connections are kept: while nothing fails and nothing changes, no new one is made, however many Services and HAProxies there are."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness import objects
from tests.harness.certificates import Authority
from tests.harness.process import wait_until

from .rig import NAMESPACE, TEMPLATE, Rig

SERVICES = 12
HAPROXIES = 3
RESYNCS = 4


def names() -> list[str]:
    return [f"web{i}" for i in range(SERVICES)]


@pytest.fixture(params=["plain", "TLS"])
def crowd(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> tuple[Rig, dict[str, str]]:
    """With the settings of its daemon."""
    template = TEMPLATE + "".join(f"\nbackend {name}\n  mode tcp\n" for name in names())
    if request.param == "plain":
        return Rig(tmp_path, template=template, haproxies=HAPROXIES), {}
    ca = Authority(tmp_path / "pki")
    server = ca.server()
    rig = Rig(tmp_path, template=template, haproxies=HAPROXIES, tls=(server.certificate, server.key), ca=ca.certificate)
    for pair in rig.pairs:
        pair.dataplane.serve_tls(server)
    return rig, {"HAPROXY_DATAPLANE_CA_FILE": str(ca.certificate)}


def start(rig: Rig, **settings: str) -> None:
    for name in names():
        rig.kube.put(objects.service(name, namespace=NAMESPACE))
        rig.pods(1, service=name)
    rig.start(INGRESS_SERVICES=",".join(f"{NAMESPACE}/{name}={name}" for name in names()), INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="",
              HAPROXY_BACKEND_NAME="", HAPROXY_BACKEND_PORT="", RESYNC_PERIOD="1s", **settings)
    rig.wait_in_sync(60, backends=SERVICES)


def asked(rig: Rig) -> list[int]:
    """Which connection each request came by, those of Kubernetes first; each server has ports of its own."""
    return [r["connection"] for r in rig.kube.requests()] + [r["connection"] for p in rig.pairs for r in p.dataplane.requests()]


def looks(rig: Rig) -> list[int]:
    """How often each HAProxy's file was read."""
    return [sum(r["method"] == "GET" for r in p.dataplane.requests()) for p in rig.pairs]


def test_no_new_connection_while_nothing_changes(crowd: tuple[Rig, dict[str, str]]) -> None:
    made, settings = crowd
    with made as rig:
        start(rig, LEADER_ELECT="true", LEASE_NAMESPACE=NAMESPACE, **settings)
        before, first = looks(rig), len(rig.kube.requests())
        # The first reading after all is in sync may be the one that needs a second connection.
        wait_until(lambda: all(now > was for now, was in zip(looks(rig), before)), 30, "one resync")
        known, before = set(asked(rig)), looks(rig)
        wait_until(lambda: all(now >= was + RESYNCS for now, was in zip(looks(rig), before)), 60, f"{RESYNCS} resyncs")
        wait_until(lambda: len(rig.kube.requests()) > first + 3, 60, "renewals of the Lease")
        new = [c for c in asked(rig) if c not in known]
        assert not new, f"{len(new)} requests came by {len(set(new))} new connections"
        # A watch has a connection of its own, everything else shares few.
        watches = len(rig.kube.open_watches())
        assert len({r["connection"] for r in rig.kube.requests()}) <= watches + 4


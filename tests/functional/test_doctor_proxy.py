"""`doctor` on the PROXY protocol: what real servers at a node's port expect, compared with what HAProxy sends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.daemon import clean_env
from tests.harness.ingress import KINDS, PEERS, ingress, lacks, peer
from tests.harness.process import free_port

from .rig import Rig, program

NODE = "127.0.11.1"


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig")) as made:
        made.service(policy="Local")
        yield made


@pytest.fixture(scope="module", params=["haproxy", "nginx"])
def ports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    if lacks(request.param):
        pytest.skip(lacks(request.param))
    with ingress(request.param, tmp_path_factory.mktemp(request.param), NODE) as made:
        yield made


def look(rig: Rig, port: int, **settings: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status, and the checks on the PROXY protocol by id."""
    done = subprocess.run([program(), "doctor", "-o", "json"], capture_output=True, text=True, timeout=30,
                          env=clean_env(**rig.settings(HAPROXY_BACKEND_PORT=str(port), **settings)), stdin=subprocess.DEVNULL)
    assert done.stderr == ""
    checks = json.loads(done.stdout)["checks"]
    assert not [c for c in checks if c["status"] == "fail" and not c["id"].startswith("proxy.")], checks
    return done.returncode, {c["id"]: c for c in checks if c["section"] == "proxy"}


@pytest.mark.parametrize("sent", ["false", "true"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sent_against_what_is_expected(rig: Rig, ports: dict[str, int], kind: str, sent: str) -> None:
    tls, wanted = KINDS[kind]
    status, checks = look(rig, ports[kind], HAPROXY_SEND_PROXY_V2=sent)
    nodes = checks["proxy.nodes"]
    seen = nodes["found"] + (nodes["why"] or "")
    assert f"{'with one' if wanted else 'without a PROXY header'} it answers {'TLS' if tls else 'HTTP'}" in seen
    fits = wanted == (sent == "true")
    assert (status, nodes["status"]) == ((0, "ok") if fits else (1, "fail")), nodes
    lines = [line for fix in nodes["fixes"] for line in fix["lines"]]
    if not fits:
        assert f"HAPROXY_SEND_PROXY_V2={'true' if wanted else 'false'}" in lines


@pytest.mark.parametrize("behaviour", PEERS)
def test_a_peer_that_does_not_show_it(rig: Rig, behaviour: str) -> None:
    with peer(PEERS[behaviour], NODE) as port:
        for sent, mark in (("false", "skip"), ("true", "warn")):
            status, checks = look(rig, port, HAPROXY_SEND_PROXY_V2=sent)
            assert (status, checks["proxy.nodes"]["status"]) == (0, mark), checks
            assert "unknown" in checks["proxy.nodes"]["found"]


def test_no_listener(rig: Rig) -> None:
    status, checks = look(rig, free_port(NODE))
    assert (status, checks["proxy.nodes"]["status"]) == (0, "warn")
    assert "Connection refused" in checks["proxy.nodes"]["found"]

"""Annotated Services by way of etcd, as the older system's page has it: its flags and commands, a real API server, a real etcd, and load balancers
that know nothing of Kubernetes."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.test_annotated_services import Place
from tests.e2e.test_etcd import Line
from tests.harness import http, realparts
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.etcd import Etcd, Tls, pair_of
from tests.harness.health import HealthPort
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import RealKube

OLDER_PATH = "/service-router/haproxy-config"
HOST = "east-dashboard.ds.example.com"
NODES = {"n1": "127.0.16.1", "n2": "127.0.16.2"}


class Site(Line):
    """A cluster at the one end of the line."""

    def __init__(self, home: pathlib.Path, etcd: Etcd, kube: RealKube):
        super().__init__(home, etcd, {})
        self.place = Place(home / "place", kube)
        self.of_kube = {key: value for key, value in self.place.settings().items()
                        if key in ("KUBECONFIG", "SERVICES_LABEL", "NODE_SELECTOR", "EMIT_EVENTS", "LOG_LEVEL")}

    def older(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command line that its page has."""
        tls = self.etcd.tls
        assert tls
        flags = ["--etcd-host", self.etcd.url, "--etcd-path", OLDER_PATH, "--etcd-ca-file", str(tls.authority.certificate),
                 "--etcd-client-cert-file", str(tls.client.certificate), "--etcd-client-key-file", str(tls.client.key), "--cluster", "east"]
        return subprocess.run([program(), *flags, *words], env=clean_env(**self.of_kube), capture_output=True, text=True, timeout=60)

    def served(self, port: int) -> int:
        with contextlib.suppress(OSError):
            return http.request(f"http://127.0.0.1:{port}", "GET", "/", headers={"host": HOST}).status
        return 0


@pytest.fixture
def site(tmp_path: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[Site]:
    with Etcd(realparts.PARTS["etcd-debian"](), tmp_path, Tls(tmp_path / "tls")) as etcd:
        made = Site(tmp_path, etcd, kubes["etcd"])
        for name, address in NODES.items():
            made.place.node(name, address)
        with made.ends:
            yield made
        made.place.delete("Node", [f"{made.place.namespace}-{name}" for name in NODES])


def test_the_older_page(site: Site) -> None:
    place = site.place
    port = place.service("kubernetes-dashboard", hostname="CLUSTER-dashboard.ds.example.com")
    done = site.older("apply")
    assert done.returncode == 0, done.stderr
    text = site.etcd.get(OLDER_PATH)
    assert text and f"use_backend k8s-service_{place.namespace}_kubernetes-dashboard_web-ui_backend if {{ req.hdr(host) -i {HOST} {HOST}:{place.port} }}\n" in text
    assert all(f"    server {place.namespace}-{name} {address}:{port}" in text for name, address in NODES.items())
    shown = site.older("view")
    assert shown.returncode == 0 and shown.stdout == text, shown.stderr
    # Once more: nothing is new, so nothing is written.
    before = site.etcd.get(f"{OLDER_PATH}/manifest")
    assert site.older("apply").returncode == 0 and site.etcd.get(f"{OLDER_PATH}/manifest") == before
    # A wrong word, an etcd that is not there: said, with what to do.
    wrong = site.older("apply", "--etcd-hots", "x")
    assert wrong.returncode == 64 and "--etcd-hots" in wrong.stderr
    site.etcd.stop()
    away = site.older("apply")
    assert away.returncode == 1 and "not done in time" in away.stderr and site.etcd.url in away.stderr


def test_a_producer_and_two_load_balancers(site: Site) -> None:
    place = site.place
    port = place.service("kubernetes-dashboard", hostname="CLUSTER-dashboard.ds.example.com")
    producer = Daemon(site.home / "producer", {**site.of_kube, "CONFIG_SOURCE": "services", "CONFIG_TARGET": "etcd", "CLUSTER_NAME": "east",
                                               "ETCD_ENDPOINTS": site.etcd.url, "ETCD_PATH": OLDER_PATH, **pair_of(site.etcd.tls)})
    site.ends.callback(producer.close)
    producer.start()
    lb = site.load_balancer("lb-1", {"dynamic": OLDER_PATH})
    with HealthPort(NODES, port):
        wait_until(lambda: site.served(place.port) == 200, 60, f"it is served: {producer.tail()} {lb.daemon.tail()}")
        lb.daemon.wait_ready()
        producer.wait_ready()
        worker = lb.haproxy.worker()
        # A node goes: the load balancer's HAProxy is sent commands, and not reloaded.
        place.kube.admin.delete("Node", f"{place.namespace}-n1")
        wait_until(lambda: f"server {place.namespace}-n1 " not in lb.dynamic["dynamic"].read_text(), 30, f"one less: {lb.daemon.tail()}")
        lb.daemon.wait_ready()
        assert site.served(place.port) == 200
        if lb.haproxy.can_reload_by_socket:
            assert lb.haproxy.worker() == worker, f"without a reload: {lb.daemon.tail(60)}"
        # An annotation that cannot be used is reported to its Service, and the rest goes on.
        place.service("odd", hostname="od d.example.com")
        wait_until(lambda: ("Service", "odd", "LeftOut") in place.events(), 30, f"it is told: {place.events()}")
        place.service("secret", hostname="s.example.com", use_ssl="true", ssl_certificate="secret:tls")
        wait_until(lambda: ("Service", "secret", "LeftOut") in place.events(), 30, "a key would have to be published")
        other = free_port()
        place.service("second", hostname="second.example.com", listen_port=str(other))
        wait_until(lambda: f"bind *:{other}" in lb.dynamic["dynamic"].read_text(), 30, f"another one comes: {lb.daemon.tail()}")
        assert site.served(place.port) == 200
    wait_until(lambda: site.etcd.get(f"{OLDER_PATH}/status/lb-1") and '"in_sync"' in str(site.etcd.get(f"{OLDER_PATH}/status/lb-1")), 30, "it says so")

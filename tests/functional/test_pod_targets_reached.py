"""How HAProxies that are pods are reached: over TLS, at IPv6 addresses, up to the most of them, and by the replica that leads."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .pod_site import Site, pod
from .rig import program
from .test_template_source import ingress

MOST = 64


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    """Nothing of it runs yet: a test says first where."""
    yield Site(tmp_path)


def running(site: Site, *pods: dict[str, object], **targets: str) -> Site:
    site.kube.put(ingress("one"), site.config_map(**targets), *pods)
    return site


def test_over_tls_each_by_the_name_of_its_own_address(site: Site, tmp_path: pathlib.Path) -> None:
    ca, other = Authority(tmp_path / "pki"), Authority(tmp_path / "other", "other")
    for number, (pair, authority) in enumerate(zip(site.pairs, (ca, ca, other)), 1):
        # The second one shows the certificate of another address, the third one that of an authority nobody knows.
        pair.dataplane.serve_tls(authority.server(alternatives=f"IP:127.0.12.{1 if number == 2 else number}"))
    with site:
        running(site, *(pod(number) for number in (1, 2, 3)), scheme="https")
        site.run(HAPROXY_DATAPLANE_CA_FILE=str(ca.certificate))
        assert site.daemon
        site.await_applied(1)
        assert site.has(1, 1)
        wait_until(lambda: "127.0.12.2" in site.ready_line(2) and "127.0.12.3" in site.ready_line(3), 20, "both stand there")
        for number in (2, 3):
            site.daemon.wait_log(rf"target={site.url(number)} .*[Cc]ertificate|[Cc]ertificate.* target={site.url(number)}")
            assert not site.has(number, 1)
        site.kube.put(ingress("two"))
        wait_until(lambda: site.has(1, 2), 20, "nor do they hold up the first one")


def test_at_an_ipv6_address(site: Site) -> None:
    site.pairs[1].dataplane.at("::1", site.port)
    with site:
        running(site, pod(1), pod(2, "::1"))
        site.run()
        assert site.daemon
        site.await_applied(1, 2)
        assert site.status() == {site.url(1): "lb/haproxy-1", f"http://[::1]:{site.port}": "lb/haproxy-2"}
        assert site.has(2, 1) and site.daemon.metrics().sum("configuration_applied", target=f"http://[::1]:{site.port}") == 1
        site.kube.put(pod(2, "0:0:0:0:0:0:0:1"), ingress("two"))
        wait_until(lambda: site.has(1, 2) and site.has(2, 2), 20, "however it is written")


def test_beyond_the_most_of_them_one_waits_for_its_turn(site: Site) -> None:
    with site:
        running(site, pod(1), *(pod(100 + i, f"127.0.14.{i}") for i in range(MOST - 1)), pod(999, "127.0.12.3"))
        site.run()
        assert site.daemon
        site.await_applied(1)
        assert f"{MOST} of app=haproxy in lb run; others are left out, see the log" in site.daemon.get("/readyz")[1]
        assert len(site.status()) == MOST and site.url(3) not in site.status()
        site.daemon.wait_log(r"HAProxy pods are left out: too many.* pods=1 most=64")
        site.kube.delete(pod(105, "127.0.14.5"))
        site.await_applied(3)
        assert site.has(3, 1)
        wait_until(lambda: site.status().get(site.url(3)) == "lb/haproxy-999", 20, "it is seen")
        assert len(site.status()) == MOST and "http://127.0.14.5:" not in str(site.status())
        assert "left out" not in site.daemon.get("/readyz")[1]


def test_of_two_at_one_address_one_is_a_target(site: Site) -> None:
    """As pods in the network of their node are, of which one cannot listen."""
    with site:
        running(site, pod(2), pod(1, "127.0.12.2"))
        site.run()
        site.await_applied(2)
        assert site.status() == {site.url(2): "lb/haproxy-1"}
        site.kube.delete(pod(1, "127.0.12.2"))
        wait_until(lambda: site.status() == {site.url(2): "lb/haproxy-2"}, 20, "the other one")
        site.await_applied(2)


def leads(daemon: Daemon) -> bool:
    return daemon.metrics().sum("leader") == 1


def test_the_replica_that_leads_has_them(site: Site) -> None:
    more = {"LEADER_ELECT": "true", "LEASE_NAMESPACE": "lb"}
    with site:
        running(site, pod(1))
        site.run(**more)
        first = site.daemon
        assert first
        site.await_applied(1)
        assert leads(first)
        second = Daemon(site.home / "second", site.settings(**more), program()).start()
        try:
            wait_until(lambda: "standing by for" in second.get("/readyz")[1], 20, f"the second one stands by: {second.tail()}")
            site.kube.put(pod(2))
            site.await_applied(2)
            assert json.loads(second.get("/status")[1])["haproxies"] == [], "it has none"
            workers, files = [pair.haproxy.worker() for pair in site.pairs[:2]], [pair.dataplane.file() for pair in site.pairs[:2]]
            first.stop()
            site.daemon = second
            wait_until(lambda: leads(second), 30, f"it takes over: {second.tail()}")
            site.await_applied(1, 2)
            assert [pair.haproxy.worker() for pair in site.pairs[:2]] == workers, "without a reload"
            assert [pair.dataplane.file() for pair in site.pairs[:2]] == files
            site.kube.put(pod(3), ingress("two"))
            wait_until(lambda: all(site.has(number, 2) for number in (1, 2, 3)), 30, "it goes on with all, and with a new one")
            site.await_applied(1, 2, 3)
        finally:
            site.daemon = second

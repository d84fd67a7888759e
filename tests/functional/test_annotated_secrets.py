"""Secrets that annotations name, and rights: what may not be read is not taken for nothing, and what one namespace names is its own matter."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import socket
import time
from collections.abc import Iterator

import pytest

from tests.harness import objects
from tests.harness.certificates import Pair, self_signed
from tests.harness.daemon import Daemon
from tests.harness.health import HealthPort
from tests.harness.process import free_port, wait_until

from .test_annotated_services import NODES, Site, subject_of, tls_secret
from .test_quarantine import warnings


class Secured(Site):
    """https://bank.example.com, of a Secret of the namespace `shop`."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home)
        self.node_port, self.tls = free_port(), free_port()

    def secured(self, name: str, secret: str) -> objects.Object:
        return self.service(name, self.node_port, hostname=f"{name}.example.com", use_ssl="true", listen_port=str(self.tls), ssl_certificate=f"secret:{secret}",
                            backends_use_ssl="false")

    def pair(self, name: str) -> Pair:
        return self_signed(self.home, name, alternatives="DNS:*.example.com")

    def shows(self, name: str = "bank", host: str = "bank.example.com") -> bool:
        try:
            return subject_of(self.tls, host) == name
        except OSError:
            return False

    def said(self, daemon: Daemon) -> dict[str, str]:
        return {remark["name"]: remark["text"] for remark in json.loads(daemon.get("/status")[1])["services"]["remark_list"]}


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Secured]:
    made = Secured(tmp_path)
    with made.haproxy, made.kube, HealthPort(NODES, made.node_port):
        made.kube.put(*(objects.node(name, address) for name, address in NODES.items()), tls_secret("tls", made.pair("bank")), made.secured("bank", "tls"),
                      objects.slice_("bank-1", "bank", [objects.endpoint("10.244.0.1", "n1")], namespace="shop", ports=[objects.port(8080, "web")]))
        yield made


@pytest.mark.parametrize("resource", ["services", "nodes", "endpointslices", "secrets"])
def test_a_right_that_is_missing_at_the_start(site: Secured, resource: str) -> None:
    with site.daemon() as daemon:
        wait_until(site.shows, 20, f"it is served: {daemon.tail()}")
        daemon.wait_ready()
    before = site.text()
    site.kube.forbid(resource)
    with site.daemon() as daemon:
        daemon.wait_not_ready(f"watch {resource}.*: not synced: .*403")
        site.kube.put(objects.node("n3", "127.0.11.3"))
        if resource == "secrets":  # the others go on, by the certificate of before
            wait_until(lambda: "server n3 " in site.text(), 20, f"a node: {daemon.tail()}")
        assert site.shows() and (resource == "secrets" or site.text() == before)
        site.kube.forbid()
        wait_until(lambda: "server n3 " in site.text(), 60, f"by all again: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert site.shows()
        site.kube.put(tls_secret("tls", site.pair("renewed")))
        wait_until(lambda: site.shows("renewed"), 20, f"it is read again: {daemon.tail()}")


def test_a_right_that_is_taken_away(site: Secured) -> None:
    with site.daemon() as daemon:
        wait_until(site.shows, 20, f"it is served: {daemon.tail()}")
        daemon.wait_ready()
        site.kube.forbid("secrets")
        site.kube.disconnect("secrets")
        daemon.wait_not_ready("watch secrets of shop/tls: stale, the last good state is in use: .*403")
        site.kube.put(objects.node("n3", "127.0.11.3"))
        wait_until(lambda: "server n3 " in site.text(), 20, f"others go on: {daemon.tail()}")
        assert site.shows()


def test_missing_secrets_take_nothing_away(site: Secured) -> None:
    """Some of them are watched, the others are read now and then; each is named."""
    site.kube.put(*(site.secured(f"none-{i}", f"none-{i}") for i in range(30)), tls_secret("late", site.pair("late")), site.secured("z-late", "late"))
    with site.daemon() as daemon:
        wait_until(lambda: site.shows() and site.shows("late", "z-late.example.com"), 20, f"those that exist are served: {daemon.tail()}")
        wait_until(lambda: len([name for name in site.said(daemon) if name.startswith("none-")]) == 30, 20, f"each is told: {site.said(daemon).keys()}")
        wait_until(lambda: len(site.kube.open_watches("secrets")) == 22, 20, f"some are watched: {len(site.kube.open_watches('secrets'))}")
        later = [message for message in site.said(daemon).values() if "like more than 20 others that Services of namespace shop name" in message]
        assert len(later) == 10 and all("it does not exist" in message for message in later), site.said(daemon)


def test_who_names_too_many_takes_no_shared_one_from_others(site: Secured) -> None:
    """Of the older one, with as many as a namespace may have, it is not served; the younger one is."""
    pair = site.pair("many")
    older = {"node_port": site.node_port, "use_ssl": "true", "listen_port": str(site.tls), "backends_use_ssl": "false", "namespace": "evil"}
    for i in range(201):
        site.kube.put(tls_secret(f"s{i}", pair, "evil"), site.service(f"s{i}", created=f"2025-01-01T00:{i // 60:02}:{i % 60:02}Z", hostname=f"s{i}.example.org", ssl_certificate=f"secret:s{i}", **older))
    site.kube.put(tls_secret("wild", site.pair("wild"), "shared"), site.service("last", created="2025-02-01T00:00:00Z", hostname="last.example.org", ssl_certificate="secret:shared/wild", **older))
    site.kube.put(site.secured("two", "shared/wild"))
    with site.daemon(SERVICES_SECRET_NAMESPACES="shared") as daemon:
        wait_until(lambda: site.shows("many", "s199.example.org") and site.shows("wild", "two.example.com"), 30, f"others are served: {daemon.tail()}")
        assert {name: text for name, text in site.said(daemon).items() if "more than 200 Secrets" in text}.keys() == {"s200", "last"}
        assert site.shows()


def test_a_secret_that_is_not_answered_for(site: Secured) -> None:
    """The first configuration waits for it, as what runs may have it; later it holds up no other."""
    site.kube.fault(resource="secrets", status=503, times=0)
    before = site.text()
    with site.daemon() as daemon:
        daemon.wait_not_ready("watch secrets of shop/tls: not synced: .*503")
        time.sleep(6)
        assert site.text() == before and not daemon.ready()
        site.kube.clear_faults()
        wait_until(site.shows, 30, f"it is served: {daemon.tail()}")
        daemon.wait_ready()
        site.kube.fault(resource="secrets", status=503, times=0)
        site.kube.put(tls_secret("new", site.pair("new")), site.secured("new", "new"))
        site.kube.put(site.service("plain", site.node_port, hostname="plain.example.com"))
        wait_until(lambda: site.answers("plain.example.com") == 200, 20, f"another one is served: {daemon.tail()}")
        assert site.shows() and site.said(daemon)["new"].startswith("port web: its certificate, Secret shop/new: it cannot be read: ")


@pytest.mark.parametrize("of", ["another", "shared"])
def test_who_is_served_as_before_keeps_no_certificate_of_others(site: Secured, of: str) -> None:
    """A Service that is refused, and that names another namespace's Secret, or one that all may name: others are shown as they are renewed. What no
    Secret can be called is asked of nobody."""
    with socket.create_server(("0.0.0.0", 0)) as held:

        def hostile(**more: str) -> objects.Object:
            made = site.service("e", site.node_port, namespace="evil", **{"hostname": "e.example.org", "backends_use_ssl": "false", **more})
            made["metadata"]["annotations"] |= {"haproxy-k8s-sync/none.ssl-certificate": "secret:shop/tls", "haproxy-k8s-sync/more.ssl-certificate": "secret:..%2f..%2fnodes?x=/y"}
            return made

        site.kube.put(hostile())
        with site.daemon(**{"SERVICES_SECRET_NAMESPACES": "shop"} if of == "shared" else {}) as daemon:
            wait_until(lambda: site.shows() and site.answers("e.example.org") == 200, 20, f"both are served: {daemon.tail()}")
            daemon.wait_ready()
            for renewed in ("second", "third"):
                site.kube.put(hostile(listen_port=str(held.getsockname()[1])), tls_secret("tls", site.pair(renewed)))
                wait_until(lambda shown=renewed: site.shows(shown), 20, f"{renewed} is shown: {daemon.tail()}")
                wait_until(lambda: warnings(site).get("e", "").startswith("ChangeRefused: "), 20, f"its author is told: {warnings(site)}")
                daemon.wait_ready()
                assert site.shows(renewed) and site.answers("e.example.org") == 200
    assert {r["path"] for r in site.kube.requests("secrets")} == {"/api/v1/namespaces/shop/secrets"}
    assert all(".." not in r["path"] for r in site.kube.requests())


def test_a_default_certificate_that_is_misspelt_is_nobodys_fault(site: Secured) -> None:
    """What runs stays, also where nothing is known of before; nobody is left out for it."""
    site.kube.put(site.service("plain", site.node_port, hostname="plain.example.com"))
    for state in ("kept", "none"):
        if state == "none":
            shutil.rmtree(site.home / "state")
        with site.daemon() as daemon:
            wait_until(lambda: site.shows() and daemon.ready(), 20, f"it is served: {daemon.tail()}")
        before = site.text()
        with site.daemon(SERVICES_DEFAULT_CERTIFICATE="/nowhere/typo.pem") as daemon:
            daemon.wait_not_ready("unable to .* SSL certificate from file '/nowhere/typo.pem'")
            site.kube.put(site.service("other", site.node_port, hostname=f"{state}.example.com"))
            with contextlib.suppress(AssertionError):
                wait_until(lambda: site.text() != before or warnings(site) or daemon.ready(), 3, "what runs stays")
            assert site.text() == before and not warnings(site) and not daemon.ready() and daemon.metrics().value("quarantined_objects") == 0
    good = site.pair("default")
    pem = site.home / "default.pem"
    pem.write_text(good.certificate.read_text() + good.key.read_text())
    with site.daemon(SERVICES_DEFAULT_CERTIFICATE=str(pem)) as daemon:
        wait_until(lambda: site.shows("default", "nobodys.example.org") and site.shows() and daemon.ready(), 20, f"it is repaired: {daemon.tail()}")

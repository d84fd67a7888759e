"""CONFIG_SOURCE=services for a HAProxy behind a Data Plane API: CONFIG_FILE stands before, and files are stored by it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http, objects
from tests.harness.certificates import self_signed
from tests.harness.health import HealthPort
from tests.harness.process import free_port, wait_until

from .rig import Rig
from .test_annotated_services import subject_of, tls_secret
from .test_quarantine import AS_BEFORE, NOT_HERE, REFUSED, warnings

OLD = "haproxy-kubefigurator"
NODES = {"n1": "127.0.11.1"}


class Site:
    def __init__(self, rig: Rig, home: pathlib.Path):
        self.rig, self.port, self.before = rig, free_port(), home / "before.cfg"
        self.before.write_text(rig.haproxy.config.read_text())
        rig.kube.put(objects.node("n1", "127.0.11.1"))
        self.own = rig.dataplane.dir / "storage"

    def service(self, name: str, node_port: int, **options: str) -> dict[str, Any]:
        said = {"listen-port": str(self.port), "use-ssl": "false", **{key.replace("_", "-"): value for key, value in options.items()}}
        made = objects.service(name, namespace="shop", node_ports={"web": (80, node_port)}, annotations={f"{OLD}.web.{key}": value for key, value in said.items()})
        made["metadata"] |= {"labels": {f"{OLD}.enabled": "yes"}, "creationTimestamp": "2026-01-01T00:00:00Z"}
        return made

    def start(self, **more: str) -> None:
        self.daemon = self.rig.start(**{"CONFIG_SOURCE": "services", "CONFIG_FILE": str(self.before), "CONFIG_MIN_INTERVAL": "0s", "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "",
                                        "HAPROXY_BACKEND_NAME": "", "HAPROXY_BACKEND_PORT": "", "MAX_LOSS_PERCENT": "", "RESYNC_PERIOD": "1s",
                                        "HAPROXY_STORAGE_DIR": str(self.own), **more})

    def answers(self, host: str, path: str = "/") -> int:
        return http.request(f"http://127.0.0.1:{self.port}", "GET", path, headers={"host": host}).status


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, play=request.param) as rig:
        yield Site(rig, tmp_path)


def test_names_and_paths_of_few_services_take_a_reload(site: Site) -> None:
    """Their maps are small, which the API would append to what HAProxy has."""
    port = free_port()
    site.rig.kube.put(site.service("a", port, hostname="a.example.com"))
    with HealthPort(NODES, port):
        site.start()
        wait_until(lambda: f"k8s-service_all_{site.port}_hosts.map" in site.rig.haproxy.config.read_text(), 20, f"it is written: {site.daemon.tail()}")
        site.daemon.wait_ready()
        wait_until(lambda: site.answers("a.example.com") == 200, 20, "it is served")
        worker = site.rig.haproxy.worker()
        site.rig.kube.put(site.service("a", port, hostname="new.example.com", path="/in"))
        wait_until(lambda: site.answers("new.example.com", "/in/it") == 200 and site.answers("a.example.com", "/in/it") == 503, 20, "another name, and a path")
        assert site.answers("new.example.com") == 503
        site.daemon.wait_ready()
        assert site.rig.haproxy.worker() != worker and "replaces no map of at most 8 KiB" in site.daemon.log()


def test_certificates_of_secrets_are_stored_by_the_api(site: Site, tmp_path: pathlib.Path) -> None:
    """By the names that it gives them, each kind of key where it takes it."""
    port = free_port()
    names = {"rsa.tls": "rsa", "ed": "ed25519"}
    for name, key in names.items():
        pair = self_signed(tmp_path, f"{key}.example.com", key, f"DNS:{key}.example.com")
        site.rig.kube.put(tls_secret(name, pair), site.service(key, port, hostname=f"{key}.example.com", use_ssl="true", ssl_certificate=f"secret:{name}"))
    site.start()
    name = f"k8s-service_all_{site.port}_certificates.list"
    wait_until(lambda: f"ssl crt-list {site.own}/general/{name} strict-sni\n" in site.rig.haproxy.config.read_text(), 20, f"both: {site.daemon.tail()}")
    assert (site.own / "general" / name).read_text() == f"{site.own}/general/k8s-service_shop_ed.pem ed25519.example.com\n{site.own}/ssl/k8s-service_shop_rsa_tls.pem rsa.example.com\n"
    site.daemon.wait_ready()
    assert [subject_of(site.port, f"{key}.example.com") for key in names.values()] == ["rsa.example.com", "ed25519.example.com"]
    worker = site.rig.haproxy.worker()
    pair = self_signed(tmp_path, "renewed", "rsa", "DNS:rsa.example.com")
    site.rig.kube.put(tls_secret("rsa.tls", pair))
    wait_until(lambda: subject_of(site.port, "rsa.example.com") == "renewed", 20, "it is renewed")
    site.daemon.wait_ready()
    if site.rig.dataplane.play != "3.0":
        assert site.rig.haproxy.worker() == worker, "without a reload"


def test_a_certificate_that_haproxy_refuses_leaves_the_last_good_one(site: Site, tmp_path: pathlib.Path) -> None:
    """The Secret alone changes, which two Services name; what is not on this machine cannot be checked before. Others that come meanwhile are served."""
    good, weak, renewed = (self_signed(tmp_path, name, key, "DNS:a.example.com") for name, key in (("good", "rsa"), ("weak", "weak"), ("renewed", "rsa")))
    port = free_port()
    site.rig.kube.put(tls_secret("tls", good), *(site.service(name, port, hostname=f"{name}.example.com", use_ssl="true", ssl_certificate="secret:tls") for name in "ac"))
    site.start(EMIT_EVENTS="true", STATE_DIR=str(tmp_path / "state"))
    served = lambda: {subject_of(site.port, f"{name}.example.com") for name in "ac"}  # noqa: E731
    wait_until(lambda: served() == {"good"}, 20, f"they are served: {site.daemon.tail()}")
    site.daemon.wait_ready()
    site.rig.kube.put(tls_secret("tls", weak))
    wait_until(lambda: warnings(site.rig), 30, f"its author is told: {site.daemon.tail()}")
    assert all(text.startswith(AS_BEFORE) for text in warnings(site.rig).values()) and served() == {"good"}
    site.rig.kube.put(site.service("b", port, hostname="b.example.com", listen_port=str(free_port())))
    wait_until(lambda: "backend k8s-service_shop_b_web_backend" in site.rig.haproxy.config.read_text(), 20, "another one's change")
    site.daemon.wait_ready()
    assert served() == {"good"} and site.daemon.metrics().value("quarantined_objects") == 1
    site.rig.kube.put(tls_secret("tls", renewed))
    wait_until(lambda: served() == {"renewed"}, 20, "it is repaired")
    wait_until(lambda: site.daemon.metrics().value("quarantined_objects") == 0, 10, "and refused no more")


def test_a_shared_certificate_that_haproxy_refuses_leaves_the_last_good_one(site: Site, tmp_path: pathlib.Path) -> None:
    """Services of several namespaces name it: each gets a report, and is shown as before."""
    good, weak, renewed = (self_signed(tmp_path, name, key, "DNS:a.example.com") for name, key in (("good", "rsa"), ("weak", "weak"), ("renewed", "rsa")))
    port, names = free_port(), "abcd"

    def put(*which: str, **more: str) -> None:
        for name in which:
            made = site.service(name, port, hostname=f"{name}.example.com", use_ssl="true", ssl_certificate="secret:all/tls", **more)
            site.rig.kube.put(made | {"metadata": made["metadata"] | {"namespace": f"team-{name}"}})

    put(*names)
    site.rig.kube.put(tls_secret("tls", good, "all"))
    site.start(EMIT_EVENTS="true", STATE_DIR=str(tmp_path / "state"), SERVICES_SECRET_NAMESPACES="all")
    served = lambda: {subject_of(site.port, f"{name}.example.com") for name in names}  # noqa: E731
    wait_until(lambda: served() == {"good"}, 20, f"they are served: {site.daemon.tail()}")
    site.daemon.wait_ready()
    site.rig.kube.put(tls_secret("tls", weak, "all"))
    wait_until(lambda: len(warnings(site.rig)) == len(names), 30, f"each is told: {site.daemon.tail()}")
    assert all(text.startswith(AS_BEFORE) for text in warnings(site.rig).values()) and served() == {"good"}
    site.rig.kube.put(tls_secret("tls", renewed, "all"))
    wait_until(lambda: served() == {"renewed"}, 20, "it is repaired")
    wait_until(lambda: site.daemon.metrics().value("quarantined_objects") == 0, 10, "and refused no more")


def test_what_fails_by_its_reload_alone_is_found(site: Site, tmp_path: pathlib.Path) -> None:
    """Neither the API nor `haproxy -c` sees that the machine does not have an address; another one's change is served."""
    port = free_port()
    site.rig.kube.put(site.service("a", port, hostname="a.example.com"))
    site.start(EMIT_EVENTS="true", STATE_DIR=str(tmp_path / "state"), SERVICES_ADDRESSES=f"*,{NOT_HERE}")
    text = lambda: site.rig.haproxy.config.read_text()  # noqa: E731
    wait_until(lambda: "backend k8s-service_shop_a_web_backend" in text(), 20, f"it is served: {site.daemon.tail()}")
    site.daemon.wait_ready()
    site.rig.kube.put(site.service("bad", port, hostname="bad.example.com", listen_ip=NOT_HERE, listen_port=str(free_port())), site.service("b", port, hostname="b.example.com"))
    wait_until(lambda: "bad" in warnings(site.rig), 40, f"its author is told: {site.daemon.tail()}")
    assert warnings(site.rig)["bad"].startswith(f"LeftOut: {REFUSED}") and "could not be loaded" in site.daemon.log()
    wait_until(lambda: "backend k8s-service_shop_b_web_backend" in text(), 20, "another one's change")
    site.daemon.wait_ready()
    assert NOT_HERE not in text() and site.daemon.metrics().value("quarantined_objects") == 1
    wait_until(lambda: site.answers("b.example.com") == 503, 20, "what is written runs")

"""CONFIG_SOURCE=template for HAProxies behind Data Plane APIs: files are stored by each, and templates know where."""

from __future__ import annotations

import base64
import pathlib
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import self_signed
from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .ingress_set import endpoint, endpoint_slice
from .rig import Rig, program
from .test_config_secret import SOURCE
from .test_template_source import ingress

SET = "watch:\n  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, keep: [spec]}\nmaps:\n  hosts.map: |\n    {% for i in resources.ingresses %}\n    {{ i.spec.rules[0].host }} be\n    {% endfor %}\n"
USE = "\nbackend by-template\n  mode http\n  http-request set-header x %[str(a.example),map({{ path('map', 'hosts.map') }},none)]\n"
MANY = "".join(f"z{i:04}.example be{i % 7}\n    " for i in range(1000))
"""An API replaces no map of at most 8 KiB."""


class Site:
    def __init__(self, rig: Rig):
        self.rig = rig
        self.text = rig.haproxy.config.read_text()
        self.own = rig.dataplane.dir / "storage"

    def config_map(self, front: str, more: str = "") -> dict[str, Any]:
        """more: lines of the map."""
        # Each of these HAProxies has ports of its own, the template is for one.
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates", "namespace": "lb"}, "data": {"set.yaml": SET + (f"    {more}\n" if more else ""), "haproxy.cfg.j2": self.text + front}}

    def start(self, **more: str) -> None:
        settings = {**SOURCE, "CONFIG_SOURCE": "template", "CONFIG_SECRET_NAME": "", "CONFIG_SECRET_NAMESPACE": "", "TEMPLATE_FROM": "configmap:lb/templates",
                    "HAPROXY_STORAGE_DIR": str(self.own), **more}
        self.daemon = self.rig.start(**settings)

    def shown(self) -> list[str]:
        """What HAProxy has of the map, in its order."""
        return [line.split(" ", 1)[1] for line in self.rig.haproxy.runtime(f"show map {self.own}/maps/hosts.map").splitlines() if line.strip()]


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, play=request.param) as rig:
        yield Site(rig)


def test_maps_are_stored_by_the_api(site: Site) -> None:
    """Small ones change by a reload, a large one without."""
    site.rig.kube.put(ingress("one"), site.config_map(USE))
    site.start()
    wait_until(lambda: site.shown() == ["a.example be"], 30, "the map")
    site.daemon.wait_ready()
    worker = site.rig.haproxy.worker()
    site.rig.kube.put(ingress("two", "b.example"))
    wait_until(lambda: site.shown() == ["a.example be", "b.example be"], 30, "the map grows")
    site.daemon.wait_ready()
    assert site.rig.haproxy.worker() != worker and "replaces no map of at most 8 KiB" in site.daemon.log()
    site.rig.kube.put(site.config_map(USE, MANY))
    wait_until(lambda: len(site.shown()) == 1002, 30, "the map grows by many lines")
    site.daemon.wait_ready()
    worker = site.rig.haproxy.worker()
    site.rig.kube.put(ingress("three", "c.example"))
    wait_until(lambda: "c.example be" in site.shown()[:3], 30, "one more")
    site.daemon.wait_ready()
    assert site.rig.haproxy.worker() == worker, "a large map changes without a reload"
    site.rig.kube.put(site.config_map("\n# {{ path('certificate', 'a.b.pem') }} {{ path('file', 'x') }} {{ path('map', 'hosts.map') }}\n"))
    wait_until(lambda: f"# {site.own}/ssl/a_b.pem {site.own}/general/x" in site.rig.haproxy.config.read_text(), 30, "the paths of all kinds")


def test_certificates_of_templates_over_pods_are_stored_by_the_api(site: Site, tmp_path: pathlib.Path) -> None:
    pair = self_signed(tmp_path, "shop.example")
    tls = free_port()
    text = site.text + "\nfrontend tls\n  mode http\n  bind 127.0.0.1:%d ssl{%% for name in certificates %%} crt {{ ssldir }}/{{ name }}.pem{%% endfor %%}\n\n" % tls
    data = {"services": {}, "certificates": {"shop.example": pair.certificate.read_text()}, "config": {"template": text}}
    site.rig.kube.put(*({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lb"}, "data": keys} for name, keys in data.items()))
    keys = {"shop.example": base64.b64encode(pair.key.read_bytes()).decode()}
    site.rig.kube.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "lb"}, "data": keys})
    site.start(TEMPLATE_FROM="pods:lb")
    wait_until(lambda: f" crt {site.own}/ssl/shop_example.pem\n" in site.rig.haproxy.config.read_text(), 30, "the path that it is stored by")
    site.daemon.wait_ready()
    assert ssl.get_server_certificate(("127.0.0.1", tls)).split() == pair.certificate.read_text().split()


def test_who_has_a_place_keeps_it_with_another_leader(site: Site) -> None:
    """Which reads what runs: by itself, and as its predecessor began, it would give other places."""
    rig = site.rig
    config_map = site.config_map("\nbackend places\n{% for one in resources.slices.Fetch('lb', 's')|endpoints('http')|slots(4, 'places') %}\n"
                                 "  server s{{ loop.index }} {{ one.target if one is not none else '127.0.0.1:1 disabled' }}\n{% endfor %}\n")
    config_map["data"]["set.yaml"] = "watch:\n  slices: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, index_by: [metadata.namespace, \"metadata.labels['kubernetes.io/service-name']\"]}\n"

    def pods(*numbers: int) -> None:
        rig.kube.put(endpoint_slice("s", *(endpoint(f"127.0.12.{n}", ready=True) for n in numbers), namespace="lb"))

    def places() -> list[str]:
        return [line.split()[0].removeprefix("127.0.12.").removesuffix(":8080").removesuffix("127.0.0.1:1")
                for line in (rig.all_lines("places") if "backend places" in rig.dataplane.file() else {}).values()]

    def have(*numbers: int) -> list[str]:
        wait_until(lambda: sorted(filter(None, places())) == sorted(map(str, numbers)), 30, f"{numbers} have places: {places()}")
        return places()

    def daemon(name: str) -> Daemon:
        settings = rig.settings(**{**SOURCE, "CONFIG_SOURCE": "template", "CONFIG_SECRET_NAME": "", "CONFIG_SECRET_NAMESPACE": "",
                                   "TEMPLATE_FROM": "configmap:lb/templates", "LEADER_ELECT": "true", "LEASE_NAMESPACE": "lb"})
        return Daemon(rig.home / name, settings, program())

    rig.kube.put(config_map)
    pods(5, 6, 7, 8)
    with daemon("a") as first:
        cold = have(5, 6, 7, 8)
        pods(6, 8)
        have(6, 8)
        pods(1, 6, 8)
        have(1, 6, 8)
        pods(1, 5, 6, 8)
        before = have(1, 5, 6, 8)
        assert [one for one in cold if one in ("6", "8")] and all(before[cold.index(one)] == one for one in ("6", "8"))
        worker = rig.haproxy.worker()
        with daemon("b") as second:
            wait_until(lambda: "standing by for" in second.get("/readyz")[1], 20, "the other one stands by")
            first.stop()
            pods(1, 2, 5, 8)
            after = have(1, 2, 5, 8)
            second.wait_ready()
            assert [one if one != "6" else "2" for one in before] == after and rig.haproxy.worker() == worker

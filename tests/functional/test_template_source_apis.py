"""CONFIG_SOURCE=template for HAProxies behind Data Plane APIs: files are stored by each, and templates know where."""

from __future__ import annotations

import base64
import pathlib
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import self_signed
from tests.harness.process import free_port, wait_until

from .rig import Rig
from .test_config_secret import SOURCE
from .test_template_source import ingress

SET = "watch:\n  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, keep: [spec]}\nmaps:\n  hosts.map: |\n    {% for i in resources.ingresses %}\n    {{ i.spec.rules[0].host }} be\n    {% endfor %}\n"


class Site:
    def __init__(self, rig: Rig):
        self.rig = rig
        self.text = rig.haproxy.config.read_text()
        self.own = rig.dataplane.dir / "storage"

    def config_map(self, front: str) -> dict[str, Any]:
        # Each of these HAProxies has ports of its own, the template is for one.
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates", "namespace": "lb"}, "data": {"set.yaml": SET, "haproxy.cfg.j2": self.text + front}}

    def start(self, **more: str) -> None:
        settings = {**SOURCE, "CONFIG_SOURCE": "template", "CONFIG_SECRET_NAME": "", "CONFIG_SECRET_NAMESPACE": "", "TEMPLATE_FROM": "configmap:lb/templates",
                    "HAPROXY_MAPS_DIR": str(self.own / "maps"), **more}
        self.daemon = self.rig.start(**settings)

    def shown(self) -> list[str]:
        """What HAProxy has of the map, in its order."""
        return [line.split(" ", 1)[1] for line in self.rig.haproxy.runtime(f"show map {self.own}/maps/hosts.map").splitlines() if line.strip()]


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, play=request.param) as rig:
        yield Site(rig)


def test_maps_are_stored_by_the_api_and_change_without_a_reload(site: Site) -> None:
    site.rig.kube.put(ingress("one"), site.config_map("\nbackend by-template\n  mode http\n  http-request set-header x %[str(a.example),map({{ path('map', 'hosts.map') }},none)]\n"))
    site.start()
    wait_until(lambda: site.shown() == ["a.example be"], 30, "the map")
    site.daemon.wait_ready()
    worker = site.rig.haproxy.worker()
    site.rig.kube.put(ingress("two", "b.example"))
    wait_until(lambda: site.shown() == ["a.example be", "b.example be"], 30, "the map grows")
    site.daemon.wait_ready()
    assert site.rig.haproxy.worker() == worker, "a map changes without a reload"
    site.rig.kube.put(site.config_map("\n# {{ path('certificate', 'a.b.pem') }} {{ path('file', 'x') }} {{ path('map', 'hosts.map') }}\n"))
    wait_until(lambda: "# /etc/haproxy/ssl/a_b.pem /etc/haproxy/general/x" in site.rig.haproxy.config.read_text(), 30, "the defaults of an API")


def test_certificates_of_templates_over_pods_are_stored_by_the_api(site: Site, tmp_path: pathlib.Path) -> None:
    pair = self_signed(tmp_path, "shop.example")
    tls = free_port()
    text = site.text + "\nfrontend tls\n  mode http\n  bind 127.0.0.1:%d ssl{%% for name in certificates %%} crt {{ ssldir }}/{{ name }}.pem{%% endfor %%}\n\n" % tls
    data = {"services": {}, "certificates": {"shop.example": pair.certificate.read_text()}, "config": {"template": text}}
    site.rig.kube.put(*({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lb"}, "data": keys} for name, keys in data.items()))
    keys = {"shop.example": base64.b64encode(pair.key.read_bytes()).decode()}
    site.rig.kube.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "lb"}, "data": keys})
    site.start(TEMPLATE_FROM="pods:lb", HAPROXY_CERTS_DIR=str(site.own / "ssl"))
    wait_until(lambda: f" crt {site.own}/ssl/shop_example.pem\n" in site.rig.haproxy.config.read_text(), 30, "the path that it is stored by")
    site.daemon.wait_ready()
    assert ssl.get_server_certificate(("127.0.0.1", tls)).split() == pair.certificate.read_text().split()

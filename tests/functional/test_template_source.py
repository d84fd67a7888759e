"""CONFIG_SOURCE=template: a set in a folder, objects from Kubernetes, a HAProxy of this machine that runs what comes of both."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.process import wait_until

from .rig import program
from .test_local import TEMPLATE

SET = """\
watch:
  ingresses:
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    keep: [spec]
  settings:
    apiVersion: v1
    kind: ConfigMap
    namespaces: [here, there]
    labelSelector: kind=settings
"""

# What HAProxy answers by itself, so that a request says what was rendered: the hosts of Ingresses, then what ConfigMaps have as `say`.
SAYS = "{% for i in resources.ingresses %}{% for r in i.spec.rules %}{{ r.host }} {% endfor %}{% endfor %}{% for c in resources.settings %}{{ c.data.say }} {% endfor %}"


def ingress(name: str, host: str = "a.example", namespace: str = "here", **annotations: str) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": {"rules": [{"host": host}]}}


def setting(name: str, namespace: str, kind: str = "settings", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": {"kind": kind}}, "data": data}


class Site:
    """A HAProxy that runs, the Kubernetes double, and a set that has HAProxy say the hosts of Ingresses and what ConfigMaps say."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE)
        self.first = self.haproxy.config.read_text()
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.set = home / "set"
        self.set.mkdir()
        self.settings = {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{self.set}", "HAPROXY_CONFIG_FILE": str(self.haproxy.config),
                         "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                         "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / "state"), "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug"}

    def template(self, says: str = SAYS) -> str:
        return self.first.replace('"zero"', f'"{says}"')

    def write(self, name: str, text: str) -> None:
        """As an editor does: a new file in its place."""
        fresh = self.home / "fresh"
        fresh.write_text(text)
        (self.set / name).parent.mkdir(exist_ok=True)
        fresh.rename(self.set / name)

    def daemon(self, **more: str) -> Daemon:
        return Daemon(self.home / "daemon", {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), **self.settings, **more}, program())

    def says(self) -> str:
        return http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/").text.strip()

    def await_says(self, words: str) -> None:
        wait_until(lambda: self.says() == words, 20, f"HAProxy says {words}")


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write("set.yaml", SET)
    made.write("haproxy.cfg.j2", made.template())
    with made.haproxy, made.kube:
        made.kube.put(ingress("one"), setting("s", "here", say="x"), setting("t", "there", say="y"),
                      setting("u", "elsewhere", say="never"), setting("v", "here", "other", say="never"))
        yield made


def test_what_is_rendered_runs_and_follows_its_objects(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        site.kube.put(ingress("two", "b.example", "there"))
        site.await_says("a.example b.example x y")
        site.kube.put(ingress("two", "c.example", "there"), setting("t", "there", say="z"))
        site.await_says("a.example c.example x z")
        site.kube.delete(ingress("one"), setting("s", "here"))
        site.await_says("c.example z")
        lists = {(entry["path"], entry["query"].get("labelSelector")) for entry in site.kube.requests(verb="watch")}
        assert lists == {("/apis/networking.k8s.io/v1/ingresses", None), ("/api/v1/namespaces/here/configmaps", "kind=settings"),
                         ("/api/v1/namespaces/there/configmaps", "kind=settings")}

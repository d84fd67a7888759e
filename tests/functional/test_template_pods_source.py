"""TEMPLATE_FROM=pods:lb: the four objects of an older system and pods of a cluster become the haproxy.cfg that Jinja2 made of them."""

from __future__ import annotations

import base64
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import certificates
from tests.harness.process import free_port, wait_until

from .test_template_pods import DATA, OldDict, read_cluster, rendered
from .test_template_source import Site, renders


class Place(Site):
    """The cluster of tests/data/templates/pods, with its examples in one haproxy.cfg that a HAProxy runs."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home)
        self.cluster = read_cluster()
        head = self.first[:self.first.index("frontend")]
        text = (DATA / "routes.j2").read_text().replace("global\n", head, 1) + (DATA / "stats.j2").read_text()
        self.text = text.replace("bind :80", f"bind 127.0.0.1:{self.haproxy.port}").replace("bind :443", f"bind 127.0.0.1:{free_port()}")
        self.text = self.text.replace("bind :{{", "bind 127.0.0.1:{{")
        self.cluster["env"] = [pair for pair in self.cluster["env"] if not pair.startswith("STATS_PORT=")] + [f"STATS_PORT={free_port()}"]
        self.cluster["ssldir"] = str(self.haproxy.dir / "ssl")
        self.cluster["config"]["data"] = {"template": self.text}
        self.certify("shop")
        self.certify("blog.example")
        for pod in self.cluster["pods"]:
            pod.update(apiVersion="v1", kind="Pod")
        self.settings |= {"TEMPLATE_FROM": "pods:lb", "STATISTICS_PASSWORD": self.cluster["statistics_password"]}
        self.settings |= dict(pair.split("=", 1) for pair in self.cluster["env"])

    def certify(self, name: str) -> None:
        """In place of the one that is none."""
        pair = certificates.self_signed(self.home, name)
        self.cluster["certificates"]["data"].pop("shop.example", None)
        self.cluster["certificates"]["data"][name] = pair.certificate.read_text()
        self.cluster["keys"]["data"][name] = base64.b64encode(pair.key.read_bytes().strip()).decode()

    def put_all(self) -> None:
        self.kube.put(*(self.cluster[name] for name in ("services", "certificates", "keys", "config")), *self.cluster["pods"])

    def service(self, name: str, text: str | None) -> None:
        services = self.cluster["services"]["data"]
        if text is None:
            del services[name]
        else:
            services[name] = text
        self.kube.put(self.cluster["services"])

    def template(self, text: str = "") -> str:
        return text or self.text

    def config(self, text: str) -> None:
        self.cluster["config"]["data"] = {"template": text}
        self.kube.put(self.cluster["config"])

    def pod(self, name: str) -> dict[str, Any]:
        return next(pod for pod in self.cluster["pods"] if pod["metadata"]["name"] == name)

    def expected(self, **without: str) -> str:
        """By Jinja2; a certificate is stored by the name that a Data Plane API would give it."""
        cluster = OldDict(json.loads(json.dumps(self.cluster), object_hook=OldDict))
        for kind, name in without.items():
            del cluster[kind]["data"][name]
        return rendered(cluster["config"]["data"]["template"], cluster).replace("blog.example.pem", "blog_example.pem")

    def await_expected(self, **without: str) -> None:
        text = self.expected(**without)
        wait_until(lambda: self.haproxy.config.read_text() == text, 20, f"haproxy.cfg is what Jinja2 gives\n{text}")

    def events(self) -> list[tuple[str, ...]]:
        made = [item for item in self.kube.state()["items"] if item["kind"] == "Event"]
        return sorted((e["reason"], e["involvedObject"]["kind"], e["involvedObject"]["name"], e["message"], str(e["count"])) for e in made
                      if e["reason"] in ("LeftOut", "ConfigRejected") and e["involvedObject"]["uid"])

    def watched(self) -> set[str]:
        return {entry["path"].split("/")[4] for entry in self.kube.open_watches("pods")}


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Iterator[Place]:
    made = Place(tmp_path)
    with made.haproxy, made.kube:
        yield made


def test_the_four_objects_give_what_jinja2_gives(place: Place) -> None:
    place.put_all()
    with place.daemon() as daemon:
        place.await_expected()
        wait_until(daemon.ready, 20, "ready")
        pem = (place.haproxy.dir / "ssl/blog_example.pem").read_text()
        assert pem == (place.home / "blog.example.key").read_text() + (place.home / "blog.example.crt").read_text()
        assert place.cluster["statistics_password"] in place.haproxy.config.read_text() and "DATAPLANE_PASSWORD" in place.text

        pods = place.cluster["pods"]
        starting = place.pod("web-starting")
        starting["status"] = {**place.pod("web-a")["status"], "podIP": "10.1.0.99"}
        place.kube.put(starting)
        place.await_expected()
        assert "10.1.0.99" in place.haproxy.config.read_text()
        starting["status"]["containerStatuses"] = [{"name": "c0", "ready": True}, {"name": "c1", "ready": False}]
        place.kube.put(starting)
        place.await_expected()
        assert "10.1.0.99" not in place.haproxy.config.read_text()
        pods.remove(gone := place.pod("web-a"))
        place.kube.delete(gone)
        place.await_expected()

        assert place.watched() == {"shop", "blog", "none"}
        asked = len(place.kube.requests("pods"))
        place.service("idle", None)
        place.service("more", '{"namespace": "more", "selector": "app=web", "hosts": [], "mode": "tcp", "port": 1}')
        wait_until(lambda: place.watched() == {"shop", "blog", "more"}, 20, "the watches follow")
        assert all("/namespaces/more/" in entry["path"] for entry in place.kube.requests("pods")[asked:])
        seen = json.loads(daemon.get("/status")[1])["templates"]
        assert (seen["from"], seen["watches"][0]["name"], seen["remarks"]) == ("pods:lb", "pods", 0)
        assert daemon.metrics().value("template_objects", resource="pods") == len([p for p in pods if p["metadata"]["namespace"] != "none"])


def test_a_broken_service_is_left_out_and_logged_once(place: Place) -> None:
    good = place.cluster["services"]["data"]["web"]
    place.put_all()
    with place.daemon() as daemon:
        place.await_expected()
        place.service("web", '{"namespace": "shop",')
        place.await_expected(services="web")
        assert wait_until(place.events, 20, "an Event")[0][:3] == ("LeftOut", "ConfigMap", "services")
        assert place.events()[0][3].startswith("key web: ")
        assert re.search(r'msg="part of an object is left out" kind=ConfigMap namespace=lb name=services text="key web: ', daemon.log())
        place.service("api", None)
        place.await_expected(services="web")
        assert json.loads(daemon.get("/status")[1])["templates"]["remarks"] == 1
        assert daemon.log().count("part of an object is left out") == 1 and place.events()[0][4] == "1"
        place.service("web", good)
        place.await_expected()
        wait_until(lambda: json.loads(daemon.get("/status")[1])["templates"]["remarks"] == 0, 20, "nothing is left out")


def test_without_services_or_config_what_runs_stays(place: Place) -> None:
    place.put_all()
    gone = place.pod("web-a")
    with place.daemon() as daemon:
        for name in ("services", "config"):
            place.await_expected()
            wait_until(daemon.ready, 20, "ready")
            place.kube.delete(place.cluster[name])
            wait_until(lambda: f"pods:lb: ConfigMap {name} does not exist" in daemon.get("/readyz")[1], 20, "it is missed")
            before, text = len(renders(daemon)), place.haproxy.config.read_text()
            pods = [{**gone, "metadata": {**gone["metadata"], "name": f"{name}-{round_}"}} for round_ in range(5)]
            for pod in pods:  # so that a render, if there were one, would have ended
                place.kube.put(pod)
                wait_until(lambda: f"ADDED pod shop/{pod['metadata']['name']}" in daemon.log(), 20, "the pod is there")
            assert f"{name} does not exist" in daemon.get("/readyz")[1]
            assert place.haproxy.config.read_text() == text and len(renders(daemon)) == before
            for pod in pods:
                place.kube.delete(pod)
            place.kube.put(place.cluster[name])
        place.await_expected()
        wait_until(daemon.ready, 20, "ready")


def test_halves_of_certificates_that_are_wrong_or_gone(place: Place) -> None:
    place.put_all()
    keys, halves = place.cluster["keys"], place.cluster["certificates"]
    with place.daemon() as daemon:
        place.await_expected()
        place.kube.put({**keys, "data": {**keys["data"], "shop": "%%"}})
        place.await_expected(keys="shop")
        assert re.search(r"level=warn .*shop is no base64", daemon.log())
        place.kube.put({**keys, "data": {**keys["data"], "shop": keys["data"]["blog.example"]}})  # another one's
        wait_until(lambda: re.search(r'name=certificates text="key shop: ', daemon.log()), 20, "it is named")
        place.await_expected(keys="shop")
        place.kube.put(keys)
        place.await_expected()
        place.kube.delete(keys)
        place.kube.delete(halves)
        place.cluster["keys"] = place.cluster["certificates"] = {"data": {}}
        place.await_expected()
        assert " ssl crt " not in place.haproxy.config.read_text()


def test_a_password_that_is_missing_is_an_error_where_it_is_used(place: Place) -> None:
    place.put_all()
    with place.daemon(STATISTICS_PASSWORD="") as daemon:
        wait_until(lambda: "stats.password: STATISTICS_PASSWORD is not set" in daemon.get("/readyz")[1], 20, "it is named")
        assert re.search(r"pods:lb: haproxy\.cfg:\d+:\d+: stats\.password", daemon.log()) and place.haproxy.config.read_text() == place.first
        assert wait_until(place.events, 20, "an Event")[0][:3] == ("ConfigRejected", "ConfigMap", "config")
        place.config(place.text.replace("stats.password", "'another'"))
        place.await_expected()
    (place.home / "password").write_text(place.cluster["statistics_password"] + "\n")
    with place.daemon(STATISTICS_PASSWORD="", STATISTICS_PASSWORD_FILE=str(place.home / "password")):
        place.config(place.text)
        place.await_expected()


def test_an_api_server_that_starts_changes_nothing(place: Place) -> None:
    """It refuses all until it has read its roles: what cannot be read yet is not what is not there."""
    place.put_all()
    place.kube.forbid("secrets", "pods")
    with place.daemon() as daemon:
        wait_until(lambda: "403" in daemon.get("/readyz")[1] and len(place.kube.requests("secrets")) > 1, 20, "the refusal is named, and asked again")
        assert not daemon.ready() and not renders(daemon) and place.haproxy.config.read_text() == place.first
        place.kube.forbid()
        place.await_expected()
        wait_until(daemon.ready, 20, "ready")

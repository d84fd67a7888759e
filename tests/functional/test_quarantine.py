"""Objects that HAProxy refuses a configuration for are found and left out, in a source of many authors: all others are served."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import objects, parts, realparts
from tests.harness.daemon import Daemon
from tests.harness.etcd import Etcd
from tests.harness.haproxy import HAProxy
from tests.harness.process import free_port, wait_until

from .ingress_set import endpoint, endpoint_slice, ingress_class, make, web
from .rig import program
from .test_annotated_services import NODES, STATIC, command
from .test_annotated_services import Site as Services
from .test_template_ingress_owners import OLD, YOUNG, Team, needs_haproxy, of, says
from .test_template_source import Site as Templates
from .test_template_source import setting

REFUSED = "left out until it changes, as HAProxy refuses the configuration with it: "
AS_BEFORE = "ChangeRefused: served as it was before the change, as HAProxy refuses the configuration with that: "
NOT_HERE = "203.0.113.7"


def warnings(place: Services | Templates) -> dict[str, str]:
    return {o["involvedObject"]["name"]: f"{o['reason']}: {o['message']}" for o in place.kube.state()["items"]
            if o["kind"] == "Event" and o["type"] == "Warning"}


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Services]:
    made = Services(tmp_path)
    with made.haproxy, made.kube:
        made.kube.put(*(objects.node(name, address) for name, address in NODES.items()))
        yield made


def test_what_haproxy_cannot_listen_at(site: Services) -> None:
    """The address of a listener is none of this machine: `haproxy -c` does not see it, and it is tried. It is remembered, and over when it is repaired."""
    port = free_port()
    site.kube.put(site.service("a", port, hostname="a.example.com"))
    bad = {"hostname": "bad.example.com", "listen_ip": NOT_HERE, "listen_port": str(free_port())}
    with site.daemon(SERVICES_ADDRESSES=f"*,{NOT_HERE}") as daemon:
        wait_until(lambda: site.answers("a.example.com") == 503, 20, f"it is served: {daemon.tail()}")
        site.kube.put(site.service("bad", port, namespace="evil", **bad), site.service("b", port, hostname="b.example.com"))
        wait_until(lambda: "bad" in warnings(site), 20, "its author is told")
        assert warnings(site)["bad"].startswith(f"LeftOut: {REFUSED}line ") and "cannot listen at" in warnings(site)["bad"] and "could not be loaded" not in daemon.log()
        wait_until(lambda: "backend k8s-service_shop_b_web_backend" in site.text() and daemon.ready(), 20, "another one's change, and ready")
        assert daemon.metrics().value("quarantined_objects") == 1
        assert "left out or served as before until they change, as HAProxy refuses the configuration with them (the log, their Events and /status say why): evil/bad" in daemon.get("/readyz?verbose")[1]
        rows = [r for r in json.loads(daemon.get("/status")[1])["services"]["remark_list"] if r["name"] == "bad"]
        assert [r["left_out"] for r in rows] == [True]
        status, out, said = command(site, "explain", "evil/bad", SERVICES_ADDRESSES=f"*,{NOT_HERE}")
        assert status == 0 and f"not served: {REFUSED}" in out and "/status of the daemon says what it serves as before" in said
    owners = site.home / "state" / "host-owners"
    owners.unlink()
    owners.mkdir()
    failed = daemon.log().count("configuration rejected")
    with site.daemon(SERVICES_ADDRESSES=f"*,{NOT_HERE}") as daemon:
        wait_until(daemon.ready, 20, "ready after a restart")
        for what in ("cannot read who owned which host name; now the older object does", "cannot keep who owns which host name; after a restart the older object does"):
            assert f'msg="{what}" file={owners} error="Is a directory"' in daemon.log()
        wait_until(lambda: daemon.metrics().value("quarantined_objects") == 1, 10, "it is remembered")
        assert daemon.log().count("configuration rejected") == failed
        os.kill(daemon.pid, signal.SIGHUP)
        wait_until(lambda: daemon.log().count("configuration rejected") == failed + 1 and daemon.metrics().value("quarantined_objects") == 1, 20, "it is tried on SIGHUP")
        site.kube.put(site.service("bad", port, namespace="evil", hostname="bad.example.com"))
        wait_until(lambda: "backend k8s-service_evil_bad_web_backend" in site.text() and daemon.ready(), 20, "it is repaired")
        wait_until(lambda: daemon.metrics().value("quarantined_objects") == 0, 10, "and not left out")


def test_a_host_name_stays_where_the_configmap_says(site: Services) -> None:
    """Another replica served it there before; the older Service would have it else. `explain` judges alike."""
    port = free_port()
    site.kube.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts", "namespace": "infra"}, "data": {"host-owners": "shop.example.com evil\n"}})
    for namespace, created in (("bank", "2026-01-01T00:00:00Z"), ("evil", "2026-03-01T00:00:00Z")):
        one = site.service("web", port, namespace=namespace, hostname="shop.example.com")
        one["metadata"]["creationTimestamp"] = created
        site.kube.put(one)
    known = {"HOST_OWNERS_CONFIGMAP": "hosts", "LEASE_NAMESPACE": "infra"}
    with site.daemon(**known) as daemon:
        wait_until(lambda: "backend k8s-service_evil_web_web_backend" in site.text(), 20, f"it is served: {daemon.tail()}")
        assert "k8s-service_bank_web" not in site.text()
    assert "is served for namespace evil" in command(site, "explain", "bank/web", **known)[1]
    site.kube.forbid("configmaps")
    status, _, said = command(site, "explain", "bank/web", "--timeout", "1s", **known)
    assert status == 1 and "[-]watch configmaps of infra/hosts: not synced" in said
    site.kube.forbid()
    assert "is served for namespace bank" in command(site, "explain", "evil/web", STATE_DIR=str(site.home / "none"))[1]


def test_who_gets_a_host_name_that_was_given_up_has_it_after_a_restart(site: Services) -> None:
    """Whatever comes meanwhile: also an older Service of the namespace that had it."""
    port, owners = free_port(), site.home / "state" / "host-owners"
    first, second = (site.service("web", port, namespace=namespace, hostname="shop.example.com") for namespace in ("bank", "evil"))
    first["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    site.kube.put(first, second, site.service("other", port, hostname="other.example.com"))
    slow = site.home / "slow"  # so that both changes are before one verdict
    slow.write_text(f'#!/bin/sh\nsleep 0.5\nexec {site.haproxy.binary} "$@"\n')
    slow.chmod(0o755)
    with site.daemon(HAPROXY_BIN=str(slow)) as daemon:
        wait_until(lambda: "backend k8s-service_bank_web_web_backend" in site.text() and daemon.ready(), 20, f"it is served: {daemon.tail()}")
        site.kube.put(site.service("other", port, hostname="other.example.com", backends_balance_method="leastconn"))  # which HAProxy might refuse
        site.kube.delete(first)
        wait_until(lambda: "backend k8s-service_evil_web_web_backend" in site.text() and daemon.ready(), 20, "the other has it")
        wait_until(lambda: "shop.example.com evil\n" in owners.read_text(), 5, "it is kept")
    site.kube.put(first)
    with site.daemon() as daemon:
        wait_until(daemon.ready, 20, "ready")
        assert "k8s-service_bank_web" not in site.text()


# ---- behind etcd

PATH = "/haproxy/east"


class LoadBalancer:
    """A HAProxy behind etcd, and the daemon beside it."""

    def __init__(self, home: pathlib.Path, etcd: Etcd, name: str):
        self.etcd, self.name = etcd, name
        self.haproxy = HAProxy(home / name, STATIC)
        self.dynamic = home / name / "dynamic.cfg"
        self.dynamic.write_text("# nothing yet\n")
        self.haproxy.files.append(self.dynamic)
        self.daemon = Daemon(home / f"{name}-daemon", {
            "CONFIG_SOURCE": "etcd", "ETCD_ENDPOINTS": etcd.url, "ETCD_PATH": PATH, "ETCD_NAME": name, "HAPROXY_CONFIG_FILE": str(self.dynamic),
            "HAPROXY_CHECK_FILES": f"{self.haproxy.config},{self.dynamic}", "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket),
            "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / f"{name}-state"),
            "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug"}, program())
        (home / f"{name}-state").mkdir()

    def serves(self) -> set[str]:
        return {line.split("_")[2] for line in self.dynamic.read_text().splitlines() if line.startswith("backend k8s-service_")}

    def says(self) -> dict[str, Any]:
        return json.loads(self.etcd.get(f"{PATH}/status/{self.name}") or "{}")


class Line:
    """A producer of annotated Services, and load balancers."""

    def __init__(self, home: pathlib.Path, etcd: Etcd, ends: contextlib.ExitStack):
        self.site, self.etcd, self.home, self.ends = Services(home), etcd, home, ends
        self.settings = {"CONFIG_TARGET": "etcd", "ETCD_ENDPOINTS": etcd.url, "ETCD_PATH": PATH, "RESYNC_PERIOD": "2s"}
        for name in [key for key in self.site.settings if key.startswith("HAPROXY_")]:
            del self.site.settings[name]

    def load_balancer(self, name: str) -> LoadBalancer:
        lb = LoadBalancer(self.home, self.etcd, name)
        self.ends.enter_context(lb.haproxy)
        self.ends.enter_context(lb.daemon)
        return lb

    def service(self, name: str, certificate: str = "", **options: str) -> None:
        """Each has its own port; HAProxy refuses one with a certificate that it does not have."""
        tls = {"use_ssl": "true", "ssl_certificate": certificate} if certificate else {}
        self.site.kube.put(self.site.service(name, 30000, hostname=f"{name}.example.com", listen_port=str(free_port()), **tls, **options))


@pytest.fixture
def line(tmp_path: pathlib.Path) -> Iterator[Line]:
    with parts.or_skip("no etcd here"):
        etcd = Etcd(realparts.etcd_debian(), tmp_path)
    with contextlib.ExitStack() as ends:
        ends.enter_context(etcd)
        made = Line(tmp_path, etcd, ends)
        ends.enter_context(made.site.kube)
        made.site.kube.put(*(objects.node(name, address) for name, address in NODES.items()))
        yield made


def test_load_balancers_behind_etcd(line: Line) -> None:
    """What they refuse is left out by the producer, the others' changes reach them; over a restart, too."""
    lbs = [line.load_balancer("lb-1"), line.load_balancer("lb-2")]
    line.service("a")

    def all_serve(*names: str) -> bool:
        return all(lb.serves() == set(names) and lb.says().get("state") == "in_sync" for lb in lbs)

    def left_out(daemon: Daemon) -> list[str]:
        return [r["name"] for r in json.loads(daemon.get("/status")[1])["services"]["remark_list"] if r["left_out"]]

    with line.site.daemon(**line.settings) as producer:
        wait_until(lambda: all_serve("a"), 30, f"it is served: {producer.tail()} {lbs[0].daemon.tail()}")
        line.service("bad", "nobody-has.pem", namespace="evil")
        line.service("b")
        wait_until(lambda: all_serve("a", "b"), 30, f"another one's change: {producer.tail()}")
        wait_until(lambda: producer.metrics().value("quarantined_objects") == 1, 20, f"it is found: {producer.tail()}")
        wait_until(lambda: "bad" in warnings(line.site), 20, "its author is told")
        assert warnings(line.site)["bad"].startswith(f"LeftOut: {REFUSED}") and "nobody-has.pem" in warnings(line.site)["bad"]
        assert left_out(producer) == ["bad"]
    version = json.loads(line.etcd.get(f"{PATH}/manifest") or "{}")["version"]
    with line.site.daemon(**line.settings) as producer:
        producer.wait_ready()
        line.service("c")
        wait_until(lambda: all_serve("a", "b", "c"), 30, f"a change after a restart: {producer.tail()}")
        assert left_out(producer) == ["bad"]
        assert json.loads(line.etcd.get(f"{PATH}/manifest") or "{}")["version"] == version + 1, "nothing is searched again"
        # One with a wrong HAProxy refuses all that there is.
        broken = line.load_balancer("lb-3")
        broken.haproxy.config.write_text(broken.haproxy.config.read_text() + "  no-such-word\n")
        line.service("d")
        wait_until(lambda: broken.says().get("refused") and all_serve("a", "b", "c", "d"), 30, f"a change that one refuses: {producer.tail()}")
        assert "no-such-word" in broken.says()["refused"] and left_out(producer) == ["bad"]
        assert producer.log().count("a load balancer refuses what is published; it keeps what it runs\" name=lb-3") == 1
        line.service("bad", namespace="evil")
        wait_until(lambda: all_serve("a", "b", "c", "d", "bad"), 30, f"it is repaired: {producer.tail()}")
        wait_until(lambda: producer.metrics().value("quarantined_objects") == 0, 20, "and not left out")


def test_a_producer_that_knows_nothing(line: Line) -> None:
    """What it publishes first is refused: what is to blame is searched by documents that load balancers only check, and nobody's service ends meanwhile."""
    lb = line.load_balancer("lb-1")
    names = {f"s{number}" for number in range(8)}
    for name in names:
        line.service(name)
    with line.site.daemon(**line.settings, STATE_DIR="") as producer:
        wait_until(lambda: lb.serves() == names, 30, f"all are served: {producer.tail()}")
    line.service("s3", "nobody-has.pem")
    with line.site.daemon(**line.settings, STATE_DIR="") as producer:
        wait_until(lambda: lb.serves() == names - {"s3"} and lb.says()["state"] == "in_sync", 30, f"the others are: {producer.tail()} {lb.daemon.tail()}")
        wait_until(lambda: producer.metrics().value("quarantined_objects") == 1 and "s3" in warnings(line.site), 20, "it is found")
        assert lb.daemon.log().count("configuration written") == 2 and producer.log().count("only to be checked") > 3
        assert not line.etcd.get(f"{PATH}/versions/trial")
        lb.daemon.wait_ready()
        producer.wait_ready()


# ---- what was served

def test_service_that_was_served_is_served_as_before_its_bad_change(site: Services) -> None:
    """At its host name, which another one waits for; with the nodes of now. Over a restart the host name alone is remembered."""
    node_port, bad = free_port(), {"listen_ip": NOT_HERE, "listen_port": str(free_port())}
    servers = lambda: site.text().split("backend k8s-service_team_mine_web_backend\n")[-1].split("\nbackend")[0].count("    server ")  # noqa: E731
    site.kube.put(site.service("mine", node_port, namespace="team", hostname="mine.example.com"))
    with site.daemon(SERVICES_ADDRESSES=f"*,{NOT_HERE}") as daemon:
        wait_until(lambda: site.answers("mine.example.com") == 503 and daemon.ready(), 20, f"it is served: {daemon.tail()}")
        site.kube.put(site.service("mine", node_port, namespace="team", hostname="other.example.com", **bad),
                      site.service("thief", node_port, namespace="evil", hostname="mine.example.com", created="2020-01-01T00:00:00Z"))
        wait_until(lambda: set(warnings(site)) == {"mine", "thief"} and daemon.metrics().value("quarantined_objects") == 1, 20, f"both are told: {daemon.tail()}")
        assert warnings(site)["mine"].startswith(f"{AS_BEFORE}line ")
        assert "host name mine.example.com is served for namespace team" in warnings(site)["thief"]
        rows = [r for r in json.loads(daemon.get("/status")[1])["services"]["remark_list"] if r["name"] == "mine"]
        assert [(r["left_out"], r["as_before"], r["text"].split(",")[0]) for r in rows] == [(False, True, "served as it was before the change")]
        site.kube.put(objects.node("n3", "127.0.11.3"), site.service("b", node_port, hostname="b.example.com"))
        wait_until(lambda: servers() == len(NODES) + 1 and "backend k8s-service_shop_b_web_backend" in site.text(), 20, "a node comes, and another one's change")
        assert site.answers("mine.example.com") == 503 and "evil" not in site.text() and NOT_HERE not in site.text()
    with site.daemon(SERVICES_ADDRESSES=f"*,{NOT_HERE}") as daemon:
        wait_until(lambda: warnings(site)["mine"].startswith(f"LeftOut: {REFUSED}") and daemon.ready(), 20, "what it was is not known any more")
        assert "k8s-service_team_mine" not in site.text() and "k8s-service_evil_thief" not in site.text(), "its host name is nobody else's"
        site.kube.put(site.service("mine", node_port, namespace="team", hostname="other.example.com"))
        wait_until(lambda: "k8s-service_team_mine" in site.text() and daemon.metrics().value("quarantined_objects") == 0, 20, "it is repaired")
        wait_until(lambda: "k8s-service_evil_thief" in site.text(), 20, "and has given up its host name")


@needs_haproxy
def test_ingress_that_was_served_is_served_as_before_its_bad_change(tmp_path: pathlib.Path) -> None:
    """The set ingress, without its own check of a time. Left out wholly, too, the Ingress keeps its host name: after a restart, and where
    it was never served."""
    site = Templates(tmp_path)
    own = make(tmp_path, {}, http_bind=[f"127.0.0.1:{site.haproxy.port}"], stats_socket=f"{site.haproxy.socket} mode 600 level admin expose-fd listeners",
               server_options="no-check")
    checks = own / "snippets" / "ingress-annotations.j2"
    checks.write_text(checks.read_text().replace("<= 2147483647", "> 0"))
    site.settings |= {"TEMPLATE_FROM": f"file:{own}"}
    bad = {"haproxy-k8s-sync/timeout-server": "30d"}
    with site.haproxy, site.kube, web("bank") as bank, web("moved") as moved, web("evil") as evil:
        site.kube.put(ingress_class())
        first, second = Team(site, "bank", OLD, bank), Team(site, "evil", YOUNG, evil)
        first.comes()
        with site.daemon() as daemon:
            wait_until(lambda: says(site) == "bank" and daemon.ready(), 20, f"bank is served: {daemon.tail()}")
            first.ingress["spec"]["rules"][0]["host"] = "new.example.com"
            first.comes(bad)
            second.comes()
            wait_until(lambda: first.events() and second.events(), 20, f"both are told: {daemon.tail()}")
            assert warnings(site)["i"] and any(text.startswith(AS_BEFORE.split(": ")[1]) for text in first.events())
            assert "is served for namespace bank" in second.events()[0] and says(site) == "bank"
            site.kube.put(endpoint_slice("s", endpoint("127.0.0.1"), port=moved, namespace="bank"))
            wait_until(lambda: says(site) == "moved", 20, "its pods move")
            second.ingress["spec"]["rules"].append(of("evil", "evil.example.com")["spec"]["rules"][0])
            second.comes()
            wait_until(lambda: "evil.example.com" in routes_of(site), 20, "another one's change")
            assert says(site) == "moved" and daemon.metrics().value("quarantined_objects") == 1
        for state in ("kept", "none"):
            if state == "none":
                shutil.rmtree(tmp_path / "state")
                first.ingress["spec"]["rules"][0]["host"] = "shop.example.com"
                first.comes(bad)
            with site.daemon() as daemon:
                wait_until(lambda: daemon.metrics().value("quarantined_objects") == 1 and daemon.ready(), 20, f"it is left out: {daemon.tail()}")
                wait_until(lambda: says(site) == "no route", 20, f"nobody else has its host name: {daemon.tail()}")
                second.ingress["spec"]["rules"].append(of("evil", f"{state}.example.com")["spec"]["rules"][0])
                second.comes()
                wait_until(lambda: f"{state}.example.com" in routes_of(site), 20, "another one's change")
                assert says(site) == "no route" and "shop.example.com bank\n" in (tmp_path / "state" / "host-owners").read_text()
        first.comes()
        with site.daemon():
            wait_until(lambda: says(site) == "moved", 20, "it is repaired")


def routes_of(site: Templates) -> str:
    return "".join(path.read_text() for path in (site.home / "haproxy" / "maps").iterdir())


@pytest.fixture
def templates(tmp_path: pathlib.Path) -> Iterator[Templates]:
    made = Templates(tmp_path)
    write_set(made)
    with made.haproxy, made.kube:
        yield made


# A backend for each Ingress, whose timeout a ConfigMap may have.
SET = """\
watch:
  ingresses:
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    keep: [spec]
    quarantine: {settings: spec.uses}
  settings:
    apiVersion: v1
    kind: ConfigMap
    index_by: [metadata.namespace, metadata.name]
    keep: [data]
"""
BACKENDS = """
{% for i in resources.ingresses %}
backend {{ i.metadata.name }}
  timeout server {{ (resources.settings.GetSingle(i.metadata.namespace, i.spec.uses) or {data: {}}).data.timeout|default(i.spec.timeout) }}
{% endfor %}
""".replace("{data: {}}", '{"data": {}}')


def write_set(place: Templates, more: str = "") -> None:
    place.write("set.yaml", SET)
    place.write("haproxy.cfg.j2", place.first + BACKENDS + more)


def ingress(name: str, timeout: str = "1s", uses: str = "none", namespace: str = "here") -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": namespace}, "spec": {"timeout": timeout, "uses": uses}}


def backends(place: Templates) -> set[str]:
    return {line.split()[1] for line in place.haproxy.config.read_text().splitlines() if line.startswith("backend ")}


def settled(place: Templates, daemon: Daemon, *left_out: str, served: bool = False) -> None:
    wait_until(lambda: daemon.metrics().sum("quarantined_objects") == len(left_out) and daemon.ready(), 20, f"{left_out} are left out: {daemon.tail()}")
    assert backends(place) & set(left_out) == (set(left_out) if served else set())


def test_three_of_many_at_a_first_start(templates: Templates) -> None:
    """Nothing is known of what was good: HAProxy is asked, and gets nothing before it is known what all of it takes."""
    names = {f"i{n}" for n in range(60)}
    bad = {"i0", "i31", "i59"}
    templates.kube.put(*(ingress(name, "30d" if name in bad else "1s") for name in names))
    with templates.daemon() as daemon:
        settled(templates, daemon, *bad)
        assert backends(templates) == names - bad
        said = warnings(templates)
        assert set(said) == bad and all(text.startswith(f"LeftOut: {REFUSED}line ") and "timer overflow in argument '30d'" in text for text in said.values())
        assert daemon.log().count("configuration written") == 1
        templates.kube.put(ingress("i60"))
        wait_until(lambda: "i60" in backends(templates), 20, "a change")
        assert daemon.metrics().value("template_objects_left_out", resource="ingresses") == 3


def test_what_no_object_renders_with_is_said_seldom(templates: Templates) -> None:
    """Each of them is tried and found, which takes many renders; the log has a line or two for them, not one for each."""
    templates.write("haproxy.cfg.j2", templates.first + BACKENDS.replace("i.spec.timeout)", "i.spec.nothing)"))
    names = [f"i{n}" for n in range(12)]
    templates.kube.put(*(ingress(name) for name in names))
    with templates.daemon() as daemon:
        settled(templates, daemon, *names)
        assert daemon.log().count("configuration refused; ") < 4 and daemon.metrics().sum("template_renders_total", result="failed") > 12


def test_one_comes_back_with_what_it_names(templates: Templates) -> None:
    templates.kube.put(ingress("a"), ingress("b", uses="b"), setting("b", "here", timeout="1s"))
    with templates.daemon() as daemon:
        wait_until(lambda: backends(templates) == {"a", "b"}, 20, f"both: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        templates.kube.put(setting("b", "here", timeout="30d"))
        settled(templates, daemon, "b", served=True)
        assert templates.haproxy.config.read_text().endswith("backend b\n  timeout server 1s\n")
        templates.kube.put(setting("b", "here", timeout="2s"))
        wait_until(lambda: backends(templates) == {"a", "b"}, 20, f"both again: {daemon.tail()}")
        settled(templates, daemon)


def test_no_object_is_to_blame_for_the_set(templates: Templates) -> None:
    templates.kube.put(ingress("a"), ingress("b"))
    with templates.daemon() as daemon:
        wait_until(lambda: backends(templates) == {"a", "b"}, 20, f"both: {daemon.tail()}")
        write_set(templates, "backend broken\n  timeout server 30d\n")
        wait_until(lambda: not daemon.ready(), 20, "it is refused")
        with contextlib.suppress(AssertionError):
            wait_until(lambda: backends(templates) != {"a", "b"} or daemon.metrics().sum("quarantined_objects"), 2, "what runs stays")
        assert backends(templates) == {"a", "b"} and daemon.metrics().sum("quarantined_objects") == 0 and not daemon.ready()
        rejected = daemon.log().count("configuration rejected; no HAProxy gets it")
        write_set(templates)
        wait_until(daemon.ready, 20, "it is repaired")
        templates.kube.put(ingress("b", "30d"))
        settled(templates, daemon, "b", served=True)
        assert rejected < 10


# ---- what changes all the time

@contextlib.contextmanager
def restless(place: Services | Templates, change: Callable[[int], Any]) -> Iterator[None]:
    """An object that is another one a dozen times as often as `haproxy -c` ends."""
    checker, end = place.home / "checker", threading.Event()
    checker.write_text(f'#!/bin/sh\nsleep 0.6\nexec {place.haproxy.binary} "$@"\n')
    checker.chmod(0o755)
    place.settings |= {"HAPROXY_BIN": str(checker)}
    place.kube.put(change(1))

    def changes() -> None:
        count = 1
        while not end.wait(0.05):
            place.kube.put(change(count := count + 1))
    thread = threading.Thread(target=changes)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def found_meanwhile(place: Services | Templates, daemon: Daemon, served: Callable[[], bool]) -> None:
    """Each document is out of date before it is judged, unless the next one waits for that."""
    wait_until(lambda: served() and "bad" in warnings(place) and daemon.metrics().sum("quarantined_objects") == 1, 40, f"it is found: {daemon.tail()}")
    assert set(warnings(place)) == {"bad"}


def test_services_that_change_all_the_time_put_off_no_search(site: Services) -> None:
    node_port = free_port()
    site.kube.put(site.service("a", node_port, hostname="a.example.com"))
    with restless(site, lambda count: site.service("busy", node_port, namespace="busy", hostname=f"h{count}.example.com")):
        with site.daemon(SERVICES_ADDRESSES=f"*,{NOT_HERE}") as daemon:
            wait_until(lambda: "backend k8s-service_shop_a_web_backend" in site.text(), 20, f"it is served: {daemon.tail()}")
            site.kube.put(site.service("b", node_port, hostname="b.example.com"),
                          site.service("bad", node_port, namespace="evil", hostname="bad.example.com", listen_ip=NOT_HERE, listen_port=str(free_port())))
            found_meanwhile(site, daemon, lambda: "backend k8s-service_shop_b_web_backend" in site.text())


def test_objects_of_templates_that_change_all_the_time_put_off_no_search(templates: Templates) -> None:
    templates.kube.put(ingress("a"))
    with restless(templates, lambda count: ingress("busy", f"{count}ms", namespace="busy")), templates.daemon() as daemon:
        wait_until(lambda: "a" in backends(templates), 20, f"it is served: {daemon.tail()}")
        templates.kube.put(ingress("b"), ingress("bad", "30d", namespace="evil"))
        found_meanwhile(templates, daemon, lambda: "b" in backends(templates))

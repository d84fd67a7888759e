"""CONFIG_SOURCE=services: annotated NodePort Services become frontends and backends of a HAProxy of this machine."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http, objects
from tests.harness.certificates import Pair, self_signed
from tests.harness.daemon import Daemon, clean_env
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.health import HealthPort
from tests.harness.kube import KubeDouble
from tests.harness.process import free_port, wait_until

from .rig import program

# The operator's part; what the daemon owns stands behind it in a file of its own.
STATIC = PLAIN + "  default-server maxconn 77\n"
DYNAMIC = "# nothing yet\n"
OLD = "haproxy-kubefigurator"
OWN = "haproxy-k8s-sync/"
ENABLED = {f"{OLD}.enabled": "yes"}


class Site:
    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", STATIC)
        self.dynamic = home / "haproxy" / "dynamic.cfg"
        self.dynamic.write_text(DYNAMIC)
        self.haproxy.files.append(self.dynamic)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.certificates = home / "certs"
        self.certificates.mkdir()
        self.port = free_port()
        self.settings = {"CONFIG_SOURCE": "services", "HAPROXY_CONFIG_FILE": str(self.dynamic), "HAPROXY_CHECK_FILES": f"{self.haproxy.config},{self.dynamic}",
                         "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                         "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / "state"), "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug",
                         "EMIT_EVENTS": "true", "CLUSTER_NAME": "east", "SERVICES_CERTIFICATES_DIR": str(self.certificates)}

    def daemon(self, **more: str) -> Daemon:
        return Daemon(self.home / "daemon", {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), **self.settings, **more}, program())

    def service(self, name: str, node_port: int, created: str = "2026-01-01T00:00:00Z", namespace: str = "shop", port: str = "web", **options: str) -> dict[str, Any]:
        """options: as keywords, "_" for "-"; those of the older system. HTTP at the site's port without TLS, unless they say otherwise."""
        said = {"listen-port": str(self.port), "use-ssl": "false", **{key.replace("_", "-"): value for key, value in options.items()}}
        made = objects.service(name, namespace=namespace, node_ports={port: (80, node_port)},
                               annotations={f"{OLD}.{port}.{key}": value for key, value in said.items() if value})
        made["metadata"] |= {"labels": ENABLED, "creationTimestamp": created}
        return made

    def answers(self, host: str, path: str = "/") -> int:
        return http.request(f"http://127.0.0.1:{self.port}", "GET", path, headers={"host": host}).status

    def list_of(self, port: int) -> pathlib.Path:
        """Of the certificates of what listens there."""
        return self.home / "haproxy" / "general" / f"k8s-service_all_{port}_certificates.list"

    def text(self) -> str:
        return self.dynamic.read_text()


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with made.haproxy, made.kube:
        made.kube.put(objects.node("n1", "127.0.11.1"), objects.node("n2", "127.0.11.2"))
        yield made


NODES = {"n1": "127.0.11.1", "n2": "127.0.11.2"}


def test_what_is_annotated_is_served(site: Site) -> None:
    """The old system's example, and a path of another Service: names, defaults and CLUSTER as they were."""
    port, empty = free_port(), free_port()
    site.kube.put(site.service("dashboard", port, hostname="CLUSTER-dashboard.example.com"),
                  site.service("api", empty, hostname="east-dashboard.example.com", path="/v1", backends_balance_method="leastconn"))
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("east-dashboard.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert site.answers(f"EAST-dashboard.example.com:{site.port}", "/v11") == 200
        assert site.answers("east-dashboard.example.com", "/v1/a") == 503, "nobody listens behind the other one"
        assert site.answers("other.example.com") == 503
        text = site.text()
        assert f"frontend k8s-service_all_{site.port}_listen\n" in text and f"    bind *:{site.port}\n" in text
        assert f"    server n1 127.0.11.1:{port}\n    server n2 127.0.11.2:{port}\n" in text.split("backend k8s-service_shop_dashboard_web_backend\n")[1]
        assert "    balance leastconn\n" in text.split("backend k8s-service_shop_api_web_backend\n")[1]
        metrics = daemon.metrics()
        assert metrics.sum("annotated_ports", state="served") == 2 and metrics.sum("annotated_ports", state="refused") == 0


def test_services_and_nodes_come_and_go(site: Site) -> None:
    """Neither a node that goes nor one that comes costs a reload where a HAProxy can be sent commands: the words of the operator's defaults, which
    stand in another file, go with the new one."""
    port = free_port()
    site.kube.put(site.service("a", port, hostname="a.example.com"))
    with HealthPort({"n1": "127.0.11.1", "n3": "127.0.11.3"}, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("a.example.com") == 200, 20, "it is served")
        wait_until(daemon.ready, 20, "ready")
        worker = site.haproxy.worker()
        site.kube.put(objects.node("n3", "127.0.11.3"))
        wait_until(lambda: "server n3 " in site.text() and "n3" in site.haproxy.servers("k8s-service_shop_a_web_backend"), 20, "another node")
        wait_until(daemon.ready, 20, "ready")
        if site.haproxy.can_reload_by_socket:
            assert site.haproxy.worker() == worker, f"it was sent: {daemon.tail()}"
        lines = [line.split(",") for line in site.haproxy.runtime("show stat").splitlines() if ",n3," in line or line.startswith("# ")]
        assert lines[1][lines[0].index("slim")] == "77", f"as the operator's defaults have it: {lines}"
        site.kube.delete(objects.node("n1", "127.0.11.1"))
        wait_until(lambda: "server n1 " not in site.text(), 20, "one less")
        wait_until(lambda: "n1" not in site.haproxy.servers("k8s-service_shop_a_web_backend"), 20, "in HAProxy, too")
        wait_until(lambda: site.answers("a.example.com") == 200, 10, "it is served by n3")
        if site.haproxy.can_reload_by_socket:
            assert site.haproxy.worker() == worker, "without a reload"
        site.kube.put(site.service("b", port, hostname="b.example.com"))
        wait_until(lambda: site.answers("b.example.com") == 200, 20, "another Service")
        site.kube.delete(site.service("a", port))
        wait_until(lambda: site.answers("a.example.com") == 503 and site.answers("b.example.com") == 200, 20, "it goes alone")
        site.kube.delete(site.service("b", port))
        daemon.wait_not_ready("no Service has the label haproxy-kubefigurator.enabled=yes .SERVICES_LABEL.; what runs stays")
        assert site.answers("b.example.com") == 200, "the last one stays, as with a label that is misspelt"


def test_names_and_paths_change_in_the_running_haproxy(site: Site) -> None:
    """They stand in maps: another host name, path or redirect of a backend that is there is no reload. Another backend is one."""
    port, tls = free_port(), free_port()
    pair = self_signed(site.home, "any.example.com", alternatives="DNS:*.example.com")
    (site.certificates / "any.pem").write_text(pair.certificate.read_text() + pair.key.read_text())
    site.kube.put(site.service("a", port, hostname="a.example.com"), site.service("b", port, hostname="b.example.com"))
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("a.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        worker, text = site.haproxy.worker(), site.text()
        site.kube.put(site.service("a", port, hostname="New.example.com"))
        wait_until(lambda: site.answers("new.example.com") == 200 and site.answers("a.example.com") == 503, 20, "another name")
        assert site.answers(f"new.example.com:{site.port}") == 200 and site.answers("new.example.com:1") == 503 and site.answers("new.example.com/x") >= 400
        site.kube.put(site.service("a", port, hostname="new.example.com", path="/in"))
        wait_until(lambda: site.answers("new.example.com", "/other") == 503, 20, "a path")
        assert [site.answers("new.example.com", path) for path in ("/in", "/in/", "/in/a?b=/c", "/inn", "/")] == [200, 200, 200, 503, 503]
        site.kube.put(site.service("b", port, hostname="new.example.com"))
        wait_until(lambda: site.answers("new.example.com", "/other") == 200 and site.answers("b.example.com") == 503, 20, "the rest is the other one's")
        wait_until(daemon.ready, 20, "ready")
        assert site.text() == text, "haproxy.cfg is the same"
        assert site.haproxy.worker() == worker, f"without a reload: {daemon.tail()}"
        site.kube.put(site.service("c", port, hostname="c.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate="any.pem"))
        wait_until(lambda: "backend k8s-service_shop_c_web_backend\n" in site.text(), 20, "another backend stands in haproxy.cfg")
        wait_until(daemon.ready, 20, "ready")
        assert site.haproxy.worker() != worker


def may_listen_at(address: str, port: int) -> bool:
    with socket.socket() as s:
        with contextlib.suppress(OSError):
            s.bind((address, port))
            return True
    return False


def test_redirects_change_in_the_running_haproxy(site: Site) -> None:
    if not may_listen_at("127.0.12.1", 80):
        pytest.skip("redirects are from port 80, which this user may not listen at")
    port, tls = free_port(), free_port()
    pair = self_signed(site.home, "any.example.com", alternatives="DNS:*.example.com")
    (site.certificates / "any.pem").write_text(pair.certificate.read_text() + pair.key.read_text())

    def put(name: str, **more: str) -> None:
        options = {"hostname": f"{name}.example.com", "use_ssl": "true", "listen_port": str(tls), "listen_ip": "127.0.12.1", "ssl_certificate": "any.pem"}
        site.kube.put(site.service(name, port, **{**options, **more}))

    def goes_to(host: str, path: str = "/") -> str:
        with contextlib.suppress(OSError):
            return http.request("http://127.0.12.1:80", "GET", path, headers={"host": host}).headers.get("location", "")
        return "nobody listens"

    put("a", http_redirect="true")
    put("b")
    with site.daemon(SERVICES_ADDRESSES="127.0.12.1") as daemon:
        wait_until(lambda: goes_to("A.example.com:80", "/x?y=//z") == f"https://a.example.com:{tls}/x?y=//z", 20, f"the first one: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        worker = site.haproxy.worker()
        assert not goes_to("b.example.com")
        put("b", http_redirect="true", path="/below")
        wait_until(lambda: goes_to("b.example.com", "/below/it") == f"https://b.example.com:{tls}/below/it", 20, "the other one, too")
        assert not goes_to("b.example.com") and not goes_to("a.example.com/x")
        put("b")
        wait_until(lambda: not goes_to("b.example.com", "/below/it"), 20, "it goes")
        wait_until(daemon.ready, 20, "ready")
        assert site.haproxy.worker() == worker, f"without a reload: {daemon.tail()}"


def test_what_changes_nothing_is_given_once(site: Site) -> None:
    port = free_port()
    site.kube.put(site.service("a", port, hostname="a.example.com"))
    with site.daemon(RESYNC_PERIOD="1s") as daemon:
        wait_until(daemon.ready, 20, f"ready: {daemon.tail()}")
        for value in ("roundrobin", "", "roundrobin"):  # the default, said and not said
            site.kube.put(site.service("a", port, hostname="a.example.com", backends_balance_method=value))
        site.kube.put(site.service("a", port, hostname="a.example.com", backends_balance_method="leastconn"))
        wait_until(lambda: "balance leastconn" in site.text(), 20, "what has an effect")
        wait_until(daemon.ready, 20, "ready")
        assert daemon.log().count('msg="configuration changed"') == 2
        site.kube.delete(site.service("a", port))
        daemon.wait_not_ready("no Service has the label ")
        site.kube.put(site.service("a", port, hostname="a.example.com", backends_balance_method="leastconn"))
        wait_until(daemon.ready, 20, "the same again is good again")


def test_a_part_that_stands_before(site: Site) -> None:
    """CONFIG_FILE: it is followed, and what is made of Services stands behind it."""
    port, before = free_port(), site.home / "before.cfg"
    before.write_text("backend first\n")
    site.kube.put(site.service("a", port, hostname="a.example.com"))
    with site.daemon(CONFIG_FILE=str(before)) as daemon:
        wait_until(lambda: site.text().startswith("backend first\n# By haproxy-k8s-sync") and "k8s-service_shop_a_web_backend" in site.text(), 20, f"both: {daemon.tail()}")
        fresh = site.home / "fresh.cfg"
        fresh.write_text("backend second")
        fresh.rename(before)
        wait_until(lambda: site.text().startswith("backend second\n# By haproxy-k8s-sync"), 20, "it is followed")
        before.unlink()
        daemon.wait_not_ready(str(before))
        wait_until(lambda: site.answers("a.example.com") == 503, 20, "what was written runs, too")
        assert "k8s-service_shop_a_web_backend" in site.text(), "what runs stays"
        fresh.write_text("backend second")
        fresh.rename(before)
        wait_until(daemon.ready, 20, "as it was")


def test_all_in_one_file_a_node_comes_without_a_reload(tmp_path: pathlib.Path) -> None:
    site, before, port = Site(tmp_path), tmp_path / "before.cfg", free_port()
    for path in (before, site.dynamic):
        path.write_text(site.haproxy.config.read_text())
    site.haproxy.files = [site.dynamic]
    with site.haproxy, site.kube:
        site.kube.put(objects.node("n1", "127.0.11.1"), site.service("a", port, hostname="a.example.com"))
        with site.daemon(CONFIG_FILE=str(before), HAPROXY_CHECK_FILES="") as daemon:
            wait_until(lambda: "server n1 " in site.text(), 20, f"it is served: {daemon.tail()}")
            wait_until(daemon.ready, 20, "ready")
            worker = site.haproxy.worker()
            site.kube.put(objects.node("n2", "127.0.11.2"))
            wait_until(lambda: "server n2 " in site.text() and "n2" in site.haproxy.servers("k8s-service_shop_a_web_backend"), 20, "another node")
            wait_until(daemon.ready, 20, "ready")
            if site.haproxy.can_reload_by_socket:
                assert site.haproxy.worker() == worker, "without a reload"


def test_who_is_wrong_is_reported_and_the_rest_goes_on(site: Site) -> None:
    port = free_port()
    site.kube.put(site.service("good", port, hostname="good.example.com"),
                  site.service("younger", port, created="2026-02-01T00:00:00Z", hostname="good.example.com"),
                  site.service("typo", port, hostname="typo.example.com", bakcends_use_ssl="true"),
                  site.service("space", port, hostname="a b.example.com"),
                  site.service("quote", port, hostname="a\"\n  server x 1.2.3.4:5\n.example.com"),
                  site.service("range", port, hostname="range.example.com", listen_port="70000"),
                  site.service("tls", port, hostname="tls.example.com", use_ssl="true"),
                  site.service("tcp", port, hostname="", haproxy_mode="tcp", created="2026-03-01T00:00:00Z"),
                  site.service("escape", port, hostname="e.example.com", use_ssl="true", ssl_certificate="../../shadow"))
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("good.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        assert site.answers("typo.example.com") == 200
        def events() -> dict[str, str]:
            found = [item for item in site.kube.state()["items"] if item["kind"] == "Event"]
            return {event["involvedObject"]["name"]: f"{event['reason']}: {event['message']}" for event in found}
        wait_until(lambda: len(events()) == 8, 20, f"each is told: {events()}")
        said = events()
        assert "are those of Service shop/good, which is older or was served before" in said["younger"]
        assert said["typo"].startswith("AnnotationIgnored: ") and "did you mean " in said["typo"] and ", backends-use-ssl?" in said["typo"]
        assert 'is "a b.example.com": expected a DNS name' in said["space"] and "expected a port from 1 to 65535" in said["range"]
        assert "its certificate is not there" in said["tls"] and "it is HTTP by Service shop/good" in said["tcp"]
        assert "expected a file's path below SERVICES_CERTIFICATES_DIR" in said["escape"]
        assert "server x" not in site.text() and all(reason.startswith("LeftOut") for name, reason in said.items() if name != "typo")
        assert daemon.metrics().sum("annotated_ports", state="refused") == 7
        site.kube.delete(site.service("good", port))
        wait_until(lambda: "backend k8s-service_shop_younger_web_backend" in site.text(), 20, "the younger one has it now")


BAD_HOSTS = {"blank": "a b.example", "tab": "a\t.example", "quote": 'a".example', "single": "a'.example", "umlaut": "\u00e4.example", "wide": "\uff41.example", "arrow": "a\u202e.example",
             "comment": "a#.example", "path": "a.example/x", "port": "a.example:80", "star": "*.example", "brace": "a} { path /", "escape": "a\\ .example", "dollar": "${HOME}.example",
             "format": "%[src].example", "line": "a.example\n  server x 192.0.2.1:80", "nul": "a\0.example", "long": "a" * 5000, "empty": ""}


def test_host_names_that_are_none(site: Site) -> None:
    """Each is refused by itself, logged in a line that shows nothing raw, and adds nothing to haproxy.cfg and the maps."""
    port = free_port()
    site.kube.put(site.service("good", port, hostname="good.example.com"))
    for name, host in BAD_HOSTS.items():
        made = site.service(name, port, hostname="x")
        made["metadata"]["annotations"][f"{OLD}.web.hostname"] = host
        site.kube.put(made)
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("good.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        wait_until(lambda: daemon.metrics().sum("annotated_ports", state="refused") == len(BAD_HOSTS), 20, "each is refused")
        status, out, said = command(site, "view")
        assert status == 0 and said.splitlines() == said.rstrip("\n").split("\n") and all(line.isprintable() for line in said.splitlines())
        assert {line.split()[3].rstrip(":") for line in said.splitlines()} == {f"shop/{name}" for name in BAD_HOSTS}
        made = site.text() + "".join(path.read_text() for path in (site.home / "haproxy" / "maps").iterdir())
        assert made.isascii() and made.count("good.example.com") == 5 and "192.0.2.1" not in made and "k8s-service_shop_long" not in made


def test_two_megabytes_of_annotations(site: Site) -> None:
    """More than an API server takes: what is too long is left out, thousands are checked, and the others do not wait for it."""
    port = free_port()
    big, many = site.service("big", port, hostname="big.example.com"), site.service("many", port, hostname="many.example.com")
    big["metadata"]["annotations"] |= {f"{OLD}.web.path": "/" + "a" * (2 << 20), "example.com/other": "b" * (2 << 20)}
    many["metadata"]["annotations"] |= {f"{OLD}.web.none-{n}": "c" * 200 for n in range(8000)}
    absent = site.service("absent", port, hostname="absent.example.com")
    absent["metadata"]["annotations"][f"{OLD}.admin.hostname"] = "admin.example.com"
    site.kube.put(site.service("good", port, hostname="good.example.com"), big, many, absent)
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("good.example.com") == 200 and site.answers("many.example.com") == 200, 40, f"they are served: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert site.answers("absent.example.com") == 200 and site.answers("admin.example.com") == 503
        seen = json.loads(daemon.get("/status")[1])["services"]
        assert seen["remarks"] == 1000 and len(seen["remark_list"]) == 50, "so many are told apart"
        status, out, said = command(site, "explain", "shop/absent")
        assert f"no effect: {OLD}.admin.hostname: the Service has no such TCP port; it has web\n" in out
        status, out, said = command(site, "explain", "shop/big")
        assert status == 0 and len(out) < 5000


def test_a_port_of_the_operator(site: Site) -> None:
    """In the file beside, or in the part that stands before: whose Service asks for it gets file and line, and it is searched for again."""
    port, own, other = free_port(), free_port(), free_port()
    text = site.haproxy.config.read_text()
    lines = text.count("\n")
    site.haproxy.config.write_text(f"{text}frontend own\n  bind 127.0.0.1:{other},:{own}\n")
    site.kube.put(site.service("good", port, hostname="good.example.com"), site.service("taken", port, hostname="taken.example.com", listen_port=str(own)),
                  site.service("apart", port, hostname="apart.example.com", listen_port=str(other), listen_ip="127.0.12.1"))

    def said() -> list[str]:
        return [item["message"] for item in site.kube.state()["items"] if item["kind"] == "Event" and item["involvedObject"]["name"] == "taken"]

    with HealthPort(NODES, port), site.daemon(RESYNC_PERIOD="1s", SERVICES_ADDRESSES="*,127.0.12.1") as daemon:
        wait_until(lambda: site.answers("good.example.com") == 200, 20, f"the rest is served: {daemon.tail()}")
        wait_until(said, 20, "it is told")
        assert said() == [f"port web: listen-port {own} is taken by {site.haproxy.config}, line {lines + 2}"]
        assert "shop_taken" not in site.text() and f"bind 127.0.12.1:{other}\n" in site.text()
        status, out, err = command(site, "explain", "shop/taken")
        assert status == 0 and f"is taken by {site.haproxy.config}, line" in out
        site.haproxy.config.write_text(text)
        wait_until(lambda: "shop_taken" in site.text(), 20, "once it is free")
    before = site.home / "before.cfg"
    before.write_text(f"listen own\n  bind [::]:{own}\n")
    status, out, err = command(site, "view", CONFIG_FILE=str(before), SERVICES_ADDRESSES="*,127.0.12.1")
    assert status == 0 and err == f"not served: Service shop/taken: port web: listen-port {own} is taken by {before}, line 2\n"


def command(site: Site, *words: str, **more: str) -> tuple[int, str, str]:
    """services WORD, as an operator runs it where the daemon runs, or elsewhere."""
    env = clean_env(KUBECONFIG=str(site.kube.kubeconfig(site.home / "kubeconfig")), **{**site.settings, **more})
    done = subprocess.run([program(), "services", *words], env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_view_and_explain(site: Site) -> None:
    port = free_port()
    site.kube.put(site.service("good", port, hostname="CLUSTER.example.com"), site.service("bad", port, hostname="b.example.com", listen_port="x"))
    status, out, said = command(site, "view")
    assert status == 0 and "backend k8s-service_shop_good_web_backend\n" in out and f"server n2 127.0.11.2:{port}\n" in out
    assert said == f'not served: Service shop/bad: {OLD}.web.listen-port is "x": expected a port from 1 to 65535, of SERVICES_PORTS where that is set\n'
    assert site.text() == DYNAMIC, "nothing is written"
    status, out, said = command(site, "explain", "shop/good")
    assert status == 0 and not said and f"port web, 80, nodePort {port}: served at *:{site.port} by backend k8s-service_shop_good_web_backend\n" in out
    assert re.search(rf"^    hostname +CLUSTER\.example\.com \({OLD}\.web\.hostname\)$", out, re.M) and re.search(r"^    haproxy-mode +http \(default\)$", out, re.M)
    status, out, said = command(site, "explain", "shop/bad")
    assert status == 0 and f"nodePort {port}: not served\n" in out and f"not served: {OLD}.web.listen-port" in out
    status, out, said = command(site, "explain", "shop/none")
    assert status == 1 and not out and "there is no Service shop/none with the label" in said
    assert command(site, "view", CONFIG_SOURCE="none")[0] == 78
    site.kube.delete(site.service("good", port))
    status, out, said = command(site, "view")
    assert status == 1 and not out and "none of the Services with the label haproxy-kubefigurator.enabled=yes (SERVICES_LABEL) can be served" in said
    site.kube.forbid("nodes")
    status, out, said = command(site, "view", "--timeout=2s")
    assert status == 1 and not out and "Kubernetes could not be read in time (--timeout)" in said and "watch nodes" in said


def test_doctor_asks_for_the_rights(site: Site) -> None:
    env = clean_env(KUBECONFIG=str(site.kube.kubeconfig(site.home / "kubeconfig")), **site.settings)

    def found() -> dict[str, tuple[str, str]]:
        out = subprocess.run([program(), "doctor", "-o", "json", "--timeout=4s"], env=env, capture_output=True, text=True, timeout=60).stdout
        return {check["id"]: (check["status"], check["found"]) for check in json.loads(out)["checks"]}

    checks = found()
    assert "Services that have the label haproxy-kubefigurator.enabled=yes" in checks["settings"][1]
    rights = {id_: status for id_, (status, _) in checks.items() if id_.startswith("kubernetes.rights.")}
    assert rights == {f"kubernetes.rights.{name}": "ok" for name in ("nodes", "annotated-services", "annotated-slices", "events")}, rights
    site.kube.forbid("services", "endpointslices")
    checks = found()
    assert checks["kubernetes.rights.annotated-services"][0] == "fail" and checks["kubernetes.rights.annotated-slices"][0] == "fail"
    site.kube.forbid("secrets")
    assert "kubernetes.rights.annotated-secrets" not in found()
    env["SERVICES_SECRET_NAMESPACES"] = "certs"
    assert found()["kubernetes.rights.annotated-secrets"][0] == "warn"


def test_certificates_and_a_redirect(site: Site) -> None:
    port, tls = free_port(), free_port()
    for name in ("a.example.com", "b.example.com"):
        pair = self_signed(site.home, name, alternatives=f"DNS:{name}")
        (site.certificates / f"{name}.pem").write_text(pair.certificate.read_text() + pair.key.read_text())
    site.kube.put(*(site.service(name, port, hostname=f"{name}.example.com", use_ssl="true", listen_port=str(tls), backends_use_ssl="false") for name in "ab"))
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: f"bind *:{tls} ssl crt-list {site.list_of(tls)} strict-sni\n" in site.text(), 20, f"both: {daemon.tail()}")
        assert site.list_of(tls).read_text() == "".join(f"{site.certificates}/{name}.example.com.pem {name}.example.com\n" for name in "ab")
        wait_until(daemon.ready, 20, "ready")
        assert "http-request set-header x-forwarded-proto https" in site.text()
        assert subject_of(tls, "b.example.com") == "b.example.com" and subject_of(tls, "a.example.com") == "a.example.com"


def tls_secret(name: str, pair: Pair, namespace: str = "shop") -> dict[str, Any]:
    keys = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name, "namespace": namespace},
            "data": {key: base64.b64encode(path.read_bytes()).decode() for key, path in keys.items()}}


def test_certificates_of_secrets(site: Site) -> None:
    """Watched for as long as one is named; renewed without a reload; what is missing or broken leaves the other ports alone."""
    port, tls = free_port(), free_port()
    first, second = (self_signed(site.home, which, alternatives="DNS:*.example.com") for which in ("first", "second"))

    def put(name: str, secret: str, **more: str) -> None:
        site.kube.put(site.service(name, port, hostname=f"{name}.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate=f"secret:{secret}", backends_use_ssl="false", **more))

    def said() -> dict[str, str]:
        found = [item for item in site.kube.state()["items"] if item["kind"] == "Event"]
        return {event["involvedObject"]["name"]: f"{event['reason']}: {event['message']}" for event in found}

    site.kube.put(tls_secret("a.tls", first), tls_secret("b", first), tls_secret("others", first, "other"), site.service("plain", port, hostname="plain.example.com"))
    put("a", "a.tls")
    with HealthPort(NODES, port), site.daemon() as daemon:
        wait_until(lambda: site.answers("plain.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        wait_until(lambda: site.list_of(tls).read_text() == f"{site.home}/haproxy/ssl/k8s-service_shop_a_tls.pem a.example.com\n", 20, f"the Secret's certificate: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert subject_of(tls, "a.example.com") == "first"
        assert len(site.kube.open_watches("secrets")) == 1, "what no annotation names is not watched"
        worker = site.haproxy.worker()
        site.kube.put(tls_secret("a.tls", second))
        wait_until(lambda: subject_of(tls, "a.example.com") == "second", 20, "it is renewed")
        wait_until(daemon.ready, 20, "ready")
        assert site.haproxy.worker() == worker, "without a reload"
        site.kube.put(site.service("a", port, hostname="moved.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate="secret:a.tls", backends_use_ssl="false"))
        wait_until(lambda: f"moved.example.com:{tls} moved.example.com" in site.haproxy.runtime(f"show map {site.home}/haproxy/maps/k8s-service_all_{tls}_hosts.map"), 20, "another name, of the same certificate")
        wait_until(daemon.ready, 20, "ready")
        assert subject_of(tls, "moved.example.com") == "second"
        with pytest.raises(ssl.SSLError):
            subject_of(tls, "a.example.com")  # for the name of its port alone
        worker = site.haproxy.worker()
        put("later", "later")
        put("broken", "broken")
        site.kube.put({**tls_secret("broken", first), "data": {"tls.crt": "eA=="}})
        put("foreign", "other/others")
        wait_until(lambda: {"later", "broken", "foreign"} <= said().keys(), 20, f"each is told: {said()}")
        assert said()["later"] == "LeftOut: port web: its certificate, Secret shop/later: it does not exist"
        assert said()["broken"] == "LeftOut: port web: its certificate, Secret shop/broken: it has no key tls.key"
        assert "it is in another namespace, which is none of SERVICES_SECRET_NAMESPACES" in said()["foreign"]
        assert subject_of(tls, "moved.example.com") == "second" and site.haproxy.worker() == worker
        site.kube.put(tls_secret("later", first))
        wait_until(lambda: "k8s-service_shop_later.pem" in site.list_of(tls).read_text() and subject_of(tls, "later.example.com") == "first", 20, "it is taken up")
        wait_until(daemon.ready, 20, "ready")
        site.kube.delete(site.service("a", port))
        site.kube.delete(site.service("broken", port))
        wait_until(lambda: "k8s-service_shop_a_tls.pem" not in site.list_of(tls).read_text() and not (site.home / "haproxy/ssl/k8s-service_shop_a_tls.pem").exists(), 20, "its certificate goes with it")
        wait_until(lambda: subject_of(tls, "later.example.com") == "first", 20, "the other one stays")
        wait_until(lambda: len(site.kube.open_watches("secrets")) == 1, 20, "nor what is named no more")
        assert not [path for path in (site.home / "haproxy/ssl").iterdir() if "other" in path.name]


def test_status_says_what_is_served(site: Site) -> None:
    port = free_port()
    site.kube.put(site.service("a", port, hostname="a.example.com", path="/in"), site.service("b", port, hostname="b.example.com", haproxy_mode="tpc"),
                  site.service("c", port, hostname="c.example.com", hostnam="x"), site.service("d", port, hostname="", haproxy_mode="tcp", listen_port=str(free_port()), port=""))
    with site.daemon() as daemon:
        wait_until(daemon.ready, 20, f"ready: {daemon.tail()}")
        seen = json.loads(daemon.get("/status")[1])["services"]
        assert {key: seen[key] for key in ("services", "served", "refused", "problem", "frontend_count", "remarks")} == {
            "services": 4, "served": 3, "refused": 1, "problem": None, "frontend_count": 2, "remarks": 2}
        first = next(f for f in seen["frontends"] if f["port"] == site.port)
        assert first == {"address": "*", "port": site.port, "mode": "http", "tls": False, "route_count": 2, "routes": [
            {"host": "a.example.com", "path": "/in", "service": "shop/a", "port": "web", "backend": "k8s-service_shop_a_web_backend", "redirect": None},
            {"host": "c.example.com", "path": None, "service": "shop/c", "port": "web", "backend": "k8s-service_shop_c_web_backend", "redirect": None}]}
        assert [f["routes"] for f in seen["frontends"] if f["mode"] == "tcp"] == [
            [{"host": None, "path": None, "service": "shop/d", "port": "", "backend": "k8s-service_shop_d__backend", "redirect": None}]]
        assert [(r["namespace"], r["name"], r["left_out"]) for r in seen["remark_list"]] == [("shop", "b", True), ("shop", "c", False)]
        for name in "acd":
            site.kube.delete(site.service(name, port))
        wait_until(lambda: json.loads(daemon.get("/status")[1])["services"]["problem"], 20, "nothing is served")
        assert json.loads(daemon.get("/status")[1])["services"]["frontends"] == []


def test_a_hundred_certificates(site: Site) -> None:
    """More than a line of haproxy.cfg has words."""
    port, tls, count = free_port(), free_port(), 100
    pair = self_signed(site.home, "any", alternatives="DNS:*.example.com")
    for n in range(count):
        site.kube.put(tls_secret(f"tls-{n}", pair), site.service(f"s{n}", port, hostname=f"h{n}.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate=f"secret:tls-{n}"))
    with site.daemon() as daemon:
        wait_until(lambda: site.list_of(tls).read_text().count("\n") == count, 60, f"all of them: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert subject_of(tls, "h99.example.com") == "any" and daemon.metrics().sum("annotated_ports", state="served") == count


def test_secrets_that_may_not_be_read(site: Site) -> None:
    port = free_port()
    pair = self_signed(site.home, "any", alternatives="DNS:*.example.com")
    site.kube.forbid("secrets")
    site.kube.put(tls_secret("tls", pair, "certs"), site.service("plain", port, hostname="plain.example.com"),
                  site.service("a", port, hostname="a.example.com", use_ssl="true", listen_port=str(free_port()), ssl_certificate="secret:certs/tls"))
    with HealthPort(NODES, port), site.daemon(SERVICES_SECRET_NAMESPACES="certs") as daemon:
        wait_until(lambda: site.answers("plain.example.com") == 200, 20, f"the other one is served: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        assert "crt-list" not in site.text() and daemon.metrics().sum("annotated_ports", state="refused") == 1
        status, out, said = command(site, "view", SERVICES_SECRET_NAMESPACES="certs")
        assert status == 0 and "its certificate, Secret certs/tls: it cannot be read: " in said, said
        site.kube.forbid()
        wait_until(lambda: "crt-list" in site.text(), 40, f"once it may be: {daemon.tail()}")
        status, out, said = command(site, "view", SERVICES_SECRET_NAMESPACES="certs")
        assert status == 0 and "# certs/k8s-service_certs_tls.pem\n" in out and "PRIVATE" not in out and not said


def subject_of(port: int, name: str) -> str:
    """Of the certificate that is shown to who asks for that name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain, server_hostname=name) as tls:
        shown = ssl.DER_cert_to_PEM_cert(tls.getpeercert(True) or b"")
    said = subprocess.run(["openssl", "x509", "-noout", "-subject"], input=shown, capture_output=True, text=True, check=True).stdout
    return said.strip().rpartition("CN")[2].strip(" =")

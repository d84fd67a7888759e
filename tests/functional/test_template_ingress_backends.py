"""The shipped template set `ingress`: servers from EndpointSlices, annotations, what a change of an object changes in the output, bad input."""

from __future__ import annotations

import base64
import copy
import pathlib
import re

import pytest

from tests.harness.certificates import self_signed
from tests.harness.haproxy import haproxy_binary

from .ingress_set import (Object, Rendered, backend, endpoint, endpoint_slice, haproxy_accepts, ingress, render, rule, secret,
                          service)

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")


def web(*endpoints: Object, port: int | str = 80, ports: list[Object] | None = None, **more: list[Object]) -> dict[str, list[Object]]:
    """One Ingress, one Service, one slice."""
    one = {"path": "/", "pathType": "Prefix", "backend": backend("web", port)}
    return {"ingresses": [ingress("web", {"host": "web.example.com", "http": {"paths": [one]}})], "services": [service("web", ports=ports)],
            "slices": [endpoint_slice("web", *endpoints)], **more}


def test_port_by_name_and_number(tmp_path: pathlib.Path) -> None:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "admin", "port": 8443}]
    slices = [endpoint_slice("web", endpoint("10.0.0.1"), port=8080, port_name="http", name="w1"),
              endpoint_slice("web", endpoint("10.0.0.2"), port=8081, port_name="http", name="w2"),
              endpoint_slice("web", endpoint("10.0.0.3"), port=9000, port_name="admin", name="w3")]
    for port, servers in {80: ["10.0.0.1_8080 10.0.0.1:8080", "10.0.0.2_8081 10.0.0.2:8081"], "admin": ["10.0.0.3_9000 10.0.0.3:9000"],
                          8443: ["10.0.0.3_9000 10.0.0.3:9000"]}.items():
        rendered = render(tmp_path, web(port=port, ports=ports, slices=slices))
        assert rendered.servers(f"default_web_{port}") == servers
        assert rendered.events == ""
    unnamed = render(tmp_path, web(ports=[{"port": 80}], slices=[endpoint_slice("web", endpoint("10.0.0.1"), port_name=None)]))
    assert unnamed.servers("default_web_80") == ["10.0.0.1_8080 10.0.0.1:8080"]
    missing = render(tmp_path, web(port=81, ports=ports, slices=slices))
    assert missing.servers("default_web_81") == [] and "default/web: Service default/web: it has no port 81" in missing.events


def test_an_annotation_goes_before_what_the_set_says(tmp_path: pathlib.Path) -> None:
    """Of pods or nodes, both ways; without the watch of nodes there are pods alone."""
    node = {"metadata": {"name": "n1"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.9.1"}]}}
    objects = web(endpoint("10.0.0.1"), ports=[{"name": "http", "port": 80, "nodePort": 30080}], nodes=[node])
    of = {"nodes": ["10.0.9.1_30080 10.0.9.1:30080"], "pods": ["10.0.0.1_8080 10.0.0.1:8080"]}
    for given in of:
        for asked in of:
            objects["ingresses"][0]["metadata"]["annotations"] = {"haproxy-k8s-sync/servers": asked}
            assert render(tmp_path, objects, servers=given).servers(f"default_web_80.{asked}") == of[asked]
    objects["ingresses"][0]["metadata"]["annotations"] = {}
    alone = render(tmp_path, {name: listed for name, listed in objects.items() if name != "nodes"}, ("nodes",), servers="pods")
    assert alone.servers("default_web_80") == of["pods"]


def test_which_endpoints_are_servers(tmp_path: pathlib.Path) -> None:
    """Ready ones, each once, whatever slices they are in; where none is ready, those that still serve."""
    first = endpoint_slice("web", endpoint("10.0.0.2", ready=True), endpoint("10.0.0.1"), endpoint("10.0.0.3", ready=False, serving=True),
                           endpoint("10.0.0.4", ready=False, serving=False), name="w1")
    again = endpoint_slice("web", endpoint("10.0.0.2", ready=None), name="w2")
    six = endpoint_slice("web", endpoint("fd00:0::1", ready=True), name="w3", family="IPv6")
    name = endpoint_slice("web", endpoint("db.example.com", ready=True), name="w4", family="FQDN")
    other = endpoint_slice("web", endpoint("10.9.9.9", ready=True), name="w5", namespace="elsewhere")
    rendered = render(tmp_path, web(slices=[first, again, six, name, other]))
    assert rendered.servers("default_web_80") == ["10.0.0.1_8080 10.0.0.1:8080", "10.0.0.2_8080 10.0.0.2:8080",
                                                  "fd00--1_8080 [fd00::1]:8080"]
    assert haproxy_accepts(tmp_path, rendered) == ""
    leaving = render(tmp_path, web(endpoint("10.0.0.3", ready=False, serving=True), endpoint("10.0.0.4", ready=False, serving=False)))
    assert leaving.servers("default_web_80") == ["10.0.0.3_8080 10.0.0.3:8080"]
    assert render(tmp_path, web()).servers("default_web_80") == []


def test_slots_of_a_data_plane_api(tmp_path: pathlib.Path) -> None:
    """Always a multiple; who stays keeps its place nearly always, whichever servers come or go."""
    def slots(numbers: range) -> list[str]:
        return render(tmp_path, web(*(endpoint(f"10.0.0.{n}") for n in numbers)), server_slots=10).servers("default_web_80")
    empty = "127.0.0.1:1 disabled"
    assert slots(range(0)) == [f"s{n} {empty}" for n in range(1, 11)]
    before, after = slots(range(1, 7)), slots(range(2, 7))
    assert len(before) == len(after) == 10
    assert sorted(line.split(" ", 1)[1] for line in before) == sorted([f"10.0.0.{n}:8080" for n in range(1, 7)] + [empty] * 4)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert any(b.endswith(empty) for _, b in changed) and len(changed) <= 3
    assert len(slots(range(1, 12))) == 20


@pytest.mark.parametrize("slots", [0, 1])
def test_servers_of_one_namespace(tmp_path: pathlib.Path, slots: int) -> None:
    """Many backends of the same pods take nothing away from others: those that have more are left without, with an Event."""
    objects = web(endpoint("10.0.0.1"), endpoint("10.0.0.2"))
    for namespace in ("default", "other"):
        objects["ingresses"] += [ingress(f"i{n}", rule(f"i{n}.{namespace}", ("Prefix", "/", "web")), namespace=namespace, created=f"2027-01-0{n}T00:00:00Z",
                                         notes={"haproxy-k8s-sync/timeout-server": f"{n}s"}) for n in (1, 2, 3)]
    objects["services"].append(service("web", namespace="other"))
    objects["slices"].append(endpoint_slice("web", endpoint("10.0.1.1"), namespace="other"))
    rendered = render(tmp_path, objects, namespace_servers=4, server_slots=slots)
    counts = {name: len(rendered.servers(name)) for name in rendered.routes().values()}
    assert counts == {"default_web_80": 2, "default_web_80.1s": 2, "default_web_80.2s": 0, "default_web_80.3s": 0,
                      "other_web_80.1s": 1, "other_web_80.2s": 1, "other_web_80.3s": 1}
    assert all((f"default/i{n}: Service default/web: backends before it have the 4 servers" in rendered.events) == (n > 1) for n in (1, 2, 3)), rendered.events


def test_what_changes_without_a_reload(tmp_path: pathlib.Path) -> None:
    """A host or path of a known backend: the maps alone. Endpoints: server lines of that backend alone."""
    objects = web(endpoint("10.0.0.1"), endpoint("10.0.0.2"))
    before = render(tmp_path, objects)
    more = copy.deepcopy(objects)
    more["ingresses"].append(ingress("more", rule("*.more.example.com", ("Prefix", "/x", "web"), ("Exact", "/y", "web"))))
    after = render(tmp_path, more)
    assert after.config == before.config
    assert after.routes().keys() - before.routes().keys() == {"*.more.example.com/x/", "*.more.example.com/y"}
    moved = render(tmp_path, web(endpoint("10.0.0.2"), endpoint("10.0.0.3")))
    assert moved.files == before.files
    assert set(moved.config.splitlines()) ^ set(before.config.splitlines()) == {
        "  server 10.0.0.1_8080 10.0.0.1:8080", "  server 10.0.0.3_8080 10.0.0.3:8080"}


def test_order_of_objects_does_not_matter(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"), endpoint("10.0.0.2"))
    objects["ingresses"] += [ingress(f"i{n}", rule(f"h{n}.example.com", ("Prefix", "/", "web"), ("Exact", "/", "s"))) for n in range(5)]
    objects["services"].append(service("s"))
    back = {name: list(reversed(listed)) for name, listed in objects.items()}
    one, other = render(tmp_path, objects), render(tmp_path, back)
    assert (one.config, one.files, one.events) == (other.config, other.files, other.events)


def test_annotations(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"))
    path = rule("b.example.com", ("Prefix", "/", "web"))
    objects["ingresses"] += [
        ingress("b", path, notes={"haproxy-k8s-sync/backend-protocol": "h2", "haproxy-k8s-sync/balance": "leastconn",
                                  "haproxy-k8s-sync/timeout-server": "5m"}),
        ingress("c", rule("c.example.com", ("Prefix", "/", "web")), notes={"haproxy-k8s-sync/backend-protocol": "https"}),
        ingress("d", rule("d.example.com", ("Prefix", "/", "web")), notes={"haproxy-k8s-sync/timeout-server": "2147483647ms"})]
    rendered = render(tmp_path, objects)
    assert rendered.routes() == {"web.example.com/": "default_web_80", "b.example.com/": "default_web_80.h2.leastconn.5m",
                                 "c.example.com/": "default_web_80.https", "d.example.com/": "default_web_80.2147483647ms"}
    assert ("backend default_web_80.h2.leastconn.5m\n  balance leastconn\n  timeout server 5m\n  default-server proto h2\n"
            in rendered.config)
    assert "backend default_web_80.https\n  balance roundrobin\n  default-server ssl verify none sni req.hdr(host),field(1,:) alpn h2,http/1.1\n" in rendered.config
    assert haproxy_accepts(tmp_path, rendered) == ""


def test_annotations_that_are_none(tmp_path: pathlib.Path) -> None:
    rows = [("balance", "roundrobin\n  server evil 1.2.3.4:80"), ("balance", "uri"), ("timeout-server", "5 m"), ("timeout-server", "0s"),
            ("timeout-server", "30s\nbackend x"), ("timeout-server", "99999999d"), ("timeout-server", "25d"), ("timeout-server", "2147483648ms"), ("backend-protocol", "h3"), ("ssl-redirect", "yes"),
            ("ssl-redirect", "{{ fail('x') }}")]

    def rendered(noted: bool) -> Rendered:
        objects = web(endpoint("10.0.0.1"))
        objects["ingresses"] += [ingress(f"i{n}", rule(f"h{n}.example.com", ("Prefix", "/", "web")), notes={f"haproxy-k8s-sync/{name}": value} if noted else {})
                                 for n, (name, value) in enumerate(rows)]
        return render(tmp_path, objects)

    plain, found = rendered(False), rendered(True)
    assert (found.config, found.files) == (plain.config, plain.files)
    for n, (name, _) in enumerate(rows):
        assert f"Ingress default/i{n}: haproxy-k8s-sync/{name}: " in found.events


def test_rules_that_are_none(tmp_path: pathlib.Path) -> None:
    """It is said, it is left out, and the rest of this Ingress and of all others goes on."""
    rows = [("Upper.example.com", "/", "host Upper.example.com is none"), ("a b.example.com", "/", "is none"), ("*.*.example.com", "/", "is none"),
            ("x.*.com", "/", "is none"), ("*", "/", "host * is none"), ("-a.example.com", "/", "is none"), ("a..example.com", "/", "is none"),
            ("evil.example.com other_backend\nx", "/", "is none"), (f"{'a' * 64}.com", "/", "is none"), ("{{ fail('x') }}", "/", "is none"),
            ("ok.example.com", "no-slash", "path no-slash is none"), ("ok.example.com", "/with space", "is none"),
            ("ok.example.com", "/new\nline default_web_80", "is none"), ("ok.example.com", "/ä", "is none"), ("ok.example.com", "/" + "x" * 3000, "is none")]
    objects = web(endpoint("10.0.0.1"))
    objects["ingresses"] += [ingress(f"bad{n}", rule(host, ("Prefix", path, "web")), rule(f"good{n}.example.com", ("Exact", "/", "web"))) for n, (host, path, _) in enumerate(rows)]
    rendered = render(tmp_path, objects)
    assert rendered.routes() == {"web.example.com/": "default_web_80", **{f"good{n}.example.com/": "default_web_80" for n in range(len(rows))}}
    for n, (_, _, said) in enumerate(rows):
        assert re.search(rf"Ingress default/bad{n}: .*{re.escape(said)}", rendered.events), rendered.events
    assert haproxy_accepts(tmp_path, rendered) == ""


def test_backends_that_are_none(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"))
    bucket = {"path": "/bucket", "pathType": "Prefix", "backend": {"resource": {"kind": "Bucket", "name": "x"}}}
    objects["ingresses"] += [
        ingress("bucket", {"host": "bucket.example.com", "http": {"paths": [bucket]}}),
        ingress("gone", rule("gone.example.com", ("Prefix", "/", "gone"))), ingress("named", rule("named.example.com", ("Prefix", "/", "named"))),
        ingress("odd", rule("odd.example.com", ("Prefix", "/", 'we"b\n  server x 1.2.3.4:1 #%{{'))),
        ingress("nothing"), {**ingress("no-spec"), "spec": {}}, ingress("no-http", {"host": "no-http.example.com"})]
    objects["services"].append(service("named", type="ExternalName", externalName="www.example.com", ports=[{"port": 80}]))
    rendered = render(tmp_path, objects)
    assert rendered.routes() == {
        "web.example.com/": "default_web_80", "gone.example.com/": "default_gone_80", "named.example.com/": "default_named_80",
        "odd.example.com/": "default_we_b___server_x_1.2.3.4:1______80"}
    for said in ("Ingress default/bucket: host bucket.example.com, path /bucket: its backend is no Service", "default/gone: Service default/gone",
                 "default/named: Service default/named: it is an ExternalName", "Ingress default/odd: "):
        assert said in rendered.events
    assert haproxy_accepts(tmp_path, rendered) == ""


def test_secrets_that_are_none(tmp_path: pathlib.Path) -> None:
    good, other = self_signed(tmp_path, "good.example.com"), self_signed(tmp_path, "other.example.com")
    mixed = secret("mixed", good)
    mixed["data"]["tls.key"] = base64.b64encode(other.key.read_bytes()).decode()
    text, empty, binary = secret("text", good), secret("empty", good), secret("binary", good)
    text["data"]["tls.crt"] = "-----BEGIN"
    empty["data"] = None
    binary["data"]["tls.crt"] = base64.b64encode(bytes(range(256))).decode()
    names = ["good", "mixed", "text", "empty", "binary", "gone", ""]
    objects = web(endpoint("10.0.0.1"), secrets=[secret("good", good), mixed, text, empty, binary])
    objects["ingresses"] += [ingress(f"i-{name}", rule(f"x{n}.example.com", ("Prefix", "/", "web")),
                                     tls=[{"hosts": [f"x{n}.example.com"], "secretName": name}]) for n, name in enumerate(names)]
    rendered = render(tmp_path, objects)
    assert [name for name in rendered.files if name.startswith("certificates/")] == ["certificates/default_good.pem"]
    assert rendered.files["files/certificates.list"] == "/etc/haproxy/ssl/default_good.pem x0.example.com\n"
    for name in names[1:]:
        assert f"Ingress default/i-{name}: TLS Secret default/{name}: " in rendered.events
    assert "does not belong to the first certificate" in rendered.events
    assert haproxy_accepts(tmp_path, rendered) == ""


def test_name_of_a_certificate_that_is_none(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"), secrets=[secret("good", self_signed(tmp_path, "good"))])
    objects["ingresses"][0]["spec"]["tls"] = [{"hosts": ["no host", "x [verify none]", "web.example.com"], "secretName": "good"}]
    rendered = render(tmp_path, objects)
    assert rendered.files["files/certificates.list"] == "/etc/haproxy/ssl/default_good.pem web.example.com\n"
    assert "Ingress default/web: spec.tls: host no host is none" in rendered.events
    assert haproxy_accepts(tmp_path, rendered) == ""


def test_one_host_two_certificates(tmp_path: pathlib.Path) -> None:
    one, two = self_signed(tmp_path, "one"), self_signed(tmp_path, "two")
    objects = web(endpoint("10.0.0.1"), secrets=[secret("one", one), secret("two", two)])
    rules = [rule(host, ("Prefix", "/", "web")) for host in ("a.example.com", "c.example.com")]
    objects["ingresses"] += [
        ingress("young", rule("b.example.com", ("Prefix", "/", "web")), tls=[{"hosts": ["a.example.com", "b.example.com"], "secretName": "two"}],
                created="2026-05-01T00:00:00Z"),
        ingress("old", *rules, tls=[{"hosts": ["a.example.com"], "secretName": "one"}, {"secretName": "one"}], created="2026-04-01T00:00:00Z")]
    rendered = render(tmp_path, objects)
    assert rendered.files["files/certificates.list"].splitlines() == [
        "/etc/haproxy/ssl/default_one.pem a.example.com", "/etc/haproxy/ssl/default_one.pem c.example.com",
        "/etc/haproxy/ssl/default_two.pem b.example.com"]
    assert "Ingress default/young: spec.tls: host a.example.com has the certificate of Ingress default/old" in rendered.events


def test_renewed_certificate_changes_its_file_alone(tmp_path: pathlib.Path) -> None:
    objects = web(endpoint("10.0.0.1"), secrets=[secret("one", self_signed(tmp_path, "one"))])
    objects["ingresses"][0]["spec"]["tls"] = [{"hosts": ["web.example.com"], "secretName": "one"}]
    before = render(tmp_path, objects)
    objects["secrets"] = [secret("one", self_signed(tmp_path, "one"))]
    after = render(tmp_path, objects)
    assert after.config == before.config
    assert [name for name in before.files if after.files[name] != before.files[name]] == ["certificates/default_one.pem"]

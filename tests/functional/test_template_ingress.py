"""The shipped template set `ingress`: where a real HAProxy sends requests, by the examples of the Kubernetes documentation of Ingress."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.harness.certificates import der, self_signed
from tests.harness.haproxy import haproxy_binary

from .ingress_set import (Object, Proxy, backend, endpoint, endpoint_slice, ingress, ingress_class, render, rule, running, secret,
                          service, web)

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")
NOWHERE = "no-route"

# concepts/services-networking/ingress, "Examples": kind, path(s), request path(s), matches? "Multiple": which of the paths.
EXAMPLES = [
    ("Prefix", ["/"], "/", "/"),
    ("Prefix", ["/"], "/any/path", "/"),
    ("Exact", ["/foo"], "/foo", "/foo"),
    ("Exact", ["/foo"], "/bar", None),
    ("Exact", ["/foo"], "/foo/", None),
    ("Exact", ["/foo/"], "/foo", None),
    ("Prefix", ["/foo"], "/foo", "/foo"),
    ("Prefix", ["/foo"], "/foo/", "/foo"),
    ("Prefix", ["/foo/"], "/foo", "/foo/"),
    ("Prefix", ["/foo/"], "/foo/", "/foo/"),
    ("Prefix", ["/aaa/bb"], "/aaa/bbb", None),
    ("Prefix", ["/aaa/bbb"], "/aaa/bbb", "/aaa/bbb"),
    ("Prefix", ["/aaa/bbb/"], "/aaa/bbb", "/aaa/bbb/"),
    ("Prefix", ["/aaa/bbb"], "/aaa/bbb/", "/aaa/bbb"),
    ("Prefix", ["/aaa/bbb"], "/aaa/bbb/ccc", "/aaa/bbb"),
    ("Prefix", ["/aaa/bbb"], "/aaa/bbbxyz", None),
    ("Prefix", ["/", "/aaa"], "/aaa/ccc", "/aaa"),
    ("Prefix", ["/", "/aaa", "/aaa/bbb"], "/aaa/bbb", "/aaa/bbb"),
    ("Prefix", ["/", "/aaa", "/aaa/bbb"], "/ccc", "/"),
    ("Prefix", ["/aaa"], "/ccc", None),
    ("ImplementationSpecific", ["/foo"], "/foo/bar", "/foo"),
    ("ImplementationSpecific", ["/foo"], "/foobar", None),
    ("Prefix", ["/foo"], "/foo?a=/b", "/foo"),
    ("Prefix", ["/foo"], "/foo//bar", "/foo"),
    ("Prefix", ["/foo"], "/FOO", None),
    ("Exact", ["/foo"], "/foo?x", "/foo"),
]


def name_of(example: int, path: int) -> str:
    return f"s{example}-{path}"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A host and an Ingress for each example; a Service for each of its paths."""
    made = [ingress(f"i{n}", rule(f"e{n}.example.com", *((kind, path, name_of(n, p)) for p, path in enumerate(paths))))
            for n, (kind, paths, _, _) in enumerate(EXAMPLES)]
    services = [service(name_of(n, p)) for n, (_, paths, _, _) in enumerate(EXAMPLES) for p, _ in enumerate(paths)]
    with running(tmp_path_factory.mktemp("examples"), {"ingresses": made, "services": services}) as proxy:
        yield proxy


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=lambda n: f"{EXAMPLES[n][0]}-{','.join(EXAMPLES[n][1])}-{EXAMPLES[n][2]}")
def test_path_types(examples: Proxy, number: int) -> None:
    _, paths, asked, matches = EXAMPLES[number]
    expected = NOWHERE if matches is None else f"default_{name_of(number, paths.index(matches))}_80"
    assert examples.get(f"e{number}.example.com", asked).backend == expected


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    made = [
        ingress("wild", rule("*.foo.com", ("Prefix", "/", "wild"), ("Exact", "/one", "wild-one"))),
        ingress("own", rule("bar.foo.com", ("Prefix", "/own", "own"))),
        ingress("any", rule(None, ("Prefix", "/any", "any"))),
        ingress("both", rule("mixed.example.com", ("Prefix", "/foo", "prefix"), ("Exact", "/foo", "exact"), ("Exact", "/foo/bar/", "slash"))),
        ingress("rest", rule("rest.example.com", ("Prefix", "/api", "api")), defaultBackend=backend("rest")),
        ingress("all", defaultBackend=backend("all")),
    ]
    names = ["wild", "wild-one", "own", "any", "prefix", "exact", "slash", "api", "rest", "all"]
    with running(tmp_path_factory.mktemp("hosts"), {"ingresses": made, "services": [service(n) for n in names]}) as proxy:
        yield proxy


@pytest.mark.parametrize(("host", "path", "to"), [
    ("bar.foo.com", "/own", "own"), ("baz.foo.com", "/own", "wild"),  # the table of wildcard hosts, and below
    ("a.bar.foo.com", "/", "all"), ("foo.com", "/", "all"), ("xfoo.com", "/", "all"),
    ("BAZ.Foo.COM:8080", "/", "wild"), ("baz.foo.com.", "/", "wild"),
    ("bar.foo.com", "/other", "wild"), ("bar.foo.com", "/one", "wild-one"),
    ("nobody.example.com", "/any/x", "any"), ("nobody.example.com", "/anyx", "all"), (None, "/any", "any"), ("", "/", "all"),
    ("mixed.example.com", "/foo", "exact"), ("mixed.example.com", "/foo/", "prefix"), ("mixed.example.com", "/foo/bar/", "slash"),
    ("mixed.example.com", "/foo/bar", "prefix"), ("mixed.example.com", "/", "all"),
    ("rest.example.com", "/api/v1", "api"), ("rest.example.com", "/apis", "rest"), ("rest.example.com", "/", "rest"),
])
def test_hosts(hosts: Proxy, host: str | None, path: str, to: str) -> None:
    assert hosts.get(host, path).backend == f"default_{to}_80"


def test_wildcard_does_not_take_what_a_request_only_looks_like(hosts: Proxy) -> None:
    """The keys of the maps are no way in: a host that is one gets what any other of no rule gets."""
    assert hosts.get("*", "/any").backend == "default_any_80"
    assert hosts.get("mixed.example.com/foo", "/").backend in {"", "default_all_80", "default_prefix_80"}


def test_default_backend_of_extra_and_none(tmp_path: pathlib.Path) -> None:
    objects: dict[str, list[Object]] = {"ingresses": [ingress("a", rule("a.example.com", ("Prefix", "/a", "a")))],
                                        "services": [service("a"), service("rest", "infra")]}
    with running(tmp_path, objects) as proxy:
        answer = proxy.get("a.example.com", "/b")
        assert (answer.status, answer.backend) == (404, NOWHERE)
    with running(tmp_path, objects, default_backend="infra/rest:http") as proxy:
        assert proxy.get("a.example.com", "/b").backend == "infra_rest_http"
        assert proxy.get("a.example.com", "/a").backend == "default_a_80"
    objects["ingresses"].append(ingress("mine", defaultBackend=backend("a")))
    with running(tmp_path, objects, default_backend="infra/rest:http") as proxy:
        assert proxy.get("x.example.com", "/").backend == "default_a_80", "an Ingress goes before it"


def test_requests_reach_ready_endpoints(tmp_path: pathlib.Path) -> None:
    with web("one") as one, web("two") as two:
        objects = {"ingresses": [ingress("a", rule("a.example.com", ("Prefix", "/", "a"), ("Prefix", "/b", "b")))],
                   "services": [service("a"), service("b")],
                   "slices": [endpoint_slice("a", endpoint("127.0.0.1", ready=True), port=one),
                              endpoint_slice("b", endpoint("127.0.0.1"), port=two)]}
        with running(tmp_path, objects) as proxy:
            assert proxy.get("a.example.com", "/").body == "one"
            assert proxy.get("a.example.com", "/b").body == "two"
        with running(tmp_path, objects, server_slots=3) as proxy:
            assert {proxy.get("a.example.com", "/b").body for _ in range(6)} == {"two"}


def test_certificates_by_sni_and_redirect(tmp_path: pathlib.Path) -> None:
    pairs = {name: self_signed(tmp_path, name) for name in ("a.example.com", "wild", "fallback")}
    objects = {
        "ingresses": [ingress("a", rule("a.example.com", ("Prefix", "/", "a")), rule("plain.example.com", ("Prefix", "/", "a")),
                              tls=[{"hosts": ["a.example.com"], "secretName": "a"}]),
                      ingress("b", rule("b.example.org", ("Prefix", "/", "a")), tls=[{"hosts": ["*.example.org"], "secretName": "w"}]),
                      ingress("c", rule("c.example.com", ("Prefix", "/", "a")), tls=[{"hosts": ["c.example.com"], "secretName": "gone"}]),
                      ingress("d", rule("d.example.org", ("Prefix", "/", "a")), tls=[{"hosts": ["d.example.org"], "secretName": "w"}],
                              notes={"haproxy-k8s-sync/ssl-redirect": "false"})],
        "services": [service("a")],
        "secrets": [secret("a", pairs["a.example.com"]), secret("w", pairs["wild"]), secret("f", pairs["fallback"], "infra")]}
    shown = {name: der(pair.certificate) for name, pair in pairs.items()}
    with running(tmp_path, objects, default_certificate="infra/f", https_port=8443) as proxy:
        assert proxy.certificate("a.example.com") == shown["a.example.com"]
        assert proxy.certificate("b.example.org") == shown["wild"]
        assert proxy.certificate("c.example.com") == shown["fallback"], "its Secret is missing"
        assert proxy.certificate(None) == shown["fallback"]
        assert proxy.get("a.example.com", "/", tls=True).backend == "default_a_80"
        answer = proxy.get("a.example.com:8080", "/x?y=1")
        assert (answer.status, answer.headers["location"]) == (308, "https://a.example.com:8443/x?y=1")
        assert proxy.get("b.example.org").status == 308, "by the wildcard of its spec.tls"
        assert proxy.get("plain.example.com").backend == "default_a_80", "no TLS for this host"
        assert proxy.get("c.example.com").status == 308, "never in the clear, even without its certificate"
        assert proxy.get("d.example.org").backend == "default_a_80"
        assert proxy.rendered.events.count("gone") == 1
        assert "Ingress default/c: TLS Secret default/gone: there is none" in proxy.rendered.events
    with running(tmp_path, objects) as proxy, pytest.raises(OSError):
        proxy.certificate(None)


def test_older_ingress_keeps_host_and_path(tmp_path: pathlib.Path) -> None:
    """creationTimestamp, then namespace and name."""
    made = [ingress("a-young", rule("x.example.com", ("Prefix", "/foo", "young"), ("Prefix", "/young", "young")), created="2026-02-02T00:00:00Z"),
            ingress("old", rule("x.example.com", ("Prefix", "/foo/", "old")), created="2026-01-01T00:00:00Z"),
            ingress("b", rule("y.example.com", ("Exact", "/", "b"))), ingress("a", rule("y.example.com", ("Exact", "/", "a")))]
    rendered = render(tmp_path, {"ingresses": made, "services": [service(n) for n in ("young", "old", "a", "b")]})
    assert rendered.routes() == {"x.example.com/foo/": "default_old_80", "x.example.com/young/": "default_young_80",
                                 "y.example.com/": "default_a_80"}
    said = [line for line in rendered.events.splitlines() if "has it already" in line]
    assert [line.split(": ")[0] for line in said] == ["Ingress default/b", "Ingress default/a-young"]
    assert "Ingress default/old has it" in said[1]


def test_default_backends_come_behind_all_rules(tmp_path: pathlib.Path) -> None:
    """However old they are; and of two of them the older one has it."""
    old = ingress("old", rule("x.example.com", ("Prefix", "/a", "a")), defaultBackend=backend("old"), created="2026-01-01T00:00:00Z")
    young = ingress("young", rule("x.example.com", ("Prefix", "/", "young")), created="2026-02-01T00:00:00Z")
    own = ingress("own", rule("own.example.com", ("Prefix", "/", "own")), defaultBackend=backend("rest"))
    rest = [ingress(name, defaultBackend=backend(name), created=created)
            for name, created in (("late", "2026-03-01T00:00:00Z"), ("early", "2026-02-01T00:00:00Z"))]
    names = ("a", "old", "young", "own", "rest", "late", "early")
    rendered = render(tmp_path, {"ingresses": [old, young, own, *rest], "services": [service(n) for n in names]}, default_backend="default/a:80")
    assert rendered.files["maps/prefix.map"].splitlines() == ["*/ default_early_80", "own.example.com/ default_own_80",
                                                              "x.example.com/ default_young_80", "x.example.com/a/ default_a_80"]
    assert sorted(line.split(": ")[0] for line in rendered.events.splitlines()) == ["Ingress default/late", "Ingress default/old"]


def test_path_named_twice(tmp_path: pathlib.Path) -> None:
    twice = ingress("twice", rule("x.example.com", ("Prefix", "/a", "a"), ("Prefix", "/a/", "b")))
    rendered = render(tmp_path, {"ingresses": [twice], "services": [service("a"), service("b")]})
    assert rendered.routes() == {"x.example.com/a/": "default_a_80"}
    assert "Ingress default/twice: host x.example.com, path /a/: Ingress default/twice has it already" in rendered.events


def test_classes(tmp_path: pathlib.Path) -> None:
    def with_class(name: str, spec: str | None, note: str | None = None) -> Object:
        return ingress(name, rule(f"{name}.example.com", ("Prefix", "/", "a")), notes={"kubernetes.io/ingress.class": note} if note else {},
                       **({"ingressClassName": spec} if spec else {}))
    made = [with_class("ours", "haproxy"), with_class("theirs", "nginx"), with_class("none", None), with_class("noted", None, "haproxy"),
            with_class("noted-extra", None, "haproxy-k8s-sync"), with_class("noted-theirs", None, "nginx"),
            with_class("stated", "nginx", "haproxy")]

    def taken(*classes: Object, **extra: object) -> set[str]:
        rendered = render(tmp_path, {"classes": list(classes), "ingresses": made, "services": [service("a")]}, **extra)
        return {key.partition(".")[0] for key in rendered.routes()}
    theirs = ingress_class("nginx", "k8s.io/ingress-nginx")
    assert taken(ingress_class(), theirs) == {"ours", "none", "noted", "noted-extra"}
    assert taken(ingress_class(default=False), theirs) == {"ours", "noted", "noted-extra"}
    assert taken(ingress_class(default=False), theirs, without_class=True) == {"ours", "none", "noted", "noted-extra"}
    assert taken(theirs) == {"noted-extra"}
    assert taken(ingress_class("nginx", default=False), controller="haproxy-k8s-sync.io/ingress") == {"theirs", "noted-theirs", "noted-extra", "stated"}

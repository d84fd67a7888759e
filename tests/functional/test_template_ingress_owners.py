"""The shipped template set `ingress`: what several namespaces want of one HAProxy. A host name, its certificate and what was served before
are one's own."""

from __future__ import annotations

import pathlib
import socket

import pytest

from tests.harness import http
from tests.harness.certificates import der, self_signed
from tests.harness.daemon import Daemon
from tests.harness.haproxy import haproxy_binary
from tests.harness.process import wait_until

from .rig import program
from .ingress_set import Object, backend, endpoint, endpoint_slice, ingress, ingress_class, make, render, rule, running, secret, service, web
from .test_template_source import Site

OLD, YOUNG = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"
SERVICES = [service("s", namespace) for namespace in ("bank", "evil", "infra")]
needs_haproxy = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")


def of(namespace: str, host: str | None, *paths: str, created: str = OLD, name: str = "i", **spec: object) -> Object:
    return ingress(name, rule(host, *(("Prefix", path, "s") for path in paths or ("/",))), namespace=namespace, created=created, **spec)


def routes(directory: pathlib.Path, *ingresses: Object, **extra: object) -> tuple[dict[str, str], str]:
    """By key, the namespace (or what it is); what was said of evil's."""
    rendered = render(directory, {"ingresses": list(ingresses), "services": SERVICES}, **extra)
    said = [line for line in rendered.events.splitlines() if not line.startswith("Ingress evil/")]
    assert not said, said
    return {key: to.split("_")[0] for key, to in rendered.routes().items()}, rendered.events


# What bank has, what evil, whose Ingress is younger, asks for, and what is reported to it; "": it gets that.
CLAIMS = [
    ("bank.example.com", "bank.example.com", "host name bank.example.com is served for namespace bank"),
    ("bank.example.com", "*.example.com", "host *.example.com: host name bank.example.com is served for namespace bank"),
    ("*.example.com", "bank.example.com", "host bank.example.com: host name *.example.com is served for namespace bank"),
    ("*.example.com", "*.example.com", "host name *.example.com is served for namespace bank"),
    (None, None, "what has no other host is served for namespace bank"),
    ("bank.example.com", "evil.example.com", ""),
    ("bank.example.com", "*.bank.example.com", ""),
    ("*.example.com", "example.com", ""),
    ("*.example.com", "a.b.example.com", ""),
    ("bank.example.com", "*.com", ""),
    ("bank.example.com", None, ""),
    (None, "evil.example.com", ""),
]


@pytest.mark.parametrize(("theirs", "asked", "told"), CLAIMS)
def test_host_is_one_namespaces(tmp_path: pathlib.Path, theirs: str | None, asked: str | None, told: str) -> None:
    made, said = routes(tmp_path, of("bank", theirs), of("evil", asked, "/deep/path", created=YOUNG))
    got = (asked or "*") + "/deep/path/"
    assert made[(theirs or "*") + "/"] == "bank"
    assert made.get(got) == (None if told else "evil")
    assert said == (f"Ingress evil/i: {told}; another namespace gets it only by SHARED_HOSTS or HOST_OWNERSHIP=any; it is left out\n" if told else "")


@pytest.mark.parametrize(("theirs", "asked"), [(theirs, asked) for theirs, asked, told in CLAIMS if told])
@pytest.mark.parametrize("extra", [{"host_ownership": "any"}, "shared_hosts"], ids=str)
def test_hosts_may_be_shared(tmp_path: pathlib.Path, theirs: str | None, asked: str | None, extra: dict[str, object] | str) -> None:
    more = {"shared_hosts": [asked or "*"]} if isinstance(extra, str) else extra
    made, said = routes(tmp_path, of("bank", theirs), of("evil", asked, "/deep/path", created=YOUNG), **more)
    assert made == {(theirs or "*") + "/": "bank", (asked or "*") + "/deep/path/": "evil"}
    assert said == ""


def test_one_host_left_out_is_said_once_and_the_others_stay(tmp_path: pathlib.Path) -> None:
    two = ingress("i", rule("bank.example.com", ("Prefix", "/a", "s"), ("Exact", "/b", "s")), rule("evil.example.com", ("Prefix", "/", "s")),
                  namespace="evil", created=YOUNG, defaultBackend=backend("s"))
    made, said = routes(tmp_path, of("bank", "bank.example.com", "/bank"), two)
    assert made == {"bank.example.com/bank/": "bank", "evil.example.com/": "evil"}
    assert said.count("\n") == 1


def test_age_decides_at_the_start_and_one_namespace_has_many(tmp_path: pathlib.Path) -> None:
    made, said = routes(tmp_path, of("evil", "x.example.com", "/evil", created=YOUNG), of("bank", "x.example.com", "/1"),
                        of("bank", "x.example.com", "/2", created="2026-05-01T00:00:00Z", name="late"))
    assert made == {"x.example.com/1/": "bank", "x.example.com/2/": "bank"}
    assert said.count("\n") == 1


def test_what_is_wrong_claims_nothing(tmp_path: pathlib.Path) -> None:
    """Who is not served has no host."""
    made, _ = routes(tmp_path, of("evil", "x.example.com", "no-path"), of("bank", "x.example.com", created=YOUNG))
    assert made == {"x.example.com/": "bank"}
    guarded = of("evil", "x.example.com", notes={"haproxy.org/deny-list": "10.0.0.0/8"})
    made, _ = routes(tmp_path, guarded, of("bank", "x.example.com", created=YOUNG))
    assert made == {"x.example.com/": "bank"}


def test_paths_that_a_host_has_not_go_to_nobody_else(tmp_path: pathlib.Path) -> None:
    made, said = routes(tmp_path, of("bank", "bank.example.com", "/pay"), of("bank", "*.example.org", "/pay", name="wild"), of("evil", None, "/login", created=YOUNG),
                        of("evil", "evil.example.com", "/evil", created=YOUNG, name="own"))
    assert made == {"bank.example.com/pay/": "bank", "bank.example.com/": "no-route", "*.example.org/pay/": "bank", "*.example.org/": "no-route",
                    "*/login/": "evil", "evil.example.com/evil/": "evil"}
    assert said == ""
    made, _ = routes(tmp_path, of("bank", "a.example.org", "/a"), of("bank", "*.example.org", "/pay", name="wild"), of("evil", None, created=YOUNG))
    assert made == {"a.example.org/a/": "bank", "*.example.org/pay/": "bank", "*.example.org/": "no-route", "*/": "evil"}, "a's go on at the wildcard's"
    made, _ = routes(tmp_path, of("bank", "bank.example.com", "/pay"), of("evil", None, "/login"), default_backend="infra/s:80")
    assert made == {"bank.example.com/pay/": "bank", "bank.example.com/": "infra", "*/login/": "evil", "*/": "infra"}
    made, _ = routes(tmp_path, of("bank", "bank.example.com", "/pay"), of("evil", None, "/"), default_backend="infra/s:80")
    assert made["bank.example.com/"] == "no-route"


def lines(directory: pathlib.Path, namespaces: dict[str, list[Object]], **extra: object) -> tuple[list[str], str]:
    """Of the list of certificates, each namespace with a Secret `tls`."""
    pair = self_signed(directory, "any")
    objects = {"ingresses": [one for all_ in namespaces.values() for one in all_], "services": SERVICES,
               "secrets": [secret("tls", pair, namespace) for namespace in namespaces]}
    rendered = render(directory, objects, **extra)
    listed = rendered.files.get("files/certificates.list", "")
    return [line.removeprefix("/etc/haproxy/ssl/") for line in listed.splitlines()], rendered.events


@pytest.mark.parametrize(("host", "asked", "shown"), [
    ("evil.example.com", ["evil.example.com"], "evil.example.com"),
    ("evil.example.com", [], "evil.example.com"),
    ("evil.example.com", ["bank.example.com", "evil.example.com"], "evil.example.com"),
    ("evil.example.com", ["*.example.com"], "evil.example.com"),  # its key may be of the kind that a client prefers
    ("evil.example.com", ["*.example.org"], ""),
    ("evil.example.org", ["*.example.org"], "*.example.org"),
    ("*.example.org", ["*.example.org"], "*.example.org"),
    ("*.example.org", ["a.example.org"], "a.example.org"),
    ("*.example.org", [], "*.example.org"),
    ("evil.example.com", ["nobody.example.net"], ""),
    (None, ["nobody.example.net"], "nobody.example.net"),
    (None, ["bank.example.com"], ""),
    (None, ["*.example.com"], ""),
    (None, ["*"], ""),
    (None, [], ""),
])
def test_certificate_is_shown_for_the_hosts_of_its_namespace(tmp_path: pathlib.Path, host: str | None, asked: list[str], shown: str) -> None:
    theirs = of("evil", host, created=YOUNG, tls=[{"secretName": "tls", **({"hosts": asked} if asked else {})}])
    listed, said = lines(tmp_path, {"bank": [of("bank", "bank.example.com", tls=[{"secretName": "tls", "hosts": ["bank.example.com"]}])], "evil": [theirs]})
    assert listed == ["bank_tls.pem bank.example.com"] + ([f"evil_tls.pem {shown}"] if shown else [])
    assert ("Ingress evil/i: spec.tls:" in said) == (shown == "" or len(asked) > 1)


def test_wildcard_is_not_shown_for_what_goes_elsewhere(tmp_path: pathlib.Path) -> None:
    """Who has the requests without a host would answer with another's certificate."""
    theirs = of("bank", "bank.example.com", tls=[{"secretName": "tls", "hosts": ["*.example.com"]}])
    assert lines(tmp_path, {"bank": [theirs]})[0] == ["bank_tls.pem *.example.com"]
    assert lines(tmp_path, {"bank": [theirs, of("bank", None, name="rest")]})[0] == ["bank_tls.pem *.example.com"]
    assert lines(tmp_path, {"bank": [theirs], "evil": [of("evil", None, created=YOUNG)]})[0] == ["bank_tls.pem bank.example.com"]


def test_many_names_are_many_lines(tmp_path: pathlib.Path) -> None:
    """HAProxy takes so many words of a line."""
    hosts = [f"h{i}.example.com" for i in range(450)]
    many = ingress("i", *(rule(host, ("Prefix", "/", "s")) for host in hosts), namespace="bank", tls=[{"secretName": "tls", "hosts": hosts}])
    listed, said = lines(tmp_path, {"bank": [many]})
    assert [line.split(" ")[0] for line in listed] == ["bank_tls.pem"] * 3
    assert [name for line in listed for name in line.split(" ")[1:]] == hosts
    assert max(len(line.split(" ")) for line in listed) == 201
    assert said == ""


@pytest.mark.parametrize("asked", [[], ["*.example.com"]])
def test_entries_that_name_the_same_hosts_again_and_again(tmp_path: pathlib.Path, asked: list[str]) -> None:
    """An object of 1 MB could ask for millions of names, and take all others' renders with it."""
    hosts = [f"h{i}.example.com" for i in range(450)]
    entry = {"secretName": "tls", **({"hosts": asked} if asked else {})}
    made = ingress("i", *(rule(host, ("Prefix", "/", "s")) for host in hosts), namespace="evil", tls=[entry] * 44)
    bank = [of("bank", "bank.example.com", tls=[{"secretName": "tls", "hosts": ["bank.example.com"]}])]
    listed, said = lines(tmp_path, {"bank": bank, "evil": [made]})
    assert [name for line in listed for name in line.split(" ")[1:]] == ["bank.example.com", *hosts] and said == ""
    made["spec"]["tls"] = [entry] * 60
    made["spec"]["tls"][50] = {"secretName": "tls", "hosts": ["nobody.example.net"]}
    listed, said = lines(tmp_path, {"bank": bank, "evil": [made]})
    assert [name for line in listed for name in line.split(" ")[1:]] == ["bank.example.com", *hosts]
    assert said.splitlines() == ["Ingress evil/i: spec.tls: its entries name more than 20000 hosts: those behind have no effect"]


@pytest.mark.parametrize("named", ["infra/tls", "infra/typo", "typo"])
def test_default_certificate_is_the_operators_or_none(tmp_path: pathlib.Path, named: str) -> None:
    made = {"bank": [of("bank", "bank.example.com", tls=[{"secretName": "tls", "hosts": ["bank.example.com"]}])], "infra": []}
    listed, said = lines(tmp_path, made, default_certificate=named)
    good = named == "infra/tls"
    assert listed == (["infra_tls.pem"] if good else []) + ["bank_tls.pem bank.example.com"]
    assert (f"IngressClass haproxy: default_certificate {named}: " in said) != good
    assert (" strict-sni" in render_again(tmp_path, named)) != good


def render_again(directory: pathlib.Path, named: str) -> str:
    pair = self_signed(directory, "any")
    objects = {"ingresses": [of("bank", "bank.example.com", tls=[{"secretName": "tls", "hosts": ["bank.example.com"]}])], "services": SERVICES,
               "secrets": [secret("tls", pair, "bank"), secret("tls", pair, "infra")]}
    return render(directory, objects, default_certificate=named).config


PROTECT = ["nginx.ingress.kubernetes.io/auth-url", "nginx.ingress.kubernetes.io/whitelist-source-range", "haproxy.org/allow-list",
           "ingress.kubernetes.io/deny-list", "haproxy-ingress.github.io/auth-tls-secret", "haproxy-k8s-sync/allow-list"]


@pytest.mark.parametrize("note", PROTECT)
def test_ingress_that_asks_for_protection_is_not_served_open(tmp_path: pathlib.Path, note: str) -> None:
    asks = of("evil", "x.example.com", notes={note: "10.0.0.0/8"}, defaultBackend=backend("s"), tls=[{"secretName": "gone"}])
    made, said = routes(tmp_path, asks, of("bank", "bank.example.com"))
    assert made == {"bank.example.com/": "bank"}
    assert said == f"Ingress evil/i: {note}: there is no such protection here; the Ingress is not served, until it goes without that or FOREIGN_PROTECTION=warn serves it open to all\n"
    made, said = routes(tmp_path, asks, of("bank", "bank.example.com"), foreign_protection="warn")
    assert made == {"bank.example.com/": "bank", "x.example.com/": "evil"}
    assert f"{note}: there is no such protection here; the Ingress is served without it" in said


def test_unknown_annotations(tmp_path: pathlib.Path) -> None:
    """Of one's own they are said; others', and those that switch a protection off, are none of this program's."""
    made, said = routes(tmp_path, of("evil", "x.example.com", notes={
        "haproxy-k8s-sync/ssl-redirct": "true", "haproxy-k8s-sync/balance": "source", "nginx.ingress.kubernetes.io/proxy-body-size": "1m",
        "nginx.ingress.kubernetes.io/ssl-passthrough": "false", "example.com/auth-type": "basic"}))
    assert made == {"x.example.com/": "evil"}
    assert said == ("Ingress evil/i: haproxy-k8s-sync/ssl-redirct: there is no such annotation; "
                    "there are ssl-redirect, backend-protocol, balance, timeout-server, servers\n")


LIES = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "lie.example.com", "X-Real-IP": "192.0.2.1",
        "Forwarded": "for=192.0.2.1", "X-Forwarded-User": "root", "X_Forwarded_For": "192.0.2.1", "X_Real_IP": "192.0.2.1"}
OWN = {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http", "x-forwarded-host": "a.example.com", "x-real-ip": "127.0.0.1"}


def seen(directory: pathlib.Path, sent: dict[str, str], **extra: object) -> list[tuple[str, str]]:
    """What the application gets of them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        objects = {"ingresses": [ingress("a", rule("a.example.com", ("Prefix", "/", "a")))], "services": [service("a")],
                   "slices": [endpoint_slice("a", endpoint("127.0.0.1"), port=listener.getsockname()[1])]}
        with running(directory, objects, **extra) as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as client:
            more = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
            client.sendall(f"GET / HTTP/1.1\r\nHost: a.example.com\r\n{more}Connection: close\r\n\r\n".encode())
            with listener.accept()[0] as server:
                server.settimeout(10)
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += server.recv(65536)
                server.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    pairs = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line]
    return sorted((name.lower(), value) for name, value in pairs if "forwarded" in name.lower() or "real" in name.lower())


@needs_haproxy
def test_what_clients_say_of_themselves_is_replaced(tmp_path: pathlib.Path) -> None:
    assert seen(tmp_path, LIES) == sorted(OWN.items())
    assert seen(tmp_path, {}) == sorted(OWN.items())
    assert seen(tmp_path, LIES, trusted_proxies=["192.0.2.0/24", "2001:db8::1"]) == sorted(OWN.items())


@needs_haproxy
def test_trusted_proxies_are_believed(tmp_path: pathlib.Path) -> None:
    theirs = {name.lower(): value for name, value in LIES.items()}
    got = seen(tmp_path, LIES, trusted_proxies=["127.0.0.0/8"])
    assert got == sorted([*theirs.items(), ("x-forwarded-for", "127.0.0.1")])
    assert seen(tmp_path, {}, trusted_proxies=["127.0.0.0/8"]) == sorted(OWN.items()), "what they do not say is said for them"


@needs_haproxy
def test_clients_are_shown_no_other_teams_certificate(tmp_path: pathlib.Path) -> None:
    """Not to who asks for no name, either."""
    pairs = {name: self_signed(tmp_path, name) for name in ("bank", "evil")}
    made = [of("bank", "bank.example.com", tls=[{"secretName": "bank", "hosts": ["bank.example.com"]}]),
            of("evil", "evil.example.com", created=OLD, name="a", tls=[{"secretName": "evil", "hosts": ["bank.example.com", "*.example.com"]}])]
    objects = {"ingresses": made, "services": SERVICES, "secrets": [secret(name, pair, name) for name, pair in pairs.items()]}
    with running(tmp_path, objects, default_certificate="infra/typo") as proxy:
        assert proxy.certificate("bank.example.com") == der(pairs["bank"].certificate)
        assert proxy.certificate("evil.example.com") == der(pairs["evil"].certificate)
        for name in ("other.example.com", None):
            with pytest.raises(OSError):
                proxy.certificate(name)


class Team:
    """A namespace that asks for shop.example.com."""

    def __init__(self, site: Site, namespace: str, created: str, port: int):
        self.site, self.namespace = site, namespace
        self.ingress = of(namespace, "shop.example.com", created=created)
        site.kube.put(service("s", namespace), endpoint_slice("s", endpoint("127.0.0.1"), port=port, namespace=namespace))

    def comes(self, notes: dict[str, str] | None = None) -> None:
        self.ingress["metadata"]["annotations"] = notes or {}
        self.site.kube.put(self.ingress)

    def goes(self) -> None:
        self.site.kube.delete(self.ingress)

    def events(self) -> list[str]:
        return [one["message"] for one in self.site.kube.state()["items"] if one["kind"] == "Event" and one["involvedObject"]["namespace"] == self.namespace]


def says(site: Site, path: str = "/") -> str:
    return http.request(f"http://127.0.0.1:{site.haproxy.port}", "GET", path, headers={"Host": "shop.example.com"}).text


@needs_haproxy
def test_who_is_served_stays_over_a_restart(tmp_path: pathlib.Path) -> None:
    """However old the Ingress is that comes; when the host is given up, the next has it."""
    site = Site(tmp_path)
    own = make(tmp_path, {}, http_bind=[f"127.0.0.1:{site.haproxy.port}"], stats_socket=f"{site.haproxy.socket} mode 600 level admin expose-fd listeners",
               server_options="no-check")
    site.settings |= {"TEMPLATE_FROM": f"file:{own}"}
    with site.haproxy, site.kube, web("bank") as bank, web("evil") as evil:
        site.kube.put(ingress_class())
        first, second = Team(site, "bank", YOUNG, bank), Team(site, "evil", OLD, evil)
        first.comes()
        with site.daemon():
            wait_until(lambda: says(site) == "bank", 20, "bank is served")
            second.comes()
            wait_until(lambda: any("is served for namespace bank" in text for text in second.events()), 20, "evil is told")
            assert says(site) == "bank"
        assert (tmp_path / "state" / "host-owners").read_text() == "shop.example.com bank\n"
        with site.daemon() as daemon:
            wait_until(daemon.ready, 20, "ready")
            assert says(site) == "bank"
            first.goes()
            wait_until(lambda: says(site) == "evil", 20, "evil has it now")
            first.comes()
            wait_until(lambda: any("is served for namespace evil" in text for text in first.events()), 20, "bank is told")
            second.comes(notes={"haproxy.org/allow-list": "10.0.0.0/8"})
            wait_until(lambda: any("haproxy.org/allow-list" in text for text in second.events()), 20, "evil is told")
            wait_until(lambda: says(site) == "no route", 20, "evil is not served")
            assert (tmp_path / "state" / "host-owners").read_text() == "shop.example.com evil\n", "its host stays its own all the same"
        with site.daemon(HOST_OWNERSHIP="any", TRUSTED_PROXIES="192.0.2.1", FOREIGN_PROTECTION="warn", SHARED_HOSTS="a.example"):
            wait_until(lambda: not (tmp_path / "state" / "host-owners").exists(), 20, "nobody owns a host")
            wait_until(lambda: says(site) == "evil", 20, "the older one has it, unprotected")
            assert "unless { src 192.0.2.1 }" in site.haproxy.config.read_text()


def owners(site: Site) -> str:
    return next(str(one.get("data", {}).get("host-owners", "")) for one in site.kube.state()["items"] if one["kind"] == "ConfigMap")


@needs_haproxy
def test_who_is_served_stays_when_another_replica_leads(tmp_path: pathlib.Path) -> None:
    """No folder is kept: the ConfigMap alone says whose a host is, to a replica that stands by, and to one that starts."""
    site = Site(tmp_path)
    own = make(tmp_path, {}, http_bind=[f"127.0.0.1:{site.haproxy.port}"], stats_socket=f"{site.haproxy.socket} mode 600 level admin expose-fd listeners",
               server_options="no-check")
    del site.settings["STATE_DIR"]
    site.settings |= {"TEMPLATE_FROM": f"file:{own}", "LEADER_ELECT": "true", "LEASE_NAMESPACE": "infra", "HOST_OWNERS_CONFIGMAP": "hosts",
                      "KUBECONFIG": str(site.kube.kubeconfig(tmp_path / "kubeconfig"))}
    replicas = [Daemon(tmp_path / name, site.settings, program()) for name in ("first", "second", "third")]
    with site.haproxy, site.kube, web("bank") as bank, web("evil") as evil:
        site.kube.put(ingress_class(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosts", "namespace": "infra"}, "data": {"mine": "stays"}})
        first, second = Team(site, "bank", YOUNG, bank), Team(site, "evil", OLD, evil)
        first.comes()
        with replicas[0] as leader:
            wait_until(lambda: says(site) == "bank", 20, "bank is served")
            wait_until(lambda: owners(site) == "shop.example.com bank\n", 20, "the ConfigMap has it")
            second.comes()
            wait_until(lambda: any("is served for namespace bank" in text for text in second.events()), 20, "evil is told")
            with replicas[1] as follower:
                wait_until(follower.ready, 20, "it stands by")
                first.goes()
                wait_until(lambda: owners(site) == "shop.example.com evil\n", 20, "evil has it now")
                first.ingress["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
                first.comes()
                wait_until(lambda: any("is served for namespace evil" in text for text in first.events()), 20, "bank is told")
                leader.stop()
                wait_until(lambda: follower.metrics().sum("leader") == 1, 60, "it leads")
                follower.wait_log("HAProxy runs the configuration|configuration (applied|unchanged)")
                assert says(site) == "evil"
        site.kube.forbid("configmaps")
        with replicas[2] as late:
            wait_until(lambda: "[-]watch configmaps of infra/hosts: not synced" in late.get("/readyz")[1], 20, "it needs the right")
            assert "configuration applied" not in late.log() and "templates rendered" not in late.log()
            site.kube.forbid()
            wait_until(late.ready, 60, "it has it")
            assert says(site) == "evil"
        data = next(one["data"] for one in site.kube.state()["items"] if one["kind"] == "ConfigMap")
        assert data == {"mine": "stays", "host-owners": "shop.example.com evil\n"}

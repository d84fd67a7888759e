"""Ten namespaces that share a HAProxy, some of whose objects are hostile, and a model of what is to come of them. The model knows the rules
of docs/tenants.md and nothing of the program: an object asks for paths of host names (`Claim`), or there is something `wrong` with it."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable
from typing import Any

from tests.harness import objects

from .ingress_set import backend, ingress

Object = dict[str, Any]
TEAMS = [f"team{i}" for i in range(10)]
CROWD = "crowd"  # has more than one namespace may have
ANYWHERE, ELSEWHERE = "*", "127.0.12.1"
# No value of any annotation, wherever it stands.
SMUGGLED = ["x\n    server evil 192.0.2.66:1", "x\nfrontend evil", 'a" b', "a b", "a # b", "${HOME}", "%[env(HOME)]", "'", "\\", "é", "x" * 3000]
NO_HOSTS = ["end.example.", "*", "a..example", "under_score.example", "[::1]", "-a.example", "a.example:443", "a.example/b", "l" * 64 + ".example", ""]
PROTECTIONS = ["nginx.ingress.kubernetes.io/whitelist-source-range", "haproxy.org/allow-list", "haproxy-ingress.github.io/auth-tls-secret", "haproxy-k8s-sync/deny-list"]
BAD_SECRETS = ["weak", "broken", "mismatch", "gone"]


@dataclasses.dataclass(frozen=True)
class Claim:
    host: str  # "*": any that has no other
    path: str  # "/": all
    backend: str
    address: str = ANYWHERE
    port: int = 0
    kind: str = "http"  # or "https", or "tcp", whose host is ""


@dataclasses.dataclass
class Asked:
    """One object, and what is in it."""
    namespace: str
    name: str
    age: int
    claims: list[Claim]
    tree: Object
    wrong: bool = False  # it is not served, and that is reported
    noted: bool = False  # something of it has no effect, and that is reported
    shows: str = ""  # the host for which its Secret is to be shown
    names_other: str = ""  # a host that its certificate is not to be shown for, if it is another's

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def domains(self, port: int | None) -> set[str]:
        """What two changes at once must not both be about, as a daemon may see one before the other. port: one that is nobody's at first."""
        return {".".join(c.host.split(".")[-3:]) for c in self.claims if c.host} | {"port" for c in self.claims if c.port == port}


def created(age: int) -> str:
    return f"2026-01-{1 + age // 86400:02d}T{age // 3600 % 24:02d}:{age // 60 % 60:02d}:{age % 60:02d}Z"


# ---- the model


@dataclasses.dataclass
class Settled:
    served: dict[tuple[str, int, str], dict[str, Claim]] = dataclasses.field(default_factory=dict)  # by address, port, host, then path
    owners: dict[str, str] = dataclasses.field(default_factory=dict)  # by host name a namespace; by "address:port" how it is served
    told: set[str] = dataclasses.field(default_factory=set)
    shown: dict[tuple[str, int, str], str] = dataclasses.field(default_factory=dict)  # by address, port, host: whose certificate

    def owner(self, host: str) -> str | None:
        """Of a request's host: the name itself before the wildcard above it before what has none."""
        return next((self.owners[name] for name in (host, above(host), "*") if name in self.owners), None)

    def goes_to(self, address: str, port: int, host: str, path: str) -> str:
        """The backend of a request, "": none. The longest path counts; what a host has no path for is no other namespace's."""
        for name in (host, above(host), *("*" for owner in [self.owner(host)] if owner == self.owners.get("*"))):
            paths, words = self.served.get((address, port, name), {}), path.split("/")
            for count in range(len(words), 0, -1):
                if (fits := "/".join(words[:count]) or "/") in paths:
                    return paths[fits].backend
        return ""


def above(host: str) -> str:
    return "*." + host.partition(".")[2]


def by_age(asked: Iterable[Asked]) -> list[Asked]:
    return sorted(asked, key=lambda a: (a.age, a.key))


def own_hosts(asked: list[Asked], before: dict[str, str]) -> dict[str, str]:
    """Who has a host keeps it, by a mistake, too; then the older has it. A wildcard and what it matches are one namespace's."""
    owners: dict[str, str] = {}
    near: dict[str, list[str]] = {}
    for incumbents in (True, False):
        for one in asked:
            for host in dict.fromkeys(c.host for c in one.claims if c.host):
                if one.wrong if not incumbents else before.get(host) != one.namespace:
                    continue
                alike = near.setdefault(above(host), [])
                if host not in owners and not any(owners[o] != one.namespace for o in alike if "*" in host + o):
                    owners[host] = one.namespace
                    alike.append(host)
    return owners


def beside(claim: Claim, other: Claim) -> bool:
    """Whether both can be served. All addresses have each of them; of tcp each is alone."""
    near = claim.port == other.port and (claim.address == other.address or ANYWHERE in (claim.address, other.address))
    return not near or claim.kind == other.kind != "tcp"


def settle(objects_: Iterable[Asked], before: dict[str, str]) -> Settled:
    asked, made = by_age(objects_), Settled()
    owners = own_hosts(asked, before)
    made.told = {one.key for one in asked if one.wrong or one.noted}
    waiting = []
    for one in asked:
        for claim in one.claims:
            if one.wrong and before.get(claim.host) == one.namespace:
                made.owners[claim.host] = one.namespace
            elif not one.wrong and claim.host and owners.get(claim.host) != one.namespace:
                made.told.add(one.key)
            elif not one.wrong:
                waiting.append((one, claim))
    kinds: list[Claim] = []
    for incumbents in (True, False):
        for one, claim in waiting:
            at, kind = f"{claim.address}:{claim.port}", f"tcp {one.namespace}" if claim.kind == "tcp" else claim.kind
            if (before.get(at) == kind) != incumbents:
                continue
            paths = made.served.setdefault((claim.address, claim.port, claim.host), {})
            if claim.path in paths or not all(beside(claim, other) for other in kinds):
                made.told.add(one.key)
                continue
            paths[claim.path] = claim
            made.owners |= {claim.host: one.namespace, at: kind}
            if one.shows == claim.host != "":
                made.shown[claim.address, claim.port, claim.host] = one.namespace
            if not any((c.address, c.port) == (claim.address, claim.port) for c in kinds):
                kinds.append(claim)
    # A listener at one address takes its connections from the one at all: it has what that has.
    for address, port in {key[:2] for key, paths in made.served.items() if paths and key[0] != ANYWHERE}:
        for _, _, host in [key for key in made.served if key[:2] == (ANYWHERE, port)]:
            made.served[address, port, host] = made.served[ANYWHERE, port, host] | made.served.get((address, port, host), {})
            if team := made.shown.get((ANYWHERE, port, host)):
                made.shown.setdefault((address, port, host), team)
    made.told |= {one.key for one in asked if one.names_other and not one.wrong and made.owner(one.names_other) != one.namespace}
    return made


# ---- what they write


@dataclasses.dataclass
class Generator:
    """Objects by chance: half of them good, a fifth odd, the others hostile. ports: by what they are for."""
    dice: random.Random
    ports: dict[str, int]  # https, http, taken by the operator, tcp: one that is free
    backends: dict[str, int]  # by namespace, where its servers listen
    hosts: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # with their namespaces

    def roll(self, namespace: str, number: int, age: int = 0) -> Asked:
        """The first two are good, and the oldest: theirs are the ports. age 0: any."""
        own = f"www.g{number}.{namespace}.example"
        theirs = self.dice.choice([host for other, host in self.hosts if other != namespace] or [own])
        self.hosts.append((namespace, own))
        make = self.dice.choices([self.good, self.odd, self.hostile], (5, 2, 4))[0] if number >= 2 else self.good
        return make(namespace, f"o{number}", age or (number if number < 2 else self.dice.randint(2, 10**6)), own, theirs)

    def good(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        raise NotImplementedError

    odd = hostile = good

    def crowd(self) -> list[Asked]:
        raise NotImplementedError


class Services(Generator):
    """Annotated ones. The oldest two have the ports for https and for http."""

    def make(self, namespace: str, name: str, age: int, host: str, kind: str = "https", path: str = "/", address: str = ANYWHERE, port: int = 0,
             wrong: bool = False, nameless: bool = False, noted: bool = False, said: dict[str, str] | None = None, notes: dict[str, str] | None = None) -> Asked:
        """said: options beyond, or in place of, those that the others come to. nameless: its host name is none."""
        port = port or self.ports[kind]
        options = {"listen-port": str(port), "backends-use-ssl": "false"}
        options |= {"haproxy-mode": "tcp"} if kind == "tcp" else {"hostname": host}
        options |= {"ssl-certificate": "secret:tls"} if kind == "https" else {"use-ssl": "false"}
        options |= {"path": path} if path != "/" else {}
        options |= {"listen-ip": address} if address != ANYWHERE else {}
        options |= said or {}
        prefix = self.dice.choice(["haproxy-kubefigurator.", "haproxy-k8s-sync/"])
        tree = objects.service(name, namespace=namespace, node_ports={"web": (80, self.backends[namespace])},
                               annotations={**{f"{prefix}web.{key}": value for key, value in options.items()}, **(notes or {})})
        tree["metadata"] |= {"labels": {"haproxy-kubefigurator.enabled": "yes"}, "creationTimestamp": created(age)}
        claim = Claim("" if kind == "tcp" else host.lower(), path.rstrip("/") or "/", f"k8s-service_{namespace}_{name}_web_backend", address, port, kind)
        return Asked(namespace, name, age, [] if nameless else [claim], tree, wrong or nameless, noted, shows=claim.host if kind == "https" else "")

    def good(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        said = {"backends-balance-method": self.dice.choice(["roundrobin", "leastconn", "uri"]), "health-path": "/health"}
        kind = ["https", "http"][age] if age < 2 else self.dice.choice(["https", "http"])
        return self.make(namespace, name, age, own, kind, said=said)

    def odd(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        mine = self.dice.choice([host for other, host in self.hosts if other == namespace])
        return self.dice.choice([
            lambda: self.make(namespace, name, age, own.upper()),
            lambda: self.make(namespace, name, age, f"{'l' * 63}.{'m' * 63}.{own}", "http"),
            lambda: self.make(namespace, name, age, mine, path=self.dice.choice(["/a", "/a/b/", "/a/b/c", "/" + "p" * 1000])),
            lambda: self.make(namespace, name, age, mine, "http", path=self.dice.choice(["/a", "/~a+b,c;d=e:f@g"])),
            lambda: self.make(namespace, name, age, own, address=ELSEWHERE),
            lambda: self.make(namespace, name, age, own, "tcp"),
            lambda: self.make(namespace, name, age, own, noted=True, said={self.dice.choice(["hostnames", "use-ssl-", "listen-port\n"]): "true"}),
            lambda: self.make(namespace, name, age, own, notes={"nginx.ingress.kubernetes.io/ssl-passthrough": "false", "example.com/auth": "x"}),
        ])()

    def hostile(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        option = self.dice.choice(["hostname", "listen-ip", "listen-port", "haproxy-mode", "use-ssl", "ssl-certificate", "path", "http-redirect",
                                   "backends-balance-method", "backends-use-ssl", "backends-verify-ssl", "send-proxy-v2", "health-path"])
        smuggled = self.dice.choice(["", "/", "secret:"]) + self.dice.choice(SMUGGLED)
        host = self.dice.choice([own, theirs])
        return self.dice.choice([
            lambda: self.make(namespace, name, age, theirs, self.dice.choice(["https", "http"])),
            lambda: self.make(namespace, name, age, theirs, path=self.dice.choice(["/a", "/deep/below"])),
            lambda: self.make(namespace, name, age, theirs, address=ELSEWHERE),
            lambda: self.make(namespace, name, age, host, "http", port=self.ports["https"]),
            lambda: self.make(namespace, name, age, "", "tcp", port=self.ports[self.dice.choice(["https", "http"])]),
            lambda: self.make(namespace, name, age, host, self.dice.choice(["https", "http", "tcp"]), port=self.ports["tcp"]),
            lambda: self.make(namespace, name, age, self.dice.choice(NO_HOSTS), nameless=True),
            lambda: self.make(namespace, name, age, host, wrong=True, nameless=option == "hostname", said={option: smuggled}),
            lambda: self.make(namespace, name, age, host, wrong=True, said={"ssl-certificate": self.dice.choice(
                [f"secret:{theirs.split('.')[2]}/tls", "../tls.pem", f"k8s-service_{theirs.split('.')[2]}_tls.pem", *(f"secret:{bad}" for bad in BAD_SECRETS)])}),
            lambda: self.make(namespace, name, age, host, wrong=True, said={"listen-ip": self.dice.choice(["10.9.9.9", "::1"])}),
            lambda: self.make(namespace, name, age, host, wrong=True, said={"listen-port": self.dice.choice(["0", "65536", "-1"])}),
            lambda: self.make(namespace, name, age, host, "https", wrong=True, port=self.ports["taken"]),
            lambda: self.make(namespace, name, age, host, wrong=True, notes={self.dice.choice(PROTECTIONS): "10.0.0.0/8"}),
        ])()

    def crowd(self) -> list[Asked]:
        """Ten ports more than 2,000."""
        many = self.make(CROWD, "many", 2, "crowd.example", noted=True)
        spec, notes = many.tree["spec"], many.tree["metadata"]["annotations"]
        said, spec["ports"] = {key.partition("web.")[::2]: value for key, value in notes.items()}, [{**spec["ports"][0], "name": f"p{i}"} for i in range(2010)]
        many.tree["metadata"]["annotations"] = {f"{prefix}p{i}.{option}": value for i in range(2010) for (prefix, option), value in [*said.items(), ((next(iter(said))[0], "path"), f"/{i}")]}
        many.claims = [dataclasses.replace(many.claims[0], path=f"/{i}", backend=f"k8s-service_{CROWD}_many_p{i}_backend") for i in range(2000)]
        return [many]


class Ingresses(Generator):
    """The oldest has what has no host."""

    def make(self, namespace: str, name: str, age: int, *rules: tuple[str, str], broken: Iterable[tuple[str, str]] = (), secret: str = "", names_other: str = "",
             notes: dict[str, str] | None = None, suffix: str = "", wrong: bool = False, noted: bool = False) -> Asked:
        """rules: host and path. secret: for the hosts of its rules, and for names_other. suffix: what notes make of the backend's name."""
        paths = [(host, {"path": path, "pathType": self.dice.choice(["Prefix", "ImplementationSpecific"]), "backend": backend("s")}) for host, path in [*rules, *broken]]
        spec: Object = {"rules": [{**({"host": host} if host != "*" else {}), "http": {"paths": [path]}} for host, path in paths]}
        if secret:
            spec["tls"] = [{"secretName": secret, "hosts": [host for host, _ in rules if host != "*"] + [names_other] * bool(names_other)}]
        return Asked(namespace, name, age, [Claim(host, path.rstrip("/") or "/", f"{namespace}_s_80{suffix}") for host, path in rules],
                     ingress(name, namespace=namespace, created=created(age), notes=notes, **spec), wrong, noted or bool(broken) or secret in BAD_SECRETS,
                     shows=rules[0][0] if secret == "tls" else "", names_other=names_other)

    def good(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        note, suffix = self.dice.choice([({}, ""), ({"haproxy-k8s-sync/balance": "leastconn"}, ".leastconn"), ({"haproxy-k8s-sync/timeout-server": "24d"}, ".24d")])
        return self.make(namespace, name, age, ("*" if age == 0 else own, "/"), secret=self.dice.choice(["tls", ""]) if age else "", notes=note, suffix=suffix)

    def odd(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        mine = self.dice.choice([host for other, host in self.hosts if other == namespace])
        return self.dice.choice([
            lambda: self.make(namespace, name, age, (above(own), "/"), secret=self.dice.choice(["tls", ""])),
            lambda: self.make(namespace, name, age, (above(own), "/wild"), (own, "/own"), secret="tls"),
            lambda: self.make(namespace, name, age, (f"{'l' * 63}.{'m' * 63}.{own}", "/"), secret="tls"),
            lambda: self.make(namespace, name, age, *((own, f"/{'p' * i}") for i in range(60))),
            lambda: self.make(namespace, name, age, (mine, self.dice.choice(["/a", "/a/b/", "/" + "p" * 1000, "/~a+b,c;d=e:f@g!$&'()*%20#\"`{}|\\^"]))),
            lambda: self.make(namespace, name, age, (own, "/"), noted=True, notes={"haproxy-k8s-sync/ssl-redirct": "true"}),
            lambda: self.make(namespace, name, age, (own, "/"), notes={"nginx.ingress.kubernetes.io/ssl-passthrough": "false", "example.com/auth": "x"}),
            lambda: self.make(namespace, name, age, (own, "/"), broken=[(own.upper(), "/")]),
        ])()

    def hostile(self, namespace: str, name: str, age: int, own: str, theirs: str) -> Asked:
        host, note = self.dice.choice([own, theirs]), self.dice.choice(["ssl-redirect", "backend-protocol", "balance", "timeout-server"])
        return self.dice.choice([
            lambda: self.make(namespace, name, age, (theirs, self.dice.choice(["/", "/a", "/deep/below"])), secret=self.dice.choice(["tls", ""])),
            lambda: self.make(namespace, name, age, (above(theirs), "/"), (own, "/"), secret=self.dice.choice(["tls", ""])),
            lambda: self.make(namespace, name, age, ("other" + theirs[3:], "/")),
            lambda: self.make(namespace, name, age, ("*", self.dice.choice(["/", "/login"])), (own, "/")),
            lambda: self.make(namespace, name, age, (own, "/"), secret="tls", names_other=theirs),
            lambda: self.make(namespace, name, age, (host, "/"), secret=self.dice.choice(BAD_SECRETS)),
            lambda: self.make(namespace, name, age, (own, "/"), broken=[(self.dice.choice([one for one in NO_HOSTS if one not in ("", "*")] + SMUGGLED), "/")]),
            lambda: self.make(namespace, name, age, (own, "/"), broken=[(own, self.dice.choice(["no-slash", "/" + self.dice.choice(["a b", "x\nevil evil", "é", "x" * 3000])]))]),
            lambda: self.make(namespace, name, age, (host, "/"), noted=True, notes={f"haproxy-k8s-sync/{note}": self.dice.choice(SMUGGLED)}),
            lambda: self.make(namespace, name, age, (host, "/"), noted=True, notes={"haproxy-k8s-sync/timeout-server": self.dice.choice(["25d", "9999999999h", "0s", "-1s", "1"])}),
            lambda: self.make(namespace, name, age, (host, "/"), wrong=True, notes={self.dice.choice(PROTECTIONS): "10.0.0.0/8"}),
        ])()

    def crowd(self) -> list[Asked]:
        """The youngest is beyond 4 MB."""
        made = [self.make(CROWD, f"large{i}", 2 + i, (f"www.g{i}.{CROWD}.example", "/"), wrong=i == 4, notes={"example.com/large": "x" * 900_000}) for i in range(5)]
        made[4].claims = []
        return made

"""Hostile tenants (docs/tenants.md), by chance and against a model: objects of ten namespaces, each good, odd or hostile, come, change and go,
while the daemon runs and over its restarts. At each step every host name has the backend and the certificate that the model says, in
what HAProxy reads and of a sample in what it answers; who is left out has an Event, and nobody else. EFFORT=100 plays all steps,
SEED=n others."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import re

import ssl
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.certificates import Pair, der, self_signed
from tests.harness.daemon import Daemon, quick_program
from tests.harness.haproxy import PLAIN, haproxy_binary
from tests.harness.process import Process, free_port, port_open, wait_until

from . import test_annotated_services, test_template_source
from .ingress_set import ask, endpoint, endpoint_slice, ingress_class, make, secret, service
from .tenants import ANYWHERE, CROWD, ELSEWHERE, TEAMS, Asked, Generator, Ingresses, Object, Services, Settled, above, settle

EFFORT, SEED = int(os.environ.get("EFFORT", "20")), int(os.environ.get("SEED", "1"))
OBJECTS, STEPS, CHANGES, SAMPLE = 1000, 30, 20, 2 * EFFORT
pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")


class Tenants:
    """What they have, the daemon and HAProxy, and what of it is not as the model says."""

    generator: Generator
    site: Any
    tls: int  # a port
    settings: dict[str, str]

    def __init__(self, home: pathlib.Path, dice: random.Random):
        self.home, self.dice = home, dice
        self.backends = {team: free_port() for team in [*TEAMS, CROWD]}
        self.pairs = {team: self_signed(home, team) for team in self.backends}
        self.team_of = {der(pair.certificate): team for team, pair in self.pairs.items()}
        self.asked: dict[int, Asked] = {}
        self.last = OBJECTS  # whose numbers come next
        self.model, self.ever = Settled(), set[str]()
        self.due: dict[tuple[str, int, str, str], str] = {}

    @contextlib.contextmanager
    def servers(self) -> Iterator[None]:
        """One for each namespace, which says its name."""
        says = [f'frontend {team}\n  bind 127.0.0.1:{port}\n  http-request return status 200 content-type text/plain string "{team}"\n' for team, port in self.backends.items()]
        (self.home / "says.cfg").write_text(PLAIN.replace("{d}", str(self.home)) + "".join(says))
        process = Process([haproxy_binary() or "", "-db", "-f", self.home / "says.cfg"], self.home / "says.log")
        try:
            wait_until(lambda: port_open(self.backends[CROWD]), 20, "the servers")
            yield
        finally:
            process.stop()

    def secrets(self) -> list[Object]:
        """Of each namespace a good one, and some that nobody may get to serve."""
        weak = self_signed(self.home, "weak", key="weak")
        made = []
        for team, pair in self.pairs.items():
            broken = secret("broken", pair, team)
            broken["data"] |= {"tls.crt": "bm9uZQ=="}
            made += [secret("tls", pair, team), secret("weak", weak, team), broken, secret("mismatch", Pair(pair.certificate, weak.key), team)]
        return made

    def objects(self) -> list[Object]:
        """Of the cluster, that are nobody's."""
        raise NotImplementedError

    # ---- what changes

    def begin(self) -> list[Object]:
        for number in range(OBJECTS):
            self.asked[number] = self.generator.roll(self.dice.choice(TEAMS), number)
        if EFFORT >= 100:
            self.asked |= {-number: one for number, one in enumerate(self.generator.crowd(), 1)}
        return [one.tree for one in self.asked.values()]

    def contended(self) -> list[int]:
        """Objects whose host another namespace asks for, too."""
        hosts: dict[str, set[str]] = {}
        for one in self.asked.values():
            for claim in one.claims:
                hosts.setdefault(above(claim.host), set()).add(one.namespace)
        return [number for number, one in self.asked.items() if number > 1 and any(len(hosts[above(claim.host)]) > 1 for claim in one.claims)]

    def change(self) -> None:
        """Each about something else, as it is open which of them the daemon sees first."""
        touched, fresh, contended = set[str](), [], self.contended()
        some = [*self.dice.sample(contended, min(CHANGES, len(contended))), *self.dice.sample(range(2, OBJECTS), CHANGES), *range(self.last, self.last + CHANGES // 2)]
        self.last += CHANGES // 2
        for number in dict.fromkeys(some):
            before, after = self.asked.get(number), None
            if before is None or self.dice.random() < 0.7:
                team, age = (before.namespace, before.age) if before else (self.dice.choice(TEAMS), 0)
                after = self.generator.roll(team, number, age)
            domains = set[str]().union(*(one.domains(self.generator.ports.get("tcp")) for one in (before, after) if one))
            if domains & touched:
                continue
            touched |= domains
            if after:
                self.asked[number] = after
                fresh.append(after.tree)
            elif before:
                self.site.kube.delete(self.asked.pop(number).tree)
        self.site.kube.put(*fresh)

    def settle(self, forgotten: bool = False) -> None:
        self.model = settle(self.asked.values(), {} if forgotten else self.model.owners)
        self.ever |= self.model.told
        paths: dict[str, set[str]] = {}
        for one in self.asked.values():
            for claim in one.claims:
                paths.setdefault(claim.host.replace("*", "any"), {"/", "/none"}).update((claim.path, claim.path.rstrip("/") + "x"))
        self.due = {(*name, path): self.model.goes_to(*name, path) for name in self.names() for path in sorted(paths[name[2]])}

    # ---- what is served

    def routes(self) -> Callable[[str, int, str, str], str]:
        """The backend by address, port, host and path, as HAProxy looks it up in the files that it has."""
        raise NotImplementedError

    def shown(self) -> set[tuple[str, int, str, str]]:
        """Address, port, name and the certificate's namespace, of the files that HAProxy has."""
        raise NotImplementedError

    def config(self) -> str:
        raise NotImplementedError

    def names(self) -> list[tuple[str, int, str]]:
        """That any tenant asks for, where."""
        places = {(c.address, c.port) for one in self.asked.values() for c in one.claims if c.kind != "tcp"}
        hosts = {c.host.replace("*", "any") for one in self.asked.values() for c in one.claims if c.kind != "tcp"}
        return sorted((address, port, host) for address, port in places for host in hosts)

    def differences(self) -> list[str]:
        """Between what HAProxy has, and the model."""
        found, shown, route = [], self.shown(), self.routes()
        for (address, port, host, path), due in self.due.items():
            if (there := route(address, port, host, path)) != due:
                found.append(f"{host}{path[:40]} at {address}:{port}: {there or 'nothing'} in place of {due or 'nothing'}")
        found += [f"{address}:{port}: the certificate of {team} is not shown for {host}"
                  for (address, port, host), team in self.model.shown.items() if (address, port, host, team) not in shown]
        found += [f"{address}:{port}: the certificate of {team} is shown for {host}"
                  for address, port, host, team in shown if team != self.model.owner(host) and (above(host) != host or self.model.owner("any" + host[1:]))]
        for name, section in re.findall(r"^backend (\S+)\n((?:.*\n)*?)(?=\n|\Z|backend)", self.config(), re.M):
            team = re.match(r"(?:k8s-service_)?(\w+?)_", name)
            servers = [words.split()[1] for words in re.findall(r"^ +server (.+)$", section, re.M)]
            if name != "no-route" and servers != [f"127.0.0.1:{self.backends.get(team[1] if team else '')}"]:
                found.append(f"backend {name}: {servers}")
        return found + [f"smuggled in: {line}" for line in re.findall(r"^.*evil.*$", self.config(), re.M)]

    def events(self) -> list[str]:
        """Who has one and should not, or the other way round."""
        has = {"{namespace}/{name}".format(**item["involvedObject"]) for item in self.site.kube.state()["items"] if item["kind"] == "Event"}
        return [f"{key} has no Event" for key in sorted(self.model.told - has)] + [f"{key} has an Event" for key in sorted(has - self.ever)]

    def answers(self, address: str, port: int, host: str) -> str:
        """Of which namespace the certificate and the answer are, as far as they are not what the model says."""
        due = self.model.goes_to(address, port, host, "/").removeprefix("k8s-service_").split("_")[0]
        shown = next((self.model.shown[key] for name in (host, above(host)) if (key := (address, port, name)) in self.model.shown), "")
        tls = self.tls if shown or port == self.tls else 0
        try:
            answer, certificate = ask(tls or port or self.site.haproxy.port, host, tls=tls > 0)
        except (ssl.SSLError, ConnectionError):
            return f"no connection, but {shown} shows a certificate" * bool(shown)
        there = {200: answer.body, 308: due}.get(answer.status, "")
        got = self.team_of.get(certificate, "")
        return f"{there or answer.status} by the certificate of {got}, in place of {due} and {shown}" * ((there, got) != (due, shown))

    def check(self, daemon: Daemon, what: str) -> None:
        def same() -> bool:
            found = self.differences()
            assert not found, f"{len(found)}: " + "\n".join(found[:25])
            found = self.events()
            assert not found, f"{len(found)}: " + "\n".join(found[:25])
            return True

        try:
            wait_until(same, 30, what, interval=0.2)
            wait_until(daemon.ready, 20, "ready")
            for address, port, host in self.dice.sample([name for name in self.names() if name[0] == ANYWHERE and name[1] != self.generator.ports.get("tcp")], SAMPLE):
                def answered() -> bool:
                    wrong = self.answers(address, port, host)
                    assert not wrong, wrong
                    return True

                wait_until(answered, 20, f"{host} at {port}")
        except AssertionError as e:
            raise AssertionError(f"{what}: {e}\n{daemon.tail(10)}") from None

    def play(self) -> None:
        with self.site.haproxy, self.site.kube, self.servers():
            self.site.kube.put(*self.objects(), *self.begin())
            self.settle(True)
            daemon = self.site.daemon(**self.settings)
            daemon.binary = quick_program()
            with daemon:
                self.check(daemon, f"SEED={SEED}, at first")
                for step in range(1, max(3, STEPS * EFFORT // 100)):
                    restarts, forgets = step % 3 == 2, step % 6 == 5
                    if restarts:
                        daemon.stop()
                    self.change()
                    self.settle(forgets)
                    if forgets:
                        (self.home / "state" / "host-owners").unlink()
                    if restarts:
                        daemon.start()
                    self.check(daemon, f"SEED={SEED}, step {step}")


class OfServices(Tenants):
    def __init__(self, home: pathlib.Path, dice: random.Random):
        super().__init__(home, dice)
        self.site = test_annotated_services.Site(home)
        self.settings = {"SERVICES_ADDRESSES": f"{ANYWHERE},{ELSEWHERE}"}
        ports = {"https": free_port(), "http": self.site.port, "tcp": free_port(), "taken": free_port()}
        self.generator, self.tls = Services(dice, ports, self.backends), ports["https"]
        with self.site.haproxy.config.open("a") as static:
            static.write(f"  default-server inter 1h\nfrontend own\n  bind :{ports['taken']}\n")

    def objects(self) -> list[Object]:
        return [objects.node("n1", "127.0.0.1"), *self.secrets()]

    def read(self, address: str, port: int, kind: str) -> list[list[str]]:
        place = "all" if address == ANYWHERE else address.replace(".", "_")
        path = self.home / "haproxy" / ("general" if kind.endswith("list") else "maps") / f"k8s-service_{place}_{port}_{kind}"
        return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []

    def config(self) -> str:
        return self.site.text()

    def shown(self) -> set[tuple[str, int, str, str]]:
        return {(address, port, host, pathlib.Path(words[0]).name.split("_")[1]) for address in (ANYWHERE, ELSEWHERE) for port in self.generator.ports.values()
                for words in self.read(address, port, "certificates.list") for host in words[1:] or [""]}

    def routes(self) -> Callable[[str, int, str, str], str]:
        read = {(address, port): ({words[0]: words[1] for words in self.read(address, port, "hosts.map")}, {words[0]: words[1] for words in self.read(address, port, "paths.map")})
                for address, port in {name[:2] for name in self.names()}}

        def route(address: str, port: int, host: str, path: str) -> str:
            hosts, paths = read[address, port]
            return longest(paths, f"{hosts.get(host, '')}{path}/") if host in hosts else ""

        return route

    def differences(self) -> list[str]:
        tcp = {re.sub(r"^bind ", "", at): backend for at, backend in re.findall(r"    (bind \S+)\n    default_backend (\S+)\n", self.config())}
        due = {f"{address}:{port}": claim.backend for (address, port, _), paths in self.model.served.items() for claim in paths.values() if claim.kind == "tcp"}
        return super().differences() + [f"tcp: {tcp} in place of {due}"] * (tcp != due)


class OfIngresses(Tenants):
    """The set `ingress`, as it is shipped."""

    def __init__(self, home: pathlib.Path, dice: random.Random):
        super().__init__(home, dice)
        self.site = test_template_source.Site(home)
        self.tls = free_port()
        own = make(home, {}, http_bind=[f"127.0.0.1:{self.site.haproxy.port}"], https_bind=[f"127.0.0.1:{self.tls}"], server_options="no-check",
                   stats_socket=f"{self.site.haproxy.socket} mode 600 level admin expose-fd listeners")
        self.settings = {"TEMPLATE_FROM": f"file:{own}"}
        self.generator = Ingresses(dice, {}, self.backends)

    def objects(self) -> list[Object]:
        listed = [ingress_class(), *self.secrets()]
        for team, port in self.backends.items():
            listed += [service("s", team), endpoint_slice("s", endpoint("127.0.0.1"), port=port, namespace=team)]
        return listed

    def config(self) -> str:
        return self.site.haproxy.config.read_text()

    def shown(self) -> set[tuple[str, int, str, str]]:
        path = self.home / "haproxy" / "general" / "certificates.list"
        lines = [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []
        return {(ANYWHERE, 0, host, pathlib.Path(words[0]).name.split("_")[0]) for words in lines for host in words[1:] or [""]}

    def routes(self) -> Callable[[str, int, str, str], str]:
        lines = (self.home / "haproxy" / "maps" / "prefix.map").read_text().splitlines()
        read = dict(line.split(" ", 1) for line in lines)

        def route(address: str, port: int, host: str, path: str) -> str:
            found = next((to for name in (host, above(host), "*") if (to := longest(read, f"{name}{path}/"))), "")
            return found.split("/")[0].replace("no-route", "")

        return route


def longest(paths: dict[str, str], of: str) -> str:
    """What the longest key that it begins with has; keys end with a slash."""
    return next((paths[key] for at in range(len(of), 0, -1) if of[at - 1] == "/" and (key := of[:at]) in paths), "")


@pytest.mark.parametrize("of", [OfServices, OfIngresses])
def test_hostile_tenants(tmp_path: pathlib.Path, of: type[Tenants]) -> None:
    of(tmp_path, random.Random(SEED)).play()

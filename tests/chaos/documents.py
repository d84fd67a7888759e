"""The user's haproxy.cfg with a map and a certificate beside it, rewritten again and again: some are good, some HAProxy rejects, some are
refused before they are sent. Most of the good ones change what runtime commands can change.

A server, `mark`, has an address that only one haproxy.cfg gives it: it shows in HAProxy and in its file which one that is.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import os
import pathlib
import random
from collections.abc import Iterator, Mapping, Sequence

from .invariants import Files, Key, Ours, Server, file_servers, map_entries, meaning
from .served import CERTIFICATE, MAP, Served, fingerprint

BACKEND, MARK = "by-document", "mark"
BY_RUNTIME = ("server", "come", "go", "map", "certificate")
"""A server's numbers or state; one that comes; one that goes; entries of the map; another certificate."""
_SERVERS = [f"s{i}" for i in range(1, 7)]
_HOSTS = [f"h{i}.example" for i in range(8)]


@dataclasses.dataclass(frozen=True)
class Document:
    number: int
    text: str
    good: bool
    files: Files
    servers: Mapping[Key, Server]
    """Of all backends, but for those that are the daemon's."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def mark(self) -> str:
        """What `mark` runs with; "": a haproxy.cfg that has none."""
        found = self.servers.get((BACKEND, MARK))
        return found.place if found else ""


@dataclasses.dataclass
class _Plan:
    """What a document is written from; the next one has most of it, too."""
    numbers: dict[str, int]
    balance: str
    more: list[str]
    mark: int
    servers: dict[str, list[int]]
    """Name -> host, port, weight, whether it is disabled."""
    entries: dict[str, str]
    certificate: int


class Documents:
    """first: a file as the Data Plane API writes it, without a server line that is the daemon's. The choices follow from `random` alone.
    folder: where the documents are put, each as a whole at one stroke. pems: certificates with their keys, to choose from."""

    def __init__(self, first: str, folder: pathlib.Path, ours: Ours, rng: random.Random, served: Served, pems: Sequence[str],
                 bad_certificates: bool = False):
        self.folder, self.ours, self.random, self.served, self.pems = folder, ours, rng, served, list(pems)
        self.first = "\n".join(line for line in first.splitlines() if not line.startswith("#")) + "\n"
        self.bad_certificates = bad_certificates
        """Whether one that is to be rejected may come with another certificate: a Data Plane API gives nobody the one from before."""
        self.list: list[Document] = []
        self.meanings: dict[object, list[Document]] = {}
        """Of the good ones: what a file of HAProxy's may mean."""
        self.since = 0
        """The number of the one that ran when all was in sync last: none from before it comes back."""
        self._plan = _Plan({}, "roundrobin", [], 0, {name: self._server() for name in _SERVERS[:3]}, {"x.example": "0"}, 0)

    @property
    def path(self) -> pathlib.Path:
        """CONFIG_FILE; the folder of the files beside it is files(folder)."""
        return self.folder / "now" / "haproxy.cfg"

    @staticmethod
    def files(folder: pathlib.Path) -> pathlib.Path:
        return folder / "now" / "d"

    @property
    def last(self) -> Document:
        return self.list[-1]

    def of_servers(self, since: int) -> list[Mapping[Key, Server]]:
        """What HAProxy may have, where that document was the one that ran when all was in sync last."""
        return [d.servers for d in self.list if d.good and d.number >= since]

    def of_files(self, since: int) -> list[Files]:
        """The same of files, which are stored before a document is rejected."""
        return [d.files for d in self.list if d.number >= since]

    def put(self, good: bool, change: str = "") -> str:
        """The next one; what it is. Known as possible before the daemon can see it. change: one of BY_RUNTIME, "": any."""
        plan = copy.deepcopy(self._plan)
        changes = list(self._change(plan, good, change))
        document = self._make(plan, good)
        self.list.append(document)
        if good:
            self._plan = plan
            self.meanings.setdefault(meaning(document.text, self.ours), []).append(document)
        self._write(document, plan)
        return f"document {document.number}, {'good' if good else 'to be rejected'}: {', '.join(changes)}"

    def of(self, text: str, files: Files | None = None) -> Document | None:
        """The last with such a haproxy.cfg, and those files beside it; None: nobody gave it, or it was to be rejected."""
        return next((d for d in reversed(self.meanings.get(meaning(text, self.ours), [])) if files in (None, d.files)), None)

    # --- what is another than before

    def _server(self) -> list[int]:
        return [self.random.randint(1, 250), self.random.randint(1, 9), self.random.randint(1, 200), int(self.random.random() < 0.3)]

    def _change(self, plan: _Plan, good: bool, change: str) -> Iterator[str]:
        rng = self.random
        if not self.list or (not change and rng.random() < (0.2 if good else 0.5)):
            self._change_shape(plan)
            yield "what takes a reload"
        wanted = [change] if change else rng.sample(BY_RUNTIME, rng.choice((1, 1, 2, 3)))
        if not good and not self.bad_certificates:
            wanted = [name for name in wanted if name != "certificate"]
        for name in wanted:
            yield getattr(self, f"_change_{name}")(plan)
        # A good one of files alone leaves haproxy.cfg as it is.
        if not good or not set(wanted) <= {"map", "certificate"}:
            plan.mark = len(self.list) + 1

    def _change_shape(self, plan: _Plan) -> None:
        rng = self.random
        plan.mark = len(self.list) + 1
        plan.numbers = {"other": rng.randint(60, 90), BACKEND: rng.randint(1, 50)}
        plan.balance = rng.choice(("roundrobin", "leastconn", "random"))
        plan.more = [f"backend more-{i}\n  mode {rng.choice(('tcp', 'http'))}\n  retries {rng.randint(1, 9)}\n" for i in range(rng.randint(0, 3))]
        rng.shuffle(plan.more)

    def _change_server(self, plan: _Plan) -> str:
        names = self.random.sample(sorted(plan.servers), self.random.randint(1, len(plan.servers)))
        for name in names:
            plan.servers[name] = self._server()
        return f"servers {' '.join(names)}"

    def _change_come(self, plan: _Plan) -> str:
        free = [name for name in _SERVERS if name not in plan.servers]
        if not free:
            return self._change_go(plan)
        name = free[0]  # behind those that are there: their order takes a reload
        if sorted([*plan.servers, name])[-1] != name:
            return self._change_server(plan)
        plan.servers[name] = self._server()
        return f"server {name} comes"

    def _change_go(self, plan: _Plan) -> str:
        if len(plan.servers) < 2:
            return self._change_come(plan)
        name = max(plan.servers)
        del plan.servers[name]
        return f"server {name} goes"

    def _change_map(self, plan: _Plan) -> str:
        rng = self.random
        if len(plan.entries) > 4 and rng.random() < 0.5:
            plan.entries = {**plan.entries, "x.example": str(len(self.list) + 1)}
            return "an entry of a map"
        hosts = rng.sample(_HOSTS, rng.randint(0, len(_HOSTS)))
        plan.entries = {"x.example": str(len(self.list) + 1), **{host: f"b{rng.randint(1, 99)}" for host in hosts}}
        return f"a map of {len(plan.entries)} entries"

    def _change_certificate(self, plan: _Plan) -> str:
        plan.certificate = self.random.choice([i for i in range(len(self.pems)) if i != plan.certificate])
        return f"certificate {plan.certificate}"

    # --- how it is written

    def _make(self, plan: _Plan, good: bool) -> Document:
        number = len(self.list) + 1
        text = self.first.replace("timeout server 77s", f"timeout server {plan.numbers['other']}s")
        text = text.replace("balance roundrobin", f"balance {plan.balance}")
        parts = [self.served.frontend, self._backend(plan), *plan.more]
        bad = self.random.choice(("  bogus on\n", "  balance nobody\n", "  server mine 127.0.0.1:9\n"))
        if not good and "server" in bad:  # a line that is the daemon's: no HAProxy is asked
            text = text.replace("  server keep-1", bad + "  server keep-1", 1)
        elif not good:
            parts.append(f"backend bad\n  mode tcp\n{bad}")
        text += "\n" + "\n".join(parts)
        servers = {key: server for key, server in file_servers(text).items() if key[0] != self.ours.backend or key[1] in self.ours.kept}
        files = Files(tuple(sorted(plan.entries.items())), fingerprint(self.pems[plan.certificate]))
        return Document(number, text, good, files, servers)

    @staticmethod
    def _backend(plan: _Plan) -> str:
        lines = [f"  server {MARK} 127.9.{plan.mark >> 8}.{plan.mark & 255}:9"]
        lines += [f"  server {name} 127.8.0.{host}:{port} weight {weight}{' disabled' if off else ''}"
                  for name, (host, port, weight, off) in sorted(plan.servers.items())]
        return f"backend {BACKEND}\n  mode tcp\n  timeout server {plan.numbers[BACKEND]}s\n" + "\n".join(lines) + "\n"

    def _write(self, document: Document, plan: _Plan) -> None:
        """Beside the one that is there, which a link then leaves."""
        here = self.folder / str(document.number)
        for kind, name, content in (("", "haproxy.cfg", document.text), ("d/certs", CERTIFICATE, self.pems[plan.certificate]),
                                    ("d/maps", MAP, "".join(f"{key} {value}\n" for key, value in plan.entries.items()))):
            (here / kind).mkdir(parents=True, exist_ok=True)
            (here / kind / name).write_text(content)
        next_ = self.folder / "next"
        os.symlink(here.name, next_)
        next_.replace(self.folder / "now")
        assert map_entries((here / "d/maps" / MAP).read_text()) == document.files.entries

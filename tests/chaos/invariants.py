"""What must hold, as plain functions over what was seen: no socket, no clock, so that a test can show them a hand-made breach.

never empty   HAProxy and its file have a server in rotation, once they had one: whatever happens, the daemon takes the last one
              out only for another (ALLOW_EMPTY is false). An HAProxy that does not answer is dead or stopped, which is not
              the daemon's doing and says nothing. The very first sync is not checked.
steady        A server that was in rotation when all was in sync, and that was desired at every moment since, stays in
              rotation all the while. No allowance is needed: what is not desired for a moment is not checked again until the
              next time that all is in sync. Not where HAProxy itself is struck: when a reload fails, since HAProxy is dead, the Data
              Plane API puts the last file back that was loaded, without what was changed since by the fast lane.
limit         Where a world has a loss limit that no loss is within (MAX_LOSS_PERCENT): a server that was lost and of which nobody had said
              that it would go leaves, and stops serving, RESYNC_PERIOD after Kubernetes was changed at the earliest, in HAProxy and in
              its file. It may stay longer. Checked as `steady` is; who was lost once is not checked again when that time is over.
foreign       The file outside our server lines keeps its bytes; so does the admin state and the place of every server that is
              not ours. The baseline is taken before the daemon starts, after a commit of our own, as the Data Plane API sorts sections with that.
left          Who dies between a runtime command and the write that was to follow leaves a server drained or in maintenance, which nobody
              can distinguish from an operator's doing. The daemon has to report it as overridden; then it is set to ready, as its log and the
              FAQ ask for. A server that was not left like that is never helped.
no leak       Once all is in sync again: no transaction of ours is open (but those whose begin was never answered, which the next commit
              ends: that is tried), files, threads and children are as at first, memory is bounded.
clean end     The daemon ends in good order when it is asked to; its log has no word of a sanitizer (no fault) all along.
accepted      Where the daemon has a whole configuration beside the servers: the file means, but for the server lines that are the daemon's, what
              one of the user's good files means, at every moment; once all is in sync it is the last one of them that was accepted, HAProxy
              runs it, and /status says so: "applied" or, where the user's last file is bad, "rejected".
              Where HAProxy itself is killed, the Data Plane API may put back what was loaded last, as for `steady`, and where its socket is struck
              the daemon may roll back to the last version that held out (CONFIG_ROLLBACK): any good file until all is in sync.
              Of HAProxy itself the same goes piece by piece, as the commands come one after the other: each server that is the user's, entry of the
              map and certificate that it has, one of the documents gave it since all was in sync last, and none is missing that all have.
agree         Once all is in sync, HAProxy has what its files say: every server of every backend with its address, weight and state, the
              entries of the map, the certificate, which it presents. A server that a HAProxy by its own files is rid of may
              stay, in maintenance, until nobody uses it. A file that was stored by a Data Plane API whose answer was lost, or by a daemon that was
              killed before it sent that to HAProxy, does not go back with a rejected document: there it has to agree with the next good one. Where others struck HAProxy, the daemon may notice with RESYNC_PERIOD alone.
reported      Once all is in sync, the metrics count what the file has: desired, draining, actual and parked servers, and nobody is held.
traffic       A connection through HAProxy is answered by one of the places behind the backend, not by nobody and not by the
              backup. Not checked while HAProxy itself is struck.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tests.harness.haproxy import admin_state
from tests.harness.lines import is_parked, server_lines
from tests.harness.metrics import Metrics


@dataclasses.dataclass(frozen=True)
class Ours:
    """Which servers of which backend the daemon may change."""
    backend: str
    kept: frozenset[str]

    def line_is_ours(self, name: str, rest: str) -> bool:
        return name not in self.kept and "backup" not in rest.split()


@dataclasses.dataclass(frozen=True)
class Server:
    """One row of the running HAProxy."""
    state: str
    place: str
    weight: int
    up: bool

    @property
    def takes_new(self) -> bool:
        return self.state == "ready" and self.weight > 0


Key = tuple[str, str]
"""Backend and server."""
Running = Mapping[Key, Server]
Entries = tuple[tuple[str, str], ...]
"""Of a map."""


@dataclasses.dataclass(frozen=True)
class Files:
    """Beside haproxy.cfg."""
    entries: Entries
    certificate: str
    """SHA-1 of it."""


def parse_state(text: str) -> dict[Key, Server]:
    """The answer to `show servers state`."""
    lines = text.splitlines()
    names = next((line[2:].split() for line in lines if line.startswith("# ")), [])
    found = {}
    for line in lines[1:]:
        if not line or line.startswith("#"):
            continue
        row = dict(zip(names, line.split()))
        found[row["be_name"], row["srv_name"]] = Server(admin_state(int(row["srv_admin_state"])),
                                                        f"{row['srv_addr']}:{row['srv_port']}", int(row["srv_uweight"]),
                                                        row["srv_op_state"] == "2")
    return found


def file_servers(text: str) -> dict[Key, Server]:
    """What the lines of a file make of each server once it is loaded."""
    found, backend = {}, ""
    for line in text.splitlines():
        words = line.split()
        if re.match(r"[^\s#]", line):
            backend = words[1] if words[0] == "backend" else ""
        elif backend and words and words[0] == "server":
            weight = int(words[words.index("weight") + 1]) if "weight" in words else 1
            found[backend, words[1]] = Server("maint" if is_parked(line) else "ready", words[2], weight, True)
    return found


def map_entries(text: str) -> Entries:
    """Of a map's file; their order counts for nothing where they are looked up by `map`."""
    return tuple(sorted((line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip() and line[0] != "#"))


def in_rotation(running: Running, ours: Ours) -> dict[str, str]:
    """Our servers that take new connections: name -> address:port."""
    return {name: s.place for (backend, name), s in running.items()
            if backend == ours.backend and name not in ours.kept and s.takes_new}


def file_rotation(text: str, ours: Ours) -> dict[str, str]:
    return {name: rest.split()[0] for name, rest in server_lines(text, ours.backend).items()
            if ours.line_is_ours(name, rest) and not is_parked(rest)}


def left_by_death(running: Running, text: str, ours: Ours) -> set[str]:
    """Our servers in rotation in the file that a runtime command took out: who dies before the write that was to follow leaves these."""
    return {name for name in file_rotation(text, ours) if (ours.backend, name) in running and running[ours.backend, name].state != "ready"}


def foreign_text(text: str, ours: Ours) -> str:
    """The file without our lines and comments, and without what the Data Plane API numbers and sums it with."""
    kept, backend = [], ""
    for line in text.splitlines():
        if re.match(r"\S", line) and not line.startswith("#"):
            backend = line.split()[1] if line.startswith("backend ") else ""
        found = re.match(r"\s+server (\S+) (.*)", line)
        if backend == ours.backend and found and ours.line_is_ours(found[1], found[2]):
            continue
        if not line.startswith(("# _version", "# _md5hash", "# haproxy-k8s-sync: ")):
            kept.append(line)
    return "\n".join(kept)


def meaning(text: str, ours: Ours) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Of a file whose lines are as the Data Plane API writes them: its sections with their lines, without ours and without comments."""
    sections: dict[str, list[str]] = {}
    head = ""
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("#"):
            continue
        if not line[0].isspace():
            head = " ".join(line.split())
            sections.setdefault(head, [])
            continue
        found = re.match(r"\s+server (\S+) (.*)", line)
        if not (found and head.split()[:2] == ["backend", ours.backend] and ours.line_is_ours(found[1], found[2])):
            sections[head].append(" ".join(line.split()))
    return frozenset((name, tuple(sorted(lines))) for name, lines in sections.items())


def foreign_servers(running: Running, ours: Ours) -> dict[Key, tuple[str, str, int]]:
    return {key: (s.state, s.place, s.weight) for key, s in running.items() if key[0] != ours.backend or key[1] in ours.kept}


def breaches_of_running(running: Running, ours: Ours, steady: Collection[str], held: Collection[str],
                        baseline: Mapping[Key, tuple[str, str, int]] | None) -> Iterator[tuple[str, str]]:
    """(invariant, what is wrong) of one reading of the running HAProxy. baseline None: the other servers are the configuration engine's."""
    live = in_rotation(running, ours)
    if not live:
        states = {name: s.state for (backend, name), s in running.items() if backend == ours.backend}
        yield "never empty", f"no server of {ours.backend} takes new connections in HAProxy: {states}"
    for invariant, names, why in _stay(steady, held):
        if missing := sorted(names - set(live)):
            states = {name: running[ours.backend, name].state if (ours.backend, name) in running else "none" for name in missing}
            yield invariant, f"{why} and not in rotation in HAProxy: {states}"
    if baseline is not None and foreign_servers(running, ours) != dict(baseline):
        yield "foreign", f"servers that are not ours: {foreign_servers(running, ours)} instead of {dict(baseline)}"


def mixed(running: Running, ours: Ours, documents: Sequence[Mapping[Key, Server]]) -> str:
    """"" where each of the user's servers has what one of the documents gives it: address, weight and state each of any."""
    has = {key: server for key, server in running.items() if key[0] != ours.backend or key[1] in ours.kept}
    if missing := sorted(set.intersection(*(set(d) for d in documents)) - set(has)):
        return f"{missing} are in every document, and not in HAProxy"
    for key, server in has.items():
        given = [d[key] for d in documents if key in d]
        comes = ["maint"] if len(given) < len(documents) else []  # or goes
        if not given or server.place not in [g.place for g in given] or server.weight not in [g.weight for g in given] \
                or server.state not in [*comes, *(g.state for g in given)]:
            return f"HAProxy has {key} with {server}, the documents give it {given}"
    return ""


def mixed_files(has: Files, documents: Sequence[Files]) -> str:
    """The same of what HAProxy has of the files beside it."""
    if has.certificate not in [d.certificate for d in documents]:
        return f"HAProxy has the certificate {has.certificate}, which no document has"
    if strange := set(has.entries) - {entry for d in documents for entry in d.entries}:
        return f"HAProxy has entries that no document has: {sorted(strange)}"
    keys = set.intersection(*({key for key, _ in d.entries} for d in documents))
    if missing := keys - {key for key, _ in has.entries}:
        return f"HAProxy has no entry for {sorted(missing)}, which every document has"
    return ""


def disagreement(file: Running, running: Running, ours: Ours, leave: bool) -> str:
    """"" where HAProxy runs the servers of its file. leave: one that is in no file may still be there, in maintenance."""
    for key in sorted({*file, *running}):
        says, has = file.get(key), running.get(key)
        if says is None or has is None:
            if not (leave and has and has.state == "maint"):
                return f"server {key}: HAProxy has {has}, its file {says}"
            continue
        drains = key[0] == ours.backend and (says.state, has.state) == ("maint", "drain")
        if (says.place, says.weight) != (has.place, has.weight) or (says.state != has.state and not drains):
            return f"server {key}: HAProxy has {has}, its file {says}"
    return ""


def _stay(steady: Collection[str], held: Collection[str]) -> tuple[tuple[str, set[str], str], ...]:
    return (("steady", set(steady), "wanted all the while"), ("limit", set(held), "lost beyond the limit, to be held for now,"))


def breaches_of_file(text: str, ours: Ours, steady: Collection[str], held: Collection[str],
                     baseline: str | None) -> Iterator[tuple[str, str]]:
    """The same of one reading of the file. baseline None: the rest of it is the configuration engine's."""
    if baseline is not None and foreign_text(text, ours) != baseline:
        yield "foreign", f"the file outside our lines: {_difference(baseline, foreign_text(text, ours))}"
        if f"\nbackend {ours.backend}" not in text:
            return
    live = file_rotation(text, ours)
    if not live:
        yield "never empty", f"no server of {ours.backend} is in rotation in the file"
    for invariant, names, why in _stay(steady, held):
        if missing := sorted(names - set(live)):
            yield invariant, f"{why} and not in rotation in the file: {missing}"


def out_of_sync(desired: Mapping[str, str], running: Running, text: str, ours: Ours) -> str:
    """"" where the running HAProxy and the file are as desired."""
    live, lines = in_rotation(running, ours), file_rotation(text, ours)
    if live != desired:
        return f"HAProxy runs {live}, desired is {dict(desired)}"
    if lines != desired:
        return f"the file has {lines}, desired is {dict(desired)}"
    return ""


def misreported(metrics: Metrics, desired: Mapping[str, str], text: str, ours: Ours) -> str:
    """"" where the gauges count what a file has that is in sync with the desired state."""
    lines = [rest for name, rest in server_lines(text, ours.backend).items() if ours.line_is_ours(name, rest)]
    draining = metrics.sum("servers_draining", backend=ours.backend)
    counts = {"servers_desired": len(desired), "servers_configured": len(desired) + draining, "servers_removal_delayed": 0, "changes_pending": 0}
    if not draining:
        counts["servers_parked"] = sum(is_parked(rest) for rest in lines)
    wrong = [f"{name} is {said:g} instead of {count:g}" for name, count in counts.items()
             if (said := metrics.sum(name, backend=ours.backend)) != count]
    return ", ".join(wrong)


def only_rejected(ready: str) -> bool:
    """What /readyz lists is well but for a configuration that was rejected."""
    bad = [line for line in ready.splitlines() if line.startswith("[-]")]
    return bool(bad) and all(re.search(r"^\[-\]target \S+ configuration: rejected", line) for line in bad)


def misjudged(said: Mapping[str, Any], sha256: str, good: bool, runs_sha256: str) -> str:
    """"" where /status says of a configuration what is true: the user's last file, and the one that HAProxy runs."""
    wanted = {"state": "applied" if good else "rejected", "sha256": sha256}
    wrong = [f"{name} is {said.get(name)} instead of {value}" for name, value in wanted.items() if said.get(name) != value]
    if said.get("runs") != runs_sha256 and (good or said.get("runs")):  # who was started since has not seen it begin to run
        wrong.append(f"runs is {said.get('runs')} instead of {runs_sha256}")
    if not good and not said.get("reason"):
        wrong.append("there is no reason")
    return ", ".join(wrong)


def _difference(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    gone, come = [x for x in old if x not in new], [x for x in new if x not in old]
    return f"gone {gone}, come {come}" if gone or come else "the order of its lines"

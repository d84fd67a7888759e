"""The invariants of tests/chaos can fail: each is shown a breach made by hand, and the state beside it that is none."""

from __future__ import annotations

import pathlib
import random
import re

import pytest

from tests.chaos import invariants
from tests.chaos.faults import ALIKE, FAULTS, NAMES, NOT_APPLICABLE, PARTS
from tests.chaos.case import rng_of, schedule
from tests.chaos.documents import BY_RUNTIME, Documents
from tests.chaos.invariants import Files, Ours, Server
from tests.chaos.sampler import Sampler
from tests.chaos.served import Served
from tests.chaos.stream import Stream
from tests.chaos.timeline import Timeline
from tests.harness.haproxy import HAProxy
from tests.harness.metrics import Metrics

OURS = Ours("be", frozenset({"keep-1", "sorry"}))
READY, MAINT, DRAIN = (Server(state, "127.0.0.2:80", 100, True) for state in ("ready", "maint", "drain"))
FOREIGN = {("be", "keep-1"): MAINT, ("be", "sorry"): READY, ("other", "a"): READY}
BASELINE = invariants.foreign_servers(FOREIGN, OURS)

FILE = """\
# _version=7
global
  httpclient.ssl.verify none
  maxconn 10
backend be
  # a comment
  server keep-1 127.0.0.1:9 disabled
  server sorry 127.0.0.1:9 backup
  server n1 127.0.0.2:80 check weight 100
  server n2 127.0.0.3:80 check weight 100 disabled
backend other
  server a 127.0.0.1:9
"""
FILE_BASELINE = invariants.foreign_text(FILE, OURS)


def running(**states: Server) -> dict[tuple[str, str], Server]:
    return {**FOREIGN, **{("be", name): state for name, state in states.items()}}


def of_running(rows: dict[tuple[str, str], Server], *steady: str, held: tuple[str, ...] = ()) -> list[str]:
    return [invariant for invariant, _ in invariants.breaches_of_running(rows, OURS, steady, held, BASELINE)]


def of_file(text: str, *steady: str, held: tuple[str, ...] = ()) -> list[str]:
    return [invariant for invariant, _ in invariants.breaches_of_file(text, OURS, steady, held, FILE_BASELINE)]


def test_left_by_death_are_those_that_only_a_command_took_out() -> None:
    left = invariants.left_by_death
    assert left(running(n1=READY, n2=MAINT), FILE, OURS) == set(), "n2 is parked in the file, keep-1 is not ours"
    assert left(running(n1=MAINT, n2=MAINT), FILE, OURS) == {"n1"}
    assert left(running(n1=DRAIN), FILE, OURS) == {"n1"}
    assert left(running(), FILE, OURS) == set(), "not there yet"


# --- the running HAProxy


def test_one_in_rotation_is_enough() -> None:
    assert of_running(running(n1=READY, n2=MAINT)) == []


@pytest.mark.parametrize("states", [{}, {"n1": MAINT}, {"n1": DRAIN, "n2": MAINT}, {"n1": Server("ready", "127.0.0.2:80", 0, True)}])
def test_nobody_in_rotation_is_seen(states: dict[str, Server]) -> None:
    assert of_running(running(**states)) == ["never empty"]


def test_kept_and_backup_servers_are_nobody() -> None:
    rows = {**running(n1=MAINT), ("be", "keep-1"): READY}
    assert "never empty" in of_running(rows)


@pytest.mark.parametrize("state", [MAINT, DRAIN])
def test_a_steady_server_out_of_rotation_is_seen(state: Server) -> None:
    assert of_running(running(n1=READY, n2=state), "n1", "n2") == ["steady"]


def test_a_steady_server_that_is_gone_is_seen() -> None:
    assert of_running(running(n1=READY), "n1", "n2") == ["steady"]


def test_a_held_server_that_is_not_in_rotation_is_seen() -> None:
    assert of_running(running(n1=READY, n2=READY), held=("n2",)) == []
    for rows in (running(n1=READY, n2=MAINT), running(n1=READY, n2=DRAIN), running(n1=READY)):
        assert of_running(rows, held=("n2",)) == ["limit"]
    assert of_file(FILE, held=("n1",)) == []
    assert of_file(FILE, held=("n2",)) == ["limit"]


def held_after(sampler: Sampler, *announced: tuple[set[str], set[str]], hold_s: float = 3600.0) -> set[str]:
    """announced: which servers are desired, and of which it was announced that they go, one after the other."""
    sampler.hold_s = hold_s
    sampler.checkpoint({"n1", "n2"}, {"n2"})
    for desired, may_go in announced:
        sampler.unwanted(desired, may_go)
    return sampler.held()


def test_who_is_held_is_known_by_what_was_announced(tmp_path: pathlib.Path) -> None:
    sampler = Sampler(HAProxy(tmp_path, ""), tmp_path, OURS, Timeline(tmp_path / "log"))
    both, only_n2 = {"n1", "n2"}, {"n2"}
    assert held_after(sampler, (only_n2, set())) == {"n1"}
    assert held_after(sampler, (only_n2, set()), (both, set())) == {"n1"}
    assert held_after(sampler, ({"n1"}, set())) == set(), "its going was announced before"
    assert held_after(sampler, (only_n2, {"n1"})) == set()
    assert held_after(sampler, (only_n2, set()), (only_n2, {"n1"})) == set()
    assert held_after(sampler, (both, {"n1"}), (both, set()), (only_n2, set())) == set()
    assert held_after(sampler, (only_n2 | {"n3"}, set()), (only_n2, set())) == {"n1"}, "n3 was never in rotation"
    assert held_after(sampler, (only_n2, set()), hold_s=0.0) == set()
    assert held_after(sampler, (only_n2, set()), hold_s=1e-9) == set()


@pytest.mark.parametrize("key, state", [(("other", "a"), MAINT), (("be", "keep-1"), READY), (("be", "sorry"), DRAIN),
                                        (("other", "a"), Server("ready", "127.0.0.9:80", 100, True))])
def test_a_changed_foreign_server_is_seen(key: tuple[str, str], state: Server) -> None:
    assert of_running({**running(n1=READY), key: state}) == ["foreign"]


# --- the file


def test_our_lines_and_the_version_may_change() -> None:
    text = FILE.replace("_version=7", "_version=8").replace("  server n2 127.0.0.3:80 check weight 100 disabled\n", "")
    assert of_file(text, "n1") == []


@pytest.mark.parametrize("old, new", [("# a comment", "# another"), ("maxconn 10", "maxconn 11"), ("127.0.0.1:9 backup", "127.0.0.1:8 backup"),
                                      ("server keep-1", "server keep-2"), ("server a 127.0.0.1:9\n", "")])
def test_changed_foreign_bytes_are_seen(old: str, new: str) -> None:
    assert "foreign" in of_file(FILE.replace(old, new))


def test_a_file_without_a_live_line_is_seen() -> None:
    assert of_file(FILE.replace("n1 127.0.0.2:80 check weight 100", "n1 127.0.0.2:80 check weight 100 disabled")) == ["never empty"]
    assert of_file(FILE, "n2") == ["steady"]


def test_a_file_without_its_backend_is_seen() -> None:
    assert "foreign" in of_file("global\n")


# --- in sync


def test_in_step_compares_both_with_the_wish() -> None:
    rows = running(n1=READY, n2=MAINT)
    assert invariants.out_of_sync({"n1": "127.0.0.2:80"}, rows, FILE, OURS) == ""
    assert "HAProxy runs" in invariants.out_of_sync({"n2": "127.0.0.2:80"}, rows, FILE, OURS)
    assert "HAProxy runs" in invariants.out_of_sync({"n1": "127.0.0.2:81"}, rows, FILE, OURS)
    assert "the file has" in invariants.out_of_sync({"n1": "127.0.0.2:80"}, rows, FILE.replace("server n1", "server n3"), OURS)


# --- a whole configuration beside the servers


def whole_file(text: str, version: int = 9) -> str:
    """As the Data Plane API writes it: with lines of its own, sections in another order, and servers that are ours."""
    head, _, rest = text.partition("backend be\n")
    rest = rest.replace("  server sorry", "  server n7 127.0.0.7:80 check weight 100\n  server sorry", 1)
    return (f"# _md5hash=x\n# _version={version}\n# haproxy-k8s-sync: version {version} is loaded by the next one\n\n"
            f"backend be\n{rest}\n{head}")


PEMS = [f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n" for body in ("YQ==", "Yg==", "Yw==")]


@pytest.fixture
def documents(tmp_path: pathlib.Path) -> Documents:
    (tmp_path / "user").mkdir()
    first = re.sub(r"(?m)^  server n\d .*\n", "", FILE).replace("backend be\n", "backend be\n  balance roundrobin\n")
    return Documents(first.replace("backend other\n", "backend other\n  timeout server 77s\n"), tmp_path / "user", OURS, random.Random(1),
                     Served(tmp_path, 1), PEMS)


def test_a_file_is_known_by_its_meaning(documents: Documents) -> None:
    for _ in range(30):
        documents.put(True)
    for document in documents.list:
        assert documents.of(whole_file(document.text), document.files) is document
    text = documents.last.text
    assert documents.of(text.replace("maxconn 10", "maxconn 11")) is None
    assert documents.of(text.replace("  server a 127.0.0.1:9\n", "")) is None
    assert documents.of(text.replace("  server keep-1 ", "  server keep-2 ")) is None, "it is taken for ours, and keep-1 is missing"
    assert documents.of(text + "backend more\n  mode tcp\n") is None


def test_a_bad_file_is_nobodys(documents: Documents) -> None:
    documents.put(True)
    bad = [documents.put(False) and documents.last for _ in range(30)]
    assert {re.search(r"(bogus|balance nobody|server mine)", d.text)[1] for d in bad} == {  # type: ignore[index]
        "bogus", "balance nobody", "server mine"}
    assert documents.path.read_text() == documents.last.text
    assert not any(documents.of(whole_file(document.text)) for document in bad)
    assert len(documents.meanings) == 1


@pytest.mark.parametrize("change", BY_RUNTIME)
def test_a_document_changes_what_it_says(documents: Documents, change: str) -> None:
    documents.put(True)
    before = documents.last
    documents.put(True, change)
    after = documents.last
    assert (before.files.entries != after.files.entries) == (change == "map")
    assert (before.files.certificate != after.files.certificate) == (change == "certificate")
    assert (before.text != after.text) == (change not in ("map", "certificate")) == (before.mark != after.mark)
    assert len(after.servers) - len(before.servers) == {"come": 1, "go": -1}.get(change, 0)
    assert documents.of(after.text) is after
    assert (documents.files(documents.folder) / "maps" / "hosts.map").read_text().startswith(f"x.example {2 if change == 'map' else 0}\n")


# --- what HAProxy has, by its files and by the documents


def test_haproxy_agrees_with_its_file() -> None:
    file = invariants.file_servers(FILE)
    rows = {**file, ("be", "n2"): Server("drain", "127.0.0.3:80", 100, True)}
    assert invariants.disagreement(file, rows, OURS, leave=False) == "", "it drains"
    gone = {key: server for key, server in rows.items() if key != ("be", "n1")}
    more = {**rows, ("be", "n9"): MAINT}
    assert invariants.disagreement(file, more, OURS, leave=True) == ""
    for wrong in (gone, more, *({**rows, key: server} for key, server in (
            (("be", "n1"), Server("ready", "127.0.0.2:81", 100, True)), (("be", "n1"), Server("ready", "127.0.0.2:80", 99, True)),
            (("be", "n1"), MAINT), (("be", "n1"), DRAIN), (("be", "n2"), Server("ready", "127.0.0.3:80", 100, True)),
            (("other", "a"), Server("drain", "127.0.0.1:9", 1, True)), (("other", "b"), READY)))):
        assert invariants.disagreement(file, wrong, OURS, leave=False)
    assert invariants.disagreement(file, {**rows, ("be", "n9"): READY}, OURS, leave=True)


def test_haproxy_amid_an_update_has_each_thing_of_one_of_them() -> None:
    one, two = {("u", "s"): Server("ready", "a:1", 1, True)}, {("u", "s"): Server("maint", "b:1", 2, True), ("u", "t"): READY}
    half, none = Server("ready", "b:1", 1, True), Server("drain", "a:1", 1, True)
    mixed = invariants.mixed
    assert mixed({("u", "s"): half}, OURS, [one, two]) == mixed({("u", "s"): half, ("u", "t"): MAINT}, OURS, [one, two]) == ""
    assert mixed({**running(n5=READY), **one}, OURS, [{**FOREIGN, **one}]) == ""
    for wrong in ({}, {("u", "s"): none}, {("u", "s"): half, ("u", "x"): MAINT}, {("u", "s"): Server("ready", "c:1", 1, True)},
                  {("u", "s"): Server("ready", "a:1", 3, True)}):
        assert mixed(wrong, OURS, [one, two])
    assert mixed({("u", "s"): half}, OURS, [one]), "the other one ran before"
    files = [Files((("x", "1"), ("y", "1")), "c1"), Files((("x", "2"),), "c2")]
    assert invariants.mixed_files(Files((("x", "1"), ("y", "1"), ("x", "2")), "c2"), files) == ""
    for has in (Files((("x", "3"),), "c1"), Files((("y", "1"),), "c1"), Files((("x", "1"),), "c3"), Files((), "c1")):
        assert invariants.mixed_files(has, files)


def looked_at(documents: Documents, home: pathlib.Path, text: str) -> list[str]:
    sampler = Sampler(HAProxy(home, text), home, OURS, Timeline(home / "log"))
    sampler.documents = documents
    sampler._look_at_file()
    return [v.invariant for v in sampler.timeline.violations]


def test_the_sampler_sees_a_file_that_nobody_accepted(documents: Documents, tmp_path: pathlib.Path) -> None:
    documents.put(True)
    good = whole_file(documents.last.text)
    assert looked_at(documents, tmp_path, good) == []
    documents.put(True)
    documents.since = documents.last.number
    assert looked_at(documents, tmp_path, whole_file(documents.last.text)) == []
    assert looked_at(documents, tmp_path, good) == ["accepted"], "it ran before the last one that ran"
    documents.put(False)
    assert looked_at(documents, tmp_path, good.replace("maxconn 10", "maxconn 12")) == ["accepted"]


def test_the_sampler_sees_a_server_that_no_document_has(documents: Documents, tmp_path: pathlib.Path) -> None:
    documents.put(True)
    sampler = Sampler(HAProxy(tmp_path, ""), tmp_path, OURS, Timeline(tmp_path / "log"))
    sampler.looks = 1
    for row in ({}, {("by-document", "s9"): MAINT}):
        sampler._look_for_strangers(documents, 0, {**documents.last.servers, **row})
        assert [v.invariant for v in sampler.timeline.violations] == (["accepted"] if row else [])


def test_what_status_says_of_a_configuration() -> None:
    said = {"state": "applied", "sha256": "new", "runs": "new", "reason": None}
    judged = invariants.misjudged
    assert judged(said, "new", True, "new") == ""
    for name, value in (("state", "written"), ("sha256", "old"), ("runs", "old"), ("runs", None)):
        assert name in judged({**said, name: value}, "new", True, "new")
    rejected = {"state": "rejected", "sha256": "new", "runs": "old", "reason": "line 3"}
    assert judged(rejected, "new", False, "old") == judged({**rejected, "runs": None}, "new", False, "old") == ""
    for name, value in (("state", "applied"), ("sha256", "old"), ("runs", "older"), ("reason", None)):
        assert name in judged({**rejected, name: value}, "new", False, "old")


def test_a_rejection_is_all_that_readyz_may_say() -> None:
    rejected = "[+]configuration source: x\n[-]target http://a configuration: rejected: line 3\nnot ready\n"
    assert invariants.only_rejected(rejected)
    assert not invariants.only_rejected(rejected + "[-]target http://a backend be: away\n")
    assert not invariants.only_rejected("[-]target http://a configuration: written; not verified yet\n")
    assert not invariants.only_rejected("ready\n")


METRICS = """\
haproxy_k8s_sync_servers_desired{backend="be",target="a"} 1
haproxy_k8s_sync_servers_draining{backend="be",target="a"} 0
haproxy_k8s_sync_servers_configured{backend="be",target="a"} 1
haproxy_k8s_sync_servers_parked{backend="be",target="a"} 1
haproxy_k8s_sync_servers_removal_delayed{backend="be",target="a"} 0
haproxy_k8s_sync_servers_removal_delayed{backend="another",target="a"} 3
haproxy_k8s_sync_changes_pending{backend="be",target="a"} 0
"""


def test_metrics_are_compared_with_the_file() -> None:
    assert invariants.misreported(Metrics(METRICS), {"n1": "127.0.0.2:80"}, FILE, OURS) == ""


@pytest.mark.parametrize("name", ["servers_desired", "servers_draining", "servers_configured", "servers_parked", "servers_removal_delayed",
                                  "changes_pending"])
def test_a_metric_that_counts_something_else_is_seen(name: str) -> None:
    text = re.sub(name + r'{backend="be",target="a"} \d', name + '{backend="be",target="a"} 7', METRICS)
    assert invariants.misreported(Metrics(text), {"n1": "127.0.0.2:80"}, FILE, OURS)


def test_a_line_that_is_not_ours_is_not_counted() -> None:
    assert "servers_parked" in invariants.misreported(Metrics(METRICS), {"n1": "127.0.0.2:80"}, FILE,
                                                      Ours("be", frozenset({"sorry"})))


def test_a_violation_is_reported_once_a_case(tmp_path: pathlib.Path) -> None:
    line = Timeline(tmp_path / "timeline.log")
    for case in ("a", "a", "b"):
        line.case = case
        line.violate("steady", "n1", "running")
    assert [v.case for v in line.violations] == ["a", "b"]
    assert "VIOLATED" in (tmp_path / "timeline.log").read_text()


# --- the matrix and the schedule


def test_no_cell_of_the_matrix_is_left_out_silently() -> None:
    for part in PARTS:
        for name in NAMES:
            assert (f"{part}:{name}" in FAULTS) != ((part, name) in NOT_APPLICABLE), f"{part} x {name}"
    assert len(FAULTS) + len(NOT_APPLICABLE) == len(PARTS) * len(NAMES)


def test_the_fixed_list_has_each_part_and_each_fault() -> None:
    alike = {f"{part}:{name}" for part, names in ALIKE.items() for name in names}
    assert alike < FAULTS.keys()
    played = [fault for id_, fault in FAULTS.items() if id_ not in alike]
    assert {fault.part for fault in played} == set(PARTS) and {fault.name for fault in played} == set(NAMES)


def test_the_schedule_follows_from_seed_part_and_fault() -> None:
    for fault in FAULTS.values():
        assert schedule(rng_of("1", fault, 1), fault) == schedule(rng_of("1", fault, 1), fault)
    one = FAULTS["daemon:kill"]
    assert schedule(rng_of("1", one, 1), one) != schedule(rng_of("2", one, 1), one) != schedule(rng_of("1", one, 2), one)


# --- the stream


class Kept:
    """A cluster in memory, which can be away."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], dict[str, object]] = {}
        self.away = False

    def put(self, *trees: dict[str, object]) -> None:
        self._check()
        self.objects.update({(t["kind"], t["metadata"]["name"]): t for t in trees})  # type: ignore[index,misc]

    def delete(self, *trees: dict[str, object]) -> None:
        self._check()
        for tree in trees:
            self.objects.pop((tree["kind"], tree["metadata"]["name"]), None)  # type: ignore[index,arg-type]

    def _check(self) -> None:
        if self.away:
            raise ConnectionRefusedError


def played(seed: int, away: range = range(0), floor: int = 1) -> tuple[list[str], Stream, Kept]:
    cluster = Kept()
    stream = Stream(seed, cluster, node_ports=(30001, 30002), floor=floor)
    stream.begin()
    said = []
    for i in range(300):
        cluster.away = i in away
        said.append(stream.step())
        assert len(stream.desired()) >= floor
    assert stream.flush()
    return said, stream, cluster


def test_a_stream_does_the_same_for_the_same_seed_whether_it_can_write_or_not() -> None:
    said, _, kept = played(1)
    again, _, late = played(1, away=range(50, 200))
    assert said == again and kept.objects == late.objects
    assert played(2)[0] != said


@pytest.mark.parametrize("seed", range(5))
def test_what_a_stream_has_written_is_what_it_knows(seed: int) -> None:
    _, stream, kept = played(seed, floor=0)
    nodes = {name: tree for (kind, name), tree in kept.objects.items() if kind == "Node"}
    assert nodes.keys() == stream.nodes.keys()
    told = {tuple(e["addresses"]) for (kind, _), tree in kept.objects.items() if kind == "EndpointSlice"
            for e in tree["endpoints"]}  # type: ignore[union-attr,index]
    assert told == {(ip,) for ip in stream.pods}
    stream.settle()
    assert stream.desired()

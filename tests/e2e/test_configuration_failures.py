"""A whole haproxy.cfg on its way when the Data Plane API fails, dies, or is written to by others, and when the daemon dies: nothing is lost,
nothing is taken for a rejection that is none, and what is called applied runs."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import pytest

from tests.chaos.proxy import Mode, Proxy
from tests.harness.daemon import Daemon
from tests.harness.haproxy import DataPlane, DoubleDataPlane, HAProxy, haproxy_version
from tests.harness.process import wait_until

from .sites import Sites
from .test_configuration import applied

VALIDATION = "^POST [^ ]*only_validate"
WRITE = "^POST [^ ]*skip_reload"
# What the daemon sends for one document, in this order. The reading behind the reload verifies it.
STEPS = {"validation": VALIDATION, "write": WRITE, "begin of the empty commit": "^POST [^ ]*/transactions[?]",
         "empty commit": "^PUT [^ ]*/transactions/", "reload": "^GET [^ ]*/reloads/", "verification": "^GET [^ ]*/runtime/info"}


class Way:
    """A proxy between the daemon and one of the sites, and which document is next."""

    def __init__(self, sites: Sites, ends: contextlib.ExitStack, site: int = 0):
        self.sites, self.site = sites, site
        self.haproxy: HAProxy = sites.list[site][0]
        self.plane: DataPlane = sites.list[site][1]
        self.proxy = Proxy("127.0.0.1", self.plane.port).start()
        ends.callback(self.proxy.stop)
        self.balances = iter(("first", "static-rr", "source", "leastconn", "roundrobin") * 5)
        self.now = ""

    def start(self, **settings: str) -> Daemon:
        self.put_next()
        through = {} if self.sites.combination.is_local else {"HAPROXY_DATAPLANE_URL": self.proxy.url}
        daemon = self.sites.start(**{**through, "CONFIG_MIN_INTERVAL": "0s", **settings})
        self.runs()
        daemon.wait_ready()
        return daemon

    def put_next(self) -> None:
        self.now = next(self.balances)
        self.sites.put(self.sites.text(self.site, self.now))

    def runs(self) -> None:
        wait_until(self.sites.runs(self.site, self.now), 40, f"HAProxy to run {self.now}")

    def nothing_open(self) -> None:
        wait_until(lambda: [t for t in self.plane.get("/transactions").json() or [] if t["status"] == "in_progress"] == [], 20,
                   "no open transaction")

    def asked(self, what: str) -> int:
        return self.plane.access_log().count(what)

    def read_again(self, times: int = 2) -> None:
        """The daemon reads HAProxy's file so often."""
        self.sites.await_reads(times, self.site)


@pytest.fixture
def way(sites: Sites) -> Iterator[Way]:
    with contextlib.ExitStack() as ends:
        yield Way(sites, ends)


# --- who dies


@pytest.mark.every_combination
@pytest.mark.needs_api("the API itself dies")
@pytest.mark.parametrize("heard", ["request", "answer"])
def test_the_api_dies_at_each_step(way: Way, heard: str) -> None:
    """request: before it hears of it; answer: when it has carried it out."""
    daemon = way.start()
    for step, pattern in STEPS.items():
        died = way.proxy.stop_at(pattern, heard, way.plane.kill)
        seen = len(daemon.log())
        way.put_next()
        assert died.wait(30), f"no {step}"
        way.plane.start()
        applied(daemon, seen)
        way.runs()
        daemon.wait_ready()
        way.nothing_open()
        assert "configuration rejected" not in daemon.log(), step


@pytest.mark.needs_api("its steps are requests; by files and sockets it is killed in tests/functional/test_local_reload.py")
@pytest.mark.parametrize(("kept", "heard"), [(False, "answer"), (True, "request")], ids=["in memory", "STATE_DIR"])
def test_the_daemon_dies_at_each_step(way: Way, tmp_path: pathlib.Path, kept: bool, heard: str) -> None:
    """The next daemon goes on where it stopped, with one further reload at most."""
    daemon = way.start(**({"STATE_DIR": str(tmp_path / "state")} if kept else {}))
    for step, pattern in STEPS.items():
        before = way.haproxy.reloads()
        died = way.proxy.stop_at(pattern, heard, daemon.kill)
        way.put_next()
        assert died.wait(30), f"no {step}"
        seen = len(daemon.log())
        daemon.start()
        daemon.wait_log("msg=\"configuration (applied|unchanged)\"", 40, seen)
        assert way.sites.runs(0, way.now)(), f"{step}: it is called applied and does not run\n{daemon.log()[seen:]}"
        daemon.wait_ready()
        way.nothing_open()
        assert 1 <= way.haproxy.reloads() - before <= 2, step
    version = way.plane.version()
    daemon.restart()
    daemon.wait_ready()
    way.read_again()
    assert way.plane.version() == version, "an end in good order leaves nothing to be done"


# --- what says nothing of the bytes


@pytest.mark.needs_api("an answer that only an API gives")
def test_503_at_the_validation_is_no_rejection(way: Way, tmp_path: pathlib.Path) -> None:
    """Neither now nor after a restart; other bytes are tried at once."""
    daemon = way.start(STATE_DIR=str(tmp_path / "state"))
    before = way.plane.file()
    way.proxy.set(Mode("status", status=503, only="only_validate"))
    way.put_next()
    daemon.wait_log("validation: HTTP 503")
    daemon.wait_not_ready("not validated yet")
    way.read_again()
    assert way.proxy.hits["status"] == 1  # its pause is long,
    for hits in (2, 3):
        way.put_next()  # other bytes end it,
        wait_until(lambda: way.proxy.hits["status"] >= hits, 20, "another validation")
    daemon.restart()  # and so does a new daemon, which has heard of no rejection
    wait_until(lambda: way.proxy.hits["status"] >= 4, 20, "a validation after a restart")
    assert "reject" not in daemon.log() and way.plane.file() == before

    seen = len(daemon.log())
    way.proxy.calm()
    way.put_next()
    applied(daemon, seen)
    way.runs()
    daemon.wait_ready()
    assert way.asked("only_validate") <= 2 * 2  # the first document's and this one's; a rejection would be counted twice


@pytest.mark.every_combination
@pytest.mark.needs_api("another writer between two requests")
def test_409_in_between(way: Way) -> None:
    """Another writer was faster: what it changed is seen, and written over as any drift before a new document."""
    daemon = way.start(CONFIG_DRIFT="repair")

    def write() -> None:
        answer = way.plane.post(f"/configuration/backends?version={way.plane.version()}", {"name": "by-hand", "mode": "tcp"})
        assert answer.status in (201, 202), answer.text

    for step in ("write", "begin of the empty commit", "empty commit"):
        seen = len(daemon.log())
        written = way.proxy.stop_at(STEPS[step], "request", write)
        way.put_next()
        assert written.wait(30), step
        applied(daemon, seen)
        wait_until(lambda: "by-hand" not in way.plane.file(), 20, "the other one's backend to go")
        way.runs()
        daemon.wait_ready()
        way.nothing_open()
        assert "configuration rejected" not in daemon.log()


# --- several of them


def particular(sites: Sites, site: int, word: str) -> None:
    """From its next start on this Data Plane API has a HAProxy that does not know a word, as one of another build."""
    haproxy, plane = sites.list[site]
    program = sites.home / f"haproxy-{site}"
    program.write_text(f"""#!/bin/sh
for last; do
    case $last in
        -c) check=yes ;;
        -*) ;;
        *) [ ! -f "$last" ] || file=$last ;;
    esac
done
if [ -n "$check" ] && line=$(grep -n {word} "$file"); then
    echo "[ALERT]    (1) : config : parsing [$file:${{line%%:*}}] : unknown keyword '{word}' in 'backend' section" >&2
    exit 1
fi
exec {haproxy.binary} "$@"
""")
    program.chmod(0o755)
    haproxy.binary = str(program)
    plane.restart()


@pytest.mark.needs_api("several HAProxies of one daemon")
def test_one_of_two_rejects(sites: Sites) -> None:
    """By its own HAProxy: no one gets it, the line is the user's; what both take goes on."""
    sites.add()
    particular(sites, 1, "particular")
    first, second = sites.list[0][1], sites.list[1][1]
    before = first.file(), second.file()
    bad = sites.text() + "  description particular\n"
    sites.source.write_text(bad)
    daemon = sites.start(CONFIG_MIN_INTERVAL="0s")
    daemon.wait_log(f"configuration rejected.*target={second.url}.*line {len(bad.splitlines())}: unknown keyword 'particular'", 30)
    daemon.wait_not_ready("unknown keyword 'particular'")
    reads = first.access_log().count("GET /v3/services/haproxy/configuration/raw")
    wait_until(lambda: first.access_log().count("GET /v3/services/haproxy/configuration/raw") > reads + 2, 30, "further readings")
    assert (first.file(), second.file()) == before

    sites.source.write_text(sites.text(balance="first"))
    wait_until(lambda: daemon.log().count("msg=\"configuration applied\"") == 2, 40, "both to have the next")
    daemon.wait_ready()


@pytest.mark.every_combination
@pytest.mark.needs_api("a file that is written anew")
def test_what_the_api_changes_the_meaning_of_goes_back(sites: Sites) -> None:
    """Data Plane API 3.0 does not know log-profile sections: it moves their lines to the section above. A double is made to lose a
    word."""
    haproxy, dataplane = sites.list[0]
    text, lost = sites.text(), "log-tag lost"
    sites.source.write_text(text)
    daemon = sites.start()
    applied(daemon)
    if isinstance(dataplane, DoubleDataPlane):
        lost = "timeout server 66s"
        text = text.replace("timeout server 77s", lost)
        dataplane.fault({"action": "rewrite", "method": "POST", "path": r"configuration/raw\?(?!.*only_validate)", "times": 1,
                         "text": [lost, "timeout server 67s"]})
    elif dataplane.play == "3.0" and haproxy_version(haproxy.binary) >= (3, 1):
        text += f"\nlog-profile profile\n  {lost}\n  on any format \"x\"\n"
    else:
        pytest.skip("a Data Plane API that does not know what its HAProxy does: 3.0 beside HAProxy 3.1 or newer")
    before = ours(dataplane.file())
    sites.source.write_text(text)
    daemon.wait_log('msg="configuration refused: the Data Plane API would change its meaning".*line [0-9]+ .* would be lost or changed')
    daemon.wait_not_ready("the Data Plane API would change its meaning")
    wait_until(lambda: ours(dataplane.file()) == before, 10, "the file from before to be back")
    assert lost not in dataplane.file()
    sites.source.write_text(sites.text())
    daemon.wait_ready()


def ours(text: str) -> list[str]:
    """What of a haproxy.cfg means something."""
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]

"""A whole haproxy.cfg whose changes need no reload: a Data Plane API writes it and sends HAProxy commands, and what runs is read back."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig
from .test_config_secret import SOURCE, secret

# No health check says anything of servers that no process listens at.
PLAIN = TEMPLATE.replace("  default-server inter 5s rise 2 fall 2 addr 127.0.0.1 port {fe}\n", "").replace(" check ", " ")
ADDRESS, WEIGHT = "127.0.11.1:30443", "weight 100"
WRITE = "configuration/raw.*skip_reload"


class Followed:
    """What it begins with is applied, and known to run: the daemon has loaded it."""

    def __init__(self, rig: Rig, play: str, **settings: str):
        self.rig, self.play, self.settings = rig, play, {"RESYNC_PERIOD": "30s", **settings}
        self.text = rig.haproxy.config.read_text().replace("global\n", "global\n  description followed\n", 1)
        self.put(self.text)
        self.daemon: Daemon = rig.start(**self.settings)
        self.applied("followed")
        self.daemon.wait_log('msg="configuration applied"')
        self.daemon.wait_ready()
        self.worker = rig.haproxy.worker()
        self.reloads, self.loaded = self.asked_for(), self.daemon.metrics().sum("reloads_total", result="succeeded")

    def put(self, text: str) -> None:
        raise NotImplementedError

    def change(self, *pairs: tuple[str, str]) -> None:
        text = self.text
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        self.put(text)

    def applied(self, what: str) -> None:
        wait_until(lambda: what in self.rig.dataplane.file(), 20, f"{what!r} in the file")
        self.daemon.wait_ready()

    def asked_for(self) -> list[str]:
        """Reloads, as far as the API remembers them."""
        return [str(r.get("id")) for r in self.rig.dataplane.get("/reloads").json()]

    def agrees(self) -> bool:
        return not self.rig.differences()

    def without_reload(self) -> bool:
        return self.asked_for() == self.reloads and self.rig.haproxy.worker() == self.worker

    def restarted(self) -> None:
        """Another daemon has begun, and has nothing left to do."""
        self.loaded = 0.0
        self.daemon = self.rig.start(**self.settings)
        self.daemon.wait_log("configuration (unchanged|applied)")
        self.daemon.wait_ready()

    def reloaded(self) -> None:
        """One more since, which HAProxy went through."""
        self.loaded += 1
        self.daemon.wait_metric("reloads_total", self.loaded, result="succeeded")
        self.daemon.wait_ready()
        assert self.asked_for() != self.reloads
        self.worker, self.reloads = self.rig.haproxy.worker(), self.asked_for()


class Site(Followed):
    """From a Secret."""

    def __init__(self, rig: Rig, play: str):
        super().__init__(rig, play, **{**SOURCE, "RESYNC_PERIOD": "30s"})

    def put(self, text: str) -> None:
        self.text = text
        self.rig.kube.put(secret(text))


@pytest.fixture(params=["3.0", "3.4"])
def site(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with Rig(tmp_path, PLAIN, request.param) as rig:
        yield Site(rig, request.param)


def test_address_weight_and_maintenance(site: Site) -> None:
    for old, new in ((ADDRESS, "127.0.11.2:30444"), (WEIGHT, "weight 7"), ("weight 7", "weight 7 disabled"),
                     ("127.0.11.2:30444", "[::1]:30445"), ("weight 7 disabled", "weight 9")):
        site.change((old, new))
        site.applied(new)
        assert site.agrees() and site.without_reload(), new
    assert site.daemon.log().count("HAProxy runs its changes without a reload") == 5


def test_several_changes_at_once(site: Site) -> None:
    site.change((ADDRESS, "127.0.11.3:30443"), (WEIGHT, "weight 5 disabled"), ("server a 127.0.0.1:9", "server a 127.0.0.2:9"))
    site.applied("127.0.0.2:9")
    assert site.agrees() and not site.rig.differences("other") and site.without_reload()


NEW = "  server n2 127.0.11.2:30443 weight 7 send-proxy-v2\n"


def test_servers_come_and_go(site: Site) -> None:
    """An API before 3.2 would pass on one of its words alone."""
    old = site.text
    site.change(("  server sorry", f"{NEW}  server sorry"))
    site.applied("server n2")
    if site.play == "3.0":
        site.reloaded()
    assert site.agrees() and site.without_reload()
    row = site.rig.haproxy.servers("be")["n2"]
    assert (row["srv_addr"], row["srv_port"], row["srv_iweight"], row["srv_admin_state"]) == ("127.0.11.2", "30443", "7", "0")
    site.put(old)
    wait_until(lambda: "server n2" not in site.rig.dataplane.file(), 20, "gone from the file")
    site.daemon.wait_ready()
    if site.play == "3.0":
        site.reloaded()
    assert site.agrees() and site.without_reload() and "n2" not in site.rig.haproxy.servers("be")
    site.restarted()
    assert site.without_reload(), "the next daemon finds that HAProxy has no such server"


def test_more_servers_than_one_header_holds(site: Site) -> None:
    """Two writes of the same file have what is sent to HAProxy between them."""
    old, names = site.text, [f"server-with-a-long-name-{i}" for i in range(120)]
    writes = len([r for r in site.rig.dataplane.requests() if "skip_reload" in r["path"]])
    site.change(("  server sorry", "".join(f"  server {name} 127.0.11.{i}:30443\n" for i, name in enumerate(names, 1)) + "  server sorry"))
    site.applied(names[-1])
    if site.play == "3.0":
        site.reloaded()
    assert site.agrees() and site.without_reload()
    assert len([r for r in site.rig.dataplane.requests() if "skip_reload" in r["path"]]) == writes + (2 if site.play == "3.4" else 1)
    states = {name: row["srv_admin_state"] for name, row in site.rig.haproxy.servers("be").items()}
    assert {states[name] for name in names} == {"0"}
    site.put(old)
    wait_until(lambda: names[0] not in site.rig.dataplane.file(), 20, "gone from the file")
    site.daemon.wait_ready()
    if site.play == "3.0":
        site.reloaded()
    assert site.agrees() and site.without_reload() and not set(names) & set(site.rig.haproxy.servers("be"))


def test_a_server_with_a_health_check_serves_at_once(site: Site) -> None:
    """No API begins its check: that takes a reload, for which it need not wait."""
    plane = site.rig.dataplane
    plane.fault({"action": "delay", "path": "transactions", "method": "POST", "seconds": 2, "times": 1})
    site.change(("  server sorry", NEW.replace("send-proxy-v2", "check") + "  server sorry"))
    if site.play == "3.4":
        wait_until(lambda: site.rig.haproxy.servers("be").get("n2", {}).get("srv_admin_state") == "0", 10, "it serves")
        assert site.without_reload()
    site.applied("server n2")
    site.reloaded()
    assert site.agrees() and int(site.rig.haproxy.servers("be")["n2"]["srv_check_state"]) & 4
    site.daemon.wait_log('this change takes a reload.*why="server be/n2: ' + ("HAProxy checks its health" if site.play == "3.4" else "it is new, which takes a reload with a Data Plane API before 3.2"))
    # And what comes after it does not.
    site.change(("127.0.11.2:30443", "127.0.11.2:30444"))
    site.applied("30444")
    assert site.agrees() and site.without_reload()


def test_a_server_that_cannot_be_added_is_loaded(site: Site) -> None:
    """One of its words, or HAProxy's refusal."""
    plane = site.rig.dataplane
    for number, more in enumerate(("cookie a", "weight 100")):
        plane.fault({"action": "answer", "status": 500, "body": "words of HAProxy", "path": "runtime/backends/be/servers$", "method": "POST"})
        site.change(("  server sorry", f"  server m{number} 127.0.11.9:{number + 1} {more}\n  server sorry"))
        site.applied(f"server m{number}")
        site.reloaded()
        assert site.agrees()
    if site.play == "3.4":
        assert 'cannot add a server with \\"cookie\\"' in site.daemon.log() and "adding server be/m1" in site.daemon.log()


def test_what_was_added_for_a_file_that_is_refused_goes(site: Site) -> None:
    """HAProxy has no server that its file has not."""
    site.rig.dataplane.fault({"action": "answer", "status": 400, "body": "{\"code\":400,\"message\":\"words of HAProxy\"}", "path": WRITE, "headers": {"Configuration-Version": "9"}, "times": 1})
    site.change(("  server sorry", f"{NEW}  server sorry"))
    site.daemon.wait_log("HAProxy rejected|rejected")
    wait_until(lambda: "n2" not in site.rig.haproxy.servers("be"), 10, "it is deleted")
    assert site.without_reload()


def test_an_action_that_fails_is_followed_by_a_reload(site: Site) -> None:
    """The server is gone from what runs: the API has written the file by then, and sent HAProxy the command for the one before it."""
    site.rig.haproxy.runtime("experimental-mode on; set server other/a state maint; del server other/a")
    assert site.rig.differences("other")
    site.change((ADDRESS, "127.0.11.3:30443"), ("server a 127.0.0.1:9", "server a 127.0.0.2:9"))
    site.applied("127.0.0.2:9")
    site.reloaded()
    assert site.agrees() and not site.rig.differences("other")
    assert "cannot execute SetServerAddr" in site.daemon.log()
    site.change((WEIGHT, "weight 3"))
    site.applied("weight 3")
    assert site.agrees() and site.without_reload(), "tried again after the reload"


def test_what_does_not_come_about_is_loaded(site: Site) -> None:
    site.rig.dataplane.fault({"action": "lie", "path": WRITE})
    for weight in (4, 5):  # twice: then not any more for an hour
        site.change((ADDRESS, f"127.0.11.{weight}:30443"))
        site.applied(f"127.0.11.{weight}:30443")
        site.reloaded()
        assert site.agrees()
        site.change((f"127.0.11.{weight}:30443", ADDRESS))
        site.applied(ADDRESS)
        site.reloaded()
        assert site.agrees()
    assert site.daemon.log().count("HAProxy runs it at") >= 2
    assert "HAProxy did not apply an earlier runtime update of the Data Plane API" in site.daemon.log()


@pytest.mark.parametrize("how", ["close", "truncate"])
def test_an_answer_that_is_lost_after_the_write(site: Site, how: str) -> None:
    """It is loaded; but a connection that was closed was tried again, and what its 409 led to is read back."""
    site.rig.dataplane.fault({"action": how, "path": WRITE, "method": "POST", "times": 1, "apply": True})
    site.change((ADDRESS, "127.0.11.3:30443"))
    site.daemon.wait_log("error=.write of the configuration")
    wait_until(lambda: len(re.findall('msg="configuration (applied|unchanged)"', site.daemon.log())) == 2, 20, "what it runs is known")
    if how == "truncate":
        site.reloaded()
    site.daemon.wait_ready()
    assert site.agrees() and site.without_reload()


def test_another_writer_was_first(site: Site) -> None:
    """His commit changes nothing but the version."""
    def writes() -> int:
        return sum("skip_reload" in r["path"] for r in site.rig.dataplane.requests())

    before = writes()
    site.rig.dataplane.fault({"action": "delay", "path": WRITE, "seconds": 1, "times": 1})
    site.change((ADDRESS, "127.0.11.3:30443"))
    wait_until(lambda: writes() > before, 10, "the write")
    site.rig.dataplane.commit(site.rig.dataplane.begin())
    site.applied("127.0.11.3:30443")
    wait_until(lambda: site.daemon.log().count('msg="configuration applied"') == 2, 20, "applied")
    assert site.agrees()


@pytest.mark.parametrize("told", [True, False])
def test_a_daemon_that_died_before_it_read_back(site: Site, told: bool) -> None:
    """The next one does, and loads the file where HAProxy does not run it. Of 3.0 it cannot see weights."""
    plane = site.rig.dataplane
    plane.fault({"action": "hang", "path": "runtime/backends/be/servers", "times": 1}, *([] if told else [{"action": "lie", "path": WRITE}]))
    site.change((ADDRESS, "127.0.11.3:30443"), (WEIGHT, "weight 3"))
    wait_until(lambda: any("runtime/backends" in r["path"] for r in plane.requests()), 10, "the reading")
    site.daemon.kill()
    plane.clear_faults()
    site.restarted()
    shows = told and site.play == "3.4"
    if not shows:
        site.reloaded()
    assert site.agrees() and (site.without_reload() or not shows)
    assert ("was written and not loaded; loading it" in site.daemon.log()) == (not shows)


def test_what_runs_is_not_loaded_by_the_next_daemon(site: Site) -> None:
    site.change((ADDRESS, "127.0.11.3:30443"))
    site.applied("127.0.11.3:30443")
    assert site.agrees()
    site.daemon.stop()
    site.restarted()
    assert site.agrees() and site.without_reload()
    site.change((WEIGHT, "weight 3"))
    site.applied("weight 3")
    assert site.agrees() and site.without_reload()


def test_what_cannot_be_read_back_is_loaded(tmp_path: pathlib.Path) -> None:
    """HAProxy 2.6 through its master socket: each time, until it was tried twice."""
    with Rig(tmp_path, PLAIN, "3.4", deaf=True) as rig:
        site, was = Site(rig, "3.4"), ADDRESS
        for address in ("127.0.11.2:30443", "127.0.11.3:30443", "127.0.11.4:30443"):
            site.change((was, address))
            was = address
            site.applied(address)
            site.reloaded()
            assert site.agrees()
        told = [r for r in rig.dataplane.requests() if "runtime/backends" in r["path"]]
        assert len(told) == 2, "read back twice"

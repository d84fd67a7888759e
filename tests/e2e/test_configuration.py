"""A whole haproxy.cfg from a file: validated by each HAProxy, applied, followed, and kept where it is refused."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket

import pytest

from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .sites import Sites

def applied(daemon: Daemon, since: int = 0) -> None:
    daemon.wait_log("msg=\"configuration applied\"", 30, since)


@pytest.mark.every_combination
@pytest.mark.every_local
def test_it_is_applied_followed_and_verified(sites: Sites) -> None:
    sites.source.write_text(sites.text())
    daemon = sites.start()
    applied(daemon)
    wait_until(sites.runs(0, "roundrobin"), 10)
    daemon.wait_ready()
    worker = sites.list[0][0].worker()

    seen = len(daemon.log())
    sites.put(sites.text(balance="static-rr"))
    applied(daemon, seen)
    wait_until(sites.runs(0, "static-rr"), 10)
    assert sites.list[0][0].worker() != worker


@pytest.mark.every_combination
def test_a_rejection_names_the_line_and_is_asked_for_once(sites: Sites) -> None:
    dataplane = sites.list[0][1]
    sites.source.write_text(sites.text())
    daemon = sites.start()
    applied(daemon)
    before, seen = dataplane.file(), len(daemon.log())
    bad = sites.text().replace("  balance roundrobin", "  bogus roundrobin")
    line = bad.splitlines().index("  bogus roundrobin") + 1
    sites.source.write_text(bad)
    daemon.wait_log(f"msg=\"configuration rejected.*line {line}: unknown keyword 'bogus'", 20, seen)
    daemon.wait_not_ready(f"rejected: line {line}: unknown keyword 'bogus'")
    sites.await_reads(0)
    asked = sites.validations()
    sites.await_reads()  # two resyncs
    assert sites.validations() == asked
    assert dataplane.file() == before

    seen = len(daemon.log())
    sites.source.write_text(sites.text(balance="first"))
    applied(daemon, seen)
    daemon.wait_ready()


@pytest.mark.every_combination
@pytest.mark.every_local
def test_what_cannot_be_loaded_goes_back(sites: Sites) -> None:
    """HAProxy's own check does not bind ports; with an interface nobody else tries them, either."""
    haproxy, dataplane = sites.list[0]
    sites.source.write_text(sites.text())
    daemon = sites.start()
    applied(daemon)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        seen = len(daemon.log())
        sites.source.write_text(sites.text(balance="first") + f"\nfrontend more\n  mode tcp\n  bind 127.0.0.1:{taken.getsockname()[1]} interface lo\n")
        daemon.wait_log("msg=\"configuration could not be loaded", 40, seen)
        daemon.wait_log("msg=\"previous configuration loaded again", 40, seen)
        wait_until(sites.runs(0, "roundrobin"), 10)
        assert "frontend more" not in dataplane.file()
        daemon.wait_not_ready("could not load it")
    seen = len(daemon.log())
    sites.source.write_text(sites.text(balance="first"))
    applied(daemon, seen)
    wait_until(sites.runs(0, "first"), 10)


@pytest.mark.one_combination
def test_a_rejection_is_remembered_over_a_restart(sites: Sites, tmp_path: pathlib.Path) -> None:
    """Asked for again by SIGHUP alone."""
    sites.source.write_text(sites.text())
    daemon = sites.start(STATE_DIR=str(tmp_path / "state"), SECCOMP="true")
    applied(daemon)
    sites.source.write_text(sites.text().replace("  balance roundrobin", "  bogus roundrobin"))
    daemon.wait_log("msg=\"configuration rejected.*unknown keyword 'bogus'")
    seen = len(daemon.log())
    wait_until(lambda: sites.validations() >= 2, 5)  # it is in the log after the answer
    daemon.stop()
    asked = sites.validations()
    daemon.start()
    daemon.wait_log("configuration was rejected before.*unknown keyword 'bogus'", 20, seen)
    daemon.wait_not_ready("unknown keyword 'bogus'")
    assert sites.validations() == asked
    seen = len(daemon.log())
    daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
    daemon.wait_log("msg=\"configuration rejected.*unknown keyword 'bogus'", 20, seen)
    wait_until(lambda: sites.validations() == asked + 1, 5)


@pytest.mark.one_combination
@pytest.mark.parametrize("policy", ["report", "repair", "ignore"])
def test_what_another_writer_changes(sites: Sites, policy: str) -> None:
    haproxy, dataplane = sites.list[0]
    sites.source.write_text(sites.text())
    daemon = sites.start(CONFIG_DRIFT=policy)
    applied(daemon)
    seen = len(daemon.log())
    sites.add_by_hand("by-hand")
    if policy == "repair":
        applied(daemon, seen)
        wait_until(lambda: "backend by-hand" not in dataplane.file(), 10)
        wait_until(lambda: "by-hand,BACKEND" not in haproxy.runtime("show stat"), 10)
        daemon.wait_ready()
        return
    if policy == "report":
        daemon.wait_log("haproxy.cfg was changed by another writer; it is left so.*backend by-hand", 20, seen)
        daemon.wait_log('haproxy.cfg differs from the configuration.*section="backend by-hand" line="- backend by-hand"', 5, seen)
        daemon.wait_not_ready("another writer changed haproxy.cfg; the configuration has: backend by-hand: removed")
    sites.await_reads()
    assert "backend by-hand" in dataplane.file()
    if policy == "ignore":
        daemon.wait_ready()
    sites.source.write_text(sites.text(balance="static-rr"))
    applied(daemon, seen)
    assert "backend by-hand" not in dataplane.file()


def swap(folder: pathlib.Path, name: str, text: str) -> None:
    """As a kubelet writes a volume: a folder for each version, ..data points to it."""
    folder.joinpath(name).mkdir()
    folder.joinpath(name, "haproxy.cfg").write_text(text)
    folder.joinpath("..new").symlink_to(name)
    os.replace(folder / "..new", folder / "..data")


@pytest.mark.one_combination
def test_links_and_folders_are_followed(sites: Sites) -> None:
    folder = sites.source.parent
    swap(folder, "..1", sites.text())
    sites.source.symlink_to("..data/haproxy.cfg")
    daemon = sites.start()
    applied(daemon)
    seen = len(daemon.log())
    swap(folder, "..2", sites.text(balance="first"))
    applied(daemon, seen)
    seen = len(daemon.log())
    folder.rename(folder.with_name("gone"))
    daemon.wait_log("configuration refused; the last good one stays.*No such file", 20, seen)
    daemon.wait_not_ready("configuration source: cannot open")
    wait_until(sites.runs(0, "first"), 10)
    folder.mkdir()
    sites.source.write_text(sites.text(balance="static-rr"))
    applied(daemon, seen)
    daemon.wait_ready()


@pytest.mark.needs_api("a login and a socket that the way through the API needs")
def test_nobody_is_locked_out(sites: Sites) -> None:
    """Without the login's userlist, or without the socket of the Data Plane API, it is not even sent."""
    haproxy, dataplane = sites.list[0]
    user, socket_line = re.search(r"(?m)^userlist \S+\n(  .*\n)+", sites.text()), re.search(r"(?m)^  stats socket .*\n", sites.text())
    assert user and socket_line
    sites.source.write_text(sites.text().replace(user[0], "").replace(socket_line[0], ""))
    daemon = sites.start()
    daemon.wait_log(r"configuration refused: it would lock the daemon out.*userlist \S+ with user admin \(line \d+\); "
                    rf"stats socket {haproxy.dir}/haproxy.sock with level admin", 20)
    daemon.wait_not_ready("copy it from there, or set CONFIG_ALLOW_LOCKOUT=true")
    changed, count = re.subn(r"(?m)^(  user admin insecure-password) .*$", r"\1 hunter2", sites.text())
    assert count == 1
    sites.source.write_text(changed)
    daemon.wait_log(r"configuration refused: it would lock the daemon out.*userlist \S+ with user admin and the login's password \(line \d+\); copy", 20)
    assert "only_validate" not in dataplane.access_log() and "hunter2" not in daemon.log()
    sites.source.write_text(sites.text())
    applied(daemon)
    daemon.wait_ready()

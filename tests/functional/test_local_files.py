"""Files beside the configuration on a HAProxy of this machine: maps, certificates and others, put into folders beside its own file."""

from __future__ import annotations

import base64
import contextlib
import os
import pathlib
import re
import signal
import ssl
from collections.abc import Iterator

import pytest

from tests.harness import certificates
from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .rig import Rig
from .test_config_secret import SOURCE, certificate_of, secret
from .test_local import Local, await_log, beside, others, state

APPLIED = 'msg="configuration applied"'
LIST = "haproxy-k8s-sync.files"


def entries_of(text: str) -> list[tuple[str, str]]:
    """Of a map's file."""
    lines = [line.strip() for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


class Site(Local):
    """With a folder of files beside the source; what HAProxy says is what its map has for the host "x"."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home)
        self.files = home / "d"
        self.own = self.haproxy.dir
        self.tls = free_port()
        for folder in ("maps", "certs", "files"):
            (self.files / folder).mkdir(parents=True)
        self.settings |= {"CONFIG_FILES_DIR": str(self.files), "RESYNC_PERIOD": "1s"}
        self.leaves = [certificates.self_signed(home, name) for name in ("one.example", "two.example")]

    def text(self, word: str = "none", *, tls: bool = False, more: str = "") -> str:
        says = f'lf-string "%[str(x),map({self.own}/maps/hosts.map,{word})]"'
        bind = f"  bind 127.0.0.1:{self.tls} ssl crt {self.own}/ssl/www_example_com.pem\n" if tls else ""
        return self.first.replace('string "zero"', says) + bind + more

    def give(self, name: str, text: str) -> None:
        fresh = self.files / ".next"
        fresh.write_text(text)
        fresh.rename(self.files / name)

    def pem(self, i: int) -> str:
        return self.leaves[i].certificate.read_text() + self.leaves[i].key.read_text()

    def shown(self) -> str:
        return ssl.get_server_certificate(("127.0.0.1", self.tls))

    def beside(self) -> dict[str, str]:
        """All that is in the folders of its files: path -> content. Read again where one is renamed meanwhile, as the list of them is."""
        while True:
            with contextlib.suppress(FileNotFoundError):
                return {str(path.relative_to(self.own)): path.read_text() for kind in ("maps", "ssl", "general")
                        for path in (self.own / kind).glob("*") if path.is_file()}

    def map_shown(self) -> list[tuple[str, str]]:
        """What HAProxy has of hosts.map, in its order."""
        lines = self.haproxy.runtime(f"show map {self.own}/maps/hosts.map").splitlines()
        return [entry for line in lines if line for entry in entries_of(line.split(" ", 1)[1])]

    def names(self) -> set[str]:
        return set(self.beside()) - {f"general/{LIST}"}

    def settled(self, *names: str) -> None:
        """What was put there is known to run."""
        wait_until(lambda: self.names() == set(names) and " - " not in (self.own / "general" / LIST).read_text(), 20, f"{names}, {self.beside()}")

    @contextlib.contextmanager
    def serving(self, entries: str = "x one\n", *, tls: bool = False, more: str = "", text: str = "", **settings: str) -> Iterator[tuple[Daemon, int]]:
        """What HAProxy has is applied and says "one": the daemon, and HAProxy's worker."""
        self.give("maps/hosts.map", entries)
        if tls:
            self.give("certs/www.example.com.pem", self.pem(0))
        self.put(text or self.text(tls=tls, more=more))
        with self.daemon(**settings) as daemon:
            self.await_says("one")
            await_log(daemon, APPLIED)
            yield daemon, self.haproxy.worker()


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with made.haproxy:
        yield made


def test_they_are_served_and_followed(site: Site) -> None:
    site.give("maps/hosts.map", "x one\n")
    site.give("certs/www.example.com.pem", site.pem(0))
    site.give("files/sorry.page.http", "HTTP/1.0 503 x\r\n\r\nsorry")
    site.put(site.text(tls=True, more=f"  errorfile 503 {site.own}/general/sorry_page.http\n"))
    with site.daemon() as daemon:
        site.await_says("one")
        wait_until(daemon.ready, 10, "ready")
        assert site.shown() == site.leaves[0].certificate.read_text()
        site.settled("maps/hosts.map", "ssl/www_example_com.pem", "general/sorry_page.http")
        assert daemon.metrics().sum("local_requests_total", target=str(site.haproxy.config), request="put file", result="ok") >= 3
        assert (site.own / "ssl/www_example_com.pem").stat().st_mode & 0o7777 == 0o640
        assert (site.own / "ssl").stat().st_mode & 0o007 == 0
        site.give("maps/hosts.map", "x two\n")
        site.await_says("two")
        site.give("certs/www.example.com.pem", site.pem(1))
        wait_until(lambda: site.shown() == site.leaves[1].certificate.read_text(), 15, "the other certificate")
        wait_until(daemon.ready, 10, "ready")
        await_log(daemon, APPLIED, 3)
        site.settled("maps/hosts.map", "ssl/www_example_com.pem", "general/sorry_page.http")
        before, worker = site.beside(), site.haproxy.worker()
    with site.daemon("again") as daemon:  # another start knows them
        wait_until(daemon.ready, 10, "ready")
        await_log(daemon, 'msg="configuration unchanged"')
        assert site.haproxy.worker() == worker and site.beside() == before
        assert "files of the configuration stored" not in daemon.log()


def test_folders_can_be_elsewhere(site: Site) -> None:
    elsewhere = site.home / "elsewhere"
    elsewhere.mkdir()
    with site.serving(text=site.text().replace(f"{site.own}/maps", f"{elsewhere}/maps"), HAPROXY_STORAGE_DIR=str(elsewhere)):
        assert (elsewhere / "maps" / "hosts.map").read_text() == "x one\n" and not (site.own / "maps").exists()


def test_what_is_rejected_leaves_them_as_they_were(site: Site) -> None:
    with site.serving(tls=True) as (daemon, _):
        site.settled("maps/hosts.map", "ssl/www_example_com.pem")
        before, have, worker = site.beside(), site.haproxy.config.read_bytes(), site.haproxy.worker()
        site.put(site.text(tls=True, more="  bogus\n"))
        await_log(daemon, "configuration rejected; no HAProxy gets it")
        site.give("maps/hosts.map", "x two\n")
        site.give("certs/www.example.com.pem", site.pem(1))
        site.give("files/new.http", "HTTP/1.0 503 x\r\n\r\n")
        await_log(daemon, "configuration rejected; no HAProxy gets it", 2)
        assert re.search(r'error="line \d+: .*bogus', daemon.log()), daemon.tail()
        wait_until(lambda: site.beside() == before, 15, "the files from before")
        assert site.haproxy.config.read_bytes() == have and site.haproxy.worker() == worker and site.says() == "one"
        assert [p.name for p in site.own.glob("*/.*")] == []
        site.put(site.text(tls=True))
        site.await_says("two")
        site.settled("maps/hosts.map", "ssl/www_example_com.pem", "general/new.http")


def test_what_haproxy_cannot_load_leaves_them_as_they_were(site: Site) -> None:
    """`haproxy -c` takes an address that nobody has here; the worker finds out. An interface is not tried before."""
    with site.serving() as (daemon, _):
        site.settled("maps/hosts.map")
        site.give("maps/hosts.map", "x two\n")
        site.put(site.text(more="  bind 192.0.2.1:80 interface lo\n"))
        await_log(daemon, 'msg="configuration could not be loaded; the previous one is restored"')
        wait_until(lambda: site.beside()["maps/hosts.map"] == "x one\n", 20, "the map from before")
        wait_until(lambda: site.haproxy.config.read_text() == site.text(), 20, "the file from before")
        assert site.says() == "one"


def killed_on_the_way(site: Site) -> None:
    """The daemon is killed when a map was changed and another one added, and haproxy.cfg is not written yet."""
    hold, asked = site.home / "hold", site.home / "asked"
    checker = site.home / "checker"
    checker.write_text(f'#!/bin/sh\n[ ! -p {hold} ] || {{ : >{asked}; cat {hold}; }}\nexec {site.haproxy.binary} "$@"\n')
    checker.chmod(0o755)
    site.give("maps/hosts.map", "x one\n")
    site.put(site.text().replace("/maps/", "//maps/"))  # not known to be its own: what is in it takes a reload
    with site.daemon(HAPROXY_BIN=str(checker)) as daemon:
        site.await_says("one")
        site.settled("maps/hosts.map")
        os.mkfifo(hold)
        site.give("maps/hosts.map", "x two\ny two\n")
        site.give("maps/new.map", "x new\n")
        wait_until(asked.exists, 20, "HAProxy is asked")
        wait_until(lambda: "maps/new.map" in site.names(), 10, "the map that is added")
        helpers = pathlib.Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
        os.kill(daemon.pid, signal.SIGKILL)  # and not its helpers
        wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in helpers), 10, "the helpers end")
        daemon.kill()
    hold.unlink()
    assert site.says() == "one" and not list(site.own.glob(".*.check*")) and not list(site.own.glob("*/.*"))


def test_a_daemon_that_was_killed_knows_what_it_put_there(site: Site) -> None:
    killed_on_the_way(site)
    site.give("maps/hosts.map", "x one\n")
    (site.files / "maps/new.map").unlink()
    with site.daemon("next") as daemon:
        site.settled("maps/hosts.map")
        wait_until(daemon.ready, 20, "ready")
        assert site.says() == "one" and site.beside()["maps/hosts.map"] == "x one\n"


def test_what_is_gone_is_deleted_and_what_was_there_by_hand_is_not(site: Site) -> None:
    for folder in ("maps", "general"):
        (site.own / folder).mkdir()
    (site.own / "maps/hosts.map").write_text("x by hand\n")
    (site.own / "maps/theirs.map").write_text("x y\n")
    site.give("maps/hosts.map", "x one\n")
    site.give("maps/old.map", "x y\n")
    site.give("files/kept.http", "HTTP/1.0 503 x\r\n\r\n")
    site.put(site.text(more=f"  errorfile 503 {site.own}/general/kept.http\n"))
    with site.daemon() as daemon:
        site.await_says("one")
        site.settled("maps/hosts.map", "maps/old.map", "maps/theirs.map", "general/kept.http")
        for name in ("maps/hosts.map", "maps/old.map", "files/kept.http"):
            (site.files / name).unlink()
        wait_until(lambda: "maps/old.map" not in site.names(), 20, "the map is deleted")
        await_log(daemon, "files are not deleted, because haproxy.cfg still names them")
        assert site.names() == {"maps/hosts.map", "maps/theirs.map", "general/kept.http"}
        assert site.beside()["maps/hosts.map"] == "x one\n"
        site.put(site.text())
        wait_until(lambda: site.names() == {"maps/hosts.map", "maps/theirs.map"}, 20, "nothing names it any more")
        site.haproxy.stop()
        site.haproxy.start()
        assert site.says() == "one"


def test_what_another_writer_changes_is_reported(site: Site) -> None:
    """test_local_files_runtime has it repaired."""
    site.give("certs/www.example.com.pem", site.pem(0))
    site.give("maps/hosts.map", "x one\n")
    site.put(site.text(tls=True))
    own = site.own / "ssl/www_example_com.pem"
    with site.daemon() as daemon:
        site.await_says("one")
        site.settled("maps/hosts.map", "ssl/www_example_com.pem")
        changed = own.read_text() + "\n"  # the same size would do as well: each byte counts
        own.write_text(changed)
        daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
        await_log(daemon, "files of the configuration were changed by another writer")
        wait_until(lambda: "certs/www.example.com.pem" in daemon.get("/readyz")[1], 15, "the file in /readyz")
        assert own.read_text() == changed
        own.write_text(site.pem(0))
        daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
        wait_until(daemon.ready, 20, "ready")


def test_a_secret_brings_them_too(tmp_path: pathlib.Path) -> None:
    leaf = certificates.self_signed(tmp_path, "shop.example")
    with Rig(tmp_path) as rig:
        rig.dataplane.kill()  # there is none
        own, port = rig.haproxy.dir, free_port()
        made = secret(rig.haproxy.config.read_text() + f"\nfrontend shop\n  mode http\n  bind 127.0.0.1:{port} ssl crt {own}/ssl/shop-tls.pem\n"
                      f"  http-request return status 200 content-type text/plain lf-string %[str(x),map({own}/maps/hosts.map)]\n")
        made["data"]["maps_hosts.map"] = base64.b64encode(b"x one\n").decode()
        rig.kube.put(made, certificate_of(leaf, "shop-tls"))
        rig.start(**beside(rig, **{**SOURCE, "CONFIG_CERTS_SECRETS": "shop-tls"})).wait_ready()
        assert ssl.get_server_certificate(("127.0.0.1", port)) == leaf.certificate.read_text()
        assert (own / "maps/hosts.map").read_text() == "x one\n"


def test_servers_of_a_file_of_20_mb(tmp_path: pathlib.Path) -> None:
    """haproxy.cfg itself: half of it in front of the backend, half behind it."""
    comments = ("# " + "x" * 97 + "\n") * 100_000
    with Rig(tmp_path) as rig:
        rig.dataplane.kill()  # there is none
        config = rig.haproxy.config
        config.write_text(comments + config.read_text() + "\n" + comments)
        before = others(config.read_text())
        daemon = rig.start(**beside(rig))
        daemon.wait_ready()
        rig.pods(1, 2, 3)
        wait_until(lambda: [state(rig, f"n{n}") for n in (1, 2, 3)] == ["ready"] * 3, 60, "three servers are in rotation")
        rig.node(2, "127.0.11.77")
        wait_until(lambda: rig.haproxy.servers("be")["n2"]["srv_addr"] == "127.0.11.77", 60, "n2 has moved")
        wait_until(lambda: "server n2 127.0.11.77:" in config.read_text(), 60, "and its line")
        daemon.wait_ready()
        rig.haproxy.stop()
        rig.haproxy.start()
        assert rig.haproxy.servers("be")["n2"]["srv_addr"] == "127.0.11.77"
        assert others(config.read_text()) == before


def test_the_command_reads_them_too(site: Site) -> None:
    """They are named where nothing may be written, and stored by `apply`."""
    source = str(site.source)
    site.give("maps/hosts.map", "x one\n")
    site.source.write_text(site.text())
    for what, status in (("plan", 2), ("validate", 1)):
        done = site.command(what, source)
        assert done.returncode == status and "maps/hosts.map" in done.stdout, done.stdout + done.stderr
        assert "no verdict before its files are stored" in done.stdout
    assert "maps/hosts.map" not in site.beside()
    done = site.command("apply", source)
    assert done.returncode == 0 and site.beside()["maps/hosts.map"] == "x one\n", done.stdout + done.stderr
    for what in ("plan", "validate"):
        done = site.command(what, source)
        assert done.returncode == 0 and "accepted" in done.stdout, done.stdout + done.stderr
    site.give("maps/hosts.map", "x two\n")  # a map alone
    assert site.command("plan", source).returncode == 2
    done = site.command("apply", source)
    assert done.returncode == 0 and site.beside()["maps/hosts.map"] == "x two\n", done.stdout + done.stderr
    site.await_says("two")

"""Maps and certificates of a HAProxy on this machine change without a reload; where they cannot, or do not come about, with one."""

from __future__ import annotations

import contextlib
import pathlib
import signal
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.harness import certificates
from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .rig import Rig
from .test_config_secret import SOURCE, certificate_of, secret
from .test_local import await_log, beside
from .test_local_files import APPLIED, Site, entries_of

TOLD = "files changed in the running HAProxy; no reload"
TAKES = "files take a reload"


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with made.haproxy:
        yield made


def await_told(site: Site, daemon: Daemon, times: int) -> None:
    """And that all of it is known to run."""
    await_log(daemon, TOLD, times)
    await_log(daemon, APPLIED, times + 1)
    wait_until(daemon.ready, 10, "ready")


def test_entries_of_a_map(site: Site) -> None:
    with site.serving("x one\ny other\n") as (daemon, worker):
        odd = 'x two\nx never\nodd  a;b \\ "c" #d <<\nnothing\n'
        for i, text in enumerate(["x two\n# y\nz third\n", odd, "q none\n", "", "x last"]):
            site.give("maps/hosts.map", text)
            await_told(site, daemon, i + 1)
            assert site.beside()["maps/hosts.map"] == text
            assert site.map_shown() == entries_of(text)
            assert site.says() == dict(reversed(entries_of(text))).get("x", "none")
        site.settled("maps/hosts.map")
        assert site.haproxy.worker() == worker
    with site.daemon("again") as daemon:  # the file and what runs agree, for the next one, too
        await_log(daemon, 'msg="configuration unchanged"')
        assert site.haproxy.worker() == worker and site.says() == "last"


def test_through_the_master(site: Site) -> None:
    del site.settings["HAPROXY_STATS_SOCKET"]
    with site.serving(tls=True) as (daemon, worker):
        site.give("maps/hosts.map", "x two\n")
        await_told(site, daemon, 1)
        site.give("certs/www.example.com.pem", site.pem(1))
        await_told(site, daemon, 2)
        assert site.says() == "two" and site.shown() == site.leaves[1].certificate.read_text()
        assert site.haproxy.worker() == worker


def test_a_map_of_10_000_entries(site: Site) -> None:
    text = "".join(f"host{i}.example.com value-of-{i}\n" for i in range(10_000))
    with site.serving(text + "x one\n") as (daemon, worker):
        site.give("maps/hosts.map", text + "x two\n")
        await_told(site, daemon, 1)
        assert site.says() == "two" and site.map_shown() == entries_of(text + "x two\n")
        assert site.haproxy.worker() == worker


def test_a_certificate(site: Site) -> None:
    with site.serving(tls=True) as (daemon, worker):
        odd = "Bag Attributes\r\n\r\n" + site.pem(1).replace("\n", "\r\n") + "\r\n \n\n" + site.leaves[0].certificate.read_text()
        (site.files / "certs/www.example.com.pem").write_bytes(odd.encode())
        await_told(site, daemon, 1)
        assert site.shown() == site.leaves[1].certificate.read_text()
        shown = site.haproxy.runtime(f"show ssl cert {site.own}/ssl/www_example_com.pem")
        assert "Chain Subject: /CN=one.example" in shown, shown
        assert (site.own / "ssl/www_example_com.pem").read_bytes() == odd.encode()
        site.give("certs/www.example.com.pem", site.pem(0))
        await_told(site, daemon, 2)
        assert site.shown() == site.leaves[0].certificate.read_text() and site.haproxy.worker() == worker
        assert "*" not in site.haproxy.runtime("show ssl cert"), "a transaction is left"


def test_what_fits_no_key_or_is_none_reaches_no_haproxy(site: Site) -> None:
    with site.serving(tls=True) as (daemon, _):
        before, worker = site.beside(), site.haproxy.worker()
        for text, why in ((site.leaves[0].certificate.read_text() + site.leaves[1].key.read_text(), "the private key does not belong to the first certificate"),
                          ("no certificate", "no PEM certificate in it")):
            site.give("certs/www.example.com.pem", text)
            await_log(daemon, f"certs/www.example.com.pem: {why}")
            wait_until(lambda: why in daemon.get("/readyz")[1], 10, "the reason in /readyz")
        site.give("maps/hosts.map", "x two\n")
        site.give("certs/www.example.com.pem", site.pem(1))
        await_told(site, daemon, 1)
        assert before["ssl/www_example_com.pem"] == site.pem(0)
        assert site.shown() == site.leaves[1].certificate.read_text() and site.says() == "two" and site.haproxy.worker() == worker


def test_a_secret_with_the_key_of_another(tmp_path: pathlib.Path) -> None:
    """It is refused with an Event, what runs stays; and with its own key it runs without a reload."""
    one, two = (certificates.self_signed(tmp_path, name) for name in ("one.example", "two.example"))
    with Rig(tmp_path) as rig:
        rig.dataplane.kill()  # there is none
        port = free_port()
        made = secret(rig.haproxy.config.read_text() + f"\nfrontend shop\n  mode tcp\n  bind 127.0.0.1:{port} ssl crt {rig.haproxy.dir}/ssl/shop-tls.pem\n")
        rig.kube.put(made, certificate_of(one, "shop-tls"))
        daemon = rig.start(**beside(rig, **{**SOURCE, "CONFIG_CERTS_SECRETS": "shop-tls", "EMIT_EVENTS": "true"}))
        daemon.wait_ready()
        worker = rig.haproxy.worker()
        rig.kube.put(certificate_of(certificates.Pair(two.certificate, one.key), "shop-tls"))
        daemon.wait_not_ready("Secret haproxy/shop-tls: .*the private key does not belong to the first certificate")
        wait_until(lambda: "ConfigRejected" in [e["reason"] for e in rig.kube.state()["items"] if e["kind"] == "Event"], 10, "an Event")
        assert ssl.get_server_certificate(("127.0.0.1", port)) == one.certificate.read_text()
        rig.kube.put(certificate_of(two, "shop-tls"))
        daemon.wait_log(TOLD)
        daemon.wait_ready()
        assert ssl.get_server_certificate(("127.0.0.1", port)) == two.certificate.read_text() and rig.haproxy.worker() == worker


def test_what_commands_cannot_change_is_loaded(site: Site) -> None:
    """With what commands could change before it."""
    site.give("maps/hosts.map", "x one\n")
    site.give("files/sorry.http", "HTTP/1.0 503 x\r\n\r\nsorry")
    site.put(site.text(more=f"  errorfile 503 {site.own}/general/sorry.http\n"))
    with site.daemon() as daemon:
        site.await_says("one")
        await_log(daemon, APPLIED)
        worker = site.haproxy.worker()
        site.give("files/sorry.http", "HTTP/1.0 503 x\r\n\r\nvery sorry")
        await_log(daemon, f'{TAKES}" target={site.haproxy.config} why="files/sorry.http: it is neither a map nor a certificate"')
        await_log(daemon, APPLIED, 2)
        assert site.haproxy.worker() != worker and TOLD not in daemon.log()
        site.settled("maps/hosts.map", "general/sorry.http")


class Between(socketserver.ThreadingUnixStreamServer):
    """In front of HAProxy's stats socket: what `says` answers is not asked there."""

    block_on_close = False  # for one that is late
    daemon_threads = True

    def __init__(self, site: Site):
        self.behind = site.haproxy.socket
        self.path = site.home / "between"
        self.says: Callable[[str], str | None] = lambda command: None
        super().__init__(str(self.path), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        asked = self.rfile.read()
        said = self.server.says(asked.decode())  # type: ignore[attr-defined]
        if said is not None:
            self.wfile.write(said.encode())
            return
        with socket.socket(socket.AF_UNIX) as behind:
            behind.connect(str(self.server.behind))  # type: ignore[attr-defined]
            behind.sendall(asked)
            behind.shutdown(socket.SHUT_WR)
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(behind.makefile("rb").read())


@pytest.fixture
def between(site: Site) -> Iterator[Between]:
    with Between(site) as server:
        site.settings["HAPROXY_STATS_SOCKET"] = str(server.path)
        yield server
        server.shutdown()


def late(command: str) -> str | None:
    """As long as the daemon waits."""
    if command.startswith("commit"):
        threading.Event().wait(60)
    return None


def lies(command: str) -> str | None:
    return "\n" if command.startswith(("add map", "commit map")) else None


@pytest.mark.parametrize("fault, why", [(lies, "HAProxy took it, and does not show it"), (late, "cannot read the answer of")])
def test_a_socket_that(site: Site, between: Between, fault: Callable[[str], str | None], why: str) -> None:
    with site.serving() as (daemon, worker):
        between.says = fault
        site.give("maps/hosts.map", "x two\n")
        await_log(daemon, TAKES)
        between.says = lambda command: None
        assert why in daemon.log(), daemon.tail()
        site.await_says("two")
        await_log(daemon, APPLIED, 2)
        assert site.haproxy.worker() != worker and TOLD not in daemon.log()
        site.settled("maps/hosts.map")
        worker = site.haproxy.worker()
        site.give("maps/hosts.map", "x three\n")  # and then as ever
        await_told(site, daemon, 1)
        assert site.says() == "three" and site.haproxy.worker() == worker


def test_a_certificate_that_is_not_shown_is_loaded(site: Site, between: Between) -> None:
    with site.serving(tls=True) as (daemon, worker):
        between.says = lambda c: "Committing x.\nSuccess!\n\n" if c.startswith("commit ssl cert") else None
        site.give("certs/www.example.com.pem", site.pem(1))
        await_log(daemon, "certs/www.example.com.pem: HAProxy took it, and does not show it")
        wait_until(lambda: site.shown() == site.leaves[1].certificate.read_text(), 20, "the other certificate")
        await_log(daemon, APPLIED, 2)
        assert site.haproxy.worker() != worker


MANY = "".join(f"h{i}.example v{i}\n" for i in range(300))


def noted(between: Between) -> list[str]:
    """What changes something of what HAProxy has, as it comes."""
    commands: list[str] = []

    def note(command: str) -> None:
        if not command.startswith("show"):
            commands.append(command.splitlines()[0])

    between.says = note
    return commands


def test_a_few_entries_of_a_map(site: Site, between: Between) -> None:
    """One is another one, comes, goes; the longest that fits counts, wherever it stands."""
    path, commands = f"{site.own}/maps/hosts.map", noted(between)
    with site.serving(MANY + "x one\n", text=site.text().replace("str(x),map(", "str(xyz),map_beg(")) as (daemon, worker):
        for i, (text, says, told) in enumerate([
                (MANY + "x two\n", "two", [f"set map {path} x two"]),
                ("xy longer\n" + MANY + "x three\n", "longer", [f"add map {path} xy longer; set map {path} x three"]),
                ("xy longer\n" + MANY.replace("h5.example v5\n", "") + "z last\n", "longer",
                 [f"add map {path} z last; del map {path} h5.example; del map {path} x"]),
                (MANY + "x four\n", "four",
                 [f"add map {path} h5.example v5; add map {path} x four; del map {path} xy; del map {path} z"])]):
            commands.clear()
            site.give("maps/hosts.map", text)
            await_told(site, daemon, i + 1)
            assert site.says() == says and site.beside()["maps/hosts.map"] == text
            assert sorted(site.map_shown()) == sorted(entries_of(text))
            assert commands == told
        site.settled("maps/hosts.map")
        assert site.haproxy.worker() == worker


def test_a_few_entries_of_a_map_that_has_others(site: Site, between: Between) -> None:
    """It gets all of its entries, in their order."""
    commands = noted(between)
    with site.serving(MANY + "x one\n") as (daemon, worker):
        site.haproxy.runtime(f"add map {site.own}/maps/hosts.map y twice")
        text = "y one\n" + MANY + "x two\n"
        site.give("maps/hosts.map", text)
        await_told(site, daemon, 1)
        assert site.says() == "two" and site.map_shown() == entries_of(text) and site.haproxy.worker() == worker
        assert commands[0].startswith("add map") and commands[1].startswith("prepare map"), commands


def test_a_map_that_was_changed_by_hand(site: Site) -> None:
    """And loaded: in the end HAProxy runs what the file had."""
    with site.serving(CONFIG_DRIFT="repair", RESYNC_PERIOD="10s") as (daemon, _):
        site.settled("maps/hosts.map")
        (site.own / "maps/hosts.map").write_text("x by-hand\n")
        site.haproxy.reload()
        assert site.says() == "by-hand"
        worker = site.haproxy.worker()
        daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
        await_log(daemon, "files of the configuration were changed by another writer")
        wait_until(lambda: site.beside()["maps/hosts.map"] == "x one\n", 15, "the map as it was")
        site.await_says("one")
        await_told(site, daemon, 1)
        assert site.haproxy.worker() == worker
        site.settled("maps/hosts.map")

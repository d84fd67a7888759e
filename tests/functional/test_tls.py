"""TLS to the Data Plane API and to Kubernetes: who is believed, as whom we come, and files that change while it runs."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness.certificates import Authority, Pair
from tests.harness.daemon import Daemon, clean_env
from tests.harness.process import free_port, wait_until

from .doctor import look
from .rig import Rig, program

pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")

NAME = "haproxy.example.test"
DAY = 86400
KEPT = "changed TLS files cannot be used; keeping the last ones"
RENEWED = "TLS files renewed"


class Files:
    """What the daemon is given: the names stay, what is behind them is replaced as a whole."""

    def __init__(self, directory: pathlib.Path):
        directory.mkdir()
        self.ca, self.cert, self.key = (directory / name for name in ("ca.crt", "tls.crt", "tls.key"))

    @staticmethod
    def put(path: pathlib.Path, text: str) -> None:
        beside = path.with_suffix(".new")
        beside.write_text(text)
        os.replace(beside, path)

    def trust(self, *authorities: Authority) -> None:
        self.put(self.ca, "".join(a.certificate.read_text() for a in authorities))

    def be(self, pair: Pair) -> None:
        self.put(self.cert, pair.certificate.read_text())
        self.put(self.key, pair.key.read_text())

    def settings(self, **more: str) -> dict[str, str]:
        return {"HAPROXY_DATAPLANE_CA_FILE": str(self.ca), "HAPROXY_DATAPLANE_CERT_FILE": str(self.cert),
                "HAPROXY_DATAPLANE_KEY_FILE": str(self.key), "RESYNC_PERIOD": "1s", **more}


class World:
    """A Data Plane API with mutual TLS, and what the daemon needs for it."""

    def __init__(self, home: pathlib.Path, alternatives: str = "IP:127.0.0.1"):
        self.home = home
        self.ca, self.people = Authority(home / "pki"), Authority(home / "people", "people")
        self.server = Pair(home / "server.crt", home / "server.key")
        self.files = Files(home / "files")
        self.alternatives = alternatives
        self.renew_server(self.ca)
        self.files.trust(self.ca)
        self.files.be(self.people.client("one"))
        self.rig = Rig(home)
        self.rig.dataplane.serve_tls(self.server, self.people.certificate, self.people.client("harness"))

    def renew_server(self, authority: Authority, days: int = 2) -> None:
        """The double reads these when it is started."""
        made = authority.server(alternatives=self.alternatives, days=days)
        shutil.copy(made.certificate, self.server.certificate)
        shutil.copy(made.key, self.server.key)

    def start(self, **more: str) -> Daemon:
        return self.rig.start(**self.files.settings(**more))

    def asked(self) -> list[dict[str, Any]]:
        """The daemon's requests."""
        return [r for r in self.rig.dataplane.requests() if r["client"] != "harness"]

    def asks_as(self, client: str) -> None:
        before = len(self.asked())
        wait_until(lambda: client in {r["client"] for r in self.asked()[before:]}, 20, f"a request of {client}")


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    made = World(tmp_path)
    with made.rig:
        yield made


def expires_in(daemon: Daemon, certificate: str, peer: str) -> float:
    return daemon.metrics().sum("tls_certificate_expiration_timestamp_seconds", certificate=certificate, peer=peer) - time.time()


def still_works(rig: Rig, *nodes: int) -> None:
    rig.pods(*nodes)
    rig.wait_servers(*nodes)
    rig.wait_in_sync()


def renewals(daemon: Daemon) -> int:
    return daemon.log().count(RENEWED)


# --- who is believed, and as whom we come

def test_mutual_tls_and_another_name_than_the_urls(tmp_path: pathlib.Path) -> None:
    world = World(tmp_path, alternatives=f"DNS:{NAME}")
    with world.rig as rig:
        daemon = world.start(HAPROXY_DATAPLANE_SERVER_NAME=NAME)
        still_works(rig, 1, 2)
        assert {(r["client"], r["sni"], r["host"]) for r in world.asked()} == {("one", NAME, f"127.0.0.1:{rig.dataplane.port}")}
        assert {r["tls"] for r in world.asked()} <= {"TLSv1.2", "TLSv1.3"}
        assert len({r["connection"] for r in world.asked()}) <= 4, "connections are kept"
        for certificate in ("ca", "client", "server"):
            assert DAY < expires_in(daemon, certificate, rig.dataplane.url) <= 2 * DAY, certificate
        assert daemon.metrics().sum("tls_certificate_expiration_timestamp_seconds", peer="kubernetes") == 0, "that one has no TLS"


REFUSALS: dict[str, tuple[dict[str, str], str]] = {
    "no CA of its own": ({"HAPROXY_DATAPLANE_CA_FILE": ""}, "self.signed certificate|unable to get local issuer"),
    "another CA": ({"HAPROXY_DATAPLANE_CA_FILE": "people/people.crt"}, "unable to get local issuer|self.signed certificate"),
    "another name": ({"HAPROXY_DATAPLANE_SERVER_NAME": NAME}, NAME),
    "no client certificate": ({"HAPROXY_DATAPLANE_CERT_FILE": "", "HAPROXY_DATAPLANE_KEY_FILE": ""}, "it may want a client certificate"),
    "a stranger's client certificate": ({"HAPROXY_DATAPLANE_CERT_FILE": "pki/stranger.crt", "HAPROXY_DATAPLANE_KEY_FILE": "pki/stranger.key"},
                                        "it may not accept the client certificate"),
}


def test_refused_or_not_verified(world: World) -> None:
    world.ca.client("stranger")
    for settings, saying in REFUSALS.values():
        daemon = world.start(**{name: str(world.home / value) if "/" in value else value for name, value in settings.items()})
        daemon.wait_log(f"level=(warn|error) .*({saying})")
        assert daemon.metrics().sum("in_sync") == 0 and not world.asked(), "not one request got through"
        daemon.stop()
        daemon.log_path.unlink()
    daemon = world.start(HAPROXY_DATAPLANE_CA_FILE="", HAPROXY_DATAPLANE_INSECURE="true")
    still_works(world.rig, 1, 2)
    assert re.search("level=warn .*not verified.*HAPROXY_DATAPLANE_INSECURE", daemon.log())


def test_doctor_names_the_settings_of_a_client_certificate(world: World) -> None:
    check = look(world.rig, HAPROXY_DATAPLANE_CA_FILE=str(world.files.ca)).says("haproxy.answer", "fail", "it may want a client certificate")
    assert "HAPROXY_DATAPLANE_CERT_FILE and HAPROXY_DATAPLANE_KEY_FILE" in check["fixes"][0]["how"]


START_ERRORS: dict[str, tuple[Callable[[Files], object], str]] = {
    "no CA file": (lambda f: f.ca.unlink(), "HAPROXY_DATAPLANE_CA_FILE"),
    "half a certificate": (lambda f: f.cert.write_text(f.cert.read_text()[:300]), "HAPROXY_DATAPLANE_CERT_FILE .*cannot be read"),
}


@pytest.mark.parametrize("case", START_ERRORS)
def test_files_that_cannot_be_used_at_start_are_configuration_errors(tmp_path: pathlib.Path, case: str) -> None:
    spoil, saying = START_ERRORS[case]
    files, ca = Files(tmp_path / "files"), Authority(tmp_path / "pki")
    files.trust(ca)
    files.be(ca.client("one"))
    spoil(files)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text('{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],'
                          '"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}]}')
    env = clean_env(KUBECONFIG=str(kubeconfig), INGRESS_NAMESPACE="a", INGRESS_SERVICE_NAME="b", HAPROXY_BACKEND_NAME="be",
                    HAPROXY_DATAPLANE_URL="https://127.0.0.1:1", LISTEN_ADDRESS=f"127.0.0.1:{free_port()}", **files.settings())
    for words, level in (((), "level=error .*"), (("check-config",), "error: "), (("plan",), "error: ")):
        done = subprocess.run([program(), *words], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 78, done.stderr
        assert re.search(f"{level}.*{saying}", done.stderr), done.stderr
        assert str(files.ca.parent) in done.stderr and "PRIVATE" not in done.stderr


# --- files that change while it runs

def test_new_ca_by_way_of_both_and_one_that_the_server_is_not_of(world: World) -> None:
    daemon = world.start()
    still_works(world.rig, 1, 2)
    new = Authority(world.home / "pki2", "ca2")
    world.files.trust(world.ca, new)
    daemon.wait_log(RENEWED)
    world.renew_server(new, days=1)
    world.rig.dataplane.restart()
    still_works(world.rig, 1, 2, 3)
    wait_until(lambda: 0 < expires_in(daemon, "server", world.rig.dataplane.url) <= DAY, 20, "the new server certificate in the metric")
    world.files.trust(new)
    wait_until(lambda: renewals(daemon) == 2, 20, "the second renewal")
    still_works(world.rig, 1)
    assert KEPT not in daemon.log()
    # What was connected under the old CA is not used for what is asked under the new one.
    world.files.trust(world.people)
    wait_until(lambda: renewals(daemon) == 3, 20, "the third renewal")
    daemon.wait_not_ready("certificate")
    asked = len(world.asked())
    world.rig.pods(1, 2)
    daemon.wait_log("level=(warn|error) .*(self.signed certificate|unable to get local issuer)")
    assert len(world.asked()) <= asked, "a request went out to a server that is not trusted any more"
    world.files.trust(new)
    world.rig.wait_servers(1, 2, timeout=40)


def test_broken_files_keep_the_last_in_use_and_new_ones_come_one_after_the_other(world: World) -> None:
    daemon = world.start()
    still_works(world.rig, 1, 2)
    two = world.people.client("two", days=1)
    world.files.put(world.files.cert, two.certificate.read_text()[:200])
    daemon.wait_log(f"level=warn .*{KEPT}.*HAPROXY_DATAPLANE_CERT")
    world.rig.dataplane.restart()  # so that there are new connections
    still_works(world.rig, 1)
    assert {r["client"] for r in world.asked()} == {"one"} and daemon.log().count(KEPT) == 1
    world.files.put(world.files.cert, two.certificate.read_text())
    daemon.wait_log(f"level=warn .*{KEPT}.*HAPROXY_DATAPLANE_KEY_FILE {re.escape(str(world.files.key))}.*does not belong")
    before = len(world.asked())
    still_works(world.rig, 1, 2)
    assert {r["client"] for r in world.asked()[before:]} == {"one"} and renewals(daemon) == 0
    world.files.put(world.files.key, two.key.read_text())
    world.asks_as("two")
    before = len(world.asked())
    still_works(world.rig, 1)
    assert {r["client"] for r in world.asked()[before:]} == {"two"}, "the old connections are not used any more"
    assert 0 < expires_in(daemon, "client", world.rig.dataplane.url) <= DAY
    assert renewals(daemon) == 1 and daemon.log().count(KEPT) == 2


# --- Kubernetes

class KubeWorld:
    """A kube-apiserver that knows its users by their certificates alone."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.ca, self.people = Authority(home / "pki"), Authority(home / "people", "people")
        self.server, self.client_ca = Pair(home / "server.crt", home / "server.key"), home / "clients.crt"
        self.serve(self.ca, self.people)
        self.files = Files(home / "files")
        self.files.trust(self.ca)
        self.files.be(self.people.client("alice"))
        self.rig = Rig(home, tls=(self.server.certificate, self.server.key), client_ca=self.client_ca)

    def serve(self, ca: Authority, people: Authority) -> None:
        """From the double's next start on."""
        made = ca.server()
        shutil.copy(made.certificate, self.server.certificate)
        shutil.copy(made.key, self.server.key)
        shutil.copy(people.certificate, self.client_ca)

    def start(self) -> Daemon:
        kubeconfig = self.rig.kube.kubeconfig(
            self.home / "by-certificate", cluster={"certificate-authority": "files/ca.crt"},
            user={"client-certificate": "files/tls.crt", "client-key": "files/tls.key"})
        return self.rig.start(KUBECONFIG=str(kubeconfig))

    def watches(self) -> set[int]:
        return {entry["n"] for entry in self.rig.kube.open_watches()}

    def all_watches(self, but: frozenset[int] | set[int] = frozenset()) -> set[int]:
        """Nodes, Service and slices, once each is watched, by others than these."""
        wait_until(lambda: len(self.watches() - but) == 3, 30, "three watches")
        return self.watches() - but


def test_watches_live_through_it_and_the_next_ones_use_it(tmp_path: pathlib.Path) -> None:
    world = KubeWorld(tmp_path)
    with world.rig as rig:
        daemon = world.start()
        still_works(rig, 1, 2)
        for certificate in ("ca", "client", "server"):
            assert DAY < expires_in(daemon, certificate, "kubernetes") <= 2 * DAY, certificate
        watches = world.all_watches()
        world.files.put(world.files.key, "rubbish")
        daemon.metrics()
        daemon.wait_log(f"level=warn .*{KEPT}.*client key .*no PEM private key")
        still_works(rig, 1)
        rig.kube.disconnect()  # so that all of them begin anew, with what was in use before
        watches = world.all_watches(but=watches)
        ca2, people2 = Authority(tmp_path / "pki2", "ca2"), Authority(tmp_path / "people2", "people2")
        world.files.trust(world.ca, ca2)
        world.files.be(people2.client("bob", days=1))
        wait_until(lambda: daemon.metrics() and RENEWED in daemon.log(), 20, "the renewal")
        assert 0 < expires_in(daemon, "client", "kubernetes") <= DAY
        still_works(rig, 1, 2, 3)
        assert world.watches() == watches, "a renewal drops no watch"
        world.serve(ca2, people2)
        rig.kube.restart()
        still_works(rig, 1)
        assert world.watches()


def test_kubernetes_by_another_name(tmp_path: pathlib.Path) -> None:
    ca = Authority(tmp_path / "pki")
    server = ca.server(alternatives="IP:::1")
    with Rig(tmp_path, tls=(server.certificate, server.key), ca=ca.certificate, token="t") as rig:
        plain = rig.kube.kubeconfig(tmp_path / "plain")
        daemon = rig.start(KUBECONFIG=str(plain))
        daemon.wait_log("level=(warn|error) .*TLS: .*127.0.0.1")
        daemon.stop()
        named = rig.kube.kubeconfig(tmp_path / "named", cluster={"tls-server-name": "::1"})
        rig.start(KUBECONFIG=str(named))
        still_works(rig, 1, 2)
        assert {r["headers"]["host"] for r in rig.kube.requests(verb="watch")} == {f"127.0.0.1:{rig.kube.port}"}


# --- nothing below TLS 1.2

# Debian's own settings of OpenSSL forbid the old versions already; with these it is up to the daemon alone.
LAX = """\
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = lax
[lax]
MinProtocol = TLSv1
CipherString = DEFAULT:@SECLEVEL=0
"""


class OldServer:
    """Speaks TLS 1.1 at most, and counts who got through its handshake."""

    def __init__(self, pair: Pair):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.set_ciphers("DEFAULT:@SECLEVEL=0")
        self._context.minimum_version = ssl.TLSVersion.TLSv1
        self._context.maximum_version = ssl.TLSVersion.TLSv1_1
        self._context.load_cert_chain(pair.certificate, pair.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.refused: list[str] = []
        self.shaken: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.settimeout(10)
                try:
                    with self._context.wrap_socket(connection, server_side=True) as shaken:
                        self.shaken.append(str(shaken.version()))
                        shaken.recv(4096)
                except OSError as e:
                    self.refused.append(str(e))

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def old_server(tmp_path: pathlib.Path) -> Iterator[tuple[OldServer, Authority]]:
    ca = Authority(tmp_path / "old-pki")
    (tmp_path / "lax.cnf").write_text(LAX)
    server = OldServer(ca.server())
    context = ssl.create_default_context(cafile=str(ca.certificate))
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain, \
            context.wrap_socket(plain, server_hostname="127.0.0.1") as shaken:
        assert shaken.version() == "TLSv1.1", "a client that is less strict gets through: the server works"
    wait_until(lambda: server.shaken == ["TLSv1.1"], 10, "the server to have seen it")
    yield server, ca
    server.close()


def test_below_tls_1_2_is_refused(rig: Rig, tmp_path: pathlib.Path, old_server: tuple[OldServer, Authority]) -> None:
    server, ca = old_server
    url, lax = f"https://127.0.0.1:{server.port}", {"OPENSSL_CONF": str(tmp_path / "lax.cnf")}
    kubeconfig = rig.kube.kubeconfig(tmp_path / "old", ca=ca.certificate, cluster={"server": url})
    daemon = rig.start(HAPROXY_DATAPLANE_URL=url, HAPROXY_DATAPLANE_CA_FILE=str(ca.certificate), KUBECONFIG=str(kubeconfig), **lax)
    for of in ("/api", "/services/haproxy|:[0-9]+/v"):
        daemon.wait_log(f"({of}).*no TLS connection.*(protocol version|unsupported protocol)")
    assert server.refused and len(server.shaken) == 1

"""Files beside a haproxy.cfg: stored before it refers to them, gone after, never a request that misses one."""

from __future__ import annotations

import pathlib
import socket
import ssl
import threading

import pytest

from tests.harness.certificates import Pair, self_signed
from tests.harness.haproxy import DataPlane
from tests.harness.local import LocalFiles
from tests.harness.process import wait_until

from .sites import Sites
from .test_configuration import applied

PLACES = {"maps": "maps", "certs": "ssl_certificates", "files": "general"}
# Beside haproxy.cfg, where there is no Data Plane API.
FOLDERS = {"maps": "maps", "certs": "ssl", "files": "general"}
LIST = "haproxy-k8s-sync.files"


def stored(plane: DataPlane, folder: str) -> dict[str, str]:
    """Name -> path, but for the daemon's own list."""
    if isinstance(plane, LocalFiles):
        beside = plane.config.parent / FOLDERS[folder]
        return {path.name: str(path) for path in beside.glob("[!.]*") if path.name != LIST}
    answer = plane.get(f"/storage/{PLACES[folder]}")
    assert answer.status == 200, answer.text
    return {found["storage_name"]: found["file"] for found in answer.json() if found["storage_name"] != LIST}


def pem(*pairs: Pair) -> str:
    """The first with its key, then the certificates of the others."""
    return pairs[0].certificate.read_text() + pairs[0].key.read_text() + "".join(p.certificate.read_text() for p in pairs[1:])


class Files:
    """A daemon's folder, and what the frontends of its HAProxy say."""

    def __init__(self, sites: Sites):
        self.sites, self.haproxy, self.plane = sites, *sites.list[0]
        self.dir = sites.home / "source" / "d"
        self.seen = 0
        for folder in PLACES:
            (self.dir / folder).mkdir(parents=True)
        # Another client's, which shows where files are stored.
        self.folders = {folder: self._foreign(folder) for folder in ("maps", "files")}
        self.folders["certs"] = self.folders["maps"].parent / "ssl"

    def _foreign(self, folder: str) -> pathlib.Path:
        name = "foreign.map" if folder == "maps" else "foreign.txt"
        if isinstance(self.plane, LocalFiles):
            beside = self.plane.config.parent / FOLDERS[folder]
            beside.mkdir()
            (beside / name).write_text("a b\n")
            return beside
        body = ('--cut\r\nContent-Disposition: form-data; name="file_upload"; filename="' + name + '"\r\n'
                "Content-Type: application/octet-stream\r\n\r\na b\n\r\n--cut--\r\n")
        answer = self.plane.post(f"/storage/{PLACES[folder]}", body, content_type="multipart/form-data; boundary=cut")
        assert answer.status == 201, answer.text
        return pathlib.Path(answer.json()["file"]).parent

    def put(self, name: str, text: str) -> None:
        beside = self.dir / ".next"
        beside.write_text(text)
        beside.replace(self.dir / name)

    def text(self, backends: list[str], more: str = "") -> str:
        parts = [f"backend {name}\n  mode http\n  http-request return status {200 + int(name[1:])}\n" for name in backends]
        return (self.sites.text() + f"\nfrontend web\n  mode http\n  bind unix@{self.sites.home}/web.sock\n"
                f"  use_backend %[req.hdr(host),map({self.folders['maps']}/hosts.map)]\n  default_backend rest\n{more}\n"
                "backend rest\n  mode http\n  http-request return status 404\n\n" + "\n".join(parts))

    def start(self) -> None:
        self.daemon = self.sites.start(CONFIG_FILES_DIR=str(self.dir))
        self.applied()

    def applied(self) -> None:
        applied(self.daemon, self.seen)
        self.daemon.wait_ready()
        self.seen = len(self.daemon.log())

    def ask(self, host: str) -> int:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(f"{self.sites.home}/web.sock")
            s.sendall(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            return int(s.recv(4096).split()[1])

    def settled(self, **names: set[str]) -> None:
        wait_until(lambda: all(set(stored(self.plane, folder)) == want for folder, want in names.items()), 10, str(names))

    def all_run(self) -> bool:
        """What was put there is known to run: the daemon's own list of it has said so, with its last write."""
        own = self.folders["files"] / "haproxy-k8s-sync.files"
        return not own.exists() or " - " not in own.read_text()

    def writes(self) -> list[str]:
        return [line for line in self.plane.access_log().splitlines()
                if "/storage/" in line and "GET" not in line and "foreign" not in line]


@pytest.fixture
def files(sites: Sites) -> Files:
    return Files(sites)


@pytest.mark.every_combination
def test_a_map_that_shrinks_together_with_its_reference(files: Files) -> None:
    files.put("maps/hosts.map", "one.example b1\ntwo.example b2\n")
    files.sites.put(files.text(["b1", "b2"]))
    files.start()
    wait_until(lambda: files.ask("two.example") == 202, 10)
    assert files.ask("one.example") == 201 and files.ask("three.example") == 404
    before = files.haproxy.reloads()

    wrong: list[int] = []
    over = threading.Event()

    def load() -> None:  # what stays is never missed
        while not over.is_set():
            status = files.ask("one.example")
            if status != 201:
                wrong.append(status)

    asking = threading.Thread(target=load)
    asking.start()
    try:
        files.put("maps/hosts.map", "one.example b1\nthree.example b3\n")
        files.sites.put(files.text(["b1", "b3"]))
        wait_until(lambda: files.ask("three.example") == 203 and files.ask("two.example") == 404, 20)
    finally:
        over.set()
        asking.join()
    files.settled(maps={"hosts.map", "foreign.map"}, files={"foreign.txt"})
    files.applied()
    assert not wrong and files.haproxy.reloads() == before + 1, "one reload in all"
    assert pathlib.Path(stored(files.plane, "maps")["hosts.map"]).read_text() == "one.example b1\nthree.example b3\n"


@pytest.mark.every_combination
def test_a_dotted_name(files: Files) -> None:
    files.put("maps/hosts.map", "one.example b1\n")
    files.put("files/sorry.page.http", "HTTP/1.0 503 x\r\n\r\nsorry")
    reference = f"  errorfile 503 {files.folders['files']}/sorry_page.http\n"
    files.sites.put(files.text(["b1"], reference))
    files.start()
    files.settled(files={"foreign.txt", "sorry_page.http"})
    wait_until(files.all_run, 10, "the last write")
    version, seen = files.plane.version(), len(files.writes())

    files.daemon.restart()  # it knows what it put there, and what runs
    files.seen = 0
    files.daemon.wait_log('msg="configuration unchanged"', 20)
    files.daemon.wait_ready()
    assert files.plane.version() == version and len(files.writes()) == seen

    files.sites.put(files.text(["b1"]))  # what is gone from the configuration, but still in the folder
    files.seen = len(files.daemon.log())
    files.applied()
    files.settled(files={"foreign.txt", "sorry_page.http"})
    (files.dir / "files/sorry.page.http").unlink()
    files.settled(files={"foreign.txt"}, maps={"hosts.map", "foreign.map"})


def tls(files: Files, path: str) -> str:
    return f"  bind unix@{files.sites.home}/tls.sock ssl crt {path}\n"


def shown(files: Files) -> str:
    """The certificate of the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(f"{files.sites.home}/tls.sock")
        with context.wrap_socket(s) as secure:
            return ssl.DER_cert_to_PEM_cert(secure.getpeercert(True) or b"")


@pytest.mark.every_combination
def test_an_ed25519_certificate(files: Files) -> None:
    """ssl_certificates refuses it: it is a general file."""
    pair = self_signed(files.sites.home, "www.example.com", "ed25519")
    files.put("maps/hosts.map", "one.example b1\n")
    files.put("certs/www.example.com.pem", pem(pair))
    files.sites.put(files.text(["b1"], tls(files, f"{files.folders['files']}/www_example_com.pem")))
    files.start()
    assert shown(files) == pair.certificate.read_text()
    files.settled(files={"foreign.txt", "www_example_com.pem"}, certs=set())


@pytest.mark.every_combination
def test_rotation_of_a_chain_under_the_same_leaf(files: Files) -> None:
    leaf, first, second = (self_signed(files.sites.home, name) for name in ("www.example.com", "ca-1", "ca-2"))
    path = f"{files.folders['certs']}/www_example_com.pem"
    files.put("maps/hosts.map", "one.example b1\n")
    files.put("certs/www.example.com.pem", pem(leaf, first))
    files.sites.put(files.text(["b1"], tls(files, path)))
    files.start()
    assert "/CN=ca-1" in files.haproxy.runtime(f"show ssl cert {path}")
    before, seen = files.haproxy.reloads(), len(files.daemon.log())
    files.put("certs/www.example.com.pem", pem(leaf, second))
    files.applied()
    wait_until(lambda: "/CN=ca-2" in files.haproxy.runtime(f"show ssl cert {path}"), 10)
    told = "files changed in the running HAProxy; no reload" in files.daemon.log()[seen:]
    assert shown(files) == leaf.certificate.read_text() and files.haproxy.reloads() == before + (not told)

    files.daemon.stop()
    files.put("certs/www.example.com.pem", pem(leaf, first))  # while it is not there
    files.daemon.start()
    wait_until(lambda: "/CN=ca-1" in files.haproxy.runtime(f"show ssl cert {path}"), 20)


def test_a_rejected_configuration_puts_its_files_back(files: Files) -> None:
    leaf, other = (self_signed(files.sites.home, name) for name in ("www.example.com", "other.example.com"))
    path = pathlib.Path(f"{files.folders['certs']}/www_example_com.pem")
    files.put("maps/hosts.map", "one.example b1\n")
    files.put("certs/www.example.com.pem", pem(leaf))
    files.sites.put(files.text(["b1"], tls(files, str(path))))
    files.start()
    files.settled(certs={"www_example_com.pem"})
    files.put("certs/www.example.com.pem", pem(other))
    files.put("maps/hosts.map", "one.example b2\n")
    files.put("files/new.http", "HTTP/1.0 503 Sorry\r\n\r\n")
    files.sites.put(files.text(["b2"], tls(files, str(path)) + "  bogus\n"))
    files.daemon.wait_not_ready("rejected: line .*bogus")
    wait_until(lambda: path.read_text() == pem(leaf), 10)
    wait_until(lambda: pathlib.Path(stored(files.plane, "maps")["hosts.map"]).read_text() == "one.example b1\n", 10)
    files.settled(files={"foreign.txt"})
    files.seen = len(files.daemon.log())
    files.sites.put(files.text(["b2"], tls(files, str(path))))
    files.applied()
    assert shown(files) == other.certificate.read_text() and files.ask("one.example") == 202

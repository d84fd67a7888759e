"""Nothing goes where nobody sent it: not where an answer redirects, and to a proxy only when it was asked for."""

from __future__ import annotations

import pathlib
import re
import select
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.harness.certificates import Authority
from tests.harness.process import wait_until

from .rig import Rig

SECRETS = re.compile(rb"authorization|Bearer|Basic|adminpwd", re.I)


class Place:
    """Another program listens, takes what comes, and as a proxy makes tunnels (RFC 9110, 9.3.6: CONNECT)."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.heads: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head and (got := client.recv(65536)):
                head += got
            self.heads.append(head)
            found = re.match(rb"CONNECT ([\d.]+):(\d+) ", head)
            if not found:
                client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            with socket.create_connection((found[1].decode(), int(found[2]))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self._tunnel(client, server)

    @staticmethod
    def _tunnel(client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        while True:
            for ready in select.select(list(other), [], [])[0]:
                try:
                    got = ready.recv(65536)
                    other[ready].sendall(got)
                except OSError:
                    return
                if not got:
                    return


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


@pytest.fixture
def tls(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """Both sides by https, Kubernetes by a token."""
    ca = Authority(tmp_path / "pki")
    server = ca.server()
    made = Rig(tmp_path, tls=(server.certificate, server.key), ca=ca.certificate, token="kube-token")
    made.dataplane.serve_tls(server)
    with made:
        yield made


def variables(place: Place) -> dict[str, str]:
    return {name: place.url for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "HTTP_PROXY")}


# --- redirects

@pytest.mark.parametrize("status", [301, 307])
def test_redirect_by_the_data_plane_is_not_followed(rig: Rig, place: Place, status: int) -> None:
    rig.dataplane.fault({"action": "answer", "method": "GET", "path": "/configuration/backends", "status": status, "body": "",
                         "headers": {"Location": f"{place.url}/v3"}})
    rig.start(RESYNC_PERIOD="1s")
    rig.daemon.wait_log(f"status={status} ")
    rig.dataplane.clear_faults()
    rig.wait_in_sync()
    assert place.heads == []


def test_redirect_by_kubernetes_is_not_followed(rig: Rig, place: Place) -> None:
    rig.kube.fault(verb="watch", resource="nodes", redirect=f"{place.url}/elsewhere", times=2)
    rig.start()
    rig.daemon.wait_log(r"redirect|30\d")
    rig.wait_in_sync(timeout=40)
    assert place.heads == []


# --- proxies

def test_proxy_variables_are_nobodys_business(rig: Rig, place: Place) -> None:
    rig.start(**variables(place))
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    assert place.heads == []


def test_the_proxy_of_the_kubeconfig_is_used_and_sees_no_secret(tls: Rig, place: Place) -> None:
    by_proxy = tls.kube.kubeconfig(tls.home / "by-proxy", cluster={"proxy-url": place.url})
    tls.start(KUBECONFIG=str(by_proxy), HAPROXY_DATAPLANE_CA_FILE=str(tls.kube.ca), RESYNC_PERIOD="1s", **variables(place))
    tls.wait_in_sync()
    tls.pods(1, 2)
    tls.wait_servers(1, 2)
    targets = {found[1] for head in place.heads if (found := re.match(rb"CONNECT (\S+) ", head))}
    assert targets == {f"127.0.0.1:{tls.kube.port}".encode()}, "the Data Plane API is asked directly"
    assert not [head for head in place.heads if SECRETS.search(head)]
    tls.wait_in_sync()


def test_http_goes_to_its_proxy(rig: Rig, place: Place) -> None:
    rig.start(KUBECONFIG=str(rig.kube.kubeconfig(rig.home / "by-proxy", cluster={"proxy-url": place.url})))
    wait_until(lambda: any(head.startswith(b"GET http://127.0.0.1:") for head in place.heads), 20, "a request by way of the proxy")

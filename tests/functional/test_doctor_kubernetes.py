"""`doctor` before a Kubernetes API that is none, or does not give its objects: never "all is there"."""

from __future__ import annotations

import http.server
import pathlib
import threading
from collections.abc import Iterator

import pytest

from tests.harness.kube import write_kubeconfig

from .doctor import lines, look
from .rig import BY_NODE_PORT, Rig

TOKEN = "eyJhbGciOi.JSUzI1NiJ9.c2lnbmVk"
Answer = tuple[int, str, str]


class Stranger(http.server.ThreadingHTTPServer):
    """Answers everything in the same way; {request} stands for what was asked, headers and all."""

    def __init__(self, status: int, type_: str, body: str):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                text = body.replace("{request}", f"{self.requestline}\n{self.headers}").encode()
                self.send_response(status)
                self.send_header("Content-Type", type_)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig")) as made:
        made.service()
        yield made


STRANGERS: dict[str, tuple[Answer, str]] = {
    "a page": ((200, "text/html", "<html>log in</html>"), "the answer to /version has no version"),
    "what repeats the request": ((200, "text/plain", "{request}"), "the answer to /version has no version"),
    "JSON of something else": ((200, "application/json", "[{}]"), "the answer to /version has no version"),
    "a redirection": ((302, "text/html", ""), "HTTP 302"),
    "an error that repeats the request": ((500, "text/plain", "{request}"), "Authorization: Bearer ***"),
    "nothing": ((404, "text/plain", "404 page not found"), "HTTP 404: 404 page not found"),
}


@pytest.mark.parametrize("answer, text", STRANGERS.values(), ids=STRANGERS)
def test_no_kubernetes_api(rig: Rig, tmp_path: pathlib.Path, answer: Answer, text: str) -> None:
    with Stranger(*answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config = write_kubeconfig(tmp_path / "kubeconfig", server.url, token=TOKEN)
        found = look(rig, KUBECONFIG=str(config), **BY_NODE_PORT)
        server.shutdown()
    assert found.status == 1 and found.failed() == ["kubernetes.version"]
    check = found.says("kubernetes.version", "fail", "no Kubernetes API answers at this URL: ")
    assert text in check["found"] and TOKEN not in found.text and TOKEN not in str(found.checks)
    assert lines(check) == [f"curl -sk -i -m 5 {server.url}/version | head -n 20"]
    assert found.one("kubernetes.credentials")["found"] == "needs a Kubernetes API"
    assert {check["status"] for check in found.all("service.object")} == {"skip"}


def test_objects_that_do_not_come(rig: Rig) -> None:
    fault = rig.kube.fault(resource="nodes", times=0, stall=True)
    try:
        found = look(rig, "--timeout", "2s", **BY_NODE_PORT)
    finally:
        rig.kube.clear_faults()
    assert fault and found.status == 1 and found.failed() == ["kubernetes.objects"]
    found.says("kubernetes.objects", "fail", "not all were received: watch nodes: not synced")
    assert found.one("service.nodes")["status"] == "skip"

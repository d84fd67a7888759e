"""The shipped template set `ingress` over objects of a test: rendered by the program, run by a real HAProxy, asked by HTTP."""

from __future__ import annotations

import base64
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.harness.certificates import Pair
from tests.harness.daemon import quick_program
from tests.harness.haproxy import haproxy_binary
from tests.harness.process import ROOT, Process, free_port, port_open, wait_until


SET = ROOT / "templates" / "ingress"
CONTROLLER = "haproxy-k8s-sync.io/ingress"
Object = dict[str, Any]
# What a test wants to know of an answer: the backend that it came from.
SEEN = "  http-after-response set-header x-backend %[var(txn.backend)]\n"
BACKEND = "  http-request set-var(txn.backend) be_name\n"


def metadata(name: str, namespace: str = "default", **more: Any) -> Object:
    return {"name": name, "namespace": namespace, **more}


def ingress_class(name: str = "haproxy", controller: str = CONTROLLER, default: bool = True) -> Object:
    notes = {"ingressclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name, "annotations": notes},
            "spec": {"controller": controller}}


def backend(service: str, port: int | str = 80) -> Object:
    return {"service": {"name": service, "port": {"number": port} if isinstance(port, int) else {"name": port}}}


def rule(host: str | None, *paths: tuple[str, str, str]) -> Object:
    """Each (pathType, path, Service)."""
    listed = [{"pathType": kind, "path": path, "backend": backend(to)} for kind, path, to in paths]
    return {**({"host": host} if host is not None else {}), "http": {"paths": listed}}


def ingress(name: str, *rules: Object, namespace: str = "default", created: str = "2026-01-01T00:00:00Z",
            notes: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": metadata(name, namespace, creationTimestamp=created, annotations=notes or {}),
            "spec": {**({"rules": list(rules)} if rules else {}), **spec}}


def service(name: str, namespace: str = "default", ports: list[Object] | None = None, **spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name, namespace),
            "spec": {"ports": ports or [{"name": "http", "port": 80}], **spec}}


def endpoint(address: str, **conditions: bool | None) -> Object:
    return {"addresses": [address], "conditions": conditions}


def endpoint_slice(of: str, *endpoints: Object, port: int = 8080, port_name: str | None = "http", name: str = "",
                   family: str = "IPv4", namespace: str = "default") -> Object:
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
            "metadata": metadata(name or f"{of}-1", namespace, labels={"kubernetes.io/service-name": of}),
            "ports": [{**({"name": port_name} if port_name is not None else {}), "port": port}], "endpoints": list(endpoints)}


def secret(name: str, pair: Pair, namespace: str = "default") -> Object:
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata(name, namespace),
            "data": {key: base64.b64encode(path.read_bytes()).decode() for key, path in data.items()}}


class Rendered:
    def __init__(self, out: str, said: str):
        parts = re.split(r"^### (.+)\n", out, flags=re.M)
        self.files = {name: text.removesuffix("\n") if i + 1 < len(parts) // 2 else text
                      for i, (name, text) in enumerate(zip(parts[1::2], parts[2::2], strict=True))}
        self.config = self.files.pop("haproxy.cfg")
        self.events = said

    def servers(self, name: str) -> list[str]:
        section = re.search(rf"^backend {re.escape(name)}\n((?:[ #].*\n)*)", self.config, re.M)
        assert section, f"no backend {name} in {self.config}"
        return re.findall(r"^  server (.+)$", section[1], re.M)

    def routes(self) -> dict[str, str]:
        lines = (self.files["maps/exact.map"] + "\n" + self.files["maps/prefix.map"]).split("\n")
        return dict(line.split(" ", 1) for line in lines if line)


def make(directory: pathlib.Path, objects: dict[str, list[Object]], without: tuple[str, ...] = (), **extra: Any) -> pathlib.Path:
    """The set as a user has it: copied, with `extra` of his own, and without these watches."""
    own = directory / "set"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(SET, own)
    content = yaml.safe_load((own / "set.yaml").read_text())
    content["extra"].update(extra)
    content["watch"] = {name: watch for name, watch in content["watch"].items() if name not in without}
    content["tests"] = {"_global": {"fixtures": {"classes": [ingress_class()], **objects}}}
    (own / "set.yaml").write_text(json.dumps(content))
    return own


def render(directory: pathlib.Path, objects: dict[str, list[Object]], without: tuple[str, ...] = (), **extra: Any) -> Rendered:
    own = make(directory, objects, without, **extra)
    done = subprocess.run([quick_program(), "template", "render", own], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Rendered(done.stdout, done.stderr)


class Answer:
    def __init__(self, head: str, body: str):
        self.status = int(head.split(" ")[1])
        self.headers = {k.lower(): v for k, v in re.findall(r"^([^:\r\n]+): ([^\r\n]*)", head, re.M)}
        self.body = body

    @property
    def backend(self) -> str:
        return self.headers.get("x-backend", "")


def client() -> ssl.SSLContext:
    """That trusts every client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def certificate_for(port: int, name: str | None) -> bytes:
    """Shown to who asks for that name; DER."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw, client().wrap_socket(raw, server_hostname=name) as sock:
        return sock.getpeercert(binary_form=True) or b""


def ask(port: int, host: str | None, path: str = "/", tls: bool = False) -> tuple[Answer, bytes]:
    """By a request of its own making: no client changes its path or its host. With the certificate, DER."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw, (client().wrap_socket(raw, server_hostname=host) if tls else raw) as sock:
        head = f"GET {path} HTTP/1.1\r\n" + (f"Host: {host}\r\n" if host is not None else "") + "Connection: close\r\n\r\n"
        sock.sendall(head.encode())
        received = b""
        while part := sock.recv(65536):
            received += part
        shown = sock.getpeercert(binary_form=True) if isinstance(sock, ssl.SSLSocket) else None
    head, _, body = received.decode().partition("\r\n\r\n")
    return Answer(head, body), shown or b""


class Proxy:
    """A HAProxy that runs what was rendered."""

    def __init__(self, directory: pathlib.Path, objects: dict[str, list[Object]], **extra: Any):
        self.directory = directory
        self.port, self.tls_port = free_port(), free_port()
        self.extra = {"http_bind": [f"127.0.0.1:{self.port}"], "https_bind": [f"127.0.0.1:{self.tls_port}"],
                      "stats_socket": f"{directory}/h.sock level admin", "server_options": "no-check", **extra}
        self.rendered = render(directory, objects, **self.extra)
        for name, text in self.rendered.files.items():
            path = directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(self._here(text))
        self.config = directory / "haproxy.cfg"
        text = self._here(self.rendered.config).replace("  default_backend no-route\n", f"  default_backend no-route\n{SEEN}")
        self.config.write_text(re.sub(r"^(backend .+\n)", rf"\1{BACKEND}", text, flags=re.M))
        self.process = Process([haproxy_binary() or "", "-db", "-f", self.config], directory / "haproxy.log")
        wait_until(lambda: not self.process.alive or port_open(self.port), 20, "HAProxy to listen")
        assert self.process.alive, self.process.log()

    def _here(self, text: str) -> str:
        for theirs, own in (("maps", "maps"), ("ssl", "certificates"), ("general", "files")):
            text = text.replace(f"/etc/haproxy/{theirs}/", f"{self.directory}/{own}/")
        return text

    def get(self, host: str | None, path: str = "/", tls: bool = False) -> Answer:
        return ask(self.tls_port if tls else self.port, host, path, tls)[0]

    def certificate(self, name: str | None) -> bytes:
        return certificate_for(self.tls_port, name)


@contextmanager
def running(directory: pathlib.Path, objects: dict[str, list[Object]], **extra: Any) -> Iterator[Proxy]:
    made = Proxy(directory, objects, **extra)
    try:
        yield made
    finally:
        made.process.stop()


@contextmanager
def web(name: str) -> Iterator[int]:
    """A server that says who it is."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_: object) -> None:
            pass

    port = free_port()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def haproxy_accepts(directory: pathlib.Path, rendered: Rendered) -> str:
    """"" or what HAProxy says against it."""
    for name, text in rendered.files.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    text = rendered.config
    for theirs, own in (("maps", "maps"), ("ssl", "certificates"), ("general", "files")):
        text = text.replace(f"/etc/haproxy/{theirs}/", f"{directory}/{own}/")
    for name in rendered.files:
        path = directory / name
        path.write_text(path.read_text().replace("/etc/haproxy/ssl/", f"{directory}/certificates/"))
    (directory / "check.cfg").write_text(text)
    done = subprocess.run([haproxy_binary() or "", "-c", "-f", directory / "check.cfg"], capture_output=True, text=True,
                          check=False, env={**os.environ, "TZ": "UTC"})
    return "" if done.returncode == 0 else done.stderr

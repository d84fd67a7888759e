"""A real etcd on loopback, plain or with TLS and authentication, and what a test writes and reads there by its JSON gateway."""

from __future__ import annotations

import base64
import json
import pathlib
import ssl
import subprocess
from typing import Any

from . import http
from .certificates import Authority, Pair
from .process import Process, free_port, wait_until


ROLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples" / "etcd" / "roles.sh"
ROLES_PATH = "/haproxy/east"


def _text(data: str) -> str:
    return base64.b64encode(data.encode()).decode()


def _end(prefix: str) -> str:
    """Behind the last key that begins so."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


class Tls:
    """An authority, a server's certificate, and a client's that the server insists on."""

    def __init__(self, home: pathlib.Path):
        self.authority = Authority(home)
        self.server = self.authority.peer("server")
        # With authentication on, the gateway refuses one that has a common name.
        self.client = self.authority.client("client", subject="/O=load balancers")

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        context.load_cert_chain(self.client.certificate, self.client.key)
        return context


class Etcd:
    def __init__(self, program: pathlib.Path, home: pathlib.Path, tls: Tls | None = None):
        self.program, self.home, self.tls = program, home, tls
        self.port, self.peer_port = free_port(), free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.process: Process | None = None
        self.token, self.user = "", ("", "")

    # --- life

    def start(self) -> None:
        self.launch()
        wait_until(self.healthy, 60, f"etcd healthy, see {self.home}/etcd.log")

    def launch(self) -> None:
        """Does not wait until it is healthy."""
        peer = f"http://127.0.0.1:{self.peer_port}"
        more: list[str | pathlib.Path] = []
        if self.tls:
            more = ["--cert-file", self.tls.server.certificate, "--key-file", self.tls.server.key, "--client-cert-auth",
                    "--trusted-ca-file", self.tls.authority.certificate]
        self.process = Process(
            [self.program, "--data-dir", self.home / "etcd", "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"default={peer}", "--log-level", "warn", *more],
            self.home / "etcd.log", env={"HOME": str(self.home)}, name="etcd")

    def healthy(self) -> bool:
        assert self.process and self.process.alive, f"etcd has ended, see {self.home}/etcd.log"
        return "true" in http.request(self.url, "GET", "/health", tls=self._context(), timeout=2).text

    def stop(self) -> None:
        if self.process:
            self.process.stop()
            self.process = None

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process = None

    def __enter__(self) -> "Etcd":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- what lies there

    def call(self, path: str, **body: Any) -> Any:
        headers = {"Authorization": self.token} if self.token else {}
        answer = http.request(self.url, "POST", f"/v3/{path}", json.dumps(body), headers=headers, tls=self._context())
        if answer.status == 401 and self.token and path != "auth/authenticate":  # it was started anew: it knows no token of before
            self.log_in(*self.user)
            return self.call(path, **body)
        assert answer.status == 200, f"{path}: {answer.status} {answer.text}"
        return json.loads(answer.text)

    def _context(self) -> ssl.SSLContext | None:
        return self.tls.context() if self.tls else None

    def all(self, prefix: str) -> dict[str, str]:
        kvs = self.call("kv/range", key=_text(prefix), range_end=_text(_end(prefix))).get("kvs", [])
        return {base64.b64decode(kv["key"]).decode(): base64.b64decode(kv.get("value", "")).decode() for kv in kvs}

    def get(self, key: str) -> str | None:
        kvs = self.call("kv/range", key=_text(key)).get("kvs", [])
        return base64.b64decode(kvs[0].get("value", "")).decode() if kvs else None

    def put(self, key: str, value: str) -> None:
        self.call("kv/put", key=_text(key), value=_text(value))

    def delete(self, key: str) -> None:
        self.call("kv/deleterange", key=_text(key))

    def revision(self) -> int:
        return int(self.call("kv/range", key=_text("/"))["header"]["revision"])

    def compact(self) -> None:
        """All that there was before now."""
        self.call("kv/compaction", revision=str(self.revision()), physical=True)

    def secure(self, passwords: dict[str, str], path: str = ROLES_PATH) -> None:
        """Authentication on: root, and the users of docs/examples/etcd/roles.sh, by its own commands, for that path."""
        self.call("auth/user/add", name="root", password="root-password")
        self.call("auth/role/add", name="root")
        self.call("auth/user/grant", user="root", role="root")
        for line in ROLES.read_text().replace(ROLES_PATH, path).splitlines():
            match line.split():
                case ["etcdctl", "role", "add", role]:
                    self.call("auth/role/add", name=role)
                case ["etcdctl", "role", "grant-permission", role, *prefix, kind, key] if prefix in ([], ["--prefix=true"]):
                    ends = {"range_end": _text(_end(key))} if prefix else {}
                    self.call("auth/role/grant", name=role, perm={"permType": kind.upper(), "key": _text(key), **ends})
                case ["etcdctl", "user", "add", user]:
                    self.call("auth/user/add", name=user, password=passwords[user])
                case ["etcdctl", "user", "grant-role", user, role]:
                    self.call("auth/user/grant", user=user, role=role)
                case ["etcdctl", *_]:
                    raise AssertionError(f"no such command is known here: {line}")
        self.call("auth/enable")
        self.log_in()

    def log_in(self, user: str = "root", password: str = "root-password") -> None:
        """What is read and written from now on is by that user's rights."""
        self.user = (user, password)
        self.token = ""
        self.token = self.call("auth/authenticate", name=user, password=password)["token"]


def pair_of(tls: Tls | None) -> dict[str, str]:
    """The settings that go with it."""
    if tls is None:
        return {}
    client: Pair = tls.client
    return {"ETCD_CA_FILE": str(tls.authority.certificate), "ETCD_CERT_FILE": str(client.certificate), "ETCD_KEY_FILE": str(client.key)}


def version_of(program: pathlib.Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[2]

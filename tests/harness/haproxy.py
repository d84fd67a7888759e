"""A real HAProxy in master-worker mode, and a Data Plane API (the double or a real one) in front of it."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
from typing import Any

from . import http
from .certificates import Pair
from .nursery import PYTHON, Double
from .process import ROOT, Process, free_port, wait_until

BASE = "/v3/services/haproxy"
# What many a haproxy.cfg here begins with, and what is enough for one without a Data Plane API.
PLAIN = """\
global
  httpclient.ssl.verify none
  stats socket {d}/haproxy.sock mode 600 level admin
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
"""
# Of several that have the same file: what differs is in the environment and the folder that each was started with.
IN_ITS_FOLDER = PLAIN.replace("{d}", "/proc/self/cwd") + """\
userlist dataplaneapi
  user admin insecure-password adminpwd
frontend fe
  bind "127.0.0.1:${SITE_PORT}"
"""
HEAD = """\
global
  httpclient.ssl.verify none
  stats socket {d}/haproxy.sock mode 600 level admin expose-fd listeners

defaults
  mode tcp
  timeout connect 2s
  timeout client 30s
  timeout server 30s

userlist dataplaneapi
  user admin insecure-password adminpwd
"""
AUTH = "admin:adminpwd"


def haproxy_binary() -> str | None:
    """$HAPROXY, else the one on the path or where Debian puts it."""
    found = os.environ.get("HAPROXY") or shutil.which("haproxy")
    return found or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")


@functools.cache
def haproxy_version(binary: str) -> tuple[int, int]:
    said = subprocess.run([binary, "-v"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", said)
    if not found:
        raise AssertionError(f"{binary} -v names no version: {said!r}")
    return int(found[1]), int(found[2])


def real_dataplane_binary() -> str | None:
    """A real Data Plane API: $DATAPLANEAPI, else `dataplaneapi` on the path."""
    return os.environ.get("DATAPLANEAPI") or shutil.which("dataplaneapi")


@functools.cache
def dataplane_version(binary: str) -> str:
    """"" where it was built without one."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v(\d+\.\d+\.\d+)", said)
    return found[1] if found else ""


# The first of each that end what they say to the master socket with a newline, which HAProxy 3 waits for.
SAYS_RELOAD = {(3, 0): 13, (3, 1): 9, (3, 2): 4}


def reloads_by_socket(dataplane: str, haproxy: tuple[int, int]) -> bool:
    """Whether a Data Plane API of that version gets its HAProxy to reload through the master socket."""
    if haproxy < (2, 7):
        return False
    numbers = [int(n) for n in dataplane.split(".")] if dataplane else [9, 9, 9]
    return haproxy < (3, 0) or numbers[2] >= SAYS_RELOAD.get((numbers[0], numbers[1]), 0)


# Its log, requests included, to stdout. Not as options, which 3.4 no longer has.
SETTINGS = """\
config_version: 2
name: test
log_targets:
  - log_to: stdout
    log_level: info
    log_format: text
    log_types: [app, access]
"""


class HAProxy:
    """Started from a template: `{d}` is its folder, `{port}` the port of its frontend, `{fe}` the same."""

    def __init__(self, directory: os.PathLike[str] | str, template: str, binary: str | None = None,
                 values: dict[str, str] | None = None):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.binary = binary or haproxy_binary() or "haproxy"
        self.port = free_port()
        self.config = self.dir / "haproxy.cfg"
        self.pid_file = self.dir / "haproxy.pid"
        self.socket = self.dir / "haproxy.sock"
        self.master_socket = self.dir / "master.sock"
        self.log_file = self.dir / "haproxy.log"
        text = template
        for name, value in {"d": str(self.dir), "fe": str(self.port), "port": str(self.port), **(values or {})}.items():
            text = text.replace("{" + name + "}", value)
        self.config.write_text(text)
        self.files = [self.config]  # that it reads, in their order
        self.options: list[str] = []
        self.process: Process | None = None

    @property
    def can_reload_by_socket(self) -> bool:
        return haproxy_version(self.binary) >= (2, 7)

    def start(self) -> "HAProxy":
        self.process = Process([self.binary, "-W", "-S", f"{self.master_socket},level,admin", "-p", str(self.pid_file), *self.options,
                                *(word for file in self.files for word in ("-f", str(file)))], self.log_file, name="haproxy")
        wait_until(self._up, 10, f"haproxy's stats socket {self.socket}; its log: {self.log_file}")
        return self

    def _up(self) -> bool:
        if self.process and not self.process.alive:
            raise RuntimeError(f"haproxy ended: {self.process.log()}")
        # Not through the master, which may let a question wait for a worker that is not there yet.
        return "Pid:" in self._ask(self.socket, "show info") and bool(self.pid_file.read_text().strip())

    def runtime(self, command: str) -> str:
        """A command to the stats socket; through the master where it is dead, as 3.4 leaves it after a reload that found a port taken."""
        try:
            return self._ask(self.socket, command)
        except ConnectionRefusedError:
            return self._ask(self.master_socket, f"@1 {command}")

    @staticmethod
    def _ask(path: pathlib.Path, command: str) -> str:
        answer = b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(str(path))
            s.sendall(command.encode() + b"\n")
            while chunk := s.recv(65536):
                answer += chunk
        return answer.decode()

    def worker(self) -> int:
        """The pid of the worker that answers now: changes with each reload."""
        return int(re.search(r"^Pid: (\d+)", self.runtime("show info"), re.M)[1])  # type: ignore[index]

    def ask_master(self, command: str) -> str:
        return self._ask(self.master_socket, command)

    def master(self) -> tuple[str, int]:
        """Its pid, and how often it has reloaded. One that has just started executes itself anew first, and does not answer for a moment."""
        def told() -> re.Match[str] | None:
            with contextlib.suppress(OSError):
                return re.search(r"^(\d+)\s+master\s+(\d+)", self.ask_master("show proc; quit"), re.M)
            return None

        found = wait_until(told, 10, "the master's count of reloads")
        return found[1], int(found[2])

    def reloads(self) -> int:
        return self.master()[1]

    def answers_anew(self) -> bool:
        """Whether the worker that answers is one of the latest reload's: for a moment the one before it still does."""
        _, _, workers = self.ask_master("show proc; quit").partition("# workers\n")
        return str(self.worker()) in [line.split()[0] for line in workers.partition("\n#")[0].splitlines() if line.strip()]

    def servers(self, backend: str) -> dict[str, dict[str, str]]:
        """What HAProxy runs with, by server name: the columns of `show servers state`."""
        return {row["srv_name"]: row for row in self.all_servers(backend)}

    def all_servers(self, backend: str = "") -> list[dict[str, str]]:
        lines = self.runtime(f"show servers state {backend}").splitlines()
        names = next((line[2:].split() for line in lines if line.startswith("# ")), [])
        return [dict(zip(names, line.split())) for line in lines[1:] if line and not line.startswith("#")]

    def states(self, backend: str) -> dict[str, str]:
        """Server -> its administrative state: "ready", "drain" or "maint"."""
        return {name: admin_state(int(row["srv_admin_state"])) for name, row in self.servers(backend).items()}

    def reload(self) -> None:
        """As an operator does it: until another worker answers. One that is still about the last one might miss the signal."""
        def is_idle() -> bool:
            with contextlib.suppress(OSError, TypeError):
                return self.answers_anew()
            return False

        wait_until(is_idle, 10, "the end of the reload before")
        before = self.worker()
        os.kill(int(self.pid_file.read_text().split()[0]), signal.SIGUSR2)

        def answers() -> bool:
            with contextlib.suppress(OSError, TypeError):
                return self.worker() != before
            return False

        wait_until(answers, 10, "the worker of a reload")

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> "HAProxy":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def admin_state(bits: int) -> str:
    """The bits of srv_admin_state. 0x04 says only that the line was `disabled` at the last reload: that server may run."""
    return "maint" if bits & 0x23 else "drain" if bits & 0x18 else "ready"


class DataPlane:
    """What a test may do with a Data Plane API, whichever it is."""

    kind = "?"
    play = "?"

    def __init__(self, haproxy: HAProxy, config: os.PathLike[str] | str, directory: os.PathLike[str] | str,
                 reload_delay: float = 1.0):
        self.haproxy = haproxy
        self.config = pathlib.Path(config)
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.reload_delay = reload_delay
        self.auth = AUTH
        self.port = free_port()
        self.host = "127.0.0.1"
        self.url = f"http://127.0.0.1:{self.port}"
        self.control: str | None = None
        self.state = self.dir / "tx"
        self.log_file = self.dir / "dataplane.log"
        self.process: Process | None = None
        self.server: Pair | None = None
        self.client_ca: pathlib.Path | None = None
        self._tls: ssl.SSLContext | None = None

    def serve_tls(self, server: Pair, client_ca: os.PathLike[str] | str | None = None, own: Pair | None = None) -> None:
        """https alone from the next start on; with client_ca for its clients alone, own being the harness's certificate. The files
        are read at each start, whatever they have become by then."""
        self.server, self.client_ca = server, pathlib.Path(client_ca) if client_ca else None
        self.at(self.host, self.port)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE  # it is not the one that is tested
        if own:
            self._tls.load_cert_chain(own.certificate, own.key)

    def at(self, host: str, port: int) -> None:
        """Where it is from the next start on, as a pod has an address of its own."""
        self.host, self.port = host, port
        self.url = f"{'https' if self.server else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"

    def settings(self) -> dict[str, str]:
        """The daemon's, to reach it."""
        user, _, password = self.auth.partition(":")
        return {"HAPROXY_DATAPLANE_URL": self.url, "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password}

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def run(self) -> Process:
        return Process(self.command(), self.log_file, env=self.environment(), cwd=ROOT, name=self.kind)

    def start(self) -> "DataPlane":
        self.process = self.run()
        wait_until(self._up, 20, f"the Data Plane API at {self.url}; its log: {self.log_file}")
        return self

    def _up(self) -> bool:
        if self.process and not self.process.alive:
            raise RuntimeError(f"the Data Plane API ended: {self.process.log()}")
        return self.get("/configuration/version").status == 200

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def kill(self) -> None:
        if self.process:
            self.process.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def __enter__(self) -> "DataPlane":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # requests

    def request(self, method: str, path: str, body: Any = None, **more: Any) -> http.Response:
        """A path that does not begin with /v is below /v3/services/haproxy."""
        more.setdefault("auth", self.auth)
        more.setdefault("tls", self._tls)
        full = path if re.match(r"/v\d/", path) else BASE + path
        return http.request(self.url, method, full, body, **more)

    def get(self, path: str, **more: Any) -> http.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> http.Response:
        return self.request("POST", path, body, **more)

    def put(self, path: str, body: Any = None, **more: Any) -> http.Response:
        return self.request("PUT", path, body, **more)

    def delete(self, path: str, **more: Any) -> http.Response:
        return self.request("DELETE", path, **more)

    # shorthands

    def version(self) -> int:
        answer = self.get("/configuration/version")
        assert answer.status == 200, answer.text
        return int(answer.json())

    def raw(self) -> str:
        return self.get("/configuration/raw").text

    def file(self) -> str:
        return self.config.read_text()

    def access_log(self) -> str:
        """Every request with its status, whichever client sent it."""
        return (self.dir / ("access.log" if self.control else "dataplane.log")).read_text(errors="replace")

    def worker(self) -> int:
        """The pid of the HAProxy that answers the API now."""
        return int(self.get("/runtime/info").json()["info"]["pid"])

    def begin(self) -> str:
        answer = self.post(f"/transactions?version={self.version()}")
        assert answer.status == 201, answer.text
        return str(answer.json()["id"])

    def commit(self, tid: str, query: str = "") -> http.Response:
        return self.put(f"/transactions/{tid}{query}")

    def reload_status(self, rid: str) -> str:
        answer = self.get(f"/reloads/{rid}")
        return str(answer.json()["status"]) if answer.status == 200 else f"HTTP {answer.status}"

    def follow(self, rid: str, timeout: float = 20.0) -> dict[str, Any]:
        """Waits for the end of a reload and returns its record."""
        def ended() -> dict[str, Any]:
            record = dict(self.get(f"/reloads/{rid}").json())
            return record if record.get("status") in ("succeeded", "failed") else {}

        # Asked again it may refuse any request: while it reads a haproxy.cfg that is put back.
        record = wait_until(ended, timeout, f"the end of {rid}", 0.05)
        with contextlib.suppress(AssertionError):  # what is asked next says what is wrong
            wait_until(self.haproxy.answers_anew, 5)
        return record


class DoubleDataPlane(DataPlane):
    """deaf: servers of the running HAProxy cannot be read, as with RealDataPlane(deaf=True)."""

    kind = "double"

    def __init__(self, haproxy: HAProxy, config: os.PathLike[str] | str, directory: os.PathLike[str] | str,
                 play: str = "3.4", reload_delay: float = 1.0, more: list[str] | None = None, deaf: bool = False):
        super().__init__(haproxy, config, directory, reload_delay)
        self.play = play
        self.cwd: os.PathLike[str] | str = ROOT
        self.more = [*(more or []), *(["--deaf-runtime"] if deaf else [])]
        self.control_port = free_port()
        self.control = f"http://127.0.0.1:{self.control_port}"

    def run(self) -> Process:
        return Double("tests.doubles.dataplane", self.command(), self.log_file, name=self.kind, cwd=self.cwd)

    def command(self) -> list[str]:
        out = ["--config", str(self.config),
               "--listen", f"{self.host}:{self.port}", "--play", self.play,
               "--reload-delay", str(self.reload_delay), "--state-dir", str(self.state),
               "--storage-dir", str(self.dir / "storage"),
               "--control", f"127.0.0.1:{self.control_port}", "--log", str(self.dir / "access.log"),
               "--haproxy", self.haproxy.binary, *self.more]
        if self.haproxy.can_reload_by_socket:
            out += ["--master-socket", str(self.haproxy.master_socket)]
        else:
            out += ["--pid-file", str(self.haproxy.pid_file), "--haproxy-log", str(self.haproxy.log_file)]
        if self.server:
            out += ["--tls-cert", str(self.server.certificate), "--tls-key", str(self.server.key)]
        if self.client_ca:
            out += ["--tls-ca", str(self.client_ca)]
        return out

    def fault(self, *rules: dict[str, Any]) -> None:
        answer = http.request(self.control or "", "POST", "/faults", list(rules))
        assert answer.status == 200, answer.text

    def clear_faults(self) -> None:
        http.request(self.control or "", "DELETE", "/faults")

    def requests(self) -> list[dict[str, Any]]:
        return list(http.request(self.control or "", "GET", "/requests").json())


class RealDataPlane(DataPlane):
    """deaf: it speaks to an HAProxy before 2.7 through the master socket, and cannot read servers there."""

    kind = "real"

    def __init__(self, haproxy: HAProxy, directory: os.PathLike[str] | str, binary: str, reload_delay: float = 1.0,
                 deaf: bool = False):
        super().__init__(haproxy, haproxy.config, directory, reload_delay)
        if deaf and haproxy.can_reload_by_socket:
            raise ValueError(f"{haproxy.binary} can be read through its master socket")
        self.binary = binary
        self.deaf = deaf
        self.release = dataplane_version(binary)
        self.play = ".".join(self.release.split(".")[:2])

    def start(self) -> "DataPlane":
        super().start()
        if not self.release:  # its description of itself knows of which kind it is
            self.play = str(self.get("/v3/specification").json()["info"]["version"])
        return self

    def environment(self) -> dict[str, str]:
        env = dict(os.environ)
        if self.reload_delay != int(self.reload_delay):  # its option knows whole seconds only; its own tests use this
            env["CI_DATAPLANE_RELOAD_DELAY_OVERRIDE"] = str(int(self.reload_delay * 1000))
        return env

    def _listen(self) -> list[str]:
        if not self.server:
            return ["--host", self.host, "--port", str(self.port), "--scheme", "http"]
        return ["--scheme", "https", "--tls-host", self.host, "--tls-port", str(self.port),
                "--tls-certificate", str(self.server.certificate), "--tls-key", str(self.server.key),
                *(["--tls-ca", str(self.client_ca)] if self.client_ca else [])]

    def command(self) -> list[str]:
        own = self.dir / "real"
        for name in ("maps", "ssl", "general", "spoe", "storage"):
            (own / name).mkdir(parents=True, exist_ok=True)
        settings = own / "dataplaneapi.yaml"
        if not settings.exists():
            settings.write_text(SETTINGS)
        out = [self.binary, "-f", str(settings), *self._listen(), "--haproxy-bin", self.haproxy.binary, "--config-file", str(self.config), "--userlist", "dataplaneapi",
               "--transaction-dir", str(self.state), "--maps-dir", str(own / "maps"),
               "--ssl-certs-dir", str(own / "ssl"), "--general-storage-dir", str(own / "general"),
               "--spoe-dir", str(own / "spoe"), "--spoe-transaction-dir", str(own / "spoe-transactions"),
               "--dataplane-storage-dir", str(own / "storage"), "--restart-cmd", "/bin/true",
               "--reload-delay", str(max(1, int(self.reload_delay)))]
        # It wants a command in any case, and uses it without a word where the socket does not tell it HAProxy's version.
        by_socket = reloads_by_socket(self.release, haproxy_version(self.haproxy.binary))
        if by_socket or self.deaf:
            out += ["--master-worker-mode", "--master-runtime", str(self.haproxy.master_socket)]
        by = [str(self.haproxy.master_socket)] if self.haproxy.can_reload_by_socket else [
            str(self.haproxy.pid_file), str(self.haproxy.log_file)]
        script = pathlib.Path(__file__).with_name("reload_haproxy.py")
        return [*out, "--reload-cmd", " ".join([PYTHON, str(script), *by])]

"""One daemon, one HAProxy with its Data Plane API, one Kubernetes, and a proxy on each of the daemon's ways: a world to strike at.

Kinds: `double` (Kubernetes and the Data Plane API are the doubles, the daemon has sanitizers), `real` (a real kube-apiserver over a real
etcd, a real Data Plane API where there is one), `whole` (as double, but with a real Data Plane API where there is one, and the daemon has
the user's haproxy.cfg beside the servers, documents.py), `local` (as whole, or without the user's file, but the daemon has HAProxy's own file
and sockets and no Data Plane API), `clock` (as double, but the quick build, with a wall clock that can be set, as
HAProxy's), `fast` (the quick build, whose every clock runs FAST times as fast).
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import time

from tests.harness import certificates, realparts
from tests.harness.backends import node_port
from tests.harness.haproxy import AUTH, HEAD, DataPlane, DoubleDataPlane, RealDataPlane
from tests.harness.kube import KubeDouble, write_kubeconfig
from tests.harness.local import LocalFiles
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import DAEMON_TOKEN, RealKube

from . import disk, dns, invariants, parts
from .command_proxy import CommandProxy
from .documents import BACKEND as BY_DOCUMENT, MARK, Documents
from .invariants import Ours
from .parts import ChaosDaemon, ChaosHAProxy, Part, clock_environment
from .places import Places
from .proxy import Mode, Proxy
from .sampler import Sampler, Unreadable, read_running
from .served import Served
from .stream import Admin, Cluster, Stream
from .timeline import Timeline

KINDS = ("double", "real", "whole", "local", "clock", "fast")
FAST = 10
NAMESPACE, SERVICE, BACKEND = "ingress", "web", "be"
OURS = Ours(BACKEND, frozenset({"keep-1", "sorry"}))
RESYNC_S = 30
# Where there is a loss limit: each loss is beyond it, however many servers there are, and is held for so long.
HOLD_S = 2
MAX_LOSS_PERCENT = 5
DRAIN_S = 2
# How long what is in sync may take to agree: there is a drain or a parked server whose time is over.
AGREE_S = 5
CERTIFICATES = 4
# Idle connections come and go with the client's own cache of them.
FDS_MORE = 2
# So long libcurl keeps connections that nobody uses (CURLOPT_MAXAGE_CONN): several are made at once after a network was away.
IDLE_S = 118
RSS_MIB = {"san": 400, "plain": 40}

TEMPLATE = "# a comment of the owner's\n" + HEAD.replace("verify none\n", "verify none\n  maxconn 400\n") + """\

frontend fe
  bind 127.0.0.1:{fe}
  default_backend be

backend be
  mode tcp
  balance roundrobin
  option tcp-check
  default-server inter 2s rise 1 fall 3
  server keep-1 127.0.0.1:9 weight 0
  server sorry 127.0.0.1:{sorry} backup

backend other
  mode tcp
  # a comment in another backend
  timeout server 77s
  stick-table type ip size 10k expire 5m
  server a 127.0.0.1:9
"""


class World:
    def __init__(self, home: pathlib.Path, kind: str, seed: str, build: pathlib.Path):
        self.home, self.kind, self.seed = home, kind, seed
        home.mkdir(parents=True, exist_ok=True)
        self.timeline = Timeline(home / "timeline.log")
        self._ends = contextlib.ExitStack()
        rng = random.Random(f"{seed}:{kind}")
        self.node_ports = [node_port(["0.0.0.0"]), node_port(["0.0.0.0"])]
        self.names = None if dns.possible() or kind == "fast" else dns.NameServer(home)
        self.disks = self._disks()
        self._make_haproxy()
        self._make_kube()
        # Not where the daemon's clock is another than ours; half of the others have the long RESYNC_PERIOD, which helps nobody out.
        self.limited = kind == "real" or (kind != "fast" and random.Random(f"{seed}:{kind}:limit").random() < 0.5)
        self.settings = self._settings(rng)
        self.flavour = "san" if kind in ("double", "real", "whole", "local") else "plain"
        binary = build / ("san" if self.flavour == "san" else "quick") / "haproxy-k8s-sync"
        self.daemon = ChaosDaemon(home / "daemon", self.settings, binary)
        if self.names:
            self.daemon.wrap = self.names.wrap
        if kind in ("clock", "fast"):
            self.daemon.env |= clock_environment(home / "daemon.clock", monotonic=kind == "fast")
        if kind == "fast":
            (home / "daemon.clock").write_text(f"+0 x{FAST}\n")
        self.parts = self._parts()
        self.sampler = Sampler(self.haproxy, self.dataplane.state, OURS, self.timeline)
        self.sampler.hold_s = float(HOLD_S) if self.limited else 0.0
        self.stream: Stream | None = None
        self.documents: Documents | None = None
        self.may_die: set[str] = set()
        """Parts whose death by themselves is nobody's failure now."""
        self.helpers = 2 if kind == "local" else 0
        """Children that live as long as the daemon."""
        self.fds: dict[int, int] = {}
        """pid of a daemon -> its open files when it was first at rest."""
        self.left: set[str] = set()
        """Servers that a daemon's sudden death left drained or in maintenance at runtime alone."""

    # --- making it

    def _disks(self) -> dict[str, disk.Disk]:
        if disk.possible():
            return {}
        wanted = {"haproxy": (self.home / "haproxy", 4), "dataplane": (self.home / "dataplane" / "tx", 4),
                  "daemon": (self.home / "daemon", 64)}
        if self.kind == "real":
            wanted["etcd"] = (self.home / "kube" / "etcd", 250)
        made = {name: disk.Disk(folder, size) for name, (folder, size) in wanted.items()}
        for each in made.values():
            self._ends.callback(each.unmount)
        return made

    def _make_haproxy(self) -> None:
        real = self.kind in ("real", "whole") and shutil.which(os.environ.get("DATAPLANEAPI") or "dataplaneapi")
        self.haproxy = ChaosHAProxy(self.home / "haproxy", TEMPLATE, None, {"sorry": str(self.node_ports[0])})
        self.dataplane: DataPlane
        if self.kind == "local":
            self.dataplane = LocalFiles(self.haproxy, self.home / "dataplane", counts_checks=False)
        elif real:
            self.dataplane = RealDataPlane(self.haproxy, self.home / "dataplane", str(real), reload_delay=0.3)
        else:
            self.dataplane = DoubleDataPlane(self.haproxy, self.haproxy.config, self.home / "dataplane", reload_delay=0.3)
        if self.kind == "clock":
            self.haproxy.more_env = clock_environment(self.home / "haproxy.clock")
        self.to_dataplane = Proxy("127.0.0.1", self.dataplane.port, f"{self.seed}:dataplane")
        self.to_socket = CommandProxy(self.home / "stats.sock", self.haproxy.socket, f"{self.seed}:socket") if self.kind == "local" else None
        stored = {"local": self.haproxy.dir, "real": self.dataplane.dir / "real"}.get(self.dataplane.kind, self.dataplane.dir / "storage")
        self.served = Served(stored, free_port())

    def _make_kube(self) -> None:
        (self.home / "kube").mkdir(exist_ok=True)
        self.double: KubeDouble | None = None
        self.real: RealKube | None = None
        self.to_etcd: Proxy | None = None
        if self.kind == "real":
            self.real = RealKube(self.home / "kube", realparts.kube_apiserver(), realparts.etcd())
            self.cluster: Cluster = Admin(self.real.admin, self.real.ca)
            self.to_kube = Proxy("127.0.0.1", self.real.port, f"{self.seed}:kube", http=False)
            self.etcd_port = self.real.etcd.port
            self.to_etcd = Proxy("127.0.0.1", self.etcd_port, f"{self.seed}:etcd", http=False)
        else:
            self.double = KubeDouble(self.home / "kube", token="chaos")
            self.cluster = self.double
            self.to_kube = Proxy("127.0.0.1", self.double.port, f"{self.seed}:kube")

    def _settings(self, rng: random.Random) -> dict[str, str]:
        user, password = AUTH.split(":")
        host = "127.0.0.1"
        settings = {"INGRESS_NAMESPACE": NAMESPACE, "INGRESS_SERVICE_NAME": SERVICE, "INGRESS_SERVICE_PORT": "https",
                    "HAPROXY_BACKEND_NAME": BACKEND, "HAPROXY_KEEP_SERVERS": "keep-*",
                    "HAPROXY_DATAPLANE_USERNAME": user, "HAPROXY_DATAPLANE_PASSWORD": password,
                    "RESYNC_PERIOD": f"{HOLD_S if self.limited else RESYNC_S * (FAST if self.kind == 'fast' else 1)}s", "LOG_LEVEL": "debug",
                    "MAX_LOSS_PERCENT": str(MAX_LOSS_PERCENT if self.limited else 100),
                    "DRAIN_TIMEOUT": f"{DRAIN_S * (FAST if self.kind == 'fast' else 1)}s",
                    "PARK_TTL": rng.choice(["1h", "1h", "3s", "0"]), "PARK_NODES": rng.choice(["false", "false", "true"]),
                    "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:quarantine_size_mb=16:abort_on_error=0"}
        dataplane_host = f"dataplane.{dns.DOMAIN}" if self.names else host
        settings["HAPROXY_DATAPLANE_URL"] = f"http://{dataplane_host}:{self.to_dataplane.port}"
        if self.kind == "local":
            settings = {k: v for k, v in settings.items() if not k.startswith("HAPROXY_DATAPLANE")} | self.dataplane.settings()
            assert self.to_socket
            settings["HAPROXY_STATS_SOCKET"] = str(self.to_socket.path)
        if self.kind == "whole" or (self.kind == "local" and rng.random() < 0.75):
            (self.home / "user").mkdir()
            settings |= {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(self.home / "user" / "now" / "haproxy.cfg"), "CONFIG_MIN_INTERVAL": "1s",
                         "CONFIG_FILES_DIR": str(Documents.files(self.home / "user")),
                         "CONFIG_DRIFT": rng.choice(("report", "repair")), **rng.choice(({}, {"STATE_DIR": str(self.home / "state")}))}
        path = self.home / "kubeconfig"
        if self.real:
            # The name in its certificate is that of the loopback address.
            write_kubeconfig(path, f"https://127.0.0.1:{self.to_kube.port}", ca=self.real.ca, token=DAEMON_TOKEN)
        else:
            write_kubeconfig(path, f"http://{f'kube.{dns.DOMAIN}' if self.names else host}:{self.to_kube.port}", token="chaos")
        return {**settings, "KUBECONFIG": str(path)}

    def _parts(self) -> dict[str, Part]:
        # Whom another one waits for comes first.
        made = [Part("haproxy", lambda: self.haproxy.process, self.haproxy.start),
                *([Part("dataplane", lambda: self.dataplane.process, self.dataplane.start)] if self.kind != "local" else []),
                Part("daemon", lambda: self.daemon.process, self._start_daemon)]
        if real := self.real:
            made += [Part("kube-apiserver", lambda: real.process, real.start_apiserver, real.stop_apiserver, real.launch_apiserver),
                     Part("etcd", lambda: real.etcd.process, self._start_etcd, launch=lambda: self._start_etcd(wait=False))]
        else:
            made.append(Part("kube-apiserver", lambda: self._double_process(), self._start_double))
        return {part.name: part for part in made}

    # --- life

    def start(self, stream: Stream) -> None:
        """All of it, in sync with the stream's first state."""
        try:
            self._start(stream)
        except BaseException:
            self.stop()
            raise

    def _start(self, stream: Stream) -> None:
        self._ends.enter_context(_stopping(Places(self.node_ports)))
        for thing in (self.names, self.to_dataplane, self.to_socket, self.to_kube, self.to_etcd):
            if thing:
                self._ends.enter_context(_stopping(thing))
        self._ends.callback(self.haproxy.stop)
        self.haproxy.start()
        self._ends.callback(self.dataplane.stop)
        self.dataplane.start()
        self._take_baseline()
        if self.real:
            self._ends.callback(self.real.stop)
            self._start_etcd()
            self.real.start_apiserver()
            self.real.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            # Who waits for an answer does not start again what has died: etcd, which it waits for.
            self.real.admin.timeout = 5.0
            self.real.grant("nodes", "slices", "endpoints", "services")
        elif self.double:
            self._ends.callback(self.double.kill)
            self.double.start()
        stream.begin()
        self.stream = stream
        if "CONFIG_FILE" in self.settings:
            self.documents = Documents(self.haproxy.config.read_text(), self.home / "user", OURS, random.Random(f"{self.seed}:documents"),
                                       self.served, self._pems(), bad_certificates=self.kind == "local")
            self.documents.put(True)
        self._ends.callback(self.daemon.kill)
        self.daemon.start()
        self.wait_in_step(120)
        self.sampler.documents = self.documents
        self.sampler.judging = True
        self._ends.enter_context(_stopping(self.sampler))

    def _pems(self) -> list[str]:
        made = [certificates.self_signed(self.home / "user", f"{i}.example") for i in range(CERTIFICATES)]
        return [pair.certificate.read_text() + pair.key.read_text() for pair in made]

    def _take_baseline(self) -> None:
        """After a first commit of our own, with which the Data Plane API sorts the file, and before the daemon is there."""
        dataplane = self.dataplane
        if self.kind != "local":
            dataplane.follow(dataplane.commit(dataplane.begin()).headers["Reload-ID"])
        self.sampler.take_baseline()

    def stop(self) -> None:
        for part in self.parts.values():
            part.thaw()
        self._ends.close()

    def end_daemon(self) -> None:
        """Its last word: a clean exit, in which the leak sanitizer has its say."""
        if wrong := self.daemon.end():
            self.timeline.violate("clean end", f"{wrong}: {self.daemon.tail(8)}")
        self.search_log()

    def search_log(self) -> None:
        found = re.search(r"ERROR: (Address|Leak)Sanitizer.*|runtime error: .*|level=fatal.*", self.daemon.log())
        if found:
            self.timeline.violate("no fault", f"the daemon's log has: {found[0]}", "log")

    # --- Kubernetes

    def _double_process(self):  # type: ignore[no-untyped-def]
        assert self.double
        return self.double._process

    def _start_double(self) -> None:
        """It keeps nothing by itself: what it had is put back before a client can ask it."""
        assert self.double and self.stream
        mode = self.to_kube.mode
        self.to_kube.set(Mode("refuse"))
        if self.double._process:
            self.double._process.kill()
        self.double.start()
        self.double.restore(self._kept)
        self.to_kube.set(mode)

    _kept: dict[str, object] = {}

    def keep_kube(self) -> None:
        """Before the double dies: as etcd keeps what an API server has written."""
        if self.double:
            self._kept = self.double.state()

    def _start_etcd(self, wait: bool = True) -> None:
        assert self.real and self.to_etcd
        self.real.etcd.port = self.etcd_port
        try:
            self.real.etcd.start() if wait else self.real.etcd.launch()
        finally:
            # The API server goes through the proxy.
            self.real.etcd.port = self.to_etcd.port

    # --- how it stands

    def out_of_sync(self) -> str:
        """"" where all that can be seen is as the stream desires it."""
        assert self.stream
        if not self.stream.flush():
            return f"{self.stream.unwritten} changes could not be written yet: {self.stream.trouble}"
        desired = self.stream.desired()
        try:
            text = self.haproxy.config.read_text()
            wrong = invariants.out_of_sync(desired, read_running(self.haproxy.socket), text, OURS)
        except (Unreadable, OSError) as e:
            return f"HAProxy cannot be read: {e}"
        if wrong:
            return wrong
        try:
            status, ready = self.daemon.get("/readyz", timeout=2)
            if status != 200 and not (self.documents and invariants.only_rejected(ready) and not self.documents.last.good):
                return f"/readyz {status}: {ready.strip()}"
            metrics = self.daemon.metrics()
            if wrong := self._wrong_document(text):
                return wrong
        except (Unreadable, OSError, AssertionError) as e:
            return f"the daemon's pages: {e}"
        if (in_sync := metrics.sum("in_sync")) != 1:
            return f"in_sync is {in_sync:g}: {ready.strip()}"
        return invariants.misreported(metrics, desired, text, OURS)

    def _wrong_document(self, text: str) -> str:
        """"" where the file, what runs and /status are as the user's files want it."""
        documents = self.documents
        if not documents:
            return ""
        stored = self.served.stored()
        last, document = documents.last, documents.of(text, stored)
        if last.good and document is not last:
            return (f"the file and {stored} are document {document.number if document else 'none'}, the user's is {last.number} "
                    f"with {last.files}")
        # One whose files alone differ from the one before may lie there, and not run: a daemon died between the two.
        runs = document and (last.good or self.served.running(self.haproxy.socket) == document.files)
        since = document.number if document and runs else documents.since
        # Files of one that was rejected stay where a daemon has died before, and nobody knows what there was.
        if (document := document or documents.of(text)) is None:
            return "the file is no document"
        mark = read_running(self.haproxy.socket).get((BY_DOCUMENT, MARK))
        if not mark or mark.place != document.mark:
            return f"HAProxy runs the mark {mark and mark.place}, its file is document {document.number} with {document.mark}"
        said = json.loads(self.daemon.get("/status", timeout=2)[1])["haproxies"][0]["configuration"]
        if wrong := invariants.misjudged(said, last.sha256, last.good, document.sha256):
            return f"/status of document {last.number}: {wrong}"
        documents.since = since
        return ""

    def disagreement(self) -> str:
        """"" where HAProxy has what its files say."""
        try:
            text = self.haproxy.config.read_text()
            wrong = invariants.disagreement(invariants.file_servers(text), read_running(self.haproxy.socket), OURS, leave=self.kind == "local")
            if wrong or not self.documents:
                return wrong
            stored, has, presented = self.served.stored(), self.served.running(self.haproxy.socket), self.served.presented()
        except (Unreadable, OSError) as e:
            return f"it cannot be read: {e}"
        if has != stored or presented != stored.certificate:
            return f"HAProxy has {has} and presents {presented}, its files have {stored}"
        return ""

    def disagrees(self, timeout: float = AGREE_S) -> str:
        """Once all is in sync: "" where HAProxy agrees with its files, or does before long."""
        deadline = time.monotonic() + timeout
        while (wrong := self.disagreement()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return wrong

    def wait_in_step(self, timeout: float) -> None:
        def in_step() -> bool:
            wrong = self.out_of_sync()
            assert not wrong, wrong
            return True

        try:
            wait_until(in_step, timeout, "all in sync", interval=0.1)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{self.daemon.tail(12)}") from e

    def open_transactions(self) -> list[str]:
        if self.kind == "local":
            return []
        listed = self.dataplane.get("/transactions", timeout=5).json() or []
        return [f"{t['id']} {t['status']}" for t in listed if t["status"] == "in_progress"]

    def supervise(self) -> None:
        """Starts what has died; who was not allowed to is reported. An API server that was waited for would wait for a dead etcd."""
        for part in self.parts.values():
            if part.alive or part.away:
                continue
            part.deaths += 1
            if part.name not in self.may_die:
                status = self.daemon.process.wait() if part.name == "daemon" and self.daemon.process else "?"
                log = f": {self.daemon.tail(5)}" if part.name == "daemon" else ""
                self.timeline.violate("no death", f"{part.name} died by itself (status {status}){log}", part.name)
            self.timeline.say("part", f"{part.name} is dead, it is started again")
            with contextlib.suppress(AssertionError, OSError, RuntimeError):
                part.launch()

    def _start_daemon(self) -> None:
        """One that was killed or has died."""
        with contextlib.suppress(Unreadable, OSError):
            self.left |= invariants.left_by_death(read_running(self.haproxy.socket), self.haproxy.config.read_text(), OURS)
        self.daemon.start()

    def set_ready_what_death_left(self) -> None:
        """The next daemon cannot tell it from an operator's doing and says so; this is what its log and docs/faq.md ask for."""
        with contextlib.suppress(OSError, AssertionError):
            overridden = self.daemon.get("/readyz", timeout=2)[1].partition("overridden: ")[2].partition("\n")[0]
            for name in sorted(name for name in self.left if f"{name} is in " in overridden):
                self.left.remove(name)
                self.haproxy.runtime(f"set server {BACKEND}/{name} state ready")
                self.timeline.say("operator", f"{name} set to ready: the daemon reports it as overridden, and one was killed meanwhile")

    def at_rest(self, timeout: float = IDLE_S + 30.0) -> None:
        """Open files, threads and children are back to what they were when this daemon was first at rest; memory is bounded."""
        pid = self.daemon.pid
        if pid not in self.fds:
            self.fds[pid] = self._resting_files(pid)
            return

        def back() -> bool:
            have = parts.open_files(pid)
            assert have <= self.fds[pid] + FDS_MORE, f"{have} open files, {self.fds[pid]} at first: {_links(pid)}"
            assert parts.threads(pid) <= 2, f"{parts.threads(pid)} threads"
            assert len(parts.children(pid)) == self.helpers, f"children {parts.children(pid)}"
            return True

        try:
            wait_until(back, timeout, "open files, threads and children as at first", interval=0.1)
        except AssertionError as e:
            self.timeline.violate("no leak", str(e))
        mib = self.daemon.memory_kib()["VmRSS"] / 1024
        if mib > RSS_MIB[self.flavour]:
            self.timeline.violate("no leak", f"RSS is {mib:.0f} MiB, more than {RSS_MIB[self.flavour]}", "rss")

    def _resting_files(self, pid: int) -> int:
        """The lowest of a second: connections to the same peer may still overlap."""
        counts = []
        for _ in range(5):
            counts.append(parts.open_files(pid))
            time.sleep(0.2)
        return min(counts)


@contextlib.contextmanager
def _stopping(thing):  # type: ignore[no-untyped-def]
    thing.start()
    try:
        yield thing
    finally:
        thing.stop()


def _links(pid: int) -> list[str]:
    """What each descriptor is; of a TCP socket: from where to where, and its state."""
    sockets = {}
    with open(f"/proc/{pid}/net/tcp") as table:
        for row in list(table)[1:]:
            local, peer, state = row.split()[1:4]
            sockets[row.split()[9]] = f"tcp {int(local.split(':')[1], 16)} to {int(peer.split(':')[1], 16)} state {int(state, 16)}"
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            found.append(sockets.get(link.removeprefix("socket:[").removesuffix("]"), link))
    return sorted(found)

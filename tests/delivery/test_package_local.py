"""The package beside a HAProxy of Debian's, without a Data Plane API: installed as docs/sidecar.md says, under a real systemd."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.harness import http, objects, parts, realparts
from tests.harness.certificates import self_signed
from tests.harness.daemon import Daemon
from tests.harness.etcd import Etcd, Tls, pair_of
from tests.harness.kube import KubeDouble
from tests.harness.process import free_port, wait_until

from . import package
from .docs_blocks import DOCS, blocks
from .machine import Machine, marks
from .test_package_service import ASK, UNIT, left_by_us, status_of

ME = "haproxy-k8s-sync"
CONFIG = "/etc/haproxy/haproxy.cfg"
has_haproxy = pytest.mark.skipif(not os.path.exists("/lib/systemd/system/haproxy.service"), reason="no haproxy.service here (Debian's package haproxy)")
pytestmark = [*marks, package.needs_debhelper, has_haproxy]

# A certificate and an expression: what `haproxy -c` loads and compiles is what the unit has to let it.
TEMPLATE = """\
global
  stats socket /run/haproxy/admin.sock mode 660 level admin
  user haproxy
  group haproxy
  chroot /var/lib/haproxy

defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s

frontend fe
  bind 127.0.0.1:{port}
  bind 127.0.0.1:{tls} ssl crt /etc/haproxy/certs/site.pem
  acl api path_reg -i ^/(v[0-9]+|api)/.*$
  http-request return status 200 content-type text/plain string "zero" if !api
  default_backend be

# kept by the daemon
backend be
  server sorry 127.0.11.99:80 backup
"""


def of_the_page(part: str, page: str = "sidecar.md") -> list[str]:
    block, = [block for block in blocks(DOCS / page) if block.attributes.get("part") == part]
    return block.text.splitlines()


class Beside:
    """A machine with Debian's HAProxy, a Kubernetes that it reaches by loopback, and what the page does to it."""

    def __init__(self, machine: Machine, kube: KubeDouble, home: pathlib.Path, deb: pathlib.Path):
        self.machine, self.kube, self.home = machine, kube, home
        self.deb = deb
        self.port, self.pages = free_port(), free_port()
        self.first = TEMPLATE.format(port=self.port, tls=free_port())

    def begin(self) -> None:
        """As Debian's package leaves it, with a file of the user's own."""
        pair = self_signed(self.home, "site")
        self.machine.write("/etc/haproxy/certs/site.pem", pair.certificate.read_text() + pair.key.read_text(), 0o600)
        self.machine.write(CONFIG, self.first)
        self.machine.run("systemctl", "start", "systemd-journald-dev-log.socket")
        self.machine.run("systemd-tmpfiles", "--create", "/usr/lib/tmpfiles.d/haproxy.conf")
        self.machine.write("/root/kubeconfig", self.kube.kubeconfig(self.home / "kubeconfig").read_text(), 0o600)

    def settings(self, **wanted: str) -> None:
        path = self.machine.path("/etc/haproxy-k8s-sync.env")
        shipped = path.read_text().split("\n# set\n")[0]
        lines = {"LISTEN_ADDRESS": f"127.0.0.1:{self.pages}", "RESYNC_PERIOD": "1s", "MAX_LOSS_PERCENT": "100", "PARK_TTL": "0"} | wanted
        path.write_text(shipped + "\n# set\n" + "".join(f"{name}={value}\n" for name, value in lines.items() if value))

    def of_a_service(self) -> None:
        self.settings(INGRESS_NAMESPACE="ingress", INGRESS_SERVICE_NAME="web", HAPROXY_BACKEND_NAME="be", HAPROXY_BACKEND_PORT="30443",
                      HAPROXY_BALANCE="keep", HAPROXY_ADV_CHECK="keep")

    def install(self, then: Callable[[], None] | None = None) -> None:
        """The page's block, line by line; the packages are those that are here. then: between package and the rest."""
        for line in [line for part in ("install", "certificates", "start") for line in of_the_page(part)]:
            if line == "apt-get install haproxy":
                continue
            if line.startswith("apt-get install ./build/haproxy-k8s-sync_"):
                self.machine.run("dpkg", "-i", self.machine.copy(self.deb, "/tmp"))
                (then or self.of_a_service)()
                continue
            done = self.machine.call("sh", "-ec", f"cd /root; {line}")
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}{self.machine.journal('haproxy.service')}{self.journal()}"

    def pods(self, *nodes: int) -> None:
        self.kube.put(objects.slice_("web-1", "web", [objects.endpoint(f"10.244.{i}.7", f"n{i}", objects.READY) for i in nodes], namespace="ingress"))

    # --- what came of it

    def text(self) -> str:
        return self.machine.path(CONFIG).read_text()

    def owned(self) -> tuple[str, str, str]:
        return tuple(self.machine.run("stat", "-c", "%U %G %a", CONFIG).split())  # type: ignore[return-value]

    def command(self, command: str, path: str = "/run/haproxy/admin.sock") -> str:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(str(self.machine.path(path)))
            s.sendall(command.encode() + b"\n")
            answer = b""
            while part := s.recv(65536):
                answer += part
        return answer.decode()

    def worker(self) -> int:
        return int(re.search(r"^Pid: (\d+)", self.command("show info"), re.M)[1])  # type: ignore[index]

    def running(self) -> set[str]:
        return {line.split()[3] for line in self.command("show servers state be").splitlines() if re.match(r"\d+ be ", line)}

    def in_file(self) -> set[str]:
        return set(re.findall(r"^\s+server (\S+)", self.text(), re.M))

    def wait_servers(self, *names: str) -> None:
        wait_until(lambda: self.in_file() == self.running() == {*names, "sorry"}, 30, f"{names} in file and HAProxy\n{self.journal()}")

    def journal(self) -> str:
        return self.machine.journal(UNIT)

    def status(self) -> str:
        return self.machine.value(UNIT, "StatusText")

    def wait_status(self, beginning: str) -> None:
        wait_until(lambda: self.status().startswith(beginning), 30, f"a status that begins with {beginning!r}\n{self.journal()}")

    def processes(self) -> list[pathlib.Path]:
        """The daemon and its helpers."""
        main = pathlib.Path(f"/proc/{self.machine.pid(UNIT)}")
        return [main, *(pathlib.Path(f"/proc/{child}") for child in (main / f"task/{main.name}/children").read_text().split())]


@contextlib.contextmanager
def balancer(home: pathlib.Path, factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """With two pods, before anything of ours is installed."""
    deb = package.find(package.folder(factory))
    (home / "kube").mkdir()
    with KubeDouble(home / "kube") as kube, Machine(home / "machine") as machine:
        kube.put(*(objects.node(f"n{i}", f"127.0.11.{i}") for i in range(1, 4)))
        made = Beside(machine, kube, home, deb)
        made.pods(1, 2)
        made.begin()
        yield made


@pytest.fixture
def beside(tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with balancer(tmp_path, tmp_path_factory) as made:
        yield made


def locked_in(beside: Beside) -> None:
    """The daemon and its helpers: a user without rights, under filters, who may write in one folder."""
    machine = beside.machine
    uid = machine.run("id", "-u", ME).strip()
    groups = set(machine.run("id", "-G", ME).split()) | {machine.run("getent", "group", "haproxy").split(":")[2]}
    processes = beside.processes()
    assert len(processes) == 3
    for process in processes:
        now = status_of(int(process.name))
        assert set(now["Uid"].split()) == {uid} and set(now["Groups"].split()) == groups
        assert {now[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}
        assert (now["NoNewPrivs"], now["Seccomp"]) == ("1", "2")
        mounts = {line.split()[4]: line.split()[5].split(",")[0] for line in (process / "mountinfo").read_text().splitlines()}
        assert (mounts["/"], mounts["/etc/haproxy"]) == ("ro", "rw")
    started = re.findall(r"msg=started .*", beside.journal())[-1]
    assert f"haproxy={CONFIG}" in started and "dataplane=" not in started and "seccomp=true" in started


def files(machine: Machine) -> set[str]:
    return set(machine.run("ls", "-A", "/etc/haproxy").split())


def test_servers_of_a_service(beside: Beside) -> None:
    """Added without a reload, and every other byte stays; asked by hand; a file that became root's; gone without a trace."""
    machine = beside.machine
    before = files(machine)
    beside.install()
    beside.wait_servers("n1", "n2")
    beside.wait_status("ready")
    said = machine.call("systemd-analyze", "verify", UNIT)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    locked_in(beside)
    worker = beside.worker()
    beside.pods(1, 2, 3)
    beside.wait_servers("n1", "n2", "n3")
    assert beside.worker() == worker, "a reload"
    assert re.sub(r"  server n\d .*\n", "", beside.text()) == beside.first and beside.owned() == (ME, "haproxy", "644")

    beside.wait_status("ready")
    assert machine.call(ASK, "plan").returncode == 0
    found = machine.run(ASK, "doctor")
    main, master = (machine.value(unit, "MainPID") for unit in (UNIT, "haproxy.service"))
    for line in (f"user {ME} may replace it in /etc/haproxy", f"process {main} manages this file", "level admin: changes of servers need no reload",
                 f"master {master}, worker "):
        assert re.search(r"\s+".join(map(re.escape, line.split())), found), f"no {line!r} in\n{found}"
    done = machine.call(ASK, "check-config")
    assert (done.returncode, done.stderr) == (0, "") and "HAPROXY_DATAPLANE_URL=http" not in done.stdout
    assert machine.run(ASK, "config", "validate", CONFIG), "which checks a file beside it"
    assert files(machine) - before == {".haproxy.cfg.lock"}

    machine.run("chown", "root:haproxy", CONFIG)
    beside.pods(1, 2)
    wait_until(lambda: f"cannot give its owner, group and mode to a file beside {CONFIG}" in beside.status(), 30, "why nothing is written")
    assert beside.in_file() == {"n1", "n2", "n3", "sorry"}
    machine.run("sh", "-ec", [line for line in of_the_page("install") if line.startswith("chown")][0])
    beside.wait_servers("n1", "n2")
    beside.wait_status("ready")

    for line in of_the_page("uninstall"):
        machine.run("sh", "-ec", line.replace("apt-get purge", "dpkg --purge"))
    assert machine.value("haproxy.service", "ActiveState") == "active" and beside.in_file() == {"n1", "n2", "sorry"}
    assert left_by_us(machine) == set()


def test_whole_configuration_after_a_data_plane_api(beside: Beside) -> None:
    """What the service kept as nobody in particular is its own still; each change is checked, reloaded by the master's socket, verified."""
    machine = beside.machine
    source = "/srv/haproxy.cfg"

    def first_by_an_api() -> None:
        machine.write(source, beside.first)
        machine.write("/etc/haproxy-k8s-sync/password", "p\n", 0o600)
        beside.settings(CONFIG_SOURCE="file", CONFIG_FILE=source, HAPROXY_DATAPLANE_USERNAME="u")
        assert machine.call("systemctl", "start", UNIT).returncode == 0, beside.journal()
        wait_until(lambda: "not ready" in beside.status(), 20, "it to miss its Data Plane API")
        owner = int(machine.run("stat", "-c", "%u", "/var/lib/haproxy-k8s-sync/."))
        assert 61184 <= owner <= 65519, "a user of DynamicUser="
        beside.settings(CONFIG_SOURCE="file", CONFIG_FILE=source)

    beside.install(first_by_an_api)
    beside.wait_status("ready")
    assert machine.run("stat", "-c", "%U %a", "/var/lib/haproxy-k8s-sync/.").split() == [ME, "700"]
    locked_in(beside)
    worker = beside.worker()
    odd = beside.first.replace('"zero"', '"one"') + "\n# the end \t\n.if defined(NOBODY)\nfrontend never\n  bind :1\n.endif\n\n\n"
    machine.write(source, odd)
    wait_until(lambda: http.request(f"http://127.0.0.1:{beside.port}", "GET", "/").text == "one", 30, f"the edit to run\n{beside.journal()}")
    assert beside.text() == odd and beside.worker() != worker and beside.owned() == (ME, "haproxy", "644")
    beside.wait_status("ready")
    machine.write(source, odd.replace("timeout server", "timeout servant"))
    wait_until(lambda: "configuration rejected" in beside.journal(), 30, "the rejection")
    assert re.search(r'error="line \d+: .*servant', beside.journal()) and beside.text() == odd
    machine.write(source, odd)
    beside.wait_status("ready")
    assert "2  " in machine.run(ASK, "config", "history")


def test_from_etcd_without_kubernetes(beside: Beside, tmp_path: pathlib.Path) -> None:
    """A file of its own beside the operator's; no kubeconfig; the certificates for etcd are credentials of the service."""
    with parts.or_skip("no etcd here"):
        etcd_program = realparts.etcd_debian()
    machine, path, port = beside.machine, "/haproxy/east", free_port()
    (tmp_path / "etcd").mkdir()
    tls = Tls(tmp_path / "etcd")
    source = tmp_path / "published.cfg"
    source.write_text(f"frontend published\n  bind 127.0.0.1:{port}\n  http-request return status 200 content-type text/plain string one\n")
    with Etcd(etcd_program, tmp_path / "etcd", tls) as etcd:
        with Daemon(tmp_path / "producer", {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(source), "CONFIG_TARGET": "etcd", "ETCD_PATH": path,
                                            "ETCD_ENDPOINTS": etcd.url, **pair_of(tls)}):
            wait_until(lambda: etcd.get(f"{path}/manifest"), 20, "it is published")
        for line in of_the_page("install"):
            if line.startswith("apt-get install ./build/"):
                machine.run("dpkg", "-i", machine.copy(beside.deb, "/tmp"))
            elif not line.startswith(("apt-get", "echo 'EXTRAOPTS", "systemctl restart")):
                machine.run("sh", "-ec", line)
        for line in of_the_page("certificates"):
            machine.run("sh", "-ec", line)
        beside.settings(CONFIG_SOURCE="etcd", ETCD_ENDPOINTS=etcd.url, ETCD_PATH=path, ETCD_NAME="lb-1", HAPROXY_CONFIG_FILE="/etc/haproxy/dynamic.cfg",
                        HAPROXY_CHECK_FILES=f"{CONFIG},/etc/haproxy/dynamic.cfg", MAX_LOSS_PERCENT="", PARK_TTL="")
        for name, file in (("etcd-ca.crt", tls.authority.certificate), ("etcd.crt", tls.client.certificate), ("etcd.key", tls.client.key)):
            machine.write(f"/root/{name}", file.read_text(), 0o600)
        done = machine.call("sh", "-exc", "cd /root\n" + "\n".join(of_the_page("package", "etcd.md")))
        assert done.returncode == 0, f"{done.stdout}{done.stderr}{machine.journal('haproxy.service')}{beside.journal()}"
        assert "Kubernetes" not in done.stdout
        beside.wait_status("ready")
        assert http.request(f"http://127.0.0.1:{port}", "GET", "/").text == "one"
        assert beside.text() == beside.first and machine.path("/etc/haproxy/dynamic.cfg").read_text() == source.read_text()
        wait_until(lambda: '"in_sync"' in (etcd.get(f"{path}/status/lb-1") or ""), 20, f"it says so in etcd\n{beside.journal()}")

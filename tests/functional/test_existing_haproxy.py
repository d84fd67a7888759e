"""docs/haproxy-side.md, "You already run HAProxy": the page's lines go into a haproxy.cfg that is there, a backend of it is kept in sync,
and nothing else of the file changes. The five files of tests/data/haproxy are of the kinds that people have; only names of places are
replaced in them: paths, ports, addresses."""

from __future__ import annotations

import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.delivery.docs_blocks import DOCS, blocks
from tests.harness import objects
from tests.harness.certificates import self_signed
from tests.harness.haproxy import haproxy_binary
from tests.harness.local import LocalFiles
from tests.harness.lines import is_parked, server_lines
from tests.harness.process import ROOT, free_port, wait_until

from .rig import NAMESPACE, SERVICE, Rig, program

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")
FILES = ROOT / "tests" / "data" / "haproxy"
USER, PASSWORD = "admin", "change-me"
OURS = r"\s*server n\d "


@dataclasses.dataclass
class Case:
    """backend: the one to be kept in sync, whose two servers are at the nodes n1 and n2. host: the pods are on the host network.
    keep: HAPROXY_KEEP_SERVERS."""

    file: str
    backend: str
    port: int
    host: bool = False
    keep: str = ""

    def __str__(self) -> str:
        return self.file


CASES = [Case("keepalived", "k8s_https", 30443), Case("pfsense", "cluster_ipvANY", 30443), Case("rke2", "ingress_https", 443, host=True),
         Case("openshift", "ingress-router-443", 443, host=True), Case("stick-tables", "shop", 30080, keep="static-*")]


# --- the page


def of_the_page(**attributes: str) -> str:
    block, = [block for block in blocks(DOCS / "haproxy-side.md") if attributes.items() <= block.attributes.items()]
    return block.text


def settings_of_the_page(way: str, case: Case) -> dict[str, str]:
    given = dict(line.split("=", 1) for line in of_the_page(part=f"settings-{way}").splitlines())
    entry = given["INGRESS_SERVICES"]
    assert re.fullmatch(r"[\w-]+/[\w-]+:https=[\w-]+", entry)
    given["INGRESS_SERVICES"] = f"{NAMESPACE}/{SERVICE}:https={case.backend}"
    return given


def split(text: str, name: str) -> str:
    """A listen section as the page has it: its first lines become a frontend's, and the page's lines begin the backend."""
    before, after = of_the_page(part="listen").splitlines(), of_the_page(part="split").splitlines()
    assert before[0] == "listen ingress" and after[0] == "frontend ingress"
    new = [line for line in after[1:] if line not in before]
    lines = text.splitlines(keepends=True)
    start = lines.index(f"listen {name}\n")
    at = next(i for i in range(start, len(lines)) if re.match(r"\s+(balance|server) ", lines[i]))
    return "".join([*lines[:start], f"frontend {name}\n", *lines[start + 1:at],
                    *(line.replace("ingress", name) + "\n" for line in new), *lines[at:]])


def edited(text: str, case: Case, way: str) -> str:
    if not re.search(r"^\s+stats socket .*\blevel admin\b", text, re.M):
        text = text.replace("global\n", "global\n" + of_the_page(part="socket"), 1)
    if f"\nlisten {case.backend}\n" in text:
        text = split(text, case.backend)
    return text + ("\n" + of_the_page(part="user") if way == "api" else "")


# --- the load balancer


def moved(text: str, home: pathlib.Path) -> str:
    """The file at another place."""
    etc = home / "etc"
    etc.mkdir()
    (etc / "certs").mkdir()
    (home / "empty").mkdir()
    pair = self_signed(home, "site")
    (etc / "certs" / "site.pem").write_text(pair.certificate.read_text() + pair.key.read_text())
    for name in ("variant.lua", "hosts.map", "trusted.lst"):
        shutil.copy(FILES / name, etc)
    (etc / "errors").mkdir()
    (etc / "errors" / "503.http").write_text("HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nsorry\n")
    for old, new in (("/etc/haproxy/", f"{etc}/"), ("/run/haproxy/stats.sock", f"{home}/stats.sock"), ("/run/haproxy/admin.sock", "{d}/haproxy.sock"),
                     ("/tmp/haproxy.socket", "{d}/haproxy.sock"), ("/var/lib/haproxy", f"{home}/empty"), ("/tmp/haproxy_chroot", f"{home}/empty"),
                     ("/tmp/haproxy_server_state", f"{home}/empty/state"), ("/var/run/haproxy.pid", f"{home}/pid"), ("10.20.0.", "127.0.11.")):
        text = text.replace(old, new)
    (home / "empty" / "state").write_text("1\n")
    text = re.sub(r"^(\s+bind\s+)\S*:\d+", lambda found: f"{found[1]}127.0.0.1:{free_port()}", text, flags=re.M)
    return text if os.geteuid() == 0 else re.sub(r"^\s+([ug]id\s+\d+|user haproxy|group haproxy|chroot .*)\n", "", text, flags=re.M)


@dataclasses.dataclass
class Site:
    rig: Rig
    case: Case
    way: str
    original: str
    text: str
    """The file once the page's lines are in it."""

    def settings(self) -> dict[str, str]:
        """Those of the page, at this site's places; what the unit sets the rig does."""
        rig, given = self.rig, settings_of_the_page(self.way, self.case)
        here = {"HAPROXY_CONFIG_FILE": str(rig.haproxy.config), "HAPROXY_MASTER_SOCKET": str(rig.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(rig.haproxy.socket),
                "HAPROXY_DATAPLANE_URL": rig.dataplane.url, "HAPROXY_DATAPLANE_USERNAME": USER}
        places = {name: here.get(name, value) for name, value in given.items()}
        unset = dict.fromkeys(("INGRESS_NAMESPACE", "INGRESS_SERVICE_NAME", "HAPROXY_BACKEND_NAME", "HAPROXY_BACKEND_PORT", "HAPROXY_DATAPLANE_URL",
                               "HAPROXY_DATAPLANE_USERNAME"), "")
        of_the_backend = {"HAPROXY_KEEP_SERVERS": self.case.keep, "HAPROXY_SEND_PROXY_V2": "true" if "send-proxy-v2" in self.text else "",
                          "HAPROXY_DATAPLANE_PASSWORD": PASSWORD if self.way == "api" else "", "HAPROXY_BIN": rig.haproxy.binary if self.way == "local" else ""}
        return {**unset, **places, **of_the_backend}

    def pods(self, *nodes: int) -> None:
        address = "127.0.11.{}" if self.case.host else "10.244.{}.7"
        self.rig.kube.put(objects.slice_(f"{SERVICE}-1", SERVICE, [objects.endpoint(address.format(i), f"n{i}") for i in nodes],
                                         namespace=NAMESPACE, ports=[objects.port(self.case.port if self.case.host else 8443)]))

    def adopted(self) -> str:
        """The file with the words that the page says a managed line gets if it has none."""
        def line(found: re.Match[str]) -> str:
            words = [word for word in ("check", "weight 100") if word.split()[0] not in found[1].split()]
            return " ".join([found[1], *words]) + found[2]

        head, body = re.split(rf"(?<=\nbackend {self.case.backend})(?=\s)", self.text)
        section = re.match(r".*\n(?:\s.*\n)*", body)
        assert section
        ours = re.compile(r"^(\s+server\s+\S+ 127\.0\.11\.[12]:.*?)([ \t]*(?:#.*)?)$", re.M)
        return head + ours.sub(line, section[0]) + body[section.end():]

    def now(self) -> str:
        return self.rig.haproxy.config.read_text()

    def command(self, *words: str) -> tuple[int, str]:
        done = subprocess.run([str(program()), *words], env=self.rig.settings(**self.settings(), LISTEN_ADDRESS=f"127.0.0.1:{free_port()}"), capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def servers(self) -> dict[str, str]:
        return server_lines(self.now(), self.case.backend)

    def same(self, text: str, but: str = "") -> None:
        """The file is this one, byte for byte; an API writes the sections with the same lines and words in another order. but: lines that do
        not count."""
        if self.way == "local":
            found, desired = ([line for line in each.splitlines(keepends=True) if not (but and re.match(but, line))] for each in (self.now(), text))
            assert found == desired, "".join(difflib.unified_diff(desired, found))
        else:
            assert sections(self.now(), but) == sections(text, but)


def sections(text: str, but: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    at = ""
    for line in text.splitlines():
        words = " ".join(re.sub(r"(^|\s)#.*", "", line).split())
        if not words or (but and re.match(but, line)):
            continue
        if re.match(r"\S", line):
            at = re.sub(r" from unnamed_defaults_\d+$|^(defaults) unnamed_defaults_\d+$", r"\1", words)
            found[at] = Counter()
        else:
            found[at][" ".join(sorted(words.replace(" 1000", " 1s").split()))] += 1
    return found


@pytest.fixture(params=["local", "api"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CASES, ids=str)
def site(request: pytest.FixtureRequest, way: str, tmp_path: pathlib.Path) -> Iterator[Site]:
    case = request.param
    original = (FILES / f"{case.file}.cfg").read_text()
    text = edited(original, case, way)
    rig = Rig(tmp_path, moved(text, tmp_path))
    rig.haproxy.options = ["-db", "-L", "lb-a"]
    rig.dataplane.auth = f"{USER}:{PASSWORD}"
    found = Site(rig, case, way, original, rig.haproxy.config.read_text())
    checked = subprocess.run([rig.haproxy.binary, "-c", "-L", "lb-a", "-f", rig.haproxy.config], capture_output=True, text=True, check=False)
    assert checked.returncode == 0 and "WARNING" not in checked.stderr, checked.stderr
    if way == "local":
        rig.pairs[0].dataplane = LocalFiles(rig.haproxy, tmp_path / "none")  # type: ignore[assignment]
    with rig:
        rig.service(node_ports={"https": (443, 0 if case.host else case.port)}, type_="ClusterIP" if case.host else "NodePort")
        found.pods(1, 2)
        yield found


def test_only_the_lines_of_the_page_are_added(site: Site) -> None:
    # What the page has in place of `listen NAME` is all that is not an addition.
    changed = [line for line in difflib.ndiff(site.original.splitlines(), edited(site.original, site.case, site.way).splitlines()) if line[0] in "+-"]
    assert [line for line in changed if line[0] == "-"] in ([], [f"- listen {site.case.backend}"])

    status, said = site.command("doctor")
    assert status == 0, said
    daemon = site.rig.start(**site.settings())
    site.rig.wait_in_sync()
    site.same(site.adopted())

    first = set(site.servers())
    site.pods(1, 2, 3)
    wait_until(lambda: set(site.servers()) == first | {"n3"}, 20, "a server for the third node")
    wait_until(lambda: site.rig.haproxy.states(site.case.backend).get("n3") == "ready", 20, "the third node's server in the running HAProxy")
    site.same(site.adopted(), but=OURS)
    site.pods(1, 2)
    wait_until(lambda: is_parked(site.servers()["n3"]), 20, "the third node's server parked")
    site.same(site.adopted(), but=OURS)

    daemon.close()
    status, said = site.command("release", "--yes")
    assert status == 0 and "released" in said, said
    site.same(site.adopted())

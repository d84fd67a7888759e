"""The load balancer of docs/haproxy-side.md, with the very files of docs/examples: HAProxy and the Data Plane API are started with them
and the daemon with its own, and traffic follows the pods. Only names of places are replaced: paths, addresses, ports, the program."""

from __future__ import annotations

import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import pytest

from tests.harness import objects
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import DataPlane, HAProxy, RealDataPlane
from tests.harness.process import ROOT, free_port, wait_until

from .world import SERVICE, World, dataplane_of

pytestmark = pytest.mark.needs_api("the pages about dataplaneapi.yml")

EXAMPLES = ROOT / "docs" / "examples"
USER, PASSWORD = "admin", "change-me"
BACKENDS = ("ingress-https", "ingress-http")
# What the pods listen on, by the names of the Service's ports.
PORTS = [objects.port(8443), objects.port(8080, "http")]


def moved(path: pathlib.Path, *changes: tuple[str, str]) -> str:
    """The file's text at another place; each of the changes has to apply."""
    text = path.read_text()
    for old, new in changes:
        assert old in text, f"{old!r} is not in {path}"
        text = text.replace(old, new)
    return text


class DocumentedDataPlane(RealDataPlane):
    """Started with nothing but the file of the page, the one for this HAProxy."""

    def command(self) -> list[str]:
        assert self.haproxy is not None
        changes = [("/etc/haproxy/haproxy.cfg", str(self.config)), ("/usr/sbin/haproxy", self.haproxy.binary),
                   ("host: 192.0.2.10", "host: 127.0.0.1"), ("port: 5555", f"port: {self.port}"),
                   ("/var/lib/dataplaneapi", str(self.dir / "lib"))]
        if self.haproxy.can_reload_by_socket:
            page = EXAMPLES / "haproxy" / "dataplaneapi.yml"
            # What is there for form's sake would show if it were used.
            changes += [("/run/haproxy-master.sock", str(self.haproxy.master_socket)), ("systemctl reload haproxy", "/bin/false")]
        else:
            page = EXAMPLES / "haproxy" / "dataplaneapi-2.6.yml"
            plain = super().command()
            changes += [("systemctl reload haproxy", plain[plain.index("--reload-cmd") + 1])]
        own = self.dir / "dataplaneapi.yml"
        own.write_text(moved(page, *changes))
        return [self.binary, "-f", str(own)]


@pytest.fixture
def documented(world: World) -> World:
    """World with the page's HAProxy in place of its own, and both of the Service's ports."""
    world.dataplane.stop()
    world.haproxy.stop()
    ports = {"fe-http": str(free_port()), "health": str(free_port())}
    cfg = moved(EXAMPLES / "haproxy" / "haproxy.cfg", ("/run/haproxy/admin.sock", "{d}/haproxy.sock"), ("bind :443\n", "bind 127.0.0.1:{fe}\n"),
                ("bind :80\n", "bind 127.0.0.1:{fe-http}\n"), ("bind 127.0.0.1:8404", "bind 127.0.0.1:{health}"))
    if os.geteuid() != 0:
        cfg = cfg.replace("  user haproxy\n  group haproxy\n", "")
    world.haproxy = HAProxy(world.home / "lb", cfg, world.haproxy.binary, ports)
    world.frontends = {"ingress-https": world.haproxy.port, "ingress-http": int(ports["fe-http"]), "health": int(ports["health"])}
    world.dataplane = dataplane(world)
    world.dataplane.auth = f"{USER}:{PASSWORD}"
    world.start()
    return world


def dataplane(world: World) -> DataPlane:
    parts = world.combination.parts()
    if world.combination.dataplane == "real":
        return DocumentedDataPlane(world.haproxy, world.home / "api", str(parts["dataplaneapi"]))
    return dataplane_of(world.haproxy, world.home / "api", world.combination, parts)


def settings(world: World) -> dict[str, str]:
    """The page's env file, the password's file as our unit names it, and where this world's API server is."""
    password = world.home / "password"
    password.write_text(PASSWORD + "\n")
    text = moved(EXAMPLES / "haproxy-k8s-sync.env", ("ingress-nginx/ingress-nginx-controller", f"{world.namespace}/{SERVICE}"),
                 ("http://127.0.0.1:5555", world.dataplane.url))
    given = dict(line.split("=", 1) for line in text.splitlines())
    return {**given, "HAPROXY_DATAPLANE_PASSWORD_FILE": str(password), "KUBECONFIG": str(world.kube.kubeconfig(world.rights.token)),
            "MAX_LOSS_PERCENT": "100", "LOG_LEVEL": "debug"}


def health(world: World) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{world.frontends['health']}/healthz", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as e:
        return e.code


def command(word: str, env: dict[str, str], *expected: int) -> None:
    """`haproxy-k8s-sync plan` and the like, in the daemon's environment."""
    done = subprocess.run([program(), word], env=clean_env(**env), cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode in expected, f"{word}: exit {done.returncode}\n{done.stdout}{done.stderr}"


@pytest.mark.every_combination
def test_the_load_balancer_of_the_page(documented: World) -> None:
    world = documented
    http_port = world.open_port()
    world.put_service(node_ports={"https": (443, world.node_port), "http": (80, http_port)})
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b", ports=PORTS)
    assert health(world) == 503, "the page says: 503 where no node is left"
    env = settings(world)
    command("plan", env, 2)
    world.adopt(Daemon(world.home / "daemon", env).start())
    world.expect("node-a", "node-b", backend="ingress-https")
    world.expect("node-a", "node-b", backend="ingress-http", port=http_port)
    world.in_step(backends=2)
    wait_until(lambda: health(world) == 200, 20, "keepalived's question to be answered by 200")
    command("plan", env, 0)
    command("doctor", env, 0)

    with world.no_reload():
        world.put_slice("node-a", terminating=["node-b"], ports=PORTS)
        for backend in BACKENDS:
            world.expect_resting("node-b", backend=backend)
        world.put_slice("node-a", ports=PORTS)
        world.expect("node-a", backend="ingress-https")
        world.expect("node-a", backend="ingress-http", port=http_port)
        world.put_slice("node-a", "node-b", ports=PORTS)
        world.expect("node-a", "node-b", backend="ingress-https")
    assert world.daemon.metrics().state("runtime_verification") == "verified", "nothing of this page may cost a reload that need not be"

    world.put_nodes("node-c")
    world.put_slice("node-a", "node-b", "node-c", ports=PORTS)
    world.expect("node-a", "node-b", "node-c", backend="ingress-https")
    world.expect("node-a", "node-b", "node-c", backend="ingress-http", port=http_port)
    world.in_step(backends=2)
    text = world.dataplane.file()
    for kept in ("monitor fail if { nbsrv(ingress-https) lt 1 }", "default-server inter 2s rise 2 fall 2", "timeout tunnel 1h"):
        assert kept in text or kept.replace("inter 2s rise 2 fall 2", "fall 2 inter 2s rise 2") in text, f"{kept!r} is gone:\n{text}"

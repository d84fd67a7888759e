"""Secrets are in memory only, and there no longer than they are in use: every kind of them is given, replaced, and searched for."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness import memory
from tests.harness.certificates import Authority, Pair
from tests.harness.daemon import Daemon, quick_program
from tests.harness.process import wait_until

from .rig import TEMPLATE, Rig
from .wrapped import sees_memory, start_in


def key_forms(pem: str) -> dict[str, bytes]:
    """A P-256 key: a piece of its PEM text, and the number itself (in SEC1/PKCS#8 DER as in an OpenSSL BIGNUM, which is little-endian)."""
    body = "".join(pem.splitlines()[1:-1])
    number = base64.b64decode(body)[36:68]
    return {"PEM": body[40:80].encode(), "number": number, "number reversed": number[::-1]}


def login_forms(user: str, password: str) -> dict[str, bytes]:
    return {"text": password.encode(), "basic": base64.b64encode(f"{user}:{password}".encode())[:-4]}


class Secrets:
    """One generation of them all."""

    def __init__(self, name: str, key: Pair, variable: str = ""):
        self.name = name
        self.variable = variable or f"Var-{name}-w4tersnake"
        self.token, self.password, self.kube = (f"{kind}-{name}-{word}" for kind, word in
                                                (("Tok", "dr4gonfly"), ("Pass", "k1ngfisher"), ("Kube", "s4lamander")))
        self.key = key

    def forms(self) -> dict[str, bytes]:
        kinds = {"variable": login_forms("hermes", self.variable), "token": {"text": self.token.encode()},
                 "line": login_forms("iris", self.password), "kube token": {"text": self.kube.encode()},
                 "client key": key_forms(self.key.key.read_text()), "haproxy.cfg": {"text": f"File-{self.name}-0ctopus".encode()}}
        return {f"{kind}, {form}": needle for kind, forms in kinds.items() for form, needle in forms.items()}


# haproxy.cfg has passwords, too: the daemon reads all of it.
CONFIG = TEMPLATE.replace("  user admin insecure-password adminpwd\n", "  user admin insecure-password adminpwd\n  user zeus insecure-password File-first-0ctopus\n")


class World:
    """Three Data Plane APIs: one by the variables, one by a token, one by a line and mutual TLS; Kubernetes by a token file and, inline, a key."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.ca = Authority(home / "pki")
        server = self.ca.server()
        self.rig = Rig(home, CONFIG, haproxies=3, tls=(server.certificate, server.key), ca=self.ca.certificate, client_ca=self.ca.certificate, token="unused")
        self.variables, self.by_token, self.by_line = (pair.dataplane for pair in self.rig.pairs)
        self.by_line.serve_tls(server, self.ca.certificate, self.ca.client("harness"))
        self.inline = self.ca.client("inline")
        self.first = Secrets("first", self.ca.client("one"))

    def serve(self, secrets: Secrets) -> None:
        """The servers take these and no others; the files are changed to them."""
        self.variables.more = ["--user", f"hermes:{secrets.variable}"]
        self.by_token.more = ["--token", secrets.token]
        self.by_line.more = ["--user", f"iris:{secrets.password}"]
        (self.home / "kube-token").write_text(secrets.kube)
        (self.home / "variable").write_text(secrets.variable)
        (self.home / "lines").write_text(f"{self.by_token.url} Bearer {secrets.token}\n{self.by_line.url} iris:{secrets.password}\n")
        for source, name in ((secrets.key.certificate, "tls.crt"), (secrets.key.key, "tls.key")):
            (self.home / f"{name}.new").write_text(source.read_text())
            os.replace(self.home / f"{name}.new", self.home / name)

    def kubeconfig(self) -> pathlib.Path:
        def data(path: pathlib.Path) -> str:
            return base64.b64encode(path.read_bytes()).decode()
        path = self.home / "config"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.rig.kube.url, "certificate-authority-data": data(self.ca.certificate)}}],
            "users": [{"name": "u", "user": {"tokenFile": str(self.home / "kube-token"), "client-certificate-data": data(self.inline.certificate),
                                             "client-key-data": data(self.inline.key)}}]}))
        return path

    def start(self, by: str) -> Daemon:
        given = {"HAPROXY_DATAPLANE_PASSWORD": self.first.variable} if by == "variable" else \
                {"HAPROXY_DATAPLANE_PASSWORD": "", "HAPROXY_DATAPLANE_PASSWORD_FILE": str(self.home / "variable")}
        settings = self.rig.settings(KUBECONFIG=str(self.kubeconfig()), RESYNC_PERIOD="1s", SECCOMP="true", HAPROXY_DATAPLANE_USERNAME="hermes",
                                     HAPROXY_DATAPLANE_CREDENTIALS_FILE=str(self.home / "lines"), HAPROXY_DATAPLANE_CA_FILE=str(self.ca.certificate),
                                     HAPROXY_DATAPLANE_CERT_FILE=str(self.home / "tls.crt"), HAPROXY_DATAPLANE_KEY_FILE=str(self.home / "tls.key"), **given)
        self.rig.daemon = Daemon(self.home / "daemon", settings, quick_program()).start()
        return self.rig.daemon


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    made = World(tmp_path)
    made.serve(made.first)
    with made.rig:
        made.rig.kube.tokens(**{made.first.kube: "admin"})
        yield made


def shown(daemon: Daemon) -> str:
    """All that others can see of it."""
    proc = pathlib.Path(f"/proc/{daemon.pid}")
    text = "".join((proc / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ", "comm", "maps"))
    pages = [daemon.get(path)[1] for path in ("/metrics", "/readyz", "/livez", "/nowhere", "/%", "/nowhere?a=b")]
    return "\n".join([text, *pages, daemon.log()])


def all_gone(daemon: Daemon, needles: dict[str, bytes]) -> None:
    def gone() -> bool:
        left = memory.places(daemon.pid, needles)
        assert not left, json.dumps(left, indent=1)
        return True

    wait_until(gone, 20, "what was replaced to be nowhere in memory", interval=0.5)


@sees_memory
@pytest.mark.parametrize("by", ["variable", "file"])
def test_secrets_are_nowhere_but_in_memory_and_there_only_the_current_ones(world: World, by: str) -> None:
    rig, first = world.rig, world.first
    daemon = world.start(by)
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers_everywhere(1, 2)
    assert {"variable, text", "token, text", "line, text", "kube token, text"} <= set(memory.places(daemon.pid, first.forms())), "this test sees none"
    second = Secrets("second", world.ca.client("two"), variable=first.variable if by == "variable" else "")
    world.serve(second)
    for dataplane in (world.variables, world.by_token, world.by_line):
        dataplane.restart()
    for pair in rig.pairs:
        pair.hand_edit(pair.dataplane.file().replace("File-first-", "File-second-"))
    rig.kube.tokens(**{second.kube: "admin"})
    rig.kube.disconnect(how="reset")
    rig.pods(1, 2, 3)
    rig.wait_servers_everywhere(1, 2, 3, timeout=40)
    rig.wait_in_sync(timeout=40)
    replaced = {name: needle for name, needle in first.forms().items() if needle not in second.forms().values()}
    all_gone(daemon, replaced)
    text = shown(daemon)
    everything = [*first.forms().values(), *second.forms().values(), *key_forms(world.inline.key.read_text()).values()]
    assert not [needle for needle in everything if needle.decode(errors="replace") in text]
    assert "PRIVATE KEY" not in text


@sees_memory
def test_watches_that_go_on_keep_one_copy_of_the_token_they_began_with_and_not_for_longer(world: World) -> None:
    """libcurl keeps the text of a request over TLS in the buffer that it was sent from, until the request ends: nobody but libcurl can
    reach that. It is the only place."""
    daemon = world.start("variable")
    world.rig.wait_in_sync()
    wait_until(lambda: len(world.rig.kube.open_watches()) == 3, 20, "three watches")
    world.rig.kube.tokens(**{"Kube-second": "admin"})
    (world.home / "kube-token").write_text("Kube-second")
    world.rig.kube.disconnect(resource="services", how="reset")
    daemon.wait_log("Kubernetes token renewed")
    wait_until(lambda: len(world.rig.kube.open_watches()) == 3, 20, "the third one again")
    assert len(world.rig.kube.requests("nodes", "watch")) == len(world.rig.kube.requests("endpointslices", "watch")) == 1, "these were to go on"
    old = {"kube token": world.first.kube.encode()}

    def two_left() -> bool:
        left = memory.places(daemon.pid, old).get("kube token", [])
        assert len(left) <= 2 and all(",application/json" in place for place in left), json.dumps(left, indent=1)
        return True

    wait_until(two_left, 20, "one copy for each old watch", interval=0.5)
    world.rig.kube.disconnect(how="reset")
    all_gone(daemon, old)


@pytest.mark.skipif(pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core", reason="the kernel hands core dumps to a program: none would show here")
def test_crash_leaves_no_core(rig: Rig) -> None:
    """Where the kernel writes one, with a limit that allows for it: another program leaves one there, the daemon does not."""
    place = rig.home / "cores"
    place.mkdir()
    frame = f"cd {place}; ulimit -c unlimited"
    subprocess.run(["bash", "-c", f"{frame}; kill -SEGV $$"], check=False)
    assert list(place.iterdir()), "no program leaves a core here: nothing would be proven"
    for path in place.iterdir():
        path.unlink()
    daemon = start_in(rig, f"{frame}; exec $DAEMON")
    rig.wait_in_sync()
    os.kill(daemon.pid, signal.SIGSEGV)
    assert daemon.process is not None
    status = daemon.process.popen.wait(20)
    daemon.process = None
    assert status == -signal.SIGSEGV and not list(place.iterdir())

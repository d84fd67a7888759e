"""A whole haproxy.cfg from a Secret: followed by its name, applied, refused with key and line, kept when the Secret goes, paused."""

from __future__ import annotations

import base64
import fcntl
import http.client
import pathlib
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import memory
from tests.harness.certificates import Authority
from tests.harness.certificates import Pair as Certificate
from tests.harness.daemon import Daemon, quick_program
from tests.harness.process import free_port, wait_until

from .rig import Rig, program
from .test_secrets import all_gone
from .wrapped import sees_memory

NAMESPACE, NAME = "haproxy", "haproxy-config"
SOURCE = {"CONFIG_SOURCE": "secret", "CONFIG_SECRET_NAMESPACE": NAMESPACE, "CONFIG_SECRET_NAME": NAME,
          # No servers are managed.
          "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "", "HAPROXY_BACKEND_PORT": "",
          "MAX_LOSS_PERCENT": "", "RESYNC_PERIOD": "1s"}


def secret(text: str | bytes | None, key: str = "haproxy.cfg", name: str = NAME, **annotations: str) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
            "data": {} if data is None else {key: base64.b64encode(data).decode()}}


class Site:
    def __init__(self, rig: Rig):
        self.rig = rig
        self.first = rig.haproxy.config.read_text()

    def text(self, balance: str = "roundrobin") -> str:
        return f"{self.first}\nbackend by-{balance}\n  mode tcp\n"

    def start(self, binary: pathlib.Path | None = None, **settings: str) -> Daemon:
        return self.rig.start(binary, **{**SOURCE, **settings})

    def runs(self, balance: str) -> Callable[[], bool]:
        return lambda: f"\nby-{balance},BACKEND," in self.rig.haproxy.runtime("show stat")

    def applied(self, balance: str, timeout: float = 20) -> None:
        wait_until(self.runs(balance), timeout, f"HAProxy to have backend by-{balance}")


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    with Rig(tmp_path) as rig:
        yield Site(rig)


def test_it_is_applied_and_followed_by_its_name(site: Site) -> None:
    kube = site.rig.kube
    kube.put(secret("not this one\n", name="another"))
    daemon = site.start()
    daemon.wait_not_ready("Secret haproxy/haproxy-config does not exist")
    kube.put(secret(site.text()))
    site.applied("roundrobin")
    daemon.wait_ready()
    assert {entry["resource"] for entry in kube.requests()} - {""} == {"secrets", "events"}  # "": it is being read
    assert all(entry["query"]["fieldSelector"] == "metadata.name=haproxy-config" for entry in kube.requests("secrets", "watch"))

    kube.put(secret(site.text("first")))
    site.applied("first")
    # Another key, an annotation: nothing that is meant changed.
    seen, commits = len(daemon.log()), site.rig.commits()
    changed = secret(site.text("first"), note="x")
    changed["data"]["other"] = "eA=="
    kube.put(changed)
    daemon.wait_ready()
    assert "configuration changed" not in daemon.log()[seen:] and site.rig.commits() == commits


BAD = [
    (secret(None), "Secret haproxy/haproxy-config has no key haproxy.cfg: it has none"),
    (secret("x", key="haproxy.conf"), "has no key haproxy.cfg: it has haproxy.conf; name the right one by CONFIG_SECRET_KEY"),
    (secret(""), "Secret haproxy/haproxy-config, key haproxy.cfg: .*empty"),
    (secret(b"global\n  maxconn 5\n# \xff\n"), "Secret haproxy/haproxy-config, key haproxy.cfg: line 3: "),
    (secret(b"global\n\0\n"), "Secret haproxy/haproxy-config, key haproxy.cfg: line 2: ")]


def test_what_cannot_be_used_changes_nothing(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start()
    site.applied("roundrobin")
    daemon.wait_ready()
    before = site.rig.dataplane.file()
    for bad, says in BAD:
        site.rig.kube.put(bad)
        daemon.wait_log("msg=\"configuration refused; the last good one stays\".*" + says)
        daemon.wait_not_ready(says)
        assert site.rig.dataplane.file() == before
    site.rig.kube.put(secret(site.text("first")))
    site.applied("first")
    daemon.wait_ready()


def test_a_deleted_secret_changes_nothing(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start()
    site.applied("roundrobin")
    before = site.rig.dataplane.file()
    site.rig.kube.delete(secret(""))
    daemon.wait_not_ready("Secret haproxy/haproxy-config does not exist")
    assert site.rig.dataplane.file() == before
    # The same again: it is applied already.
    site.rig.kube.put(secret(site.text()))
    daemon.wait_ready()
    assert site.rig.dataplane.file() == before


def test_a_refusal_is_said_once(site: Site) -> None:
    """Though the Secret is seen again: the daemon's own annotations change it."""
    site.rig.kube.put(secret(site.text()))
    daemon = site.start(CONFIG_REPORT="annotation")
    site.applied("roundrobin")

    def says(status: str) -> bool:
        found = next(i for i in site.rig.kube.state()["items"] if i["kind"] == "Secret")["metadata"]["annotations"]
        return bool(found.get("haproxy.operator/status") == status)

    wait_until(lambda: says("Applied"), 20, "the annotation Applied")
    site.rig.kube.put(secret(""))
    wait_until(lambda: says("Error"), 20, "the annotation Error")
    site.rig.kube.put(secret("", note="x"))
    site.rig.kube.put(secret(site.text("first")))
    site.applied("first")
    wait_until(lambda: says("Applied"), 20, "the annotation Applied")
    assert daemon.log().count("configuration refused") == 1
    results = [line for line in daemon.get("/metrics")[1].splitlines() if re.search(r'results_total\{result="(refused|recovered)"', line)]
    assert [line.split()[-1] for line in results] == ["1", "1"], results


def test_an_annotation_pauses(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start()
    site.applied("roundrobin")
    for annotation, balance in (("haproxy-k8s-sync/paused", "first"), ("haproxy.operator/paused", "random")):
        before, seen = site.rig.dataplane.file(), len(daemon.log())
        site.rig.kube.put(secret(site.text(balance), **{annotation: "true"}))
        daemon.wait_log("configuration paused", since=seen)
        daemon.wait_not_ready("validated; not written yet")
        assert site.rig.dataplane.file() == before
        site.rig.kube.put(secret(site.text(balance), **{annotation: "false"}))
        site.applied(balance)
        daemon.wait_log("configuration no longer paused", since=seen)


def test_the_right_to_it_is_missing(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    site.rig.kube.forbid("secrets")
    daemon = site.start()
    daemon.wait_not_ready("watch secrets of haproxy/haproxy-config: not synced: ")
    site.rig.kube.forbid()
    site.applied("roundrobin", 40)


def test_a_shared_folder_goes_with_the_leader(site: Site) -> None:
    """Rejections and a rollback survive its change; who stands by touches nothing there."""
    kube, state = site.rig.kube, site.rig.home / "state"
    kube.put(secret(site.text()))
    election = {**SOURCE, "LEADER_ELECT": "true", "LEASE_NAMESPACE": NAMESPACE, "STATE_DIR": str(state)}
    first = site.start(**election)
    site.applied("roundrobin")
    kube.put(secret(site.text("first")))
    site.applied("first")
    second = Daemon(site.rig.home / "second", site.rig.settings(**election), first.binary).start()
    try:
        second.wait_log("standing by")
        done = subprocess.run([program(), "config", "rollback"], env=first.env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        site.applied("roundrobin")
        first.stop()
        second.wait_log("leadership acquired")
        second.wait_log("configuration rolled back")
        second.wait_ready()
        assert "by-roundrobin" in site.rig.dataplane.file()
        assert "request refused" not in second.log() and "cannot write" not in first.log() + second.log()
    finally:
        second.close()


def test_a_folder_that_another_daemon_has_is_waited_for(site: Site) -> None:
    """As in a rolling update without an election of leaders."""
    site.rig.kube.put(secret(site.text()))
    shared = {**SOURCE, "STATE_DIR": str(site.rig.home / "state")}
    first = site.start(**shared)
    site.applied("roundrobin")
    second = Daemon(site.rig.home / "second", site.rig.settings(**shared), first.binary).start()
    try:
        second.wait_log("STATE_DIR is used by another haproxy-k8s-sync")
        second.wait_not_ready("STATE_DIR: used by another haproxy-k8s-sync")
        first.stop()
        site.rig.kube.put(secret(site.text("first")))
        site.applied("first")
        second.wait_ready()
        assert second.log().count("STATE_DIR is used by another") == 1
    finally:
        second.close()


def test_what_is_asked_for_while_nobody_leads_is_done_by_who_leads_then(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    state = site.rig.home / "state"
    state.mkdir()
    with open(state / "lock", "w", encoding="ascii") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        daemon = site.start(STATE_DIR=str(state))
        daemon.wait_log("STATE_DIR is used by another haproxy-k8s-sync")
        (state / "request").write_text("apply\n")
        daemon.wait_not_ready("STATE_DIR: used by another haproxy-k8s-sync")
        assert (state / "request").exists()
    wait_until(lambda: not (state / "request").exists(), 20, "the request is taken up")
    daemon.wait_log('"request done" request=apply')


@sees_memory
def test_what_was_replaced_is_nowhere_in_memory(site: Site) -> None:
    """But for the file from before, which would be put back; see test_secrets.py for the other secrets."""
    def with_password(n: int) -> str:
        return site.text().replace("user admin", f"user zeus insecure-password Sec-{n}-w4termelon\n  user admin").replace("by-", f"by-{n}-")

    def forms(n: int) -> dict[str, bytes]:
        needle = f"Sec-{n}-w4termelon".encode()
        # Three of them: where it stands among base64's groups of three is not known.
        return {"text": needle, **{f"base64+{i}": base64.b64encode(b"x" * i + needle)[4:-4] for i in range(3)}}

    state = site.rig.home / "state"  # without it, the last versions are in memory
    state.mkdir()
    site.rig.kube.put(secret(with_password(0)))
    daemon = site.rig.daemon = Daemon(site.rig.home / "daemon", site.rig.settings(**SOURCE, STATE_DIR=str(state)), quick_program()).start()
    site.applied("0-roundrobin")
    assert "text" in memory.places(daemon.pid, forms(0)), "this test sees none"
    for n in (1, 2):
        site.rig.kube.put(secret(with_password(n)))
        site.applied(f"{n}-roundrobin")
    all_gone(daemon, forms(0))
    assert "w4termelon" not in daemon.log()


def test_an_operator_s_environment_and_command(site: Site) -> None:
    """Its names, defaults and flags, and a listener each for metrics and probes."""
    metrics, probes = free_port(), free_port()
    text = secret(site.text())
    text["metadata"]["namespace"] = "haproxy-operator"
    site.rig.kube.put(text)
    given = site.rig.settings(**SOURCE)
    user, password = given["HAPROXY_DATAPLANE_USERNAME"], given["HAPROXY_DATAPLANE_PASSWORD"]
    command = site.rig.home / "command"
    command.write_text(f"#!/bin/sh\nexec {program()} --mode=k8s --dataplane-url={site.rig.dataplane.url}/v3 \"$@\"\n")
    command.chmod(0o755)
    site.rig.daemon = Daemon(site.rig.home / "daemon", {
        "KUBECONFIG": given["KUBECONFIG"], "DATAPLANE_USERNAME": user, "DATAPLANE_PASSWORD": password,
        "METRICS_ADDR": f"127.0.0.1:{metrics}", "PROBE_ADDR": f"127.0.0.1:{probes}"}, command).start()
    site.applied("roundrobin")
    site.rig.daemon.wait_ready()
    assert [(port, path, status(port, path)) for port in (metrics, probes) for path in ("/metrics", "/readyz", "/healthz", "/")] == [
        (metrics, "/metrics", 200), (metrics, "/readyz", 404), (metrics, "/healthz", 404), (metrics, "/", 404),
        (probes, "/metrics", 404), (probes, "/readyz", 200), (probes, "/healthz", 200), (probes, "/", 404)]


def status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def certificate_of(pair: Certificate, name: str, *left_out: str) -> dict[str, Any]:
    data = {"tls.crt": pair.certificate.read_text(), "tls.key": pair.key.read_text()}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": name, "namespace": NAMESPACE},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items() if key not in left_out}}


def test_a_certificate_that_cannot_be_used(site: Site) -> None:
    """It is no rejection: with the certificate, the same haproxy.cfg is applied."""
    pair = Authority(site.rig.home / "pki").server()
    site.rig.kube.put(secret(site.text()))
    daemon = site.start(CONFIG_CERTS_SECRETS="shop-tls")
    daemon.wait_not_ready("Secret haproxy/shop-tls: it does not exist")
    for left_out in ("tls.key", "tls.crt"):
        site.rig.kube.put(certificate_of(pair, "shop-tls", left_out))
        daemon.wait_not_ready(f"Secret haproxy/shop-tls: it has no key {left_out}")
    assert "\nby-roundrobin,BACKEND," not in site.rig.haproxy.runtime("show stat")
    site.rig.kube.put(certificate_of(pair, "shop-tls"))
    site.applied("roundrobin")
    daemon.wait_ready()


NO_FILES: list[tuple[dict[str, bytes], str]] = [
    ({"maps_..": b"x"}, "key maps_..: maps/..: the name of a file"),
    ({"maps_hosts.map": b"a b\n" + b"x" * (1 << 20) + b" b\n"}, "key maps_hosts.map: maps/hosts.map: line 2 has 1048578 bytes"),
    ({"certs_shop.pem": b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"}, "key certs_shop.pem: certs/shop.pem: "),
    ({"maps_a.b.map": b"x y\n", "maps_a_b.map": b"x y\n"}, "it is stored as a_b.map, as is maps/a")]


def test_a_key_that_is_no_file(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start()
    site.applied("roundrobin")
    for files, says in NO_FILES:
        bad = secret(site.text("first"))
        bad["data"].update({key: base64.b64encode(text).decode() for key, text in files.items()})
        site.rig.kube.put(bad)
        daemon.wait_not_ready("Secret haproxy/haproxy-config: .*" + says)
    assert not site.rig.dataplane.get("/storage/maps").json() and "\nby-first,BACKEND," not in site.rig.haproxy.runtime("show stat")
    site.rig.kube.put(secret(site.text("first")))
    site.applied("first")
    daemon.wait_ready()


def test_files_that_come_with_it(site: Site) -> None:
    """A certificate of a TLS Secret, and a map of a key: stored before the haproxy.cfg that refers to them is applied."""
    pair = Authority(site.rig.home / "pki").server()
    site.rig.kube.put(certificate_of(pair, "shop-tls"), secret(site.text()))
    daemon = site.start(CONFIG_CERTS_SECRETS="shop-tls")
    site.applied("roundrobin")
    folder = site.rig.dataplane.get("/storage/ssl_certificates").json()[0]["file"].rsplit("/", 1)[0]
    more = secret(site.text("first") + f"\nfrontend tls\n  mode tcp\n  bind unix@{site.rig.home}/tls.sock ssl crt {folder}/shop-tls.pem\n")
    more["data"]["maps_hosts.map"] = base64.b64encode(b"a b\n").decode()
    site.rig.kube.put(more)
    site.applied("first")
    daemon.wait_ready()
    assert [f["storage_name"] for f in site.rig.dataplane.get("/storage/maps").json()] == ["hosts.map"]

    site.rig.kube.delete(certificate_of(pair, "shop-tls"))
    daemon.wait_not_ready("Secret haproxy/shop-tls: it does not exist")
    assert [f["file"] for f in site.rig.dataplane.get("/storage/ssl_certificates").json()] == [f"{folder}/shop-tls.pem"]
    assert "\nby-first,BACKEND," in site.rig.haproxy.runtime("show stat") and "shop-tls.pem" in site.rig.dataplane.file()
    site.rig.kube.put(certificate_of(pair, "shop-tls"))
    daemon.wait_ready()

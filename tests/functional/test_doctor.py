"""`doctor`: what it finds where all is well, and in everything that goes wrong between here and a working sync."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness import objects
from tests.harness.certificates import Authority
from tests.harness.daemon import clean_env
from tests.harness.ingress import ingress, peer
from tests.harness.kube import KubeDouble, write_kubeconfig
from tests.harness.process import Process, free_port, wait_until

from .doctor import look, lines, run
from .rig import BY_NODE_PORT, NAMESPACE, SERVICE, SEVERAL, TEMPLATE, Rig, program

LEADER = {"LEADER_ELECT": "true"}
EVENTS = {"EMIT_EVENTS": "true"}
READY_TO_GO = "Ready. haproxy-k8s-sync plan shows"


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that says this to everybody; its URL."""
    def say(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(answer)

    with peer(say, "127.0.0.1") as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig")) as made:
        made.service(policy="Local")
        yield made


@pytest.fixture
def rig(shared: Rig) -> Iterator[Rig]:
    """Most only read: all of them at the same one. What a test does to the doubles is undone here."""
    state = shared.kube.state()
    yield shared
    shared.dataplane.clear_faults()
    shared.kube.clear_faults()
    shared.kube.forbid()
    shared.kube.tokens()
    shared.kube.listening(True)
    shared.kube.restore(state)


# --- all is well

def test_all_is_well(rig: Rig, tmp_path: pathlib.Path) -> None:
    with ingress("haproxy", tmp_path, "127.0.11.1") as ports:
        found = look(rig, HAPROXY_BACKEND_PORT=str(ports["tls"]), **LEADER, **EVENTS)
    assert found.status == 0 and READY_TO_GO in found.text
    assert {check["status"] for check in found.checks if check["id"] not in ("clock.synchronised", "daemon.running")} == {"ok"}, found.text
    assert [check["section"] for check in found.checks] == sorted(
        (check["section"] for check in found.checks),
        key=["settings", "kubernetes", "service", "haproxy", "backend", "proxy", "daemon", "clock"].index)
    for id_, text in (("kubernetes.version", "v1.34"), ("kubernetes.credentials", "admin"), ("kubernetes.rights.nodes", "list, watch nodes"),
                      ("kubernetes.rights.lease", f"get, watch, update leases {NAMESPACE}/haproxy-k8s-sync"),
                      ("kubernetes.rights.events", f"create, patch events in {NAMESPACE}"),
                      ("service.object", "NodePort, policy Local: https 443 (nodePort 30443)"), ("service.endpoints", "1 ready of 1"),
                      ("service.nodes", "5, all with an address"), ("service.servers", "1 for backend be: n1"),
                      ("haproxy.credentials", "user admin"), ("haproxy.version", "Data Plane API 3.4"),
                      ("haproxy.running", str(rig.haproxy.socket)), ("haproxy.master-worker", "the master reloads with a new worker"),
                      ("backend.exists", "1 managed, 1 unmanaged"), ("backend.mode", "tcp"), ("proxy.nodes", "do not expect it"),
                      ("clock.kubernetes", "within 2 s"), ("clock.haproxy", "within 2 s")):
        found.says(id_, "ok", text)


def test_on_a_terminal_and_into_nothing(rig: Rig) -> None:
    coloured = run(rig, "--color=always")
    assert "\x1b[32m[ok]\x1b[0m" in coloured.stdout
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([program(), "doctor"], env=clean_env(**rig.settings()), stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=20, check=False)
    assert done.returncode == 1


def test_a_dry_run_and_a_pause(rig: Rig) -> None:
    rig.service(policy="Local", annotations={"haproxy-k8s-sync/paused": "true"})
    found = look(rig, DRY_RUN="true", **LEADER)
    assert found.status == 0
    assert "DRY_RUN=false" in lines(found.says("settings.dry-run", "warn", "writes nothing"))
    assert f"kubectl -n {NAMESPACE} annotate service {SERVICE} haproxy-k8s-sync/paused-" in lines(
        found.says("service.paused", "warn", "nothing is written"))
    assert not found.all("kubernetes.rights.lease"), "a dry run is no candidate"


# --- settings

def test_settings(rig: Rig) -> None:
    found = look(rig, HAPROXY_BACKEND_PORT="70000", INGRES_SERVICE_NAME="x")
    assert found.status == 78
    found.says("settings", "fail", 'HAPROXY_BACKEND_PORT="70000"')
    found.says("settings", "warn", "did you mean INGRESS_SERVICE_NAME")
    assert {check["section"] for check in found.checks} == {"settings"}
    found = look(rig, DRYRUN="1")
    assert found.status == 78
    found.says("settings", "fail", '"DRYRUN" is not a setting of this program; did you mean DRY_RUN?')


# --- the way to Kubernetes

def test_no_kubeconfig(rig: Rig) -> None:
    for settings, text in (({"KUBECONFIG": "/nowhere/config"}, "no such file: /nowhere/config"),
                           ({"KUBECONFIG": ""}, "KUBERNETES_SERVICE_HOST")):
        found = look(rig, **settings)
        assert found.failed() == ["kubernetes.access"]
        check = found.says("kubernetes.access", "fail", text)
        assert any("KUBECONFIG=" in line for line in lines(check))
        for id_ in ("kubernetes.connection", "kubernetes.rights", "service.object", "backend.plan", "proxy.nodes"):
            assert found.one(id_)["status"] == "skip"
        # What does not depend on it is checked all the same.
        found.says("haproxy.running", "ok", "runs")
        found.says("backend.mode", "ok", "tcp")


def test_no_listener_at_the_api(rig: Rig, tmp_path: pathlib.Path) -> None:
    rig.kube.listening(False)
    found = look(rig)
    assert found.failed() == ["kubernetes.connection"]
    found.says("kubernetes.connection", "fail", "Connection refused")
    found.says("kubernetes.credentials", "skip", "needs a connection")
    nowhere = write_kubeconfig(tmp_path / "config", "https://no-such-host.invalid:6443")
    found = look(rig, KUBECONFIG=str(nowhere))
    assert "getent ahosts no-such-host.invalid" in lines(found.says("kubernetes.name", "fail", "no-such-host.invalid"))


def test_an_api_that_hangs(rig: Rig) -> None:
    rig.kube.fault(hang=True, times=0)
    rig.dataplane.fault({"action": "hang"})
    found = look(rig, "--timeout=500ms")
    assert found.failed() == ["kubernetes.answer", "haproxy.answer"]
    found.says("kubernetes.answer", "fail", "no answer in time (--timeout)")


def test_tls_of_kubernetes(tmp_path: pathlib.Path, rig: Rig) -> None:
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    pair = authority.server("api")
    with KubeDouble(tmp_path, tls=(pair.certificate, pair.key), token="t") as kube:
        def config(name: str, **more: object) -> dict[str, str]:
            return {"KUBECONFIG": str(kube.kubeconfig(tmp_path / name, token="t", **more))}

        found = look(rig, **config("unknown", ca=other.certificate))
        assert found.failed() == ["kubernetes.tls"]
        assert "certificate-authority" in json.dumps(found.says("kubernetes.tls", "fail", "not trusted here"))
        found = look(rig, **config("name", ca=authority.certificate, cluster={"tls-server-name": "other.test"}))
        assert any("subjectAltName" in line for line in lines(found.says("kubernetes.tls", "fail", "for other names")))
        found = look(rig, **config("insecure", ca=None, cluster={"insecure-skip-tls-verify": True}))
        found.says("kubernetes.tls", "warn", "not verified")
        found = look(rig, **config("good", ca=authority.certificate))
        found.says("kubernetes.tls", "ok", "certificate verified")
        found.says("kubernetes.certificates", "warn", "CA until")
        plain = write_kubeconfig(tmp_path / "plain", rig.kube.url.replace("http:", "https:"))
        look(rig, "--timeout=30s", KUBECONFIG=str(plain)).says("kubernetes.tls", "fail", "speaks no TLS")


def test_credentials(rig: Rig, tmp_path: pathlib.Path) -> None:
    rig.kube.tokens(good="admin")
    stranger = rig.kube.kubeconfig(tmp_path / "stranger", token="wrong")
    found = look(rig, KUBECONFIG=str(stranger))
    assert found.failed() == ["kubernetes.credentials"]
    assert f"kubectl -n {NAMESPACE} create token haproxy-k8s-sync --duration=8760h" in lines(
        found.says("kubernetes.credentials", "fail", "refused: HTTP 401: Unauthorized"))
    found = look(rig, KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "nobody", token="")))
    assert "kubernetes.credentials" in found.failed()
    found.says("kubernetes.credentials", "fail", "system:anonymous")
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false", "interactiveMode": "Never"}
    found = look(rig, KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "plugin", token="", user={"exec": plugin})))
    assert found.failed() == ["kubernetes.credentials"]
    found.says("kubernetes.credentials", "fail", "/bin/false")


@pytest.mark.parametrize(("forbidden", "settings", "id_", "status", "text"), [
    ("watch nodes", {}, "nodes", "fail", "watch nodes: not allowed"),
    ("services", {}, "services", "warn", "list, watch services ingress/web: not allowed"),
    ("services", BY_NODE_PORT, "services", "fail", "HAPROXY_BACKEND_PORT is not set"),
    ("update leases", LEADER, "lease", "fail", "update leases ingress/haproxy-k8s-sync: not allowed"),
    ("patch events", EVENTS, "events", "warn", "patch events in ingress"),
])
def test_a_right_that_is_missing(rig: Rig, forbidden: str, settings: dict[str, str], id_: str, status: str, text: str) -> None:
    rig.kube.put(objects.endpoints(SERVICE, [("10.244.1.7", "n1")], namespace=NAMESPACE))
    rig.kube.forbid(forbidden)
    found = look(rig, **settings)
    check = found.says(f"kubernetes.rights.{id_}", status, text)
    assert found.status == (1 if status == "fail" else 0)
    assert status == "ok" or any(line.startswith("kubectl ") and line.endswith(" --user=admin") for line in lines(check))
    assert any(line.startswith("HAPROXY_BACKEND_PORT=") for line in lines(check)) == (settings is BY_NODE_PORT), "which is set elsewhere"
    others = [c for c in found.checks if c["id"].startswith("kubernetes.rights.") and c is not check]
    assert all(c["status"] == "ok" for c in others)


# --- the Service

def test_no_such_service(rig: Rig) -> None:
    found = look(rig, INGRESS_SERVICE_NAME="wbe", **BY_NODE_PORT)
    fixes = lines(found.says("service.object", "fail", "there is no Service wbe in namespace ingress"))
    assert fixes == ["INGRESS_SERVICE_NAME=web"] and "wbe" not in str(fixes), "the wrong name is nothing to be copied"
    found.says("service.endpoints", "skip", "needs the object")
    assert found.failed()[0] == "service.object"


def test_a_port_that_cannot_be_known(rig: Rig) -> None:
    rig.service(policy="Local", node_ports={"http": (80, 30080), "https": (443, 30443)})
    found = look(rig, **BY_NODE_PORT)
    assert set(lines(found.says("service.port", "fail", "2 ports"))) == {"INGRESS_SERVICE_PORT=http", "INGRESS_SERVICE_PORT=https"}
    look(rig, INGRESS_SERVICE_PORT="http", **BY_NODE_PORT).says("service.port", "ok", "30080")
    rig.service(policy="Local")
    found = look(rig, INGRESS_SERVICE_PORT="htps", **BY_NODE_PORT)
    assert lines(found.says("service.port", "fail", 'no port "htps"')) == ["INGRESS_SERVICE_PORT=https"]


EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"


def test_all_nodes_have_the_exclude_label(rig: Rig) -> None:
    """As kubeadm labels control-plane nodes, with an empty value; the fix is one."""
    for i in range(1, 6):
        rig.node(i, labels={EXCLUDE: ""})
    check = look(rig).says("service.nodes", "fail", "none of 5 may have a server")
    assert "NODE_EXCLUDE_LABEL=ignore" in lines(check)
    found = look(rig, NODE_EXCLUDE_LABEL="ignore")
    assert found.status == 0 and not found.failed()
    found.says("service.servers", "ok", ": n1")
    rig.node(2)
    check = look(rig).says("service.nodes", "ok", "1 of 5 may have a server")
    assert EXCLUDE in check["found"]


def test_no_endpoint_is_ready_and_many_transactions_are_open(rig: Rig) -> None:
    rig.pods(1, 2, conditions=objects.NOT_READY)
    for _ in range(12):
        rig.dataplane.begin()
    try:
        found = look(rig)
    finally:
        for transaction in rig.transactions():
            rig.dataplane.delete(f"/transactions/{transaction['id']}")
    assert f"kubectl -n {NAMESPACE} get pods -o wide" in lines(found.says("service.endpoints", "fail", "2, none of them ready"))
    found.says("service.servers", "fail", "none for backend be")
    found.says("proxy.nodes", "skip", "needs a server")
    assert any("-X DELETE" in line for line in lines(found.says("haproxy.transactions", "warn", "12 are open")))


# --- the Data Plane API

def test_refused_by_the_data_plane_api(rig: Rig) -> None:
    found = look(rig, HAPROXY_DATAPLANE_PASSWORD="hunter2-secret")
    assert found.failed() == ["haproxy.credentials"]
    said = lines(found.says("haproxy.credentials", "fail", "user admin is refused: HTTP 401"))
    assert {"userlist dataplaneapi", "dataplaneapi:", "HAPROXY_DATAPLANE_USERNAME=admin"} <= set(said)
    found.says("haproxy.version", "skip", "needs credentials")
    no_user = {"HAPROXY_DATAPLANE_USERNAME": "", "HAPROXY_DATAPLANE_PASSWORD": ""}
    look(rig, **no_user).says("haproxy.credentials", "fail", "none are set, and the API requires them")
    look(rig, HAPROXY_DATAPLANE_TOKEN="t0ken-secret", **no_user).says("haproxy.credentials", "fail", "knows no tokens")


@pytest.mark.parametrize(("rules", "id_", "text"), [
    ([{"action": "answer", "path": "^/v3/info", "status": 404, "body": {"code": 404, "message": "path /v3/info was not found"}},
      {"action": "answer", "path": "^/v2/info", "status": 200, "body": {"api": {"version": "v2.9.1 abc"}}}],
     "haproxy.version", "a Data Plane API of version 2 (2.9.1)"),
    ([{"action": "html"}], "haproxy.version", "no Data Plane API answers at this URL"),
    ([{"action": "garbage"}], "haproxy.answer", "no answer came"),
    ([{"action": "huge", "path": "/v3/info"}], "haproxy.answer", "larger than"),
    ([{"action": "answer", "path": "/v3/info", "status": 503, "body": "upstream is down"}], "haproxy.version", "503: upstream is down"),
])
def test_no_data_plane_api_of_version_3(rig: Rig, rules: list[dict[str, object]], id_: str, text: str) -> None:
    rig.dataplane.fault(*rules)
    found = look(rig)
    assert found.failed() == [id_]
    found.says(id_, "fail", text)
    assert found.one("service.servers")["status"] == "ok"


def test_no_listener_at_the_data_plane_api(rig: Rig) -> None:
    found = look(rig, HAPROXY_DATAPLANE_URL=f"http://127.0.0.1:{free_port()}")
    assert found.failed() == ["haproxy.connection"]
    assert any("systemctl status dataplaneapi" in line for line in lines(found.says("haproxy.connection", "fail", "nothing listens")))
    found = look(rig, HAPROXY_DATAPLANE_URL="unix:/nowhere/d.sock")
    found.says("haproxy.connection", "fail", "cannot connect to unix socket /nowhere/d.sock")
    found = look(rig, HAPROXY_DATAPLANE_URL=rig.dataplane.url.replace("http:", "https:"))
    found.says("haproxy.tls", "fail", "speaks no TLS")
    found = look(rig, HAPROXY_DATAPLANE_URL="https://127.0.0.1:1", HAPROXY_DATAPLANE_CA_FILE="/nowhere/ca.pem")
    found.says("haproxy.access", "fail", "HAPROXY_DATAPLANE_CA_FILE: /nowhere/ca.pem")


def test_half_answers(rig: Rig) -> None:
    """What is only for people may be missing, odd or malicious; the rest is shown."""
    rig.dataplane.fault({"action": "answer", "path": "configuration/global", "status": 404, "body": {"message": "no"}},
                        {"action": "answer", "path": "transactions$", "status": 200, "body": "<html>"},
                        {"action": "answer", "path": "reloads$", "status": 500, "body": {"message": "\u001b[31mred"}})
    found = look(rig)
    assert found.status == 0
    found.says("haproxy.transactions", "skip", "does not say")
    found.says("haproxy.reload", "skip", "\\u001b[31mred" if "\\u001b" in found.text else "red")
    found.says("haproxy.master-worker", "ok", "the master reloads with a new worker")  # by its process, which is on this machine


def test_drift(rig: Rig) -> None:
    try:
        rig.haproxy.runtime("set server be/n1 addr 127.0.11.7 port 30443")
        found = look(rig)
        assert found.status == 0
        found.says("haproxy.drift", "warn", "n1: HAProxy runs it at 127.0.11.7:30443")
        found.says("backend.plan", "warn", "a reload is due")
    finally:
        rig.haproxy.runtime("set server be/n1 addr 127.0.11.1 port 30443")


# --- HAProxy, each with one of its own

def test_the_backend(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, SEVERAL.replace("backend be2\n", "backend be2\n  server-template n 1-3 127.0.11.97:80\n")) as rig:
        rig.service(policy="Local")
        look(rig, HAPROXY_BACKEND_NAME="be2").says("backend.lines", "warn", "no server n1")
        found = look(rig, HAPROXY_BACKEND_NAME="nope")
        assert found.failed() == ["backend.exists"]
        said = lines(found.says("backend.exists", "fail", "haproxy.cfg has no backend of this name"))
        assert {"backend nope", "  mode tcp", "HAPROXY_CREATE_BACKEND=true"} <= set(said)
        found = look(rig, HAPROXY_BACKEND_NAME="nope", HAPROXY_CREATE_BACKEND="true")
        assert found.status == 0
        found.says("backend.exists", "ok", "will create it")
        found = look(rig, HAPROXY_BACKEND_NAME="be3")
        found.says("backend.plan", "ok", "2 changes to make, with a reload; haproxy-k8s-sync plan shows them")


def test_a_line_that_a_write_would_damage(tmp_path: pathlib.Path) -> None:
    # HAProxy takes this keyword; 3.0 of the Data Plane API does not know it and drops it with any write.
    strange = "  server strange 127.0.11.50:1 check no-check-send-proxy\n"
    with Rig(tmp_path, TEMPLATE.replace("  server sorry", f"{strange}  server sorry"), "3.0") as rig:
        rig.service(policy="Local")
        found = look(rig)
        assert found.failed() == ["haproxy.file"]
        found.says("haproxy.file", "fail", '("server strange" of backend be) would be lost or changed')


def test_reloads_and_a_deaf_runtime(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, deaf=True) as rig:
        rig.service(policy="Local")
        found = look(rig)
        assert found.status == 0
        assert any("level admin" in line for line in lines(found.says("haproxy.runtime", "warn", "cannot read the running HAProxy")))
        rig.dataplane.fault({"action": "fail-reload", "times": 1, "message": "no memory"})
        rig.dataplane.follow(str(rig.dataplane.commit(rig.dataplane.begin()).headers["Reload-ID"]))
        found = look(rig)
        assert "haproxy.reload" in found.failed()
        assert "haproxy -c -f /etc/haproxy/haproxy.cfg" in lines(found.says("haproxy.reload", "fail", "no memory"))
        rig.haproxy.stop()
        found = look(rig)
        assert "systemctl status haproxy" in lines(found.says("haproxy.running", "fail", "cannot reach it"))
        found.says("haproxy.runtime", "skip", "needs HAProxy")


def test_sockets_and_masters(tmp_path: pathlib.Path) -> None:
    template = TEMPLATE.replace("level admin expose-fd listeners", "level operator")
    with Rig(tmp_path, template) as rig:
        rig.service(policy="Local")
        look(rig).says("haproxy.runtime", "warn", "no stats socket in haproxy.cfg has level admin")
        worker, rig.haproxy.process = rig.haproxy.process, None
        assert worker
        worker.stop()
        with Process([rig.haproxy.binary, "-db", "-f", str(rig.haproxy.config)], tmp_path / "alone.log", name="haproxy"):
            wait_until(lambda: "Pid:" in rig.haproxy.runtime("show info"), 10, "haproxy without a master")
            found = look(rig)
            assert "global" in lines(found.says("haproxy.master-worker", "fail", "HAProxy runs without a master"))


def test_several_of_each(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, SEVERAL, haproxies=2) as rig:
        rig.service(policy="Local")
        services = f"{NAMESPACE}/{SERVICE}:https=be,{NAMESPACE}/{SERVICE}:https=be2"
        single = dict.fromkeys(("INGRESS_NAMESPACE", "INGRESS_SERVICE_NAME", "HAPROXY_BACKEND_NAME", "HAPROXY_BACKEND_PORT"), "")
        found = look(rig, INGRESS_SERVICES=services, **single)
        assert found.status == 0
        assert [c["subject"] for c in found.all("backend.plan")] == ["be", "be2", "be", "be2"]
        assert [c["subject"] for c in found.all("haproxy.version")] == [p.dataplane.url for p in rig.pairs]
        assert len(found.all("kubernetes.rights.services")) == 1
        rig.pairs[0].dataplane.stop()
        found = look(rig, INGRESS_SERVICES=services, **single)
        assert found.failed() == ["haproxy.connection"]
        assert [c["status"] for c in found.all("haproxy.version")] == ["skip", "ok"]
        assert [c["subject"] for c in found.all("backend.plan")] == ["be", "be2"]
        assert f"Backend be  (at {rig.pairs[1].dataplane.url})" in found.text


# --- hostile names

def test_what_others_say_drives_no_terminal(rig: Rig) -> None:
    body = b'{"api":{"version":"v3.\x1b]0;owned\x07 \xe2\x80\xae \xff"}}'
    with answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body) as url:
        done = run(rig, HAPROXY_DATAPLANE_URL=url)
    assert "owned" in done.stdout
    assert not set("\x1b\x07\u202e\ufffd") & set(done.stdout)
    assert done.returncode == 1

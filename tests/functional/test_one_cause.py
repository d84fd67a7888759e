"""An API server that is away is one line of the log, and one when it is back, whatever asks it: watches, Lease, Events, annotations, templates."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon
from tests.harness.process import free_port, wait_until

from .rig import BY_NODE_PORT, NAMESPACE, SERVICE, SEVERAL, Rig
from .test_commands import run
from .test_config_secret import NAME, SOURCE, secret
from .test_config_secret import NAMESPACE as SECRETS
from .test_template_source import ingress

ALWAYS = {"LEADER_ELECT": "true", "LEASE_NAMESPACE": NAMESPACE, "EMIT_EVENTS": "true"}
SET = "watch:\n  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress}\n  settings: {apiVersion: v1, kind: ConfigMap, namespaces: [here, there]}\n"
AWAY, BACK = "no contact with the Kubernetes API|no complete list from the Kubernetes API", "contact with the Kubernetes API recovered"
OUT_OF_REACH = "Lease out of reach"

Settings = dict[str, str]


def servers(rig: Rig) -> Settings:
    rig.service(node_ports={"http": (80, 30080), "https": (443, 30443)})
    rig.kube.put(*(objects.service(name, namespace="other", node_ports={"http": (80, port)}) for name, port in (("api", 30081), ("www", 30082))))
    web = f"{NAMESPACE}/{SERVICE}"
    return {**BY_NODE_PORT, "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "",
            "INGRESS_SERVICES": f"{web}:https=be, other/www:http=be2, other/api=be3"}


def from_secret(rig: Rig) -> Settings:
    rig.kube.put(secret(rig.haproxy.config.read_text()))
    return {**SOURCE, "CONFIG_SECRET_NAMESPACE": SECRETS, "CONFIG_SECRET_NAME": NAME, "CONFIG_REPORT": "annotation",
            "STATE_DIR": str(rig.home / "state")}


def templates(rig: Rig) -> Settings:
    (rig.home / "set").mkdir()
    (rig.home / "set" / "set.yaml").write_text(SET)
    (rig.home / "set" / "haproxy.cfg.j2").write_text(rig.haproxy.config.read_text())
    rig.kube.put(ingress("one"))
    return {**SOURCE, "CONFIG_SOURCE": "template", "CONFIG_SECRET_NAMESPACE": "", "CONFIG_SECRET_NAME": "", "TEMPLATE_FROM": f"file:{rig.home / 'set'}"}


def annotated(rig: Rig) -> Settings:
    before = rig.home / "before.cfg"
    before.write_text(rig.haproxy.config.read_text())
    made = objects.service("shop", namespace="shop", node_ports={"web": (80, 30090)}, annotations={"haproxy-kubefigurator.web.listen-port": "19090"})
    made["metadata"]["labels"] = {"haproxy-kubefigurator.enabled": "yes"}
    rig.kube.put(made)
    return {**SOURCE, "CONFIG_SOURCE": "services", "CONFIG_SECRET_NAMESPACE": "", "CONFIG_SECRET_NAME": "", "CONFIG_FILE": str(before)}


def into_etcd(rig: Rig) -> Settings:
    """Without an etcd, which is a cause of its own."""
    return {**from_secret(rig), "CONFIG_TARGET": "etcd", "ETCD_ENDPOINTS": "http://127.0.0.1:1", "HAPROXY_DATAPLANE_URL": "", "HAPROXY_DATAPLANE_USERNAME": "",
            "HAPROXY_DATAPLANE_PASSWORD": ""}


SITES: dict[str, Callable[[Rig], Settings]] = {"servers": servers, "secret": from_secret, "both": lambda rig: from_secret(rig) | servers(rig),
                                                 "templates": templates, "annotated": annotated, "etcd": into_etcd}


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, SEVERAL) as made:
        made.kube.tokens(good="admin")
        yield made


def start(rig: Rig, site: str, **kubeconfig: Any) -> Daemon:
    settings = SITES[site](rig)
    config = rig.kube.kubeconfig(rig.home / "mine", **{"token": "good", **kubeconfig})
    return rig.start(**{**ALWAYS, **settings, "KUBECONFIG": str(config)})


def leader(rig: Rig, site: str) -> Daemon:
    """And what it writes of its configuration is written, so that no trouble comes amid that."""
    daemon = start(rig, site)
    daemon.wait_log("leadership acquired")
    if site in ("secret", "both"):
        wait_until(lambda: [asked for asked in rig.kube.requests("secrets", "patch") if not asked["open"]], 20, "its annotations")
    return daemon


def about(daemon: Daemon, since: int = 0) -> list[str]:
    """Lines of trouble with the API server, without those of what follows from it."""
    return [line for line in daemon.log()[since:].splitlines() if re.search("level=(warn|error)", line) and not re.search("leadership lost|configuration refused", line)
            and re.search("Kubernetes|Lease|Secret|resource of the templates", line)]


def check_loss(daemon: Daemon, since: int, says: str) -> None:
    assert [bool(re.search(f"{AWAY}.*{says}", line)) for line in about(daemon, since)] == [True], about(daemon, since)


@pytest.mark.parametrize("site", SITES)
def test_one_that_goes_is_one_line_and_one_when_it_is_back(rig: Rig, site: str) -> None:
    daemon = leader(rig, site)
    since = len(daemon.log())
    rig.kube.listening(False)
    rig.kube.disconnect()
    daemon.wait_log(f'{OUT_OF_REACH}(.*\n)*.*{OUT_OF_REACH}', since=since)
    daemon.wait_log(f'msg="({AWAY}).*refused', since=since)
    check_loss(daemon, since, "refused")
    if site == "servers":
        daemon.wait_log("level=warn .*leadership lost", timeout=60, since=since)
        assert len(re.findall("level=warn .*refused", daemon.log()[since:])) == 1, "that it steps down needs no cause again"
    rig.kube.listening(True)
    daemon.wait_log(BACK, since=since)
    check_loss(daemon, since, "refused")
    assert len(re.findall(BACK, daemon.log()[since:])) == 1 and "again" not in daemon.log()[since:]


def test_credentials_that_are_refused_are_one_line(rig: Rig) -> None:
    daemon = leader(rig, "both")
    since = len(daemon.log())
    rig.kube.tokens(other="admin")
    rig.kube.disconnect()
    daemon.wait_log(OUT_OF_REACH, since=since)
    daemon.wait_log(f'msg="({AWAY}).*reason=unauthorized', since=since)
    rig.kube.tokens(good="admin")
    daemon.wait_log(BACK, since=since)
    check_loss(daemon, since, "401")


# What is wrong in the kubeconfig, and what is said of it.
CAUSES: dict[str, tuple[dict[str, str], str]] = {
    "refused": ({"server": "https://127.0.0.1:1"}, "Connection refused"),
    "name": ({"server": "https://nowhere.invalid:6443"}, "Could not resolve host"),
    "no TLS": ({"server": "https://127.0.0.1:{port}"}, "is this an https port"),
    "401": ({"token": "wrong"}, "HTTP 401"),
    "anonymous": ({"token": ""}, "system:anonymous.*no credentials are sent"),
}


def wrong(rig: Rig, cause: str) -> dict[str, Any]:
    said = CAUSES[cause][0]
    return said if "token" in said else {"cluster": {"server": said["server"].replace("{port}", rig.kube.url.rpartition(":")[2])}}


@pytest.mark.parametrize("site, cause", [("servers", "refused"), ("secret", "name"), ("templates", "no TLS"), ("annotated", "401"), ("etcd", "anonymous")])
def test_one_that_was_never_there(rig: Rig, site: str, cause: str) -> None:
    daemon, says = start(rig, site, **wrong(rig, cause)), CAUSES[cause][1]
    daemon.wait_log(f'msg="({AWAY}).*{says}')
    daemon.wait_log("level=debug.*(no contact|out of reach)")
    check_loss(daemon, 0, says)


# --- commands

COMMANDS = {"plan": (servers, ["plan", "--daemon=none"]), "explain": (servers, ["explain", "n1"]), "services view": (annotated, ["services", "view"]),
            "services explain": (annotated, ["services", "explain", "shop/shop"])}


@pytest.mark.parametrize("command, cause", [("plan", "refused"), ("explain", "no TLS"), ("explain", "name"), ("services view", "401"), ("services explain", "anonymous")])
def test_a_command_does_not_wait_for_it(rig: Rig, command: str, cause: str) -> None:
    """Unverified: with sanitizers it takes a second of processor time to read the system's authorities, in each try."""
    (site, words), config = COMMANDS[command], wrong(rig, cause)
    if "cluster" in config:
        config["cluster"]["insecure-skip-tls-verify"] = True
    settings = {**rig.settings(**site(rig)), "LOG_LEVEL": "info", "LISTEN_ADDRESS": f"127.0.0.1:{free_port()}",
                "KUBECONFIG": str(rig.kube.kubeconfig(rig.home / "mine", **{"token": "good", **config}))}
    done = run(*words, "--timeout=10m", env={name: value for name, value in settings.items() if value})
    assert done.returncode == 1 and len(re.findall(CAUSES[cause][1], done.stdout + done.stderr)) == 1, done.stdout + done.stderr
    if command in ("plan", "explain"):
        said = " ".join(done.stderr.split())
        assert re.match("Kubernetes API https?://[^ ]* cannot be used: ", said) and said.endswith("doctor checks the way to it"), done.stderr


REFUSED = ({"HAPROXY_DATAPLANE_URL": "http://127.0.0.1:1"}, "Connection refused")


@pytest.mark.parametrize("words, setting, says", [
    (["plan", "--daemon=none"], *REFUSED), (["release"], *REFUSED), (["release", "--yes"], {"HAPROXY_DATAPLANE_PASSWORD": "wrong"}, "HTTP 401"),
    (["config", "plan"], {"HAPROXY_DATAPLANE_URL": "http://nowhere.invalid:5555"}, "resolve"), (["config", "validate"], *REFUSED),
    (["config", "apply"], *REFUSED)], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_a_command_does_not_wait_for_a_data_plane_api_either(rig: Rig, words: list[str], setting: Settings, says: str) -> None:
    kubeconfig = rig.kube.kubeconfig(rig.home / "mine", token="good")
    settings = {**rig.settings(**servers(rig)), "LOG_LEVEL": "info", "LISTEN_ADDRESS": f"127.0.0.1:{free_port()}", "KUBECONFIG": str(kubeconfig), **setting}
    more = [str(rig.haproxy.config)] if words[0] == "config" else []
    done = run(*words, *more, "--timeout=10m", env={name: value for name, value in settings.items() if value})
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and said.count(says) == 1, said


def test_a_certificate_of_another_authority_is_one_line(tmp_path: pathlib.Path) -> None:
    ours, another = Authority(tmp_path / "ours"), Authority(tmp_path / "another")
    pair = ours.server()
    with Rig(tmp_path, SEVERAL, tls=(pair.certificate, pair.key), ca=ours.certificate) as rig:
        rig.kube.tokens(good="admin")
        daemon = start(rig, "servers", ca=another.certificate)
        for watch in ("nodes", "endpointslices of ingress/web", "services of other/api"):
            daemon.wait_not_ready(f"watch {watch}: not synced: .*TLS")
        check_loss(daemon, 0, "TLS")


# What stands between them answers instead of the API server, or the API server itself has no etcd.
ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "load balancer": ({"status": 503, "body": "<html>503 Service Unavailable</html>", "contentType": "text/html"}, "503 Service Unavailable"),
    "no etcd": ({"status": 500, "message": "etcdserver: request timed out"}, "etcdserver: request timed out"),
    "too many": ({"status": 429, "message": "too many requests"}, "too many requests"),
}


@pytest.mark.parametrize("site, answer", [("servers", "load balancer"), ("both", "no etcd"), ("templates", "too many")])
def test_one_that_answers_all_with_the_same_trouble(rig: Rig, site: str, answer: str) -> None:
    daemon, (fault, says) = leader(rig, site), ANSWERS[answer]
    since = len(daemon.log())
    rig.kube.fault(**fault, times=0)
    rig.kube.disconnect()
    daemon.wait_log(f'msg="({AWAY}).*{says}', since=since)
    for resource in {kind for watch in rig.kube.open_watches() if (kind := watch["resource"]) != "leases"}:
        daemon.wait_log(f'level=debug .*no contact.*resource={resource} .*{says}', since=since)
    check_loss(daemon, since, says)
    rig.kube.clear_faults()
    daemon.wait_log(BACK, since=since)
    check_loss(daemon, since, says)
    assert len(re.findall(BACK, daemon.log()[since:])) == 1

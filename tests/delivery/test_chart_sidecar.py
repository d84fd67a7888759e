"""HAProxy in the daemon's pod: what the chart renders for it, and that pod played with a real HAProxy."""

from __future__ import annotations

import pathlib
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.wrapped import root_only
from tests.harness import http, objects
from tests.harness.haproxy import haproxy_binary
from tests.harness.kube import KubeDouble
from tests.harness.process import free_port, wait_until

from . import image
from .chart import cases, helm as chart, pod
from .chart.play import Pod

BOTH = ("haproxy", "haproxy-k8s-sync")


def spec(found: list[chart.Document]) -> dict[str, Any]:
    return chart.only(found, "Deployment")["spec"]["template"]["spec"]


def named(parts: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in parts}


# --- what is rendered


@pytest.mark.parametrize("name", ["sidecar", "sidecar-config", "sidecar-file"])
def test_both_containers_have_what_they_share(rendered: cases.Renderings, name: str) -> None:
    found = rendered[name]
    containers, settings = named(spec(found)["containers"]), pod.settings(found)
    assert [one["name"] for one in spec(found)["initContainers"]] == ["program", "haproxy-cfg"]
    assert tuple(containers) == BOTH and containers["haproxy"]["image"] == containers["haproxy-k8s-sync"]["image"]
    mounts = {c: {m["mountPath"]: m for m in containers[c]["volumeMounts"]} for c in BOTH}
    words = [*containers["haproxy"]["command"], *containers["haproxy"].get("args", [])]
    master = words[words.index("-S") + 1].split(",")[0]
    assert settings["HAPROXY_MASTER_SOCKET"] == master and settings["HAPROXY_CONFIG_FILE"] == words[words.index("-f") + 1]
    for path in (master, settings["HAPROXY_CONFIG_FILE"]):
        folder = path.rpartition("/")[0]
        assert mounts["haproxy"][folder]["name"] == mounts["haproxy-k8s-sync"][folder]["name"]
        assert "emptyDir" in named(spec(found)["volumes"])[mounts["haproxy"][folder]["name"]]
        assert not mounts["haproxy-k8s-sync"][folder].get("readOnly")
    assert mounts["haproxy"]["/etc/haproxy"]["readOnly"], "it is the daemon that writes there"
    assert not any(name.startswith(("HAPROXY_DATAPLANE_", "LEA")) for name in settings)
    assert spec(found).get("shareProcessNamespace") is None, "the reload goes by the master's socket"
    assert chart.only(found, "Deployment")["spec"]["strategy"]["type"] == "RollingUpdate", "each has a HAProxy of its own"
    assert "readinessProbe" not in containers["haproxy-k8s-sync"], "HAProxy serves on while Kubernetes cannot be reached"
    assert containers["haproxy-k8s-sync"]["resources"]["limits"]["memory"] == (
        "1Gi" if "CONFIG_SOURCE" in settings else "256Mi"), "haproxy -c runs in there"
    assert not [d for d in found if d["kind"] == "Role" for rule in d["rules"] if "leases" in rule["resources"]]


# --- the pod itself

TEMPLATE = """\
global
defaults
  mode http
  timeout connect 1s
  timeout client 5s
  timeout server 5s
frontend fe
  bind 127.0.0.1:{port}
  acl api path_reg -i ^/(v[0-9]+|api)/
  http-request return status 200 content-type text/plain string "zero" if !api
  default_backend be
backend be
  server sorry 127.0.11.99:80 backup
"""


class Played:
    def __init__(self, home: pathlib.Path, helm: pathlib.Path, kube: KubeDouble, ours: pathlib.Path, values: chart.Values, **contents: str):
        self.pages, self.port = free_port(), free_port()
        self.first = TEMPLATE.format(port=self.port)
        env = {"listenAddress": f"127.0.0.1:{self.pages}", "parkTTL": 0, "maxLossPercent": 100, **values.get("env", {})}
        given = {"sidecar": {"enabled": True, "image": "haproxy"}, "kubeconfig": {"existingSecret": "other"},
                 **{k: v for k, v in values.items() if k != "env"}, "env": env, "hostNetwork": True}
        given["sidecar"] = {"enabled": True, "image": "haproxy", **values.get("sidecar", {})}
        found = chart.render(helm, given)
        source = {name: {"haproxy.cfg": self.first} for name in ("first", "config")}
        secret = {"kubeconfig": kube.kubeconfig(home / "kubeconfig").read_text()}
        (home / "kubeconfig").unlink()
        own = spec(found)["initContainers"][0]["image"]
        # What the daemon brings with it is not to be found in HAProxy's image.
        hidden = ("/usr/lib/*/libevent*", "/usr/lib/*/libyyjson*", "/usr/lib/*/libcurl*", "/usr/lib/*/libyaml*", "/etc/haproxy/*", "/run/haproxy")
        # Not below home, whose name is too long for a socket.
        self.pod = Pod(pathlib.Path(tempfile.mkdtemp(prefix="pod-")), found, {own: (ours, ()), "haproxy": (pathlib.Path("/"), hidden)}, {**source, "kubeconfig": secret})

    def __enter__(self) -> "Played":
        self.pod.begin()
        try:
            for name in BOTH:
                self.pod.start(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.pod.stop()
        shutil.rmtree(self.pod.home)

    @property
    def config(self) -> pathlib.Path:
        return self.pod.volume("haproxy") / "haproxy.cfg"

    def ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(str(self.pod.volume("haproxy-run") / "master.sock"))
            s.sendall(f"@1 {command}\n".encode())
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while part := s.recv(65536):
                answer += part
        return answer.decode()

    def running(self) -> set[str]:
        return {line.split()[3] for line in self.ask("show servers state be").splitlines() if re.match(r"\d+ be ", line)}

    def worker(self) -> str:
        return re.findall(r"^Pid: (\d+)", self.ask("show info"), re.M)[0]

    def wait_servers(self, *names: str) -> None:
        def are_there() -> bool:
            in_file = set(re.findall(r"^\s+server (\S+)", self.config.read_text(), re.M))
            return in_file == self.running() == {*names, "sorry"}

        self.wait(are_there, f"{names} in file and HAProxy")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_until(condition, 30, what)
        except AssertionError as e:
            raise AssertionError(f"{e}\n" + "".join(self.pod.log(name) for name in BOTH)) from e

    def says(self) -> str:
        return http.request(f"http://127.0.0.1:{self.port}", "GET", "/").text


@pytest.fixture
def kube(tmp_path: pathlib.Path) -> Iterator[KubeDouble]:
    (tmp_path / "kube").mkdir()
    with KubeDouble(tmp_path / "kube") as made:
        made.put(*(objects.node(f"n{i}", f"127.0.11.{i}") for i in range(1, 4)))
        yield made


def pods(kube: KubeDouble, *nodes: int) -> None:
    kube.put(objects.slice_("web-1", "web", [objects.endpoint(f"10.244.{i}.7", f"n{i}", objects.READY) for i in nodes], namespace="ingress"))


needs_haproxy = pytest.mark.skipif(haproxy_binary() is None, reason="no haproxy here (Debian's package haproxy)")


@root_only
@needs_haproxy
def test_a_pod_keeps_the_servers_of_a_service(helm: pathlib.Path, kube: KubeDouble, tmp_path: pathlib.Path,
                                              tmp_path_factory: pytest.TempPathFactory) -> None:
    pods(kube, 1)
    env = {"ingressNamespace": "ingress", "ingressServiceName": "web", "haproxy": {"backendName": "be", "backendPort": 30443, "advCheck": "keep",
                                                                                  "balance": "keep"}}
    with Played(tmp_path, helm, kube, image.rootfs(tmp_path_factory), {"env": env, "sidecar": {"configMap": "first"}}) as played:
        played.wait_servers("n1")
        worker = played.worker()
        pods(kube, 1, 2, 3)
        played.wait_servers("n1", "n2", "n3")
        pods(kube, 1)
        played.wait_servers("n1")
        assert played.worker() == worker, "no reload: there is no stats socket, and it goes through the master"
        assert re.sub(r"  server n\d .*\n", "", played.config.read_text()) == played.first
        kept = played.config.read_text()
        played.pod.begin()  # as after a restart of the pod's sandbox
        assert played.config.read_text() == kept


@root_only
@needs_haproxy
def test_a_pod_follows_a_whole_configuration(helm: pathlib.Path, kube: KubeDouble, tmp_path: pathlib.Path,
                                             tmp_path_factory: pytest.TempPathFactory) -> None:
    values: chart.Values = {"config": {"source": "file", "file": {"configMap": "edge"}}, "env": {}}
    with Played(tmp_path, helm, kube, image.rootfs(tmp_path_factory), values) as played:
        played.wait(lambda: played.says() == "zero", "HAProxy to serve")
        source = played.pod.volume("config") / "haproxy.cfg"

        def put(text: str) -> None:
            fresh = source.with_suffix(".new")
            fresh.write_text(text)
            fresh.rename(source)

        played.wait(lambda: "configuration unchanged" in played.pod.log("haproxy-k8s-sync"), "it to be compared")
        put(played.first.replace('"zero"', '"one"'))
        played.wait(lambda: played.says() == "one", "the edit to run")
        put(played.first.replace("timeout server", "timeout servant"))
        played.wait(lambda: "configuration rejected" in played.pod.log("haproxy-k8s-sync"), "the rejection")
        assert "servant" in played.pod.log("haproxy-k8s-sync") and played.says() == "one"

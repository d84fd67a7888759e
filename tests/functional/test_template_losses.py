"""The loss limit of templates: what vanishes unannounced together stays for one RESYNC_PERIOD, and that is said; with the set `ingress`."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.harness import http
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HAProxy, haproxy_binary
from tests.harness.kube import KubeDouble
from tests.harness.process import wait_until

from . import ingress_set as sets
from .rig import program
from .test_local import TEMPLATE

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")

HOSTS = ("a.example", "b.example")


class Edge:
    def __init__(self, home: pathlib.Path, stack: contextlib.ExitStack):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        folder = sets.make(home, {}, http_bind=[f"127.0.0.1:{self.haproxy.port}"], server_options="no-check",
                           stats_socket=f"{self.haproxy.socket} mode 600 level admin expose-fd listeners")
        self.settings = {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{folder}", "HAPROXY_CONFIG_FILE": str(self.haproxy.config),
                         "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                         "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / "state"), "CONFIG_MIN_INTERVAL": "0s", "RESYNC_PERIOD": "6s"}
        self.port = stack.enter_context(sets.web("pod"))
        stack.enter_context(self.haproxy)
        stack.enter_context(self.kube)
        self.kube.put(sets.ingress_class(), *(made for host in HOSTS for made in self.objects(host)))

    def slice(self, host: str, **conditions: bool) -> sets.Object:
        return sets.endpoint_slice(host[0], sets.endpoint("127.0.0.1", **(conditions or {"ready": True})), port=self.port)

    def objects(self, host: str) -> list[sets.Object]:
        return [sets.ingress(host[0], sets.rule(host, ("Prefix", "/", host[0]))), sets.service(host[0]), self.slice(host)]

    def daemon(self) -> Daemon:
        return Daemon(self.home / "daemon", {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), **self.settings}, program())

    def served(self) -> list[bool]:
        return [http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/", headers={"Host": host}).text == "pod" for host in HOSTS]


@pytest.fixture
def edge(tmp_path: pathlib.Path) -> Iterator[Edge]:
    with contextlib.ExitStack() as stack:
        yield Edge(tmp_path, stack)


def unready(edge: Edge) -> None:
    edge.kube.put(*(edge.slice(host, ready=False, serving=False, terminating=False) for host in HOSTS))


def without_slices(edge: Edge) -> None:
    edge.kube.delete(*(edge.slice(host) for host in HOSTS))


def without_class(edge: Edge) -> None:
    edge.kube.delete(sets.ingress_class())


def without_ingresses(edge: Edge) -> None:
    """Learnt of by one list."""
    edge.kube.listening(False)
    edge.kube.disconnect()
    edge.kube.delete(*(edge.objects(host)[0] for host in HOSTS))
    edge.kube.compact()
    edge.kube.listening(True)


@pytest.mark.parametrize("lose, resource, says", [
    (unready, "slices", "2 endpoints of 2 Services vanished unannounced"), (without_slices, "slices", "2 endpoints of 2 Services vanished unannounced"),
    (without_class, "classes", "1 object vanished unannounced"), (without_ingresses, "ingresses", "2 objects vanished unannounced")])
def test_what_vanishes_together_stays_for_a_while(edge: Edge, lose: Callable[[Edge], None], resource: str, says: str) -> None:
    with edge.daemon() as daemon:
        wait_until(lambda: all(edge.served()), 20, f"both are served: {daemon.tail()}")
        daemon.wait_ready()
        lose(edge)
        wait_until(lambda: f"removals of {resource}: {says}, more than MAX_LOSS_PERCENT=50" in daemon.get("/readyz")[1], 20, f"it is said: {daemon.get('/readyz')[1]}")
        assert all(edge.served()) and daemon.metrics().value("template_removals_delayed", resource=resource) == int(says[0])
        watch = next(w for w in json.loads(daemon.get("/status")[1])["templates"]["watches"] if w["name"] == resource)
        assert watch["removal_delayed"] == int(says[0]) and 'msg="too many objects of the templates vanished; removal delayed"' in daemon.log()
        wait_until(lambda: not any(edge.served()), 20, "then they go")
        assert f"removals of {resource}" not in daemon.get("/readyz")[1] and daemon.metrics().value("template_removals_delayed", resource=resource) == 0


def test_what_is_announced_goes_at_once(edge: Edge) -> None:
    edge.settings["RESYNC_PERIOD"] = "1h"
    with edge.daemon() as daemon:
        wait_until(lambda: all(edge.served()), 20, f"both are served: {daemon.tail()}")
        edge.kube.put(*(edge.slice(host, ready=False, serving=False, terminating=True) for host in HOSTS))
        wait_until(lambda: not any(edge.served()), 20, "they end")
        assert "removals of" not in daemon.get("/readyz")[1]


@pytest.mark.parametrize("end, lose, resource", [(Daemon.stop, without_slices, "slices"), (Daemon.kill, without_ingresses, "ingresses")])
def test_what_vanishes_during_a_restart_stays_for_a_while(edge: Edge, end: Callable[[Daemon], object], lose: Callable[[Edge], None], resource: str) -> None:
    """And once more what is delayed when it restarts."""
    kept = edge.home / "state" / "objects"
    with edge.daemon() as daemon:
        wait_until(lambda: all(edge.served()), 20, f"both are served: {daemon.tail()}")
        wait_until(lambda: kept.exists() and kept.stat().st_mode & 0o777 == 0o600, 20, "what is seen is kept")
        for times in range(2):
            end(daemon)
            if times == 0:
                lose(edge)
            daemon.start()
            daemon.wait_ready()
            assert all(edge.served()) and f"removals of {resource}: 2 " in daemon.get("/readyz")[1]
            assert daemon.metrics().value("template_removals_delayed", resource=resource) == 2
        wait_until(lambda: not any(edge.served()), 20, "then they go")
        wait_until(lambda: f"removals of {resource}" not in daemon.get("/readyz")[1], 20, "and that is said no more")


def file_source(edge: Edge) -> None:
    edge.settings.update(CONFIG_SOURCE="file", CONFIG_FILE=str(edge.haproxy.config.with_name("own.cfg")))
    edge.haproxy.config.with_name("own.cfg").write_text(edge.haproxy.config.read_text())
    del edge.settings["TEMPLATE_FROM"]


def set_without_watches(edge: Edge) -> None:
    (edge.home / "bare").mkdir()
    (edge.home / "bare" / "set.yaml").write_text("haproxy.cfg: |\n" + "".join(f"  {line}\n" for line in edge.haproxy.config.read_text().splitlines()))
    edge.settings["TEMPLATE_FROM"] = f"file:{edge.home / 'bare'}"


def no_limit(edge: Edge) -> None:
    edge.settings["MAX_LOSS_PERCENT"] = "100"


@pytest.mark.parametrize("end", [file_source, set_without_watches, no_limit])
def test_secrets_that_are_kept_go_with_what_needs_them(edge: Edge, end: Callable[[Edge], None]) -> None:
    kept = edge.home / "state" / "objects"
    with edge.daemon() as daemon:
        wait_until(lambda: kept.exists() and "# secrets " in kept.read_text(), 20, "what is seen is kept")
        wait_until(lambda: all(edge.served()), 20, "both are served")
    end(edge)
    with edge.daemon() as daemon:
        daemon.wait_ready()
        wait_until(lambda: not kept.exists() or "# secrets" not in kept.read_text(), 20, f"it goes: {daemon.tail()}")

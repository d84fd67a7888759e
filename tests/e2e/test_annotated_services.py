"""Annotated Services of a real API server, as teams that used the older system have them: the node ports are the server's choice, the Events
are on the Services, and rights are those that the page names."""

from __future__ import annotations

import base64
import contextlib
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.test_annotated_services import subject_of
from tests.harness import http
from tests.harness.certificates import Pair, self_signed
from tests.harness.daemon import Daemon, clean_env, program
from tests.harness.haproxy import PLAIN, HAProxy
from tests.harness.health import HealthPort
from tests.harness.process import free_port, wait_until
from tests.harness.realkube import RealKube

from .account import NAME, RBAC, Account

OLD = "haproxy-kubefigurator"


class Place(Account):
    """A HAProxy that reads a file of ours behind the operator's, a namespace, and nodes of its own."""

    def __init__(self, home: pathlib.Path, kube: RealKube):
        super().__init__(kube, "services")
        self.home, self.port = home, free_port()
        self.haproxy = HAProxy(home / "haproxy", PLAIN)
        self.dynamic = home / "haproxy" / "dynamic.cfg"
        self.dynamic.write_text("# nothing yet\n")
        self.haproxy.files.append(self.dynamic)
        self.grant(("", "services"), ("", "nodes"), ("discovery.k8s.io", "endpointslices"), namespace=None)
        self.grant(("", "secrets", "shop-tls"), events=False)
        self.put("Role", "owners", RBAC, rules=[{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["owners"], "verbs": ["list", "watch", "patch"]}])
        self.put("RoleBinding", "owners", RBAC, subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
                 roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "owners"})
        self.put("ConfigMap", "owners")
        self.await_rights("/api/v1/nodes", "/apis/discovery.k8s.io/v1/endpointslices")

    def node(self, name: str, address: str) -> None:
        self.put("Node", f"{self.namespace}-{name}", namespace="", labels={"of": self.namespace})
        self.kube.admin.patch("Node", f"{self.namespace}-{name}", {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}, status=True)

    def service(self, name: str, policy: str = "Cluster", **options: str) -> int:
        """Its node port, which is the API server's choice."""
        said = {"listen-port": str(self.port), "use-ssl": "false", **{key.replace("_", "-"): value for key, value in options.items()}}
        self.put("Service", name, labels={"lb": self.namespace}, annotations={f"{OLD}.web-ui.{key}": value for key, value in said.items()},
                 spec={"type": "NodePort", "externalTrafficPolicy": policy, "ports": [{"name": "web-ui", "port": 443, "targetPort": 8443}], "selector": {"k8s-app": name}})
        return int(self.kube.admin.get("Service", name, self.namespace)["spec"]["ports"][0]["nodePort"])

    def pods(self, service: str, **states: str) -> None:
        """Node -> "ready", "leaving" or "unready": an endpoint on each."""
        conditions = {"ready": {"ready": True, "serving": True, "terminating": False}, "leaving": {"ready": False, "serving": True, "terminating": True},
                      "unready": {"ready": False, "serving": False, "terminating": False}}
        listed = [{"addresses": [f"10.244.0.{number}"], "nodeName": f"{self.namespace}-{node}", "conditions": conditions[state]}
                  for number, (node, state) in enumerate(sorted(states.items()), 1)]
        self.put("EndpointSlice", f"{service}-1", "discovery.k8s.io/v1", labels={"kubernetes.io/service-name": service}, addressType="IPv4", endpoints=listed,
                 ports=[{"name": "web-ui", "port": 8443, "protocol": "TCP"}])

    def lines(self) -> dict[str, str]:
        """What stands behind the address of each server in the file."""
        return dict(re.findall(rf"^    server {self.namespace}-(\S+) 127\.0\.15\.\d+:\d+ ?(.*)$", self.dynamic.read_text(), re.M))

    def secret(self, name: str, pair: Pair) -> None:
        keys = {"tls.crt": pair.certificate, "tls.key": pair.key}
        self.put("Secret", name, type="kubernetes.io/tls", data={key: base64.b64encode(path.read_bytes()).decode() for key, path in keys.items()})

    def settings(self) -> dict[str, str]:
        return {"KUBECONFIG": self.kubeconfig(), "CONFIG_SOURCE": "services", "CLUSTER_NAME": "east", "SERVICES_LABEL": f"lb={self.namespace}",
                "NODE_SELECTOR": f"of={self.namespace}", "HAPROXY_CONFIG_FILE": str(self.dynamic), "HAPROXY_CHECK_FILES": f"{self.haproxy.config},{self.dynamic}",
                "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary,
                "CONFIG_MIN_INTERVAL": "0s", "EMIT_EVENTS": "true", "LOG_LEVEL": "debug", "LEASE_NAMESPACE": self.namespace, "HOST_OWNERS_CONFIGMAP": "owners"}

    def owners(self) -> str:
        return str(self.kube.admin.get("ConfigMap", "owners", self.namespace).get("data", {}).get("host-owners"))

    def answers(self, host: str, path: str = "/") -> int:
        with contextlib.suppress(OSError):
            return http.request(f"http://127.0.0.1:{self.port}", "GET", path, headers={"host": host}).status
        return 0


@pytest.fixture
def place(tmp_path: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[Place]:
    made = Place(tmp_path, kubes["etcd"])
    with made.haproxy:
        yield made
    made.delete("Node", [f"{made.namespace}-{name}" for name in ("n1", "n2", "n3")])


def test_a_dashboard_as_the_older_system_had_it(place: Place) -> None:
    place.node("n1", "127.0.15.1")
    port = place.service("kubernetes-dashboard", hostname="CLUSTER-dashboard.ds.example.com")
    with HealthPort({"n1": "127.0.15.1", "n2": "127.0.15.2"}, port), Daemon(place.home / "daemon", place.settings(), program()) as daemon:
        wait_until(lambda: place.answers("east-dashboard.ds.example.com") == 200, 60, f"it is served: {daemon.tail()}")
        daemon.wait_ready()
        place.node("n2", "127.0.15.2")
        wait_until(lambda: f"server {place.namespace}-n2 127.0.15.2:{port}\n" in place.dynamic.read_text(), 30, "another node")
        backend = f"k8s-service_{place.namespace}_kubernetes-dashboard_web-ui_backend"
        wait_until(lambda: f"{place.namespace}-n2" in place.haproxy.servers(backend), 30, "in HAProxy, too")
        daemon.wait_ready()
        kept = f"*:{place.port} http\neast-dashboard.ds.example.com {place.namespace}\n"
        wait_until(lambda: place.owners() == kept, 30, f"who owns the port and the host: {place.owners()}")
        worker = place.haproxy.worker()
        place.kube.admin.delete("Node", f"{place.namespace}-n1")
        wait_until(lambda: f"server {place.namespace}-n1 " not in place.dynamic.read_text(), 30, "one less")
        wait_until(lambda: place.answers("east-dashboard.ds.example.com") == 200, 30, "by the other one")
        if place.haproxy.can_reload_by_socket:
            assert place.haproxy.worker() == worker, "without a reload"
        done = subprocess.run([program(), "services", "view"], env=clean_env(**place.settings()), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout.startswith(place.dynamic.read_text()) and not done.stderr
        place.service("younger", hostname="east-dashboard.ds.example.com")
        place.service("odd", hostname="od d.example.com")
        wait_until(lambda: place.events() >= {("Service", "younger", "LeftOut"), ("Service", "odd", "LeftOut")}, 30, f"both are told: {place.events()}")
        place.kube.admin.delete("Service", "kubernetes-dashboard", place.namespace)
        wait_until(lambda: "backend k8s-service_" + place.namespace + "_younger_web-ui_backend\n" in place.dynamic.read_text(), 30, "the younger one's turn")


def test_pods_that_move_between_nodes(place: Place) -> None:
    """Policy Local: a node that loses its pods drains, and loses its line's connections, all by runtime commands."""
    for number in (1, 2, 3):
        place.node(f"n{number}", f"127.0.15.{number}")
    port = place.service("web", "Local", hostname="web.example.com")
    place.pods("web", n1="ready", n2="ready")
    backend = f"k8s-service_{place.namespace}_web_web-ui_backend"
    with HealthPort({f"n{number}": f"127.0.15.{number}" for number in (1, 2, 3)}, port), Daemon(place.home / "daemon", place.settings(), program()) as daemon:
        wait_until(lambda: place.answers("web.example.com") == 200, 60, f"it is served: {daemon.tail()}")
        daemon.wait_ready()
        assert place.lines() == {"n1": "", "n2": "", "n3": "disabled"}
        worker = place.haproxy.worker()
        place.pods("web", n1="leaving", n2="ready", n3="ready")
        wait_until(lambda: place.lines() == {"n1": "weight 0", "n2": "", "n3": ""}, 30, "n1 drains, and n3 has one")
        place.pods("web", n2="ready", n3="ready")
        wait_until(lambda: place.lines() == {"n1": "disabled", "n2": "", "n3": ""}, 30, "n1 has none")
        wait_until(lambda: place.haproxy.states(backend) == {f"{place.namespace}-{name}": state for name, state in (("n1", "maint"), ("n2", "ready"), ("n3", "ready"))},
                   30, f"HAProxy has all of it: {place.haproxy.states(backend)}")
        daemon.wait_ready()
        assert place.answers("web.example.com") == 200
        if place.haproxy.can_reload_by_socket:
            assert place.haproxy.worker() == worker, "without a reload"
        place.pods("web", n2="unready", n3="unready")
        wait_until(lambda: "no usable endpoint; keeping the last servers" in daemon.log(), 30, "none is left")
        assert place.lines() == {"n1": "disabled", "n2": "", "n3": ""} and place.answers("web.example.com") == 200


def test_names_paths_and_renewed_certificates_cost_no_reload(place: Place) -> None:
    """A Secret that appears, with rights on it by its name; one that may not be read leaves the rest alone."""
    place.node("n1", "127.0.15.1")
    tls = free_port()
    pairs = {which: self_signed(place.home, which, alternatives="DNS:*.example.com") for which in ("first", "second")}
    port = place.service("shop", hostname="shop.example.com")
    place.service("secure", hostname="secure.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate="secret:shop-tls")
    place.service("private", hostname="private.example.com", use_ssl="true", listen_port=str(tls), ssl_certificate="secret:private")

    def subject() -> str:
        with contextlib.suppress(OSError):
            return subject_of(tls, "secure.example.com")
        return ""

    with HealthPort({"n1": "127.0.15.1"}, port), Daemon(place.home / "daemon", place.settings(), program()) as daemon:
        wait_until(lambda: place.answers("shop.example.com") == 200, 60, f"it is served: {daemon.tail()}")
        wait_until(lambda: place.events() >= {("Service", "secure", "LeftOut"), ("Service", "private", "LeftOut")}, 30, "both are told")
        place.secret("shop-tls", pairs["first"])
        wait_until(lambda: subject() == "first", 30, f"the Secret is there: {daemon.tail()}")
        daemon.wait_ready()
        worker = place.haproxy.worker()
        place.secret("shop-tls", pairs["second"])
        wait_until(lambda: subject() == "second", 30, "it is renewed")
        place.service("shop", hostname="www.example.com", path="/shop")
        wait_until(lambda: place.answers("www.example.com", "/shop/1") == 200 and place.answers("shop.example.com", "/shop/1") == 503, 30, "another name, and a path")
        daemon.wait_ready()
        assert place.haproxy.worker() == worker, f"without a reload: {daemon.tail()}"

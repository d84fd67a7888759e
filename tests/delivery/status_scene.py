"""What the status page is shown with: a Service on six nodes in every state, two HAProxies, and a morning's history; a template set."""

from __future__ import annotations

import base64
import contextlib
import pathlib
from typing import Any

from tests.functional.pair import SORRY
from tests.functional.rig import Rig
from tests.functional.rig import TEMPLATE as RIG_TEMPLATE
from tests.functional.test_local import TEMPLATE
from tests.harness import objects
from tests.harness.browser import Page
from tests.harness.certificates import self_signed
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.process import free_port, wait_until

NAMESPACE = "ingress-nginx"
SERVICE = "ingress-nginx-controller"
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
# Nobody is there, and nobody needs to be: what HAProxy thinks of their health is not what the page is about.
ADDRESSES = {f"worker-{i}": f"10.20.0.{10 + i}" for i in range(1, 7)}
HAPROXIES = {"lb-a.localhost": 0, "lb-b.localhost": 1}


class Scene(Rig):
    """The rig's own daemon is the one that is delivered."""

    def __init__(self, home: pathlib.Path, haproxies: int = 1):
        super().__init__(home, RIG_TEMPLATE.replace("server n1 127.0.11.1:30443", f"server worker-1 {ADDRESSES['worker-1']}:30443"),
                         haproxies=haproxies)

    def __enter__(self) -> "Scene":
        super().__enter__()
        self.kube.delete(*(objects.node(f"n{i}") for i in range(1, 6)))
        self.kube.put(*(objects.node(name, address) for name, address in ADDRESSES.items()),
                      objects.service(SERVICE, namespace=NAMESPACE))
        self.on(1)
        return self

    def on(self, *workers: int, leaving: tuple[int, ...] = (), name: str = f"{SERVICE}-x7k2p") -> None:
        """A pod on each of these, and one that terminates on those."""
        self.kube.put(objects.slice_(name, SERVICE, [
            *(objects.endpoint(f"10.244.{i}.7", f"worker-{i}") for i in workers),
            *(objects.endpoint(f"10.244.{i}.7", f"worker-{i}", objects.TERMINATING) for i in leaving)], namespace=NAMESPACE))

    def play(self, **settings: str) -> Daemon:
        names = {host: self.pairs[i].dataplane.url.replace("127.0.0.1", host) for host, i in HAPROXIES.items() if i < len(self.pairs)}
        self.daemon = Daemon(self.home / "daemon", self.settings(**{
            "INGRESS_NAMESPACE": NAMESPACE, "INGRESS_SERVICE_NAME": SERVICE, "HAPROXY_BACKEND_PORT": "", "MAX_LOSS_PERCENT": "",
            "HAPROXY_DATAPLANE_URL": ",".join(names.values()), **settings}), program()).start()
        self.wait_in_sync()
        return self.daemon

    def wait_rotation(self, *workers: int) -> None:
        """In every HAProxy, as it runs."""
        wanted = {f"worker-{i}" for i in workers} | {SORRY}
        for pair in self.pairs:
            wait_until(lambda: {n for n, s in pair.runtime_states().items() if s == "ready"} == wanted, 20, f"{sorted(wanted)} in rotation")
        self.wait_in_sync()

    def morning(self) -> None:
        """Scaled up, a node excluded, one that lost its pod, one whose pod is leaving."""
        self.on(1, 2, 3, 4, 6)
        self.wait_rotation(1, 2, 3, 4, 6)
        self.on(1, 2, 3, 4)
        self.wait_rotation(1, 2, 3, 4)
        self.on(1, 2, 3, 4, 5)
        self.wait_rotation(1, 2, 3, 4, 5)
        self.kube.put(objects.node("worker-5", ADDRESSES["worker-5"], labels=EXCLUDED))
        self.wait_rotation(1, 2, 3, 4)
        self.on(1, 2, 3, 5, leaving=(4,))
        self.wait_rotation(1, 2, 3)


def page_url(daemon: Daemon) -> str:
    return f"http://127.0.0.1:{daemon.port}/"


def look(page: Page, daemon: Daemon, saying: str = "In sync") -> Page:
    page.open(page_url(daemon))
    page.wait_text("#say", saying)
    return page


SET = """\
watch:
  ingresses: {apiVersion: networking.k8s.io/v1, kind: Ingress, keep: [spec]}
  services: {apiVersion: v1, kind: Service, keep: [spec]}
  secrets: {apiVersion: v1, kind: Secret, namespaces: [shop]}
maps:
  hosts.map: |
    {% for i in resources.ingresses %}
    {% if 'host' in i.spec.rules[0] %}
    {{ i.spec.rules[0].host }} be
    {% else %}
    {{ warn(i, 'it has no host') }}
    {% endif %}
    {% endfor %}
"""


class TemplateScene:
    """A set in a ConfigMap, Ingresses and Services, a HAProxy of this machine that has what they give."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.good = self.haproxy.config.read_text() + "\nbackend of-templates\n  http-request set-header x %[str(a),map({{ path('map', 'hosts.map') }},none)]\n"

    def __enter__(self) -> "TemplateScene":
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(self.haproxy)
        self.stack.enter_context(self.kube)
        self.write(self.good)
        self.kube.put(*(self.ingress(f"shop-{i}", f"shop-{i}.example") for i in range(1, 9)),
                      *(objects.service(f"shop-{i}", namespace="shop") for i in range(1, 4)))
        settings = {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), "CONFIG_SOURCE": "template", "TEMPLATE_FROM": "configmap:lb/edge-templates",
                    "HAPROXY_CONFIG_FILE": str(self.haproxy.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket),
                    "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(self.home / "state"),
                    "CONFIG_MIN_INTERVAL": "0s"}
        self.daemon = self.stack.enter_context(Daemon(self.home / "daemon", settings, program()))
        self.daemon.wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def write(self, template: str) -> None:
        self.kube.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "edge-templates", "namespace": "lb"},
                       "data": {"set.yaml": SET, "haproxy.cfg.j2": template}})

    @staticmethod
    def ingress(name: str, host: str = "") -> dict[str, Any]:
        return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": "shop"},
                "spec": {"rules": [{"host": host} if host else {}]}}


class ServicesScene:
    """Annotated Services, some of which are wrong, and a HAProxy of this machine that reads a file of the daemon behind its own."""

    PREFIX = "haproxy-kubefigurator"

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE)
        self.dynamic = home / "haproxy" / "dynamic.cfg"
        self.dynamic.write_text("# nothing yet\n")
        self.haproxy.files.append(self.dynamic)
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.https, self.http, self.tcp = free_port(), free_port(), free_port()

    def service(self, name: str, created: int, **options: str) -> dict[str, Any]:
        said = {"listen-port": str(self.https), "ssl-certificate": "secret:tls", **{key.replace("_", "-"): value for key, value in options.items()}}
        made = objects.service(name, namespace="shop", node_ports={"web": (80, 30000 + created)},
                               annotations={f"{self.PREFIX}.web.{key}": value for key, value in said.items() if value})
        made["metadata"] |= {"labels": {f"{self.PREFIX}.enabled": "yes"}, "creationTimestamp": f"2026-01-01T00:00:{created:02}Z"}
        return made

    def on(self, name: str, ready: dict[str, bool]) -> None:
        """Its only pod."""
        self.kube.put(objects.slice_(f"{name}-1", name, [objects.endpoint("10.244.1.7", "n1", ready)],
                                     namespace="shop", ports=[objects.port(8080, "web")]))

    def __enter__(self) -> "ServicesScene":
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(self.haproxy)
        self.stack.enter_context(self.kube)
        pair = self_signed(self.home, "any.example.com", alternatives="DNS:*.example.com")
        keys = {"tls.crt": pair.certificate, "tls.key": pair.key}
        self.kube.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls", "namespace": "shop"},
                       "data": {key: base64.b64encode(path.read_bytes()).decode() for key, path in keys.items()}})
        self.kube.put(objects.node("n1", "127.0.11.1"), self.service("shop", 1, hostname="shop.example.com"), self.service("cart", 2, hostname="shop.example.com", path="/cart"),
                      self.service("api", 3, hostname="api.example.com"), self.service("status", 4, hostname="status.example.com", listen_port=str(self.http), use_ssl="false"),
                      self.service("database", 5, haproxy_mode="tcp", listen_port=str(self.tcp), ssl_certificate=""), self.service("copy", 6, hostname="shop.example.com"),
                      self.service("typo", 7, hostname="typo.example.com", bakcends_use_ssl="true"), self.service("bad", 8, hostname="<img src=x onerror=hacked=1>"),
                      self.service("later", 9, hostname="later.example.com", ssl_certificate="secret:later"))
        for name in ("shop", "cart", "api", "status", "database", "copy", "typo", "bad", "later"):
            self.on(name, objects.READY)
        settings = {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), "CONFIG_SOURCE": "services",
                    "HAPROXY_CONFIG_FILE": str(self.dynamic), "HAPROXY_CHECK_FILES": f"{self.haproxy.config},{self.dynamic}",
                    "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": self.haproxy.binary,
                    "STATE_DIR": str(self.home / "state"), "CONFIG_MIN_INTERVAL": "0s"}
        self.daemon = self.stack.enter_context(Daemon(self.home / "daemon", settings, program()))
        self.daemon.wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

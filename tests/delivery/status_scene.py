"""What the status page is shown with: a Service on six nodes in every state, two HAProxies, and a morning's history."""

from __future__ import annotations

import pathlib

from tests.functional.pair import SORRY
from tests.functional.rig import TEMPLATE, Rig
from tests.harness import objects
from tests.harness.browser import Page
from tests.harness.daemon import Daemon, program
from tests.harness.process import wait_until

NAMESPACE = "ingress-nginx"
SERVICE = "ingress-nginx-controller"
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
# Nobody is there, and nobody needs to be: what HAProxy thinks of their health is not what the page is about.
ADDRESSES = {f"worker-{i}": f"10.20.0.{10 + i}" for i in range(1, 7)}
HAPROXIES = {"lb-a.localhost": 0, "lb-b.localhost": 1}


class Scene(Rig):
    """The rig's own daemon is the one that is delivered."""

    def __init__(self, home: pathlib.Path, haproxies: int = 1):
        super().__init__(home, TEMPLATE.replace("server n1 127.0.11.1:30443", f"server worker-1 {ADDRESSES['worker-1']}:30443"),
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

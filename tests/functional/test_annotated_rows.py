"""CONFIG_SOURCE=services: which nodes are servers of a port, as pods and nodes come, drain and go; and that none of it reloads HAProxy."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.haproxy import HEAD, DoubleDataPlane, admin_state
from tests.harness.health import HealthPort
from tests.harness.process import free_port, wait_until

from .test_annotated_services import Site, command

NODES = {f"n{number}": f"127.0.11.{number}" for number in (1, 2, 3, 4)}
BACKEND = "k8s-service_shop_a_web_backend"
SERVING = {"ready": False, "serving": True, "terminating": True}
UNREADY = {"ready": False, "serving": False, "terminating": False}


class Rows(Site):
    """Four nodes, a Service `a` and its pods."""

    def __init__(self, home: pathlib.Path):
        super().__init__(home)
        self.node_port = free_port()

    def put_service(self, policy: str = "Local", **options: str) -> None:
        made = self.service("a", self.node_port, **{"hostname": "a.example.com", **options})
        made["spec"]["externalTrafficPolicy"] = policy
        self.kube.put(made)

    def pods(self, on: Mapping[str, Mapping[str, bool]]) -> None:
        """One on each of these nodes, in the states that conditions say."""
        listed = [objects.endpoint(f"10.244.0.{number}", node, conditions) for number, (node, conditions) in enumerate(sorted(on.items()), 1)]
        self.kube.put(objects.slice_("a-1", "a", listed, namespace="shop", ports=[objects.port(8080, "web")]))

    def ready_on(self, *nodes: str) -> None:
        self.pods({node: objects.READY for node in nodes})

    def answers(self, host: str, path: str = "/") -> int:
        with contextlib.suppress(OSError):  # before it listens there
            return super().answers(host, path)
        return 0

    def lines(self) -> dict[str, str]:
        """What stands behind the address of each server in the file: "", "disabled", "weight 0"."""
        return dict(re.findall(r"^    server (\S+) 127\.0\.11\.\d+:\d+ ?(.*)$", self.text(), re.M))

    def states(self) -> dict[str, str]:
        """Of the running HAProxy: "live", "drain" (weight 0), "maint"."""
        found = self.haproxy.servers(BACKEND).items()
        return {name: "maint" if admin_state(int(server["srv_admin_state"])) == "maint" else "live" if int(server["srv_uweight"]) else "drain" for name, server in found}

    def wait_states(self, what: str, **states: str) -> None:
        try:
            wait_until(lambda: self.states() == states, 20, what)
        except AssertionError as e:
            raise AssertionError(f"{e}: {self.states()}, {self.lines()}") from None

    @contextlib.contextmanager
    def without_a_reload(self, daemon: Daemon) -> Iterator[None]:
        wait_until(daemon.ready, 20, "ready before")
        worker = self.haproxy.worker()
        yield
        wait_until(daemon.ready, 20, f"ready after it: {daemon.tail()}")
        if self.haproxy.can_reload_by_socket:
            assert self.haproxy.worker() == worker, "without a reload"


@pytest.fixture
def rows(tmp_path: pathlib.Path) -> Iterator[Rows]:
    made = Rows(tmp_path)
    with made.haproxy, made.kube:
        made.kube.put(*(objects.node(name, address) for name, address in NODES.items()))
        yield made


def test_pods_that_move_reload_nothing(rows: Rows) -> None:
    """Policy Local: a rolling update, pod by pod, which drains the old ones."""
    rows.put_service()
    rows.ready_on("n1", "n2")
    with HealthPort(NODES, rows.node_port), rows.daemon(DRAIN_TIMEOUT="1h") as daemon:
        wait_until(lambda: rows.answers("a.example.com") == 200, 20, f"it is served: {daemon.tail()}")
        rows.wait_states("the others wait", n1="live", n2="live", n3="maint", n4="maint")
        assert rows.lines() == {"n1": "", "n2": "", "n3": "disabled", "n4": "disabled"}
        with rows.without_a_reload(daemon):
            rows.pods({"n1": SERVING, "n2": objects.READY, "n3": objects.READY})
            rows.wait_states("n1 drains", n1="drain", n2="live", n3="live", n4="maint")
            assert rows.lines() == {"n1": "weight 0", "n2": "", "n3": "", "n4": "disabled"}
            rows.pods({"n2": SERVING, "n3": objects.READY, "n4": objects.READY})
            rows.wait_states("n2 drains", n1="maint", n2="drain", n3="live", n4="live")
            rows.ready_on("n3", "n4")
            rows.wait_states("all have moved", n1="maint", n2="maint", n3="live", n4="live")
            assert rows.answers("a.example.com") == 200
            rows.ready_on("n1", "n3", "n4")
            rows.wait_states("one is back", n1="live", n2="maint", n3="live", n4="live")


def test_pods_that_move_reload_nothing_by_a_dataplane_api(tmp_path: pathlib.Path) -> None:
    rows, before = Rows(tmp_path), tmp_path / "before.cfg"
    rows.haproxy.config.write_text(HEAD.replace("{d}", str(rows.haproxy.dir)))
    before.write_text(rows.haproxy.config.read_text())
    rows.haproxy.files, rows.dynamic = [rows.haproxy.config], rows.haproxy.config
    api = DoubleDataPlane(rows.haproxy, rows.haproxy.config, tmp_path / "dataplane", reload_delay=0.1)
    rows.settings = {name: value for name, value in rows.settings.items() if not name.startswith("HAPROXY_")} | api.settings() | {
        "CONFIG_FILE": str(before), "HAPROXY_STORAGE_DIR": str(tmp_path / "dataplane" / "storage")}
    with rows.haproxy, api, rows.kube, HealthPort(NODES, rows.node_port):
        rows.kube.put(*(objects.node(name, address) for name, address in NODES.items()))
        rows.put_service()
        rows.ready_on("n1", "n2")
        with rows.daemon(DRAIN_TIMEOUT="1h") as daemon:
            wait_until(lambda: rows.answers("a.example.com") == 200, 30, f"it is served: {daemon.tail()}")
            rows.wait_states("the others wait", n1="live", n2="live", n3="maint", n4="maint")
            with rows.without_a_reload(daemon):
                rows.pods({"n1": SERVING, "n2": objects.READY, "n3": objects.READY})
                rows.wait_states("n1 drains", n1="drain", n2="live", n3="live", n4="maint")
                rows.ready_on("n2", "n3")
                rows.wait_states("it has moved", n1="maint", n2="live", n3="live", n4="maint")


@pytest.mark.parametrize("balance,drains", [("leastconn", "weight 0"), ("source", "disabled")])
def test_a_drain_ends_by_itself(rows: Rows, balance: str, drains: str) -> None:
    rows.put_service(backends_balance_method=balance)
    rows.ready_on("n1", "n2")
    with rows.daemon(DRAIN_TIMEOUT="2s", PARK_NODES="false") as daemon:
        wait_until(lambda: rows.lines() == {"n1": "", "n2": ""}, 20, f"no line for others: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        rows.pods({"n1": SERVING, "n2": objects.READY})
        wait_until(lambda: rows.lines() == {"n1": drains, "n2": ""}, 20, "it drains")
        wait_until(lambda: rows.lines() == {"n2": ""}, 20, "it is gone, though the pod is still there")


def test_without_a_ready_pod_the_last_servers_stay(rows: Rows) -> None:
    rows.put_service()
    rows.ready_on("n1", "n2")
    with HealthPort(NODES, rows.node_port), rows.daemon(PARK_NODES="false") as daemon:
        wait_until(lambda: rows.lines() == {"n1": "", "n2": ""} and rows.answers("a.example.com") == 200, 20, f"both: {daemon.tail()}")
        rows.pods({"n1": UNREADY, "n2": UNREADY})
        wait_until(lambda: "no usable endpoint; keeping the last servers" in daemon.log(), 20, "it is said")
        assert rows.lines() == {"n1": "", "n2": ""} and rows.answers("a.example.com") == 200
        assert daemon.metrics().sum("annotated_ports", state="no_endpoint") == 1 and daemon.metrics().sum("annotated_ports", state="removal_delayed") == 0
        seen = wait_until(lambda: (s := json.loads(daemon.get("/status")[1]))["services"]["no_endpoint"] == 1 and s, 20, "/status to have it")
        check = next(c for c in seen["checks"] if c["name"] == "servers of annotated Services")
        assert (check["state"], seen["services"]["removal_delayed"]) == ("warn", 0) and check["since"] > seen["started_at"], check
        rows.pods({"n1": UNREADY, "n2": objects.READY, "n3": objects.READY})
        wait_until(lambda: rows.lines() == {"n1": "", "n2": "", "n3": ""} or rows.lines() == {"n2": "", "n3": ""}, 20, "others are ready")


def test_many_nodes_lost_at_once_are_delayed(rows: Rows) -> None:
    rows.put_service("Cluster")
    rows.ready_on("n1")
    with rows.daemon(RESYNC_PERIOD="1h") as daemon:
        wait_until(lambda: rows.lines() == dict.fromkeys(NODES, ""), 20, f"every node: {daemon.tail()}")
        wait_until(daemon.ready, 20, "ready")
        # It learns of all three at once, by a list: the first two alone may go.
        rows.kube.listening(False)
        rows.kube.disconnect()
        rows.kube.delete(*(objects.node(name, NODES[name]) for name in ("n2", "n3", "n4")))
        rows.kube.compact()
        rows.kube.listening(True)
        wait_until(lambda: 'msg="too many servers would be removed; removal delayed" count=1 backends=' + BACKEND in daemon.log(), 20, f"it is said: {daemon.tail()}")
        assert "servers of annotated Services" in (said := daemon.get("/readyz")[1]) and "1 with servers whose removal is delayed" in said, said
        assert re.search(r'why="3 of 4 live servers lost unannounced', daemon.log())
        assert rows.lines() == dict.fromkeys(NODES, "")


def test_checks_at_the_port_of_kube_proxy(rows: Rows) -> None:
    """In plain HTTP, whatever the server itself speaks."""
    check = free_port()
    made = rows.service("a", rows.node_port, hostname="a.example.com", backends_use_ssl="true", send_proxy_v2="true")
    made["spec"] |= {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": check}
    rows.kube.put(made)
    rows.ready_on("n1", "n2")
    with HealthPort(NODES, check) as health, rows.daemon(HAPROXY_HEALTH_CHECK="node-port") as daemon:
        wait_until(lambda: {("n1", "GET /healthz"), ("n2", "GET /healthz")} <= set(health.asked), 20, f"both are asked: {daemon.tail()}")
        wait_until(lambda: all(server["srv_op_state"] == "2" for name, server in rows.haproxy.servers(BACKEND).items() if name in ("n1", "n2")), 20, "they are up")
        assert not {"n3", "n4"} & {node for node, _ in health.asked}


def test_slices_that_may_not_be_read(rows: Rows) -> None:
    """They are no reason to change anything: what runs stays, and what was known last."""
    rows.put_service()
    rows.ready_on("n1")
    rows.kube.forbid("endpointslices")
    with rows.daemon() as daemon:
        daemon.wait_not_ready("watch endpointslices: not synced: .*403")
        assert not rows.lines()
        rows.kube.forbid()
        wait_until(lambda: rows.lines() == {"n1": "", "n2": "disabled", "n3": "disabled", "n4": "disabled"}, 60, f"by the pods: {daemon.tail()}")
        rows.kube.forbid("endpointslices")
        rows.kube.disconnect("endpointslices")
        daemon.wait_not_ready("watch endpointslices: stale, the last good state is in use")
        rows.kube.put(objects.node("n5", "127.0.11.5"))
        wait_until(lambda: rows.lines() == {"n1": "", "n2": "disabled", "n3": "disabled", "n4": "disabled", "n5": "disabled"}, 20, f"others go on: {daemon.tail()}")


def test_explain_says_which_nodes_and_why(rows: Rows) -> None:
    rows.put_service()
    rows.pods({"n1": objects.READY, "n2": UNREADY, "n9": objects.READY})
    status, out, said = command(rows, "explain", "shop/a")
    assert status == 0 and not said, said
    assert f"servers of backend {BACKEND}\n    server n1 127.0.11.1:{rows.node_port}, live: 1 ready endpoint on node n1 (slice shop/a-1)" in out, out
    assert f"    server n2 127.0.11.2:{rows.node_port}, disabled: no usable endpoint on node n2" in out, out
    assert "    no server for endpoint 10.244.0.3 of slice shop/a-1: its node n9 is not known" in out, out
    status, out, _ = command(rows, "view")
    assert status == 0 and f"    server n1 127.0.11.1:{rows.node_port}\n    server n2 127.0.11.2:{rows.node_port} disabled\n" in out
    rows.pods({"n1": UNREADY})
    status, out, _ = command(rows, "explain", "shop/a")
    assert status == 0 and "    none is desired, and it had none, so that every eligible node is a server: " in out, out
    for i in range(1, 5):
        assert f"    server n{i} 127.0.11.{i}:{rows.node_port}, live\n" in out, out

"""What the Service says, and which nodes and addresses the settings choose: ports, traffic policy, pause, selectors, several Services.
The rules themselves are a table in tests/unit; here it is the program, from a watch event to HAProxy."""

from __future__ import annotations

import pathlib
import re
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.harness import objects
from tests.harness.process import wait_until

from .rig import BY_NODE_PORT, NAMESPACE, SERVICE, SEVERAL, Rig
PAUSED = "haproxy-k8s-sync/paused"
TWO_PORTS = {"http": (80, 30080), "https": (443, 30443)}
PORTS_OF_PODS = [objects.port(8080, "http"), objects.port(8443, "https")]


def at(port: int, *nodes: int) -> dict[str, str]:
    return {f"n{i}": f"127.0.11.{i}:{port}" for i in nodes}


def hurried(rig: Rig, condition: Callable[[], object], what: str) -> None:
    """SIGHUP ends every wait for a retry."""
    def hurry() -> object:
        assert rig.daemon and rig.daemon.process
        rig.daemon.process.signal(signal.SIGHUP)
        return condition()
    wait_until(hurry, 30, what, interval=0.2)


def followed(rig: Rig, *nodes: int, port: int = 30443, pods: tuple[int, ...] = ()) -> None:
    """Pods move, and the servers follow: whatever came before was taken up, too, since one connection keeps its order."""
    rig.pods(*(pods or nodes))
    rig.wait_addresses(at(port, *nodes))


# --- the port


def test_changed_node_port_needs_no_reload(rig: Rig) -> None:
    rig.service()
    rig.pods(1, 2, 3)
    rig.start(**BY_NODE_PORT)
    rig.wait_addresses(at(30443, 1, 2, 3))
    rig.wait_in_sync()
    before, worker = rig.commits(), rig.haproxy.worker()
    rig.service(node_ports={"https": (443, 30999)})
    rig.wait_addresses(at(30999, 1, 2, 3))
    rig.wait_in_sync()
    assert (rig.commits(), rig.fast_writes()) == (before, 3)
    assert rig.haproxy.worker() == worker and not rig.differences()
    rig.daemon.wait_log('runtime update applied.*server=n3 what="port 30443 -> 30999".*cause="MODIFIED service web"')


# --- a Service that may not be read, or is not there

def test_forbidden_service_is_said_once_and_all_goes_on_as_before(rig: Rig) -> None:
    rig.service(node_ports={"https": (443, 31999)})  # which it cannot know
    rig.kube.forbid("services")
    rig.start()
    rig.wait_in_sync()
    rig.daemon.wait_log('level=warn msg="the Service may not be read; continuing without it".*403.*hint="deploy/rbac.yaml grants it"')
    followed(rig, 2, 3)
    rig.daemon.wait_ready()
    assert "watch services: may not be read, continuing without it" in rig.daemon.get("/readyz")[1]
    refused = len(rig.kube.requests("services"))
    hurried(rig, lambda: len(rig.kube.requests("services")) >= refused + 3, "more refusals")
    rig.wait_in_sync()
    assert len(re.findall("level=warn.*(may not be read|resource=services)", rig.daemon.log())) == 1


def test_nothing_is_written_before_the_service_is_known(rig: Rig) -> None:
    rig.service(node_ports={"https": (443, 31999)})  # not the endpoint's own port, which would do without a Service
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("127.0.11.2", "n2")], namespace=NAMESPACE))
    rig.kube.fault(resource="services", verb="streaming-list", status=503, times=3)
    rig.start(**BY_NODE_PORT)
    rig.daemon.wait_not_ready("watch services: not synced: .*503")
    hurried(rig, lambda: rig.addresses() == at(31999, 2), "the node port")
    rig.wait_in_sync()
    assert rig.commits() == 1, "written with what was known before"


def test_forbidden_service_that_is_granted_is_taken_up(rig: Rig) -> None:
    rig.service(node_ports={"https": (443, 31999)})
    rig.kube.forbid("services")
    rig.start(**BY_NODE_PORT)
    rig.daemon.wait_not_ready("nothing is written while the mapping is undecided")
    assert not rig.writes()
    rig.kube.forbid()
    rig.wait_addresses(at(31999, 1), timeout=40)  # by its own retries
    rig.daemon.wait_log("the Service is readable now")
    rig.daemon.wait_ready()
    rig.kube.forbid("services")  # not for long enough to be believed
    rig.kube.disconnect("services")
    rig.daemon.wait_not_ready("watch services: stale, the last good state is in use: .*403")
    rig.kube.forbid()
    hurried(rig, rig.daemon.ready, "readiness")
    assert rig.daemon.log().count('msg="the Service is readable now"') == 1


def test_service_that_may_not_be_read_any_more_stays_as_it_was(rig: Rig) -> None:
    rig.service(node_ports={"https": (443, 31999)})
    rig.start(**BY_NODE_PORT)
    rig.wait_addresses(at(31999, 1))
    rig.kube.forbid("services")
    rig.kube.disconnect("services")
    said = "the Service may not be read any more; its last state stays in use"
    hurried(rig, lambda: said in rig.daemon.log(), "the denial to be believed")
    followed(rig, 1, 2, port=31999)
    rig.daemon.wait_ready()
    assert "its last state stays in use" in rig.daemon.get("/readyz")[1]
    rig.kube.forbid()
    rig.service(node_ports={"https": (443, 31555)})
    hurried(rig, lambda: rig.addresses() == at(31555, 1, 2), "the new port")


def test_api_server_that_refuses_everything_at_first_is_no_denial(rig: Rig) -> None:
    everything = ("nodes", "services", "endpointslices", "endpoints")
    rig.kube.forbid(*everything)
    rig.service(node_ports={"https": (443, 31999)})
    rig.start(**BY_NODE_PORT)
    for resource in everything[:3]:
        wait_until(lambda: [r for r in rig.kube.requests(resource) if r["status"] == 403], 20, f"a refusal of {resource}")
    rig.kube.forbid()
    rig.wait_addresses(at(31999, 1), timeout=40)
    rig.daemon.wait_ready(40)
    assert not re.search("may not be read|EndpointSlices are denied", rig.daemon.log())
    assert not rig.kube.requests("endpoints"), "nobody needed them"


def test_endpoints_are_not_believed_while_slices_may_come(rig: Rig) -> None:
    """Rights that arrive one after the other: the Endpoints say n3, the slices, which are read a moment later, n1 as HAProxy has it."""
    rig.service()
    rig.kube.put(objects.endpoints(SERVICE, [("10.244.3.7", "n3")], namespace=NAMESPACE))
    rig.kube.forbid("endpointslices", "endpoints")
    rig.start()
    wait_until(lambda: [r for r in rig.kube.requests("endpoints") if r["status"] == 403], 20, "a refusal of Endpoints")
    rig.kube.fault(resource="endpointslices", verb="streaming-list", status=503, times=3)
    rig.kube.forbid()
    hurried(rig, lambda: "watch endpoints: synced" in rig.daemon.get("/readyz")[1], "Endpoints")
    hurried(rig, lambda: "EndpointSlices are readable again" in rig.daemon.log(), "slices")
    rig.wait_in_sync()
    assert not rig.writes()


def test_service_deleted_and_made_anew(rig: Rig) -> None:
    service = rig.service()
    rig.start(**BY_NODE_PORT)
    rig.wait_in_sync()
    before = rig.dataplane.file()
    rig.kube.delete(service)
    rig.daemon.wait_not_ready("nothing is written while the mapping is undecided")
    assert rig.dataplane.file() == before
    rig.service(node_ports={"https": (443, 31777)})
    rig.wait_addresses(at(31777, 1))
    rig.daemon.wait_ready()


# --- pause

def test_paused_service_is_not_written_until_it_goes_on(rig: Rig) -> None:
    rig.service(annotations={PAUSED: "true"})
    rig.pods(1, 2)
    rig.start(**BY_NODE_PORT)
    rig.daemon.wait_log("(?i)paused")
    wait_until(lambda: re.search("paused: nothing is written", rig.daemon.get("/readyz")[1]), 20, "/readyz to say why")
    assert rig.daemon.get("/readyz")[0] == 200, "it is what was asked for"
    assert rig.daemon.metrics().sum("in_sync") == 0
    assert not rig.writes()
    rig.service(annotations={PAUSED: "false"})
    rig.wait_addresses(at(30443, 1, 2))
    rig.wait_in_sync()
    writes = len(rig.writes())
    rig.service(annotations={PAUSED: ""})  # no bool: better one pause too many
    rig.pods(3)
    wait_until(lambda: re.search("paused: nothing is written", rig.daemon.get("/readyz")[1]), 20, "the second pause")
    assert len(rig.writes()) == writes
    rig.service()
    rig.wait_addresses(at(30443, 3))


# --- traffic policy


# --- which nodes

def test_node_selector_is_the_servers_side(rig: Rig) -> None:
    rig.service()
    for i in (1, 2, 3):
        rig.node(i, labels={"role": "edge"})
    rig.pods(1, 2, 4)
    rig.start(**BY_NODE_PORT, NODE_SELECTOR="role=edge,!spare")
    rig.wait_addresses(at(30443, 1, 2))
    rig.daemon.wait_metric("cached_objects", 3, resource="nodes")
    asked = rig.kube.requests("nodes")
    assert asked and all(r["query"].get("labelSelector") == "role=edge,!spare" for r in asked)
    rig.node(2, labels={"role": "edge", "spare": ""})
    rig.wait_addresses(at(30443, 1))
    rig.node(4, labels={"role": "edge"})
    rig.wait_addresses(at(30443, 1, 4))
    assert rig.daemon.metrics().sum("cached_objects", resource="nodes") == 3


# --- which address


def test_host_names_do_not_stop_haproxy(rig: Rig) -> None:
    rig.service()
    rig.kube.put(objects.node("n2", addresses=[("Hostname", "n2.nowhere.invalid")]))
    rig.pods(1, 2)
    rig.start(**BY_NODE_PORT, NODE_ADDRESS_TYPES="InternalIP,Hostname")
    wait_until(lambda: re.match(r"n2(\.nowhere\.invalid)?:30443 ", rig.lines().get("n2", "")), 20, "n2 by its name")
    wait_until(lambda: "n2" in rig.haproxy.servers("be"), 20, "n2 in HAProxy, though nobody resolves it")
    wait_until(lambda: "server n2: HAProxy cannot resolve the host name" in rig.daemon.get("/readyz")[1], 20, "it is named")
    assert rig.daemon.metrics().sum("in_sync") == 0
    rig.kube.put(objects.node("n2", addresses=[("InternalIP", "127.0.11.2")]))
    rig.wait_in_sync()


# --- several Services and backends

@pytest.fixture
def several(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """Two Services, three backends."""
    with Rig(tmp_path, SEVERAL) as made:
        made.service(node_ports=TWO_PORTS)
        made.pods(1, 2, ports=PORTS_OF_PODS)
        made.service("app", namespace="other", node_ports={"": (80, 32000)})
        made.pods(2, 3, service="app", namespace="other", ports=[objects.port(9000, "")])
        made.service("neighbour", namespace="other", node_ports={"": (80, 32999)})  # nobody asked for it
        made.pods(5, service="neighbour", namespace="other", ports=[objects.port(9000, "")])
        yield made


SERVICES = f"{NAMESPACE}/{SERVICE}:https=be, {NAMESPACE}/{SERVICE}:http=be2, other/app=be3"


def start_several(rig: Rig, services: str = SERVICES) -> None:
    rig.start(**BY_NODE_PORT, INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="", HAPROXY_BACKEND_NAME="", INGRESS_SERVICES=services)


def wait_several(rig: Rig, be: dict[str, str], be2: dict[str, str], be3: dict[str, str]) -> None:
    for backend, wanted in (("be", be), ("be2", be2), ("be3", be3)):
        rig.wait_addresses(wanted, backend=backend)


def test_several_services_are_one_transaction_and_a_change_of_a_node_is_none(several: Rig) -> None:
    start_several(several)
    wait_several(several, at(30443, 1, 2), at(30080, 1, 2), at(32000, 2, 3))
    several.wait_in_sync(backends=3)
    several.daemon.wait_ready()
    before = several.commits()  # at the start each counts as soon as it is known
    several.node(6, "127.0.11.6")
    several.pods(1, 2, 6, ports=PORTS_OF_PODS)  # part of two
    wait_several(several, at(30443, 1, 2, 6), at(30080, 1, 2, 6), at(32000, 2, 3))
    several.wait_in_sync(backends=3)
    assert several.commits() == before + 1
    writes, worker = several.fast_writes(), several.haproxy.worker()
    several.node(2, "127.0.11.22")  # part of all three, without a reload
    wait_several(several, {**at(30443, 1, 6), "n2": "127.0.11.22:30443"}, {**at(30080, 1, 6), "n2": "127.0.11.22:30080"},
                 {**at(32000, 3), "n2": "127.0.11.22:32000"})
    several.wait_in_sync(backends=3)
    assert (several.commits(), several.fast_writes()) == (before + 1, writes + 3) and several.haproxy.worker() == worker
    assert not [d for b in ("be", "be2", "be3") for d in several.differences(b)]


def test_each_service_is_watched_once_and_named(several: Rig) -> None:
    start_several(several)
    several.wait_in_sync(backends=3)
    assert {(w["resource"], w["path"]) for w in several.kube.open_watches()} == {
        ("nodes", "/api/v1/nodes"),
        *(pair for ns in (NAMESPACE, "other") for pair in (
            ("services", f"/api/v1/namespaces/{ns}/services"),
            ("endpointslices", f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices")))}
    assert len(several.kube.open_watches()) == 5
    several.daemon.wait_ready()
    body = several.daemon.get("/readyz")[1]
    for service in (f"{NAMESPACE}/{SERVICE}", "other/app"):
        assert f"[+]watch services of {service}: synced, 1 objects" in body
        assert f"[+]watch endpointslices of {service}: synced, 1 objects" in body
        several.daemon.wait_log(f"synced with Kubernetes.*resource=endpointslices service={service} ")
    metrics = several.daemon.metrics()
    assert metrics.value("cached_objects", resource="services") == 2
    assert metrics.value("cached_objects", resource="endpointslices") == 2
    several.pods(3, service="app", namespace="other", ports=[objects.port(9000, "")])
    several.daemon.wait_log('cause="MODIFIED endpointslice app-1 of other/app"')
    several.service("app", namespace="other", node_ports={"": (80, 32111)})
    several.daemon.wait_log('cause="MODIFIED service other/app"')


def test_backend_that_is_missing_does_not_stop_the_others(several: Rig) -> None:
    start_several(several, SERVICES.replace("=be2", "=gone"))
    body = several.daemon.wait_not_ready("backend gone: .*no backend")
    several.wait_addresses(at(30443, 1, 2))
    several.wait_addresses(at(32000, 2, 3), backend="be3")
    several.wait_in_sync(backends=2)
    several.pods(4, ports=PORTS_OF_PODS)
    several.wait_addresses(at(30443, 4))
    wait_until(lambda: several.dataplane.post(f"/configuration/backends?version={several.dataplane.version()}",
                                              {"name": "gone", "mode": "tcp"}).status in (201, 202), 10, "the backend to be made")
    hurried(several, lambda: several.addresses("gone") == at(30080, 4), "the backend that is there now")
    several.wait_in_sync(backends=3)
    assert "be3" in body


def test_what_is_denied_in_one_namespace_is_denied_there_alone(several: Rig) -> None:
    several.kube.put(objects.endpoints("app", [("10.244.4.7", "n4")], namespace="other", ports=[objects.port(9000, "")]))
    several.kube.forbid("other/endpointslices", "other/services")
    start_several(several, f"{NAMESPACE}/{SERVICE}:https=be, {NAMESPACE}/{SERVICE}:http=be2, other/app=be3")
    several.wait_addresses(at(30443, 1, 2))
    daemon = several.daemon
    daemon.wait_log("level=warn .*EndpointSlices are denied.* service=other/app ")
    daemon.wait_log("level=warn .*the Service may not be read.* service=other/app ")
    body = daemon.wait_not_ready("watch services of other/app: may not be read")
    assert "[+]watch endpoints of other/app: synced, 1 objects" in body
    assert f"[+]watch endpointslices of {NAMESPACE}/{SERVICE}: synced" in body
    assert not re.search(f"denied.* service={NAMESPACE}/{SERVICE} ", daemon.log())
    several.kube.forbid()
    hurried(several, lambda: several.addresses("be3") == at(32000, 2, 3), "slices and the node port of other/app")
    daemon.wait_log("EndpointSlices are readable again.* service=other/app")
    daemon.wait_log("the Service is readable now.* service=other/app")
    several.wait_in_sync(backends=3)

"""Kubernetes Events on the Service, through the whole program: each reason in its situation, and that nothing else suffers by them."""

from __future__ import annotations

import pathlib
import re
import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.kube import path_of
from tests.harness.process import wait_until

from .rig import NAMESPACE, SERVICE, SEVERAL, Rig
from .test_endings import answer
from .test_leader import HOSTS, Replicas

WARNINGS = {"RemovalDelayed", "ServersKept", "ApplyFailed", "ReloadFailed"}
NAME = re.compile(rf"{SERVICE}\.[0-9a-f]{{16}}")


class Events:
    """What the double has of them."""

    def __init__(self, rig: Rig):
        self.rig = rig

    def all(self, reason: str = "", service: str = SERVICE) -> list[dict[str, Any]]:
        items = [item for item in self.rig.kube.state()["items"] if item["kind"] == "Event"]
        return [e for e in items if reason in ("", e["reason"]) and e["involvedObject"]["name"] == service]

    def wait(self, reason: str, saying: str = "", service: str = SERVICE, count: int = 1) -> dict[str, Any]:
        def there() -> dict[str, Any]:
            found = [e for e in self.all(reason, service) if re.search(saying, e["message"]) and e["count"] >= count]
            assert found, [(e["reason"], e["count"], e["message"]) for e in self.all()]
            return found[-1]

        return wait_until(there, 20, f"an Event {reason} on {service} saying {saying!r}")

    def requests(self, verb: str = "") -> list[dict[str, Any]]:
        return self.rig.kube.requests("events", verb)


@pytest.fixture
def events(rig: Rig) -> Events:
    return Events(rig)


def start(rig: Rig, **settings: str) -> Daemon:
    rig.service()
    daemon = rig.start(**{"EMIT_EVENTS": "true", **settings})
    rig.wait_in_sync()
    return daemon


def of_pods(*nodes: int, terminating: Sequence[int] = ()) -> dict[str, Any]:
    """As rig.pods puts it."""
    pods = [*((i, objects.READY) for i in nodes), *((i, objects.TERMINATING) for i in terminating)]
    return objects.slice_(f"{SERVICE}-1", SERVICE, [objects.endpoint(f"10.244.{i}.7", f"n{i}", state) for i, state in pods],
                          namespace=NAMESPACE)


def check_shape(rig: Rig, event: dict[str, Any]) -> None:
    assert NAME.fullmatch(event["metadata"]["name"]) and event["metadata"]["namespace"] == NAMESPACE
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Service", "namespace": NAMESPACE, "name": SERVICE,
                                       "uid": rig.kube.control("GET", path_of(objects.service(SERVICE, namespace=NAMESPACE)))["metadata"]["uid"]}
    assert event["type"] == ("Warning" if event["reason"] in WARNINGS else "Normal")
    assert event["firstTimestamp"] <= event["lastTimestamp"]
    assert event["source"]["component"] == event["reportingComponent"] == "haproxy-k8s-sync"
    assert event["source"]["host"] == event["reportingInstance"] != ""
    assert rig.dataplane.url in event["message"] and "adminpwd" not in event["message"]


def test_each_reason_in_its_situation(rig: Rig, events: Events) -> None:
    daemon = start(rig, RESYNC_PERIOD="1s")
    assert events.all() == [], "nothing happened to HAProxy yet"

    rig.pods(1, 2)
    assert events.wait("Synced", "in sync with 2 servers: added n2")["count"] == 1

    rig.pods(2)
    events.wait("Synced", "parked n1")
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.kube.put(of_pods(1, terminating=[2]))
    events.wait("Draining", "n2 drains: it gets no new connections")

    rig.pods()
    events.wait("ServersKept", "keeping the last.*: .*no .*endpoint")
    rig.pods(1, 2)
    rig.wait_in_sync()

    rig.dataplane.fault(answer({"method": "POST", "path": "skip_reload=true"}, 422, "the address is wrong", headers={"Configuration-Version": "1"}))
    rig.pods(1, 2, 3)
    events.wait("ApplyFailed", "rejected the change; haproxy.cfg is unchanged: .*the address is wrong")
    rig.pods(1, 2)
    rig.wait_in_sync()

    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] cannot bind socket"})
    rig.pods(1, 2, 4)
    events.wait("ReloadFailed", "reload failed.*cannot bind socket")
    rig.wait_servers(1, 2, 4)
    rig.wait_in_sync()

    text = rig.dataplane.config.read_text()
    rig.hand_edit(text.replace("server n1 127.0.11.1:30443", "server n1 127.0.11.1:30444"))
    events.wait("DriftRepaired", "repaired a change of another writer in version .*: changed n1 .port 30444 -> 30443")
    rig.wait_in_sync()

    assert {e["reason"] for e in events.all()} == {"Synced", "Draining", "ServersKept", "ApplyFailed", "ReloadFailed", "DriftRepaired"}
    for event in events.all():
        check_shape(rig, event)
    assert {e["method"] for e in events.requests()} <= {"POST", "PATCH"}
    assert daemon.metrics().sum("kubernetes_events_total", result="written") == len(events.requests())


def test_denied_costs_nothing_but_the_events(rig: Rig, events: Events) -> None:
    rig.kube.forbid("events")
    daemon = start(rig)
    for pods in ((1, 2), (2,), (1, 2)):
        rig.pods(*pods)
        rig.wait_servers(*pods)
        rig.wait_in_sync()
    daemon.wait_metric("kubernetes_events_total", 3, result="denied")
    daemon.wait_ready()
    assert len(re.findall("Events may not be written", daemon.log())) == 1
    assert re.search(r'may not be written.*namespace=ingress.*cannot create resource .*verbs \[create, patch\]', daemon.log())
    assert len(events.requests()) == 1, "tried again seldom"
    rig.kube.forbid()
    daemon.process.signal(signal.SIGHUP)
    rig.pods(2)
    events.wait("Synced", "parked n1")
    daemon.wait_log("Kubernetes Events are written again")


def test_a_silent_api_is_in_nobody_s_way(rig: Rig, events: Events) -> None:
    """Its watches answer; what is asked of Events does not."""
    daemon = start(rig)
    rig.kube.fault(resource="events", hang=True, times=0)
    for pods in ((1, 2), (2,), (1, 2), (1,), (1, 2, 3)):
        rig.pods(*pods)
        rig.wait_servers(*pods)
    rig.wait_in_sync()
    daemon.wait_ready()
    assert len(events.requests()) == 1, "one at a time"
    daemon.stop()  # exit 0 within 5 s
    assert events.all() == []


@pytest.mark.parametrize("settings", [{"EMIT_EVENTS": ""}, {"EMIT_EVENTS": "true", "DRY_RUN": "true"}], ids=["by default", "dry run"])
def test_none_unless_they_are_asked_for(rig: Rig, events: Events, settings: dict[str, str]) -> None:
    daemon = start(rig, **settings)
    rig.pods(1, 2)
    if "DRY_RUN" in settings:
        daemon.wait_log("changes not written")
    else:
        rig.wait_servers(1, 2)
        rig.wait_in_sync()
    daemon.stop()
    assert events.requests() == []


def test_a_standby_says_nothing(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path) as rig:
        rig.service()
        replicas = Replicas(rig)
        for daemon in replicas.daemons.values():
            daemon.env["EMIT_EVENTS"] = "true"
        try:
            replicas.start()
            rig.pods(1, 2)
            Events(rig).wait("Synced", "added n2")
            assert {e["token"] for e in Events(rig).requests()} == {"token-a"}
            replicas["a"].stop()
            replicas.wait_leads("b")
            rig.pods(2)
            Events(rig).wait("Synced", "parked n1")
            assert {e["token"] for e in Events(rig).requests()} == {f"token-{name}" for name in HOSTS}
        except BaseException:
            replicas.close(False)
            raise
        replicas.close(True)


@pytest.fixture
def several(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, template=SEVERAL, haproxies=2) as made:
        yield made


def test_each_backend_s_on_its_own_service(several: Rig) -> None:
    """Two backends of one Service and one of another, on two HAProxies: what is wrong with all of one HAProxy is said on each Service
    once."""
    rig, events = several, Events(several)
    rig.service()
    rig.service("shop", node_ports={"https": (443, 31443)})
    rig.pods(1, service="shop")
    services = f"{NAMESPACE}/{SERVICE}:https=be {NAMESPACE}/{SERVICE}:https=be2 {NAMESPACE}/shop:https=be3"
    rig.start(EMIT_EVENTS="true", INGRESS_SERVICES=services, INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="", HAPROXY_BACKEND_NAME="",
              HAPROXY_BACKEND_PORT="")
    rig.wait_in_sync(backends=3)
    for pair in rig.pairs:
        events.wait("Synced", rf"^backend be2 at {re.escape(pair.dataplane.url)}: in sync with 1 server: added n1")
        events.wait("Synced", rf"^backend be3 at {re.escape(pair.dataplane.url)}: in sync with 1 server: added n1", service="shop")
    before = {service: events.all("ApplyFailed", service) for service in (SERVICE, "shop")}
    assert before == {SERVICE: [], "shop": []}
    rig.pairs[1].dataplane.fault({"action": "answer", "method": "GET", "path": "/raw$", "status": 500, "body": {"code": 500, "message": "ill"}})
    assert rig.daemon and rig.daemon.process
    rig.daemon.process.signal(signal.SIGHUP)
    for service in (SERVICE, "shop"):
        event = events.wait("ApplyFailed", rf"^HAProxy at {re.escape(rig.pairs[1].dataplane.url)}: cannot read", service=service)
        assert event["count"] == 1
    assert len(events.all("ApplyFailed")) == 1

"""The status page's JSON, at /status and live: what it says of a daemon that works, waits, holds or is in trouble."""

from __future__ import annotations

import contextlib
import datetime
import json
import pathlib
import re
import socket
import subprocess
import time
from typing import Any

from tests.harness import objects
from tests.harness.daemon import Daemon, clean_env
from tests.harness.events_stream import EventStream
from tests.harness.haproxy import AUTH
from tests.harness.process import ROOT, wait_until

from .rig import BY_NODE_PORT, NAMESPACE, SEVERAL, SERVICE, Rig, program

EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": "true"}
STREAMS = 8


def status(daemon: Daemon) -> dict[str, Any]:
    code, text = daemon.get("/status")
    assert code == 200, f"/status {code}: {text}"
    return dict(json.loads(text))


def wait_status(daemon: Daemon, condition: Any, what: str) -> dict[str, Any]:
    """/status is no newer than once a second."""
    found: dict[str, Any] = {}

    def holds() -> bool:
        found.clear()
        found.update(status(daemon))
        assert condition(found), json.dumps(found)[:3000]
        return True

    wait_until(holds, 20, what, interval=0.2)
    return found


def test_a_server_that_is_down_is_shown_as_such(rig: Rig) -> None:
    rig.pods(1, 2)
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.daemon.wait_metric("servers_up", 2)
    rig.haproxy.runtime("set server be/n2 health down")
    s = wait_status(rig.daemon, lambda s: s["haproxies"][0]["backends"][0]["servers"]["down"] == 1, "n2 is down")
    servers = {x["name"]: x for x in s["haproxies"][0]["backends"][0]["servers"]["list"]}
    assert (servers["n1"]["health"], servers["n2"]["health"]) == ("up", "down") and s["haproxies"][0]["backends"][0]["servers"]["up"] == 1
    assert servers["n1"]["down_since"] is None and s["started_at"][:19] <= servers["n2"]["down_since"] <= s["generated_at"]
    check = next(c for c in s["checks"] if c["name"].startswith("target "))
    assert check["state"] == "warn" and s["since"] < check["since"], check
    assert rig.daemon.metrics().sum("servers_up") == 1
    code, body = rig.daemon.get("/readyz")
    assert code == 200 and "in sync; HAProxy's health checks report 1 of 2 desired servers DOWN" in body, body
    for words, text in ((["explain", "n2"], "DOWN: its admin state is ready"), (["doctor"], "1 of 2 desired servers are DOWN in HAProxy: n2")):
        done = subprocess.run([program(), *words], env=clean_env(**rig.settings()), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert text in " ".join(done.stdout.split()), done.stdout


def nodes(s: dict[str, Any], backend: int = 0) -> dict[str, str]:
    return {n["name"]: n["state"] for n in s["backends"][backend]["nodes"]["list"]}


def node(s: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(next(n for n in s["backends"][0]["nodes"]["list"] if n["name"] == name))


def servers(s: dict[str, Any], haproxy: int = 0, backend: int = 0) -> dict[str, str]:
    return {x["name"]: x["state"] for x in s["haproxies"][haproxy]["backends"][backend]["servers"]["list"]}


# --- what it says

def documented() -> set[str]:
    """Every name in the comment that documents it."""
    comment = (ROOT / "src/daemon/status/status.h").read_text().split("*/")[0]
    return set(re.findall(r"[a-z_]+", comment))


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | set().union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_in_step_and_every_name_is_documented(rig: Rig) -> None:
    rig.service()
    daemon = rig.start(**BY_NODE_PORT)
    rig.wait_in_sync()
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()
    rig.node(3, labels=EXCLUDED)
    s = wait_status(daemon, lambda s: s["state"] == "in_sync" and servers(s).get("n3") == "parked", "n3 to be parked")
    assert keys(s) <= documented(), keys(s) - documented()
    assert s["schema_version"] == 1 and s["summary"] == "in sync" and s["ready"] is True
    assert nodes(s) == {"n1": "live", "n2": "live", "n3": "out"}
    assert "exclude-from-external-load-balancers" in node(s, "n3")["reason"] and node(s, "n3")["announced"]
    assert node(s, "n1")["port"] == 30443 and "nodePort 30443" in node(s, "n1")["reason"]
    assert servers(s) == {"n1": "live", "n2": "live", "n3": "parked", "sorry": "unmanaged"}
    assert s["backends"][0]["service"] == {"namespace": NAMESPACE, "name": SERVICE, "port": None}
    haproxy = s["haproxies"][0]
    assert (haproxy["url"], haproxy["state"], haproxy["runtime_verification"]) == (rig.dataplane.url, "in_sync", "verified")
    assert haproxy["version"] == rig.dataplane.version() and haproxy["worker_pid"] == rig.dataplane.worker()
    assert {w["resource"]: w["state"] for w in s["watches"]} == dict.fromkeys(["nodes", "endpointslices", "services"], "synced")
    kinds = [d["kind"] for d in s["history"]]
    assert {"committed", "in_sync", "runtime_command", "runtime_update"} <= set(kinds)
    numbers = [d["number"] for d in s["history"]]
    assert numbers == sorted(numbers, reverse=True)
    committed = next(d for d in s["history"] if d["kind"] == "committed")
    assert "added n2" in committed["text"] and 0 < committed["took_us"] <= committed["latency_us"]


def test_the_same_bytes_while_nothing_happens(rig: Rig) -> None:
    daemon = rig.start()
    rig.wait_in_sync()

    def news() -> tuple[str, str]:
        head, _, rest = daemon.get("/status")[1].partition('"version":')
        return head, rest

    first = news()
    later = wait_until(lambda: (now := news())[0] != first[0] and now, 20, "it to be built again", interval=0.3)
    assert later[1] == first[1]


def test_waiting_for_kubernetes_and_then_not(rig: Rig) -> None:
    rig.kube.listening(False)
    daemon = rig.start()
    daemon.wait_up()
    s = wait_status(daemon, lambda s: s["state"] in ("waiting", "problem"), "it to wait")
    assert not s["ready"] and s["backends"][0]["state"] == "waiting" and not s["history"]
    assert s["summary"].startswith("watch nodes: not synced"), s["summary"]
    rig.kube.listening(True)
    wait_status(daemon, lambda s: s["state"] == "in_sync", "it to be in sync")


def test_what_waits_for_an_operator_is_a_problem_and_not_a_matter_of_time(rig: Rig) -> None:
    rig.service()
    rig.kube.forbid("nodes")
    daemon = rig.start(INGRESS_SERVICE_PORT="htps", HAPROXY_BACKEND_PORT="")
    s = wait_status(daemon, lambda s: s["state"] == "problem", "a refusal to be a problem")
    assert s["summary"].startswith("watch nodes: not synced: ") and "deploy/rbac.yaml grants it" in s["summary"]
    rig.kube.forbid()
    s = wait_status(daemon, lambda s: s["summary"].startswith("mapping of backend"), "the port that is none")
    assert s["state"] == s["haproxies"][0]["state"] == "problem" and 'no port "htps"' in s["summary"]


def test_a_service_that_may_not_be_read_is_no_trouble_where_it_is_not_needed(rig: Rig) -> None:
    rig.kube.forbid("services")
    daemon = rig.start()
    s = wait_status(daemon, lambda s: s["state"] == "in_sync", "it to be in sync")
    assert s["ready"] and next(w for w in s["watches"] if w["resource"] == "services")["state"] == "refused"


def test_trouble_is_said_in_the_words_of_readyz(rig: Rig) -> None:
    daemon = rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    before = wait_status(daemon, lambda s: s["state"] == "in_sync", "it to be in sync")
    assert before["haproxies"][0]["answers"] is True and before["haproxies"][0]["as_of"] is None
    assert before["since"] == before["haproxies"][0]["backends"][0]["since"] > before["started_at"] and {c["since"] for c in before["checks"]} == {None}
    rig.dataplane.stop()
    body = daemon.wait_not_ready("target")
    s = wait_status(daemon, lambda s: s["state"] == "problem", "the trouble")
    took = re.compile(r"after \d+ ms")  # of each of its attempts
    assert took.sub("", f"[-]{s['summary']}") in took.sub("", body).splitlines()
    assert not s["ready"] and s["haproxies"][0]["state"] == "problem"
    assert [c["name"] for c in s["checks"] if c["state"] == "fail"] == [f"target {rig.dataplane.url} backend be"]
    assert servers(s) == {"n1": "live", "sorry": "unmanaged"}, "what was known last"
    failed, haproxy = next(c for c in s["checks"] if c["state"] == "fail"), s["haproxies"][0]
    assert haproxy["answers"] is False and before["started_at"] < haproxy["as_of"] < failed["since"] == s["since"]
    later = wait_status(daemon, lambda s: s["generated_at"] > failed["since"] and s["uptime_seconds"] > before["uptime_seconds"] + 2, "time to go by")
    assert (later["since"], later["haproxies"][0]["as_of"]) == (s["since"], haproxy["as_of"]), "it goes on"
    rig.dataplane.start()
    after = wait_status(daemon, lambda s: s["state"] == "in_sync", "it to be over")
    assert after["since"] > failed["since"] and after["haproxies"][0]["answers"] is True and after["haproxies"][0]["as_of"] is None


def test_since_when_is_known_to_one_who_reads_later(rig: Rig) -> None:
    """Nobody reads /status while it fails: the daemon runs its checks each second all the same."""
    daemon = rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.dataplane.stop()
    daemon.wait_not_ready("target")
    noticed = time.time()
    wait_until(lambda: time.time() > noticed + 4, 10, "some seconds to pass")
    s = status(daemon)
    since = datetime.datetime.fromisoformat(next(c["since"] for c in s["checks"] if c["state"] == "fail").replace("Z", "+00:00")).timestamp()
    assert since < noticed + 3, (since, noticed)


def test_holding_draining_paused_and_by_hand(rig: Rig) -> None:
    rig.service()
    daemon = rig.start(RESYNC_PERIOD="1s", DRAIN_TIMEOUT="10m")
    rig.wait_in_sync()
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("10.244.1.7", "n1", objects.TERMINATING),
                                                   objects.endpoint("10.244.2.7", "n2"), objects.endpoint("10.244.3.7", "n3")],
                                namespace=NAMESPACE))
    rig.wait_draining(1)
    rig.haproxy.runtime("set server be/n3 state drain")
    s = wait_status(daemon, lambda s: servers(s).get("n1") == "draining" and s["haproxies"][0]["backends"][0]["overridden"], "both drains")
    assert nodes(s)["n1"] == "draining" and "drain" in node(s, "n1")["reason"]
    overridden = {x["name"]: x["overridden"] for x in s["haproxies"][0]["backends"][0]["servers"]["list"]}
    assert overridden == {"n1": None, "n2": None, "n3": "drain", "sorry": None}
    rig.service(annotations={"haproxy-k8s-sync/paused": "true"})
    wait_status(daemon, lambda s: s["backends"][0]["paused"], "the pause")
    rig.service()
    rig.pods()
    s = wait_status(daemon, lambda s: s["summary"].startswith("keeping the last servers: "), "it to hold what it has")
    assert s["ready"] and s["state"] == "removal_delayed" and s["backends"][0]["state"] == "empty"


def test_what_the_brake_holds(rig: Rig) -> None:
    daemon = rig.start(MAX_LOSS_PERCENT="50", RESYNC_PERIOD="1h")
    rig.pods(1, 2, 3)
    rig.wait_servers(1, 2, 3)
    rig.wait_in_sync()
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("10.244.1.7", "n1")], namespace=NAMESPACE))
    s = wait_status(daemon, lambda s: s["haproxies"][0]["backends"][0]["removal_delayed"]["servers"] == 2, "the brake")
    held = s["haproxies"][0]["backends"][0]["removal_delayed"]
    assert held["names"] == "n2, n3" and held["until"] > s["generated_at"], held
    assert s["state"] == "removal_delayed" and s["loss_limit"] == {"max_loss_percent": 50, "delay_seconds": 3600}, s["loss_limit"]
    assert servers(s)["n2"] == servers(s)["n3"] == "leaving"
    until = {x["name"]: x["removal_delayed_until"] for x in s["haproxies"][0]["backends"][0]["servers"]["list"]}
    assert until["n2"] == until["n3"] == held["until"] and until["n1"] is None, until


def test_several_backends_and_haproxies(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, template=SEVERAL, haproxies=2) as rig:
        for name in ("web", "api"):
            rig.service(name)
            rig.pods(1, 2, service=name)
        daemon = rig.start(INGRESS_SERVICES=f"{NAMESPACE}/web=be,{NAMESPACE}/api=be2", INGRESS_NAMESPACE="", INGRESS_SERVICE_NAME="",
                           HAPROXY_BACKEND_NAME="", RESYNC_PERIOD="1s", **BY_NODE_PORT)
        rig.wait_in_sync(backends=2)
        rig.pairs[1].dataplane.stop()
        s = wait_status(daemon, lambda s: s["state"] == "problem", "the second one's trouble")
        assert [h["state"] for h in s["haproxies"]] == ["in_sync", "problem"] and s["ready"], "one in sync is enough for /readyz"
        assert s["summary"].startswith(f"target {rig.pairs[1].dataplane.url} ") and s["summary"].endswith("(and 1 more)")
        assert [b["backend"] for b in s["backends"]] == ["be", "be2"]
        assert servers(s, 0, 1) == {"n1": "live", "n2": "live"}
        assert {w["service"] for w in s["watches"]} == {None, f"{NAMESPACE}/web", f"{NAMESPACE}/api"}


def test_a_standby_says_so(rig: Rig) -> None:
    """The Lease is another program's."""
    soon = "2124-01-01T00:00:00.000000Z"
    rig.kube.put(objects.lease("haproxy-k8s-sync", "somebody-else", namespace=NAMESPACE, renewed=soon))
    daemon = rig.start(LEADER_ELECT="true")
    s = wait_status(
        daemon,
        lambda s: s["state"] == "standby" and s["leader"]["holder"] and nodes(s) == {"n1": "live"},
        "it to stand by, with the Lease read",
    )
    assert s["leader"]["holder"] == "somebody-else" and s["leader"]["election"] and not s["leader"]["leading"]
    assert s["haproxies"] == [{"url": rig.dataplane.url, "state": "standby", "text": "managed by the leading replica", "backends": []}]


def test_dry_run_shows_what_is_desired_and_what_is_there(rig: Rig) -> None:
    daemon = rig.start(DRY_RUN="true")
    rig.pods(1, 2)
    s = wait_status(daemon, lambda s: nodes(s) == {"n1": "live", "n2": "live"} and s["state"] == "not_written", "the desired servers")
    assert s["dry_run"] and servers(s) == {"n1": "live", "sorry": "unmanaged"}
    assert [d["kind"] for d in s["history"]] == ["not_written"]


def test_no_secret_is_in_it(rig: Rig) -> None:
    rig.kube.tokens(**{"a-token-of-kubernetes": "admin"})
    kubeconfig = rig.kube.kubeconfig(rig.home / "kubeconfig-secret", token="a-token-of-kubernetes")
    daemon = rig.start(KUBECONFIG=str(kubeconfig))
    rig.wait_in_sync()
    text = daemon.get("/status")[1] + daemon.get("/")[1]
    for secret in (*AUTH.split(":")[1:], "a-token-of-kubernetes"):
        assert secret not in text


def test_switched_off(rig: Rig) -> None:
    daemon = rig.start(STATUS_PAGE="false")
    rig.wait_in_sync()
    for path in ("/", "/status", "/status/stream"):
        assert daemon.get(path)[0] == 404
    assert daemon.get("/readyz")[0] == 200


# --- live

def test_a_change_comes_by_the_stream(rig: Rig) -> None:
    daemon = rig.start(SECCOMP="true", ASAN_OPTIONS="detect_leaks=0")  # which no filter allows
    rig.wait_in_sync()
    with EventStream(daemon.port) as stream:
        first = stream.next()
        assert first.id == "1" and stream.retry_ms and nodes(first.json()) == {"n1": "live"}
        rig.pods(1, 2)
        event = stream.until(lambda s: nodes(s) == {"n1": "live", "n2": "live"} and s["state"] == "in_sync", "n2")
        assert int(event.id) > 1 and servers(event.json())["n2"] == "live"
    assert "seccomp=true" in daemon.log()


def test_eight_streams_and_probes_beside_them(rig: Rig) -> None:
    daemon = rig.start()
    rig.wait_in_sync()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(EventStream(daemon.port)) for _ in range(STREAMS)]
        for stream in streams:
            assert stream.next().kind == "message"
        with EventStream(daemon.port) as ninth:
            assert ninth.status == 503 and ninth.headers["Retry-After"]
        for _ in range(70):
            stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port)))  # they say nothing, and stay
        daemon.wait_log("HTTP connection limit reached")
        assert daemon.get("/livez", timeout=20)[0] == 200
        for stream in streams:  # they went first
            with contextlib.suppress(EOFError, OSError):
                while True:
                    stream.next()
    wait_until(lambda: daemon.get("/readyz")[0] == 200, 20, "it to be as before")
    with EventStream(daemon.port) as again:
        assert again.status == 200 and again.next().kind == "message"


def test_the_end_does_not_wait_for_streams(rig: Rig) -> None:
    daemon = rig.start()
    rig.wait_in_sync()
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(EventStream(daemon.port)) for _ in range(STREAMS)]
        for stream in streams:
            stream.next()
        daemon.stop()  # which fails after 5 s
        rig.daemon = None
        assert "did not answer in time" not in daemon.log()


def test_names_that_others_chose_are_text(rig: Rig) -> None:
    """What drives a terminal, turns text around, ends a line or a string; and far too much of it."""
    hostile = "\" ' \\ \u2028 \u202e"
    daemon = rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.dataplane.fault({"method": "GET", "path": r"/configuration/backends/be\b", "action": "answer", "status": 500,
                         "body": {"code": 500, "message": f"{hostile} \x1b[2J {'x' * 5000}"}, "times": 0})
    wait_status(daemon, lambda s: s["state"] == "problem" and hostile in s["summary"], "the trouble with its words")
    text = daemon.get("/status")[1]
    assert all(0x20 <= ord(c) < 0x7f for c in text), "printable ASCII alone"
    assert len(text) < 100_000



"""What is done to the servers of one backend beside HAProxy where a rule decides: what HAProxy runs with is awaited, what is refused
holds up nothing else, and what a person did not do is not taken for an order."""

from __future__ import annotations

import pathlib
import re
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.harness import objects
from tests.harness.backends import backends, census, node_port
from tests.harness.daemon import Daemon, clean_env
from tests.harness.health import HealthPort
from tests.harness.lines import section
from tests.harness.process import wait_until

from .rig import BY_NODE_PORT, NAMESPACE, TEMPLATE, Rig, program
from .test_local import beside

N1 = "  server n1 127.0.11.1:30443 check weight 100\n"
SORRY = "  server sorry 127.0.11.99:80 backup\n"
RigOf = Callable[..., Rig]


@pytest.fixture
def made(rig_of: RigOf) -> RigOf:
    """A HAProxy without a Data Plane API; pods on n1 and n2."""
    def make(template: str = TEMPLATE, **service: object) -> Rig:
        rig = rig_of(template)
        rig.dataplane.kill()
        rig.service(**service)
        rig.pods(1, 2)
        return rig

    return make


def serve(rig: Rig, *nodes: int) -> None:
    """Until these alone are in rotation, in the file and in HAProxy."""
    rig.wait_servers(*nodes, timeout=40)


def begin(rig: Rig, **settings: str) -> Daemon:
    daemon = rig.start(**beside(rig, **settings))
    serve(rig, 1, 2)
    daemon.wait_ready()
    return daemon


def place(rig: Rig, name: str) -> str:
    row = rig.haproxy.servers("be")[name]
    return f"{row['srv_addr']}:{row['srv_port']}"


def starts(rig: Rig) -> bool:
    """HAProxy would start with its file."""
    return subprocess.run([rig.haproxy.binary, "-c", "-f", rig.haproxy.config], capture_output=True, check=False).returncode == 0


def health(rig: Rig) -> dict[str, str]:
    rows = [line.split(",") for line in rig.haproxy.runtime("show stat").splitlines() if line.startswith("be,n")]
    return {row[1]: row[17] for row in rows}


# --- what HAProxy runs with


def test_another_port_of_health_checks(made: RigOf) -> None:
    hosts = {f"n{i}": f"127.0.11.{i}" for i in (1, 2)}
    first, then = (node_port(hosts.values()) for _ in range(2))
    local = {"type_": "LoadBalancer", "policy": "Local"}
    rig = made(TEMPLATE.replace("inter 5s rise 2 fall 2 addr 127.0.0.1 port {fe}", "inter 300 rise 1 fall 2"), **local, health_check_node_port=first)
    with HealthPort(hosts, then) as asked, HealthPort(hosts, first):
        daemon = begin(rig, **BY_NODE_PORT, HAPROXY_HEALTH_CHECK="node-port")
        assert not asked.asked
        rig.service(**local, health_check_node_port=then)
        wait_until(lambda: {node for node, _ in asked.asked} == set(hosts), 40, "both asked at the other port")
        wait_until(lambda: set(health(rig).values()) == {"UP"}, 20, "both up")
        assert all(f"port {then}" in line for name, line in rig.lines().items() if name in hosts)
        daemon.wait_ready()


def test_a_name_that_does_not_resolve_is_named(made: RigOf) -> None:
    rig, name = made(TEMPLATE.replace(N1, "")), "gone.invalid"
    rig.kube.put(objects.node(name), objects.slice_("web-1", "web", [objects.endpoint("10.244.7.7", name)], namespace=NAMESPACE))
    daemon = rig.start(**beside(rig, NODE_ADDRESS_TYPES="Hostname"))
    daemon.wait_not_ready(f"server {name}: HAProxy cannot resolve the host name")
    assert daemon.metrics().sum("in_sync") == 0


def test_without_an_address_is_no_order(made: RigOf) -> None:
    """HAProxy itself has both in maintenance, as their names do not resolve."""
    lines = "".join(f"  server n{i} n{i}.test:30443 check weight 100 resolvers lab init-addr none\n" for i in (1, 2))
    rig = made(TEMPLATE.replace(N1, lines).replace("defaults\n", "resolvers lab\n  nameserver a 127.0.0.1:9\n\ndefaults\n", 1))
    wait_until(lambda: all(int(rig.haproxy.servers("be")[n]["srv_admin_state"]) & 0x20 for n in ("n1", "n2")), 10, "both without an address")
    daemon = rig.start(**beside(rig))
    for _ in range(2):
        wait_until(lambda: (place(rig, "n1"), place(rig, "n2")) == ("127.0.11.1:30443", "127.0.11.2:30443"), 40, "both at their nodes")
        serve(rig, 1, 2)
        daemon.wait_ready()
        rig.haproxy.reload()


def test_places_of_a_state_file_are_set_again(made: RigOf, tmp_path: pathlib.Path) -> None:
    """A reload brings the old port back each time: it is not repeated."""
    state = tmp_path / "state"
    rig = made(TEMPLATE.replace("httpclient.ssl.verify none", f"server-state-file {state}")
               .replace("  timeout connect", "  load-server-state-from-file global\n  timeout connect", 1), node_ports={"https": (443, 30443)})
    daemon = begin(rig, **BY_NODE_PORT)
    state.write_text(rig.haproxy.runtime("show servers state"))
    rig.service(node_ports={"https": (443, 30555)})
    wait_until(lambda: place(rig, "n2") == "127.0.11.2:30555", 20, "the new port")
    daemon.wait_ready()
    rig.haproxy.reload()
    daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
    before = rig.haproxy.reloads()
    assert place(rig, "n2") == "127.0.11.2:30443"
    daemon.wait_log("they were set by runtime commands", 40)
    wait_until(lambda: {place(rig, n) for n in ("n1", "n2")} == {"127.0.11.1:30555", "127.0.11.2:30555"}, 10, "the new port once more")
    daemon.wait_ready()
    assert rig.haproxy.reloads() - before <= 1


def test_weights_that_take_reloads_and_an_address_that_takes_none(made: RigOf) -> None:
    """Under a static algorithm; a weight that HAProxy does not take says nothing of addresses."""
    rig = made(TEMPLATE.replace("roundrobin", "source"), policy="Local")
    daemon = begin(rig, SERVER_WEIGHTS="endpoints", HAPROXY_BALANCE="source")
    for count in (2, 3, 4):
        was, worker = rig.haproxy.servers("be")["n1"]["srv_uweight"], rig.haproxy.worker()
        rig.kube.put(objects.slice_("web-1", "web", [objects.endpoint(f"10.244.{n}.{7 + k}", f"n{n}") for k, n in enumerate([1] * count + [2])],
                                    namespace=NAMESPACE))
        wait_until(lambda was=was: rig.haproxy.servers("be")["n1"]["srv_uweight"] != was, 30, "another weight")
        daemon.wait_ready()
        assert rig.haproxy.worker() != worker
    worker = rig.haproxy.worker()
    rig.node(2, "127.0.11.22")
    wait_until(lambda: place(rig, "n2") == "127.0.11.22:30443" and "127.0.11.22:" in rig.haproxy.config.read_text(), 25, "n2 moved")
    daemon.wait_ready()
    assert rig.haproxy.worker() == worker


@pytest.mark.parametrize("algorithm", ["random", "roundrobin"])
def test_servers_that_come_one_by_one_get_traffic(made: RigOf, algorithm: str) -> None:
    """HAProxy before 3.0 forgets those that were added while it runs in its consistent hash."""
    nodes = {f"n{i}": f"127.0.11.{i}" for i in range(1, 6)}
    port = node_port(nodes.values())
    rig = made(TEMPLATE.replace(N1 + SORRY, "").replace("roundrobin", algorithm))
    rig.pods(1)
    with backends(nodes, port):
        daemon = rig.start(**beside(rig, HAPROXY_BALANCE=algorithm, HAPROXY_BACKEND_PORT=str(port)))
        for last in range(1, 6):
            rig.pods(*range(1, last + 1))
            wait_until(lambda last=last: rig.running() == {f"n{i}" for i in range(1, last + 1)}, 20, f"n1 to n{last}")
            daemon.wait_ready()
        wait_until(lambda: all(s.startswith("UP") for s in health(rig).values()), 20, "all up")
        seen = census(rig.haproxy.port, 300)
        assert set(seen) == set(nodes) and min(seen.values()) >= 15, seen


# --- what is refused


@pytest.mark.parametrize(("old", "new", "why"), [
    ("127.0.0.1:9\n", "127.0.0.1:9 track be/n1\n", "unable to find required server 'n1' for tracking"),
    ("  balance roundrobin\n", "  balance roundrobin\n  use-server n1 if FALSE\n", "unable to find server 'n1' referenced in a 'use-server' rule"),
], ids=["track", "use-server"])
@pytest.mark.parametrize("parked", [True, False], ids=["parked", "live"])
def test_a_removal_that_is_refused_holds_up_no_new_server(made: RigOf, old: str, new: str, why: str, parked: bool) -> None:
    rig = made(TEMPLATE.replace(old, new))
    daemon = begin(rig, PARK_TTL="1h" if parked else "0s")
    rig.pods(2)
    if parked:
        rig.wait_parked(1)
        daemon.stop()
        daemon = rig.start(**beside(rig, PARK_TTL="0s"))
    daemon.wait_not_ready(why)
    rig.pods(2, 3)
    wait_until(lambda: rig.running() == {"n2", "n3", "sorry"} and "n3" in rig.lines(), 30, "n3 in rotation")
    assert "n1" in rig.all_lines() and starts(rig)


def test_an_address_does_not_wait_for_a_refused_server(made: RigOf) -> None:
    """An operator's typing error elsewhere in the file is why it is refused."""
    rig = made()
    daemon = begin(rig, **BY_NODE_PORT)
    rig.hand_edit(rig.haproxy.config.read_text().replace("timeout server 77s", "timeout servant 77s"))
    rig.pods(1, 2, 3)
    daemon.wait_not_ready("servant")
    rig.node(2, "127.0.11.22")
    wait_until(lambda: place(rig, "n2") == "127.0.11.22:30443", 30, "n2 moved")
    daemon.wait_not_ready("servant")
    rig.hand_edit(rig.haproxy.config.read_text().replace("servant", "server"))
    serve(rig, 1, 2, 3)
    daemon.wait_ready()


TYPING = ("timeout client", "timeout cliant")


@pytest.mark.parametrize("kind", ["local", "api"])
@pytest.mark.parametrize(("edit", "pods", "why", "status"), [
    (TYPING, (1, 2), r"line \d+: 'timeout' supports 'client'", 1),
    (("backend other", 'frontend odd\n  bind "127.0.0.1:$NOBODY_SETS_IT"\n\nbackend other'), (1, 2), r"line \d+: 'bind' (: )?missing port", 1),
    (("  balance roundrobin\n", "  balance roundrobin\n  use-server n1 if FALSE\n"), (2,),
     r"backend 'be' (: )?unable to find server 'n1' referenced in a 'use-server' rule", 2),
    (("127.0.0.1:9\n", "127.0.0.1:9 track be/n1\n"), (2,), r"line \d+: 'server other/a' (: )?unable to find required server 'n1' for tracking", 2),
    (TYPING, (1,), "", 0),
], ids=["a typing error elsewhere", "a variable that is not set", "use-server", "track", "nothing to write"])
def test_plan_and_doctor_say_what_the_daemon_is_refused(rig_of: RigOf, kind: str, edit: tuple[str, str], pods: tuple[int, ...], why: str,
                                                        status: int) -> None:
    """Before it runs, and while it does. Where removals alone are refused, all else is still to come before it runs."""
    rig = rig_of(TEMPLATE)
    rig.service()
    rig.pods(*pods)
    more = {"PARK_TTL": "0s", "MAX_LOSS_PERCENT": "100"}
    if kind == "local":
        rig.dataplane.kill()
        more = beside(rig, **more)
    text = rig.haproxy.config.read_text()
    assert text.count(edit[0]) == 1
    rig.hand_edit(text.replace(*edit))

    def said(word: str, **settings: str) -> tuple[int, str]:
        env = clean_env(**rig.settings(**more, **settings))
        done = subprocess.run([program(), word], env=env, capture_output=True, text=True, timeout=60, check=False)
        found = re.search(why, " ".join(done.stdout.split()))
        assert found and (why or "rejected" not in done.stdout), done.stdout
        return done.returncode, found[0]

    code, line = said("plan")
    assert code == status and said("doctor")[1] == line
    if why:
        daemon = rig.start(**more)
        shown = daemon.wait_not_ready("HAProxy rejected the change")
        settings = {"LISTEN_ADDRESS": f"127.0.0.1:{daemon.port}"}
        code, line = said("plan", **settings)
        assert code == 1 and said("doctor", **settings)[1] == line
        assert kind == "api" or line in shown


def test_a_line_with_track_gets_no_check_and_no_order(made: RigOf) -> None:
    """Nor is it an operator's order that the server that it tracks is in maintenance."""
    rig = made(TEMPLATE.replace(N1, "  server n1 127.0.11.1:30443 weight 100 track probe/n1\n" + N1.replace("n1", "n2").replace("11.1", "11.2"))
               .replace("backend other", "backend probe\n  mode tcp\n  server n1 127.0.0.1:{fe} check\n\nbackend other"))
    daemon = begin(rig)
    rig.haproxy.runtime("set server probe/n1 state maint")
    assert rig.runtime_states()["n1"] == "maint"
    rig.pods(1, 2, 3)
    wait_until(lambda: rig.running() == {"n2", "n3", "sorry"}, 20, "n3 in rotation")
    daemon.wait_ready()
    assert rig.lines()["n1"].split()[1:] == ["weight", "100", "track", "probe/n1"] and starts(rig)
    rig.haproxy.reload()
    daemon.process.signal(signal.SIGHUP)  # type: ignore[union-attr]
    daemon.wait_log("HAProxy was reloaded or restarted externally")
    serve(rig, 1, 2, 3)
    daemon.wait_ready()


# --- what siblings have


@pytest.mark.parametrize(("first", "second", "common"), [
    ("ssl verify none", "ssl verify none", ["ssl", "verify", "none"]),
    ("ssl verify none fall 7", "ssl verify none fall 9 slowstart 5s", ["ssl", "verify", "none"]),
    ("slowstart 5s", "fall 7", []),
], ids=["the same", "more", "nothing"])
def test_a_new_server_gets_what_all_have(made: RigOf, first: str, second: str, common: list[str]) -> None:
    rig = made(TEMPLATE.replace(N1, f"  server n1 127.0.11.1:30443 check {first}\n  server n2 127.0.11.2:30443 check {second}\n"))
    daemon = begin(rig)
    rig.pods(1, 2, 3)
    serve(rig, 1, 2, 3)
    assert [word for word in rig.lines()["n3"].split()[1:] if word not in ("check", "weight", "100", "1")] == common
    assert (rig.haproxy.servers("be")["n3"]["srv_use_ssl"] == "1") == ("ssl" in common)
    daemon.wait_ready()


# --- both engines on one file


@pytest.mark.parametrize(("head", "why"), [("\nbackend other\n", ""), ("\nbackend be\n", r"line (\d+): a conditional")],
                         ids=["behind it", "around it"])
def test_a_conditional_and_a_backend_whose_servers_are_kept(made: RigOf, tmp_path: pathlib.Path, head: str, why: str) -> None:
    rig = made()
    source, first = tmp_path / "source.cfg", rig.haproxy.config.read_text().replace(N1, "")
    source.write_text(first)
    daemon = begin(rig, CONFIG_SOURCE="file", CONFIG_FILE=str(source), STATE_DIR=str(tmp_path / "state"))
    before = rig.haproxy.config.read_text()
    conditional = first.replace(head, f"\n.if defined(WITH_OTHER){head}") + ".endif\n"
    fresh = tmp_path / "fresh"
    fresh.write_text(conditional)
    fresh.rename(source)
    if why:
        found = re.search(why, daemon.wait_not_ready(why))
        assert found and conditional.splitlines()[int(found[1]) - 1] == head.strip() and rig.haproxy.config.read_text() == before
    else:
        wait_until(lambda: ".if defined(WITH_OTHER)" in rig.haproxy.config.read_text(), 20, "applied")
        daemon.wait_ready()
    serve(rig, 1, 2)
    assert starts(rig) and len([line for line in section(rig.haproxy.config.read_text(), "backend be") if "server n" in line]) == 2


# --- watches


def test_watches_that_end_at_once_lose_nothing(made: RigOf) -> None:
    """Each is answered, and ends in good order without an event: lists show what they do not."""
    rig = made()
    for resource in ("endpointslices", "nodes", "services"):
        rig.kube.fault(resource=resource, verb="resume", times=0, cut="clean")
        rig.kube.fault(resource=resource, verb="streaming-list", times=0, cut="clean", initialEnd="after")
    rig.start(**beside(rig))
    serve(rig, 1, 2)
    wait_until(lambda: sum(fault["hits"] for fault in rig.kube.faults()) > 6, 30, "watches that end")
    rig.pods(1, 2, 3)
    serve(rig, 1, 2, 3)

"""`plan` and `explain`: what the daemon would do and why, without doing it. Each run here is checked to have written nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.daemon import clean_env
from tests.harness.process import wait_until

from .rig import BY_NODE_PORT, NAMESPACE, SERVICE, SEVERAL, TEMPLATE, Rig, program

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
ESCAPE = "\x1b"
TWO_PORTS = {"http": (80, 30080), "https": (443, 30443)}
PORTS_OF_PODS = [objects.port(8080, "http"), objects.port(8443, "https")]
LONGEST = 25  # s; no run takes nearly as long, unless it sits out the usual deadline of 30 s


@dataclasses.dataclass
class Run:
    status: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.out))

    def backend(self, name: str = "be") -> dict[str, Any]:
        return next(b for b in self.json()["backends"] if b["backend"] == name)

    def said(self, pattern: str) -> bool:
        """Line breaks are layout."""
        return re.search(pattern, re.sub(r"\s+", " ", self.out + self.err)) is not None


def alone(words: tuple[str, ...], settings: dict[str, str]) -> list[str]:
    """Without the memory of a daemon, unless it is asked for: tests/functional/test_plan_daemon.py."""
    asked = "LISTEN_ADDRESS" in settings or any(word.startswith("--daemon") for word in words)
    return [*words[:1], *(["--daemon=none"] if words[:1] == ("plan",) and not asked else []), *words[1:]]


def look(rig: Rig, *words: str, **settings: str) -> Run:
    before = rig.writes() if rig.dataplane.process and rig.dataplane.process.alive else None
    done = subprocess.run([program(), *alone(words, settings)], env=clean_env(**rig.settings(**settings)), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LONGEST)
    if before is not None:
        assert rig.writes() == before, "it wrote something"
    assert ESCAPE not in done.stdout or "--color=always" in words
    assert not re.search(r"level=(debug|info)", done.stderr), done.stderr
    return Run(done.returncode, done.stdout, done.stderr)


def on_terminal(rig: Rig, *words: str, columns: int = 100, **more: str) -> str:
    """What it writes when standard output is a terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    subprocess.run(["stty", "cols", str(columns)], stdin=theirs, check=True)
    with subprocess.Popen([program(), *alone(words, {})], env=clean_env(**rig.settings(), **more), stdin=subprocess.DEVNULL,
                          stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # EIO: it is closed at the other end
                break
            if not chunk:
                break
            text += chunk
        process.wait(LONGEST)
    os.close(ours)
    return text.decode()


# --- in sync or not

def test_in_step(rig: Rig) -> None:
    run = look(rig, "plan", "--timeout=10m")  # LONGEST is shorter: all is there at once
    assert run.status == 0
    assert run.err == ""
    wait_until(lambda: not rig.kube.open_watches(), 10, "no watch to be left open")
    assert re.search(r"^  = n1 +127\.0\.11\.1:30443 +weight 100", run.out, re.M)
    assert "  . 1 server line is unmanaged\n" in run.out
    assert run.out.endswith("  in sync: 1 server\n")
    as_json = look(rig, "plan", "-o", "json")
    assert as_json.status == 0
    assert as_json.json()["in_sync"] is True
    assert as_json.backend()["verdict"] == "in_sync" and as_json.backend()["unmanaged"] == 1


DIFFERENT = TEMPLATE.replace("  server n1 127.0.11.1:30443 check weight 100\n", """\
  server n1 127.0.11.1:30443 check weight 100
  server n2 127.0.11.99:30443 check weight 7
  server n4 127.0.11.4:30443 check weight 100
  server n5 127.0.11.5:30443 check weight 100
  server old 127.0.11.77:30443 check weight 100
""").replace("balance roundrobin", "balance leastconn")


@pytest.fixture
def different(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """One of each: n1 as desired, n2's address is another, n3 is missing, n4 drains, n5's node is excluded, and the server
    `old` is unknown to Kubernetes."""
    with Rig(tmp_path, DIFFERENT) as made:
        made.service(policy="Local")
        made.kube.put(objects.slice_("web-1", SERVICE, [
            *(objects.endpoint(f"10.244.{i}.7", f"n{i}") for i in (1, 2, 3, 5)),
            objects.endpoint("10.244.4.7", "n4", objects.TERMINATING)], namespace=NAMESPACE))
        made.node(5, labels={EXCLUDE: ""})
        yield made


def test_each_server_with_its_reason(different: Rig) -> None:
    run = look(different, "plan", **BY_NODE_PORT)
    assert run.status == 2
    assert run.err == ""
    heading, *lines = run.out.splitlines()
    assert heading == "backend be  <-  Service ingress/web port https  (NodePort, policy Local, nodePort 30443)"
    shown = [re.sub(r"\s+", " ", line).strip() for line in lines]
    for row, why in (("~ n2 address 127.0.11.99 -> 127.0.11.2", "ready endpoint .*slice web-1.*nodePort 30443"),
                     ("+ n3 127.0.11.3:30443 weight 100 reload", "ready endpoint .*slice web-1"),
                     ("~ n4 maintenance on (draining) reload", "draining .*terminating"),
                     ("~ n5 maintenance on (parked)", EXCLUDE),
                     ("- old 127.0.11.77:30443 weight 100 reload", "no node and no endpoint has this name"),
                     ("= n1 127.0.11.1:30443 weight 100", "ready endpoint")):
        at = shown.index(row)
        assert re.search(why, " ".join(shown[at + 1:at + 3])), (row, shown)
    assert "~ balance leastconn -> roundrobin" in shown
    assert shown[-1] == "6 changes: 1 to add, 2 to change, 1 to park, 1 to remove, settings; 2 without a reload, 4 by a transaction and a reload" \
        or " ".join(shown[-2:]) == ("6 changes: 1 to add, 2 to change, 1 to park, 1 to remove, settings; 2 without a reload, "
                                    "4 by a transaction and a reload"), shown
    assert max(map(len, lines)) <= 100


def what_was_done(rig: Rig) -> dict[str, set[tuple[str, str]]]:
    """(method, server) of each write to the backend, by the way it went."""
    ways = {"reload": r"/configuration/backends/be/servers/?(\w*)\?transaction_id=|/transactions/[^/]+/backends/be/servers/?(\w*)",
            "without": r"/configuration/backends/be/servers/(\w+)\?version=", "runtime": r"/runtime/backends/be/servers/(\w+)$"}
    return {way: {(method, next((g for g in found.groups() if g), "")) for method, path, _ in rig.writes()
                  if (found := re.search(pattern, path))} for way, pattern in ways.items()}


def test_the_daemon_does_what_was_printed(different: Rig) -> None:
    before = different.all_lines()
    be = look(different, "plan", "-o", "json", **BY_NODE_PORT).backend()
    different.start(**BY_NODE_PORT, DRAIN_TIMEOUT="1h")
    different.wait_in_sync()
    verbs = {"add": "POST", "change": "PUT", "remove": "DELETE"}
    done = what_was_done(different)
    assert done["reload"] == {(verbs[c["op"]], "" if c["op"] == "add" else c["server"]) for c in be["changes"] if c["reload"]}
    # What is new to everybody is parked, and goes with the transaction that follows.
    assert done["without"] - {("PUT", "old")} == {("PUT", c["server"]) for c in be["changes"] if not c["reload"]}
    assert done["runtime"] == {("PUT", command["server"]) for command in be["runtime_commands"]}
    wanted = before | {c["server"]: f"{c['address']}:{c['port']}" for c in be["changes"] if c["op"] != "remove"}
    for change in be["changes"]:
        if change["op"] == "remove":
            del wanted[change["server"]]
    assert {name: line.split()[0] for name, line in different.all_lines().items()} == {n: line.split()[0] for n, line in wanted.items()}
    assert different.parked() == {"n4", "n5"}, "n4 drains: the reload forgot the runtime command"
    assert "weight 7" in different.lines()["n2"]
    assert different.commits() == 1
    run = look(different, "plan", **BY_NODE_PORT)
    assert run.status == 0, "nothing is left to do"
    assert "  . parked: n5 (maintenance, kept so that its return needs no reload)\n" in run.out and run.said("in sync: 4 servers, 1 draining")


# --- kept for now


def test_a_new_server_has_what_its_siblings_have(tmp_path: pathlib.Path) -> None:
    """Also in the file that HAProxy validates for `plan`: the API shows their options as JSON, and the file has words."""
    with Rig(tmp_path, TEMPLATE.replace(" check ", " check fall 9 inter 3s ")) as rig:
        rig.pods(1, 2)
        done = look(rig, "plan")
        assert done.status == 2 and not done.said("rejected") and done.said("n2"), done.out
        rig.start()
        rig.wait_servers(1, 2)
        rig.wait_in_sync()
        assert all("fall 9" in line and "inter 3" in line for name, line in rig.lines().items() if name != "sorry"), rig.lines()


def test_reload_that_failed(rig: Rig) -> None:
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] no room for the new worker"})
    answer = rig.dataplane.commit(rig.dataplane.begin())
    rig.dataplane.follow(answer.headers["Reload-ID"])
    run = look(rig, "plan")
    assert run.status == 2
    assert run.said("reload due: .*empty commit") and "no room for the new worker" in run.err
    as_json = look(rig, "plan", "-o", "json")
    assert as_json.backend()["verdict"] == "reload_again" and "no room" in str(as_json.json()["problems"])


# --- unknown

def test_refused(rig: Rig) -> None:
    run = look(rig, "plan", HAPROXY_BACKEND_NAME="nope")
    assert run.status == 1
    assert run.said("refused: HAProxy has no backend nope: .*HAPROXY_CREATE_BACKEND=true")
    run = look(rig, "plan", HAPROXY_BACKEND_NAME="nope", HAPROXY_CREATE_BACKEND="true")
    assert run.status == 2
    assert run.said(r"\+ the backend itself \+ n1 127\.0\.11\.1:30443")


def test_haproxy_away(rig: Rig) -> None:
    rig.dataplane.stop()
    run = look(rig, "plan")
    assert run.status == 1
    assert run.said(f"unknown: .*127.0.0.1:{rig.dataplane.port}")
    as_json = look(rig, "plan", "-o", "json")
    assert as_json.status == 1
    assert as_json.backend()["verdict"] == "unknown" and len(as_json.json()["problems"]) == 1
    assert [s["name"] for s in as_json.backend()["servers"]] == ["n1"], "what is desired is known all the same"


@pytest.mark.parametrize("resources", [["nodes", "services"], ["endpointslices", "endpoints"]])
def test_what_is_forbidden_is_not_waited_for(rig: Rig, resources: list[str]) -> None:
    rig.kube.forbid(*resources)
    run = look(rig, "plan", "--timeout=10m")  # LONGEST is shorter
    assert run.status == 1
    assert run.said(rf"\[-\] watch {resources[0].replace('endpointslices', 'endpoints')}: not synced: .*forbidden.*deploy/rbac.yaml grants it")
    assert "[+]" not in run.out + run.err, "only what is missing is listed"


def test_forbidden_services(rig: Rig) -> None:
    rig.kube.forbid("services")
    run = look(rig, "plan")
    assert run.status == 0, "the port is given"
    assert run.said("the Service itself may not be read, HAPROXY_BACKEND_PORT 30443") and run.err == ""


def test_configuration(rig: Rig) -> None:
    for words in (["plan"], ["plan", "-o", "json"], ["explain", "n1"]):
        run = look(rig, *words, HAPROXY_BACKEND_PORT="70000", RESYNC_PERIOD="soon")
        assert run.status == 78
        assert run.out == "" and re.findall("^error: ([A-Z_]+)=", run.err, re.M) == ["HAPROXY_BACKEND_PORT", "RESYNC_PERIOD"]
    run = look(rig, "plan", DRYRUN="1")
    assert run.status == 78 and "did you mean DRY_RUN?" in run.err
    run = look(rig, "plan", KUBECONFIG=str(rig.home / "nowhere"))
    assert run.status == 78 and run.err.startswith("error: ") and "nowhere" in run.err


@pytest.mark.parametrize("words,says", [(["plan", "-o", "yaml"], "expected text or json"), (["explain"], "needs the name of a node"),
                                        (["plans"], 'unknown command "plans"; did you mean "plan"?')])
def test_bad_arguments(words: list[str], says: str) -> None:
    done = subprocess.run([program(), *words], env=clean_env(), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 64
    assert done.stdout == "" and says in done.stderr and "--help" in done.stderr and done.stderr.count("\n") == 1


def test_output_that_cannot_be_written(rig: Rig) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([program(), "plan"], env=clean_env(**rig.settings()), stdout=full, stderr=subprocess.PIPE, timeout=LONGEST)
    assert done.returncode == 1


def test_interrupt_ends_it(rig: Rig) -> None:
    with subprocess.Popen([program(), "plan", "--watch"], env=clean_env(**rig.settings()), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout and process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT


# --- several backends

@pytest.fixture
def several(tmp_path: pathlib.Path) -> Iterator[Rig]:
    """Two backends of one Service."""
    with Rig(tmp_path, SEVERAL) as made:
        made.service(node_ports=TWO_PORTS)
        made.pods(1, ports=PORTS_OF_PODS)
        yield made


def mapped(services: str) -> dict[str, str]:
    return {**BY_NODE_PORT, "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "", "INGRESS_SERVICES": services}


def test_worst_of_two_backends(several: Rig) -> None:
    web = f"{NAMESPACE}/{SERVICE}"
    settings = mapped(f"{web}:https=be, {web}:http=be2")
    run = look(several, "plan", **settings)
    assert run.status == 2
    assert re.search("^backend be .*port https .*\n(.*\n)*\nbackend be2 .*port http .*nodePort 30080", run.out, re.M)
    assert run.said("in sync: 1 server") and run.said(r"\+ n1 127\.0\.11\.1:30080 weight 100")
    as_json = look(several, "plan", "-o", "json", **settings)
    assert [b["verdict"] for b in as_json.json()["backends"]] == ["in_sync", "changes"]
    run = look(several, "plan", **mapped(f"{web}:https=be, {web}:http=be2, {web}:http=nope"))
    assert run.status == 1
    assert run.said("in sync: 1 server") and run.said("changes: ") and run.said("refused: HAProxy has no backend nope")
    run = look(several, "explain", "n1", **settings)
    assert run.status == 0
    assert run.out.count("node n1: live") == 2 and "nodePort 30080" in run.out


def test_every_service_is_waited_for(several: Rig) -> None:
    several.service("app", namespace="other", node_ports={"": (80, 32000)})
    several.pods(2, service="app", namespace="other", ports=[objects.port(9000, "")])
    several.kube.fault(resource="endpointslices", verb="streaming-list", nth=2, status=503, times=1)
    as_json = look(several, "plan", "-o", "json", **mapped(f"{NAMESPACE}/{SERVICE}:https=be, other/app=be3"))
    assert several.kube.faults()[0]["hits"] == 1
    assert [b["verdict"] for b in as_json.json()["backends"]] == ["in_sync", "changes"]
    assert as_json.json()["problems"] == []


# --- explain

def test_explain_live(rig: Rig) -> None:
    run = look(rig, "explain", "n1")
    assert run.status == 0 and run.err == ""
    assert "  node n1: live\n" in run.out
    rules = re.findall(r"^  \[(.)\] (\w+) ", run.out, re.M)
    assert [mark for mark, _ in rules] == ["x"] * len(rules) and [r for _, r in rules][:3] == ["known", "eligible", "address"]
    assert re.search(r"^  now in HAProxy +server n1 127\.0\.11\.1:30443 check weight 100$", run.out, re.M)
    assert re.search("^  next +nothing: it is as desired$", run.out, re.M)


def test_explain_of_an_unknown_name(rig: Rig) -> None:
    run = look(rig, "explain", "n9")
    assert run.status == 1 and run.out == ""
    assert run.said("n9 is unknown: .*did you mean n1, n2, n3[?]")
    run = look(rig, "explain", "10.244.1.7")
    assert run.status == 1 and run.said("did you mean n1[?]"), "the address of an endpoint on n1"
    run = look(rig, "explain", "altogether-different")
    assert run.status == 1 and "did you mean" not in run.err


# --- on a terminal

def test_colours_on_a_terminal_only(rig: Rig) -> None:
    rig.pods(1, 2)
    assert "\x1b[32m+ n2\x1b[0m" in on_terminal(rig, "plan", TERM="xterm")
    assert "\x1b[32mlive\x1b[0m" in on_terminal(rig, "explain", "n2", TERM="xterm")
    assert ESCAPE not in on_terminal(rig, "plan", TERM="xterm", NO_COLOR="1")
    assert ESCAPE not in on_terminal(rig, "plan", TERM="dumb")
    assert ESCAPE not in on_terminal(rig, "plan", "--color=never", TERM="xterm")
    assert ESCAPE not in on_terminal(rig, "plan", "-o", "json", "--color=always", TERM="xterm")
    assert "\x1b[32m+ n2\x1b[0m" in look(rig, "plan", "--color=always").out
    assert max(map(len, on_terminal(rig, "plan", columns=70, TERM="dumb").splitlines())) <= 70


def test_what_kubernetes_says_cannot_drive_the_terminal(rig: Rig) -> None:
    rig.kube.put(objects.slice_("web-1", SERVICE, [objects.endpoint("10.244.1.7", "n1"),
                                                   objects.endpoint("10.244.1.9", "ghost\u202e\x9b31m")], namespace=NAMESPACE))
    run = look(rig, "plan")
    assert "ghost" in run.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", run.out)
    shown = on_terminal(rig, "plan", "--color=always", TERM="xterm")
    assert "\x1b[33m" in shown and "\u202e" not in shown and "\x9b" not in shown
    as_json = look(rig, "plan", "-o", "json")
    assert as_json.out.isascii() and not re.search("[\x00-\x09\x0b-\x1f\x7f]", as_json.out)
    assert any("ghost\u202e\x9b31m" in s["reason"] for s in as_json.backend()["left_out"]), "escaped, but not changed"
    assert look(rig, "explain", "ghost\u202e\x9b31m").said("node ghost.*: out .*is not known")
    run = look(rig, "explain", "ghost\x1b[2J")
    assert run.status == 1 and "ghost\\x1b[2J" in run.err and ESCAPE not in run.out + run.err


# --- again and again

@pytest.mark.parametrize("words", [["plan", "--daemon=none"], ["explain", "n2"]], ids=["plan", "explain"])
def test_watch_prints_what_changed_alone(rig: Rig, words: list[str]) -> None:
    rig.service()
    rig.pods(1)
    printed = rig.home / "printed"
    with printed.open("w") as out:
        watching = subprocess.Popen([program(), *words, "--watch"], env=clean_env(**rig.settings()), stdin=subprocess.DEVNULL, stdout=out)
    try:
        says = (r"in sync: 1 server", r"\+ n2 ") if words[0] == "plan" else (r"node n2: out", r"node n2: live")
        wait_until(lambda: re.search(says[0], printed.read_text()), LONGEST, "the first answer")
        asked = len(rig.kube.requests("nodes"))
        wait_until(lambda: len(rig.kube.requests("nodes")) >= asked + 2, LONGEST, "the same answer, twice")
        rig.pods(1, 2)
        wait_until(lambda: re.search(says[1], printed.read_text()), LONGEST, "the answer that changed")
    finally:
        watching.terminate()
    assert watching.wait(LONGEST) == -signal.SIGTERM
    assert len(re.findall(r"^backend be ", printed.read_text(), re.M)) == 2, printed.read_text()

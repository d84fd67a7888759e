"""What the daemon does to a backend, and what it leaves alone, seen in haproxy.cfg and in a real HAProxy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.harness import objects
from tests.harness.process import wait_until

from .rig import NAMESPACE, TEMPLATE, Rig

Make = Callable[..., Rig]


@pytest.fixture
def with_backend(rig_of: Make) -> Make:
    """A rig whose backend `be` has this body."""
    head, rest = TEMPLATE.split("\nbackend be\n", 1)
    return lambda body, play="3.4": rig_of(f"{head}\nbackend be\n{body}\n{rest[rest.index('backend other'):]}", play)


def lines(rig: Rig) -> list[str]:
    """The lines of our backend in the file."""
    body = rig.dataplane.file().split("\nbackend be", 1)[1].split("\n", 1)[1]
    return [line.strip() for line in body.split("\nbackend other")[0].splitlines() if line.strip()]


def server(rig: Rig, name: str) -> str:
    found = [line for line in lines(rig) if line.startswith(f"server {name} ")]
    assert len(found) == 1, lines(rig)
    return found[0]


# --- what is ours and what is not

def test_takeover_logs_every_removal_and_leaves_the_rest(with_backend: Make) -> None:
    rig = with_backend("""\
  mode tcp
  balance leastconn
  option tcp-check
  timeout server 33s
  stick-table type ip size 10k expire 5m
  tcp-request content accept if { src 10.0.0.0/8 }
  server old1 127.0.11.50:1 check
  server old2 127.0.11.51:2 check weight 7
  # by hand
  server n1 127.0.11.1:1 check weight 42 inter 9s
  server sorry 127.0.11.99:80 backup
  server canary-1 127.0.11.98:80 weight 1
""")
    rig.start(HAPROXY_KEEP_SERVERS="canary-*,x")
    rig.wait_in_sync()
    log = rig.daemon.log()
    assert log.count("taking over the backend") == 2
    assert "server=old1" in log and "server=old2" in log
    for line in ("# by hand", "timeout server 33s", "stick-table type ip size 10k expire 5m",
                 "tcp-request content accept if { src 10.0.0.0/8 }", "server sorry 127.0.11.99:80 backup",
                 "server canary-1 127.0.11.98:80 weight 1"):
        assert line in lines(rig), f"{line!r} is lost: {lines(rig)}"
    kept = server(rig, "n1")
    assert "127.0.11.1:30443" in kept and "weight 42" in kept and "inter 9s" in kept
    assert "balance roundrobin" in lines(rig)
    assert not any(line.startswith("server old") for line in lines(rig))


@pytest.mark.parametrize("play", ["3.0", "3.4"])
def test_comments_stay_though_settings_change(with_backend: Make, play: str) -> None:
    """A Data Plane API 3.4 drops them as it puts the backend."""
    rig = with_backend("""\
  mode tcp
  # Agreed with the network team: least connections.
  balance roundrobin
  # The checks of 2019.
  option httpchk GET /x
  timeout server 33s # long polls
  server n1 127.0.11.1:1 check weight 42
  server sorry 127.0.11.99:80 backup
""", play)
    rig.pods(1, 2)
    rig.start(HAPROXY_BALANCE="leastconn")
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    assert {"# Agreed with the network team: least connections.", "balance leastconn", "# The checks of 2019.", "option tcp-check",
            "timeout server 33s # long polls"} <= set(lines(rig)), lines(rig)
    assert not rig.differences()


def test_clashing_names_are_left_out_and_both_named(with_backend: Make) -> None:
    rig = with_backend("  mode tcp\n  server n2 127.0.11.99:80 backup\n  server-template n 3-4 127.0.11.97:80\n")
    rig.pods(1, 2, 3)
    rig.start()
    rig.wait_in_sync()
    assert server(rig, "n1").startswith("server n1 127.0.11.1:30443")
    assert server(rig, "n2") == "server n2 127.0.11.99:80 backup"
    assert "server-template n 3-4 127.0.11.97:80" in lines(rig)
    rig.daemon.wait_log("n2: the backend has a backup server of that name.*n3: the line .*server-template n 3-4")


def test_a_line_that_would_be_damaged_stops_all_writing(with_backend: Make) -> None:
    # HAProxy takes this keyword; 3.0 of the Data Plane API does not know it and drops it with any write.
    rig = with_backend("  mode tcp\n  server strange 127.0.11.50:1 check no-check-send-proxy\n", play="3.0")
    before = rig.dataplane.file()
    rig.start()
    body = rig.daemon.wait_not_ready("line [0-9]+")
    assert "strange" in body and "no-check-send-proxy" in body
    assert rig.dataplane.file() == before
    assert not rig.writes()
    path = rig.dataplane.config
    rig.hand_edit(path.read_text().replace(" no-check-send-proxy", ""))
    rig.daemon.process.signal(1)
    rig.wait_in_sync()


# --- settings

def test_keep_leaves_balance_and_check(with_backend: Make) -> None:
    rig = with_backend("  mode http\n  balance leastconn\n  option httpchk GET /ok\n")
    rig.start(HAPROXY_BALANCE="keep", HAPROXY_ADV_CHECK="keep")
    rig.wait_in_sync()
    assert "balance leastconn" in lines(rig) and "mode http" in lines(rig)
    assert any(line.startswith("option httpchk") for line in lines(rig))
    assert server(rig, "n1") == "server n1 127.0.11.1:30443 check weight 100"


def test_proxy_v2_in_the_default_server_is_merged(with_backend: Make) -> None:
    rig = with_backend("  mode tcp\n  default-server inter 5s rise 2 fall 2\n  server sorry 127.0.11.99:80 backup\n")
    rig.start(HAPROXY_SEND_PROXY_V2="true")
    rig.wait_in_sync()
    default = next(line for line in lines(rig) if line.startswith("default-server"))
    assert {"send-proxy-v2", "inter", "5s", "rise", "fall"} <= set(default.split())
    assert "send-proxy-v2" not in server(rig, "n1")
    rig.daemon.wait_log("unmanaged servers inherit send-proxy-v2")


# --- the desired state

def test_no_usable_endpoint_keeps_the_last_good_servers(rig: Rig) -> None:
    rig.start()
    rig.wait_in_sync()
    rig.pods(1, conditions=objects.NOT_READY)
    rig.daemon.wait_log("no usable endpoint; keeping the last servers")
    assert rig.daemon.ready()
    assert rig.daemon.metrics().sum("in_sync") == 0
    assert rig.servers() == {"n1", "sorry"}
    rig.pods(3)
    rig.wait_servers(3)
    rig.wait_in_sync()


def test_no_usable_endpoint_empties_the_backend_when_allowed(rig: Rig) -> None:
    rig.start(ALLOW_EMPTY="true")
    rig.wait_in_sync()
    rig.pods()
    rig.wait_parked(1)
    rig.wait_in_sync()
    assert rig.servers() == {"sorry"}


def burst(rig: Rig) -> None:
    for i in range(60):
        rig.pods(*([2, 3] if i % 2 else [4, 5]))
    rig.pods(1, 5)
    rig.wait_servers(1, 5)
    rig.wait_in_sync()


def test_burst_among_known_nodes_is_no_transaction(rig: Rig) -> None:
    rig.pods(1, 2, 3, 4, 5)
    rig.start()
    rig.wait_servers(1, 2, 3, 4, 5)
    rig.wait_in_sync()
    commits, worker = rig.commits(), rig.haproxy.worker()
    burst(rig)
    assert (rig.commits(), rig.haproxy.worker()) == (commits, worker)
    assert rig.parked() == {"n2", "n3", "n4"} and not rig.differences()


def test_heartbeats_and_foreign_slices_cost_nothing(rig: Rig) -> None:
    rig.start()
    rig.wait_in_sync()
    compared = rig.daemon.metrics().sum("reconciles_total")
    for i in range(5):
        beat = objects.node("n1", "127.0.11.1")
        beat["status"]["conditions"][0]["lastHeartbeatTime"] = f"2026-01-01T00:00:0{i}Z"
        rig.kube.put(beat)
    rig.kube.put(objects.slice_("other-1", "other", [objects.endpoint("10.244.3.3", "n3")], namespace=NAMESPACE))
    rig.pods(1, 2)  # comes last on the same watches: what was before it has been seen
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    assert rig.daemon.metrics().sum("transactions_total") == 1
    assert rig.daemon.metrics().sum("reconciles_total") - compared <= 4


# --- a default-server that takes servers out

DISABLED = "defaults\n  mode tcp\n", "defaults\n  mode tcp\n  default-server disabled\n"


def test_servers_that_are_disabled_by_default_serve_after_any_reload(rig_of: Make) -> None:
    rig = rig_of(TEMPLATE.replace(*DISABLED))
    rig.pods(1, 2, 3)
    rig.start()
    rig.wait_in_sync()
    ours = {name: line for name, line in rig.all_lines().items() if name != "sorry"}
    assert set(ours) == {"n1", "n2", "n3"} and all(" enabled" in line for line in ours.values()), ours
    assert " enabled" not in rig.all_lines()["sorry"]  # not ours
    assert rig.daemon is not None
    rig.daemon.kill()
    rig.daemon = None
    rig.dataplane.follow(rig.dataplane.commit(rig.dataplane.begin()).headers["Reload-ID"])
    assert rig.runtime_states() == {"n1": "ready", "n2": "ready", "n3": "ready", "sorry": "maint"}


def test_a_server_that_leaves_is_disabled_itself(rig_of: Make) -> None:
    rig = rig_of(TEMPLATE.replace(*DISABLED))
    rig.pods(1, 2)
    rig.start()
    rig.wait_in_sync()
    rig.pods(1)
    wait_until(lambda: rig.servers() == {"n1", "sorry"} and rig.runtime_states()["n2"] == "maint", what="n2 parked")
    rig.wait_in_sync()
    assert " enabled" not in rig.all_lines()["n2"]
    rig.pods(1, 2)
    wait_until(lambda: " enabled" in rig.all_lines()["n2"], what="n2 enabled again")
    rig.wait_in_sync()
    assert rig.runtime_states()["n2"] == "ready"


def test_servers_that_are_backup_by_default_are_none_of_ours_by_that(rig_of: Make) -> None:
    rig = rig_of(TEMPLATE.replace("default-server inter 5s", "default-server backup inter 5s"))
    rig.pods(1, 2)
    rig.start()
    rig.wait_in_sync()
    lines = rig.all_lines()
    assert " no-backup" in lines["n1"] and " no-backup" in lines["n2"], lines
    assert lines["sorry"].endswith(" backup")


def test_a_line_that_only_the_default_makes_a_backup_stops_all_writing(rig_of: Make) -> None:
    rig = rig_of(TEMPLATE.replace("default-server inter 5s", "default-server backup inter 5s")
                        .replace("127.0.11.99:80 backup", "127.0.11.99:80"))
    before = rig.dataplane.file()
    number = next(i for i, line in enumerate(before.splitlines(), 1) if "default-server backup" in line)
    rig.start()
    body = rig.daemon.wait_not_ready(f"line {number} of haproxy.cfg")  # type: ignore[union-attr]
    assert "sorry" in body and "no-backup" in body and "n1" not in body
    assert rig.dataplane.file() == before and not rig.writes()
    rig.hand_edit(before.replace("127.0.11.99:80", "127.0.11.99:80 backup"))
    assert rig.daemon is not None
    rig.daemon.process.signal(1)
    rig.wait_in_sync()

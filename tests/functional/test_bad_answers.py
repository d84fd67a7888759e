"""A Data Plane API (or something in front of it) that answers nonsense: said clearly, nothing written, and over when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from .rig import Rig

READS = {"backend": r"/backends/be$", "servers": r"/backends/be/servers$", "templates": r"/server_templates$",
         "raw": r"/configuration/raw$"}
NONSENSE: dict[str, dict[str, Any]] = {
    "html": {"action": "html"},
    "html 502": {"action": "html", "status": 502},
    "garbage": {"action": "garbage"},
    "cut": {"action": "truncate", "bytes": 1},
    "closed": {"action": "close"},
    "reset": {"action": "close", "reset": True},
    "string": {"action": "answer", "status": 200, "body": "what?", "headers": {"Content-Type": "application/json"}},
    "wrong types": {"action": "answer", "status": 200, "body": {"name": 7, "balance": "x", "code": []}},
    "empty": {"action": "answer", "status": 200, "body": ""},
    "redirect": {"action": "answer", "status": 302, "headers": {"Location": "http://127.0.0.1:1/"}, "body": ""},
    "500": {"action": "answer", "status": 500, "body": {"code": 500, "message": "out of\nluck\u001b[2J"}},
    "huge": {"action": "huge", "bytes": 40 << 20},
}


@pytest.mark.parametrize("where", range(len(READS)), ids=READS)
def test_nonsense_is_named_and_survived(rig: Rig, where: int) -> None:
    """Each nonsense once, each place several times."""
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    for nodes, what in enumerate(list(NONSENSE)[where::len(READS)], 2):
        since = len(rig.daemon.log())
        rig.dataplane.fault({**NONSENSE[what], "method": "GET", "path": list(READS.values())[where]})
        body = rig.daemon.wait_not_ready("cannot read HAProxy's configuration")
        assert "\x1b" not in rig.daemon.log()
        assert "127.0.0.1" in body and body.count("\n") <= 6
        rig.dataplane.clear_faults()
        rig.pods(*range(1, nodes + 1))
        rig.wait_servers(*range(1, nodes + 1))
        rig.wait_in_sync()
        rig.daemon.wait_log("problem resolved", since=since)


def test_slow_bytes_are_no_trouble_and_repeated_failures_are_counted_not_repeated(rig: Rig) -> None:
    rig.dataplane.fault({"action": "slow", "method": "GET", "path": r"/servers$", "bytes": 1, "seconds": 0.002})
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.dataplane.clear_faults()
    rig.dataplane.fault({"action": "answer", "status": 500, "body": {"code": 500, "message": "always the same"}, "path": "/backends/be$"})
    rig.daemon.wait_metric("reconciles_total", 2, result="retry")
    assert rig.daemon.log().count('msg="cannot read HAProxy\'s configuration"') == 1


def test_dead_api_at_start_and_no_secret_in_sight(rig: Rig) -> None:
    rig.dataplane.stop()
    rig.start()
    rig.daemon.wait_not_ready("cannot read HAProxy's configuration")
    rig.dataplane.start()
    rig.wait_in_sync()
    seen = rig.daemon.log() + rig.daemon.get("/metrics")[1] + rig.daemon.get("/readyz")[1]
    assert "adminpwd" not in seen

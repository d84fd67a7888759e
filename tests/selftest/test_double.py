"""What only the double can do: misbehave on demand, TLS, unix sockets, tokens."""

from __future__ import annotations

import http.client
import pathlib
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.conftest import CONFIG
from tests.conformance.say import error, reload_id, server
from tests.harness import http as harness_http
from tests.harness.certificates import Authority
from tests.harness.haproxy import AUTH, BASE, DoubleDataPlane, HAProxy
from tests.harness.process import wait_until


VERSION = BASE + "/configuration/version"
SERVERS = "/configuration/backends/be/servers"


def test_every_request_is_in_the_log(double: DoubleDataPlane) -> None:
    version = double.version()
    double.post(f"{SERVERS}?version={version}", server("logged"))
    seen = double.requests()
    assert [(e["method"], e["path"], e["status"]) for e in seen] == [
        ("GET", VERSION, 200), ("POST", f"{BASE}{SERVERS}?version={version}", 202)]
    assert '"name": "logged"' in seen[1]["body"] and seen[0]["body"] == ""


def test_answer(double: DoubleDataPlane) -> None:
    double.fault({"action": "answer", "method": "POST", "path": "/transactions", "status": 503, "times": 1,
                  "headers": {"Retry-After": "7"}, "body": {"code": 503, "message": "tired"}})
    answer = double.post(f"/transactions?version={double.version()}")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
    assert answer.json() == {"code": 503, "message": "tired"}
    assert double.get("/transactions").json() == [], "it was not carried out"
    assert double.post(f"/transactions?version={double.version()}").status == 201, "once is once"


def test_the_nth_match(double: DoubleDataPlane) -> None:
    double.fault({"action": "answer", "path": "version$", "nth": 3, "times": 2, "status": 500})
    assert [double.get("/configuration/version").status for _ in range(6)] == [200, 200, 500, 500, 200, 200]


def test_a_rule_without_times_stays_until_it_is_cleared(double: DoubleDataPlane) -> None:
    double.fault({"action": "answer", "path": "version$", "status": 401})
    assert [double.get("/configuration/version").status for _ in range(3)] == [401] * 3
    double.clear_faults()
    assert double.get("/configuration/version").status == 200


@pytest.mark.parametrize("apply", [False, True])
@pytest.mark.parametrize("reset", [False, True])
def test_close(double: DoubleDataPlane, apply: bool, reset: bool) -> None:
    version = double.version()
    double.fault({"action": "close", "method": "POST", "path": "/transactions", "apply": apply, "reset": reset,
                  "times": 1})
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        double.post(f"/transactions?version={version}")
    assert len(double.get("/transactions").json()) == (1 if apply else 0)
    assert double.requests()[-2]["status"] == "closed"


def test_truncate(double: DoubleDataPlane) -> None:
    double.fault({"action": "truncate", "path": "backends$", "bytes": 20, "times": 1})
    with pytest.raises(http.client.IncompleteRead) as broken:
        double.get("/configuration/backends")
    assert len(broken.value.partial) == 20


def test_slow(double: DoubleDataPlane) -> None:
    double.fault({"action": "slow", "path": "backends/be$", "bytes": 7, "seconds": 0.001, "times": 1})
    slow = double.get("/configuration/backends/be")
    assert slow.status == 200 and slow.json() == double.get("/configuration/backends/be").json()


def test_garbage(double: DoubleDataPlane) -> None:
    double.fault({"action": "garbage", "path": "version$", "times": 1})
    with pytest.raises(http.client.BadStatusLine):
        double.get("/configuration/version")


def test_html(double: DoubleDataPlane) -> None:
    double.fault({"action": "html", "path": "version$", "times": 1})
    answer = double.get("/configuration/version")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html" and "<html>" in answer.text


def test_huge(double: DoubleDataPlane) -> None:
    double.fault({"action": "huge", "path": "servers$", "bytes": 3_000_000, "times": 1})
    answer = double.get(SERVERS)
    assert len(answer.body) == 3_000_000 and answer.body.startswith(b'[{"name"')


def test_hang(double: DoubleDataPlane) -> None:
    double.fault({"action": "hang", "path": "version$", "times": 1})
    with pytest.raises(TimeoutError):
        double.get("/configuration/version", timeout=0.3)
    assert double.get("/configuration/version").status == 200, "others are served meanwhile"


def test_delay_holds_nobody_else_up(double: DoubleDataPlane) -> None:
    double.fault({"action": "delay", "path": "version$", "seconds": 30, "times": 1})
    waiting = threading.Thread(target=lambda: double.get("/configuration/version"), daemon=True)
    waiting.start()
    wait_until(lambda: any(e["status"] is None for e in double.requests()), 5, "the delayed request to arrive")
    assert double.get("/configuration/version").status == 200
    assert waiting.is_alive()


def test_fail_the_next_reload(double: DoubleDataPlane) -> None:
    reload_id(double.commit(double.begin()))
    wait_until(lambda: all(r["status"] != "in_progress" for r in double.get("/reloads").json()), 5, "the first reload")
    good = double.file()
    double.fault({"action": "fail-reload", "message": "cannot bind socket"})
    record = double.follow(reload_id(double.commit(double.begin())))
    assert record["status"] == "failed" and record["response"] == "cannot bind socket"
    assert double.file() == good
    assert double.follow(reload_id(double.commit(double.begin())))["status"] == "succeeded", "only that one"


def test_hold_the_ticker(double: DoubleDataPlane) -> None:
    double.fault({"action": "hold-ticker"})
    rid = reload_id(double.commit(double.begin()))
    time.sleep(0.2)  # several turns of the ticker; nothing could be awaited here, for nothing happens
    assert double.reload_status(rid) == "in_progress"
    double.clear_faults()
    assert double.follow(rid)["status"] == "succeeded"


@pytest.mark.parametrize("rule", [{"action": "explode"}, {"action": "close", "verb": "GET"}, {"path": "x"},
                                  {"action": "close", "path": "("}, 5])
def test_a_wrong_rule_is_refused(double: DoubleDataPlane, rule: Any) -> None:
    assert harness_http.request(double.control or "", "POST", "/faults", [rule]).status == 400


def test_a_token_as_a_proxy_in_front_would_take_it(start: Callable[..., DoubleDataPlane]) -> None:
    double = start("--token", "s3cret")
    assert double.get("/configuration/version", auth=None, headers={"Authorization": "Bearer s3cret"}).status == 200
    error(double.get("/configuration/version", auth=None, headers={"Authorization": "Bearer other"}), 401)


def test_another_user(start: Callable[..., DoubleDataPlane]) -> None:
    double = start("--user", "extra:pass:word")
    assert double.get("/configuration/version", auth="extra:pass:word").status == 200


def test_a_unix_socket(start: Callable[..., DoubleDataPlane], tmp_path: pathlib.Path) -> None:
    start("--listen", f"unix:{tmp_path}/api.sock")
    answer = harness_http.request(f"unix:{tmp_path}/api.sock", "GET", VERSION, auth=AUTH)
    assert answer.status == 200


def test_tls_and_client_certificates(tmp_path: pathlib.Path) -> None:
    ca = Authority(tmp_path / "pki")
    with HAProxy(tmp_path / "haproxy", CONFIG) as haproxy:
        double = DoubleDataPlane(haproxy, haproxy.config, tmp_path, "3.4", 0.05)
        double.serve_tls(ca.server(), ca.certificate, ca.client("own"))
        with double:
            assert double.get("/configuration/version").status == 200
            with pytest.raises((ssl.SSLError, ConnectionResetError, http.client.RemoteDisconnected)):
                double.get("/configuration/version", tls=ssl.create_default_context(cafile=str(ca.certificate)))

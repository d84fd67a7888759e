"""What an operator at the load balancer reads when a setting or a part is wrong: what, where and what to do; said once, not over and over;
and over by itself when it is mended."""

from __future__ import annotations

import datetime
import http.server
import re
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from tests.harness import objects
from tests.harness.daemon import clean_env
from tests.harness.process import free_port, wait_until

from .rig import NAMESPACE, PORT, SERVICE, Rig, program

PASSWORD = "hunter2-and-more"


def count(rig: Rig, pattern: str) -> int:
    assert rig.daemon
    return len(re.findall(pattern, rig.daemon.log()))


@pytest.fixture
def page() -> Iterator[str]:
    """The URL of something that answers 200 and HTML to everything, as HAProxy's statistics page does."""
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><style>b{}</style><h1>Statistics Report for HAProxy</h1></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


# --- the Data Plane API

def test_wrong_password_names_the_settings_and_never_the_password(rig: Rig) -> None:
    rig.start(HAPROXY_DATAPLANE_PASSWORD=PASSWORD)
    body = rig.daemon.wait_not_ready("refused the credentials")
    assert "HAPROXY_DATAPLANE_USERNAME" in body and "userlist" in body and "HTTP 401" in body
    assert "HAPROXY_DATAPLANE_PASSWORD (or HAPROXY_DATAPLANE_PASSWORD_FILE)" in body and "haproxy-k8s-sync doctor shows" in body
    rig.daemon.wait_metric("http_requests_total", 4, target=rig.dataplane.url, code="401")
    assert count(rig, 'level=error msg="the Data Plane API refused the credentials') == 1
    assert PASSWORD not in rig.daemon.log() + body


def test_url_of_something_else_asks_whether_it_is_the_api(rig: Rig, page: str) -> None:
    rig.start(HAPROXY_DATAPLANE_URL=page)
    body = rig.daemon.wait_not_ready(r"is this a Data Plane API of version 3\?")
    assert page in body and "HTTP 200" in body and "It says: Statistics Report for HAProxy" in body


def test_nobody_at_the_url_says_why(rig: Rig) -> None:
    rig.dataplane.stop()
    rig.start()
    body = rig.daemon.wait_not_ready("Connection refused")
    assert rig.dataplane.url in body
    rig.dataplane.start()
    rig.wait_in_sync(30)
    rig.daemon.wait_log("problem resolved")


def test_dead_proxy_is_told_apart_from_the_server(rig: Rig) -> None:
    port = free_port()
    rig.start(KUBECONFIG=str(rig.kube.kubeconfig(rig.home / "by-proxy", cluster={"proxy-url": f"http://me:{PASSWORD}@127.0.0.1:{port}"})))
    rig.daemon.wait_not_ready(r"Connection refused.*\(proxy-url names a proxy\)")
    waits = "waiting for the first answer"
    wait_until(lambda: waits not in rig.daemon.get("/readyz")[1], what="an answer to each watch")
    body = rig.daemon.get("/readyz")[1]
    lines = [line for line in re.findall(r"^\[-\].*$", body, re.M) if "Connection refused" in line]
    assert lines and all(f"port {port} " in line and line.endswith("(proxy-url names a proxy)") for line in lines)
    assert PASSWORD not in rig.daemon.log() + body


def test_https_to_a_http_port_says_so(rig: Rig) -> None:
    rig.start(HAPROXY_DATAPLANE_URL=rig.dataplane.url.replace("http:", "https:"))
    rig.daemon.wait_not_ready("no TLS connection, is this an https port")


def test_missing_unix_socket_is_named(rig: Rig) -> None:
    path = rig.home / "none.sock"
    rig.start(HAPROXY_DATAPLANE_URL=f"unix:{path}")
    rig.daemon.wait_not_ready(f"cannot connect to unix socket {path}: No such file or directory")


def test_commits_that_fail_again_and_again_are_few_and_one_line(rig: Rig) -> None:
    rig.start()
    rig.wait_in_sync()
    rig.dataplane.fault({"action": "answer", "method": "PUT", "path": "/transactions/", "status": 500,
                         "body": {"code": 500, "message": "no space left on device"}})
    rig.pods(1, 2)
    rig.daemon.wait_not_ready("the Data Plane API answered with an error: commit transaction .*no space left on device")
    rig.daemon.wait_metric("transactions_total", 4, result="unavailable")
    assert count(rig, 'msg="the Data Plane API answered with an error"') == 1

    def longest_pause() -> float:
        times = [datetime.datetime.fromisoformat(at) for at in re.findall(
            r'^time=(\S+)Z .*msg="Data Plane API request" method=PUT path=/transactions/', rig.daemon.log(), re.M)]
        return max((b - a).total_seconds() for a, b in zip(times, times[1:]))

    # The first pause is half a second at most; they must not begin anew because reading works in between.
    wait_until(lambda: longest_pause() > 1, 90, "a pause of more than a second between two tries", interval=0.5)
    rig.dataplane.clear_faults()
    rig.daemon.process.signal(1)
    rig.wait_servers(1, 2)
    rig.wait_in_sync()


# --- what is asked by SIGHUP is answered

def test_sighup_is_answered_by_the_state(rig: Rig) -> None:
    rig.start()
    rig.daemon.wait_log('msg="HAProxy is in sync" backend=be servers=1')
    rig.daemon.process.signal(1)
    wait_until(lambda: count(rig, 'msg="HAProxy is in sync"') == 2, 10, "the answer to SIGHUP")


def test_sighup_says_again_what_is_wrong(rig: Rig) -> None:
    rig.start(HAPROXY_BACKEND_NAME="missing")
    rig.daemon.wait_log("HAProxy has no backend missing")
    rig.daemon.process.signal(1)
    wait_until(lambda: count(rig, "level=error .*HAProxy has no backend missing") == 2, 10, "the answer to SIGHUP")


# --- Kubernetes

def test_service_that_is_not_there_is_in_readyz(rig: Rig) -> None:
    rig.start(INGRESS_SERVICE_NAME="wbe")
    rig.daemon.wait_log("no usable endpoint; keeping the last servers")
    status, body = rig.daemon.get("/readyz")
    assert status == 200
    assert f"Service {NAMESPACE}/wbe does not exist" in body
    assert "INGRESS_NAMESPACE and INGRESS_SERVICE_NAME" in body and "ALLOW_EMPTY" in body


def test_latency_of_a_change_does_not_count_the_time_without_endpoints(rig: Rig) -> None:
    rig.start(RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.pods()
    rig.daemon.wait_log("no usable endpoint; keeping the last servers")
    held_since = time.monotonic()
    asked = rig.daemon.metrics().sum("http_requests_total", target=rig.dataplane.url)
    rig.daemon.wait_metric("http_requests_total", asked + 18, target=rig.dataplane.url)  # three resyncs
    held_ms = (time.monotonic() - held_since) * 1000
    rig.pods(2)
    rig.wait_servers(2)
    rig.wait_in_sync()
    found = re.findall(r"event_to_commit_ms=([0-9.]+)", rig.daemon.log())
    assert len(found) == 1 and float(found[0]) < held_ms


def test_port_to_be_decided_is_not_called_changing(rig: Rig) -> None:
    rig.start(HAPROXY_BACKEND_PORT="")
    body = rig.daemon.wait_not_ready("nothing is written while the mapping is undecided")
    assert "changing" not in body and str(PORT) not in body


def test_forbidden_slices_are_not_complained_about_while_endpoints_do(rig: Rig) -> None:
    rig.kube.forbid("endpointslices")
    rig.kube.put(objects.endpoints(SERVICE, [("10.244.2.7", "n2")], namespace=NAMESPACE))
    rig.start()
    rig.wait_servers(2)
    said = count(rig, "level=warn .*resource=endpointslices reason=forbidden")
    for _ in range(2):
        seen = len(rig.kube.requests("endpointslices"))
        rig.daemon.process.signal(1)  # asks for slices at once
        wait_until(lambda: len(rig.kube.requests("endpointslices")) > seen, 10, "another try with slices")
    rig.wait_in_sync()
    assert said == 1 and count(rig, "level=warn .*resource=endpointslices reason=forbidden") == 1
    rig.kube.forbid()
    rig.daemon.process.signal(1)
    rig.daemon.wait_log("EndpointSlices are readable again")


def test_who_sends_no_credentials_gets_no_hint_to_grant_rights(rig: Rig) -> None:
    rig.kube.tokens(other="admin")
    rig.start()
    body = rig.daemon.wait_not_ready('watch nodes: not synced: .*"system:anonymous"')
    assert "; no credentials are sent" in body and "deploy/rbac.yaml" not in body
    rig.daemon.wait_log('level=warn .*server=.* reason=forbidden .*hint="no credentials are sent')


def test_forbidden_nodes_name_the_fix(rig: Rig) -> None:
    rig.kube.forbid("nodes")
    rig.start()
    body = rig.daemon.wait_not_ready("watch nodes: not synced: .*403")
    assert "deploy/rbac.yaml grants it" in body
    rig.daemon.wait_log('level=warn .*resource=nodes reason=forbidden .*hint="deploy/rbac.yaml grants it"')
    assert not rig.writes()


# --- check-config

@pytest.mark.parametrize("words", [[], ["check-config"]], ids=["daemon", "check-config"])
def test_a_misspelt_safety_setting_stops_the_start(rig: Rig, words: list[str]) -> None:
    done = subprocess.run([program(), *words], env=clean_env(**rig.settings(DRYRUN="1")), capture_output=True, text=True, timeout=30)
    assert done.returncode == 78
    assert "DRYRUN" in done.stderr and "did you mean DRY_RUN?" in done.stderr
    assert not rig.writes()


def test_check_config_reads_the_kubeconfig_too(rig: Rig) -> None:
    def check(**settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program(), "check-config"], env=clean_env(**rig.settings(**settings)), capture_output=True, text=True)

    good = check()
    assert good.returncode == 0 and "HAPROXY_BACKEND_NAME=be " in good.stdout and "adminpwd" not in good.stdout + good.stderr
    bad = check(KUBECONFIG=str(rig.home / "none"))
    assert bad.returncode == 78 and bad.stdout == ""
    assert bad.stderr == f"error: KUBECONFIG: no such file: {rig.home / 'none'}\n"

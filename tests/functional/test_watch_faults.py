"""What may go wrong between the API server and the daemon's lists and watches: nothing is lost, nothing is written before it is
known, and what the daemon says fits what happened. The machine's own table is tests/unit/kube/test_watch_table.c; here it is the program."""

from __future__ import annotations

import json
import pathlib
import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness import objects
from tests.harness.certificates import Authority
from tests.harness.daemon import Daemon
from tests.harness.process import wait_until

from .rig import NAMESPACE, SERVICE, Rig

HTML = {"status": 200, "body": "<html><title>Please log in</title></html>", "contentType": "text/html"}


@pytest.fixture
def make_rig(tmp_path: pathlib.Path) -> Iterator[Any]:
    """A rig whose API server is of another kind than usual."""
    made: list[Rig] = []

    def make(**kube: Any) -> Rig:
        made.append(Rig(tmp_path, **kube).__enter__())
        return made[-1]

    try:
        yield make
    except BaseException:
        for rig in made:
            rig.__exit__(RuntimeError)
        raise
    for rig in made:
        rig.__exit__(None)


def running(rig: Rig, **settings: str) -> Daemon:
    """In step with the pod on n1."""
    daemon = rig.start(**settings)
    rig.wait_in_sync()
    return daemon


def still_follows(rig: Rig) -> None:
    """Both watches live: a pod moves, and a node gets another address."""
    rig.pods(2, 4)
    rig.wait_servers(2, 4)
    rig.kube.put(objects.node("n4", "127.0.11.44"))
    wait_until(lambda: "127.0.11.44:" in rig.dataplane.file(), 20, "the new address of n4 in the file")


def lists(daemon: Daemon, resource: str) -> int:
    return int(daemon.metrics().sum("relists_total", resource=resource))


def hurried(daemon: Daemon, condition: Callable[[], bool], what: str) -> None:
    """SIGHUP ends every wait for a retry, so that no test has to sit through a backoff."""
    def hurry() -> bool:
        assert daemon.process
        daemon.process.signal(signal.SIGHUP)
        return condition()
    wait_until(hurry, 30, what, interval=0.2)


def listed_again(daemon: Daemon, reason: str) -> None:
    hurried(daemon, lambda: daemon.metrics().sum("relists_total", resource="nodes", reason=reason) >= 1,
            f"a list because of {reason}")


def resumed(rig: Rig, resource: str, since: int = 0) -> None:
    """Until a watch from a version is open."""
    wait_until(lambda: [w for w in rig.kube.open_watches(resource) if "resume" in w["verbs"] and w["n"] > since], 20,
               f"a watch of {resource} that goes on")


def unanswered(rig: Rig) -> None:
    """Takes what the double still serves, so that the next request is a new one."""
    assert rig.kube.disconnect("nodes", "watch") == 1


# --- the first list

BEFORE_SYNC = {
    "429": ({"status": 429, "retryAfter": 1}, "throttled"),
    "401": ({"status": 401}, "unauthorized"),
    "403": ({"status": 403}, "forbidden"),
    "404": ({"status": 404}, "not_found"),
    "500": ({"status": 500}, "server_error"),
    "503": ({"status": 503, "body": "upstream is away", "contentType": "text/plain"}, "other_answer"),
    "html": (HTML, "not_json"),
    "redirect": ({"redirect": "http://127.0.0.1:1/elsewhere"}, "other_answer"),
    "reset": ({"cut": "reset", "afterBytes": 700}, "lost"),
    "fin": ({"cut": "fin", "afterBytes": 700}, "lost"),
    "closed": ({"cut": "clean", "afterEvents": 2}, "closed"),
    "nothing": ({"cut": "clean"}, "closed"),
    "before-its-end": ({"cut": "clean", "initialEnd": "before"}, "closed"),
    "garbage": ({"insert": "<html>\n", "cut": "clean", "afterEvents": 2}, "garbled"),
    "half-an-object": ({"cut": "clean", "afterBytes": 700}, "lost"),
    "error-410": ({"error": {"code": 410, "reason": "Expired"}, "afterEvents": 2}, "expired"),
    "error-429": ({"error": {"code": 429, "retryAfter": 1}, "afterEvents": 2}, "throttled"),
}


@pytest.mark.parametrize("fault, reason", BEFORE_SYNC.values(), ids=BEFORE_SYNC)
def test_nothing_is_written_before_the_first_list_is_complete(rig: Rig, fault: dict[str, Any], reason: str) -> None:
    rig.pods(2)
    rig.kube.fault(resource="nodes", verb="streaming-list", times=2, **fault)
    daemon = rig.start()
    daemon.wait_log(f'complete list from the Kubernetes API yet; HAProxy stays.*resource=nodes reason={reason}' if reason != "unauthorized" else
                    "reason=unauthorized")
    daemon.wait_not_ready("watch nodes: not synced: streaming list: ")
    assert not rig.writes()
    assert rig.servers() == {"n1", "sorry"}
    hurried(daemon, daemon.ready, "the list to be complete")
    rig.wait_servers(2)
    still_follows(rig)


PAGES = {
    "410-on-page-2": ({"verb": "next-page", "status": 410}, "expired"),
    "cut-on-page-2": ({"verb": "next-page", "cut": "fin", "afterBytes": 3000}, "lost"),
    "truncated": ({"verb": "next-page", "cut": "clean", "afterBytes": 3000}, "garbled"),
    "empty": ({"verb": "first-page", "cut": "clean", "afterBytes": 0}, "garbled"),
    "html": ({"verb": "first-page", **HTML}, "not_json"),
    "429": ({"verb": "next-page", "status": 429, "retryAfter": 1}, "throttled"),
    "bad-token": ({"verb": "next-page", "status": 400}, "bad_request"),
}


@pytest.mark.parametrize("fault, reason", PAGES.values(), ids=PAGES)
def test_pages(make_rig: Any, fault: dict[str, Any], reason: str) -> None:
    rig = make_rig(streaming_lists=False, generate_nodes=501)
    rig.pods(2)
    rig.kube.fault(resource="nodes", **fault)
    daemon = rig.start()
    daemon.wait_up()
    listed_again(daemon, reason)
    rig.wait_servers(2)
    daemon.wait_metric("cached_objects", 506, resource="nodes")
    asked = [r["query"] for r in rig.kube.requests("nodes", "list") if "watch" not in r["query"]]
    assert len([q for q in asked if "limit" not in q]) == (1 if reason == "expired" else 0)
    assert not [q for q in asked if "resourceVersion" in q]
    still_follows(rig)


# --- servers without streaming lists

@pytest.mark.parametrize("kube", [{"streaming_lists": False}, {"etcd": "3.4"}], ids=["422", "error-in-the-stream"])
def test_fallback_to_pages_is_remembered(make_rig: Any, kube: dict[str, Any]) -> None:
    rig = make_rig(**kube)
    daemon = running(rig)
    daemon.wait_log('resource=nodes objects=5 how="paged list"')
    rig.kube.fault(resource="nodes", verb="resume", status=410)
    unanswered(rig)
    listed_again(daemon, "expired")
    still_follows(rig)
    for resource in ("nodes", "endpointslices"):
        asked = [r for r in rig.kube.requests(resource) if "sendInitialEvents" in r["query"]]
        assert len(asked) == 1, "asked again though it was refused"


def test_a_streaming_list_is_preferred_and_goes_on_as_the_watch(rig: Rig) -> None:
    daemon = running(rig)
    still_follows(rig)
    assert not rig.kube.requests(verb="list")
    assert sorted(r["resource"] for r in rig.kube.requests(verb="watch")) == ["endpointslices", "nodes", "services"]
    assert 'resource=nodes objects=5 how="streaming list"' in daemon.log()
    assert not re.search("level=(warn|error)", daemon.log())


# --- what happens to a running watch

RESUMED = {
    "429": {"status": 429, "retryAfter": 1},
    "429-in-the-stream": {"error": {"code": 429, "retryAfter": 1}},
    "503": {"status": 503},
    "401-once": {"status": 401},
    "reset": {"cut": "reset"},
    "closed-at-once": {"cut": "clean"},
    "html": HTML,
    "redirect": {"redirect": "http://127.0.0.1:1/elsewhere"},
}


@pytest.mark.parametrize("fault", RESUMED.values(), ids=RESUMED)
def test_a_watch_goes_on_from_its_version_without_a_list(rig: Rig, fault: dict[str, Any]) -> None:
    daemon = running(rig)
    fault_id = rig.kube.fault(resource="nodes", verb="resume", **fault)
    unanswered(rig)
    wait_until(lambda: [f for f in rig.kube.faults() if f["id"] == fault_id and f["hits"] == 1], 20, "the fault to strike")
    still_follows(rig)
    assert lists(daemon, "nodes") == 1
    daemon.wait_ready()


TOO_LARGE = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504, "reason": "Timeout", "message":
                        "Too large resource version: 999, current: 107", "details": {"retryAfterSeconds": 1, "causes": [
                            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}})
RELISTED = {
    "410": ({"status": 410}, "expired"),
    "410-in-the-stream": ({"error": {"code": 410, "reason": "Expired"}}, "expired"),
    "504-too-large-version": ({"status": 504, "body": TOO_LARGE}, "too_large_version"),
    "500-in-the-stream": ({"error": {"code": 500}}, "stream_error"),
    "garbage": ({"insert": "{]\n", "stall": True}, "garbled"),
    "an-event-that-is-none": ({"insert": '{"type":7,"object":{}}\n', "stall": True}, "garbled"),
    "500": ({"status": 500}, "server_error"),
}


@pytest.mark.parametrize("fault, reason", RELISTED.values(), ids=RELISTED)
def test_a_watch_that_cannot_go_on_lists_again(rig: Rig, fault: dict[str, Any], reason: str) -> None:
    daemon = running(rig)
    rig.kube.fault(resource="nodes", verb="resume", **fault)
    unanswered(rig)
    listed_again(daemon, reason)
    still_follows(rig)
    daemon.wait_ready()
    assert daemon.metrics().sum("transactions_total", result="committed") == len(re.findall("backend changed", daemon.log()))


def test_what_left_while_nobody_looked_is_gone_after_the_list(rig: Rig) -> None:
    rig.pods(1, 2, 3)
    running(rig)
    rig.wait_servers(1, 2, 3)
    rig.kube.listening(False)
    rig.kube.disconnect()
    rig.kube.delete(objects.node("n3"))
    rig.pods(2, 3)
    rig.kube.compact()
    rig.daemon.wait_not_ready("watch nodes: stale, the last good state is in use")
    assert rig.servers() == {"n1", "n2", "n3", "sorry"}
    rig.kube.listening(True)
    hurried(rig.daemon, rig.daemon.ready, "contact")
    rig.wait_servers(2)
    rig.daemon.wait_log("contact with the Kubernetes API recovered")


def test_bookmarks_move_the_version(rig: Rig) -> None:
    rig.kube.settings(bookmarkIntervalSeconds=0.1)
    daemon = running(rig)
    version = int(rig.kube.state()["resourceVersion"]) + 1000
    rig.kube.advance(version)
    wait_until(lambda: all(w["events"] >= 8 for w in rig.kube.open_watches()), 20, "some bookmarks")
    rig.kube.compact(version)
    rig.kube.disconnect()
    resumed(rig, "nodes")
    resumed(rig, "endpointslices")
    assert lists(daemon, "nodes") == lists(daemon, "endpointslices") == 1
    still_follows(rig)


def test_an_api_server_that_comes_back_without_history(rig: Rig) -> None:
    running(rig)
    rig.kube.restart()
    still_follows(rig)
    rig.daemon.wait_ready()


@pytest.mark.parametrize("split", [1, [1, 2, 3, 5, 8]], ids=["bytes", "pieces"])
def test_bytes_arrive_one_by_one(rig: Rig, split: Any) -> None:
    rig.kube.fault(verb="watch", times=0, split=split)
    running(rig)
    still_follows(rig)


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "paged"])
def test_a_line_of_five_megabytes(make_rig: Any, streaming: bool) -> None:
    rig = make_rig(streaming_lists=streaming)
    rig.kube.fault(resource="nodes", verb="streaming-list" if streaming else "first-page", pad=5_000_000)
    running(rig)
    still_follows(rig)


def test_a_line_of_twenty_megabytes_is_named_and_the_rest_goes_on(rig: Rig) -> None:
    daemon = running(rig)
    rig.kube.fault(resource="nodes", verb="resume", pad=20_000_000)
    unanswered(rig)
    resumed(rig, "nodes")
    rig.kube.put(objects.node("n5", "127.0.11.55"))
    listed_again(daemon, "garbled")
    daemon.wait_log("unreadable data: .*16777216")
    still_follows(rig)


# --- rights and credentials

def test_forbidden_after_sync_keeps_the_last_good_state(rig: Rig) -> None:
    daemon = running(rig)
    rig.kube.forbid("nodes")
    unanswered(rig)
    daemon.wait_not_ready("watch nodes: stale, the last good state is in use: watch: forbidden: HTTP 403: ")
    hurried(daemon, lambda: len([r for r in rig.kube.requests("nodes") if r["status"] == 403]) >= 3, "three refusals")
    assert len(re.findall("level=warn.*reason=forbidden", daemon.log())) == 1, "said more than once"
    assert rig.servers() == {"n1", "sorry"}
    rig.kube.forbid()
    hurried(daemon, daemon.ready, "readiness")
    assert lists(daemon, "nodes") == 1
    still_follows(rig)


def test_forbidden_nodes_at_start(rig: Rig) -> None:
    rig.pods(2)
    rig.kube.forbid("nodes")
    daemon = rig.start()
    daemon.wait_not_ready("watch nodes: not synced: streaming list: forbidden: HTTP 403")
    daemon.wait_log("synced with Kubernetes.*resource=endpointslices")
    assert not rig.writes()
    rig.kube.forbid()
    hurried(daemon, lambda: rig.servers() == {"n2", "sorry"}, "the pod on n2")


def test_forbidden_slices_are_replaced_by_endpoints_and_back(rig: Rig) -> None:
    rig.kube.put(objects.endpoints(SERVICE, [("10.244.3.7", "n3")], namespace=NAMESPACE))
    rig.kube.forbid("endpointslices")
    daemon = rig.start()
    rig.wait_servers(3)
    daemon.wait_ready()
    assert len(re.findall("warning from the Kubernetes API server.*Endpoints is deprecated", daemon.log())) == 1
    rig.kube.forbid()
    hurried(daemon, lambda: rig.servers() == {"n1", "sorry"}, "the slices' pod")
    daemon.wait_ready()
    still_follows(rig)


def test_a_rotated_token_is_read_again(make_rig: Any, tmp_path: pathlib.Path) -> None:
    rig = make_rig(token="f1rst")
    token = tmp_path / "token"
    token.write_text("f1rst\n")
    daemon = running(rig, KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "with-a-token-file", token="", token_file=token)))
    rig.kube.tokens(s3cond="admin")
    rig.kube.disconnect()
    daemon.wait_not_ready("watch: credentials refused: HTTP 401")
    fresh = tmp_path / "fresh"
    fresh.write_text("s3cond\n")
    fresh.replace(token)
    hurried(daemon, daemon.ready, "the new token to be read")
    assert lists(daemon, "nodes") == lists(daemon, "endpointslices") == 1
    token.unlink()  # the last one stays in use
    rig.kube.disconnect()
    daemon.wait_log("cannot read the Kubernetes token; keeping the last one")
    still_follows(rig)
    assert "f1rst" not in daemon.log() and "s3cond" not in daemon.log()


# --- connections

def test_an_api_server_that_is_away_at_our_start(rig: Rig) -> None:
    rig.pods(2)
    rig.kube.listening(False)
    daemon = rig.start()
    daemon.wait_log("complete list from the Kubernetes API yet; HAProxy stays unchanged.*reason=unreachable")
    daemon.wait_not_ready("watch nodes: not synced: streaming list: no connection")
    assert not rig.writes()
    rig.kube.listening(True)
    rig.wait_servers(2, timeout=60)  # by itself, without SIGHUP
    daemon.wait_ready()


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    return tuple(Authority(tmp_path_factory.mktemp(name)) for name in ("ours", "another"))  # type: ignore[return-value]


def test_tls_is_verified(make_rig: Any, tmp_path: pathlib.Path, authorities: tuple[Authority, Authority]) -> None:
    ours, another = authorities
    pair = ours.server()
    rig = make_rig(tls=(pair.certificate, pair.key), ca=ours.certificate, token="t0ken")
    daemon = running(rig)
    still_follows(rig)
    daemon.stop()
    rig.kube.ca = another.certificate
    daemon = rig.start(KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "wrong")))
    daemon.wait_not_ready("watch nodes: not synced: streaming list: no connection: .*TLS: .*certificate")
    assert not [r for r in rig.kube.requests() if r["open"]]


def test_the_name_in_the_certificate_may_be_given(make_rig: Any, tmp_path: pathlib.Path,
                                                  authorities: tuple[Authority, Authority]) -> None:
    pair = authorities[0].server("named", "DNS:api.example.com")
    rig = make_rig(tls=(pair.certificate, pair.key), ca=authorities[0].certificate)
    config = json.loads(rig.kube.kubeconfig(tmp_path / "plain").read_text())
    config["clusters"][0]["cluster"]["tls-server-name"] = "api.example.com"
    (tmp_path / "named").write_text(json.dumps(config))
    daemon = running(rig, KUBECONFIG=str(tmp_path / "named"))
    still_follows(rig)
    daemon.stop()
    daemon = rig.start(KUBECONFIG=str(tmp_path / "plain"))
    daemon.wait_not_ready("no connection: .*TLS: ")


def test_a_ca_that_is_none_is_told_at_start(rig: Rig, tmp_path: pathlib.Path) -> None:
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n")
    rig.kube.ca = tmp_path / "ca.crt"
    daemon = rig.start(KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "config")))
    rig.daemon = None
    assert daemon.process and daemon.process.wait(20) not in (0, 99)
    assert "CA given inline: certificate 1 cannot be read" in daemon.log()


def test_stop_in_the_middle_of_a_list(rig: Rig) -> None:
    rig.kube.fault(resource="nodes", verb="streaming-list", stall=True, afterEvents=2)
    daemon = rig.start()
    wait_until(lambda: rig.kube.open_watches("nodes"), 20, "the list to begin")
    daemon.stop()
    rig.daemon = None
    wait_until(lambda: not rig.kube.open_watches(), 20, "the connections to be closed")
    assert not rig.writes()

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


def still_follows(rig: Rig, host: int = 44) -> None:
    """Both watches live: a pod moves, and a node gets another address."""
    rig.pods(2, 4)
    rig.wait_servers(2, 4)
    rig.wait_in_sync()  # what is changed amid the reload of a new server may not reach the process that comes
    rig.kube.put(objects.node("n4", f"127.0.11.{host}"))
    wait_until(lambda: f"127.0.11.{host}:" in rig.dataplane.file(), 20, "the new address of n4 in the file")


def lists(daemon: Daemon, resource: str) -> int:
    return int(daemon.metrics().sum("relists_total", resource=resource))


def hurried(daemon: Daemon, condition: Callable[[], object], what: str) -> None:
    """SIGHUP ends every wait for a retry, so that no test has to sit through a backoff."""
    def hurry() -> object:
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
    "403": ({"status": 403}, "forbidden"),
    "fin": ({"cut": "fin", "afterBytes": 700}, "lost"),
    "before-its-end": ({"cut": "clean", "initialEnd": "before"}, "closed"),
}


@pytest.mark.parametrize("fault, reason", BEFORE_SYNC.values(), ids=BEFORE_SYNC)
def test_nothing_is_written_before_the_first_list_is_complete(rig: Rig, fault: dict[str, Any], reason: str) -> None:
    rig.pods(2)
    rig.kube.fault(resource="nodes", verb="streaming-list", times=2, **fault)
    daemon = rig.start()
    daemon.wait_log(f'complete list from the Kubernetes API yet; HAProxy stays.*resource=nodes reason={reason}')
    daemon.wait_log("synced with Kubernetes.*resource=endpointslices")
    daemon.wait_not_ready("watch nodes: not synced: streaming list: ")
    assert not rig.writes()
    assert rig.servers() == {"n1", "sorry"}
    hurried(daemon, daemon.ready, "the list to be complete")
    rig.wait_servers(2)
    still_follows(rig)


@pytest.mark.parametrize("fault, reason", [({"status": 410}, "expired"), ({"cut": "clean", "afterBytes": 3000}, "garbled")], ids=["410-on-page-2", "truncated"])
def test_pages(make_rig: Any, fault: dict[str, Any], reason: str) -> None:
    rig = make_rig(streaming_lists=False, generate_nodes=501)
    rig.pods(2)
    rig.kube.fault(resource="nodes", verb="next-page", **fault)
    daemon = rig.start()
    daemon.wait_up()
    listed_again(daemon, reason)
    rig.wait_servers(2)
    daemon.wait_metric("cached_objects", 506, resource="nodes")
    asked = [r["query"] for r in rig.kube.requests("nodes", "list") if "watch" not in r["query"]]
    assert len([q for q in asked if "limit" not in q]) == (1 if reason == "expired" else 0)
    assert not [q for q in asked if "resourceVersion" in q]


# --- servers without streaming lists

def test_fallback_to_pages_is_remembered(make_rig: Any) -> None:
    rig = make_rig(streaming_lists=False)
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


def test_a_watch_goes_on_from_its_version_without_a_list(rig: Rig) -> None:
    daemon = running(rig)
    for host, fault in enumerate(({"error": {"code": 429, "retryAfter": 1}}, {"cut": "reset"}, {"redirect": "http://127.0.0.1:1/elsewhere"}, HTML), 44):
        id_ = rig.kube.fault(resource="nodes", verb="resume", **fault)
        unanswered(rig)
        hurried(daemon, lambda: [f for f in rig.kube.faults() if f["id"] == id_ and f["hits"] == 1], f"{fault} to strike")
        hurried(daemon, lambda: bool(rig.kube.open_watches("nodes")), "the watch")
        still_follows(rig, host)  # else it is the third that ended at once
    assert lists(daemon, "nodes") == 1
    daemon.wait_ready()


TOO_LARGE = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504, "reason": "Timeout", "message":
                        "Too large resource version: 999, current: 107", "details": {"retryAfterSeconds": 1, "causes": [
                            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}})


def test_a_watch_that_cannot_go_on_lists_again(rig: Rig) -> None:
    daemon = running(rig)
    for fault, reason in (({"error": {"code": 410, "reason": "Expired"}}, "expired"), ({"status": 504, "body": TOO_LARGE}, "too_large_version"),
                          ({"insert": "{]\n", "stall": True}, "garbled")):
        rig.kube.fault(resource="nodes", verb="resume", **fault)
        unanswered(rig)
        listed_again(daemon, reason)
        hurried(daemon, daemon.ready, "the list")
    still_follows(rig)
    assert daemon.metrics().sum("transactions_total", result="committed") == len(re.findall("backend changed", daemon.log()))


def test_what_left_while_no_watch_ran_is_gone_after_the_list(rig: Rig) -> None:
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


def test_a_line_of_five_megabytes_is_read_and_one_of_twenty_is_named(rig: Rig) -> None:
    rig.kube.fault(resource="nodes", verb="streaming-list", pad=5_000_000)
    daemon = running(rig)
    assert lists(daemon, "nodes") == 1
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



def test_a_ca_that_is_none_is_reported_at_start(rig: Rig, tmp_path: pathlib.Path) -> None:
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n")
    rig.kube.ca = tmp_path / "ca.crt"
    daemon = rig.start(KUBECONFIG=str(rig.kube.kubeconfig(tmp_path / "config")))
    rig.daemon = None
    assert daemon.process and daemon.process.wait(20) not in (0, 99)
    assert "CA given inline: certificate 1 cannot be read" in daemon.log()

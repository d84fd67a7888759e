"""What became of a configuration from a Secret, on that Secret: annotations beside those of others, Events; and as metrics."""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import Authority
from tests.harness.process import wait_until

from .rig import Rig
from .test_config_secret import NAME, NAMESPACE, SOURCE, Site, certificate_of, secret

PREFIX = "haproxy.operator/"
ANNOTATING = {"CONFIG_REPORT": "annotation"}
REPORTING = {**ANNOTATING, "EMIT_EVENTS": "true"}


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    with Rig(tmp_path) as rig:
        yield Site(rig)


def item(site: Site) -> dict[str, Any]:
    return next(i for i in site.rig.kube.state()["items"] if i["kind"] == "Secret" and i["metadata"]["name"] == NAME)


def notes(site: Site) -> dict[str, str]:
    return {name.removeprefix(PREFIX): value for name, value in item(site)["metadata"]["annotations"].items() if name.startswith(PREFIX)}


def wait_notes(site: Site, **wanted: str) -> dict[str, str]:
    def there() -> dict[str, str]:
        found = notes(site)
        assert {name: found.get(name.replace("_", "-")) for name in wanted} == wanted, found
        return found
    return wait_until(there, 20, f"the annotations {wanted}")


def events(site: Site) -> list[tuple[str, str]]:
    """(type, reason) of those on the Secret, by the time of their making."""
    found = [i for i in site.rig.kube.state()["items"] if i["kind"] == "Event"]
    assert {(e["involvedObject"]["kind"], e["involvedObject"]["namespace"], e["involvedObject"]["name"], e["involvedObject"]["uid"])
            for e in found} <= {("Secret", NAMESPACE, NAME, item(site)["metadata"]["uid"])}
    return [(e["type"], e["reason"]) for e in sorted(found, key=lambda e: e["metadata"]["name"])]


def wait_events(site: Site, *reasons: tuple[str, str]) -> None:
    wait_until(lambda: events(site) == list(reasons), 20, f"the Events {reasons}, not {events(site)}")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_thrice(site: Site) -> None:
    """The daemon reads HAProxy's file again, each RESYNC_PERIOD."""
    def reads() -> int:
        return site.rig.dataplane.access_log().count("GET /v3/services/haproxy/configuration/raw")
    before = reads()
    wait_until(lambda: reads() > before + 2, 20, "three more readings")


def put(site: Site, text: str) -> None:
    """As a GitOps tool does: the data alone, whatever else is there."""
    held = item(site)
    held["data"] = {"haproxy.cfg": base64.b64encode(text.encode()).decode()}
    site.rig.kube.put(held)


def test_the_secret_is_never_changed_by_default(site: Site) -> None:
    """What became of it is an Event, and nothing asks for the right to change what holds haproxy.cfg."""
    kube = site.rig.kube
    kube.put(secret(site.text()))
    kube.forbid("patch secrets")
    daemon = site.start()
    wait_events(site, ("Normal", "ValidationPassed"), ("Normal", "ApplySucceeded"))
    put(site, site.text().replace("  mode tcp", "  bogus tcp", 1))
    wait_until(lambda: ("Warning", "ConfigRejected") in events(site), 20, "an Event ConfigRejected")
    assert notes(site) == {} and not kube.requests("secrets", "patch") and not kube.requests("secrets", "update")
    assert "may not be written" not in daemon.log() and "cannot write" not in daemon.log()


def test_those_of_the_secret_are_not_those_of_services(site: Site) -> None:
    """Beside it servers are managed; their Events are for EMIT_EVENTS to allow, in namespaces with rights of their own."""
    site.rig.service()
    site.rig.kube.put(secret(re.sub(r"^ *server .*\n", "", site.text(), flags=re.M)))
    site.rig.start(**{name: value for name, value in SOURCE.items() if value})
    site.rig.pods(1, 2)
    assert site.rig.daemon
    site.rig.daemon.wait_log("HAProxy is in sync")
    wait_until(lambda: ("Normal", "ApplySucceeded") in events(site), 20, "Events on the Secret")
    site.rig.daemon.stop()  # nothing waits to be sent any more; events() has read whom each is about
    events(site)


def test_a_configmap_has_it_in_the_place_of_the_secret(site: Site) -> None:
    kube = site.rig.kube
    kube.put(secret(site.text()))
    kube.forbid("patch secrets")
    kube.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "status", "namespace": NAMESPACE}, "data": {"mine": "stays", "status-message": "old"}})
    site.start(CONFIG_REPORT_CONFIGMAP="status")

    def data() -> dict[str, str]:
        return dict(next(i for i in kube.state()["items"] if i["kind"] == "ConfigMap")["data"])
    wait_until(lambda: data().get("status") == "Applied", 20, f"Applied, not {data()}")
    assert data()["last-applied-hash"] == digest(site.text()) and data()["mine"] == "stays" and "status-message" not in data()
    kube.put(secret(site.text().replace("  mode tcp", "  bogus tcp", 1)))
    wait_until(lambda: data()["status"] == "ConfigRejected", 20, f"ConfigRejected, not {data()}")
    assert data()["last-applied-hash"] == digest(site.text()) and not kube.requests("secrets", "patch")


def test_applied_rejected_and_applied_again(site: Site) -> None:
    first, bad = site.text(), site.text().replace("  mode tcp", "  bogus tcp", 1)
    site.rig.kube.put(secret(first, somebody="else"))
    daemon = site.start(**REPORTING)
    found = wait_notes(site, status="Applied", last_observed_hash=digest(first), last_applied_hash=digest(first))
    assert not {"last-failed-hash", "status-message"} & set(found) and found["last-applied-time"] == found["last-update-time"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["last-applied-time"])
    wait_events(site, ("Normal", "ValidationPassed"), ("Normal", "ApplySucceeded"))

    put(site, bad)
    line = bad.splitlines().index("  bogus tcp") + 1
    found = wait_notes(site, status="ConfigRejected", last_observed_hash=digest(bad), last_failed_hash=digest(bad), last_applied_hash=digest(first))
    assert f"line {line}: unknown keyword 'bogus'" in found["status-message"]
    wait_events(site, ("Normal", "ValidationPassed"), ("Normal", "ApplySucceeded"), ("Warning", "ConfigRejected"))

    put(site, site.text("first"))
    found = wait_notes(site, status="Applied", last_applied_hash=digest(site.text("first")))
    assert not {"last-failed-hash", "status-message"} & set(found)
    assert item(site)["metadata"]["annotations"]["somebody"] == "else"
    for result, count in (("changed", 3), ("validated", 2), ("applied", 2), ("rejected", 1)):
        assert daemon.metrics().sum("configuration_results_total", result=result) == count, result
    assert daemon.metrics().sum("configuration_applied") == 1


def test_nothing_is_written_when_nothing_changed(site: Site) -> None:
    kube = site.rig.kube
    kube.put(secret(site.text()))
    daemon = site.start(**ANNOTATING)
    wait_notes(site, status="Applied")
    patches = len(kube.requests("secrets", "patch"))
    assert patches <= 2
    # Several resyncs, and a start anew over the same.
    read_thrice(site)
    daemon.stop()
    site.start(**ANNOTATING)
    assert site.rig.daemon
    site.rig.daemon.wait_log("configuration unchanged")
    site.rig.daemon.wait_ready()
    read_thrice(site)
    assert len(kube.requests("secrets", "patch")) == patches


def test_another_writer_of_the_secret_is_not_overwritten(site: Site) -> None:
    """A 409 in between: what the other one wrote stays, ours comes after it."""
    kube = site.rig.kube
    kube.put(secret(site.text()))
    kube.fault(resource="secrets", verb="patch", status=409, times=0)
    daemon = site.start(**ANNOTATING)
    site.applied("roundrobin")
    wait_until(lambda: len(kube.requests("secrets", "patch")) >= 2, 20, "two that were refused")
    other = item(site)
    other["metadata"]["annotations"]["somebody"] = "later"
    kube.put(other)
    kube.clear_faults()
    wait_notes(site, status="Applied")
    assert len(kube.requests("secrets", "patch")) >= 3 and item(site)["metadata"]["annotations"]["somebody"] == "later"
    assert "cannot write annotations" not in daemon.log()


def test_without_the_right_to_write_it_works_and_is_said_once(site: Site) -> None:
    kube = site.rig.kube
    kube.put(secret(site.text()))
    kube.forbid("patch secrets")
    daemon = site.start(**ANNOTATING)
    site.applied("roundrobin")
    daemon.wait_log("cannot write annotations of the Secret.*hint=\"the right patch on this one Secret, or CONFIG_REPORT=events\"")
    kube.put(secret(site.text("first")))
    site.applied("first")
    assert daemon.log().count("cannot write annotations") == 1
    daemon.wait_ready()


def test_a_refused_source_and_back(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    site.start(**REPORTING)
    wait_notes(site, status="Applied")
    put(site, "global\n\0\n")
    found = wait_notes(site, status="Error", last_applied_hash=digest(site.text()))
    assert f"Secret {NAMESPACE}/{NAME}, key haproxy.cfg: line 2: " in found["status-message"]
    put(site, site.text())
    wait_notes(site, status="Applied")
    assert ("Warning", "ConfigRejected") in events(site)


def test_an_api_that_is_away(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    site.rig.dataplane.stop()
    site.start(**REPORTING)
    wait_notes(site, status="ConnectionError")
    wait_until(lambda: ("Warning", "ConnectionError") in events(site), 20, "an Event ConnectionError")
    site.rig.dataplane.start()
    wait_notes(site, status="Applied")
    assert ("Normal", "ApplySucceeded") in events(site)


def test_a_dry_run_writes_nothing(site: Site) -> None:
    site.rig.kube.put(secret(site.text()))
    daemon = site.start(**REPORTING, DRY_RUN="true")
    daemon.wait_metric("configuration_results_total", 1, result="validated")
    assert notes(site) == {} and events(site) == [] and not site.rig.kube.requests("secrets", "patch")


def test_certificates_that_are_stored_or_not(site: Site) -> None:
    """A certificate that cannot be stored yet is no rejection of the haproxy.cfg."""
    site.rig.kube.put(secret(site.text()), certificate_of(Authority(site.rig.home / "pki").server(), "shop-tls"))
    site.rig.dataplane.fault({"action": "answer", "method": "POST", "path": "/storage/ssl_certificates", "status": 503, "body": {"code": 503, "message": "busy"}})
    daemon = site.start(**REPORTING, CONFIG_CERTS_SECRETS="shop-tls")
    found = wait_notes(site, status="DataplaneServerError")
    assert "last-failed-hash" not in found and "HTTP 503" in found["status-message"]
    wait_until(lambda: ("Warning", "CertSyncFailed") in events(site), 20, "an Event CertSyncFailed")
    site.rig.dataplane.clear_faults()
    daemon.process.signal(signal.SIGHUP)
    wait_notes(site, status="Applied")
    wait_until(lambda: [reason for _, reason in events(site)][-3:] == ["CertSynced", "ValidationPassed", "ApplySucceeded"], 20, "an Event CertSynced")

"""Each right that deploy/config/rbac.yaml grants for a haproxy.cfg from a Secret, left out once: the daemon says which one it lacks."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from tests.harness.daemon import Daemon
from tests.harness.realkube import RealKube

from .sites import Sites
from .test_configuration import applied
from .test_config_secret import NAME, Place

ROLE = "haproxy-k8s-sync"

# (resource, verb) -> the message without it. To list alone is asked where an API server cannot stream lists.
MISSING = {
    ("secrets", "watch"): "no complete list from the Kubernetes API yet; HAProxy stays unchanged",
    ("events", "create"): "Kubernetes Events may not be written",
    ("leases", "create"): "cannot read or write the Lease of the leader election",
}
# Without these nothing is written; without the others only less is said of it.
NEEDED = {("secrets", "watch"), ("leases", "create")}


def without(rules: list[dict[str, Any]], resource: str, verb: str) -> list[dict[str, Any]]:
    """The rules of a Role but for that verb; one that is left with none goes."""
    found = copy.deepcopy(rules)
    for rule in found:
        if resource in rule["resources"] and verb in rule["verbs"]:
            rule["verbs"].remove(verb)
    assert found != rules, f"{verb} {resource} is not granted"
    return [rule for rule in found if rule["verbs"]]


def take(place: Place, resource: str, verb: str) -> None:
    """And wait until the authorizer knows, by asking it for the ServiceAccount."""
    rules = place.kube.admin.get("Role", ROLE, place.namespace)["rules"]
    place.kube.admin.patch("Role", ROLE, {"rules": without(rules, resource, verb)}, place.namespace)
    about = {"namespace": place.namespace, "verb": verb, "resource": resource, "group": "coordination.k8s.io" if resource == "leases" else ""}
    if verb != "create":
        about["name"] = NAME if resource == "secrets" else ROLE
    place.kube.await_access(place.token, (False, about))


@pytest.mark.one_combination
@pytest.mark.parametrize(("resource", "verb"), MISSING, ids=lambda word: word)
def test_what_is_missing_is_named(sites: Sites, kubes: dict[str, RealKube], resource: str, verb: str) -> None:
    place = Place(kubes[sites.combination.etcd])
    place.put(sites.text())
    before = sites.list[0][1].file()
    take(place, resource, verb)
    daemon = sites.start(**place.settings(), EMIT_EVENTS="true", LEADER_ELECT="true", LEASE_NAMESPACE=place.namespace, LEASE_NAME=ROLE)
    about = re.escape(f'cannot {verb} resource \\"{resource}\\"')
    daemon.wait_log(f'level=warn msg="{re.escape(MISSING[resource, verb])}".* error=".*HTTP 403.*{about}.*( hint="|grants it")')
    if (resource, verb) not in NEEDED:
        applied(daemon)
        daemon.wait_ready()
        return
    daemon.wait_not_ready(re.escape(f'cannot {verb} resource "{resource}"') + ".*grants it")
    assert sites.list[0][1].file() == before
    if resource == "secrets":
        daemon.wait_not_ready(re.escape("; deploy/config/rbac.yaml grants it"))


def refused(daemon: Daemon, what: str, verb: str, resource: str) -> None:
    about = re.escape(f'cannot {verb} resource \\"{resource}\\"')
    daemon.wait_log(f'msg="{re.escape(what)}".* error=".*HTTP 403.*{about}', 30)


@pytest.mark.one_combination
def test_an_event_that_cannot_be_repeated(sites: Sites, kubes: dict[str, RealKube]) -> None:
    place = Place(kubes[sites.combination.etcd])
    place.put(sites.text())
    take(place, "events", "patch")
    daemon = sites.start(**place.settings(), EMIT_EVENTS="true")
    applied(daemon)
    for _ in range(2):
        since = len(daemon.log())
        place.put(sites.text() + "  balanse x\n")
        daemon.wait_log("configuration (was )?rejected", 30, since)
        place.put(sites.text())
        daemon.wait_log("configuration unchanged", 30, since)
    refused(daemon, MISSING["events", "create"], "patch", "events")
    daemon.wait_ready()

"""A whole haproxy.cfg from a Secret of a real API server, with rights on that one Secret by its name and on nothing else."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import subprocess

import pytest

from tests.harness import realparts
from tests.harness.process import ROOT, wait_until
from tests.harness.realkube import ADMIN_TOKEN, ApiError, Client, RealKube

from .sites import Sites
from .test_configuration import applied

NAME, STATUS = "haproxy-config", "haproxy-config-status"
MANIFEST = ROOT / "deploy" / "config" / "rbac.yaml"
_namespaces = itertools.count(1)


class Place:
    """A namespace with what deploy/config/rbac.yaml grants there."""

    def __init__(self, kube: RealKube):
        self.kube, self.namespace = kube, f"config-{next(_namespaces)}"
        kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        for text in MANIFEST.read_text().split("\n---\n"):
            kind = re.search(r"^kind: (\w+)$", text, re.M)
            assert kind
            kube.admin.apply(kind[1], "haproxy-k8s-sync", text.replace("namespace: haproxy\n", f"namespace: {self.namespace}\n"), self.namespace)
        self.token = kube.admin.service_account_token("haproxy-k8s-sync", self.namespace)
        wait_until(lambda: self.may(f"?fieldSelector=metadata.name={NAME}"), 20, "the authorizer to know the Role")

    def may(self, path: str) -> bool:
        client = Client(self.kube.port, self.kube.ca, self.token)
        try:
            client.request("GET", f"/api/v1/namespaces/{self.namespace}/secrets{path}")
        except ApiError as e:
            assert e.status == 403
            return False
        finally:
            client.close()
        return True

    def put(self, text: str, **annotations: str) -> None:
        self.kube.admin.put({"apiVersion": "v1", "kind": "Secret", "stringData": {"haproxy.cfg": text},
                             "metadata": {"name": NAME, "namespace": self.namespace, "annotations": annotations}})

    def notes(self) -> dict[str, str]:
        return self.kube.admin.get("Secret", NAME, self.namespace)["metadata"].get("annotations", {})

    def status(self) -> dict[str, str]:
        return self.kube.admin.get("ConfigMap", STATUS, self.namespace).get("data", {})

    def grant_status(self) -> None:
        """As the chart does with config.reportConfigmap."""
        self.kube.admin.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": STATUS, "namespace": self.namespace}})
        rules = self.kube.admin.get("Role", "haproxy-k8s-sync", self.namespace)["rules"]
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [STATUS], "verbs": ["patch"]}
        self.kube.admin.patch("Role", "haproxy-k8s-sync", {"rules": [*rules, rule]}, self.namespace)
        self.kube.await_access(self.token, (True, {"namespace": self.namespace, "verb": "patch", "resource": "configmaps", "group": "", "name": STATUS}))

    def settings(self) -> dict[str, str]:
        return {"CONFIG_SOURCE": "secret", "CONFIG_FILE": "", "CONFIG_SECRET_NAMESPACE": self.namespace, "CONFIG_SECRET_NAME": NAME,
                "KUBECONFIG": str(self.kube.kubeconfig(self.token))}


def test_with_rights_on_this_secret_alone(sites: Sites, kubes: dict[str, RealKube]) -> None:
    place = Place(kubes[sites.combination.etcd])
    assert not place.may("") and not place.may("/another") and not place.may("?fieldSelector=metadata.name=another")
    place.grant_status()
    place.put(sites.text(), somebody="else")
    daemon = sites.start(**place.settings(), CONFIG_REPORT_CONFIGMAP=STATUS)
    applied(daemon)
    wait_until(sites.runs(0, "roundrobin"), 10)
    daemon.wait_ready()
    wait_until(lambda: place.status().get("status") == "Applied", 20, "the ConfigMap to say Applied")
    assert place.notes() == {"somebody": "else"}

    def events() -> set[str]:
        return {e["reason"] for e in place.kube.admin.list("Event", place.namespace) if e["involvedObject"]["kind"] == "Secret"}

    wait_until(lambda: {"ValidationPassed", "ApplySucceeded"} <= events(), 20, "Events")

    seen = len(daemon.log())
    place.put(sites.text(balance="static-rr"))
    applied(daemon, seen)
    wait_until(sites.runs(0, "static-rr"), 10)

    bad = sites.text().replace("  balance roundrobin", "  bogus roundrobin")
    place.put(bad)
    daemon.wait_not_ready(f"rejected: line {bad.splitlines().index('  bogus roundrobin') + 1}: unknown keyword 'bogus'")

    place.kube.admin.delete("Secret", NAME, place.namespace)
    daemon.wait_not_ready(f"Secret {place.namespace}/{NAME} does not exist")
    assert sites.runs(0, "static-rr")()
    place.put(sites.text(balance="first"))
    wait_until(sites.runs(0, "first"), 20)
    daemon.wait_ready()


@pytest.mark.one_combination
def test_a_pause_by_annotation_is_said_everywhere(sites: Sites, kubes: dict[str, RealKube], tmp_path: pathlib.Path) -> None:
    place, state = Place(kubes[sites.combination.etcd]), str(tmp_path / "state")
    plane = sites.list[0][1]
    place.put(sites.text())
    daemon = sites.start(**place.settings(), STATE_DIR=state, CONFIG_MIN_INTERVAL="0s")
    applied(daemon)
    place.put(sites.text(balance="static-rr"), **{"haproxy-k8s-sync/paused": "true"})
    daemon.wait_log("configuration paused by its source; nothing is written")

    def mine() -> dict[str, object]:
        return dict(json.loads(daemon.get("/status")[1])["haproxies"][0]["configuration"])

    wait_until(lambda: (mine()["state"], mine()["paused"]) == ("valid", True), 20, "it is validated")
    assert "balance static-rr" not in plane.file()
    daemon.wait_not_ready("paused")
    assert "Paused by its source" in sites.command("history", STATE_DIR=state).stdout
    assert json.loads(sites.command("history", "-o", "json", STATE_DIR=state).stdout)["paused"] is True
    assert "It is paused by its source" in sites.command("apply", STATE_DIR=state).stdout

    seen, before = len(daemon.log()), str(mine()["runs_since"])
    place.put(sites.text(balance="static-rr"))
    applied(daemon, seen)
    wait_until(sites.runs(0, "static-rr"), 10)
    wait_until(lambda: mine()["paused"] is False, 10, "/status no longer says so")
    assert str(mine()["runs_since"]) > before
    assert "Paused" not in sites.command("history", STATE_DIR=state).stdout


@pytest.mark.one_combination
def test_what_runs_may_go_on_to_the_next_stage(sites: Sites, kubes: dict[str, RealKube], tmp_path: pathlib.Path) -> None:
    """docs/examples/gitops/promote.sh, by what the ConfigMap says."""
    kube = kubes[sites.combination.etcd]
    place, file = Place(kube), tmp_path / "haproxy.cfg"
    (tmp_path / "kubectl").symlink_to(realparts.kubectl())

    def promote() -> tuple[int, str]:
        done = subprocess.run([ROOT / "docs/examples/gitops/promote.sh", file, place.namespace], text=True, capture_output=True, timeout=30,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "KUBECONFIG": str(kube.kubeconfig(ADMIN_TOKEN))})
        return done.returncode, done.stdout + done.stderr

    place.grant_status()
    place.put(sites.text())
    file.write_text(sites.text())
    assert promote()[0] == 1
    daemon = sites.start(**place.settings(), CONFIG_REPORT_CONFIGMAP=STATUS)
    wait_until(lambda: promote()[0] == 0, 20, "it to run")
    file.write_text(sites.text(balance="static-rr"))
    assert promote()[0] == 1
    bad = sites.text().replace("balance roundrobin", "bogus roundrobin", 1)
    place.put(bad)
    daemon.wait_not_ready("rejected: line")
    wait_until(lambda: "ConfigRejected" in promote()[1], 20, "why it does not go on")
    file.write_text(bad)
    assert promote()[0] == 1
    file.unlink()
    assert promote()[0] == 1

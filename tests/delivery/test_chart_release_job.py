"""docs/uninstall.md with Helm: the value `release` takes the daemon away and makes a Job of its pod, which gives the backends up."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.rig import NAMESPACE, SERVICE, TEMPLATE, Rig
from tests.harness.daemon import clean_env, program
from tests.harness.haproxy import AUTH, haproxy_binary
from tests.harness.process import free_port

from .chart import cases, helm as chart, pod

LIVE = "  server n1 127.0.11.1:30443 check weight 100\n"
PARKED = "  server n2 127.0.11.2:30443 check weight 100 disabled\n"


def as_pod(found: list[chart.Document]) -> list[chart.Document]:
    """The Job in place of the Deployment."""
    return [{**d, "kind": "Deployment"} if d["kind"] == "Job" else d for d in found if d["kind"] != "Deployment"]


@pytest.mark.parametrize("name", [name for name in cases.NAMES if "sidecar" not in name])
def test_the_job_has_the_pod_of_the_daemon(helm: pathlib.Path, rendered: cases.Renderings, name: str) -> None:
    found = chart.render(helm, cases.values(name), {"release": "yes"})
    assert chart.only(found, "Deployment")["spec"]["replicas"] == 0
    job = chart.only(found, "Job")["spec"]["template"]["spec"]
    pod.assert_runs_once(job, ["release", "--yes"], rendered[name])
    kept = {(d["kind"], d["metadata"]["name"]) for d in rendered[name] if d["kind"] in ("ConfigMap", "Secret", "ServiceAccount")}
    assert kept <= {(d["kind"], d["metadata"]["name"]) for d in found}, "what the Job reads is there"


def test_without_the_value_there_is_none(rendered: cases.Renderings) -> None:
    assert not [d for d in rendered[cases.DEFAULT] if d["kind"] == "Job"]


def test_with_a_haproxy_in_the_pod_it_is_refused(helm: pathlib.Path) -> None:
    with pytest.raises(chart.Refused, match="each pod has a HAProxy of its own"):
        chart.render(helm, cases.values("sidecar"), {"release": "list"})


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    if haproxy_binary() is None:
        pytest.skip("no HAProxy here")
    with Rig(tmp_path / "rig", TEMPLATE.replace(LIVE, LIVE + PARKED)) as made:
        yield made


def run_job(helm: pathlib.Path, rig: Rig, home: pathlib.Path, release: str) -> tuple[int, str]:
    """The Job's container, as a process with its environment and its mounted files."""
    user, password = AUTH.split(":")
    found = as_pod(chart.render(helm, {"release": release, "env": {
        "ingressNamespace": NAMESPACE, "ingressServiceName": SERVICE, "listenAddress": f":{free_port()}",
        "haproxy": {"dataplaneURL": rig.dataplane.url, "backendName": "be", "username": user, "password": password}}}))
    env = pod.unpacked(found, home / release, lambda _, key: key)
    one = pod.container(found)
    assert one["command"] == ["/usr/bin/haproxy-k8s-sync"]
    done = subprocess.run([program(), *one["args"]], env=clean_env(**env), capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_it_lists_and_then_releases(helm: pathlib.Path, rig: Rig, tmp_path: pathlib.Path) -> None:
    before = rig.dataplane.file()
    status, said = run_job(helm, rig, tmp_path, "list")
    assert status == 2 and "n2" in said and rig.dataplane.file() == before, said
    status, said = run_job(helm, rig, tmp_path, "yes")
    assert status == 0 and "released" in said, said
    assert set(rig.all_lines()) == {"n1", "sorry"}

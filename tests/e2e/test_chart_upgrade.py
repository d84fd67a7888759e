"""An upgrade in place on a real API server: by helm, by server-side apply and by the three-way patch of kubectl apply, also over the
strategy (Recreate without leader election, RollingUpdate with it) and over a Deployment of the same name that another chart made."""

from __future__ import annotations

import itertools
import json
import pathlib
import re
from collections.abc import Callable

import pytest
import yaml

from tests.delivery.chart.helm import CHART, Document, Values, documents
from tests.harness import parts, realparts
from tests.harness.process import ROOT
from tests.harness.realkube import RealKube

from .release import helm, kubectl

ONE: Values = {"replicaCount": 1, "env": {"haproxy": {"username": "admin", "password": "one"}}}
TWO: Values = {"replicaCount": 2, "env": {"haproxy": {"username": "admin", "password": "two"}}}
NAME = "sync-haproxy-k8s-sync"
# What others have of this name: no strategy, so the server's default is in it, and a container that is called otherwise.
ANOTHER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {app.kubernetes.io/name: "{{ .Chart.Name }}", app.kubernetes.io/instance: "{{ .Release.Name }}"}
spec:
  replicas: 1
  selector:
    matchLabels: {app.kubernetes.io/name: "{{ .Chart.Name }}", app.kubernetes.io/instance: "{{ .Release.Name }}"}
  template:
    metadata:
      labels: {app.kubernetes.io/name: "{{ .Chart.Name }}", app.kubernetes.io/instance: "{{ .Release.Name }}"}
    spec:
      containers:
        - {name: controller, image: another, env: [{name: RESYNC_PERIOD, value: 30s}], ports: [{name: http, containerPort: 8080}]}
"""
_namespaces = itertools.count(1)


@pytest.fixture
def kube(kubes: dict[str, RealKube]) -> RealKube:
    with parts.or_skip():
        realparts.helm()
        realparts.kubectl()
        return kubes["etcd"]


@pytest.fixture
def namespace(kube: RealKube) -> str:
    name = f"upgrade-{next(_namespaces)}"
    for one in (name, "ingress-nginx"):
        kube.admin.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": one}})
    return name


@pytest.fixture
def another(tmp_path: pathlib.Path) -> pathlib.Path:
    chart = tmp_path / "another" / CHART.name
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: {CHART.name}\nversion: 0.1.3\n")
    (chart / "templates" / "deployment.yaml").write_text(ANOTHER)
    return chart


Put = Callable[[RealKube, str, pathlib.Path, Values], None]


def by_helm(kube: RealKube, namespace: str, chart: pathlib.Path, values: Values) -> None:
    helm(kube, "upgrade", "--install", "sync", chart, "--namespace", namespace, values=values)


def _applied(*words: str) -> Put:
    def put(kube: RealKube, namespace: str, chart: pathlib.Path, values: Values) -> None:
        rendered = documents(helm(kube, "template", "sync", chart, "--namespace", namespace, values=values))
        file = pathlib.Path(kube.home) / f"{namespace}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered}))
        kubectl(kube, "apply", *words, "-f", file)
    return put


WAYS: dict[str, Put] = {"helm": by_helm, "server-side apply": _applied("--server-side"), "three-way patch": _applied()}


def deployment(kube: RealKube, namespace: str) -> Document:
    return kube.admin.get("Deployment", NAME, namespace)


def is_ours(kube: RealKube, namespace: str, values: Values) -> None:
    spec = deployment(kube, namespace)["spec"]
    assert spec["replicas"] == values["replicaCount"]
    assert [c["name"] for c in spec["template"]["spec"]["containers"]] == ["haproxy-k8s-sync"]
    if values is ONE:
        assert spec["strategy"] == {"type": "Recreate"}
    else:
        assert spec["strategy"]["type"] == "RollingUpdate"


@pytest.mark.parametrize("way", WAYS)
def test_the_strategy_changes_and_changes_back(kube: RealKube, namespace: str, way: str) -> None:
    uid = None
    for values in (ONE, TWO, ONE):
        WAYS[way](kube, namespace, CHART, values)
        is_ours(kube, namespace, values)
        uid = uid or deployment(kube, namespace)["metadata"]["uid"]
        assert deployment(kube, namespace)["metadata"]["uid"] == uid, "it was made anew"


@pytest.mark.parametrize("way", WAYS)
def test_over_another_chart_of_this_name(kube: RealKube, namespace: str, another: pathlib.Path, way: str) -> None:
    for values in (ONE, TWO):
        WAYS[way](kube, namespace, another, {})
        uid = deployment(kube, namespace)["metadata"]["uid"]
        if way == "server-side apply" and values is ONE:
            # Nobody said what the server made of no strategy, so nobody's apply takes it away. docs/migrate.md: it is said in the dry run.
            with pytest.raises(AssertionError, match="may not be specified when strategy `type` is 'Recreate'"):
                WAYS[way](kube, namespace, CHART, values)
            said, = re.findall(r"`strategy: ({.*})`", (ROOT / "docs" / "migrate.md").read_text())
            dry = {**ONE, "env": {**ONE["env"], "dryRun": True}, "strategy": yaml.safe_load(said)}
            WAYS[way](kube, namespace, CHART, dry)
            assert deployment(kube, namespace)["spec"]["strategy"] == dry["strategy"]
        WAYS[way](kube, namespace, CHART, values)
        is_ours(kube, namespace, values)
        assert deployment(kube, namespace)["metadata"]["uid"] == uid, "it was made anew"


def test_server_side_apply_after_the_other_ways(kube: RealKube, namespace: str) -> None:
    """What kubectl had applied by patches becomes its own with the first apply that succeeds: docs/helm.md."""
    WAYS["three-way patch"](kube, namespace, CHART, TWO)
    WAYS["server-side apply"](kube, namespace, CHART, TWO)
    WAYS["server-side apply"](kube, namespace, CHART, ONE)
    is_ours(kube, namespace, ONE)


def test_values_of_the_chart_before(kube: RealKube, namespace: str, another: pathlib.Path) -> None:
    """--reuse-values brings its defaults, too, and so none of ours."""
    helm(kube, "install", "sync", another, "--namespace", namespace)
    with pytest.raises(AssertionError, match="the values lack global, config, .*: helm upgrade --reuse-values takes none of them; use --reset-then-reuse-values"):
        helm(kube, "upgrade", "sync", CHART, "--namespace", namespace, "--reuse-values")
    helm(kube, "upgrade", "sync", CHART, "--namespace", namespace, "--reset-then-reuse-values")
    is_ours(kube, namespace, ONE)

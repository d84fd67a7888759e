"""The chart's ServiceMonitor and PrometheusRule: Prometheus' own promtool takes the rules, each alert fires when it should and does not
when it should not (alerts.test.yaml), and what they ask for is what the daemon says."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from typing import Any

import pytest
import yaml

from tests.harness.process import ROOT

from .chart.helm import CHART, Document, Refused, Values, only, render
from .promtool import promtool, refused
from .queries import clusters_lost, known_metrics, matched_values, metric_names, unknown_labels

RELEASE, NAMESPACE = "lb", "edge"
JOB = f"{RELEASE}-haproxy-k8s-sync"
PLAIN = CHART / "alerts" / "haproxy-k8s-sync.yaml"
CASES = pathlib.Path(__file__).resolve().parent / "alerts.test.yaml"
RUNBOOKS = ROOT / "docs" / "metrics-and-alerts.md"
# What Prometheus puts on each target of a ServiceMonitor, and what the daemon puts on each metric (CLUSTER_NAME).
TARGET_LABELS = {"namespace", "job", "pod", "instance", "cluster"}

Rule = dict[str, Any]


def rendered(helm: pathlib.Path, **more: Any) -> Document:
    values: Values = {"prometheusRule": {"enabled": True, **more}}
    return only(render(helm, values, release=RELEASE, namespace=NAMESPACE), "PrometheusRule")


def rules_of(rule: Document) -> list[Rule]:
    return [r for group in rule["spec"]["groups"] for r in group["rules"]]


def plain_rules() -> list[Rule]:
    return [r for group in yaml.safe_load(PLAIN.read_text())["groups"] for r in group["rules"]]


NAMES = sorted({r["alert"] for r in plain_rules()})


# --- the rules

def test_promtool_takes_the_plain_file() -> None:
    done = promtool("check", "rules", PLAIN)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_rendered_rules(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert refused(tmp_path / "rules.yaml", rendered(helm)["spec"]["groups"]) == ""


def test_promtool_refuses_what_is_wrong(tmp_path: pathlib.Path) -> None:
    """That the two above can fail."""
    wrong = {"name": "g", "rules": [{"alert": "A", "expr": "max by (up", "labels": {}}]}
    assert "parse" in refused(tmp_path / "expr.yaml", [wrong])
    wrong["rules"] = [{"alert": "A", "expr": "up", "annotations": {"summary": "{{ $value | humaniseDuration }}"}}]
    assert "humaniseDuration" in refused(tmp_path / "template.yaml", [wrong])


def without_annotations(rule: Document) -> list[Document]:
    groups: list[Document] = json.loads(json.dumps(rule["spec"]["groups"]))
    for group in groups:
        for r in group["rules"]:
            r.pop("annotations", None)
    return groups


def test_each_alert_fires_when_it_should(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "alerts.yaml").write_text(json.dumps({"groups": without_annotations(rendered(helm))}))
    shutil.copy(CASES, tmp_path / "alerts.test.yaml")
    done = promtool("test", "rules", "alerts.test.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", NAMES)
def test_alert_is_tried_both_ways(alert: str) -> None:
    tried = [t for case in yaml.safe_load(CASES.read_text())["tests"] for t in case["alert_rule_test"] if t["alertname"] == alert]
    assert {bool(t["exp_alerts"]) for t in tried} == {True, False}


@pytest.mark.parametrize("alert", NAMES)
def test_alert_says_what_where_and_what_to_do(alert: str) -> None:
    for rule in (r for r in plain_rules() if r["alert"] == alert):
        assert rule["labels"] in ({"severity": "warning"}, {"severity": "critical"})
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        # A label that the expression does not leave would be shown as nothing.
        left = {name.strip() for by in re.findall(r"by \(([^)]*)\)", rule["expr"]) for name in by.split(",")} or TARGET_LABELS
        if rule["expr"].startswith("absent("):
            left = {"namespace", "job", "cluster"}
        shown = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["description"]))
        assert shown and shown <= left, f"{shown - left} of {rule['annotations']['description']}"
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert ROOT / page == RUNBOOKS
        headings = re.findall(r"^#+ (\S+)$", RUNBOOKS.read_text(), re.M)
        assert anchor in [h.lower() for h in headings], f"{page} has no heading {alert}"


def test_every_alert_of_the_page_is_there() -> None:
    assert set(re.findall(r"^### (HaproxyK8sSync\w+)$", RUNBOOKS.read_text(), re.M)) == set(NAMES)


# --- what they ask for

def expressions() -> list[str]:
    return [r["expr"] for r in plain_rules()]


@pytest.mark.parametrize("expr", expressions())
def test_nothing_is_summed_up_over_clusters(expr: str) -> None:
    """Several clusters may have one Prometheus, and the same backend of the same HAProxy."""
    assert clusters_lost(expr) == []
    broken = expr.replace(", cluster", "")
    assert broken == expr or clusters_lost(broken), "the rule above sees nothing"


@pytest.mark.parametrize("expr", expressions())
def test_the_daemon_has_what_is_asked_for(expr: str) -> None:
    names = metric_names(expr)
    assert names and names <= set(known_metrics()) | {"up"}, names - set(known_metrics())
    assert unknown_labels(expr, TARGET_LABELS) == []
    source = "".join(path.read_text() for path in sorted((ROOT / "src").glob("**/*.c")))
    for value in matched_values(expr, ("result", "target")):
        assert f'"{value}"' in source, f"nothing in src says {value!r}"


# --- the objects

def test_rules_are_about_this_release_alone(helm: pathlib.Path) -> None:
    rule = rendered(helm)
    for r in rules_of(rule):
        metrics = len(re.findall(r"\b(?:haproxy_k8s_sync_\w+|process_\w+|up)\{", r["expr"]))
        assert metrics == r["expr"].count(f'job="{JOB}", namespace="{NAMESPACE}"') == r["expr"].count("{"), r["expr"]
        # A path without a host leads nowhere from an alert.
        assert set(r["annotations"]) == {"summary", "description"}
    own = {**rule, "spec": None}
    assert own["metadata"]["namespace"] == NAMESPACE and own["metadata"]["name"] == JOB
    elsewhere = rendered(helm, namespace="monitoring", additionalLabels={"release": "kps"})["metadata"]
    assert (elsewhere["namespace"], elsewhere["name"]) == ("monitoring", f"{NAMESPACE}.{JOB}")
    assert elsewhere["labels"]["release"] == "kps"


def test_rules_as_values_want_them(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    more = {"record": "edge:servers", "expr": "sum(haproxy_k8s_sync_servers_configured)"}
    rule = rendered(helm, disabled=["HaproxyK8sSyncCertificateExpiring"], additionalRules=[more], interval="1m",
                    additionalAlertLabels={"team": "edge", "severity": "page"}, selector='app="x"',
                    runbookUrl="https://wiki.example.com/haproxy")
    assert refused(tmp_path / "rules.yaml", rule["spec"]["groups"]) == ""
    rules = rules_of(rule)
    assert {r.get("alert") for r in rules} == {*NAMES, None} - {"HaproxyK8sSyncCertificateExpiring"} and rules[-1] == more
    for r in rules[:-1]:
        assert r["labels"] == {"team": "edge", "severity": "page"}
        assert 'app="x"' in r["expr"] and "job=" not in r["expr"]
        assert r["annotations"]["runbook_url"] == f"https://wiki.example.com/haproxy#{r['alert'].lower()}"
    assert rule["spec"]["groups"][0]["interval"] == "1m"
    # Nothing else is changed.
    plain = {r["alert"]: r for r in plain_rules()}
    for r in rules[:-1]:
        assert r["annotations"]["description"] == plain[r["alert"]]["annotations"]["description"]
        assert r.get("for") == plain[r["alert"]].get("for")


def test_alert_that_does_not_exist_cannot_be_disabled(helm: pathlib.Path) -> None:
    with pytest.raises(Refused, match='there is no alert "HaproxyOutOfSync"; known: HaproxyK8sSyncOutOfSync'):
        rendered(helm, disabled=["HaproxyOutOfSync"])
    with pytest.raises(Refused, match="every alert disabled"):
        rendered(helm, disabled=NAMES)


def test_service_monitor_finds_the_pods(helm: pathlib.Path) -> None:
    documents = render(helm, {"serviceMonitor": {"enabled": True, "interval": "15s", "scrapeTimeout": "10s",
                                                 "additionalLabels": {"release": "kps"}, "metricRelabelings": [
                                                     {"action": "drop", "sourceLabels": ["__name__"], "regex": "process_.*"}]}},
                       release=RELEASE, namespace=NAMESPACE)
    monitor, service, deployment = (only(documents, kind) for kind in ("ServiceMonitor", "Service", "Deployment"))
    pod = deployment["spec"]["template"]
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": [NAMESPACE]} and service["metadata"]["namespace"] == NAMESPACE
    endpoint, = monitor["spec"]["endpoints"]
    assert (endpoint["interval"], endpoint["scrapeTimeout"], endpoint["path"]) == ("15s", "10s", "/metrics")
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    ports = [port["name"] for port in pod["spec"]["containers"][0]["ports"]]
    assert [port["targetPort"] for port in service["spec"]["ports"]] == ports
    # By default Prometheus calls the job like the Service, which is what the alerts go by.
    assert service["metadata"]["name"] == JOB
    # A pod that is not ready is the one that is to be examined.
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert monitor["metadata"]["labels"]["release"] == "kps"


def test_service_monitor_without_a_service_is_refused(helm: pathlib.Path) -> None:
    with pytest.raises(Refused, match="serviceMonitor.enabled needs service.enabled"):
        render(helm, {"serviceMonitor": {"enabled": True}, "service": {"enabled": False}})


@pytest.mark.parametrize("section, value", [("service", "ports"), ("serviceMonitor", "scrapeInterval"), ("prometheusRule", "rules"),
                                            ("grafanaDashboard", "label"), ("networkPolicy", "egress")])
def test_typo_is_named(helm: pathlib.Path, section: str, value: str) -> None:
    with pytest.raises(Refused, match=value):
        render(helm, {section: {value: {}}})


def test_nothing_of_it_unless_asked_for(helm: pathlib.Path) -> None:
    kinds = {document["kind"] for document in render(helm)}
    assert not kinds & {"ServiceMonitor", "PrometheusRule", "NetworkPolicy"}, kinds

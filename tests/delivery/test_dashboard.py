"""The Grafana dashboard: every panel's query is one that Prometheus can parse and asks for what the daemon says; its shape is as
Grafana wants it, as far as that shows without a Grafana."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from .chart.helm import CHART, only, render
from .promtool import refused
from .queries import clusters_lost, known_metrics, metric_names, unknown_labels

FILE = CHART / "dashboards" / "haproxy-k8s-sync.json"
BOARD: dict[str, Any] = json.loads(FILE.read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]
DATA = [panel for panel in PANELS if panel["type"] != "row"]
COLUMNS = 24


def expressions() -> list[tuple[str, str]]:
    return [(panel["title"], target["expr"]) for panel in DATA for target in panel["targets"]]


def as_prometheus_gets_it(expr: str) -> str:
    """Grafana puts its variables in."""
    for name, value in (("$__rate_interval", "1m"), ("$namespace", "edge|shop"), ("$job", ".*"), ("$cluster", ".*")):
        expr = expr.replace(name, value)
    assert "$" not in expr, f"an unknown variable in {expr}"
    return expr


def test_promtool_parses_every_query(tmp_path: pathlib.Path) -> None:
    rules = [{"record": f"panel:query{i}", "expr": as_prometheus_gets_it(expr)} for i, (_, expr) in enumerate(expressions())]
    assert len(rules) > 30
    assert refused(tmp_path / "rules.yaml", [{"name": "dashboard", "rules": rules}]) == ""


@pytest.mark.parametrize("title, expr", expressions())
def test_the_daemon_has_what_is_asked_for(title: str, expr: str) -> None:
    names = metric_names(expr)
    assert names and names <= set(known_metrics()), names - set(known_metrics())
    assert unknown_labels(expr, {"namespace", "job", "pod", "instance", "cluster"}) == []
    assert expr.count("{") == expr.count('{namespace=~"$namespace", job=~"$job", cluster=~"$cluster"'), f"{title}: a query that is not for the chosen ones"


@pytest.mark.parametrize("title, expr", expressions())
def test_nothing_is_summed_up_over_clusters(title: str, expr: str) -> None:
    assert clusters_lost(expr) == [], title


def test_every_query_names_its_cluster() -> None:
    for panel in DATA:
        for target in panel["targets"]:
            assert "{{cluster}}" in target["legendFormat"], panel["title"]


@pytest.mark.parametrize("panel", DATA, ids=lambda panel: panel["title"])
def test_legends_name_labels_that_are_left(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        by = re.search(r"by \(([^)]*)\)", target["expr"])
        left = {name.strip() for name in by[1].split(",")} if by else {"pod", "cluster"}
        shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert shown <= left, f"{shown - left}: {target}"


def test_every_metric_has_its_place() -> None:
    shown = {name for _, expr in expressions() for name in metric_names(expr)}
    missing = {name for name in known_metrics() if name.startswith("haproxy_")} - shown
    assert not missing, f"on no panel: {missing}"


def test_panels_do_not_overlap() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in PANELS:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= COLUMNS, panel["title"]
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert cell not in taken, f"{panel['title']} lies on {taken[cell]}"
            taken[cell] = panel["title"]
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_variables_are_those_in_use() -> None:
    text = FILE.read_text()
    names = {variable["name"] for variable in BOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__all"}
    assert used == names
    for variable in BOARD["templating"]["list"]:
        assert metric_names(variable.get("definition", "")) <= set(known_metrics())
    for panel in DATA:
        assert {json.dumps(source["datasource"], sort_keys=True) for source in [panel, *panel["targets"]]} == {
            '{"type": "prometheus", "uid": "${datasource}"}'}


def test_config_map_holds_the_file(helm: pathlib.Path) -> None:
    documents = render(helm, {"grafanaDashboard": {"enabled": True, "namespace": "monitoring", "annotations": {"grafana_folder": "HAProxy"}}},
                       release="lb", namespace="edge")
    found = only([d for d in documents if d["metadata"]["name"].endswith("-dashboard")], "ConfigMap")
    assert json.loads(found["data"][FILE.name]) == BOARD
    assert found["metadata"]["name"] == "edge.lb-haproxy-k8s-sync-dashboard" and found["metadata"]["namespace"] == "monitoring"
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1" and found["metadata"]["annotations"] == {"grafana_folder": "HAProxy"}

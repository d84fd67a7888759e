"""tests/data/migrate.md, row by row: what the Go controller's values and variables do here; and what docs/migrate.md says of them."""

from __future__ import annotations

import json
import pathlib
import re
import shlex
import subprocess
from typing import Any

import pytest
import yaml

from tests.harness.daemon import clean_env, program
from tests.harness.process import ROOT

from .chart import helm as chart, pod
from .test_chart_renderings import KUBECONFIG

PAGE = ROOT / "docs" / "migrate.md"
ROWS = ROOT / "tests" / "data" / "migrate.md"
RELEASE = "edge"


def rows(head: str) -> list[tuple[str, str]]:
    """(what is given, what is here) of the table with that head."""
    table = ROWS.read_text().split(f"| {head} | The Go controller | Here |\n|---|---|---|\n")[1].split("\n\n")[0]
    found = [line.strip("|").split(" | ") for line in table.splitlines()]
    assert found and all(len(cells) == 3 for cells in found), found
    return [(cells[0].strip().strip("`"), cells[2].strip()) for cells in found]


VALUES, VARIABLES = rows("Values"), rows("Variables")


def quoted(here: str, kind: str) -> str | None:
    found = re.fullmatch(rf'{kind}: "(.+)"', here)
    return found[1] if found else None


def spans(here: str) -> list[str]:
    found = re.findall(r"`([^`]+)`", here)
    assert found, f"nothing in {here!r} can be checked"
    return found


def holds(whole: Any, name: str, value: Any) -> bool:
    """Whether anything in it has this name and this value."""
    if isinstance(whole, dict):
        return (name in whole and whole[name] == value) or any(holds(inner, name, value) for inner in whole.values())
    return isinstance(whole, list) and any(holds(inner, name, value) for inner in whole)


def settings(found: list[chart.Document]) -> dict[str, str]:
    """Those of the pod, with what is in its files in place of their paths."""
    files = pod.mounted(found, lambda path, key: f"{path} {key} is not of this release")
    return {name.removesuffix("_FILE") if value in files else name: files.get(value, value) for name, value in pod.settings(found).items()}


@pytest.mark.parametrize(("given", "here"), VALUES, ids=[given for given, _ in VALUES])
def test_value(helm: pathlib.Path, given: str, here: str) -> None:
    values = yaml.safe_load(given)
    if refused := quoted(here, "refused"):
        with pytest.raises(chart.Refused) as e:
            chart.render(helm, values, release=RELEASE)
        assert refused in str(e.value)
        return
    found = chart.render(helm, values, release=RELEASE)
    here, _, gone = here.partition("not there: ")
    for span in spans(gone) if gone else []:
        assert f"{span}:" not in (text := yaml.safe_dump_all(found)) and f"kind: {span}\n" not in text, text
    for span in spans(here) if here.strip() else []:
        if here.startswith("in the objects: "):
            (name, value), = yaml.safe_load(span).items()
            assert holds(found, name, value), f"{span} is nowhere in {yaml.safe_dump_all(found)}"
        elif "not set: " in here:
            assert span not in settings(found)
        else:
            name, _, value = span.partition("=")
            assert settings(found).get(name) == value


@pytest.mark.parametrize(("given", "here"), VARIABLES, ids=[given for given, _ in VARIABLES])
def test_variable(given: str, here: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps(KUBECONFIG))
    env = dict(word.split("=", 1) for word in shlex.split(given))
    done = subprocess.run([program(), "check-config"], env=clean_env(KUBECONFIG=str(tmp_path / "kubeconfig"), **env), capture_output=True,
                          text=True, check=False)
    refused, warning = quoted(here, "refused"), quoted(here, "warning")
    assert (done.returncode != 0) == (refused is not None), done.stderr
    if refused or warning:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error" if refused else "warning")]
        assert any((refused or warning or "") in line for line in lines), done.stderr
        return
    shown = dict(re.findall(r"^([A-Z0-9_]+)=(.*?)  # ", done.stdout, re.MULTILINE))
    for span in spans(here):
        name, _, value = span.partition("=")
        assert shown.get(name) == value, done.stdout


def test_a_release_of_the_program_s_name(helm: pathlib.Path) -> None:
    """What the page says keeps its Deployment in place, whose selector cannot be changed."""
    name, = set(re.findall(r"`fullnameOverride: (\S+)`", PAGE.read_text()))
    found = chart.render(helm, {"fullnameOverride": name}, release="haproxy-k8s-sync")
    deployment = chart.only(found, "Deployment")
    assert deployment["metadata"]["name"] == name == "haproxy-k8s-sync-haproxy-k8s-sync"
    assert deployment["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "haproxy-k8s-sync", "app.kubernetes.io/instance": "haproxy-k8s-sync"}


def test_every_name_of_the_values_file_has_its_effect(helm: pathlib.Path) -> None:
    """The example with all of the other's names, but for the image: its values are those of this chart."""
    values = yaml.safe_load((ROOT / "docs" / "examples" / "values" / "go-controller.yaml").read_text())
    shown = settings(chart.render(helm, values))
    haproxy = values["env"]["haproxy"]
    assert shown.items() >= {
        "INGRESS_NAMESPACE": values["env"]["ingressNamespace"], "INGRESS_SERVICE_NAME": values["env"]["ingressServiceName"],
        "RESYNC_PERIOD": values["env"]["resyncPeriod"], "HAPROXY_DATAPLANE_URL": haproxy["dataplaneURL"],
        "HAPROXY_DATAPLANE_USERNAME": haproxy["username"], "HAPROXY_DATAPLANE_PASSWORD": haproxy["password"],
        "HAPROXY_BACKEND_NAME": haproxy["backendName"], "HAPROXY_BACKEND_PORT": str(haproxy["backendPort"]),
        "HAPROXY_SEND_PROXY_V2": "false"}.items()

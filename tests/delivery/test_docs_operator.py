"""The tables of docs/from-the-operator.md: each row is what the daemon takes, the chart knows, or the source says."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import check_env, program
from tests.harness.process import ROOT

from .chart import readme
from .test_chart_renderings import KUBECONFIG
from .test_chart_values import OPERATORS

PAGE = (ROOT / "docs" / "from-the-operator.md").read_text()


def rows(header: str) -> list[list[str]]:
    """The cells of the table whose header begins so."""
    body = re.search(rf"^\| {header} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.M)
    assert body, header
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body[1].splitlines()]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# --- settings

SETTINGS = [(spans(variable), spans(flag), here) for variable, flag, here in rows("variable")]


def check_config(*flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), *flags, "check-config"], env=check_env(**env), capture_output=True, text=True, check=False)


def values(folder: pathlib.Path) -> dict[str, str]:
    """Of each variable one that is not the default."""
    authority = Authority(folder)
    client = authority.client("sync")
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    return {"MODE": "k8s", "CERTS_SECRET_NAMES": "a,b", "DATAPLANE_URL": "https://other:1/v3", "METRICS_ADDR": ":1111", "PROBE_ADDR": ":2222",
            "LEADER_ELECT": "true", "LOCAL_WATCH": "false", "DATAPLANE_INSECURE": "true", "LOCAL_CONFIG_PATH": "/etc/lb.cfg",
            "DATAPLANE_USERNAME": "somebody", "DATAPLANE_PASSWORD": "hush", "KUBECONFIG": str(kubeconfig), "WATCH_NAMESPACE": "another",
            "SECRET_NAME": "another", "SECRET_KEY": "another", "DATAPLANE_CA_CERT": str(authority.certificate),
            "DATAPLANE_CLIENT_CERT": str(client.certificate), "DATAPLANE_CLIENT_KEY": str(client.key), "SPIRE_AGENT_SOCKET": "unix:///run/spire/agent.sock"}


PAIRS = ({"DATAPLANE_USERNAME", "DATAPLANE_PASSWORD"}, {"DATAPLANE_CLIENT_CERT", "DATAPLANE_CLIENT_KEY"})


def accepted() -> list[tuple[str, str | None, str]]:
    """(variable, flag, setting) of each row that is not refused."""
    return [(variable[0], flag[0] if flag else None, variable[0] if here.startswith("the same") else spans(here)[0])
            for variable, flag, here in SETTINGS if variable and not here.startswith("refused")]


@pytest.mark.parametrize(("variable", "flag", "setting"), accepted())
def test_a_setting_by_its_variable_and_by_its_flag(variable: str, flag: str | None, setting: str, tmp_path: pathlib.Path) -> None:
    every = values(tmp_path)
    value = every[variable]
    shown = {"MODE": "secret", "DATAPLANE_URL": "https://other:1", "DATAPLANE_PASSWORD": "***"}.get(variable, value)
    beside = {"MODE": "local" if variable.startswith("LOCAL") else "k8s"}
    if variable == "LOCAL_WATCH":
        beside["LOCAL_CONFIG_PATH"] = "/etc/lb.cfg"
    beside |= {other: every[other] for pair in PAIRS if variable in pair for other in pair - {variable}}
    ways = [check_config(**{**beside, variable: value})]
    if flag is not None:
        ways.append(check_config(f"{flag}={value}", **beside))
    for done in ways:
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^{setting}={re.escape(shown)}( |$)", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("row", [r for r in SETTINGS if r[2].startswith("refused")], ids=lambda r: (r[0] + r[1])[0])
def test_what_is_refused(row: tuple[list[str], list[str], str]) -> None:
    variable, flag, _ = row
    for done in [check_config(MODE="k8s", **{name: "x"}) for name in variable] + [check_config(f"{name}=x", MODE="k8s") for name in flag]:
        assert done.returncode != 0 and "unknown argument" not in done.stderr, done.stderr
        assert any(name in done.stderr for name in [*variable, *flag]), done.stderr


@pytest.mark.parametrize("name", ["--dataplane-username", "--dataplane-password"])
def test_secrets_are_no_flags(name: str) -> None:
    done = check_config(f"{name}=hush", MODE="k8s")
    assert done.returncode != 0 and name.removeprefix("--").upper().replace("-", "_") in done.stderr and "hush" not in done.stderr


def test_no_name_is_missing() -> None:
    table = (ROOT / "config.example.env").read_text()
    known = set(re.findall(r"With MODE: ([A-Z0-9_]+)", table))
    assert len(known) > 10
    assert known <= {name for variable, _, _ in SETTINGS for name in variable}
    flags = set(re.findall(r'\.flag = "([\w-]+)"', (ROOT / "src/settings/table.c").read_text()))
    flags -= {"dry-run", "log-level"}  # which the operator has not
    assert {f"--{name}" for name in flags} <= {name for _, flag, _ in SETTINGS for name in flag}
    # The default with MODE stands behind the colon.
    for name, default in re.findall(r"With MODE: ([A-Z0-9_]+), default (\S+)", table):
        here = next(here for variable, _, here in SETTINGS if name in variable)
        assert default.removesuffix("/v3") in here, f"{name}: {default}"


# --- values of the chart


def test_each_value_of_the_operator_has_its_row() -> None:
    schema = readme.schema()
    known = {path for path, _ in readme.leaves(schema, schema) if path.startswith(OPERATORS)} | {"leaderElection.enabled"}
    unused = {path for path in known if path.startswith(("vault.", "dataplane.serverCA.vaultPKI.")) and not path.endswith("I.enabled")} - {"vault.enabled"}
    told = {span for value, here in rows("value") for span in spans(value)}
    assert told == known - unused
    for _, here in rows("value"):
        for span in spans(here):
            assert span.startswith("http") or readme.at(readme.defaults(), span) is not None or span in known, span


# --- what the Secret says


def test_each_annotation_has_its_row() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.c"))
    written = set(re.findall(r'SECRET_ANNOTATIONS "([\w-]+)"', source))
    told = {name.strip() for cell, _ in rows("annotation") for name in cell.split(",")}
    assert told == written | {"cert-sync"}


def test_each_event_has_its_row() -> None:
    source = (ROOT / "src/daemon/events.c").read_text()
    names = dict(re.findall(r'\[EVENT_(\w+)\] = "(\w+)"', source))
    report = (ROOT / "src/daemon/config/config_report.c").read_text()
    told = {names[reason] for reason in re.findall(r"\bEVENT_([A-Z_]+)", report) if reason != "NONE"}
    assert {row[0]: row[1] for row in rows("reason")} == {
        name: "Normal" if name in ("ValidationPassed", "ApplySucceeded", "ConfigUnchanged", "CertSynced", "CanaryPassed") else "Warning" for name in told}

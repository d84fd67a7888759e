"""Each values file: helm lint --strict, the recorded rendering, and the real daemon's check-config with what was rendered."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import check_env, program

from .chart import cases, helm as chart, pod, readme

KUBECONFIG = {"apiVersion": "v1", "kind": "Config", "current-context": "edge",
              "clusters": [{"name": "edge", "cluster": {"server": "https://192.0.2.1:6443"}}],
              "users": [{"name": "sync", "user": {"token": "of-the-other-cluster"}}],
              "contexts": [{"name": "edge", "context": {"cluster": "edge", "user": "sync"}}]}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    client = authority.client("sync")
    return {"ca.crt": authority.certificate.read_text(), "tls.crt": client.certificate.read_text(), "tls.key": client.key.read_text()}


@pytest.mark.parametrize("name", [cases.DEFAULT, "everything", "sidecar", "operator", "templates-pods"])
def test_lint_finds_nothing(helm: pathlib.Path, name: str) -> None:
    chart.lint(helm, cases.values(name))


@pytest.fixture(scope="module")
def renderings(rendered: cases.Renderings) -> cases.Renderings:
    if cases.RENEW:
        cases.record(rendered)
    return rendered


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_rendering_is_the_recorded_one(renderings: cases.Renderings, name: str) -> None:
    recorded = cases.recording(name).read_text().splitlines()
    assert cases.difference(cases.base_of(name), name, renderings) == recorded, "RENEW_CHART=1 records it anew: check the difference"


def test_every_recording_leads_back_to_the_default_one() -> None:
    """And that one to nothing."""
    assert sorted(cases.GOLDEN.iterdir()) == sorted(map(cases.recording, cases.NAMES))
    known = {cases.NOTHING}
    while found := {name for name in cases.NAMES if name not in known and cases.base_of(name) in known}:
        known |= found
    assert known == {cases.NOTHING, *cases.NAMES}


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_daemon_takes_the_rendered_settings(rendered: cases.Renderings, name: str, tmp_path: pathlib.Path,
                                                certificates: dict[str, str]) -> None:
    found = rendered[name]
    urls = pod.settings(found).get("HAPROXY_DATAPLANE_URL", "").split(",")
    contents = {**certificates, "kubeconfig": json.dumps(KUBECONFIG), "username": "admin", "password": "a password", "token": "atoken",
                "by-url": "".join(f"{url} somebody:something\n" for url in urls)}
    env = pod.unpacked(found, tmp_path, lambda path, _key: contents[path])
    # The values file has words where a certificate would be; that they arrive, the next test shows.
    for path, pem in certificates.items():
        for place in tmp_path.rglob(path):
            place.write_text(pem)
    done = subprocess.run([program(), "check-config"], env=check_env(**env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines()
                if "unencrypted over the network" not in line and (name != "default" or "gets requests without credentials" not in line)]
    assert warnings == []
    shown = dict(re.findall(r"^([A-Z0-9_]+)=(.*?)  # ", done.stdout, re.MULTILINE))
    # Nothing of what was rendered is unknown to it, and it understands what was meant.
    for setting, value in env.items():
        if setting.endswith(("_PERIOD", "_TIMEOUT", "_TTL")):
            assert seconds(shown[setting]) == seconds(value), setting
        elif setting == "INGRESS_SERVICES":
            assert [entry.strip() for entry in shown[setting].split(",")] == [
                entry if "=" in entry else f"{entry}={entry.partition('/')[2].partition(':')[0]}" for entry in value.split(",")]
        elif setting.isupper() and not setting.startswith(("HAPROXY_DATAPLANE_", "STATISTICS_", "ETCD_PASSWORD")):
            assert shown[setting] == value


def seconds(duration: str) -> int:
    """It shows 1h as 60m."""
    return sum(int(n) * {"s": 1, "m": 60, "h": 3600}.get(unit, 0) for n, unit in re.findall(r"(\d+)([smh]?)", duration))


def test_certificates_in_the_values_arrive(helm: pathlib.Path, certificates: dict[str, str]) -> None:
    values = {"env": {"haproxy": {"dataplaneURL": "https://haproxy:5556"}},
              "tls": {"ca": certificates["ca.crt"], "cert": certificates["tls.crt"], "key": certificates["tls.key"]}}
    files = pod.mounted(chart.render(helm, values), lambda path, key: f"not from the Secret of this release: {path}, {key}")
    assert files == {f"/etc/haproxy-k8s-sync/tls/{name}": pem for name, pem in certificates.items()}


def test_the_readme_lists_every_value() -> None:
    page = chart.CHART / "README.md"
    if cases.RENEW:
        page.write_text(readme.renewed(page.read_text()))
    assert readme.renewed(page.read_text()) == page.read_text(), "RENEW_CHART=1 writes its table anew"

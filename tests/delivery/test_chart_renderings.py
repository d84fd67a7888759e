"""Each values file: helm lint --strict, the recorded rendering, and the real daemon's check-config with what was rendered."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

from tests.harness.certificates import Authority
from tests.harness.daemon import clean_env, program

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


@pytest.mark.parametrize("name", cases.NAMES)
def test_lint_finds_nothing(helm: pathlib.Path, name: str) -> None:
    chart.lint(helm, cases.values(name))


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_rendering_is_the_recorded_one(helm: pathlib.Path, name: str) -> None:
    rendering = cases.recorded_part(chart.template(helm, cases.values(name)))
    recorded = cases.GOLDEN / f"{name}.yaml"
    if cases.RENEW:
        recorded.write_text(rendering)
    assert rendering == recorded.read_text(), "RENEW_CHART=1 records it anew: look at the difference"


def test_every_recording_has_its_values_file() -> None:
    assert sorted(path.stem for path in cases.GOLDEN.glob("*.yaml")) == cases.NAMES


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_daemon_takes_the_rendered_settings(helm: pathlib.Path, name: str, tmp_path: pathlib.Path,
                                                certificates: dict[str, str]) -> None:
    found = chart.render(helm, cases.values(name))
    urls = pod.settings(found).get("HAPROXY_DATAPLANE_URL", "").split(",")
    contents = {**certificates, "kubeconfig": json.dumps(KUBECONFIG), "username": "admin", "password": "a password", "token": "atoken",
                "by-url": "".join(f"{url} somebody:something\n" for url in urls)}
    env = pod.unpacked(found, tmp_path, lambda path, _key: contents[path])
    # The values file has words where a certificate would be; that they arrive, the next test shows.
    for path, pem in certificates.items():
        for place in tmp_path.rglob(path):
            place.write_text(pem)
    done = subprocess.run([program(), "check-config"], env=clean_env(**env), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = {line.split("=", 1)[0]: line.split("=", 1)[1].partition("  # ") for line in done.stdout.splitlines() if line[:1].isupper()}
    # What was rendered, and nothing of what was rendered is unknown to it.
    for setting, value in env.items():
        if setting.isupper() and not setting.startswith("HAPROXY_DATAPLANE_"):
            assert shown[setting][0] == value, f"{setting}: {shown[setting]}"


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

"""Values of an operator for a haproxy.cfg in a Secret: each has its effect, or is refused by its name with what to do."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from .chart import cases, helm as chart, pod, readme
from .test_chart_values import OPERATORS, merged, nested

URL = {"dataplane": {"url": "https://lb.example.com:5555/v3"}}
PATHS = "/etc/haproxy-operator/tls/"


def settings(helm: pathlib.Path, *values: chart.Values) -> dict[str, str]:
    return pod.settings(chart.render(helm, *values))


def keys(found: list[chart.Document]) -> dict[str, str]:
    """Path in the container -> the Secret's or ConfigMap's key."""
    return pod.mounted(found, lambda _path, key: key)


def sources(found: list[chart.Document]) -> list[chart.Document]:
    volumes = chart.only(found, "Deployment")["spec"]["template"]["spec"]["volumes"]
    return next(v["projected"]["sources"] for v in volumes if v["name"] == "tls")


def test_the_case_names_all_of_them() -> None:
    """So that the recorded rendering shows what becomes of each."""
    schema = readme.schema()
    known = {path for path, _ in readme.leaves(schema, schema) if path.startswith(OPERATORS)}
    given = yaml.safe_load(cases.values("operator").read_text())
    assert {path for path in known if readme.at(given, path) is None} == set()


@pytest.mark.parametrize(("path", "value", "setting", "wanted"), [
    ("watchNamespace", "edge", "CONFIG_SECRET_NAMESPACE", "edge"),
    ("secretName", "a", "CONFIG_SECRET_NAME", "a"),
    ("secretKey", "a.cfg", "CONFIG_SECRET_KEY", "a.cfg"),
    ("certsSecretNames", ["a"], "CONFIG_CERTS_SECRETS", "a"),
    ("dataplane.url", "https://a:1/v3/", "HAPROXY_DATAPLANE_URL", "https://a:1"),
    ("dataplane.insecure", True, "HAPROXY_DATAPLANE_INSECURE", "true"),
    ("controller.driftRemediate", False, "CONFIG_DRIFT", "report"),
    ("controller.driftRemediate", True, "CONFIG_DRIFT", "repair"),
    ("metrics.port", 1234, "METRICS_ADDRESS", ":1234"),
    ("probes.port", 1234, "PROBE_ADDRESS", ":1234"),
])
def test_each_alone(helm: pathlib.Path, path: str, value: Any, setting: str, wanted: str) -> None:
    got = settings(helm, nested(tuple(path.split(".")), value))
    assert got[setting] == wanted and got["CONFIG_SOURCE"] == "secret" and "INGRESS_NAMESPACE" not in got


def test_without_leader_election_there_is_none(helm: pathlib.Path) -> None:
    assert "LEADER_ELECT" not in settings(helm, URL, {"leaderElection": {"enabled": False}})


def test_its_ports_are_let_through(helm: pathlib.Path) -> None:
    policy = chart.only(chart.render(helm, URL, {"networkPolicy": {"enabled": True}}), "NetworkPolicy")
    assert [port["port"] for port in policy["spec"]["ingress"][0]["ports"]] == ["http", "metrics", "probes"]


def test_an_empty_one_is_none_of_them(helm: pathlib.Path) -> None:
    assert "CONFIG_SOURCE" not in settings(helm, {"watchNamespace": "", "certsSecretNames": [], "dataplane": {"tls": {"existingSecret": ""}}})


def test_zones_are_for_all(helm: pathlib.Path) -> None:
    found = chart.render(helm, {"zoneAntiAffinity": {"enabled": True}, "affinity": {"nodeAffinity": {"a": "b"}}})
    affinity = chart.only(found, "Deployment")["spec"]["template"]["spec"]["affinity"]
    term = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    assert affinity["nodeAffinity"] == {"a": "b"} and term["topologyKey"] == "topology.kubernetes.io/zone"
    assert "CONFIG_SOURCE" not in pod.settings(found)


@pytest.mark.parametrize(("tls", "names", "ca"), [
    ({"serverCA": {"configMap": {"name": "cm", "key": "root.pem"}}}, ["haproxy-operator-tls", "cm"], "root.pem"),
    ({"serverCA": {"secretKeyRef": {"name": "s"}}}, ["haproxy-operator-tls", "s"], "ca.crt"),
    ({"caCertPath": PATHS + "root.pem"}, ["haproxy-operator-tls"], "root.pem"),
    ({"tls": {"existingSecret": "mine"}}, ["mine"], "ca.crt"),
])
def test_where_the_ca_comes_from(helm: pathlib.Path, tls: dict[str, Any], names: list[str], ca: str) -> None:
    found = chart.render(helm, merged(URL, {"dataplane": tls}))
    assert [(part.get("secret") or part["configMap"])["name"] for part in sources(found)] == names
    assert keys(found)["/etc/haproxy-k8s-sync/tls/ca.crt"] == ca


def test_no_certificates_without_tls(helm: pathlib.Path) -> None:
    for values in ({"dataplane": {"url": "http://a:1"}}, merged(URL, {"dataplane": {"tls": {"existingSecret": ""}}})):
        assert not [path for path in keys(chart.render(helm, values)) if "/tls/" in path]


REFUSED = {
    "SPIRE and files": ({"spire": {"enabled": True}, "dataplane": {"tls": {"existingSecret": "a"}}},
                        "spire.enabled is true beside dataplane.tls.existingSecret: set either"),
    "Vault": ({"vault": {"enabled": True, "pki": {"secretName": "of-vault"}}}, "vault.enabled: this chart makes no objects of the Vault"),
    "Vault's Secret": ({"vault": {"enabled": True, "pki": {"secretName": "of-vault"}}}, "dataplane.tls.existingSecret (of-vault)"),
    "a CA of Vault": ({"dataplane": {"serverCA": {"vaultPKI": {"enabled": True}}}}, "by dataplane.serverCA.secretKeyRef.name"),
    "all Secrets": ({"rbac": {"namespaced": False}}, "rbac.namespaced is false"),
    "a path": ({"dataplane": {"clientCertPath": "/certs/tls.crt"}}, f"dataplane.clientCertPath is /certs/tls.crt, where nothing is mounted: name a "
                                                                    f"key of dataplane.tls.existingSecret as {PATHS}KEY"),
    "a path below": ({"dataplane": {"clientKeyPath": PATHS + "a/b"}}, "dataplane.clientKeyPath is"),
    "a path of the CA": ({"dataplane": {"caCertPath": "/certs/ca.crt"}}, "dataplane.caCertPath is /certs/ca.crt"),
    "a path beside a source": ({"dataplane": {"caCertPath": PATHS + "ca.crt", "serverCA": {"configMap": {"name": "a"}}}},
                               "but dataplane.serverCA says where the CA comes from"),
    "two CAs": ({"dataplane": {"serverCA": {"configMap": {"name": "a"}, "secretKeyRef": {"name": "b"}}}}, "set one of them"),
    "two names": ({"secretName": "a", "config": {"secret": {"name": "b"}}},
                  "config.secret.name and secretName are two names of one value and have different values: set one of them"),
    "two lists": ({"certsSecretNames": ["a"], "config": {"certsSecrets": ["b"]}}, "config.certsSecrets and certsSecretNames"),
    "a file": ({"secretName": "a", "config": {"source": "file", "file": {"configMap": "b"}}}, "config.source is file beside values"),
    "zones twice": ({"zoneAntiAffinity": {"enabled": True}, "affinity": {"podAntiAffinity": {"a": "b"}}}, "set one of them"),
    "an unknown one": ({"dataplane": {"retries": 3}}, "retries"),
    "one of Vault that is unknown": ({"vault": {"addr": "x"}}, "addr"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_counterpart_is_refused_by_its_name(helm: pathlib.Path, name: str) -> None:
    values, words = REFUSED[name]
    with pytest.raises(chart.Refused) as e:
        chart.template(helm, merged(URL, values) if name != "zones twice" else values)
    assert words in " ".join(str(e.value).split())


def test_both_names_with_one_value(helm: pathlib.Path) -> None:
    assert settings(helm, URL, {"secretName": "a", "config": {"secret": {"name": "a"}}})["CONFIG_SECRET_NAME"] == "a"


def test_own_values_beside_them(helm: pathlib.Path) -> None:
    """What the operator has no name for, and what it has one for that is not used."""
    got = settings(helm, URL, {"config": {"drift": "ignore", "allowLockout": True, "secret": {"key": "mine.cfg"}},
                               "leaderElection": {"leaseName": "mine"}})
    assert (got["CONFIG_DRIFT"], got["CONFIG_ALLOW_LOCKOUT"], got["CONFIG_SECRET_KEY"], got["LEASE_NAME"]) == ("ignore", "true", "mine.cfg", "mine")


def test_its_image_is_said(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({**URL, "image": {"repository": "ghcr.io/example/haproxy-operator"}}))
    assert "image.repository is the operator's (ghcr.io/example/haproxy-operator): set it to" in chart.template_with_notes(helm, values)[1]

"""What holds for the objects of every rendering: names that do not meet, rights that are in use, secrets that stay in the Secret."""

from __future__ import annotations

import base64
import pathlib
import re
import shutil
from typing import Any

import pytest
import yaml

from .chart import cases, helm as chart, pod

CLUSTERWIDE = {"ClusterRole", "ClusterRoleBinding"}
SLICES = ("discovery.k8s.io", "endpointslices", "", "list watch")
SERVICE = ("", "endpoints services", "", "list watch")
NODES = ("", "nodes", "", "list watch")
CREATE_LEASE = ("coordination.k8s.io", "leases", "", "create")


def lease(name: str) -> tuple[str, str, str, str]:
    return ("coordination.k8s.io", "leases", name, "get watch update")


def place(document: chart.Document) -> tuple[str, str, str]:
    kind, meta = document["kind"], document["metadata"]
    return kind, "" if kind in CLUSTERWIDE else meta["namespace"], meta["name"]


# --- names


def test_no_two_releases_share_an_object(helm: pathlib.Path) -> None:
    """In one namespace, and of one name in several: each for a Service in the same namespace, with a Lease there, too."""
    values = {"replicaCount": 2, "env": {"ingressServices": ["shop/web", "lb/web"], "emitEvents": True,
                                         "haproxy": {"username": "a", "password": "b"}},
              "leaderElection": {"leaseNamespace": "shop"}, "podDisruptionBudget": {"enabled": True}}
    # The last two are cut to 63 characters.
    releases = [("sync", "lb"), ("sync", "shop"), ("sync", "lb-sync"), ("other", "lb"), ("haproxy-k8s-sync", "lb"),
                ("r" * 52 + "1", "lb"), ("r" * 52 + "2", "lb")]
    seen: dict[tuple[str, str, str], tuple[str, str]] = {}
    for release, namespace in releases:
        found = chart.render(helm, values, release=release, namespace=namespace)
        places = [place(d) for d in found]
        assert len(set(places)) == len(places)
        for one in places:
            assert one not in seen, f"{one} is of {seen[one]} and of {(release, namespace)}"
            seen[one] = (release, namespace)
        settings = pod.settings(found)
        held = ("Lease", settings["LEASE_NAMESPACE"], settings["LEASE_NAME"])
        assert held not in seen, f"{held} is of {seen[held]} and of {(release, namespace)}"
        seen[held] = (release, namespace)
        assert all(len(d["metadata"]["name"]) <= 63 for d in found if d["kind"] in ("Deployment", "Service"))


def test_leases_of_releases_are_apart(helm: pathlib.Path) -> None:
    values = {"leaderElection": {"enabled": True}}
    held = {(s["LEASE_NAMESPACE"], s["LEASE_NAME"])
            for release, namespace in (("sync", "lb"), ("sync", "shop"), ("other", "lb"))
            for s in [pod.settings(chart.render(helm, values, release=release, namespace=namespace))]}
    assert held == {("lb", "sync-haproxy-k8s-sync"), ("shop", "sync-haproxy-k8s-sync"), ("lb", "other-haproxy-k8s-sync")}


def test_as_a_part_of_another_chart(helm: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Which hands down `global`, and asks for `enabled`."""
    (tmp_path / "Chart.yaml").write_text(
        "apiVersion: v2\nname: edge\nversion: 1.0.0\ndependencies:\n"
        "  - {name: haproxy-k8s-sync, version: '*', condition: haproxy-k8s-sync.enabled, repository: ''}\n")
    shutil.copytree(chart.CHART, tmp_path / "charts" / "haproxy-k8s-sync")
    for enabled, words in ((True, ["edge-haproxy-k8s-sync"]), (False, [])):
        (tmp_path / "values.yaml").write_text(f"global: {{region: x}}\nhaproxy-k8s-sync: {{enabled: {str(enabled).lower()}}}\n")
        found = chart.documents(chart.run(helm, "template", "edge", str(tmp_path), "--namespace", "lb"))
        assert [d["metadata"]["name"] for d in found if d["kind"] == "Deployment"] == words


def test_a_release_whose_name_has_dots_has_none_in_its_objects(helm: pathlib.Path) -> None:
    found = chart.render(helm, release="edge.v2")
    assert chart.only(found, "Deployment")["metadata"]["name"] == "edge-v2-haproxy-k8s-sync"


@pytest.mark.parametrize("name", cases.NAMES)
def test_labels_and_the_selector_belong_together(rendered: cases.Renderings, name: str) -> None:
    found = rendered[name]
    for document in found:
        labels = document["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == chart.RELEASE
        assert {"app.kubernetes.io/name", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"} <= labels.keys()
    spec = chart.only(found, "Deployment")["spec"]
    assert spec["selector"]["matchLabels"] == {"app.kubernetes.io/name": "haproxy-k8s-sync", "app.kubernetes.io/instance": chart.RELEASE}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(("given", "images"), [
    ({}, ["haproxy:3.2", "haproxy-k8s-sync:1"]),
    ({"global": {"imageRegistry": "r.example.com/a/"}}, ["r.example.com/a/haproxy:3.2", "r.example.com/a/haproxy-k8s-sync:1"]),
    ({"global": {"imageRegistry": "r.example.com"}, "image": {"registry": "localhost:5000"}}, ["r.example.com/haproxy:3.2", "localhost:5000/haproxy-k8s-sync:1"]),
    ({"global": {"imageRegistry": "r.example.com"}, "image": {"repository": "q.example.com/haproxy-k8s-sync"}},
     ["r.example.com/haproxy:3.2", "q.example.com/haproxy-k8s-sync:1"]),
], ids=["none", "of all", "of ours", "in the name"])
def test_where_images_come_from(helm: pathlib.Path, given: chart.Values, images: list[str]) -> None:
    found = chart.render(helm, given, {"image": {"tag": "1"}, "sidecar": {"enabled": True, "configMap": "first"}})
    spec = chart.only(found, "Deployment")["spec"]["template"]["spec"]
    assert {c["image"] for c in spec["initContainers"] + spec["containers"]} == set(images)
    spec = chart.only(chart.render(helm, given, {"image": {"tag": "1"}}), "Deployment")["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == images[1]


def test_namespace_and_annotations_are_everywhere(helm: pathlib.Path) -> None:
    everything = chart.render(helm, cases.values("everything"), {"commonAnnotations": {"a": "b"}, "namespaceOverride": "edge"})
    assert [place(d) for d in everything if d["metadata"].get("annotations", {}).get("a") != "b"] == []
    assert "lb" not in {place(d)[1] for d in everything} and not re.search(r"\blb\b", yaml.safe_dump_all(everything))


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_pod_runs_this_program(rendered: cases.Renderings, name: str) -> None:
    """By name, whatever program the image starts by itself."""
    sidecar = "HAPROXY_CONFIG_FILE" in pod.settings(rendered[name])
    program, = pod.container(rendered[name])["command"][-1:]
    assert program == ("/opt/haproxy-k8s-sync/haproxy-k8s-sync" if sidecar else "/usr/bin/haproxy-k8s-sync")
    for one in chart.only(rendered[name], "Deployment")["spec"]["template"]["spec"].get("initContainers", []):
        assert not sidecar or "command" in one


def test_another_command(helm: pathlib.Path) -> None:
    """A user who names one knows what is in the image, whatever the image is called."""
    found = chart.render(helm, {"command": ["/x", "run"], "args": ["--z"], "image": {"repository": "q/k8s-haproxy"}})
    assert (pod.container(found)["command"], pod.container(found)["args"]) == (["/x", "run"], ["--z"])


@pytest.mark.parametrize(("given", "limits"), [
    ({"requests": {"memory": "128Mi"}}, {"memory": "128Mi"}),
    ({"requests": {"memory": "0.5Gi", "cpu": 1}}, {"memory": "0.5Gi"}),
    ({"requests": {"memory": "64000000"}}, {"memory": "64Mi"}),
    ({"requests": {"memory": "128Mi"}, "limits": {"memory": "256Mi"}}, {"memory": "256Mi"}),
    ({"limits": {"cpu": "200m"}}, {"memory": "64Mi", "cpu": "200m"}),
], ids=str)
def test_a_part_of_the_resources(helm: pathlib.Path, given: chart.Values, limits: dict[str, str]) -> None:
    """The rest is the chart's, but never a limit below what is requested."""
    resources = pod.container(chart.render(helm, {"resources": given}))["resources"]
    assert resources["limits"] == limits
    assert resources["requests"] == {"cpu": "10m", "memory": "16Mi", **given.get("requests", {})}


# --- rights


def rights(found: list[chart.Document]) -> dict[str, list[tuple[str, str, str, str]]]:
    """Namespace, or "" for the cluster -> rules; each Role must be bound to the pod's account, and to nobody else."""
    deployment = chart.only(found, "Deployment")
    account = {"kind": "ServiceAccount", "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
               "namespace": deployment["metadata"]["namespace"]}
    bound = {(d["roleRef"]["kind"], place(d)[1], d["roleRef"]["name"]): d["subjects"] for d in found if d["kind"].endswith("Binding")}
    held = {}
    for role in (d for d in found if d["kind"] in ("Role", "ClusterRole")):
        assert bound.pop(place(role)) == [account]
        for rule in role["rules"]:
            assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}
        held[place(role)[1]] = [(" ".join(r["apiGroups"]), " ".join(r["resources"]), " ".join(r.get("resourceNames", [])),
                                 " ".join(r["verbs"])) for r in role["rules"]]
    assert bound == {}
    return held


ORDINARY = {"ingress-nginx": [SLICES, SERVICE], "": [NODES]}
OWN_LEASE = [lease("sync-haproxy-k8s-sync"), CREATE_LEASE]


def test_each_role_is_bound_to_the_account_of_the_pod(rendered: cases.Renderings) -> None:
    """Which rights they are, the recordings have."""
    assert rights(rendered[cases.DEFAULT]) == ORDINARY
    for name in cases.NAMES:
        rights(rendered[name])


def test_lease_and_service_in_one_namespace_are_one_role(helm: pathlib.Path) -> None:
    found = chart.render(helm, {"replicaCount": 2, "env": {"ingressNamespace": "lb"}})
    assert rights(found) == {"lb": [SLICES, SERVICE, *OWN_LEASE], "": [NODES]}


def test_a_dry_run_has_no_right_to_write_events(helm: pathlib.Path) -> None:
    assert rights(chart.render(helm, {"env": {"emitEvents": True, "dryRun": True}})) == ORDINARY


# --- secrets


def of_the_values(values: Any, path: str = "") -> dict[str, str]:
    """Every secret among the values, and every word of a credentials file."""
    if isinstance(values, dict):
        return {k: v for name, value in values.items() for k, v in of_the_values(value, f"{path}.{name}").items()}
    if path in (".env.haproxy.username", ".env.haproxy.password", ".env.haproxy.token", ".tls.key") and values:
        return {path: values}
    if path == ".credentials.file":
        return {f"{path} {word}": word for word in re.findall(r"\S+:\S+$|(?<=Bearer )\S+", values, re.MULTILINE) if "//" not in word}
    return {}


def test_no_secret_of_the_values_is_outside_of_the_secret(rendered: cases.Renderings) -> None:
    looked_for = 0
    for name in cases.NAMES:
        secrets = of_the_values(yaml.safe_load(cases.values(name).read_text()))
        found = rendered[name]
        elsewhere = yaml.safe_dump([d for d in found if d["kind"] != "Secret"], width=100000)
        said = rendered.notes(name)
        for path, secret in secrets.items():
            if secret == "admin":
                continue
            looked_for += 1
            for form in (secret.strip(), base64.b64encode(secret.encode()).decode()):
                assert form not in elsewhere and form not in said, f"{name}: {path}"
            inside = b"".join(base64.b64decode(v) for v in chart.only(found, "Secret")["data"].values())
            assert secret.encode() in inside, f"{name}: {path} is nowhere"
        if not secrets:
            assert "Secret" not in {d["kind"] for d in found}
    assert looked_for >= 8


@pytest.mark.parametrize("name", cases.NAMES)
def test_secrets_are_files_that_can_be_rotated(rendered: cases.Renderings, name: str) -> None:
    found = rendered[name]
    files = pod.mounted(found, lambda path, key: "")
    for setting, value in pod.settings(found).items():
        if setting.startswith("HAPROXY_DATAPLANE_") and setting.endswith("_FILE") or setting == "KUBECONFIG":
            assert value in files, f"{setting} names {value}, and nothing is mounted there"
        assert setting not in ("HAPROXY_DATAPLANE_USERNAME", "HAPROXY_DATAPLANE_PASSWORD", "HAPROXY_DATAPLANE_TOKEN")
    assert all("subPath" not in mount for mount in pod.container(found).get("volumeMounts", []))
    assert len(files) == sum(v.startswith("/etc/haproxy-k8s-sync/") for n, v in pod.settings(found).items() if not n.startswith("CONFIG_"))


# --- restarts


def annotations(helm: pathlib.Path, *values: chart.Values) -> dict[str, str]:
    return chart.only(chart.render(helm, *values), "Deployment")["spec"]["template"]["metadata"]["annotations"]


def test_only_what_the_daemon_does_not_read_again_restarts_it(helm: pathlib.Path) -> None:
    def given(password: str = "one", line: str = "http://a:1 u:p", period: str = "30s") -> dict[str, str]:
        return annotations(helm, {"env": {"resyncPeriod": period, "haproxy": {"username": "u", "password": password}},
                                  "credentials": {"file": line + "\n"}})
    before = given()
    assert given(password="two") == before
    assert given(line="http://a:1 u:another") == before
    assert given(line="# a remark\n\nhttp://a:1 Bearer x") == before
    assert given(period="31s") != before
    assert given(line="http://a:1 u:p\nhttp://b:1 u:p") != before
    assert given(line="http://b:1 u:p") != before


# --- pods


def test_one_replica_is_never_two(rendered: cases.Renderings) -> None:
    for name in cases.NAMES:
        found = rendered[name]
        spec = chart.only(found, "Deployment")["spec"]
        if spec["strategy"]["type"] != "Recreate" or spec["replicas"] > 1:
            settings = pod.settings(found)
            assert settings.get("LEADER_ELECT") == "true" or settings["DRY_RUN"] == "true" or "HAPROXY_CONFIG_FILE" in settings or settings.get("CONFIG_TARGET") == "etcd", name


@pytest.mark.parametrize(("given", "told"), [
    ("http://haproxy", "http://haproxy:80"), ("https://haproxy/", "https://haproxy:443"),
    ("https://haproxy:5556/v3/", "https://haproxy:5556"), ("https://haproxy/lb/v3", "https://haproxy:443/lb"), ("http://[2001:db8::7]", "http://[2001:db8::7]:80"),
    ("unix:/run/v3", "unix:/run/v3"), ("HTTP://haproxy:5555", "http://haproxy:5555"), ("Https://haproxy", "https://haproxy:443"), (["http://a", "http://b:1"], "http://a:80,http://b:1"),
    ("http://a:1, http://b:2", "http://a:1,http://b:2"), ("http://[2001:db8::7]:5555", "http://[2001:db8::7]:5555"),
], ids=str)
def test_urls_that_the_daemon_would_refuse_are_made_to_fit(helm: pathlib.Path, given: str | list[str], told: str) -> None:
    found = chart.render(helm, {"env": {"haproxy": {"dataplaneURL": given}}})
    assert pod.settings(found)["HAPROXY_DATAPLANE_URL"] == told


# --- what is said at the end


@pytest.mark.parametrize("name", cases.NAMES)
def test_the_notes_have_the_next_three_commands(rendered: cases.Renderings, name: str) -> None:
    found, said = rendered[name], rendered.notes(name)
    deployment, namespace = (chart.only(found, "Deployment")["metadata"][key] for key in ("name", "namespace"))
    port = pod.container(found)["ports"][0]["containerPort"]
    commands = [line.strip() for line in said.splitlines() if line.startswith("     kubectl ")]
    program = " ".join(pod.container(found)["command"]).removeprefix("/usr/bin/")
    assert commands == [
        f"kubectl --namespace {namespace} rollout status deployment/{deployment}",
        f"kubectl --namespace {namespace} exec deployment/{deployment} --container haproxy-k8s-sync -- {program} doctor",
        f"kubectl --namespace {namespace} port-forward deployment/{deployment} {port}",
    ]
    # Words that a template leaves behind.
    assert not re.search(r"<no value>|%!|map\[|\n\n\n", said), said
    settings = pod.settings(found)
    assert ("HAProxy runs in the same pod" in said) == ("HAPROXY_CONFIG_FILE" in settings)
    published = settings.get("CONFIG_TARGET") == "etcd"
    assert ("Each load balancer runs a daemon of its own" in said) == published == (" publishes " in said)
    assert ("It has no credentials" in said) == ("HAPROXY_CONFIG_FILE" not in settings and not published and not any(s.endswith(("USERNAME_FILE", "TOKEN_FILE", "CREDENTIALS_FILE")) for s in settings))
    assert ("a dry run" in said) == (settings.get("DRY_RUN") == "true")
    assert ("image.repository is not set" in said) == ('image: "haproxy-k8s-sync:' in rendered.text(name))


# --- what the release has besides


PAGE = {"ingress": {"enabled": True, "className": "haproxy", "hosts": ["sync.example.net"], "tls": [{"hosts": ["sync.example.net"], "secretName": "t"}]},
        "httpRoute": {"enabled": True, "parentRefs": [{"name": "gateway", "namespace": "gateways"}], "hostnames": ["sync.example.net"]}}


def test_the_page_is_reached_by_an_ingress_and_a_route(helm: pathlib.Path) -> None:
    found = chart.render(helm, PAGE)
    service = chart.only(found, "Service")
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]
    ingress, route = (chart.only(found, kind)["spec"] for kind in ("Ingress", "HTTPRoute"))
    backend = {"service": {"name": name, "port": {"name": port["name"]}}}
    assert ingress == {"ingressClassName": "haproxy", "tls": PAGE["ingress"]["tls"],
                       "rules": [{"host": "sync.example.net", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]}
    assert route == {"parentRefs": PAGE["httpRoute"]["parentRefs"], "hostnames": ["sync.example.net"],
                     "rules": [{"backendRefs": [{"name": name, "port": port["port"]}]}]}


@pytest.mark.parametrize("name", cases.NAMES)
def test_helm_test_runs_doctor_as_the_daemon_runs(rendered: cases.Renderings, name: str) -> None:
    """With its image, settings, files and rights; and neither the Service nor the Deployment takes that pod for theirs."""
    found = rendered[name]
    daemon = chart.only(found, "Deployment")["spec"]
    tests = [one for one in found if one["kind"] == "Pod"]
    assert (tests == []) == ("HAPROXY_CONFIG_FILE" in pod.settings(found))
    for one in tests:
        assert one["metadata"]["annotations"]["helm.sh/hook"] == "test"
        pod.assert_runs_once(one["spec"], ["doctor"], found)
        assert not daemon["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()


def test_objects_of_the_user_are_in_the_release(helm: pathlib.Path) -> None:
    own = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{{ .Release.Name }}-own"}}
    text = "apiVersion: v1\nkind: PriorityClass\nmetadata:\n  name: {{ .Release.Namespace }}\n"
    found = chart.render(helm, {"extraObjects": [own, text], "deploymentLabels": {"team": "edge"}, "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}})
    assert chart.only(found, "PriorityClass")["metadata"]["name"] == chart.NAMESPACE
    assert f"{chart.RELEASE}-own" in [one["metadata"]["name"] for one in found if one["kind"] == "Secret"]
    deployment = chart.only(found, "Deployment")
    assert deployment["metadata"]["labels"]["team"] == "edge" and "team" not in deployment["spec"]["template"]["metadata"]["labels"]
    assert pod.container(found)["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}

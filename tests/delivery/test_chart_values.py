"""What the schema and the templates refuse, and that they name it; defaults that are the daemon's; each of its settings in reach."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.harness.process import ROOT

from .chart import cases, helm as chart, pod, readme
from .once import version

# Kubernetes' own objects and the user's own names: anything goes.
FREE = {"commonLabels", "commonAnnotations", "strategy", "deploymentAnnotations", "podAnnotations", "podLabels", "podSecurityContext",
        "securityContext", "resources", "nodeSelector", "affinity", "dnsConfig", "serviceAccount.annotations", "lifecycle", "deploymentLabels",
        *(f"sidecar.{name}" for name in ("resources", "securityContext", "readinessProbe", "livenessProbe", "service.annotations"))}
# Names of an operator, which have no defaults here: test_chart_operator.py.
OPERATORS = ("watchNamespace", "secretName", "secretKey", "certsSecretNames", "dataplane", "spire", "vault", "controller", "metrics", "probes",
             "zoneAntiAffinity", "rbac.namespaced")
# Those of others have tests of their own.
ELSEWHERE = ("service", "ingress", "httpRoute", "serviceMonitor", "prometheusRule", "grafanaDashboard", "networkPolicy")


def of_the_daemon() -> dict[str, str | None]:
    """Each of its settings, with the default where it has one: from config.example.env."""
    found: dict[str, str | None] = {}
    for paragraph in (ROOT / "config.example.env").read_text().split("\n\n"):
        lines = re.findall(r"^#([A-Z0-9_]+)=(.*)$", paragraph, re.MULTILINE)
        names = [name for name, _ in lines]
        for name, value in lines:
            if not (name.endswith("_FILE") and name.removesuffix("_FILE") in names):
                found[name] = None if "\n# Not set: " in paragraph else value
    assert len(found) > 40
    return found


def closed(schema: dict[str, Any], part: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every object whose names the chart knows."""
    yield path
    for name, inner in part["properties"].items():
        inner = readme.resolved(schema, inner)
        # A parent chart's `global` has what other charts know, too.
        if "properties" in inner and name not in (*ELSEWHERE, "global"):
            yield from closed(schema, inner, (*path, name))


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    return {path[0]: nested(path[1:], value)} if path else value


def merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    both = {**a, **b}
    for name in a.keys() & b.keys():
        if isinstance(a[name], dict) and isinstance(b[name], dict):
            both[name] = merged(a[name], b[name])
    return both


def test_a_typo_is_refused_by_its_name_wherever_it_is(helm: pathlib.Path) -> None:
    schema = readme.schema()
    values: dict[str, Any] = {}
    typos = {}
    for number, path in enumerate(closed(schema, schema)):
        typos[path] = f"typo{number}"
        values = merged(values, nested(path, {f"typo{number}": 1}))
    assert len(typos) > 12
    with pytest.raises(chart.Refused) as e:
        chart.template(helm, values)
    assert [path for path, typo in typos.items() if f"'{typo}'" not in str(e.value)] == []


def test_every_object_of_the_schema_is_closed_or_known_to_be_free() -> None:
    schema = readme.schema()
    for path in closed(schema, schema):
        part = schema
        for name in path:
            part = readme.resolved(schema, part["properties"][name])
        assert part["additionalProperties"] is False, path
    open_ones = {path for path, leaf in readme.leaves(schema, schema)
                 if leaf.get("type") == "object" and path.split(".")[0] not in ELSEWHERE}
    assert open_ones == FREE


def test_schema_and_values_know_the_same_names() -> None:
    schema = readme.schema()
    known = {path for path, _ in readme.leaves(schema, schema)}
    given = readme.defaults()

    def paths(values: Any, path: str = "") -> Iterator[str]:
        if isinstance(values, dict) and path not in FREE and not any(path == k or path.startswith(f"{k}.") for k in known):
            for name, value in values.items():
                yield from paths(value, f"{path}.{name}" if path else name)
        else:
            yield path

    own = set(paths(given))
    assert own - known == set()
    # What a probe may say besides; what only a parent chart says.
    assert {path for path in known - own if path.split(".")[0] not in ELSEWHERE and not path.startswith(OPERATORS)} == {"enabled"} | {
        f"{probe}.{name}" for probe in ("livenessProbe", "readinessProbe", "startupProbe")
        for name in ("failureThreshold", "successThreshold")}


@pytest.mark.parametrize(("values", "words"), [
    ({"replicaCount": "two"}, ["/replicaCount", "integer"]),
    ({"env": {"nodeMode": "some"}}, ["/env/nodeMode", "'endpoints'"]),
    ({"env": {"dryRun": "yes"}}, ["/env/dryRun"]),
    ({"env": {"maxLossPercent": 101}}, ["/env/maxLossPercent"]),
    ({"env": {"listenAddress": "8080"}}, ["/env/listenAddress"]),
    ({"env": {"ingressServices": [{"namespace": "a", "name": "b"}]}}, ["/env/ingressServices/0", "'name'"]),
    ({"env": {"haproxy": {"dataplaneURL": "haproxy:5555"}}}, ["/env/haproxy/dataplaneURL"]),
    ({"env": {"haproxy": {"dataplaneURL": ["http://a:5555", "b"]}}}, ["/env/haproxy/dataplaneURL/1"]),
    ({"env": {"haproxy": {"backendPort": 70000}}}, ["/env/haproxy/backendPort"]),
    ({"env": {"haproxy": {"sendProxyV2": "on"}}}, ["/env/haproxy/sendProxyV2"]),
    ({"env": {"haproxy": {"password": ["a"]}}}, ["/env/haproxy/password", "string"]),
    ({"prometheusRule": {"runbookUrl": "docs/metrics-and-alerts.md"}}, ["/prometheusRule/runbookUrl"]),
    ({"imagePullSecrets": [1]}, ["/imagePullSecrets/0"]),
    ({"command": "haproxy-k8s-sync"}, ["/command", "array"]),
    ({"livenessProbe": {"path": "/health"}}, ["/livenessProbe/path", "'/livez'"]),
    ({"image": {"digest": "sha256:abc"}}, ["/image/digest"]),
    ({"config": {"source": "etcd"}}, ["/config/source", "'services'"]),
    ({"config": {"target": "file"}}, ["/config/target", "'etcd'"]),
    ({"etcd": {"endpoints": ["etcd:2379"]}}, ["/etcd/endpoints/0"]),
    ({"etcd": {"path": "/haproxy/"}}, ["/etcd/path"]),
    ({"podDisruptionBudget": {"minAvailable": "half"}}, ["/podDisruptionBudget/minAvailable"]),
], ids=lambda v: "" if isinstance(v, list) else re.sub(r"\W+", "-", str(v)).strip("-"))
def test_a_value_that_cannot_be_is_refused_by_its_path(helm: pathlib.Path, values: chart.Values, words: list[str]) -> None:
    with pytest.raises(chart.Refused) as e:
        chart.template(helm, values)
    for word in words:
        assert word in str(e.value)


# What those below that have etcd in their name differ from.
PUBLISHES = {"config": {"source": "secret", "target": "etcd"}, "etcd": {"endpoints": ["http://etcd:2379"]}}
SIDECAR = {"sidecar": {"enabled": True, "configMap": "first"}}
IMPOSSIBLE = {
    "a password that is a number": (nested(("env", "haproxy", "password"), 123), "env.haproxy.password is a number: put it in quotes"),
    "a tag that is a number": ({"image": {"tag": 1.10}}, "image.tag is a number: put it in quotes"),
    "the Go controller's image": ({"image": {"repository": "registry.example.com/of/k8s-haproxy", "tag": "latest"}},
                                  "the Go controller's image: set it to the image of haproxy-k8s-sync"),
    "never compared": (nested(("env", "resyncPeriod"), "0"), "env.resyncPeriod is 0: set it to a duration from 1s to 24h, as it cannot be"),
    "a space before the unit": (nested(("env", "drainTimeout"), "30 s"), "env.drainTimeout is 30 s: set it to a duration from 0s to 24h: such as 30s"),
    "no unit": (nested(("env", "resyncPeriod"), 30), "env.resyncPeriod is 30: set it to a duration from 1s to 24h: 30s if these are seconds"),
    "days": (nested(("env", "parkTTL"), "2d"), "env.parkTTL is 2d: set it to a duration from 0s to 720h: 48h, as there is no unit for days"),
    "a render that may take a day": (nested(("templates", "timeout"), "24h"), "templates.timeout is 24h: set it to a duration from 0s to 1h"),
    "a page without a host": (nested(("ingress", "enabled"), True), "ingress.hosts is empty"),
    "a page without a Gateway": (nested(("httpRoute", "enabled"), True), "httpRoute.parentRefs is empty"),
    "a page without its Service": ({"service": {"enabled": False}, "ingress": {"enabled": True, "hosts": ["a"]}}, "service.enabled is false"),
    "compared too rarely": (nested(("env", "resyncPeriod"), "24h1s"), "env.resyncPeriod is 24h1s: set it to a duration from 1s to 24h"),
    "drained too long": (nested(("env", "drainTimeout"), "25h"), "env.drainTimeout is 25h: set it to a duration from 0s to 24h"),
    "parked too long": (nested(("env", "parkTTL"), "721h"), "env.parkTTL is 721h: set it to a duration from 0s to 720h"),
    "a Lease without rights": ({"replicaCount": 2, "rbac": {"create": False}}, "set leaderElection.enabled to true, or use one replica"),
    "user without password": ({"env": {"haproxy": {"username": "admin"}}}, "env.haproxy.username is set without env.haproxy.password"),
    "password without user": ({"env": {"haproxy": {"password": "x"}}}, "env.haproxy.password is set without env.haproxy.username"),
    "token and user": ({"env": {"haproxy": {"username": "a", "password": "b", "token": "c"}}}, "either the token or user name and password"),
    "credentials in the URL": ({"env": {"haproxy": {"dataplaneURL": "http://admin:x@haproxy:5555"}}}, "would be shown in a ConfigMap"),
    "credentials in one of the URLs": ({"env": {"haproxy": {"dataplaneURL": ["http://b:1", "http://admin:x@a:5555"]}}},
                                       "would be shown in a ConfigMap"),
    "a password in the environment": ({"extraEnv": [{"name": "HAPROXY_DATAPLANE_PASSWORD", "value": "x"}]}, "shown in the Deployment"),
    "headers in the environment": ({"extraEnv": [{"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": "a=b"}]}, "use valueFrom.secretKeyRef"),
    "own and existing credentials": ({"credentials": {"existingSecret": "a"}, "env": {"haproxy": {"token": "b"}}},
                                     "credentials.existingSecret is set beside credentials in the values"),
    "existing and own file": ({"credentials": {"existingSecret": "a", "file": "b"}},
                              "credentials.existingSecret is set beside credentials in the values"),
    "half a pair of keys": ({"credentials": {"existingSecret": "a", "usernameKey": ""}}, "usernameKey and passwordKey: set both or none"),
    "a Secret of which nothing is used": ({"credentials": {"existingSecret": "a", "usernameKey": "", "passwordKey": ""}},
                                          "none of its keys"),
    "a key of no Secret": ({"credentials": {"tokenKey": "a"}}, "credentials.existingSecret, which is not set"),
    "the list beside the one Service": ({"env": {"ingressServices": ["a/b"], "ingressServiceName": "c", "haproxy": {"backendName": "d"}}},
                                        "env.ingressServices is set beside env.haproxy.backendName, env.ingressServiceName"),
    "one port for several": ({"env": {"ingressServices": ["a/b", "a/c"], "haproxy": {"backendPort": 80}}},
                             "env.ingressServices has several entries"),
    "an entry that is none": ({"env": {"ingressServices": ["web"]}}, '"web" is no namespace/service[:port][=backend]'),
    "two that write": ({"replicaCount": 2, "leaderElection": {"enabled": False}}, "all of them would write to HAProxy"),
    "two that remember in one place": (merged(nested(("env", "dryRun"), True), {"replicaCount": 2, "leaderElection": {"enabled": False}, "config": {
        "source": "secret", "stateClaim": "a"}}), "use one replica, or leave leaderElection.enabled out"),
    "a memory of several HAProxies": (merged(SIDECAR, {"replicaCount": 2, "config": {"source": "secret", "stateClaim": "a"}}),
                                      "use one replica, or leave config.stateClaim out"),
    "two that write for a while": ({"strategy": {"type": "RollingUpdate"}}, "the old and the new pod would both write"),
    "both budgets": ({"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}, "podDisruptionBudget.minAvailable and maxUnavailable"),
    "a budget nothing may leave": ({"podDisruptionBudget": {"enabled": True, "minAvailable": 1}}, "no node with it could be drained"),
    "probes of loopback": ({"env": {"listenAddress": "127.0.0.1:8080"}}, "where no probe reaches the pod: leave the address out (:8080)"),
    "own and existing certificates": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "tls": {"existingSecret": "a", "ca": "b"}},
                                      "tls.existingSecret is set beside tls.ca, cert or key"),
    "two CAs": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "tls": {"caSecret": "a", "caConfigMap": "b"}},
                "tls.caSecret, caConfigMap and ca: set one of them"),
    "a certificate without its key": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "tls": {"cert": "a"}},
                                      "tls.cert and tls.key: set both or none"),
    "a certificate without the key's key": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"),
                                             "tls": {"existingSecret": "a", "keyKey": ""}}, "tls.certKey and keyKey: set both or none"),
    "a CA without its key": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "tls": {"caSecret": "a", "caKey": ""}},
                             "tls.caKey is empty"),
    "a file and no volume": ({"config": {"source": "file"}}, "set config.file.configMap to a ConfigMap or config.file.volume to one of"),
    "a file in two volumes": ({"config": {"source": "file", "file": {"configMap": "a", "volume": "b"}}}, "not both"),
    "Secrets beside a file": ({"config": {"source": "file", "certsSecrets": ["a"], "file": {"volume": "b"}}}, "config.certsSecrets is set"),
    "templates from nowhere": ({"config": {"source": "template"}}, "set templates.configMap.name to a ConfigMap, templates.volume to one of"),
    "templates from two places": ({"config": {"source": "template"}, "templates": {"configMap": {"name": "a"}, "volume": "b"}}, "not both"),
    "templates from two objects": ({"config": {"source": "template"}, "templates": {"configMap": {"name": "a"}, "pods": {"namespace": "b"}}}, "not both"),
    "pods of no templates": ({"config": {"source": "template"}, "templates": {"volume": "b", "pods": {"namespaces": ["a"]}}}, "templates.pods.namespace is not"),
    "templates that nothing reads": ({"templates": {"configMap": {"name": "a"}}}, "templates is set, but config.source is not template"),
    "targets beside HAProxies": ({"config": {"source": "template"}, "templates": {"volume": "b", "targetsNamespace": "lb"}, "env": {"haproxy": {"dataplaneURL": "http://a:1"}}},
                                 "templates.targetsNamespace is set beside env.haproxy.dataplaneURL"),
    "Secrets beside templates": ({"config": {"source": "template", "certsSecrets": ["a"]}, "templates": {"volume": "b"}}, "have the set watch those Secrets"),
    "templates to begin with": ({"sidecar": {"enabled": True}, "config": {"source": "template"}, "templates": {"volume": "b"}},
                                "sidecar.configMap is empty"),
    "a HAProxy without a beginning": ({"sidecar": {"enabled": True}}, "sidecar.configMap is empty"),
    "a Secret elsewhere to begin with": ({"sidecar": {"enabled": True}, "config": {"source": "secret", "secret": {"namespace": "a"}}},
                                         "sidecar.configMap is empty"),
    "a beginning of no HAProxy": ({"sidecar": {"configMap": "a"}}, "there is no HAProxy in the pod"),
    "two ways to HAProxy": (merged(SIDECAR, nested(("env", "haproxy", "dataplaneURL"), "http://a:1")), "beside env.haproxy.dataplaneURL"),
    "credentials of no API": (merged(SIDECAR, {"credentials": {"existingSecret": "a"}}), "beside credentials or certificates of a Data Plane API"),
    "a leader of several HAProxies": (merged(SIDECAR, {"leaderElection": {"enabled": True}}), "all of them have to write"),
    "a policy for two": (merged(SIDECAR, {"networkPolicy": {"enabled": True}}), "apply one of your own"),
    "a port for two": (merged(SIDECAR, {"sidecar": {"ports": [{"name": "web", "containerPort": 8080}]}}), "8080 is the daemon's own"),
    "a name for two": (merged(SIDECAR, {"sidecar": {"ports": [{"name": "http", "containerPort": 80}]}}), "call it otherwise"),
    "SPIFFE without https": ({"spiffe": {"enabled": True}}, "spiffe.enabled is true, but not every HAProxy has an https URL"),
    "SPIFFE with one URL of http": ({**nested(("env", "haproxy", "dataplaneURL"), ["https://a:1", "http://b:1"]), "spiffe": {"enabled": True}},
                                    "spiffe.enabled is true, but not every HAProxy has an https URL"),
    "SPIFFE beside files": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "spiffe": {"enabled": True}, "tls": {"caSecret": "a"}},
                            "spiffe.enabled is true beside tls"),
    "SPIFFE and nothing verified": ({"env": {"haproxy": {"dataplaneURL": "https://a:1", "dataplaneInsecure": True}}, "spiffe": {"enabled": True}},
                                    "spiffe.enabled is true beside tls"),
    "SPIFFE from nowhere": ({**nested(("env", "haproxy", "dataplaneURL"), "https://a:1"), "spiffe": {"enabled": True, "csiDriver": ""}},
                            "spiffe.csiDriver and hostPath are empty"),
    "a peer ID without SPIFFE": ({"spiffe": {"peerID": "spiffe://a/b"}}, "spiffe.peerID is set, but spiffe.enabled is not true"),
    "annotated Services with nothing before": ({"config": {"source": "services"}}, "config.source is services: set config.file.configMap"),
    "annotated Services with files": ({"config": {"source": "services", "file": {"configMap": "a", "filesDir": "."}}}, "config.source is services, where annotations name certificates"),
    "values of no annotated Services": ({"annotatedServices": {"ports": [80]}}, "annotatedServices is set, but config.source is not services"),
    "etcd without members": ({"config": {"source": "secret", "target": "etcd"}}, "etcd.endpoints is empty"),
    "nothing for etcd": (nested(("config", "source"), ""), "config.source is empty: set what is published there"),
    "servers in etcd": (nested(("env", "ingressServices"), ["a/b"]), "config.target is etcd beside env.ingressServices"),
    "a Service's servers in etcd": (nested(("env", "haproxy", "backendName"), "a"), "config.target is etcd beside env.ingressServices"),
    "etcd and a HAProxy": (nested(("env", "haproxy", "dataplaneURL"), "http://a:1"), "each load balancer has a daemon of its own; leave them out"),
    "etcd and pods": ({"config": {"source": "template"}, "templates": {"volume": "b", "targetsNamespace": "lb"}}, "each load balancer has a daemon of its own; leave them out"),
    "etcd and a HAProxy beside": (SIDECAR, "config.target is etcd beside sidecar.enabled"),
    "etcd and credentials of a HAProxy": ({"credentials": {"existingSecret": "a"}}, "etcd.existingSecret has those for etcd"),
    "etcd and certificates of a HAProxy": ({"tls": {"caSecret": "a"}}, "etcd.existingSecret has those for etcd"),
    "private keys in etcd": ({"config": {"source": "services"}, "annotatedServices": {"secretsOf": ["a"]}}, "private keys are never published"),
    "a user of etcd without password": (nested(("etcd", "user"), "a"), "etcd.user and passwordKey: set both or none"),
    "half a pair for etcd": ({"etcd": {"existingSecret": "a", "certKey": "tls.crt"}}, "etcd.certKey and keyKey: set both or none"),
    "a Secret for etcd of which nothing is used": ({"etcd": {"existingSecret": "a"}}, "etcd.existingSecret is set, but none of its keys"),
    "keys of no Secret for etcd": ({"etcd": {"caKey": "ca.crt"}}, "etcd.existingSecret, which is not set"),
    "a password of etcd in the environment": ({"extraEnv": [{"name": "ETCD_PASSWORD", "value": "x"}]}, "ETCD_PASSWORD would be shown in the Deployment"),
    "etcd that nothing uses": ({"config": {"target": ""}}, "etcd is set, but config.target is not etcd"),
    "TLS without https": ({"tls": {"caSecret": "a"}}, "env.haproxy.dataplaneURL has no https URL"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_work_together_is_refused_with_what_to_do(helm: pathlib.Path, name: str) -> None:
    values, words = IMPOSSIBLE[name]
    if "etcd" in name and "members" not in name:
        values = merged(PUBLISHES, values)
    with pytest.raises(chart.Refused) as e:
        chart.template(helm, values)
    assert words in str(e.value)


def test_whatever_is_taken_away_by_null_is_as_if_it_were_empty(helm: pathlib.Path) -> None:
    """--set x=null takes the chart's own default away."""
    schema = readme.schema()
    needed = {"image.repository", "kubeconfig.key", "enabled"}
    values: dict[str, Any] = {}
    for path, leaf in readme.leaves(schema, schema):
        if path not in needed and path.split(".")[0] not in ELSEWHERE and not path.endswith(".enabled") and not path.startswith(OPERATORS):
            values = merged(values, nested(tuple(path.split(".")), None))
    found = chart.render(helm, values, {"podDisruptionBudget": {"enabled": True}})
    assert "<nil>" not in yaml.safe_dump_all(found)
    assert pod.settings(found) == {"INGRESS_NAMESPACE": "ingress-nginx", "INGRESS_SERVICE_NAME": "ingress-nginx"}
    assert chart.only(found, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    chart.render(helm, {"livenessProbe": None, "readinessProbe": None, "startupProbe": None, "strategy": None, "resources": None})


def test_all_mistakes_are_reported_at_once(helm: pathlib.Path) -> None:
    with pytest.raises(chart.Refused) as e:
        chart.template(helm, {"env": {"haproxy": {"username": "admin"}}, "strategy": {"type": "RollingUpdate"}, "tls": {"cert": "a"}})
    for words in ("without env.haproxy.password", "would both write", "tls.cert and tls.key", "no https URL"):
        assert words in str(e.value)


# --- the daemon's own table


OF_ANNOTATED = {name for name in of_the_daemon() if name.startswith("SERVICES_")} | {
    "ANNOTATION_PREFIX", "FOREIGN_PROTECTION", "HOST_OWNERSHIP", "SHARED_HOSTS", "TRUSTED_PROXIES"}
OF_ETCD = {name for name in of_the_daemon() if name.startswith("ETCD_")}
BY_EXTRA_ENV = {"STATISTICS_PASSWORD"}
# What is no setting of `env`: how it is given instead is for the tests below. The sockets are those of a HAProxy in the pod.
BY_OTHER_VALUES = {name for name in of_the_daemon() if name.startswith(("CONFIG_", "TEMPLATE_", "LEADER_", "LEASE_", "SPI"))} | {
    "HAPROXY_DATAPLANE_CREDENTIALS_FILE", "HAPROXY_DATAPLANE_CA_FILE", "HAPROXY_DATAPLANE_CERT_FILE", "HAPROXY_DATAPLANE_KEY_FILE", "KUBECONFIG",
    "STATE_DIR", "HOST_OWNERS_CONFIGMAP", "METRICS_ADDRESS", "PROBE_ADDRESS", "HAPROXY_CONFIG_FILE", "HAPROXY_MASTER_SOCKET"} | OF_ANNOTATED | OF_ETCD | BY_EXTRA_ENV
# What is mounted into a pod is always followed.
NOT_IN_A_CLUSTER = {"CONFIG_FILE_WATCH", "HAPROXY_STATS_SOCKET", "HAPROXY_BIN", "HAPROXY_ENVIRONMENT_FILE", "HAPROXY_CHECK_FILES", "HAPROXY_STORAGE_DIR",
                    "HAPROXY_RELOAD_COMMAND"}
# OpenTelemetry has ways of its own to bring these into a pod; extraEnv is another (docs/traces.md).
NOT_IN_A_CLUSTER |= {name for name in of_the_daemon() if name.startswith("OTEL_")}
ACRONYMS = {"Url": "URL", "Ttl": "TTL"}
# The Go controller's names.
SHORTER = {"HAPROXY_DATAPLANE_USERNAME": "env.haproxy.username", "HAPROXY_DATAPLANE_PASSWORD": "env.haproxy.password",
           "HAPROXY_DATAPLANE_TOKEN": "env.haproxy.token"}


def camel(setting: str) -> str:
    first, *others = setting.lower().split("_")
    return first + "".join(ACRONYMS.get(word.capitalize(), word.capitalize()) for word in others)


def value_of(setting: str) -> str:
    """INGRESS_SERVICE_NAME -> env.ingressServiceName, HAPROXY_DATAPLANE_URL -> env.haproxy.dataplaneURL."""
    if setting in SHORTER:
        return SHORTER[setting]
    where, rest = ("env.haproxy", setting.removeprefix("HAPROXY_")) if setting.startswith("HAPROXY_") else ("env", setting)
    return f"{where}.{camel(rest)}"


def test_each_setting_has_the_value_that_its_name_promises_and_no_other_is_there() -> None:
    schema = readme.schema()
    there = {path for path, _ in readme.leaves(schema, schema) if path.startswith("env.")}
    assert there == {value_of(s) for s in of_the_daemon().keys() - BY_OTHER_VALUES - NOT_IN_A_CLUSTER}


def config_value_of(setting: str) -> str:
    """CONFIG_ALLOW_LOCKOUT -> config.allowLockout, CONFIG_SECRET_KEY -> config.secret.key."""
    rest = setting.removeprefix("CONFIG_")
    if rest.startswith("SECRET_"):
        return "config.secret." + rest.removeprefix("SECRET_").lower()
    if rest in ("FILE", "FILES_DIR"):
        return {"FILE": "config.file.path", "FILES_DIR": "config.file.filesDir"}[rest]
    return f"config.{camel(rest)}"


def test_each_setting_of_a_whole_configuration_has_its_value_and_default() -> None:
    schema, given = readme.schema(), readme.defaults()
    settings = {name: default for name, default in of_the_daemon().items() if name.startswith("CONFIG_") and name not in NOT_IN_A_CLUSTER}
    there = {path for path, _ in readme.leaves(schema, schema) if path.startswith("config.")}
    assert there == {config_value_of(s) for s in settings} | {"config.stateClaim", "config.file.configMap", "config.file.volume"}
    different = {s for s, default in settings.items() if default is not None and as_text(readme.at(given, config_value_of(s))) != default}
    assert different == {"CONFIG_SOURCE"}, "it is off by an empty value"


def test_each_setting_of_templates_has_its_value_and_default() -> None:
    given = readme.defaults()
    settings = {name: default for name, default in of_the_daemon().items() if name.startswith("TEMPLATE_") and default is not None}
    assert {name: as_text(readme.at(given, f"templates.{name.removeprefix('TEMPLATE_').lower()}")) for name in settings} == settings and settings


def test_each_setting_of_annotated_services_has_its_value_and_default() -> None:
    schema, given = readme.schema(), readme.defaults()
    def value(name: str) -> str:
        return f"annotatedServices.{camel(name.removeprefix('SERVICES_'))}"
    there = {path for path, _ in readme.leaves(schema, schema) if path.startswith("annotatedServices.")}
    assert there == {value(name) for name in OF_ANNOTATED | {"CLUSTER_NAME"}} | {"annotatedServices.secretsOf"}, "the last one is rights alone"
    settings = {name: default for name, default in of_the_daemon().items() if name in OF_ANNOTATED and default is not None}
    assert {name: as_text(readme.at(given, value(name))) for name in settings} == settings and len(settings) == 6


def test_each_setting_of_etcd_has_its_value_and_default() -> None:
    schema, given = readme.schema(), readme.defaults()
    def value(name: str) -> str:
        return "etcd." + re.sub("_(file)?", "", name.removeprefix("ETCD_").lower()) + ("Key" if name.endswith("_FILE") or name == "ETCD_PASSWORD" else "")
    there = {path for path, _ in readme.leaves(schema, schema) if path.startswith("etcd.")}
    assert there == {value(name) for name in OF_ETCD} | {"etcd.existingSecret"}
    settings = {name: default for name, default in of_the_daemon().items() if name in OF_ETCD and default is not None}
    assert settings == {"ETCD_PATH": readme.at(schema, "properties.etcd.properties.path.description").split("empty: ")[1]}
    assert given["etcd"]["path"] == "", "it is the daemon's by an empty value"


def test_every_setting_reaches_the_daemon(rendered: cases.Renderings) -> None:
    reached: set[str] = set()
    for name in cases.NAMES:
        found = rendered[name]
        extra = {e["name"] for e in yaml.safe_load(cases.values(name).read_text()).get("extraEnv", [])}
        reached |= pod.settings(found).keys() - extra
    files = {"ETCD_PASSWORD_FILE", "HAPROXY_DATAPLANE_USERNAME_FILE", "HAPROXY_DATAPLANE_PASSWORD_FILE", "HAPROXY_DATAPLANE_TOKEN_FILE"}
    assert files <= reached
    assert {s.removesuffix("_FILE") if s in files else s for s in reached} == of_the_daemon().keys() - NOT_IN_A_CLUSTER - BY_EXTRA_ENV


def test_each_value_arrives_as_the_setting_of_its_name(rendered: cases.Renderings) -> None:
    given = yaml.safe_load(cases.values("settings").read_text())
    there = pod.settings(rendered["settings"])
    arrived = {s for s in of_the_daemon().keys() - BY_OTHER_VALUES - NOT_IN_A_CLUSTER if readme.at(given, value_of(s)) is not None}
    assert len(arrived) > 30
    for setting in arrived:
        value = readme.at(given, value_of(setting))
        # What a user writes as no is false to YAML.
        wanted = "no" if setting == "ADOPT_SERVERS" and value is False else as_text(value)
        assert there[setting] == wanted, setting


def as_text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)


def test_the_defaults_are_the_daemons_own() -> None:
    given = readme.defaults()
    different = {}
    for setting, default in of_the_daemon().items():
        if setting in BY_OTHER_VALUES | NOT_IN_A_CLUSTER or default is None:
            continue
        text = as_text(readme.at(given, value_of(setting)))
        if text != default and not (setting in ("INGRESS_NAMESPACE", "INGRESS_SERVICE_NAME", "EMIT_EVENTS") and text == ""):
            different[setting] = (text, default)
    # In a container nothing speaks against it.
    assert different == {"SECCOMP": ("true", "false")}


def test_versions_are_those_of_the_project() -> None:
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (version(), version())

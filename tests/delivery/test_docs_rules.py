"""The rules of test_docs.py can fail: each refuses what is wrong, and for that reason."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness.haproxy import haproxy_binary

from . import docs_commands, docs_files, docs_helm
from .docs_blocks import DOCS, Block, anchor, blocks, part_of, split
from .docs_commands import Wrong
from .docs_names import trouble_with_message, trouble_with_source, trouble_with_span
from .docs_files import Tools
from .test_docs import RULES, check_example

BAD_BLOCKS = [
    ("sh", "make demmo\n", "no target"),
    ("sh", "make bench ONLLY=rolling\n", "no variable"),
    ("sh", "kubectl apply -f deploy/deploymnt.yaml\n", "there is no"),
    ("sh", "kubectl aply -f deploy/rbac.yaml\n", "no kubectl"),
    ("sh", "kubectl apply --forcibly -f deploy/rbac.yaml\n", "forcibly"),
    ("sh", "kubectl -n a exec deploy/b -- haproxy-k8s-sync plam\n", "knows no 'plam'"),
    ("sh", "kubectl -n a exec deployment/b -- /opt/haproxy-k8s-sync/ld.so /opt/haproxy-k8s-sync/haproxy-k8s-sync plan\n", "not how the chart runs it"),
    ("sh", "haproxy-k8s-sync explian node-7\n", "knows no 'explian'"),
    ("sh", "haproxy-k8s-sync plan --colour=never\n", "no flag --colour"),
    ("sh", "helm upgrade --instal x charts/haproxy-k8s-sync\n", "no flag --instal"),
    ("sh", "helm upgrade --install x charts/haproxy-k8s-sync --set env.dryrun=true\n", "dryrun"),
    ("sh", "helm upgrade --install traefik traefik --repo https://example.net/charts\n", "repository"),
    ("sh", "systemctl restrat haproxy\n", "restrat"),
    ("sh", "apt-get install haproxi\n", "haproxi"),
    ("sh", "curl --silentt http://x/\n", "no flag --silentt"),
    ("sh", "curl --silent http://x/ | jqq .\n", "no rule for the program 'jqq'"),
    ("sh", "token=$(kubectl -n a gett secret b)\n", "no kubectl"),
    ("sh", "if true; then\n", "syntax error"),
    ("env", "HAPROXY_BALANCE=roundrobbin\n", "HAPROXY_BALANCE"),
    ("env", "HAPROXY_BALANC=roundrobin\n", "did you mean"),
    ("values", "env:\n  ingresServiceName: web\n", "ingresServiceName"),
    ("service", "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {haproxy-kubefigurator.enabled: 'yes'}, "
     "annotations: {haproxy-kubefigurator.web.hostnam: a.example}}\nspec: {type: NodePort, ports: [{name: web, port: 80}]}\n", "hostnam"),
    ("prometheus", "scrape_configs:\n  - jobname: x\n", "jobname"),
    ("promql", "sum(rate(haproxy_k8s_sync_reloads[1h]))\n", "haproxy_k8s_sync_reloads"),
    ("promql", "sum(rate(haproxy_k8s_sync_reloads_total[1h])\n", "1h"),
    ("promql", 'haproxy_k8s_sync_reloads_total{result="splendid"}\n', "splendid"),
    ("log", 'level=info msg="backend altered" backend=b\n', "backend altered"),
    ("log", 'level=info msg="backend changed" backand=b\n', "backand"),
    ("log", "backend changed\n", "no logfmt"),
    ("haproxy", "  stats sockett /run/admin.sock level admin\n", "sockett"),
    ("toml", '[source.crates-io]\nreplace-with = "miror"\n[source.mirror]\nregistry = "x"\n', "no such source"),
    ("credentials", "http://a:1 password\n", "HAPROXY_DATAPLANE_CREDENTIALS_FILE"),
]


@pytest.mark.parametrize(("kind", "text", "why"), BAD_BLOCKS, ids=lambda value: value.split("\n")[0][:40])
def test_rule_refuses(kind: str, text: str, why: str, docs_tools: Tools) -> None:
    with pytest.raises(Wrong) as refusal:
        RULES[kind](Block(DOCS / "x.md", 1, kind, {}, text), docs_tools)
    assert why in str(refusal.value)


# A file, what is replaced in it, and what is said then.
BAD_FILES = [
    ("haproxy/haproxy.cfg", "default_backend ingress-https", "default_backend ingress-htps", "ingress-htps"),
    ("haproxy/haproxy.cfg", "  mode http\n", "", "monitor-uri"),
    ("haproxy/dataplaneapi.yml", "transaction_dir", "transactions_dir", "reads no dataplaneapi.transaction.transactions_dir"),
    ("haproxy/dataplaneapi.yml", "port: 5555", "port: http", "not of type int"),
    ("keepalived/lb-a.conf", "weight -20", "weigth -20", "weigth"),
    ("systemd/dataplaneapi.service", "Restart=always", "Restart=allways", "allways"),
    ("s6/haproxy/run", "mkdir -p /run/haproxy", "mkdir -p $run", "SC2154"),
    ("haproxy-k8s-sync.env", "HAPROXY_DATAPLANE_URL", "HAPROXY_DATAPLANE_ULR", "did you mean"),
    ("values/traefik.yaml", "dataplaneURL", "dataplaneUrl", "dataplaneUrl"),
    ("values/traefik.yaml", "credentials:\n", "env: {}\ncredentials:\n", "stand twice"),
    ("ingress/contour-nodeport.yaml", "nodePorts", "nodeports", "unknown values"),
    ("gitops/flux.yaml", "sourceRef:", "source:", "reads no spec.source"),
    ("gitops/flux.yaml", "  interval: 5m\n", "", "lacks {'interval'}"),
    ("gitops/argocd.yaml", "selfHeal: true", "selfheal: true", "reads no spec.syncPolicy.automated.selfheal"),
    ("gitops/argocd.yaml", "v1alpha1", "v1", "there is no argoproj.io/v1 Application"),
    ("token.yaml", "kind: Secret", "kind: Sekret", "Sekret"),
]


@pytest.mark.parametrize(("name", "old", "new", "why"), BAD_FILES, ids=lambda value: value.split("\n")[0][:40])
def test_file_is_refused(name: str, old: str, new: str, why: str, docs_tools: Tools, tmp_path: pathlib.Path) -> None:
    text = (DOCS / "examples" / name).read_text()
    assert old in text
    copy = tmp_path / "examples" / name
    copy.parent.mkdir(parents=True)
    copy.write_text(text.replace(old, new))
    copy.chmod(0o755)
    with pytest.raises(Wrong) as refusal:
        check_example(copy, docs_tools, tmp_path / "examples")
    assert why in str(refusal.value)


def test_file_of_no_kind_is_refused(docs_tools: Tools, tmp_path: pathlib.Path) -> None:
    (tmp_path / "new.txt").write_text("")
    with pytest.raises(Wrong, match="no rule"):
        check_example(tmp_path / "new.txt", docs_tools, tmp_path)


@pytest.mark.parametrize(("span", "why"), [
    ("HAPROXY_BALANC", "no setting"), ("PARK_TLL=0", "no setting"), ("in_synk", "no metric"), ("haproxy_k8s_sync_nonsense_total", "no metric"),
    ("deploy/rabc.yaml", "there is no"), ("src/haproxy/dataplane/txm.c", "there is no"), ("env.haproxy.backend", "no value"),
    ("HaproxyK8sSyncOutOfSyncc", "no alert"), ("prometheusRule.disable", "no value")])
def test_name_is_refused(span: str, why: str) -> None:
    assert why in trouble_with_span(span)


@pytest.mark.parametrize("span", ["settings/tabel.c", "src/settings/tabel.c", "servers/change/plam", "kube/decode/dekode*.c", "settings_tabel.c",
                                  "tests/unit/<room>/tast_<module>.c", "tests/conformence", "enum cashe_kind", "struct seting"])
def test_source_is_refused(span: str) -> None:
    assert "there is no" in trouble_with_source(span)


@pytest.mark.parametrize("span", ["settings/table.c", "src/settings/table.c", "servers/change/plan", "kube/decode/decode*.c", "table.c", "make test",
                                  "tests/unit/<room>/test_<module>.c", "tests/conformance", "struct settings", "_new/_free", "build/x/y.html"])
def test_source_is_found(span: str) -> None:
    assert trouble_with_source(span) == ""


def test_message_is_refused() -> None:
    assert "never says" in trouble_with_message("HAProxy was not rebooted")
    assert trouble_with_message("reload failed") == ""
    assert trouble_with_message("kubectl get nodes in the cluster") == ""


def test_blocks_are_found(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "x.md"
    page.write_text("a\n```yaml kind=values part=x\nk: v\n```\nb\n```\nplain\n```\n")
    found = blocks(page)
    assert [(b.line, b.language, b.kind, b.text) for b in found] == [(3, "yaml", "values", "k: v\n"), (7, "", "", "plain\n")]
    assert "" not in RULES and "yaml" not in RULES, "a block without a language, or one that no rule checks"
    with pytest.raises(ValueError, match="never closed"):
        list(split("```sh\nmake\n"))


def test_anchors_are_as_github_makes_them() -> None:
    assert anchor("1. The HAProxy side") == "1-the-haproxy-side"
    assert anchor("`haproxy.cfg`") == "haproxycfg"
    assert anchor("A server's life") == "a-servers-life"
    assert part_of("a: 1\nb:\n  c: 2\n\nd: 3\n", "b") == "b:\n  c: 2\n"


def test_docs_have_no_hidden_warning() -> None:
    """What the rule for haproxy.cfg goes by: HAProxy's exit status says nothing of warnings."""
    with pytest.raises(Wrong, match="cannot open|No such file|Could not open"):
        docs_files.haproxy_cfg(DOCS / "none.cfg", haproxy_binary() or "haproxy")


def test_other_charts_and_commands() -> None:
    with pytest.raises(Wrong, match="unknown values"):
        docs_helm.check_others("traefik", "service:\n  type: NodePort\n")
    docs_helm.check_others("contour", "envoy:\n  nodeSelector:\n    a/b: ''\n")
    assert docs_commands.commands_of("a=$(x | y -d) b 'c d' | e > f") == [["x"], ["y", "-d"], ["b", "c d"], ["e"]]

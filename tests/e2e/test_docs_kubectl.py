"""Each kubectl command of the pages on a real API server: what would change something is a dry run at the server, which refuses what it
would refuse then. Those that talk to a pod are left out, there being none here; tests/delivery/test_docs.py has checked their words."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from typing import Any

from tests.delivery.docs_blocks import Block, blocks, pages
from tests.delivery.docs_commands import lines_of
from tests.harness import objects, parts, realparts
from tests.harness.process import ROOT
from tests.harness.realkube import ADMIN_TOKEN, RealKube

# What the pages say is there by then: namespace -> its Service.
SERVICES = {"ingress-nginx": "ingress-nginx-controller", "traefik": "traefik", "projectcontour": "contour-envoy"}
NAMESPACES = [*SERVICES, "haproxy-k8s-sync", "haproxy-sync", "haproxy", "haproxy-dev"]
FILES = "-f prepared.json -f deploy/configmap.yaml -f deploy/rbac.yaml -f deploy/deployment.yaml -f docs/examples/token.yaml"
PREPARED = f"""
"$KUBECTL" apply -f namespaces.json
"$KUBECTL" apply {FILES}
# The controller that fills it in does not run here.
"$KUBECTL" -n ingress-nginx patch secret haproxy-k8s-sync-token -p '{{"stringData": {{"ca.crt": "CA", "token": "TOKEN"}}}}'
"""
WRAPPER = """#!/bin/bash
# The first word that is no flag, nor what belongs to one.
verb='' skip=''
for word in "$@"; do
    if [ -n "$skip" ]; then skip=''; continue; fi
    case $word in
        -n | --namespace) skip=yes ;;
        *) verb=$word; break ;;
    esac
done
echo "$verb" >>"$SEEN"
case $verb in
    exec | logs | port-forward | rollout | wait) exit 0 ;;
    config | get | describe) exec "$KUBECTL" "$@" ;;
    # It may be there already, or not, which is no matter here.
    create) case "$*" in *' namespace '*) side=client ;; *) side=server ;; esac
        exec "$KUBECTL" "$@" --dry-run=$side ;;
    delete) exec "$KUBECTL" "$@" --dry-run=server --ignore-not-found ;;
    apply | annotate | label | scale | set) exec "$KUBECTL" "$@" --dry-run=server ;;
    *) echo "no rule for kubectl $verb" >&2; exit 1 ;;
esac
"""


class Shell:
    """Runs lines of a page where `kubectl` is the wrapper; from the root of a copy of what they name, so that nothing is left behind."""

    def __init__(self, home: pathlib.Path, kubectl: pathlib.Path, kubeconfig: pathlib.Path):
        self.home = home
        (home / "bin").mkdir()
        (home / "bin" / "kubectl").write_text(WRAPPER)
        (home / "bin" / "kubectl").chmod(0o755)
        (home / "work").mkdir()
        for name in ("deploy", "docs", "charts"):
            (home / "work" / name).symlink_to(ROOT / name)
        self.seen = home / "seen"
        self.env = {"PATH": f"{home}/bin:/usr/bin:/bin", "HOME": str(home), "KUBECTL": str(kubectl), "KUBECONFIG": str(kubeconfig),
                    "SEEN": str(self.seen)}

    def run(self, script: str) -> str:
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=self.home / "work", env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
        assert done.returncode == 0, f"exit {done.returncode}:\n{script}\n{done.stdout}"
        return done.stdout

    def verbs(self) -> set[str]:
        return set(self.seen.read_text().split())


def prepare(shell: Shell) -> None:
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "controller", "image": "x"}]}}
    items: list[dict[str, Any]] = [
        *(objects.service(name, namespace=namespace, type_="ClusterIP", node_ports={"https": (443, 0)}) for namespace, name in SERVICES.items()),
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-7"}},
        *({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "haproxy-config", "namespace": namespace}}
          for namespace in ("haproxy", "haproxy-dev")),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "haproxy-config-status", "namespace": "haproxy"}},
        *({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
           "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": pod}}
          for name, namespace in (("the-other-controller", "haproxy-sync"), ("haproxy-k8s-sync-controller", "haproxy-sync"),
                                  ("haproxy-k8s-sync", "haproxy-k8s-sync")))]
    namespaces: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]
    for name, listed in (("namespaces", namespaces), ("prepared", items)):
        (shell.home / "work" / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    shell.run(PREPARED)


def kubectl_lines(block: Block) -> list[str]:
    return [line for line in lines_of(block.text) if re.search(r"(^|\$\()kubectl ", line)]


def test_the_commands_of_the_pages(kubes: dict[str, RealKube], tmp_path: pathlib.Path) -> None:
    with parts.or_skip():
        kubectl = realparts.kubectl()
        kube = kubes["etcd"]
    shell = Shell(tmp_path, kubectl, kube.kubeconfig(ADMIN_TOKEN))
    prepare(shell)
    try:
        scripts = {"\n".join(lines): str(block) for page in pages() for block in blocks(page)
                   if block.kind == "sh" and "file" not in block.attributes and (lines := kubectl_lines(block))}
        assert len(scripts) > 10
        for script, where in scripts.items():
            try:
                shell.run(script)
            except AssertionError as e:
                raise AssertionError(f"{where}: {e}") from e
        assert {"apply", "create", "delete", "annotate", "label", "scale", "get", "describe", "config"} <= shell.verbs()
    finally:
        # Other cases share this server. The namespaces stay: what would end them does not run.
        shell.run(f'"$KUBECTL" delete --ignore-not-found --wait=false {FILES}')

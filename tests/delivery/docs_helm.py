"""helm command lines and values of the pages: ours by helm itself, those of the ingress controllers' charts by their known keys."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import yaml

from .chart import helm as chart_helm
from .docs_blocks import ROOT
from .docs_commands import Wrong, check_flags, said_by

OUR_CHART = "charts/haproxy-k8s-sync"
# Chart -> its repository, and the values of it that the pages set: there is no network here to get the charts by. Looked up in
# ingress-nginx 4.15.1, traefik 41.3.0 and contour 0.7.0; the first two were rendered by hand with these very files.
OTHERS = {
    "ingress-nginx": ("https://kubernetes.github.io/ingress-nginx", {
        "controller.service.type", "controller.service.externalTrafficPolicy", "controller.service.nodePorts.http",
        "controller.service.nodePorts.https", "controller.kind", "controller.hostNetwork", "controller.dnsPolicy",
        "controller.updateStrategy.type", "controller.updateStrategy.rollingUpdate.maxUnavailable", "controller.nodeSelector",
        "controller.config.use-proxy-protocol"}),
    "traefik": ("https://traefik.github.io/charts", {
        "service.spec.type", "service.spec.externalTrafficPolicy", "ports.web.nodePort", "ports.websecure.nodePort", "deployment.kind",
        "hostNetwork", "updateStrategy.type", "updateStrategy.rollingUpdate.maxUnavailable", "updateStrategy.rollingUpdate.maxSurge",
        "ports.web.port", "ports.websecure.port", "nodeSelector", "ports.web.proxyProtocol.trustedIPs",
        "ports.websecure.proxyProtocol.trustedIPs"}),
    "contour": ("https://projectcontour.github.io/helm-charts", {
        "envoy.service.type", "envoy.service.externalTrafficPolicy", "envoy.service.nodePorts.http", "envoy.service.nodePorts.https",
        "envoy.hostNetwork", "envoy.dnsPolicy", "envoy.containerPorts.http", "envoy.containerPorts.https", "envoy.nodeSelector",
        "contour.extraArgs"}),
}


def leaves(values: Any, path: str = "") -> Iterator[str]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield from leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path


def check_others(chart: str, text: str) -> None:
    known = OTHERS[chart][1]
    # A nodeSelector's keys are labels.
    used = {re.sub(r"nodeSelector\..*", "nodeSelector", leaf) for leaf in leaves(yaml.safe_load(text))}
    unknown = used - known
    if unknown:
        raise Wrong(f"chart {chart}: unknown values {sorted(unknown)}")


def check_ours(helm: pathlib.Path, text: str, words: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Values of our chart: rendered, each document of a kind that it knows."""
    values = yaml.safe_load(text)
    try:
        documents = chart_helm.documents(chart_helm.template(helm, values, words=words))
    except chart_helm.Refused as e:
        raise Wrong(f"helm refuses the values: {e}") from e
    if not any(d["kind"] == "Deployment" for d in documents):
        raise Wrong("the values give no Deployment")
    return documents


def check_command(words: list[str], helm: pathlib.Path) -> None:
    verb = [word for word in words[1:] if not word.startswith("-")][0]
    sub = [verb, "values"] if verb == "show" else [verb]
    helptext = said_by(str(helm), *sub, "--help")
    if verb not in ("upgrade", "rollback", "uninstall", "template", "show", "lint"):
        raise Wrong(f"helm {verb}: not a verb that the test knows")
    check_flags(words, helptext)
    files = [words[i + 1] for i, word in enumerate(words) if word in ("--values", "-f")]
    settings = tuple(w for i, word in enumerate(words) if word == "--set" for w in ("--set", words[i + 1]))
    if verb != "upgrade":
        return
    chart = words[words.index("upgrade") + (3 if "--install" in words else 2)]
    if OUR_CHART in words:
        text = (ROOT / files[0]).read_text() if files else (ROOT / "docs/examples/values/ingress-nginx.yaml").read_text()
        check_ours(helm, text, settings)
    elif chart in OTHERS:
        if words[words.index("--repo") + 1] != OTHERS[chart][0]:
            raise Wrong(f"the repository of {chart} is {OTHERS[chart][0]}")
        for file in files:
            if not re.match(rf"docs/examples/ingress/{chart}-", file):
                raise Wrong(f"{file} is not for {chart}")
    else:
        raise Wrong(f"helm upgrade {chart}: unknown chart")

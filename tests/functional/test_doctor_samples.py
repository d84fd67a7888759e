"""The samples of `doctor` in docs/samples are what it says: run here, with the places of this machine replaced. UPDATE_SAMPLES=1
writes them anew."""

from __future__ import annotations

import os
import pathlib
import re
import textwrap
from collections.abc import Iterator

import pytest

from tests.harness.ingress import ingress
from tests.harness.process import ROOT

from .doctor import NO_DAEMON, run
from .rig import BY_NODE_PORT, NAMESPACE, Rig

SAMPLES = ROOT / "docs" / "samples"
WIDTH = 100
FOUND, TEXT = 25, 14
"""Columns at which what was found, and why and fix, go on in further lines."""


def unwrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line and indent in (FOUND, TEXT) and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return lines


def wrapped(line: str) -> list[str]:
    column = FOUND if re.match(r"  \[", line) else TEXT if re.match(r" {9}\w", line) else 0
    if not column:
        return [line]
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * column, break_long_words=False, break_on_hyphens=False)


def as_elsewhere(rig: Rig, text: str, node_port: int = 0) -> str:
    """With a name in place of each port and path, and without what depends on the machine."""
    lines = unwrapped(text)
    at = next(i for i, line in enumerate(lines) if " this machine " in line)
    end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("  ["))
    del lines[at:end]
    places = {rig.kube.url: "https://10.0.0.1:6443", rig.kube.url.partition("://")[2]: "10.0.0.1:6443",
              rig.dataplane.url: "http://10.0.0.9:5555", rig.dataplane.url.partition("://")[2]: "10.0.0.9:5555",
              str(rig.home / "config"): "/etc/haproxy-k8s-sync/kubeconfig", str(rig.haproxy.socket): "/run/haproxy.sock",
              "context test": "context prod", f"http://{NO_DAEMON}": "http://127.0.0.1:8080"}
    out = "\n".join(lines)
    for here, there in places.items():
        out = out.replace(here, there)
    if node_port:
        out = out.replace(f"{node_port}: HAPROXY_BACKEND_PORT", "30443: nodePort 30443 of its port https").replace(str(node_port), "30443")
    out = re.sub(r"\d+\.\d ms", "1.3 ms", out)
    out = re.sub(r"(\[ok\]   HAProxy +)[^ ]+ runs", r"\g<1>2.8.5 runs", out)
    out = re.sub(r"127\.0\.11\.(\d)", r"10.0.0.1\1", out)
    out = out.replace("with one it answers an error", "with one it closes the connection")  # as OpenSSL has it
    out = re.sub(r"sync \d+\.\d+\.\d+", "sync 1.0.0", out)
    return "\n".join(line for one in out.splitlines() for line in wrapped(one)) + "\n"


def shown(text: str) -> str:
    """What depends on the machine in the last lines: its clock counts as a check, too."""
    return re.sub(r"^.*\d+ ok.*$\n", "", text, flags=re.M)


def check(name: str, text: str) -> None:
    path = SAMPLES / name
    if os.environ.get("UPDATE_SAMPLES"):
        SAMPLES.mkdir(exist_ok=True)
        path.write_text(shown(text))
    assert path.read_text() == shown(text), f"UPDATE_SAMPLES=1 writes {path} anew"


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Rig(tmp_path_factory.mktemp("rig")) as made:
        made.service(policy="Local")
        made.kube.tokens(t=f"system:serviceaccount:{NAMESPACE}:haproxy-k8s-sync")
        yield made


def config(rig: Rig) -> dict[str, str]:
    return {"KUBECONFIG": str(rig.kube.kubeconfig(rig.home / "config", token="t"))}


def test_good(rig: Rig, tmp_path: pathlib.Path) -> None:
    with ingress("haproxy", tmp_path / "1", "127.0.11.1") as ports:
        done = run(rig, HAPROXY_BACKEND_PORT=str(ports["tls"]), LEADER_ELECT="true", **config(rig))
    assert done.returncode == 0
    check("doctor-good.txt", as_elsewhere(rig, done.stdout, ports["tls"]))


def test_bad(rig: Rig, tmp_path: pathlib.Path) -> None:
    rig.kube.forbid("nodes", f"{NAMESPACE}/services")
    try:
        done = run(rig, HAPROXY_BACKEND_NAME="ingress", LEADER_ELECT="true", **BY_NODE_PORT, **config(rig))
    finally:
        rig.kube.forbid()
    assert done.returncode == 1
    check("doctor-bad.txt", as_elsewhere(rig, done.stdout))

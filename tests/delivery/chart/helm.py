"""helm as the tests run it: never a cluster, never the caller's settings, what it refuses as an exception with its words."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

import yaml

from tests.harness.process import ROOT

CHART = ROOT / "charts" / "haproxy-k8s-sync"
RELEASE = "sync"
NAMESPACE = "lb"

Document = dict[str, Any]
Values = dict[str, Any]


class Refused(Exception):
    """What helm said when it ended with an error."""


def run(helm: pathlib.Path, *words: str) -> str:
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "KUBECONFIG": f"{home}/none"}
        done = subprocess.run([helm, *words], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(done.stdout + done.stderr)
    return done.stdout


def _given(values: Iterable[pathlib.Path | Values], directory: str) -> list[str]:
    words = []
    for number, one in enumerate(values):
        path = one
        if isinstance(one, dict):
            path = pathlib.Path(directory) / f"{number}.yaml"
            path.write_text(yaml.safe_dump(one))
        words += ["--values", str(path)]
    return words


def lint(helm: pathlib.Path, *values: pathlib.Path | Values) -> str:
    with tempfile.TemporaryDirectory() as directory:
        return run(helm, "lint", "--strict", str(CHART), *_given(values, directory))


def template(helm: pathlib.Path, *values: pathlib.Path | Values, release: str = RELEASE, namespace: str = NAMESPACE,
             words: Iterable[str] = ()) -> str:
    with tempfile.TemporaryDirectory() as directory:
        return run(helm, "template", release, str(CHART), "--namespace", namespace, *words, *_given(values, directory))


def documents(text: str) -> list[Document]:
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def render(helm: pathlib.Path, *values: pathlib.Path | Values, release: str = RELEASE, namespace: str = NAMESPACE) -> list[Document]:
    return documents(template(helm, *values, release=release, namespace=namespace))


def notes(helm: pathlib.Path, *values: pathlib.Path | Values, release: str = RELEASE, namespace: str = NAMESPACE) -> str:
    """What helm install says at its end."""
    with tempfile.TemporaryDirectory() as directory:
        said = run(helm, "install", release, str(CHART), "--namespace", namespace, "--dry-run=client", *_given(values, directory))
    return said.partition("\nNOTES:\n")[2]


def only(found: list[Document], kind: str) -> Document:
    of_kind = [d for d in found if d["kind"] == kind]
    assert len(of_kind) == 1, f"{len(of_kind)} of kind {kind}: {[d['metadata']['name'] for d in of_kind]}"
    return of_kind[0]

"""helm as the tests run it: never a cluster, never the caller's settings, what it refuses as an exception with its words."""

from __future__ import annotations

import pathlib
import shutil
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


def template_with_notes(helm: pathlib.Path, values: pathlib.Path) -> tuple[str, str]:
    """The rendering, and what helm install says at its end. helm prints that only in sight of a cluster: so a copy of the chart has it
    in a document."""
    with tempfile.TemporaryDirectory() as directory:
        copied = pathlib.Path(shutil.copytree(CHART, pathlib.Path(directory) / CHART.name))
        text = (copied / "templates" / "NOTES.txt").read_text()
        (copied / "templates" / "_notes.tpl").write_text('{{ define "notes" }}' + text + "{{ end }}")
        (copied / "templates" / "notes.yaml").write_text('text: {{ include "notes" . | toJson }}\nkind: Notes\n')
        rendering = run(helm, "template", RELEASE, str(copied), "--namespace", NAMESPACE, *_given([values], directory))
    parts = rendering.split("---\n# Source: ")
    said = [part for part in parts if part.startswith("haproxy-k8s-sync/templates/notes.yaml\n")]
    return "---\n# Source: ".join(part for part in parts if part not in said), documents(said[0].partition("\n")[2])[0]["text"]


def only(found: list[Document], kind: str) -> Document:
    of_kind = [d for d in found if d["kind"] == kind]
    assert len(of_kind) == 1, f"{len(of_kind)} of kind {kind}: {[d['metadata']['name'] for d in of_kind]}"
    return of_kind[0]

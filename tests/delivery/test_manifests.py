"""deploy/ and what the chart makes of the same values are the same; where they are not, scripts/manifests makes them so."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
import yaml

from tests.harness import parts, realparts
from tests.harness.process import ROOT

FOLDERS = {"": 7, "config/": 5, "services/": 8}
"""Folder in deploy/ -> how many objects it has."""
FILES = tuple(f"{folder}{name}" for folder in FOLDERS for name in ("configmap.yaml", "rbac.yaml", "deployment.yaml"))


def manifests(root: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "scripts" / "manifests", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def documents(text: str) -> dict[tuple[str, str], object]:
    return {(d["kind"], d["metadata"]["name"]): d for d in yaml.safe_load_all(text) if d}


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """As much of the tree as the script reads, to be spoilt."""
    for name in ("charts", "tests/harness"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("scripts/manifests", *(f"deploy/{name}" for name in FILES)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def spoil(tree: pathlib.Path, name: str, old: str, new: str) -> None:
    path = tree / "deploy" / name
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
    path.write_text(text.replace(old, new))


@pytest.mark.usefixtures("helm")
def test_manifests_are_those_of_the_chart() -> None:
    done = manifests(ROOT, "--check")
    assert (done.returncode, done.stdout) == (0, ""), f"{done.stdout}{done.stderr}"


@pytest.mark.usefixtures("helm")
def test_what_differs_is_named_and_mended(tree: pathlib.Path) -> None:
    before = {name: (tree / "deploy" / name).read_text() for name in FILES}
    spoil(tree, "configmap.yaml", "MAX_LOSS_PERCENT: \"50\"", "MAX_LOSS_PERCENT: \"60\"")
    spoil(tree, "rbac.yaml", "[endpoints, services]", "[endpoints, services, secrets]")
    spoil(tree, "deployment.yaml", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false")
    said = manifests(tree, "--check")
    assert said.returncode == 1
    for piece in ("MAX_LOSS_PERCENT: '60' here, '50' in the chart", "Role haproxy-k8s-sync.rules", "readOnlyRootFilesystem: False here, True"):
        assert piece in said.stdout, said.stdout
    done = manifests(tree)
    assert done.returncode == 0 and done.stdout.count("is written anew") == 3, done.stdout + done.stderr
    assert manifests(tree, "--check").returncode == 0
    # Comments, order and all.
    assert {name: (tree / "deploy" / name).read_text() for name in FILES} == before


@pytest.mark.usefixtures("helm")
def test_a_comment_whose_line_goes_is_reported(tree: pathlib.Path) -> None:
    spoil(tree, "configmap.yaml", "  NODE_MODE: endpoints\n", "  # A comment of mine.\n  NODE_MODES: endpoints\n")
    done = manifests(tree)
    assert "comment without a line: # A comment of mine." in done.stdout, done.stdout
    assert "NODE_MODES" not in (tree / "deploy" / "configmap.yaml").read_text()


@pytest.mark.parametrize("folder", FOLDERS)
def test_kustomization_has_all_of_it(folder: str) -> None:
    with parts.or_skip("kubectl"):
        kubectl = realparts.kubectl()
    done = subprocess.run([kubectl, "kustomize", ROOT / "deploy" / folder], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    here = "\n---\n".join((ROOT / "deploy" / name).read_text() for name in FILES if (ROOT / "deploy" / name).parent == ROOT / "deploy" / folder)
    assert documents(done.stdout) == documents(here) and len(documents(here)) == FOLDERS[folder]

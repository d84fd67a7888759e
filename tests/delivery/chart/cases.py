"""The values files that the chart is tried with, and their recorded renderings.

Of the default values the whole rendering is recorded, of every other case what differs from it.
RENEW_CHART=1 with `pytest tests/delivery/test_chart_renderings.py` writes the recordings, and the chart's README, anew.
"""

from __future__ import annotations

import difflib
import functools
import os
import pathlib

from . import helm as chart

HERE = pathlib.Path(__file__).resolve().parent
VALUES = HERE / "values"
GOLDEN = HERE / "golden"
DEFAULT = "default"
NAMES = sorted(path.stem for path in VALUES.glob("*.yaml"))
RENEW = os.environ.get("RENEW_CHART") == "1"
# What monitoring and networks get has tests of its own.
RECORDED = ("deployment", "configmap", "secret", "serviceaccount", "rbac", "pdb")


def values(name: str) -> pathlib.Path:
    return VALUES / f"{name}.yaml"


def recorded_part(rendering: str) -> str:
    """The documents of those templates, in helm's order."""
    sources = tuple(f"# Source: haproxy-k8s-sync/templates/{name}.yaml\n" for name in RECORDED)
    return "---\n".join(["", *(text for text in rendering.split("---\n") if text.startswith(sources))])


def recording(name: str) -> pathlib.Path:
    return GOLDEN / (f"{name}.yaml" if name == DEFAULT else f"{name}.diff")


def to_record(default: str, name: str, rendering: str) -> str:
    """It and the default rendering determine every byte of the rendering."""
    if name == DEFAULT:
        return rendering
    both = (text.splitlines(keepends=True) for text in (default, rendering))
    return "".join(difflib.unified_diff(*both, f"{DEFAULT}.yaml", f"{name}.yaml", n=1))


def render_all(helm: pathlib.Path, home: pathlib.Path) -> None:
    for name in NAMES:
        rendering, notes = chart.template_with_notes(helm, values(name))
        (home / f"{name}.yaml").write_text(rendering)
        (home / f"{name}.txt").write_text(notes)


class Renderings:
    """Of every case, made once in a run: as text, as documents, and what is said at the end of an installation."""

    def __init__(self, home: pathlib.Path):
        self.home = home

    def text(self, name: str) -> str:
        return (self.home / f"{name}.yaml").read_text()

    @functools.cache
    def __getitem__(self, name: str) -> list[chart.Document]:
        return chart.documents(self.text(name))

    def notes(self, name: str) -> str:
        return (self.home / f"{name}.txt").read_text()

"""The values files that the chart is tried with, and their recorded renderings.

RENEW_CHART=1 with `pytest tests/delivery/test_chart_renderings.py` writes the recordings, and the chart's README, anew.
"""

from __future__ import annotations

import functools
import os
import pathlib

from . import helm as chart

HERE = pathlib.Path(__file__).resolve().parent
VALUES = HERE / "values"
GOLDEN = HERE / "golden"
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

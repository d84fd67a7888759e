"""The values files that the chart is tried with, and their recorded renderings.

Of the default values the whole rendering is recorded, of every other case what differs from the case that its first line names.
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


def base_of(name: str) -> str:
    """The case that it is recorded against."""
    return recording(name).read_text().partition(".yaml\n")[0].removeprefix("--- ")


def difference(base: str, name: str, renderings: dict[str, str]) -> str:
    both = (renderings[case].splitlines(keepends=True) for case in (base, name))
    return "".join(difflib.unified_diff(*both, f"{base}.yaml", f"{name}.yaml", n=1))


def as_recorded(name: str, renderings: dict[str, str]) -> str:
    """The rendering as it has to be recorded. All recordings together determine every byte: `record` leads each case back to the default."""
    if name == DEFAULT:
        return renderings[name]
    return difference(base_of(name), name, renderings)


def record(renderings: dict[str, str]) -> None:
    """Each case against that of the cases recorded before it from which it differs least."""
    recording(DEFAULT).write_text(renderings[DEFAULT])
    nearest = {name: difference(DEFAULT, name, renderings) for name in NAMES if name != DEFAULT}
    while nearest:
        name = min(nearest, key=lambda case: (nearest[case].count("\n"), case))
        recording(name).write_text(nearest.pop(name))
        for other in nearest:
            nearest[other] = min(nearest[other], difference(name, other, renderings), key=lambda text: text.count("\n"))


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

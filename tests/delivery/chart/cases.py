"""The values files that the chart is tried with, and their recorded renderings.

A recording has a line for each part of the objects, with its path. Of the default values all lines are recorded, of every other case
those that differ from the case that its first line names. What holds for all objects (common labels, who a Role is bound to, that the
checksum follows the settings) is in test_chart_objects.py alone.
RENEW_CHART=1 with `pytest tests/delivery/test_chart_renderings.py` writes the recordings, and the chart's README, anew.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from . import helm as chart

HERE = pathlib.Path(__file__).resolve().parent
VALUES = HERE / "values"
GOLDEN = HERE / "golden"
DEFAULT, NOTHING = "default", "nothing"
NAMES = sorted(path.stem for path in VALUES.glob("*.yaml"))
RENEW = os.environ.get("RENEW_CHART") == "1"
# What monitoring and networks get has tests of its own.
RECORDED = {"Deployment", "Job", "ConfigMap", "Secret", "ServiceAccount", "Role", "ClusterRole", "PodDisruptionBudget"}
# A part of an object that is not longer than this is one line.
SHORT = 140


def values(name: str) -> pathlib.Path:
    return VALUES / f"{name}.yaml"


def _lines(path: str, part: Any) -> Iterator[tuple[str, str]]:
    text = json.dumps(part)
    if not isinstance(part, (dict, list)) or len(text) <= SHORT:
        yield path, text
        return
    for key, inner in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(part, list) and isinstance(inner, dict):
            key = inner.get("mountPath", inner.get("name", key))
        yield from _lines(f"{path} {key}", inner)


def recorded_part(found: list[chart.Document]) -> dict[str, str]:
    """Path -> what stands there, as JSON; the release's name for its objects is NAME, its namespace HERE."""
    fullname, here = (chart.only(found, "Deployment")["metadata"][name] for name in ("name", "namespace"))
    made = {"NAME": fullname, "HERE": here}
    for document in found:
        kind, meta, rest = document["kind"], dict(document["metadata"]), {**document}
        if kind not in RECORDED:
            continue
        made[f"apiVersion {kind}"] = rest.pop("apiVersion")
        meta["labels"] = {name: text for name, text in meta["labels"].items() if not name.startswith(("app.kubernetes.io/", "helm.sh/"))}
        namespace = meta.pop("namespace", "")
        where = f"{kind} {'HERE' if namespace == here else namespace}/{meta.pop('name')}"
        if kind == "Deployment":
            spec = dict(rest.pop("spec"))
            pod = spec.pop("template")
            annotations = {name: text for name, text in pod["metadata"]["annotations"].items() if name != "checksum/config"}
            rest["spec"] = {name: part for name, part in spec.items() if name != "selector"}
            rest["pod"] = {**pod["spec"], "metadata": {**pod["metadata"], "annotations": annotations}}
        for name, part in {**rest, "metadata": {name: part for name, part in meta.items() if part}}.items():
            if name != "kind" and part != {}:
                made |= {path.replace(fullname, "NAME"): text.replace(fullname, "NAME") for path, text in _lines(f"{where} {name}", part)}
    return made


def recording(name: str) -> pathlib.Path:
    return GOLDEN / f"{name}.txt"


def base_of(name: str) -> str:
    """The case that it is recorded against."""
    return recording(name).read_text().partition("\n")[0].removeprefix("as ")


def difference(base: str, name: str, renderings: Renderings) -> list[str]:
    before, after = ({} if case == NOTHING else recorded_part(renderings[case]) for case in (base, name))
    return [f"as {base}", *(f"without {path}" for path in before if path not in after),
            *(f"{path}: {text}" for path, text in after.items() if before.get(path) != text)]


def record(renderings: Renderings) -> None:
    """Each case against that of the cases recorded before it from which it differs least."""
    nearest = {name: difference(NOTHING, name, renderings) for name in NAMES}
    name = DEFAULT
    while True:
        recording(name).write_text("\n".join(nearest.pop(name)) + "\n")
        if not nearest:
            return
        for other, text in nearest.items():
            nearest[other] = min(text, difference(name, other, renderings), key=len)
        name = min(nearest, key=lambda case: (len(nearest[case]), case))


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

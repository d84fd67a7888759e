"""Our rendering beside Jinja2's, template by template: tests/data/templates/jinja2/*.txt. Where both differ, docs/templates-jinja2.md says why."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess

import jinja2
import pytest

from tests.harness.daemon import quick_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/data/templates/jinja2"
CONTEXT = json.loads((CORPUS / "context.json").read_text())


@dataclasses.dataclass(frozen=True)
class Case:
    """`=== name [flags]`, its template, and others that it includes behind `--- name`. `differs: word` is a row of the page."""
    name: str
    flags: frozenset[str]
    differs: str
    templates: tuple[tuple[str, str], ...]


def read(path: pathlib.Path) -> list[Case]:
    cases = []
    for block in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        found = re.fullmatch(r"(.*?)(?: \[(.*)\])?(?: differs: (.*))?", head)
        name, flags, differs = found.groups(default="")
        parts = re.split(r"^--- (\w+)\n", body.removesuffix("\n"), flags=re.M)
        parts[:0] = ["main"]
        cases.append(Case(name, frozenset(flags.split()), differs, tuple(zip(parts[::2], parts[1::2]))))
    return cases


CASES = [case for path in sorted(CORPUS.glob("*.txt")) for case in read(path)]


def by_jinja2(case: Case) -> str | None:
    env = jinja2.Environment(
        loader=jinja2.DictLoader(dict(case.templates)), keep_trailing_newline=True, extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"],
        undefined=jinja2.Undefined if "lenient" in case.flags else jinja2.StrictUndefined,
        trim_blocks="trim" in case.flags, lstrip_blocks="trim" in case.flags)
    try:
        return env.get_template("main").render(CONTEXT)
    except Exception:  # noqa: BLE001  whatever a template makes Python raise is its error
        return None


def by_us(case: Case, folder: pathlib.Path) -> tuple[str | None, str]:
    (folder / "snippets").mkdir()
    (folder / "set.yaml").write_text(json.dumps({
        "undefined": "lenient" if "lenient" in case.flags else "strict", "trim_blocks": "trim" in case.flags, "extra": CONTEXT}))
    for name, text in case.templates:
        (folder / ("haproxy.cfg.j2" if name == "main" else f"snippets/{name}.j2")).write_text(text)
    done = subprocess.run([quick_program(), "template", "render", folder], capture_output=True, timeout=60)
    return (done.stdout.decode() if done.returncode == 0 else None), done.stderr.decode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_renders_as_jinja2_does(case: Case, tmp_path: pathlib.Path) -> None:
    theirs, (ours, said) = by_jinja2(case), by_us(case, tmp_path)
    if case.differs:
        assert ours != theirs, "they are the same by now: it is no difference any more"
    else:
        assert (ours, "error" in case.flags) == (theirs, theirs is None), said


def test_each_difference_is_explained() -> None:
    page = (ROOT / "docs/templates-jinja2.md").read_text()
    rows = set(re.findall(r"^\| `([\w-]+)` \|", page, re.M))
    assert rows == {case.differs for case in CASES if case.differs}

"""Texts for users, comments and tests have the field's own words: scripts/check-words refuses others, and the tree has none."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
from types import ModuleType

import pytest

from .docs_blocks import ROOT


@pytest.fixture(scope="module")
def words() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("check_words", str(ROOT / "scripts/check-words"))
    spec = importlib.util.spec_from_loader("check_words", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


# A file, and what it may not say; the line and the word of the finding.
REFUSED = [
    ("src/a.c", 'f("nobody listens");', 1, "nobody"),
    ("src/a.c", 'int x;\nf("the API is told "\n  "at once");', 2, "told"),
    ("src/a.c", 'f("all is in "\n  "step");', 1, "in step"),
    ("src/a.c", "f('\"'); g(\"our changes\");", 1, "our"),
    ("src/a.c", 'f("ended\\nwe wait");', 1, "we"),
    ("src/a.h", '#define A "it looks good"', 1, "looks"),
    ("src/a.rs", "fn f<'a>(x: &'a str) { fail(\"wishes\") }", 1, "wishes"),
    ("src/a.html", '<p>Somebody else</p>', 1, "Somebody"),
    ("src/a.html", 'fix: "Look at the log."', 1, "Look"),
    ("docs/a.md", "One.\n\nIt is reloaded anyway.", 3, "anyway"),
    ("docs/a.md", "```sh\nmake\n```\nTwo\nmasters", 4, "Two masters"),
    ("charts/a/values.yaml", "# Whoever leads\na: b", 1, "Whoever"),
    ("charts/a/values.schema.json", '{"description": "our own"}', 1, "our"),
    ("deploy/a.service", "# A hand-over\n", 1, "hand-over"),
]


@pytest.mark.parametrize(("name", "text", "line", "word"), REFUSED, ids=lambda value: str(value)[:30])
def test_word_is_refused(words: ModuleType, name: str, text: str, line: int, word: str) -> None:
    (finding,) = words.findings(name, text)
    assert finding.startswith(f'{name}:{line}: "'), finding
    assert finding.split('"')[1].replace("\n", " ") == word, finding


@pytest.mark.parametrize(("name", "text"), [
    ("src/a.c", '/* nobody */ int ours; // told\nf("your hour, the house and the cluster");'),
    ("src/a.c", 'f("keys are looked up"); g("observe"); h("us");'),
    ("src/a.html", "<style>.ours { }</style>/* ours */ const ours = look(us);"),
    ("docs/a.md", "The filter `slots(10)`, [it](pictures/lanes.svg).\n```conf\n# ours\n```\n"),
    ("charts/a/templates/a.tpl", "{{- $wanted := true }}"),
    ("docs/examples/a.conf", "    script_user nobody"),
], ids=lambda value: str(value)[:30])
def test_name_is_allowed(words: ModuleType, name: str, text: str) -> None:
    assert words.findings(name, text) == []


# What a source says beside its code.
REFUSED_IN_SOURCE = [
    ("src/a.c", "int x; /* it is\n   told */", 2, "told"),
    ("src/a.rs", "// whoever\nfn f<'a>() {}", 1, "whoever"),
    ("tests/a.h", "// as it looks", 1, "looks"),
    ("tests/a.c", "\nTEST_EACH(what_is_told, 2)", 2, "told"),
    ("tests/a.c", 'x[] = {\n    {"a file is looked at", 1}};', 2, "looked"),
    ("tests/a.c", 'ck_assert_msg(f(a),\n  "somebody");', 2, "somebody"),
    ("tests/a.py", "x = 1\ny = 2  # wanted", 2, "wanted"),
    ("tests/a.py", 'def f():\n    """One.\n\n    It tells."""', 4, "tells"),
    ("tests/a.py", "def test_who_looked():\n    pass", 1, "looked"),
    ("tests/a.py", 'assert x == "told", f"{x} is told"', 1, "told"),
    ("tests/a.py", 'Mutant("anybody may", "told", "look", "")', 1, "anybody"),
]


@pytest.mark.parametrize(("name", "text", "line", "word"), REFUSED_IN_SOURCE, ids=lambda value: str(value)[:30])
def test_word_of_a_source_is_refused(words: ModuleType, name: str, text: str, line: int, word: str) -> None:
    (finding,) = words.findings_in_source(name, text)
    assert finding.startswith(f'{name}:{line}: "{word}" in '), finding


@pytest.mark.parametrize(("name", "text"), [
    ("src/a.c", "int told; /* they cannot be told apart */"),
    ("src/a.c", 'TEST(told) ck_assert_msg(x, "told");'),
    ("tests/a.c", 'ck_assert_str_eq(told, "told"); /* it looks as if, and cannot tell */'),
    ("tests/a.py", 'told = {"told": wanted}\nassert told("wanted")\n\n\ndef tell_told() -> None:\n    pass'),
], ids=lambda value: str(value)[:30])
def test_name_of_a_source_is_allowed(words: ModuleType, name: str, text: str) -> None:
    assert words.findings_in_source(name, text) == []


def test_tree_has_plain_words() -> None:
    done = subprocess.run([ROOT / "scripts/check-words"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_texts_are_found() -> None:
    listed = subprocess.run([ROOT / "scripts/files", "texts"], capture_output=True, text=True, check=True).stdout.split()
    assert {"README.md", "config.example.env", "docs/faq.md", "src/servers/write.c", "src/serve/status.html", "cmd/haproxy-k8s-sync/main.c",
            "charts/haproxy-k8s-sync/values.yaml", "deploy/man/haproxy-k8s-sync.8", "templates/ingress/set.yaml"} <= set(listed)

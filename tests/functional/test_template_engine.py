"""Templates that mean harm, by `template render`: each ends within its limits, as an error that says where and why."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
from typing import Any

import pytest

from tests.harness.daemon import clean_env, quick_program
from tests.harness.process import wait_until

# Templates, and what is said of them.
HOSTILE = {
    "range": ("a\n{% for i in range(10**9) %}{% endfor %}", r"haproxy.cfg:2:13: range has too many elements; the line: {% for i"),
    "macro": ("\n{% macro m(a) %}{{ m(a + 1) }}{% endmacro %}{{ m(1) }}", r"haproxy.cfg:2:20: recursion limit exceeded"),
    "text": ("a\n{{ 'a' * 10**9 }}", r"haproxy.cfg:2:4: repeated string is too large"),
    "growing text": ("{% set n = namespace(s='a') %}{% for i in range(64) %}{% set n.s = n.s ~ n.s %}{% endfor %}", "took more than 512 MB of memory"),
    "padding": ("{{ 'a'|center(10**12) }}", r"haproxy.cfg:1:8: more than 600 million steps: is there a loop without an end\?"),
    "format": ("{{ '%1000000000d' % 1 }}", r"haproxy.cfg:1:19: a format is at most 10000 wide"),
    "regex size": ("{{ 'a'|regex_search('((a{1000}){1000}){1000}') }}", r"haproxy.cfg:1:8: regular expression .*exceeds size limit"),
    "deep value": ("{% set n = namespace(l=[]) %}{% for i in range(100000) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}", r"nested too deeply|AddressSanitizer:DEADLYSIGNAL"),
    "deep text": ("{{ " + "(" * 10000 + "1" + ")" * 10000 + " }}", r"haproxy.cfg:1:\d+: syntax error: template exceeds maximum recursion"),
    "no base64": ("x\n  {{ '%%%'|b64decode }}", r"haproxy.cfg:2:12: b64decode: it is no base64; the line: {{ '%%%'"),
    "syntax": ("a\n{% if %}", r"haproxy.cfg:2:7: syntax error"),
    "said by the template": ("{{ fail('it is %s {{ \\n no \"good\"') }}", r'haproxy.cfg:1:4: it is %s {{ .*no "good"'),
    "path": ("{{ [1]|extract('a[?(@.b)]') }}", r"""haproxy.cfg:1:8: path "a\[\?\(@.b\)\]": "\[\?\(@.b\)\]" is no field, \[number\], \['name'\] or \[\*\]"""),
    "gigabyte": ("{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}", r"the templates (gave|took) more than \d+ MB"),
}
HARMLESS = {
    "regex": ("{{ ('a' * 30000)|regex_search('(a*)*b') }}", "None"),
    "paths": ("{{ [{'a.b': {\"c]\": [7]}}]|extract(\"{['a.b']['c]'][0]}\") }}{{ [{'a.b': 8}]|extract('$.a\\\\.b') }}", "[7][8]"),
    "itself as text": ("{% set n = namespace() %}{% set n.a = n %}{{ n|string|length < 1000 }}", "True"),
}


def folder(tmp_path: pathlib.Path, template: str) -> pathlib.Path:
    (tmp_path / "set.yaml").write_text("trim_blocks: true\n")
    (tmp_path / "haproxy.cfg.j2").write_text(template)
    return tmp_path


def render(tmp_path: pathlib.Path, template: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([quick_program(), "template", "render", "--timeout=60s", folder(tmp_path, template)], capture_output=True, text=True, timeout=120, env=clean_env())


@pytest.mark.parametrize("case", HOSTILE)
def test_an_error_says_where(case: str, tmp_path: pathlib.Path) -> None:
    template, said = HOSTILE[case]
    done = render(tmp_path, template)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(said, done.stderr), done.stderr[:2000]
    assert done.stderr.count("\n") == 1, "one line"


@pytest.mark.parametrize("case", HARMLESS)
def test_what_looks_like_harm_is_rendered(case: str, tmp_path: pathlib.Path) -> None:
    template, expected = HARMLESS[case]
    done = render(tmp_path, template)
    assert (done.stdout, done.stderr) == (expected, "")


def children_of(pid: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_render_ends_with_its_parent(tmp_path: pathlib.Path) -> None:
    endless = "{% for i in range(100000) %}{% for i in range(100000) %}{% endfor %}{% endfor %}"
    started: subprocess.Popen[Any] = subprocess.Popen([quick_program(), "template", "render", folder(tmp_path, endless)], env=clean_env(),
                                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: children_of(started.pid), what="the render runs")
    # Its own limits are set once it has no way to open another file.
    child = children_of(started.pid)[0]
    limits = pathlib.Path(f"/proc/{child}/limits")
    wait_until(lambda: re.search(r"Max open files +3 ", limits.read_text()), what="its limits are set")
    assert re.search(r"Max core file size +0 ", limits.read_text())
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    wait_until(lambda: not pathlib.Path(f"/proc/{child}").exists() or "(zombie)" in pathlib.Path(f"/proc/{child}/status").read_text(),
               what="the render has ended, too")

"""Template sets that are wrong: an error with its place, from each command, and none of them a crash (the build has sanitizers)."""

from __future__ import annotations

import pathlib

import pytest

from .template_sets import CFG, TESTS, WATCH, make_set, template

ONE = WATCH + "extra: {port: 1}\ntests:\n  t:\n    "


@pytest.mark.parametrize(("yaml", "says"), [
    ("&a [*a]\n", "set.yaml:1: an alias (*name) inside the value that it names: a circle"),
    ("watches: {}\n", "set.yaml:1: a template set has no key watches; did you mean watch?"),
    (ONE + "fixtures: {services: [{metadata: {name: a, namespace: 5}}]}\n", "fixture services[0]: namespace is a number"),
])
def test_a_set_yaml(tmp_path: pathlib.Path, yaml: str, says: str) -> None:
    done = template("render", make_set(tmp_path, yaml=yaml), *(["--test", "t"] if "namespace: 5" in yaml else []))
    assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith(f"error: {tmp_path}: ") and says in done.stderr


def test_a_set_of_ten_megabytes(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path)
    (tmp_path / "snippets").mkdir()
    for number in range(10):
        (tmp_path / f"snippets/{number}.j2").write_text("x" * (1 << 20))
    done = template("render", tmp_path)
    assert done.returncode == 1 and ": a template set has at most 8 MB\n" in done.stderr


def test_a_large_set_yaml(tmp_path: pathlib.Path) -> None:
    done = template("render", make_set(tmp_path, yaml=WATCH + "extra: {port: 1, list: [" + "1, " * 100001 + "1]}\n"))
    assert done.returncode == 1 and "set.yaml:3: more than 100000 values" in done.stderr


def test_folders_that_are_none(tmp_path: pathlib.Path) -> None:
    assert "cannot open" in template("render", tmp_path / "gone").stderr
    (tmp_path / "empty").mkdir()
    assert template("test", tmp_path / "empty").stderr == f"error: {tmp_path}/empty: there is no set.yaml\n"
    make_set(tmp_path / "set")
    (tmp_path / "set/maps/gone.map.j2").symlink_to("nowhere")
    assert "gone.map.j2: No such file" in template("render", tmp_path / "set").stderr


def test_a_template_that_is_wrong(tmp_path: pathlib.Path) -> None:
    done = template("render", make_set(tmp_path, cfg="global\n  {% for x in y %}\n"))
    assert done.returncode == 1 and ": haproxy.cfg:" in done.stderr
    done = template("test", make_set(tmp_path, cfg="global\n{{ resources.service }}\n"))
    assert done.returncode == 1 and "FAIL  one" in done.stdout and "render: haproxy.cfg:2:" in done.stdout


def test_an_error_that_is_expected(tmp_path: pathlib.Path) -> None:
    cfg = CFG + "{% for s in resources.services if s.spec.port == 0 %}{{ fail('no port: ' ~ s.metadata.name) }}{% endfor %}"
    more = TESTS + """  zero:
    fixtures: {services: [{metadata: {name: bad, namespace: x}, spec: {port: 0}}]}
    assertions:
    - {type: rendering_error, pattern: "no port: bad"}
  not:
    assertions:
    - {type: rendering_error}
"""
    done = template("test", make_set(tmp_path, yaml=WATCH + more, cfg=cfg), HAPROXY_BIN="true")
    assert done.returncode == 1 and "ok    zero\n" in done.stdout and "rendering_error: the render did not fail" in done.stdout
    assert template("validate", tmp_path, HAPROXY_BIN="true").stdout == "ok    one\nok    two\n"  # errors are none of HAProxy's concern


def test_one_that_never_ends(tmp_path: pathlib.Path) -> None:
    loop = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
    done = template("render", make_set(tmp_path, cfg=loop), "--timeout=300ms")
    assert done.returncode == 1 and "is there a loop without an end?" in done.stderr


def test_an_unknown_test_and_what_there_is(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path)
    assert template("test", tmp_path, "--test", "tow").stderr == f"error: {tmp_path}: there is no test tow; did you mean two?\n"
    assert template("render", tmp_path, "--test", "_global").stderr.endswith("there is no test _global; there are one, two\n")


def test_how_it_was_asked(tmp_path: pathlib.Path) -> None:
    done = template("diff", tmp_path)
    assert done.returncode == 64 and "template diff needs --against" in done.stderr
    done = template("render", make_set(tmp_path), SECCOMP="perhaps")
    assert done.returncode == 1 and done.stderr == "error: SECCOMP: expected true or false\n"

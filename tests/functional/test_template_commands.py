"""template render, test, validate, diff, benchmark and schema over a set that is right, with sanitizers; once under the filter."""

from __future__ import annotations

import json
import pathlib
import xml.etree.ElementTree as ElementTree

import pytest

from tests.harness.daemon import quick_program
from tests.harness.haproxy import haproxy_binary

from .template_sets import CFG, TESTS, WATCH, make_set, template

needs_haproxy = pytest.mark.skipif(haproxy_binary() is None, reason="no haproxy here")


def test_render_prints_all_files_of_the_shared_fixtures(tmp_path: pathlib.Path) -> None:
    done = template("render", make_set(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "### haproxy.cfg\n" in done.stdout and "    bind 127.0.0.1:8080\n" in done.stdout and "backend shop\n" in done.stdout
    assert done.stdout.endswith("\n### maps/hosts.map\nshop.example.org shop\n") and "map(/etc/haproxy/maps/hosts.map)" in done.stdout
    assert "blog" not in done.stdout and "blog" in template("render", tmp_path, "--test", "two").stdout


def test_render_as_json(tmp_path: pathlib.Path) -> None:
    warns = CFG + "{% for s in resources.services.Fetch('x', 'shop') %}{{ warn(s, 'no <b>') }}{% endfor %}"
    done = template("render", make_set(tmp_path, cfg=warns), "-o", "json", "--test=two")
    said = json.loads(done.stdout)
    assert [file["name"] for file in said["files"]] == ["haproxy.cfg", "maps/hosts.map"]
    assert said["files"][1]["content"] == "blog.example.org blog\n"
    assert said["remarks"] == [{"kind": "Service", "object": "x/shop", "text": "no <b>", "left_out": True}]


def test_the_filter_lets_a_render_through(tmp_path: pathlib.Path) -> None:
    done = template("test", make_set(tmp_path), binary=quick_program())
    assert done.returncode == 0, done.stdout + done.stderr


def test_extra_values_have_their_names_and_are_in_extra(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path, yaml="extra: {port: 1, a-b: 2}\n", cfg="{{ port }} {{ extra.port }} {{ extra['a-b'] }} {{ extra|length }}\n")
    (tmp_path / "maps/hosts.map.j2").unlink()
    assert template("render", tmp_path).stdout == "1 1 2 2\n"


@needs_haproxy
def test_what_holds_is_printed(tmp_path: pathlib.Path) -> None:
    done = template("test", make_set(tmp_path))
    assert (done.returncode, done.stdout) == (0, "ok    one  a backend for each\nok    two\n2 tests, 0 failed\n")
    assert template("test", tmp_path, "--test", "two").stdout == "ok    two\n1 tests, 0 failed\n"


FAILING = TESTS + """  three:
    assertions:
    - {type: match_count, pattern: ^backend, count: 3, description: "<three>"}
    - {type: contains, pattern: shop}
    - {type: contains, target: "map:host.map", pattern: x}
"""


def test_what_does_not_hold_is_printed_with_its_line(tmp_path: pathlib.Path) -> None:
    done = template("test", make_set(tmp_path, yaml=WATCH + FAILING))
    count, target = ('match_count (<three>): haproxy.cfg has "^backend" 1 times, expected 3',
                     "contains: there is no map:host.map: there are haproxy.cfg, map:hosts.map")
    assert done.returncode == 1
    assert f"FAIL  three\n      set.yaml:24: {count}\n      set.yaml:26: {target}\n3 tests, 1 failed" in done.stdout


def test_results_for_programs(tmp_path: pathlib.Path) -> None:
    done = template("test", make_set(tmp_path, yaml=WATCH + FAILING), "-o", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 1 and said["passed"] is False
    assert [(test["name"], test["passed"]) for test in said["tests"]] == [("one", True), ("two", True), ("three", False)]
    assert [(a["type"], a["line"], a["result"]) for a in said["tests"][2]["assertions"]] == [
        ("match_count", 24, "failed"), ("contains", 25, "passed"), ("contains", 26, "failed")]
    done = template("test", tmp_path, "-o", "junit")
    suite = ElementTree.fromstring(done.stdout)[0]
    assert (suite.get("tests"), suite.get("failures"), done.returncode) == ("3", "1", 1)
    assert [case.get("name") for case in suite] == ["one", "two", "three"]
    failures = suite.findall("testcase[@name='three']/failure")
    assert len(failures) == 2 and '"^backend" 1 times' in str(failures[0].get("message")) and "(<three>)" in str(failures[0].get("message"))


def fake_haproxy(folder: pathlib.Path, script: str) -> str:
    path = folder / "haproxy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_haproxy_gets_all_files_in_a_folder_that_is_gone_after(tmp_path: pathlib.Path) -> None:
    """path() leads into that folder, which only we can read."""
    seen = tmp_path / "seen"
    haproxy = fake_haproxy(tmp_path, f'cp -r "$(dirname "$3")" {seen}; stat -c %a "$(dirname "$3")" "$3" >{seen}.modes; echo "$1 $2 $3" >{seen}.args')
    made = tmp_path / "tmp"
    made.mkdir()
    done = template("validate", make_set(tmp_path / "set"), "--test", "one", HAPROXY_BIN=haproxy, TMPDIR=str(made))
    assert (done.returncode, done.stdout) == (0, "ok    one\n"), done.stderr
    words = (tmp_path / "seen.args").read_text().split()
    folder = pathlib.Path(words[2]).parent
    assert words[:2] == ["-c", "-f"] and folder.parent == made and not list(made.iterdir())
    assert (seen / "maps/hosts.map").read_text() == "shop.example.org shop\n" and f"map({folder}/maps/hosts.map)" in (seen / "haproxy.cfg").read_text()
    assert (tmp_path / "seen.modes").read_text().split() == ["700", "600"]


def test_what_haproxy_refuses(tmp_path: pathlib.Path) -> None:
    haproxy = fake_haproxy(tmp_path, 'echo "[ALERT]    (1) : config : parsing [$3:7] : unknown keyword \'bnid\' in \'frontend\' section"; exit 1')
    done = template("validate", make_set(tmp_path / "set"), HAPROXY_BIN=haproxy)
    assert done.returncode == 1 and done.stdout.splitlines()[0] == "FAIL  one: haproxy -c: line 7: unknown keyword 'bnid' in 'frontend' section"
    assert "set.yaml:14: haproxy_valid: haproxy -c: line 7: unknown keyword 'bnid'" in template("test", tmp_path / "set", HAPROXY_BIN=haproxy).stdout
    said = json.loads(template("validate", tmp_path / "set", "-o", "json", HAPROXY_BIN=haproxy).stdout)
    assert [test["result"] for test in said["tests"]] == ["failed", "failed"]


@needs_haproxy
def test_what_the_real_haproxy_refuses(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path, cfg=CFG.replace("    bind", "    bnid"))
    done = template("validate", tmp_path)
    assert done.returncode == 1 and "haproxy -c: line 7: unknown keyword 'bnid'" in done.stdout and "/tmp/" not in done.stdout


@pytest.mark.parametrize(("script", "says"), [("kill -SEGV $$", "did not end as it should (signal 11)"), ("exit 77", "did not end as it should (exit status 77)")])
def test_a_haproxy_that_dies_is_no_verdict(tmp_path: pathlib.Path, script: str, says: str) -> None:
    done = template("validate", make_set(tmp_path / "set"), HAPROXY_BIN=fake_haproxy(tmp_path, script))
    assert done.returncode == 1 and says in done.stdout


def test_a_haproxy_that_is_named_has_to_be_there(tmp_path: pathlib.Path) -> None:
    done = template("test", make_set(tmp_path), HAPROXY_BIN="/nonexistent/haproxy")
    assert done.returncode == 1 and "/nonexistent/haproxy" in done.stdout


def test_a_set_without_tests_is_validated_too(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path, yaml=WATCH + "extra: {port: 1}\n")
    done = template("validate", tmp_path, HAPROXY_BIN="true")
    assert (done.returncode, done.stdout) == (0, "ok    without a test's fixtures\n"), done.stderr
    assert template("test", tmp_path).stderr == f"error: {tmp_path}: set.yaml has no tests\n"


# --- diff

def test_two_sets_that_give_the_same(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path / "a")
    make_set(tmp_path / "b", cfg="# otherwise\n\n" + CFG)
    done = template("diff", tmp_path / "a", "--against", tmp_path / "b")
    assert (done.returncode, done.stdout) == (0, "one: the same\ntwo: the same\n"), done.stderr


def test_what_another_set_gives(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path / "new", cfg=CFG.replace("s1 127.0.0.1", "s1 127.0.0.2"))
    make_set(tmp_path / "old", yaml="watch:\n  pods: {apiVersion: v1, kind: Pod}\n  services: {apiVersion: v1, kind: Service}\nextra: {port: 8080}\n")
    (tmp_path / "new/maps/hosts.map.j2").write_text("a b\nc d\n")
    (tmp_path / "new/maps/new.map.j2").write_text("x\n")
    done = template("diff", tmp_path / "new", "--against", tmp_path / "old", "--test", "one", "--color=never")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ("one: differs\n  haproxy.cfg: differs, 10 lines, before 10\n    backend shop\n      - server s1 127.0.0.1:81\n"
                           "      + server s1 127.0.0.2:81\n  maps/hosts.map: differs, 2 lines, before 1\n  maps/new.map: new, 1 lines, before 0\n")
    said = json.loads(template("diff", tmp_path / "new", "--against", tmp_path / "old", "-o", "json").stdout)["tests"]
    assert [(test["test"], test["same"]) for test in said] == [("one", False), ("two", False)]
    assert said[0]["files"][0]["lines"][1] == {"section": "backend shop", "line": "+ server s1 127.0.0.2:81"}
    assert [file["change"] for file in said[0]["files"]] == ["differs", "differs", "new"]
    back = template("diff", tmp_path / "old", "--against", tmp_path / "new")
    assert back.returncode == 2 and "maps/new.map: gone, 0 lines, before 1" in back.stdout and back.stdout.startswith("without a test's fixtures: differs")


def test_a_file_is_a_haproxy_cfg(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path / "set")
    file = tmp_path / "haproxy.cfg"
    file.write_text(template("render", tmp_path / "set").stdout.split("### ")[1].partition("\n")[2])
    done = template("diff", tmp_path / "set", "--against", file, "--test", "one")
    assert (done.returncode, done.stdout) == (0, "one: the same\n"), done.stderr
    file.write_text(file.read_text().replace("mode http", "mode tcp"))
    done = template("diff", tmp_path / "set", "--against", file, "--test", "one")
    assert done.returncode == 2 and "    defaults unnamed_defaults_1\n      - mode tcp\n      + mode http\n" in done.stdout


def test_what_cannot_be_compared(tmp_path: pathlib.Path) -> None:
    make_set(tmp_path / "set")
    done = template("diff", tmp_path / "set", "--against", tmp_path / "gone")
    assert done.returncode == 1 and done.stderr == f"error: {tmp_path}/set: {tmp_path}/gone: No such file or directory\n"
    make_set(tmp_path / "bad", cfg="{{ x }}")
    done = template("diff", tmp_path / "set", "--against", tmp_path / "bad")
    assert done.returncode == 1 and f"{tmp_path}/bad: haproxy.cfg:1:" in done.stderr


# --- benchmark, schema

def test_benchmark_says_how_long_and_how_much(tmp_path: pathlib.Path) -> None:
    done = template("benchmark", make_set(tmp_path), "--count", "3", "-o", "json")
    one, two = (json.loads(line) for line in done.stdout.splitlines())
    assert (one["test"], one["renders"], one["objects"], two["objects"]) == ("one", 3, 1, 2)
    assert 0 < one["p50_ms"] <= one["p95_ms"] and 0 < one["bytes"] < two["bytes"]
    done = template("benchmark", tmp_path, "--test", "one")
    assert done.returncode == 0 and done.stdout.startswith(f"one: 20 renders of 1 objects to {one['bytes']} bytes: p50 ")


def test_schema_is_json_and_has_each_key(tmp_path: pathlib.Path) -> None:
    said = json.loads(template("schema").stdout)
    assert {"watch", "haproxy.cfg", "watched_resources", "tests"} <= said["properties"].keys() and said["additionalProperties"] is False
    assert "haproxy_valid" in said["$defs"]["assertion_type"]["enum"]
    for name in (name for properties in [said, *said["$defs"].values()] for name in json.dumps(properties).split('"#/$defs/')[1:]):
        assert name.partition('"')[0] in said["$defs"]


def many(count: int) -> str:
    services = "".join(f"      - {{metadata: {{name: s{i:05}, namespace: x}}, spec: {{port: {i + 1}}}}}\n" for i in range(count))
    return WATCH + "tests:\n  _global:\n    fixtures:\n      services:\n" + services + "  one: {assertions: [{type: deterministic}]}\n"


def test_any_number_of_objects_is_left_out(tmp_path: pathlib.Path) -> None:
    says = "{% for s in resources.services if s.spec.port > 3 %}{{ warn(s, 'no') }}{% endfor %}{{ resources.services | map(attribute='metadata.name') | join(' ') }}\n"
    make_set(tmp_path, yaml=many(3000), cfg=says)
    (tmp_path / "maps/hosts.map.j2").unlink()
    said = json.loads(template("render", tmp_path, "-o", "json").stdout)
    assert said["files"][0]["content"] == "s00000 s00001 s00002\n" and len(said["remarks"]) == 2997


def test_an_error_of_what_is_left_out_is_none(tmp_path: pathlib.Path) -> None:
    """One template fails by an object that another one warns of: in the next pass neither sees it."""
    make_set(tmp_path, cfg="{% for s in resources.services if s.spec.port == 81 %}{{ warn(s, 'no') }}{% endfor %}{{ resources.services | length }}\n")
    (tmp_path / "maps/hosts.map.j2").write_text("{% for s in resources.services if s.spec.port == 81 %}{{ s.spec.nothing.there }}{% endfor %}ok yes\n")
    done = template("render", tmp_path)
    assert done.returncode == 0 and "### maps/hosts.map\nok yes\n" in done.stdout and "### haproxy.cfg\n0\n" in done.stdout, done.stdout + done.stderr
    (tmp_path / "maps/hosts.map.j2").write_text("{{ resources.services.nothing.there }}\n")
    done = template("render", tmp_path)
    assert done.returncode == 1 and "maps/hosts.map:1:" in done.stderr, "what remains stands"

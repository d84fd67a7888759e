"""Files that HAProxy takes and whose meaning a write changes, and the preview that shows it: the file as a transaction would leave it."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane, haproxy_binary
from tests.harness.process import wait_until

from .conftest import CONFIG
from .say import backend_lines, error, reload_id, server, without_header

RAW = "/configuration/raw"
SERVERS = "/configuration/backends/be/servers"
DEFAULTS = """
defaults
  mode tcp
  timeout connect 3s
  timeout client 31s
  timeout server 31s

backend web
  server a 127.0.9.7:80
"""
CONDITION = """
backend conditional
  .if defined(NOT_THERE)
  server yes 127.0.9.7:1
  balance source
  .else
  server no 127.0.9.7:2
  balance roundrobin
  .endif
  option tcp-check
"""
BETWEEN = """
backend between
  server plain 127.0.9.7:1
  default-server check inter 9s
  server checked 127.0.9.7:2
"""
LONG = "\nbackend long\n  mode tcp\n  # " + "x" * 65532 + "\n  server lost 127.0.9.7:1\n\nbackend lost_too\n  mode tcp\n"
ONCE = """
backend once
  balance leastconn
  option abortonclose
  # above the second
  balance first # beside it
  timeout server 5s
  no option abortonclose
  timeout server 6s
"""


def preview(plane: DataPlane, tid: str) -> str:
    answer = plane.get(f"{RAW}?transaction_id={tid}")
    assert answer.status == 200, answer.text
    return answer.text


def written(plane: DataPlane) -> str:
    """The file after an empty commit, without its head."""
    reload_id(plane.commit(plane.begin()))
    return without_header(plane.file())


def heads(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match("(defaults|frontend|backend)", line)]


@pytest.mark.parametrize("more", ["", DEFAULTS, CONDITION, BETWEEN, LONG, ONCE],
                         ids=["plain", "defaults", "condition", "between", "long", "once"])
def test_the_preview_shows_what_a_commit_leaves(fresh: Callable[..., DataPlane], more: str) -> None:
    """That of an empty transaction all that the API itself changes, that of one with a server that server beside it."""
    plane = fresh(CONFIG + more)
    before, tid = plane.file(), plane.begin()
    empty = preview(plane, tid)
    assert plane.file() == before, "nothing is written by reading"
    assert empty.splitlines()[0].startswith("# _md5hash=") and empty.splitlines()[1] == "# _version=1"
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server("n1")).status == 202
    one = preview(plane, tid)
    added = [line for line in without_header(one).splitlines() if line not in without_header(empty).splitlines()]
    assert added == ["  server n1 127.0.9.2:30443 check weight 100"]
    assert without_header(one).replace(added[0] + "\n", "") == without_header(empty)
    reload_id(plane.commit(tid))
    assert without_header(plane.file()) == without_header(one)
    assert plane.file().splitlines()[1] == "# _version=2"


def test_of_a_file_that_the_api_wrote_the_preview_is_that_file(plane: DataPlane) -> None:
    assert preview(plane, plane.begin()) == plane.file()


def test_a_preview_of_no_transaction(plane: DataPlane) -> None:
    assert plane.get(f"{RAW}?transaction_id=00000000-0000-0000-0000-000000000000").status >= 400


def test_a_deleted_transaction_leaves_the_file(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh(CONFIG + DEFAULTS)
    before, tid = plane.file(), plane.begin()
    assert preview(plane, tid) != before
    assert plane.delete(f"/transactions/{tid}").status == 204
    assert plane.file() == before and plane.version() == 1


def test_several_unnamed_defaults_move_together(fresh: Callable[..., DataPlane]) -> None:
    text = written(fresh(CONFIG + DEFAULTS))
    assert heads(text) == ["defaults unnamed_defaults_1", "defaults unnamed_defaults_2", "frontend fe from unnamed_defaults_1",
                           *(f"backend {name} from unnamed_defaults_1" for name in ("bare", "be", "other", "slots")),
                           "backend web from unnamed_defaults_2"]


def test_without_from_where_haproxy_shows_no_hash(fresh: Callable[..., DataPlane], tmp_path: pathlib.Path) -> None:
    """The API cannot read such a version: all proxies inherit the last defaults from then on."""
    haproxy = tmp_path / "haproxy-of-no-git"
    real = haproxy_binary()
    haproxy.write_text(f'#!/bin/sh\n[ "$*" != -v ] || {{ {real} -v | sed "s/-[^ ]* / /"; exit; }}\nexec {real} "$@"\n')
    haproxy.chmod(0o755)
    text = written(fresh(CONFIG + DEFAULTS, binary=str(haproxy)))
    assert heads(text) == ["defaults unnamed_defaults_1", "defaults unnamed_defaults_2", "frontend fe",
                           *(f"backend {name}" for name in ("bare", "be", "other", "slots", "web"))]


def test_without_from_in_what_is_posted(plane: DataPlane) -> None:
    text = without_header(plane.raw()).replace(" from unnamed_defaults_1", "").replace(" unnamed_defaults_1", "")
    answer = plane.post(f"{RAW}?version={plane.version()}&skip_reload=true", text + DEFAULTS, content_type="text/plain")
    assert answer.status == 201, answer.text
    assert heads(plane.file())[:3] == ["defaults unnamed_defaults_1", "defaults unnamed_defaults_2", "frontend fe"]
    assert "backend web\n" in plane.file()


def test_both_branches_of_a_condition_are_live(fresh: Callable[..., DataPlane]) -> None:
    assert backend_lines(written(fresh(CONFIG + CONDITION)), "conditional") == [
        "  balance roundrobin", "  option tcp-check", "  server yes 127.0.9.7:1", "  server no 127.0.9.7:2",
        "  .if defined(NOT_THERE)", "  .else", "  .endif"]


@pytest.mark.parametrize("keep", ["peers p\n  .if defined(X)\n  peer a 127.0.9.7:10009\n  .endif\n",
                                  "global\n  .if defined(X)\n  nbthread 1\n  .endif\n"], ids=["peers", "global"])
def test_conditions_elsewhere_go_to_the_end_too(fresh: Callable[..., DataPlane], keep: str) -> None:
    text = written(fresh(CONFIG + "\n" + keep))
    section = re.search(rf"^{keep.split()[0]}\b.*\n((?:  .*\n)+)", text, re.M)
    assert section and section[1].splitlines()[-2:] == ["  .if defined(X)", "  .endif"]


def test_a_default_server_moves_before_all_servers(fresh: Callable[..., DataPlane]) -> None:
    assert backend_lines(written(fresh(CONFIG + BETWEEN)), "between") == [
        "  default-server check inter 9s", "  server plain 127.0.9.7:1", "  server checked 127.0.9.7:2"]


def test_a_long_line_ends_the_file(fresh: Callable[..., DataPlane]) -> None:
    """Without a transaction the file cannot be read; every write is answered as ever."""
    plane = fresh(CONFIG + LONG)
    assert "token too long" in error(plane.get(RAW), 500)
    text = written(plane)
    assert backend_lines(text, "long") == ["  mode tcp"] and "lost" not in text
    assert plane.get(RAW).status == 200


def test_a_line_of_65535_bytes_is_none(fresh: Callable[..., DataPlane]) -> None:
    text = written(fresh(CONFIG + LONG.replace("# x", "# ")))
    assert len(max(text.splitlines(), key=len)) == 65535 and "server lost" in text and "lost_too" in text


def test_of_a_word_that_counts_once_the_last_line_stays(fresh: Callable[..., DataPlane]) -> None:
    assert backend_lines(written(fresh(CONFIG + ONCE)), "once") == [
        "  # above the second", "  balance first # beside it", "  no option abortonclose", "  timeout server 6s"]


@pytest.mark.parametrize("how", ["put", "raw"])
def test_every_write_does_it(fresh: Callable[..., DataPlane], how: str) -> None:
    plane = fresh(CONFIG + CONDITION + BETWEEN)
    if how == "put":
        answer = plane.put(f"{SERVERS}/old?version=1", server("old", "127.0.9.1", weight=50))
        assert answer.status in (200, 202), answer.text
    else:
        answer = plane.post(f"{RAW}?version=1&skip_reload=true", plane.raw(), content_type="text/plain")
        assert answer.status == 201, answer.text
    assert backend_lines(plane.file(), "conditional")[-3:] == ["  .if defined(NOT_THERE)", "  .else", "  .endif"]
    assert backend_lines(plane.file(), "between")[0] == "  default-server check inter 9s"


def test_an_edit_by_hand_is_written_anew_by_nobodys_request(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    written(plane)
    beside = plane.config.with_suffix(".by-hand")
    beside.write_text(plane.file() + DEFAULTS + CONDITION + LONG)
    beside.replace(plane.config)
    wait_until(lambda: "# _version=3\n" in plane.file(), 5, "the new version in the file")
    text = plane.file()
    assert "backend web from unnamed_defaults_2\n" in text
    assert backend_lines(text, "conditional")[-3:] == ["  .if defined(NOT_THERE)", "  .else", "  .endif"]
    assert backend_lines(text, "long") == ["  mode tcp"] and "lost" not in text



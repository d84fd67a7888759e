"""haproxy.cfg: what a write does to the rest of it, edits by hand."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.process import free_port, wait_until

from .conftest import CONFIG
from .say import backend_lines, before_3_2, error, reload_id, release, server, without_header

SERVERS = "/configuration/backends/be/servers"


def edit_and_wait(plane: DataPlane, old: str, new: str) -> int:
    """An edit by hand that the API has taken in: in memory first, then in the file. Returns the new version."""
    version = plane.version() + 1
    edit(plane.config, old, new)
    wait_until(lambda: plane.version() == version, 5, "the edit to be noticed")
    wait_until(lambda: f"# _version={version}\n" in plane.file(), 5, "the new version in the file")
    return version


def edit(path: pathlib.Path, old: str, new: str) -> None:
    """An edit as an editor does it: a new file renamed over the old one."""
    text = path.read_text()
    assert old in text
    beside = path.with_suffix(".by-hand")
    beside.write_text(text.replace(old, new))
    beside.replace(path)


def test_the_first_write_sorts_names_and_marks(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    assert plane.version() == 1, "a file without a version is version 1"
    before = plane.file()
    assert before.startswith("global\n"), "reading alone changes nothing"
    reload_id(plane.commit(plane.begin()))
    text = plane.file()
    lines = text.splitlines()
    assert lines[0].startswith("# _md5hash=") and lines[1] == "# _version=2"
    heads = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert heads == ["global", "defaults unnamed_defaults_1", "userlist dataplaneapi",
                     "frontend fe from unnamed_defaults_1",
                     *(f"backend {name} from unnamed_defaults_1" for name in ("bare", "be", "other", "slots"))]
    assert backend_lines(text, "other") == backend_lines(before, "other")
    assert backend_lines(text, "slots") == backend_lines(before, "slots")


def test_what_a_write_does_to_a_file_that_grew_by_hand(fresh: Callable[..., DataPlane]) -> None:
    """rich.cfg becomes rich.written.cfg: lines in the API's order, words as they were, comments after a tab astray."""
    here = pathlib.Path(__file__).parent
    stats = str(free_port())
    plane = fresh((here / "rich.cfg").read_text().replace("{stats}", stats))
    reload_id(plane.commit(plane.begin()))
    expected = (here / "rich.written.cfg").read_text()
    for name, value in (("{d}", str(plane.haproxy.dir)), ("{fe}", str(plane.haproxy.port)), ("{stats}", stats)):
        expected = expected.replace(name, value)
    if before_3_2(plane):  # it also loses the words beside a section's name
        expected = re.sub(r"^((frontend|backend) .*?) # .*$", r"\1", expected, flags=re.M)
    assert without_header(plane.file()).splitlines() == expected.splitlines()


def test_comments_and_unknown_order_survive_a_commit(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("n1"))
    before = plane.file()
    reload_id(plane.commit(tid))
    gone, new = set(before.splitlines()) - set(plane.file().splitlines()), set(plane.file().splitlines()) - set(
        before.splitlines())
    assert [line for line in gone if not line.startswith("# _")] == []
    assert [line for line in new if not line.startswith("# _")] == ["  server n1 127.0.9.2:30443 check weight 100"]


def test_a_second_empty_commit_changes_only_the_head(plane: DataPlane) -> None:
    before = plane.file()
    reload_id(plane.commit(plane.begin()))
    assert without_header(plane.file()) == without_header(before)
    assert plane.file().splitlines()[0] != before.splitlines()[0]


ODD = "  server odd 127.0.9.6:30443 {} weight 3"


@pytest.mark.parametrize("words", ["source 127.0.0.1 interface lo", "socks4 127.0.0.1:1080", "no-tlsv10",
                                   "agent-inter 2s"])
def test_rarer_words_of_a_server_survive(fresh: Callable[..., DataPlane], words: str) -> None:
    plane = fresh(CONFIG.replace("  server one 127.0.9.5", ODD.format(words) + "\n  server one 127.0.9.5"))
    assert plane.get("/configuration/backends/bare/servers/odd").json()["weight"] == 3
    reload_id(plane.commit(plane.begin()))
    assert ODD.format(words) in backend_lines(plane.file(), "bare")


def test_a_server_with_a_word_that_the_api_does_not_know(plane: DataPlane) -> None:
    """3.0 loses the word; later ones keep the line, move it to the end of the backend, and do not show the server."""
    edit_and_wait(plane, "  server sorry", "  server odd 127.0.9.6:1 not-a-word weight 3\n  server sorry")
    shown = {s["name"]: s for s in plane.get(SERVERS).json()}
    lines = backend_lines(plane.file(), "be")
    if release(plane) == (3, 0):
        assert shown["odd"] == {"name": "odd", "address": "127.0.9.6", "port": 1, "weight": 3}
        assert "  server odd 127.0.9.6:1 weight 3" in lines
        return
    assert list(shown) == ["old", "sorry"]
    assert lines[-1] == "  server odd 127.0.9.6:1 not-a-word weight 3"
    error(plane.get(f"{SERVERS}/odd"), 404)
    inside = f"?transaction_id={plane.begin()}"
    error(plane.delete(f"{SERVERS}/odd{inside}"), 404)
    assert plane.post(SERVERS + inside, server("odd")).status == 202, "it does not see the clash"


def test_a_hand_edit_is_noticed_and_kept(plane: DataPlane) -> None:
    version = plane.version()
    assert edit_and_wait(plane, "timeout connect 2s", "timeout connect 3s") == version + 1
    assert "timeout connect 3s" in plane.raw()
    reload_id(plane.commit(plane.begin()))
    assert "timeout connect 3s" in plane.file()


def test_a_hand_edit_ends_open_transactions(plane: DataPlane) -> None:
    version = plane.version()
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server("n1")).status == 202
    edit_and_wait(plane, "timeout connect 2s", "timeout connect 3s")
    refused = plane.commit(tid)
    assert str(version) in error(refused, 409)
    assert refused.headers["Configuration-Version"] == str(version + 1)
    assert plane.get(f"/transactions/{tid}").json()["status"] == "outdated"
    assert plane.delete(f"/transactions/{tid}").status == 204
    assert "n1" not in plane.file() and "timeout connect 3s" in plane.file()


def test_a_server_added_by_hand_is_shown(plane: DataPlane) -> None:
    edit_and_wait(plane, "  server sorry", "  server byhand 127.0.9.6:1 weight 3\n  server sorry")
    assert [s["name"] for s in plane.get(SERVERS).json()] == ["old", "byhand", "sorry"]


def test_a_broken_hand_edit_refuses_everyone_until_it_is_mended(plane: DataPlane) -> None:
    edit_and_wait(plane, "timeout connect 2s", "timeout connect soon")
    for _ in range(2):
        tid = plane.begin()
        assert "timeout connect" in error(plane.commit(tid), 400)
        assert plane.delete(f"/transactions/{tid}").status == 204
    edit_and_wait(plane, "timeout connect soon", "timeout connect 2s")
    reload_id(plane.commit(plane.begin()))

"""The whole configuration as text: read, validated, replaced, refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.http import Response
from tests.harness.parts import needs_haproxy
from tests.harness.process import wait_until

from .say import before_3_4, error, release, reload_id, server, without_header

RAW = "/configuration/raw"
SERVERS = "/configuration/backends/be/servers"
BOGUS = "\nbackend x\n  mode tcp\n  bogus 1\n"


def post_raw(plane: DataPlane, text: str, query: str = "", version: int | None = None, **more: object) -> Response:
    used = plane.version() if version is None else version
    return plane.post(f"{RAW}?version={used}{query}", text, **{"content_type": "text/plain", **more})


def validate(plane: DataPlane, text: str, query: str = "") -> Response:
    return plane.post(f"{RAW}?only_validate=true{query}", text, content_type="text/plain")


def told_line(message: str) -> int:
    """The line of BOGUS of which HAProxy speaks, in either of the forms of its versions; others may stand before it."""
    found = re.search(r"(?:line=(\d+)|\S:(\d+)\]).*bogus", message)
    assert found, message
    return int(found[1] or found[2])


def line_of(text: str, what: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if what in line)


def failed(plane: DataPlane) -> list[str]:
    return [t["id"] for t in plane.get("/transactions?status=failed").json()]


def test_raw_get_is_the_file(plane: DataPlane) -> None:
    answer = plane.get(RAW)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text == plane.file()


def test_raw_get_inside_a_transaction(plane: DataPlane) -> None:
    tid = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={tid}", server("n1"))
    assert "server n1" in plane.get(f"{RAW}?transaction_id={tid}").text
    assert "server n1" not in plane.get(RAW).text


def test_raw_post(plane: DataPlane) -> None:
    version = plane.version()
    text = plane.raw().replace("timeout server 77s", "timeout server 78s")
    answer = post_raw(plane, text)
    rid = reload_id(answer)
    assert answer.headers["Configuration-Version"] == str(version + 1)
    assert answer.text == plane.file()
    assert "timeout server 78s" in answer.text and f"# _version={version + 1}\n" in answer.text
    assert plane.follow(rid)["status"] == "succeeded"


def test_raw_post_that_only_validates(plane: DataPlane) -> None:
    before = plane.file()
    answer = post_raw(plane, before.replace("77s", "78s"), "&only_validate=true")
    assert answer.status == 202 and "Reload-ID" not in answer.headers
    refused = post_raw(plane, before + "\nbackend x\n  bogus 1\n", "&only_validate=true")
    assert error(refused, 400).startswith("validation error"), "3.0.3 says no more than this here"
    stale = plane.post(f"{RAW}?version=1&only_validate=true", before, content_type="text/plain")
    assert stale.status == 202, "no version is checked"
    assert plane.file() == before


def test_raw_post_refused(plane: DataPlane) -> None:
    before, version = plane.file(), plane.version()
    assert "bogus" in error(post_raw(plane, before + "\nbackend x\n  bogus 1\n"), 400)
    error(plane.post(f"{RAW}?version={version - 1}", before, content_type="text/plain"), 409)
    error(plane.post(RAW, before, content_type="text/plain"), 400)
    as_json = plane.post(f"{RAW}?version={version}", "{}", content_type="application/json")
    error(as_json, 400 if before_3_4(plane) else 415)
    assert plane.file() == before and plane.version() == version


def test_raw_post_without_a_reload(plane: DataPlane) -> None:
    worker = plane.haproxy.worker()
    answer = post_raw(plane, plane.raw().replace("77s", "78s"), "&skip_reload=true")
    assert answer.status == 201 and "Reload-ID" not in answer.headers
    assert "78s" in plane.file() and plane.haproxy.worker() == worker


def test_raw_post_with_runtime_actions(plane: DataPlane) -> None:
    worker = plane.haproxy.worker()
    text = plane.raw().replace("server old 127.0.9.1:30443", "server old 127.0.9.9:30555")
    answer = plane.post(f"{RAW}?version={plane.version()}&skip_reload=true", text, content_type="text/plain",
                        headers={"X-Runtime-Actions": "SetServerAddr be old 127.0.9.9 30555"})
    assert answer.status == 201
    haproxy = plane.haproxy  # which takes a moment for it from 3.0 on
    wait_until(lambda: (haproxy.servers("be")["old"]["srv_addr"], haproxy.servers("be")["old"]["srv_port"]) == ("127.0.9.9", "30555"),
               2, "the address and the port")
    assert plane.haproxy.worker() == worker


def test_the_same_text_again_takes_more_runtime_actions(plane: DataPlane) -> None:
    worker, version, text = plane.haproxy.worker(), plane.version(), plane.raw()
    for number, state in enumerate(("maint", "ready")):
        answer = plane.post(f"{RAW}?version={version + number}&skip_reload=true", text, content_type="text/plain",
                            headers={"X-Runtime-Actions": f"SetServerState be old {state}"})
        assert answer.status == 201 and plane.version() == version + number + 1
        assert plane.haproxy.states("be")["old"] == state
    assert without_header(plane.raw()) == without_header(text) and plane.haproxy.worker() == worker


def test_a_posted_proxy_without_from_keeps_none(plane: DataPlane) -> None:
    """The API adds `from` when it reads the file at its start or after an edit by hand, not to a posted text."""
    text = plane.raw() + "\nbackend zz\n  mode tcp\n  server a 127.0.0.1:9\n"
    answer = post_raw(plane, text, "&skip_reload=true")
    if answer.status == 400:
        assert "explicit" in answer.text or "defaults" in answer.text, release(plane)
        return
    assert "\nbackend zz\n" in plane.file()


# validated

def test_lines_of_a_validation_are_those_of_the_body(plane: DataPlane) -> None:
    text = "\n\n# of a user\n\n" + without_header(plane.raw()) + BOGUS
    message = error(validate(plane, text), 400)
    if "bogus" not in message:
        pytest.skip(f"{plane.play} says no more than {message}")
    assert told_line(message) == line_of(text, "bogus")
    assert failed(plane) == [], "no transaction is left behind"


@pytest.mark.parametrize("more", ["&skip_reload=true", "&force_reload=true", "&version=1", "&version=0"])
def test_a_validation_does_nothing_else(plane: DataPlane, more: str) -> None:
    before, version, worker = plane.file(), plane.version(), plane.haproxy.worker()
    answer = validate(plane, before.replace("77s", "78s"), more)
    assert answer.status == 202 and "Reload-ID" not in answer.headers
    assert answer.text == before, "the answer is the file as it is, not what was sent"
    assert plane.file() == before and plane.version() == version and plane.haproxy.worker() == worker


def test_a_validation_passes_what_a_write_would_change(plane: DataPlane) -> None:
    text = plane.raw() + "\nbackend c\n  mode tcp\n  .if defined(X)\n  server a 127.0.9.1:1\n  .endif\n"
    assert validate(plane, text).status == 202
    assert validate(plane, text + "  # " + "x" * 70000 + "\n").status == 202


def test_the_words_of_a_flag(plane: DataPlane) -> None:
    text = plane.raw()
    for word in ("true", "1", "TRUE", "t"):
        assert plane.post(f"{RAW}?only_validate={word}", text, content_type="text/plain").status == 202, word
    lenient = plane.post(f"{RAW}?only_validate=yes", text, content_type="text/plain")
    assert lenient.status == 202 if before_3_4(plane) else "only_validate" in error(lenient, 400)


# replaced

def test_the_checksum_comes_where_the_api_has_written_the_file(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    assert "Configuration-Checksum" not in plane.get(RAW).headers
    assert "Configuration-Checksum" not in validate(plane, plane.raw()).headers
    answer = post_raw(plane, plane.raw(), "&skip_reload=true")
    if "Configuration-Checksum" in answer.headers:  # not in each version
        assert answer.text.startswith(f"# _md5hash={answer.headers['Configuration-Checksum']}\n")
    assert answer.text == plane.file()


def test_a_forced_reload_is_over_with_the_answer(plane: DataPlane) -> None:
    text = plane.raw().replace("server old 127.0.9.1:30443", "server old 127.0.9.8:30443")
    answer = post_raw(plane, text, "&force_reload=true")
    assert answer.status == 201 and "Reload-ID" not in answer.headers and answer.text == plane.file()
    wait_until(plane.haproxy.answers_anew, 5)
    assert plane.haproxy.servers("be")["old"]["srv_addr"] == "127.0.9.8"


def test_skip_reload_wins_over_force_reload(plane: DataPlane) -> None:
    worker = plane.haproxy.worker()
    answer = post_raw(plane, plane.raw().replace("77s", "78s"), "&skip_reload=true&force_reload=true")
    assert answer.status == 201 and "78s" in plane.file() and plane.haproxy.worker() == worker


def test_a_write_of_no_transaction(plane: DataPlane) -> None:
    """transaction_id is none of its words: no transaction is searched for, and the file is written."""
    answer = post_raw(plane, plane.raw().replace("77s", "78s"), "&skip_reload=true&transaction_id=none")
    assert answer.status == 201 and "78s" in plane.file()


def test_a_forced_reload_that_fails_puts_the_last_good_file_back(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    plane.follow(reload_id(post_raw(plane, plane.raw())))
    good, version = plane.file(), plane.version()
    text = good.replace("  default_backend be\n", "  default_backend be\n  bind /nowhere/at/all.sock\n")
    assert "eload failed" in error(post_raw(plane, text, "&force_reload=true"), 400)
    assert plane.file() == good and plane.version() == version + 1
    assert failed(plane) == []


# the head of the text

def test_a_version_in_the_text_is_none(plane: DataPlane) -> None:
    """The line is dropped wherever it stands at a line's beginning; other comments at the head are kept."""
    version = plane.version()
    text = "# _md5hash=0\n# _version=900\n# of a user\n" + without_header(plane.raw()) + "# _version=44\n  # _version=45\n"
    assert post_raw(plane, text, "&skip_reload=true").status == 201
    lines = plane.file().splitlines()
    assert lines[1:3] == [f"# _version={version + 1}", "# of a user"]
    assert [line for line in lines[2:] if "_version" in line] == ["  # _version=45"]
    assert plane.version() == version + 1


def test_skip_version_takes_that_of_the_text_and_never_counts_on(fresh: Callable[..., DataPlane]) -> None:
    plane = fresh()
    text = without_header(plane.raw())
    for head, version in (("# _version=77\n", 77), ("# _version=77\n", 77), ("", 1), ("#_version=8\n", 1)):
        answer = plane.post(f"{RAW}?skip_version=true&skip_reload=true", head + text, content_type="text/plain")
        assert answer.status == 201 and answer.headers["Configuration-Version"] == str(version), head
        assert plane.version() == version and plane.file().splitlines()[1] == f"# _version={version}"
    answer = post_raw(plane, "# _version=5\n" + text, "&skip_version=true&skip_reload=true", 900)
    assert answer.status == 201 and plane.version() == 5, "no version is compared then"


# refused

def test_a_refusal_leaves_the_file_and_a_failed_transaction(plane: DataPlane) -> None:
    before, version = plane.file(), plane.version()
    text = before + BOGUS
    message = error(post_raw(plane, text), 400)
    assert "bogus" in message and message.startswith("validation error: exit status 1: err transactionId=")
    assert plane.file() == before and plane.version() == version
    tid, = failed(plane)
    assert tid in message
    assert plane.get(f"/transactions/{tid}").json() == {"id": tid, "status": "failed"}
    left = plane.get(f"{RAW}?transaction_id={tid}").text
    assert told_line(message) == line_of(left, "bogus"), "lines are those of what would have been written"
    assert "bogus" in error(post_raw(plane, text), 400) and len(failed(plane)) == 2, "one for each refusal"
    for tid in failed(plane):
        assert plane.delete(f"/transactions/{tid}").status == 204
    assert plane.get("/transactions").json() == []


@pytest.mark.parametrize("wrong, status", [(-1, 409), (1, 409), (None, 400)])
def test_a_version_that_is_not_the_files(plane: DataPlane, wrong: int | None, status: int) -> None:
    before, version = plane.file(), plane.version()
    message = error(post_raw(plane, before.replace("77s", "78s"), version=0 if wrong is None else version + wrong), status)
    if wrong is not None:
        assert message == f"version mismatch: version in configuration file is {version}, given version is {version + wrong}"
    assert plane.file() == before and plane.get("/transactions").json() == []


def test_a_version_that_is_no_number(plane: DataPlane) -> None:
    answer = plane.post(f"{RAW}?version=abc", plane.raw(), content_type="text/plain")
    assert "version" in error(answer, 422 if before_3_4(plane) else 400)


@pytest.mark.parametrize("query", ["", "&only_validate=true"])
def test_a_body_that_is_none(plane: DataPlane, query: str) -> None:
    before = plane.file()
    error(post_raw(plane, "", query), 422 if before_3_4(plane) else 400)
    assert "no newline character" in error(post_raw(plane, "global", query), 400)
    assert plane.file() == before
    assert failed(plane) == []


# An older one lets a master run without one.
@needs_haproxy("3.1", lambda version: version >= (3, 1))
@pytest.mark.parametrize("query", ["", "&only_validate=true"])
def test_a_text_without_a_listener(plane: DataPlane, query: str) -> None:
    before = plane.file()
    assert error(post_raw(plane, "\n", query), 400).startswith("validation error: exit status ")
    assert plane.file() == before
    assert len(failed(plane)) == (0 if query else 1)


def test_without_a_newline_at_its_end_a_text_is_written_but_not_validated(plane: DataPlane) -> None:
    text = plane.raw().rstrip("\n")
    message = error(validate(plane, text), 400)
    assert "Missing LF" in message or message.startswith("validation error: exit status 1"), message
    assert post_raw(plane, text, "&skip_reload=true").status == 201
    assert plane.file().endswith("\n") and without_header(plane.file()) == without_header(text) + "\n"


def test_carriage_returns_are_stripped(plane: DataPlane) -> None:
    before = plane.raw()
    assert post_raw(plane, before.replace("\n", "\r\n"), "&skip_reload=true").status == 201
    assert b"\r" not in plane.config.read_bytes() and without_header(plane.file()) == without_header(before)


def test_the_kind_of_a_text(plane: DataPlane) -> None:
    assert post_raw(plane, plane.raw(), "&skip_reload=true", content_type="text/plain; charset=utf-8").status == 201
    error(post_raw(plane, plane.raw(), content_type="application/octet-stream"), 415)


# runtime actions

def acted(plane: DataPlane, actions: str, query: str = "&skip_reload=true") -> Response:
    return post_raw(plane, plane.raw(), query, headers={"X-Runtime-Actions": actions})


def weight(plane: DataPlane, name: str) -> int:
    return int(plane.haproxy.servers("be")[name]["srv_uweight"])


def test_actions_are_heeded_with_skip_reload_alone(plane: DataPlane) -> None:
    acted(plane, "SetServerWeight be old 7;SetServerState be sorry maint")
    haproxy = plane.haproxy
    assert haproxy is not None
    wait_until(lambda: haproxy.states("be")["sorry"] == "maint" and weight(plane, "old") == 7, 30, "both")
    plane.follow(reload_id(acted(plane, "SetServerWeight be old 9", "")))
    assert weight(plane, "old") == 100, "what the file says after the reload"


def test_an_unknown_action_is_none(plane: DataPlane) -> None:
    assert acted(plane, "DoSomething be old").status == 201
    assert acted(plane, "SetServerState be sorry ready; SetServerWeight be old 7").status == 201, "for its blank"
    assert weight(plane, "old") == 100


def test_an_action_that_fails_stops_the_rest_and_the_file_is_the_new_one(plane: DataPlane) -> None:
    version = plane.version()
    answer = post_raw(plane, plane.raw().replace("77s", "78s"), "&skip_reload=true", headers={
        "X-Runtime-Actions": "SetServerWeight be old 7;SetServerWeight be nobody 1;SetServerWeight be sorry 3"})
    assert "SetServerWeight" in error(answer, 500)
    assert answer.headers["Configuration-Version"] == str(version + 1), "which shows that the file was written"
    assert plane.version() == version + 1 and "78s" in plane.file()
    assert weight(plane, "old") == 7 and weight(plane, "sorry") == 1
    assert all(r["status"] != "in_progress" for r in plane.get("/reloads").json()), "no reload comes by itself"


def test_what_is_refused_reaches_no_haproxy(plane: DataPlane) -> None:
    actions = {"X-Runtime-Actions": "SetServerWeight be old 7"}
    error(post_raw(plane, plane.raw() + BOGUS, "&skip_reload=true", headers=actions), 400)
    answer = plane.post(f"{RAW}?version={plane.version() + 7}&skip_reload=true", plane.raw(), content_type="text/plain", headers=actions)
    assert answer.status == 409 and weight(plane, "old") == 100


def test_an_address_of_ipv6_is_sent(plane: DataPlane) -> None:
    text = plane.raw().replace("server old 127.0.9.1:30443", "server old [fd00::7]:30555")
    answer = post_raw(plane, text, "&skip_reload=true", headers={"X-Runtime-Actions": "SetServerAddr be old fd00::7 30555"})
    assert answer.status == 201 and "server old [fd00::7]:30555" in plane.file()
    wait_until(lambda: plane.get("/runtime/backends/be/servers/old").json()["address"] == "fd00::7", 30, "the address")


def test_comments_at_the_top_stay(plane: DataPlane) -> None:
    """One of a few hundred bytes, too."""
    head = "# one\n# two: " + "SetServerAddr be old 127.0.9.1 30443;" * 14 + "\n"
    answer = post_raw(plane, head + without_header(plane.raw()), "&skip_reload=true")
    assert answer.status == 201 and head in answer.text and head in plane.raw()

"""Files beside the configuration: maps, general files, certificates, lists of certificates; maps of the running HAProxy."""

from __future__ import annotations

import hashlib
import pathlib
import re
import ssl
import subprocess
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.certificates import Pair, self_signed
from tests.harness.haproxy import DataPlane, haproxy_binary
from tests.harness.http import Response
from tests.harness.process import free_port

from .say import before_3_2, before_3_4, error, is_3_2_0, refuses_signs, reload_id

KINDS = ("maps", "general", "ssl_certificates")
LISTS = "ssl_crt_lists"
ERROR_PAGE = "HTTP/1.0 503 x\r\n\r\n"


def upload(plane: DataPlane, kind: str, name: str, content: str, query: str = "", method: str = "POST", at: str = "") -> Response:
    body = (f'--cut\r\nContent-Disposition: form-data; name="file_upload"; filename="{name}"\r\n'
            f"Content-Type: application/octet-stream\r\n\r\n{content}\r\n--cut--\r\n")
    return plane.request(method, f"/storage/{kind}{at}{query}", body, content_type="multipart/form-data; boundary=cut")


def put(plane: DataPlane, kind: str, name: str, content: str, query: str = "") -> Response:
    if kind == "general":
        return upload(plane, kind, name, content, query, "PUT", f"/{name}")
    return plane.put(f"/storage/{kind}/{name}{query}", content, content_type="text/plain")


def stored(plane: DataPlane, kind: str) -> dict[str, str]:
    """Name -> path of all files of a kind."""
    answer = plane.get(f"/storage/{kind}")
    assert answer.status == 200, answer.text
    return {found["storage_name"]: found["file"] for found in answer.json()}


def content(plane: DataPlane, kind: str, name: str) -> str:
    answer = plane.get(f"/storage/{kind}/{name}")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/octet-stream", answer.text
    return answer.text


def pem(pair: Pair) -> str:
    return pair.certificate.read_text() + pair.key.read_text()


@pytest.fixture(autouse=True)
def no_files(plane: DataPlane) -> Iterator[None]:
    yield
    _written(plane, plane.first[0])  # type: ignore[attr-defined]
    for kind in (*([] if before_3_2(plane) else [LISTS]), *KINDS):
        for name in stored(plane, kind):
            assert plane.delete(f"/storage/{kind}/{name}?skip_reload=true").status == 204, name
    if any(r["status"] == "in_progress" for r in plane.get("/reloads").json()):
        plane.follow(reload_id(plane.commit(plane.begin())))


def _written(plane: DataPlane, text: str) -> None:
    answer = plane.post(f"/configuration/raw?version={plane.version()}&force_reload=true", text, content_type="text/plain")
    assert answer.status == 201, answer.text


# maps and general files

def test_a_map(plane: DataPlane) -> None:
    version = plane.version()
    created = upload(plane, "maps", "hosts.map", "a.example b1\n")
    assert created.status == 201 and "Reload-ID" not in created.headers
    model = created.json()
    assert model == {"description": "managed but not loaded map file (no runtime ID)", "file": model["file"], "size": 13,
                     "storage_name": "hosts.map"}
    assert pathlib.Path(model["file"]).read_text() == "a.example b1\n" == content(plane, "maps", "hosts.map")
    assert stored(plane, "maps") == {"hosts.map": model["file"]}
    assert "already exists" in error(upload(plane, "maps", "hosts.map", "a.example b2\n"), 409)
    assert put(plane, "maps", "hosts.map", "a.example b3\n", "?skip_reload=true").status == 204
    assert content(plane, "maps", "hosts.map") == "a.example b3\n"
    plane.follow(reload_id(put(plane, "maps", "hosts.map", "a.example b4\n")))
    assert put(plane, "maps", "hosts.map", "a.example b5\n", "?force_reload=true").status == 204
    assert plane.delete("/storage/maps/hosts.map").status == 204
    assert stored(plane, "maps") == {} and plane.version() == version, "no version is counted for files"


def test_a_general_file(plane: DataPlane) -> None:
    created = upload(plane, "general", "e.503.http", ERROR_PAGE)
    assert created.status == 201 and "Reload-ID" not in created.headers
    model = created.json()
    assert model == {"description": "managed general use file", "file": model["file"], "size": 18, "storage_name": "e_503.http"}
    assert content(plane, "general", "e_503.http") == ERROR_PAGE and stored(plane, "general") == {"e_503.http": model["file"]}
    error(upload(plane, "general", "e.503.http", ERROR_PAGE), 409)
    assert put(plane, "general", "e_503.http", ERROR_PAGE + "y", "?skip_reload=true").status == 204
    plane.follow(reload_id(put(plane, "general", "e_503.http", ERROR_PAGE + "z")))
    assert content(plane, "general", "e_503.http") == ERROR_PAGE + "z"
    assert plane.delete("/storage/general/e_503.http").status == 204


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_none(plane: DataPlane, kind: str) -> None:
    assert "doesn't exist" in error(plane.get(f"/storage/{kind}/none.map"), 404)
    assert "doesn't exist" in error(plane.delete(f"/storage/{kind}/none.map"), 404)
    error(put(plane, kind, "none.map", "x y\n"), 404)
    assert stored(plane, kind) == {}


@pytest.mark.parametrize("kind, given, name", [
    ("maps", "paths", "paths.map"), ("maps", "a.b.map", "a_b.map"), ("maps", "a-b_c.map", "a-b_c.map"),
    ("general", "lua", "lua"), ("general", "a.b.c.lua", "a_b_c.lua"), ("general", "a b.lua", "a_b.lua")])
def test_the_name_of_a_file_is_changed(plane: DataPlane, kind: str, given: str, name: str) -> None:
    answer = upload(plane, kind, given, "x y\n")
    assert answer.status == 201 and answer.json()["storage_name"] == name
    assert list(stored(plane, kind)) == [name]
    error(upload(plane, kind, name, "x y\n"), 409)


def test_two_names_that_become_the_same(plane: DataPlane) -> None:
    assert upload(plane, "general", "a.b.lua", "1\n").status == 201
    error(upload(plane, "general", "a_b.lua", "2\n"), 409)
    assert content(plane, "general", "a_b.lua") == "1\n"


# certificates

@pytest.mark.parametrize("key", ["rsa", "ec"])
def test_a_certificate(plane: DataPlane, tmp_path: pathlib.Path, key: str) -> None:
    first, second = (pem(self_signed(tmp_path, "www.example.com", key)) for _ in range(2))
    created = upload(plane, "ssl_certificates", "www.example.com.pem", first)
    if before_3_2(plane):
        plane.follow(reload_id(created))
    else:
        assert created.status == 201 and "Reload-ID" not in created.headers
    model = created.json()
    assert model["storage_name"] == "www_example_com.pem" and model["size"] == len(first)
    assert is_3_2_0(plane) or (model["subject"] == model["issuers"] == "www.example.com" and model["not_before"] < model["not_after"])
    one = plane.get("/storage/ssl_certificates/www_example_com.pem").json()
    assert one == model, "never the bytes"
    assert stored(plane, "ssl_certificates") == {"www_example_com.pem": model["file"]}
    error(upload(plane, "ssl_certificates", "www.example.com.pem", second), 409)
    replaced = put(plane, "ssl_certificates", "www_example_com.pem", second, "?skip_reload=true")
    assert replaced.status == 200 and (is_3_2_0(plane) or replaced.json()["serial"] != model["serial"])
    assert pathlib.Path(model["file"]).read_text() == second
    answer = put(plane, "ssl_certificates", "www_example_com.pem", first)
    if before_3_2(plane):
        plane.follow(reload_id(answer))
    else:
        assert answer.status == 200, "by the runtime"
    plane.follow(reload_id(plane.delete("/storage/ssl_certificates/www_example_com.pem")))
    assert stored(plane, "ssl_certificates") == {}


def test_skip_reload_of_a_certificate(plane: DataPlane, tmp_path: pathlib.Path) -> None:
    answer = upload(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "a")), "?skip_reload=true")
    assert answer.status == 201 and "Reload-ID" not in answer.headers
    assert plane.delete("/storage/ssl_certificates/a.pem?skip_reload=true").status == 204


@pytest.mark.parametrize("what", ["ed25519", "no key", "key alone", "neither"])
def test_what_the_api_takes_for_no_certificate(plane: DataPlane, tmp_path: pathlib.Path, what: str) -> None:
    pair = self_signed(tmp_path, "a", "ed25519" if what == "ed25519" else "ec")
    text = {"ed25519": pem(pair), "no key": pair.certificate.read_text(), "key alone": pair.key.read_text(), "neither": "hello\n"}[what]
    message = error(upload(plane, "ssl_certificates", "a.pem", text), 500)
    assert message == ("file should contain both certificate and private key" if what in ("ed25519", "no key")
                       else "failed to parse certificate")
    assert stored(plane, "ssl_certificates") == {}
    assert upload(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "b")), "?skip_reload=true").status == 201
    assert error(put(plane, "ssl_certificates", "a.pem", text), 500) == message
    assert upload(plane, "general", "a.pem", text).status == 201, "general files are any"


def test_lists_of_certificates(plane: DataPlane, tmp_path: pathlib.Path) -> None:
    if before_3_2(plane):
        error(plane.get(f"/storage/{LISTS}"), 404)
        error(upload(plane, LISTS, "sites.txt", "x\n"), 404)
        return
    upload(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "a")), "?skip_reload=true")
    file = stored(plane, "ssl_certificates")["a.pem"]
    assert plane.get(f"/storage/{LISTS}").json() == []
    created = upload(plane, LISTS, "sites.txt", f"{file}\n")
    plane.follow(reload_id(created))
    model = created.json()
    assert model == {"description": "managed certificate list", "file": model["file"], "size": len(file) + 1,
                     "storage_name": "sites.txt"}
    plane.follow(reload_id(upload(plane, LISTS, "more.txt", f"{file}\n", "?skip_reload=true")))
    assert set(stored(plane, LISTS)) == {"more.txt", "sites.txt"} and set(stored(plane, "ssl_certificates")) == {"a.pem"}
    assert content(plane, LISTS, "sites.txt") == f"{file}\n"
    assert put(plane, LISTS, "sites.txt", f"{file} [alpn h2]\n", "?skip_reload=true").status < 300
    plane.follow(reload_id(put(plane, LISTS, "sites.txt", f"{file}\n")))
    assert plane.delete(f"/storage/{LISTS}/more.txt?skip_reload=true").status == 204
    plane.follow(reload_id(plane.delete(f"/storage/{LISTS}/sites.txt")))


# in use

@pytest.fixture
def used(plane: DataPlane, tmp_path: pathlib.Path) -> dict[str, str]:
    """A map, a page and a certificate that a frontend refers to: kind -> path."""
    upload(plane, "maps", "hosts.map", "a.example be\n")
    upload(plane, "general", "sorry.http", ERROR_PAGE)
    upload(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "a")), "?skip_reload=true")
    files = {kind: next(iter(stored(plane, kind).values())) for kind in KINDS}
    frontend = (f"frontend tls\n  mode http\n  timeout client 5s\n  bind 127.0.0.1:{free_port()} ssl crt {files['ssl_certificates']}\n"
                f"  errorfile 503 {files['general']}\n  use_backend %[req.hdr(host),map({files['maps']},be)]\n"
                "  default_backend web\n\nbackend web\n  mode http\n\n")
    _written(plane, plane.raw().replace("backend other", frontend + "backend other"))
    return files


def test_what_is_in_use_is_not_deleted(plane: DataPlane, used: dict[str, str]) -> None:
    lines = plane.file().splitlines()
    for kind, file in used.items():
        number, line = next((n, line.strip()) for n, line in enumerate(lines, 1) if file in line)
        answer = plane.delete(f"/storage/{kind}/{pathlib.Path(file).name}?skip_reload=true")
        message = error(answer, 409)
        assert message == f"rejecting attempt to delete file {file} referenced in haproxy conf at line {number - 3}: {line}"
        assert pathlib.Path(file).exists()


def test_a_configuration_that_names_a_file_that_is_none(plane: DataPlane, used: dict[str, str]) -> None:
    before = plane.file()
    text = before.replace(used["maps"], used["maps"].replace("hosts", "none"))
    answer = plane.post(f"/configuration/raw?version={plane.version()}", text, content_type="text/plain")
    assert "none.map" in error(answer, 400) and plane.file() == before


def serial(plane: DataPlane, file: str) -> int:
    """Of the certificate that the running HAProxy has by this path."""
    found = [line for line in plane.haproxy.runtime(f"show ssl cert {file}").splitlines() if line.startswith("Serial: ")]
    return int(found[0].partition(" ")[2], 16)


def test_a_certificate_in_use_is_replaced_live_from_3_2_on(plane: DataPlane, used: dict[str, str], tmp_path: pathlib.Path) -> None:
    worker, file = plane.haproxy.worker(), used["ssl_certificates"]
    answer = put(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "b")))
    if before_3_2(plane):
        plane.follow(reload_id(answer))
    else:
        assert answer.status == 200 and plane.haproxy.worker() == worker
    assert is_3_2_0(plane) or serial(plane, file) == int(answer.json()["serial"])


def test_skip_reload_replaces_the_file_alone(plane: DataPlane, used: dict[str, str], tmp_path: pathlib.Path) -> None:
    before = serial(plane, used["ssl_certificates"])
    answer = put(plane, "ssl_certificates", "a.pem", pem(self_signed(tmp_path, "b")), "?skip_reload=true")
    assert answer.status == 200 and (is_3_2_0(plane) or int(answer.json()["serial"]) != before)
    assert serial(plane, used["ssl_certificates"]) == before


# maps of the running HAProxy

def entries(plane: DataPlane) -> dict[str, str]:
    found: list[dict[str, Any]] = plane.get("/runtime/maps/hosts.map/entries").json()
    assert all(set(entry) == {"id", "key", "value"} for entry in found), found
    return {entry["key"]: entry["value"] for entry in found}


def test_an_entry_is_added_to_what_runs_and_not_to_the_file(plane: DataPlane, used: dict[str, str]) -> None:
    loaded, = [m for m in plane.get("/runtime/maps").json() if m["storage_name"] == "hosts.map"]
    assert loaded["file"] == used["maps"] and loaded["id"].isdigit()
    assert entries(plane) == {"a.example": "be"}
    added = plane.post("/runtime/maps/hosts.map/entries", {"key": "b.example", "value": "other"})
    assert added.status == 201 and added.json() == {"key": "b.example", "value": "other"}
    assert entries(plane) == {"a.example": "be", "b.example": "other"}
    assert content(plane, "maps", "hosts.map") == "a.example be\n"
    assert put(plane, "maps", "hosts.map", "c.example be\n", "?skip_reload=true").status == 204
    assert entries(plane) == {"a.example": "be", "b.example": "other"}, "nor the other way round"
    assert plane.delete("/runtime/maps/hosts.map/entries/b.example").status == 204
    assert entries(plane) == {"a.example": "be"}


def test_a_map_that_does_not_run(plane: DataPlane) -> None:
    upload(plane, "maps", "hosts.map", "a.example be\n")
    assert [m for m in plane.get("/runtime/maps").json() if m["storage_name"] == "hosts.map"] == []
    assert plane.get("/runtime/maps/hosts.map/entries").status >= 400


def in_order(plane: DataPlane) -> list[tuple[str, str]]:
    answer = plane.get("/runtime/maps/hosts.map/entries")
    assert answer.status == 200, answer.text
    return [(entry["key"], entry["value"]) for entry in answer.json()]


def send_all(plane: DataPlane, *entries: tuple[str, str], blanks: tuple[int, ...] = ()) -> None:
    """Blanks before the first values: HAProxy leaves them out."""
    padded = [{"key": key, "value": " " * (blanks[i] if i < len(blanks) else 0) + value} for i, (key, value) in enumerate(entries)]
    answer = plane.put("/runtime/maps/hosts.map", padded)
    assert answer.status == 201 and len(answer.json()) == len(entries), answer.text


def replaces_all(plane: DataPlane) -> bool:
    """3.0 does not for an HAProxy whose version it cannot read."""
    said = subprocess.run([haproxy_binary() or "", "-v"], capture_output=True, text=True, check=True).stdout
    return not before_3_2(plane) or re.search(r"version \d+\.\d+\.\d+-", said) is not None


def test_few_entries_are_appended_and_many_replace_all(plane: DataPlane, used: dict[str, str]) -> None:
    send_all(plane, ("b.example", "other"), ("a.example", "web"))
    assert in_order(plane) == [("a.example", "be"), ("b.example", "other"), ("a.example", "web")]
    many = [(f"h{i:04}.example", "be") for i in range(600)]
    if not replaces_all(plane):
        send_all(plane, *many)
        assert in_order(plane) != many and ("a.example", "be") in in_order(plane)
        return
    send_all(plane, *many)
    assert in_order(plane) == many
    odd = [("q", "x"), ("/api/v1", "be"), ("#x", "y"), ("^a\\.b$", "z*"), ('c"d', "e'&"), ("q", "second")]
    for entries, blanks in ((odd[:1], (8192,)), (odd[:2], (8192,)), (odd[:3], (4096, 4096)), (odd, (4096, 4096))):
        send_all(plane, *entries, blanks=blanks)
        assert in_order(plane) == entries
    assert content(plane, "maps", "hosts.map") == "a.example be\n"


def test_one_of_several_entries_of_a_key_is_deleted_by_its_id(plane: DataPlane, used: dict[str, str]) -> None:
    send_all(plane, ("b.example", "other"), ("a.example", "web"))
    found = plane.get("/runtime/maps/hosts.map/entries").json()
    assert [e["value"] for e in found] == ["be", "other", "web"] and all(re.fullmatch("0x[0-9a-f]+", e["id"]) for e in found), found
    if refuses_signs(plane):
        assert plane.delete(f"/runtime/maps/hosts.map/entries/%23{found[0]['id']}").status == (422 if before_3_4(plane) else 400)
        return
    for entry, left in ((found[0], ["other", "web"]), (found[2], ["other"])):
        answer = plane.delete(f"/runtime/maps/hosts.map/entries/%23{entry['id']}")
        assert answer.status == 204 and int(answer.headers["Configuration-Version"]) == plane.version(), answer
        assert [value for _, value in in_order(plane)] == left
    assert plane.delete(f"/runtime/maps/hosts.map/entries/%23{found[0]['id']}").status == 404
    assert plane.delete("/runtime/maps/hosts.map/entries/none.example").status == 404
    assert content(plane, "maps", "hosts.map") == "a.example be\n"


def test_entries_that_the_api_loses_or_doubles(plane: DataPlane, used: dict[str, str]) -> None:
    if not replaces_all(plane):
        return
    three = [("a", "1"), ("b", "2"), ("c", "3")]
    send_all(plane, *three, blanks=(8192,))
    assert in_order(plane) == [*three[:2], *three[1:]], "the second one twice"
    send_all(plane, *three[:2], blanks=(4096, 4096))
    assert in_order(plane) == three[:1], "not the last one"
    # Exactly one block of 8,192 characters: it is no replacement, and what it began with comes again.
    send_all(plane, *three[:2], blanks=(8192 - 8,))
    assert in_order(plane) == three[:1] + three[:2]


def test_what_the_api_does_not_show_of_a_map(plane: DataPlane, used: dict[str, str]) -> None:
    send_all(plane, ("b.example", "two words"))
    assert in_order(plane)[1] == ("b.example", "two")
    assert plane.put("/runtime/maps/hosts.map", [{"key": "c", "value": "a;b"}]).status == (400 if refuses_signs(plane) else 201)
    assert plane.put("/runtime/maps/none.map", [{"key": "c", "value": "a"}]).status >= 400
    assert plane.put("/runtime/maps/hosts.map", []).status == 500
    send_all(plane, ("c.example", ""))
    assert plane.get("/runtime/maps/hosts.map/entries").status == 500


# certificates of the running HAProxy

def test_a_certificate_that_runs(plane: DataPlane, used: dict[str, str], tmp_path: pathlib.Path) -> None:
    file = used["ssl_certificates"]
    path = f"/runtime/ssl_certs/{urllib.parse.quote(file, safe='')}"
    if before_3_2(plane):
        error(plane.get(path), 404)
        return
    before = plane.get(path).json()
    assert before["storage_name"] == file and int(before["serial"], 16) == serial(plane, file)
    pair = self_signed(tmp_path, "b")
    put(plane, "ssl_certificates", "a.pem", pem(pair), "?skip_reload=true")
    assert plane.get(path).json() == before
    assert put(plane, "ssl_certificates", "a.pem", pem(pair)).status == 200
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())
    assert plane.get(path).json()["sha1_finger_print"] == hashlib.sha1(der).hexdigest().upper()
    error(plane.get("/runtime/ssl_certs/a.pem"), 404)
    assert file in [found["storage_name"] for found in plane.get("/runtime/ssl_certs").json()]

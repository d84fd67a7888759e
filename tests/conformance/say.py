"""Words that several topics share."""

from __future__ import annotations

import re
from typing import Any

from tests.harness.haproxy import DataPlane
from tests.harness.http import Response

RELOAD_ID = re.compile(r"\d{4}-\d\d-\d\d-\d+")
UNKNOWN = "00000000-0000-0000-0000-000000000000"


def release(plane: DataPlane) -> tuple[int, int]:
    major, minor = plane.play.split(".")[:2]
    return int(major), int(minor)


def before_3_4(plane: DataPlane) -> bool:
    """Up to 3.3 requests are checked by another layer, with other statuses and codes of its own."""
    return release(plane) < (3, 4)


def before_3_2(plane: DataPlane) -> bool:
    """Seen on 3.0 and 3.1, which also the double for 3.0 plays."""
    return release(plane) < (3, 2)


def _patch(plane: DataPlane) -> int:
    """Of a real one; the double for 3.0 plays 3.0.15."""
    return int((getattr(plane, "release", "") or "3.0.15").split(".")[2])


def adds_with_one_word(plane: DataPlane) -> bool:
    return (*release(plane), _patch(plane)) < (3, 0, 18) or (3, 1) <= (*release(plane), _patch(plane)) < (3, 1, 14)


def is_3_1_14(plane: DataPlane) -> bool:
    return release(plane) == (3, 1) and _patch(plane) >= 14


def is_3_2_0(plane: DataPlane) -> bool:
    return release(plane) == (3, 2) and _patch(plane) == 0


def refuses_signs(plane: DataPlane) -> bool:
    """'#' and ';' in a map's entries: 3.4, and 3.3 from 3.3.5 at the latest; 3.3.0 takes them."""
    return not before_3_4(plane) or (release(plane) == (3, 3) and _patch(plane) >= 5)


def server(name: str, address: str = "127.0.9.2", port: int = 30443, **more: Any) -> dict[str, Any]:
    return {"name": name, "address": address, "port": port, "check": "enabled", "weight": 100, **more}


def error(answer: Response, status: int) -> str:
    """Checks that an answer is an error of this status in the API's form, and returns its message."""
    assert answer.status == status, (answer.status, answer.text)
    body = answer.json()
    assert set(body) >= {"code", "message"}, body
    assert isinstance(body["code"], int) and isinstance(body["message"], str) and body["message"]
    return str(body["message"])


def reload_id(answer: Response) -> str:
    """The id that an answer of 202 carries for its reload."""
    assert answer.status == 202, (answer.status, answer.text)
    assert RELOAD_ID.fullmatch(answer.headers.get("Reload-ID", "")), dict(answer.headers)
    return str(answer.headers["Reload-ID"])


def without_header(text: str) -> str:
    """A configuration without the checksum and the version, which change with every write."""
    return re.sub(r"\A(# _(md5hash|version)=.*\n)+", "", text)


def backend_lines(text: str, name: str) -> list[str]:
    """The lines of one backend, as they stand."""
    found = re.search(rf"^backend {name}( .*)?\n((?:[ \t].*\n)*)", text, re.M)
    return found[2].splitlines() if found else []

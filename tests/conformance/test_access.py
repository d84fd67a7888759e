"""Authentication, paths, connections."""

from __future__ import annotations

import pytest

from tests.harness import http
from tests.harness.haproxy import BASE, DataPlane

from .say import before_3_4, error


@pytest.mark.parametrize("auth", [None, "admin:wrong", "nobody:adminpwd", "admin:", ":adminpwd"])
def test_no_or_wrong_credentials(plane: DataPlane, auth: str | None) -> None:
    for method, path in (("GET", "/v3/info"), ("GET", "/configuration/version"), ("POST", "/transactions?version=1"),
                         ("PUT", "/transactions/x")):
        answer = plane.request(method, path, auth=auth)
        error(answer, 401)
        assert answer.headers["Configuration-Version"].isdigit()


def test_a_path_that_is_none_without_credentials(plane: DataPlane) -> None:
    error(plane.get("/v2/info", auth=None), 404 if before_3_4(plane) else 401)


def test_a_bearer_token_is_none_of_its_business(plane: DataPlane) -> None:
    error(plane.get("/configuration/version", auth=None, headers={"Authorization": "Bearer abc"}), 401)


def test_a_crypted_password(plane: DataPlane) -> None:
    assert plane.get("/configuration/version", auth="crypted:secret").status == 200
    error(plane.get("/configuration/version", auth="crypted:Secret"), 401)


def test_info(plane: DataPlane) -> None:
    answer = plane.get("/v3/info")
    assert answer.status == 200
    version = answer.json()["api"]["version"]
    assert version.startswith("v3.") or version.startswith(" "), "one that was built without a version has none"


def test_paths_that_are_none(plane: DataPlane) -> None:
    for path in ("/v2/info", "/v2/services/haproxy/transactions", "/v3/services/haproxy/nothing"):
        error(plane.get(path), 404)


def test_a_method_that_is_none(plane: DataPlane) -> None:
    error(plane.request("PATCH", "/transactions"), 405)


def test_a_connection_is_kept(plane: DataPlane) -> None:
    connection = http.connect(plane.url)
    try:
        for _ in range(5):
            for path, status in (("/configuration/version", 200), ("/configuration/backends/none", 404)):
                answer = http.request(plane.url, "GET", BASE + path, auth=plane.auth, connection=connection)
                assert answer.status == status
            kept = connection.sock
            assert kept is not None
        assert connection.sock is kept
    finally:
        connection.close()


def test_header_names_are_in_any_case(plane: DataPlane) -> None:
    """On the wire it is `Reload-Id`, whatever the documentation writes."""
    answer = plane.commit(plane.begin())
    assert "Reload-Id" in answer.headers.keys()

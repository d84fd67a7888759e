"""HAProxy before 2.7 behind its master socket: nothing about its servers can be read, and so no state can be set; but what a
write brings without a reload takes effect."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from tests.harness import parts
from tests.harness.haproxy import DataPlane, DoubleDataPlane, HAProxy, RealDataPlane, real_dataplane_binary

from .conftest import CONFIG, RELOAD_DELAY
from .say import backend_lines, before_3_2, error, reload_id, server

SERVERS = "/configuration/backends/be/servers"
RUNNING = "/runtime/backends/be/servers"
OLD = server("old", address="127.0.9.1")


# A newer one can be read through its master socket.
REAL = pytest.param("real", marks=[parts.real_dataplane, parts.needs_haproxy("2.6", lambda version: version < (2, 7))])


@pytest.fixture(params=["double-3.0", "double-3.4", REAL])
def deaf(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[DataPlane]:
    target = request.param
    with HAProxy(tmp_path, CONFIG) as haproxy:
        made: DataPlane
        if target == "real":
            made = RealDataPlane(haproxy, tmp_path, real_dataplane_binary() or "", RELOAD_DELAY, deaf=True)
        else:
            made = DoubleDataPlane(haproxy, haproxy.config, tmp_path, target.removeprefix("double-"), RELOAD_DELAY, deaf=True)
        with made:
            yield made


def test_the_process_is_known(deaf: DataPlane) -> None:
    before = deaf.worker()
    assert before == deaf.haproxy.worker()
    deaf.follow(reload_id(deaf.commit(deaf.begin())))
    assert deaf.worker() == deaf.haproxy.worker() != before


def test_its_servers_are_not(deaf: DataPlane) -> None:
    odd = 500 if before_3_2(deaf) else 404
    error(deaf.get(RUNNING), odd)
    error(deaf.get(f"{RUNNING}/old"), 404)
    for state in ("drain", "maint", "ready"):
        error(deaf.put(f"{RUNNING}/old", {"admin_state": state}), odd)
        assert deaf.haproxy.states("be")["old"] == "ready", "and it was not sent either"


def test_its_proxies_are_not(deaf: DataPlane) -> None:
    for kind in ("frontend", "backend"):
        answer = deaf.get(f"/stats/native?type={kind}")
        assert answer.status == 200 and set(answer.json()) == {"runtimeAPI"}


def test_a_write_takes_effect(deaf: DataPlane) -> None:
    worker = deaf.haproxy.worker()
    for change, state in (({"weight": 50, "address": "127.0.9.7"}, "ready"), ({"maintenance": "enabled"}, "maint"),
                          ({}, "ready")):
        answer = deaf.put(f"{SERVERS}/old?version={deaf.version()}", {**OLD, **change})
        assert answer.status == 200 and "Reload-ID" not in answer.headers
        assert deaf.haproxy.states("be")["old"] == state
        row = deaf.haproxy.servers("be")["old"]
        assert row["srv_addr"] == {**OLD, **change}["address"] and row["srv_uweight"] == str({**OLD, **change}["weight"])
    assert deaf.haproxy.worker() == worker


def test_that_haproxy_refused_goes_unseen(deaf: DataPlane) -> None:
    """The worst of it: 200 without a reload for a server that HAProxy does not even have."""
    text = deaf.raw().replace("  server sorry", "  server n1 127.0.9.2:30443\n  server sorry")
    assert deaf.post(f"/configuration/raw?version={deaf.version()}&skip_reload=true", text,
                     content_type="text/plain").status == 201
    body = {"name": "n1", "address": "127.0.9.2", "port": 30443, "weight": 5}
    answer = deaf.put(f"{SERVERS}/n1?version={deaf.version()}", body)
    assert answer.status == 200 and "Reload-ID" not in answer.headers
    assert any("server n1 " in line and "weight 5" in line for line in backend_lines(deaf.file(), "be"))
    assert "n1" not in deaf.haproxy.servers("be")

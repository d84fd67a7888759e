"""The targets: the double playing each version, and a real Data Plane API where one is found.

$DATAPLANEAPI or `dataplaneapi` on PATH names the real one, $HAPROXY another HAProxy than the one on PATH.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from tests.harness import parts
from tests.harness.haproxy import HEAD, DataPlane, DoubleDataPlane, HAProxy, RealDataPlane, haproxy_binary, real_dataplane_binary

from .say import without_header

TARGETS = ["double-3.0", "double-3.4", pytest.param("real", marks=parts.real_dataplane)]
RELOAD_DELAY = 0.1

CONFIG = HEAD + """\
  user crypted password $5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.

frontend fe
  bind 127.0.0.1:{fe}
  default_backend be

backend be
  mode tcp
  balance leastconn
  # a hand-written comment
  option tcp-check
  # above a rule
  tcp-request content accept if TRUE # beside it
  default-server inter 5s rise 2 fall 2
  server old 127.0.9.1:30443 check weight 100
  server sorry 127.0.9.9:80 backup

backend slots
  mode tcp
  server-template slot 3 127.0.0.1:65535 check disabled

backend other
  mode tcp
  timeout server 77s
  stick-table type ip size 10k expire 5m
  server a 127.0.0.1:9

backend bare
  mode tcp
  server one 127.0.9.5:30443 weight 10
"""


def make(target: str, haproxy: HAProxy, directory: pathlib.Path, reload_delay: float = RELOAD_DELAY) -> DataPlane:
    if target == "real":
        return RealDataPlane(haproxy, directory, real_dataplane_binary() or "", reload_delay)
    return DoubleDataPlane(haproxy, haproxy.config, directory, target.removeprefix("double-"), reload_delay)


@pytest.fixture(scope="session", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    if not haproxy_binary():
        pytest.skip("no haproxy on this machine ($HAPROXY or PATH)")
    return str(request.param)


@pytest.fixture(scope="session")
def shared_plane(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataPlane]:
    directory = tmp_path_factory.mktemp(target)
    with HAProxy(directory, CONFIG) as haproxy, make(target, haproxy, directory) as plane:
        plane.follow(str(plane.commit(plane.begin()).headers["Reload-ID"]))  # written once in the API's own form
        yield plane


def _running(plane: DataPlane) -> list[list[str]]:
    """What HAProxy runs with, apart from health and time."""
    columns = ("be_name", "srv_id", "srv_name", "srv_addr", "srv_port", "srv_admin_state", "srv_uweight")
    return [[row[c] for c in columns] for row in plane.haproxy.all_servers()]


def _as_at_first(plane: DataPlane, start: str, running: list[list[str]]) -> bool:
    return (without_header(plane.file()) == without_header(start) and _running(plane) == running
            and all(r["status"] != "in_progress" for r in plane.get("/reloads").json()))


@pytest.fixture
def plane(shared_plane: DataPlane) -> Iterator[DataPlane]:
    """One instance for all tests of a target, as it was at first: no transactions, the first file and servers."""
    start = getattr(shared_plane, "first", None)
    if start is None:
        start = shared_plane.first = shared_plane.file(), _running(shared_plane)  # type: ignore[attr-defined]
    for transaction in shared_plane.get("/transactions").json():
        shared_plane.delete(f"/transactions/{transaction['id']}")
    if not _as_at_first(shared_plane, *start):
        answer = shared_plane.post(f"/configuration/raw?version={shared_plane.version()}&force_reload=true", start[0],
                                   content_type="text/plain")
        assert answer.status == 201, answer.text
    yield shared_plane


@pytest.fixture
def fresh(target: str, tmp_path: pathlib.Path) -> Iterator[Callable[..., DataPlane]]:
    """Makes an instance of a test's own: fresh(config=..., reload_delay=..., binary=another HAProxy)."""
    started: list[DataPlane | HAProxy] = []

    def start(config: str = CONFIG, reload_delay: float = RELOAD_DELAY, binary: str | None = None) -> DataPlane:
        haproxy = HAProxy(tmp_path, config, binary)
        started.append(haproxy)
        haproxy.start()
        dataplane = make(target, haproxy, tmp_path, reload_delay)
        started.append(dataplane)
        return dataplane.start()
    yield start
    for thing in reversed(started):
        thing.stop()

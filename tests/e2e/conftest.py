"""Fixtures: the real API servers live for the whole run, one for each worker of pytest (nodes belong to a whole server), and one over the
older etcd, all of whose cases one worker has; everything else is fresh for every case."""

from __future__ import annotations

import contextlib
import functools
import itertools
import pathlib
import signal
import zlib
from collections.abc import Iterator

import pytest

from tests.harness import realparts
from tests.harness.backends import backends
from tests.harness.daemon import program
from tests.harness.realkube import RealKube

from .combinations import COMBINATIONS, Combination
from .sites import Sites
from .world import NODES, World, free_node_port

_namespaces = itertools.count(1)
ONE_WORKER = pytest.mark.xdist_group("etcd-debian")


def pytest_configure(config: pytest.Config) -> None:
    # A run that is ended from outside (a time limit of CI's) goes through the fixtures' ends as after Ctrl-C: what it has started
    # is in sessions of its own and would live on.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "every_combination: runs on every combination of parts, not on the full ones only")
    config.addinivalue_line("markers", "every_local: also with every HAProxy that is reached by its own files and sockets")
    config.addinivalue_line("markers", "one_combination: runs on one, which differs from case to case, with a real Data Plane "
                                       "API where there is one")
    config.addinivalue_line("markers", "needs_api(why): cannot be where HAProxy is reached by its own files and sockets")
    config.addinivalue_line("markers", "needs_double: breaks the Data Plane API in a way that a real one cannot be told to")


@functools.cache
def lacking(combination: Combination) -> str:
    """Why this machine cannot run it; "" where it can."""
    try:
        combination.parts()
    except realparts.Missing as e:
        return str(e)
    return ""


def one_of(usable: list[Combination], name: str) -> list[Combination]:
    """The same one in every run, so that a failure can be repeated by its name."""
    newest = [c for c in usable if c.etcd == "etcd"] or usable
    real = [c for c in newest if c.dataplane == "real"]
    among = [c for c in real if c.haproxy == "haproxy-chosen"] or real or newest
    return among and [among[zlib.crc32(name.encode()) % len(among)]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A combination that cannot be had is skipped once, by name (test_parts.py), not once for each case."""
    given = next((name for name in ("world", "sites") if name in metafunc.fixturenames), None)
    if given is None:
        return
    marked = metafunc.definition.get_closest_marker
    if (api := marked("needs_api")) and not (len(api.args) == 1 and api.args[0]):
        pytest.fail(f"{metafunc.function.__name__}: needs_api says no reason", pytrace=False)
    usable = [c for c in COMBINATIONS if not lacking(c) and not (marked("needs_double") and c.dataplane in ("real", "local"))
              and not (api and c.is_local)]
    if marked("one_combination"):
        chosen = one_of(usable, metafunc.function.__name__)
    else:
        chosen = [c for c in usable if c.full or marked("every_combination") or (c.is_local and marked("every_local"))]
    # With none at all the case itself is skipped: it must not vanish.
    rows = [pytest.param(c, marks=ONE_WORKER if c.etcd == "etcd-debian" else (), id=str(c)) for c in chosen] or [None]
    metafunc.parametrize(given, rows, indirect=True)


@pytest.fixture(scope="session")
def kubes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RealKube]]:
    """API servers by the etcd they stand on, started when first asked for."""
    class Started(dict[str, RealKube]):
        def __missing__(self, etcd: str) -> RealKube:
            kube = RealKube(tmp_path_factory.mktemp(f"kube-{etcd}"), realparts.kube_apiserver(), realparts.PARTS[etcd]())
            self[etcd] = kube
            kube.start()
            return kube

    started = Started()
    yield started
    for kube in started.values():
        kube.stop()


@contextlib.contextmanager
def world_of(combination: Combination, home: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[World]:
    program()
    kube = kubes[combination.etcd]
    if kube.process is None:  # a case that stopped it has failed
        kube.start_apiserver()
    kube.admin.delete_all("Node")
    port = free_node_port(kube)
    with backends(NODES, port) as running:
        made = World(home, combination, combination.parts(), kube, f"case-{next(_namespaces)}", port, running)
        try:
            made.start()
            yield made
        finally:
            made.close()


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: pathlib.Path, kubes: dict[str, RealKube]) -> Iterator[World]:
    combination: Combination | None = request.param
    if combination is None:
        pytest.skip("no combination of real parts can be had here; test_parts.py names what each of them lacks")
    with world_of(combination, tmp_path, kubes) as made:
        yield made


@pytest.fixture
def sites(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Sites]:
    if request.param is None:
        pytest.skip("no combination of real parts can be had here; test_parts.py names what each of them lacks")
    made = Sites(tmp_path, request.param)
    with made.ends:
        made.add()
        made.list[0][0].dir.joinpath("first.cfg").write_text(made.list[0][0].config.read_text())
        yield made

"""What waits while another writer writes the file, and what does not. `haproxy -c` is held up on purpose, so nothing is timed."""

from __future__ import annotations

import concurrent.futures
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from tests.harness.haproxy import DataPlane
from tests.harness.http import Response
from tests.harness.process import wait_until

from .say import server

SERVERS = "/configuration/backends/be/servers"
RUNNING = "/runtime/backends/be/servers"
OLD = server("old", address="127.0.9.1")
PATIENCE = 20.0


class Check:
    """Stands for the program `haproxy`, and lets no `-c` end while it is held."""

    def __init__(self, directory: pathlib.Path, binary: str):
        self.hold, self.begun, self.program = directory / "hold", directory / "begun", directory / "slow-haproxy"
        self.program.write_text(
            f'#!/bin/sh\ncase " $* " in *" -c "*)\n  while [ -e "{self.hold}" ]; do : >"{self.begun}"; sleep 0.02; done\n'
            f'esac\nexec "{binary}" "$@"\n')
        self.program.chmod(0o755)

    def stop(self) -> None:
        self.begun.unlink(missing_ok=True)
        self.hold.touch()

    def wait(self) -> None:
        wait_until(self.begun.exists, PATIENCE, "the file to be checked")

    def go_on(self) -> None:
        self.hold.unlink(missing_ok=True)


@pytest.fixture
def held(fresh: Callable[..., DataPlane], tmp_path: pathlib.Path) -> Iterator[tuple[DataPlane, Check]]:
    plane = fresh()
    check = Check(tmp_path, plane.haproxy.binary)
    plane.stop()
    plane.haproxy.binary = str(check.program)
    plane.start()
    yield plane, check
    check.go_on()


def commit(plane: DataPlane) -> Callable[[], Response]:
    tid = plane.begin()
    return lambda: plane.commit(tid)


def fast_write(plane: DataPlane) -> Callable[[], Response]:
    version = plane.version()
    return lambda: plane.put(f"{SERVERS}/old?version={version}", {**OLD, "weight": 50})


@pytest.mark.parametrize("writer", [commit, fast_write])
def test_reads_and_runtime_calls_overtake_a_writer(held: tuple[DataPlane, Check], writer: Callable) -> None:
    plane, check = held
    write = writer(plane)
    asked: list[tuple[str, str, object, int]] = [
        ("PUT", f"{RUNNING}/old", {"admin_state": "drain"}, 200), ("GET", f"{RUNNING}/old", None, 200),
        ("GET", RUNNING, None, 200), ("GET", "/runtime/info", None, 200), ("GET", SERVERS, None, 200),
        ("GET", "/configuration/version", None, 200), ("GET", "/transactions", None, 200),
        ("GET", "/configuration/backends/be", None, 200), ("GET", "/configuration/raw", None, 200),
        ("POST", f"/transactions?version={plane.version()}", None, 201)]
    check.stop()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            written = pool.submit(write)
            check.wait()
            for method, path, body, status in asked:
                started = time.monotonic()
                answer = plane.request(method, path, body, timeout=PATIENCE)
                print(f"{plane.kind} {plane.play}: {method} {path}: {(time.monotonic() - started) * 1000:.1f} ms")
                assert answer.status == status, (method, path, answer.text)
                assert not written.done()
            assert plane.haproxy.states("be")["old"] == "drain"
        finally:
            check.go_on()
        assert written.result().status in (200, 202)
    assert plane.version() == 2


@pytest.mark.parametrize("writer", [commit, fast_write])
def test_a_second_writer_waits_and_comes_too_late(held: tuple[DataPlane, Check], writer: Callable) -> None:
    plane, check = held
    first, second = writer(plane), fast_write(plane)
    check.stop()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        try:
            one = pool.submit(first)
            check.wait()
            other = pool.submit(second)
            done, _ = concurrent.futures.wait([one, other], timeout=0.3)
            assert not done
        finally:
            check.go_on()
        assert one.result().status in (200, 202)
        assert other.result().status in (409, 500), "500 where its own transaction was swept away by the commit"
    assert plane.version() == 2

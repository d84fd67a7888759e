"""Two versions of the daemon in front of the same HAProxy: one after the other, or both at a time; and what shows that neither has
touched anything."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator, Set

import pytest

from tests.harness.daemon import Daemon
from tests.harness.haproxy import DataPlane, HAProxy
from tests.harness.process import wait_until
from tests.harness.writes import of_access_log, writes_among

from . import previous
from .world import BACKEND, World, written

RESYNC = "1s"
# Comparisons of HAProxy with the desired state, by each daemon, before "nothing has changed" is believed.
ROUNDS = 3
SETTINGS = {"RESYNC_PERIOD": RESYNC, "DRAIN_TIMEOUT": "1h", "PARK_TTL": "1h", "HAPROXY_KEEP_SERVERS": "old"}
# What `show servers state` has of a server that may be changed; the other columns are counters and times.
COLUMNS = ("srv_addr", "srv_port", "srv_admin_state", "srv_uweight", "srv_iweight")


def requests_that_write(dataplane: DataPlane) -> int:
    """Of any client, whatever their answer."""
    written(dataplane)  # all that was answered so far is in the log
    return len(writes_among(of_access_log(dataplane.access_log())))


@dataclasses.dataclass(frozen=True)
class Traces:
    """What any write, any call and any reload would change."""
    file: str
    worker: int
    servers: tuple[tuple[str, ...], ...]
    version: int
    writes: int

    @classmethod
    def of(cls, haproxy: HAProxy, dataplane: DataPlane) -> "Traces":
        rows = sorted(haproxy.servers(BACKEND).items())
        return cls(dataplane.file(), haproxy.worker(), tuple((name, *(row[c] for c in COLUMNS)) for name, row in rows),
                   dataplane.version(), requests_that_write(dataplane))


class Handover:
    """Daemons by name, over one world. Their settings are the same, but for the address they listen at."""

    def __init__(self, world: World, binaries: dict[str, pathlib.Path]):
        self.world = world
        self.settings = world.settings(**SETTINGS)
        self.daemons = {name: Daemon(world.home / name, self.settings, binary) for name, binary in binaries.items()}

    def start(self, name: str) -> Daemon:
        daemon = self.world.adopt(self.daemons[name].start())
        self.in_step(name)
        return daemon

    def stop(self, name: str) -> None:
        self.daemons[name].stop()

    def in_step(self, *names: str) -> None:
        for name in names:
            self.daemons[name].wait_ready(60)
            self.daemons[name].wait_metric("in_sync", 1, 60)

    def running(self) -> list[str]:
        return [name for name, daemon in self.daemons.items() if daemon.process is not None]

    def rounds(self) -> None:
        """Until each that runs has compared HAProxy with the desired state some more times, and found it in sync."""
        awaited = [(self.daemons[name], self.daemons[name].metrics().sum("reconciles_total") + ROUNDS) for name in self.running()]
        for daemon, times in awaited:
            daemon.wait_metric("reconciles_total", times, timeout=120)
            assert daemon.metrics().sum("in_sync") == 1, f"not in sync:\n{daemon.tail()}"

    def traces(self) -> Traces:
        return Traces.of(self.world.haproxy, self.world.dataplane)

    @contextlib.contextmanager
    def untouched(self, what: str) -> Iterator[None]:
        before = self.traces()
        yield
        self.rounds()
        after = self.traces()
        assert after == before, f"{what}: something was changed:\n{before}\n{after}\n{self.logs()}"

    def nothing_to_do(self) -> None:
        """As `plan` of every version says it."""
        for name, daemon in self.daemons.items():
            said = self.world.command("plan", binary=daemon.binary, **self.settings)
            assert said.returncode == 0, f"plan of {name} ended with {said.returncode}:\n{said.stdout}\n{said.stderr}"

    def logs(self) -> str:
        return "\n".join(f"--- {name}\n{daemon.tail(12)}" for name, daemon in self.daemons.items())

    def wait(self, live: Set[str], draining: Set[str] = frozenset(), out: Set[str] = frozenset()) -> None:
        """Until HAProxy itself has exactly these in these states, and the file does not contradict it. Who is out may also be
        gone."""
        def as_wanted() -> bool:
            world = self.world
            states = {name: state for name, state in world.runtime_states().items() if name != "old"}
            ready = {name for name, state in states.items() if state == "ready"}
            assert ready == live, f"HAProxy has {states}"
            assert draining <= {name for name, state in states.items() if state != "ready"}, f"HAProxy has {states}"
            assert set(states) <= live | draining | out, f"HAProxy has {states}"
            return True

        with self.world.telling():
            wait_until(as_wanted, 60, f"{live} in rotation, {draining or 'none'} draining")
        self.world.expect_one_truth()

    def close(self) -> None:
        for daemon in self.daemons.values():
            daemon.close()

    def kill(self) -> None:
        for daemon in self.daemons.values():
            daemon.kill()


def earlier(name: str) -> pathlib.Path:
    try:
        return previous.program(name)
    except previous.Missing as e:
        pytest.skip(f"{name} release: {e}")


@contextlib.contextmanager
def handover(world: World, binaries: dict[str, pathlib.Path]) -> Iterator[Handover]:
    made = Handover(world, binaries)
    try:
        yield made
        made.close()
    finally:
        made.kill()

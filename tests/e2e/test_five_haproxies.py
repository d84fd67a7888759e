"""Five HAProxies, each with its own Data Plane API: two that answer, one whose API hangs, one that is not there, one that comes and
goes. None of them waits for another."""

from __future__ import annotations

import contextlib
import pathlib
import signal
import threading
from collections.abc import Iterator, Sequence

import pytest

from tests.harness.backends import wait_traffic
from tests.harness.haproxy import DataPlane, HAProxy, admin_state
from tests.harness.lines import is_parked, server_lines
from tests.harness.process import free_port, wait_until

from .world import BACKEND, TEMPLATE, World, dataplane_of

pytestmark = pytest.mark.needs_api("several HAProxies of one daemon")

DAEMON_READS_EVERY = "2s"
# A request to an API that hangs is given up after 30 s: whoever had waited for that one would be later than this.
SOON_S = 20


class Site:
    """One HAProxy and its Data Plane API."""

    def __init__(self, haproxy: HAProxy, dataplane: DataPlane):
        self.haproxy, self.dataplane = haproxy, dataplane

    @property
    def url(self) -> str:
        return self.dataplane.url

    def states(self) -> dict[str, str]:
        rows = self.haproxy.servers(BACKEND)
        return {name: admin_state(int(row["srv_admin_state"])) for name, row in rows.items() if name not in ("sorry", "old")}

    def expect(self, world: World, *live: str, resting: Sequence[str] = ()) -> None:
        """Until new connections go to these alone, and the file says what runs; resting: drained or in maintenance."""
        def as_wanted() -> bool:
            states = self.states()
            assert {name for name, state in states.items() if state == "ready"} == set(live), f"{self.url} runs {states}"
            assert {name for name, state in states.items() if state != "ready"} >= set(resting), f"{self.url} runs {states}"
            lines = server_lines(self.dataplane.file(), BACKEND)
            shut = {name for name in states if is_parked(lines[name])}
            assert shut == {name for name, state in states.items() if state == "maint"}, f"{self.url} has {lines}, runs {states}"
            return True

        with world.telling():
            wait_until(as_wanted, SOON_S, f"{live} in rotation at {self.url}")
            wait_traffic(self.haproxy.port, live)


class Watch:
    """Looks again and again whether a backend is without any server in rotation."""

    def __init__(self, sites: Sequence[Site]):
        self.sites, self.looks, self.empty = sites, 0, list[str]()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            for site in self.sites:
                with contextlib.suppress(OSError):  # between two workers
                    states = site.states()
                    self.looks += 1
                    if states and "ready" not in states.values():
                        self.empty.append(f"{site.url} runs {states}")

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


class Flapping:
    """An API that is killed and started again and again."""

    def __init__(self, dataplane: DataPlane, seconds: float = 1.5):
        self.dataplane, self.seconds, self.times = dataplane, seconds, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(self.seconds):
            self.dataplane.kill()
            self.times += 1
            self._ended.wait(self.seconds)
            self.dataplane.start()

    def __enter__(self) -> "Flapping":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture
def sites(world: World, tmp_path: pathlib.Path) -> Iterator[list[Site]]:
    """The world's own and three more."""
    parts = world.combination.parts()
    made = [Site(world.haproxy, world.dataplane)]
    with contextlib.ExitStack() as ends:
        for name in ("second", "third", "fourth"):
            more = {"fe-http": str(free_port()), "fe-shop": str(free_port())}
            haproxy = HAProxy(tmp_path / name, TEMPLATE, world.haproxy.binary, more)
            dataplane = dataplane_of(haproxy, tmp_path / f"{name}-dataplane", world.combination, parts)
            ends.enter_context(haproxy)
            ends.enter_context(dataplane)
            made.append(Site(haproxy, dataplane))
        yield made


def ready_lines(world: World) -> tuple[int, dict[str, str]]:
    """The status of /readyz, and its line of each target: "+ in sync"."""
    status, body = world.daemon.get("/readyz")
    lines = {}
    for line in body.splitlines():
        if line[3:].startswith("target "):
            words = line.split(" ", 4)
            lines[words[1]] = f"{line[1]} {words[4]}"
    return status, lines


def wait_ready_lines(world: World, good: Sequence[Site], bad: Sequence[str]) -> None:
    def said() -> bool:
        status, lines = ready_lines(world)
        assert status == 200, f"/readyz {status}: {lines}"
        assert {url for url, line in lines.items() if line == "+ in sync"} == {site.url for site in good}, lines
        assert {url for url, line in lines.items() if line.startswith("-")} == set(bad), lines
        return True

    with world.telling():
        wait_until(said, 90, f"/readyz to name {bad} as not ready, and no others")


def test_five_of_which_two_are_dead_and_one_flaps(world: World, sites: list[Site]) -> None:
    first, second, flaps, hangs = sites
    absent = f"http://127.0.0.1:{free_port()}"
    world.put_nodes("node-a", "node-b")
    world.put_slice("node-a", "node-b")
    world.start_daemon(HAPROXY_DATAPLANE_URL=",".join([first.url, hangs.url, absent, flaps.url, second.url]),
                       RESYNC_PERIOD=DAEMON_READS_EVERY, DRAIN_TIMEOUT="1h")
    for site in sites:
        site.expect(world, "node-a", "node-b")
    wait_ready_lines(world, sites, [absent])

    process = hangs.dataplane.process
    assert process
    process.signal(signal.SIGSTOP)
    try:
        with Watch(sites) as watch:
            with Flapping(flaps.dataplane) as flapping:
                follow_every_change(world, [first, second])
                wait_until(lambda: flapping.times >= 3, 30, "the third end of the one that flaps")
            # What came and went while it was away it has never heard of.
            flaps.expect(world, "node-d", resting=["node-a", "node-b"])
            wait_ready_lines(world, [first, second, flaps], [absent, hangs.url])
            assert set(hangs.states()) == {"node-a", "node-b"}
            in_sync = world.daemon.metrics()
            assert [in_sync.value("in_sync", target=url) for url in (first.url, second.url, flaps.url, hangs.url, absent)] == [
                1, 1, 1, 0, 0]
    finally:
        process.signal(signal.SIGCONT)
    hangs.expect(world, "node-d", resting=["node-a", "node-b"])
    wait_ready_lines(world, sites, [absent])
    assert watch.looks > 100 and not watch.empty, f"{len(watch.empty)} of {watch.looks} looks: {watch.empty[:3]}"


def follow_every_change(world: World, healthy: Sequence[Site]) -> None:
    """A node more, a drain, its end, its return, a move, all but one gone."""
    def expect(*live: str, resting: Sequence[str] = ()) -> None:
        for site in healthy:
            site.expect(world, *live, resting=resting)

    world.put_nodes("node-c")
    world.put_slice("node-a", "node-b", "node-c")
    expect("node-a", "node-b", "node-c")
    workers = [site.haproxy.worker() for site in healthy]
    world.put_slice("node-a", "node-b", terminating=["node-c"])
    expect("node-a", "node-b", resting=["node-c"])
    world.put_slice("node-a", "node-b")
    expect("node-a", "node-b", resting=["node-c"])
    world.put_slice("node-b", "node-c")
    expect("node-b", "node-c", resting=["node-a"])
    assert [site.haproxy.worker() for site in healthy] == workers, "reloaded for servers that were known"
    world.put_nodes("node-d")
    world.put_slice("node-d")
    expect("node-d", resting=["node-a", "node-b", "node-c"])

"""One case: changes, a fault in the middle of them, its end, and then all has to be in sync. Seed, part and fault decide its schedule."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import time
from collections.abc import Callable

from tests.harness import objects
from tests.harness.process import wait_until

from .faults import IN_TRANSACTION, Fault
from .sampler import MOST_OPEN
from .stream import Stream
from .timeline import Timeline
from .world import AGREE_S, DRAIN_S, NAMESPACE, RESYNC_S, SERVICE, World

# A busy machine is so many times slower, and no more.
FAR_BEYOND = 5
# One that begins a transaction and dies leaves it; the next commit of any writer ends it.
_PROBE = "probe"


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Seconds from the case's begin; a change is one step of the stream."""
    changes: tuple[float, ...]
    begin: float
    end: float

    def describe(self) -> str:
        return f"fault {self.begin:.1f}..{self.end:.1f} s, changes at {' '.join(f'{at:.1f}' for at in self.changes)}"


@dataclasses.dataclass
class Outcome:
    case: str
    kind: str
    ok: bool
    hits: int
    """How often a fault on the wire struck; -1: it strikes by being done."""
    in_step_after: float
    """Seconds from the end of the fault or the last change."""
    slow: bool
    """It took longer than that takes on an idle machine."""
    cpu: float
    """The daemon's share of a core while it was struck."""
    left_open: int = 0
    """Transactions whose begin we never heard the answer of, gone with the next commit."""


def rng_of(seed: str, fault: Fault, round_: int) -> random.Random:
    return random.Random(f"{seed}:{fault.id}:{round_}")


def schedule(rng: random.Random, fault: Fault) -> Schedule:
    begin = rng.uniform(0.2, 0.8)
    end = begin + rng.uniform(*fault.seconds)
    before = [rng.uniform(0.0, begin) for _ in range(rng.randint(0, 2))]
    during = [rng.uniform(begin + 0.1, end) for _ in range(rng.randint(3, 7))]
    after = [end + rng.uniform(0.0, 0.6) for _ in range(rng.randint(0, 1))]
    return Schedule(tuple(sorted(before + during + after)), begin, end)


def new_stream(world: World, seed: str, fault: Fault, round_: int) -> Stream:
    rng = random.Random(f"{seed}:{fault.id}:{round_}:stream")
    # A nodePort whose allocation was lost on its way to etcd is taken until the API server repairs that, minutes later.
    ports = world.node_ports[:1] if fault.part == "etcd" else world.node_ports
    return Stream(rng.getrandbits(64), world.cluster, namespace=NAMESPACE, service=SERVICE, node_ports=ports,
                  nodes=rng.randint(3, 6), most_nodes=9, floor=rng.choice((0, 1, 1, 2)))


class Case:
    def __init__(self, world: World, fault: Fault, seed: str, round_: int):
        self.world, self.fault, self.seed, self.round = world, fault, seed, round_
        self.timeline: Timeline = world.timeline
        self.rng = rng_of(seed, fault, round_)
        self.schedule = schedule(self.rng, fault)
        self.cpu = 0.0
        self.struck = self.added = False
        self.struck_by_others = False
        """So far: HAProxy was, by no doing of the daemon's."""
        self.blocked = False
        """A real API server could not be written to: no more tries until the fault is over."""

    def run(self) -> Outcome:
        """Violations go to the timeline."""
        world, line = self.world, self.timeline
        line.case = self.fault.id
        before = len(line.violations)
        line.say("case", f"{self.fault.id} round {self.round}: {self.schedule.describe()}")
        hits = self.fault.hits(world) if self.fault.hits else -1
        took, left, slow = -1.0, 0, False
        world.left.clear()
        if self._to_checkpoint():
            self._strike()
            took, slow = self._wait_in_step()
            left = self._leaks()
        hits = self.fault.hits(world) - hits if self.fault.hits else -1
        ok = len(line.violations) == before
        line.say("case", f"{self.fault.id}: {'held' if ok else 'VIOLATED'}, in sync after {took:.1f} s, {hits} hits")
        return Outcome(self.fault.id, world.kind, ok, hits, took, slow, self.cpu, left)

    # --- before

    def _to_checkpoint(self) -> bool:
        """The cluster of this case, all in sync with it."""
        world = self.world
        old = world.stream
        assert old
        old.flush()
        stream = new_stream(world, self.seed, self.fault, self.round)
        world.sampler.checkpoint(set())
        stream.begin()
        had = {(t["kind"], t["metadata"]["name"]): t for t in old.trees()}
        for tree in stream.trees():
            had.pop((tree["kind"], tree["metadata"]["name"]), None)
        for tree in had.values():
            world.cluster.delete(tree)
        world.stream = stream
        if world.documents:
            self.timeline.say("change", world.documents.put(True))
        try:
            world.wait_in_step(120)
        except AssertionError as e:
            self.timeline.violate("in sync", f"before the fault: {e}")
            return False
        self._agree()
        world.at_rest(0.5) if world.daemon.pid not in world.fds else None
        world.sampler.traffic_counts = True
        world.sampler.checkpoint(set(stream.desired()), stream.announced())
        return True

    # --- the fault and the changes in the middle of it

    def _strike(self) -> None:
        world, fault = self.world, self.fault
        began = time.monotonic()
        moments = [(at, "change") for at in self.schedule.changes] + [(self.schedule.begin, "begin"), (self.schedule.end, "end")]
        cpu = cpu_began = 0.0
        for at, what in sorted(moments):
            self._until(began + at)
            if what == "change":
                self._change()
            elif what == "begin":
                world.may_die = set(fault.may_die)
                if fault.strikes_haproxy:
                    world.sampler.traffic_counts = False
                    world.sampler.checkpoint(set())
                if world.documents and self._may_go_back():
                    world.documents.since = 0  # until all is in sync again
                cpu, cpu_began = _cpu(world), time.monotonic()
                self.timeline.say("fault", fault.begin(world, self.rng))
                self.struck, self.struck_by_others = True, fault.strikes_haproxy
                # Only here every end of a transaction is heard.
                world.sampler.most_open = MOST_OPEN if world.to_dataplane.mode.only == IN_TRANSACTION else 0
            else:
                used, took = _cpu(world) - cpu, time.monotonic() - cpu_began
                # A daemon that was started anew meanwhile has a clock of its own.
                self.cpu = used / took if used >= 0 and took > 1 else 0.0
                fault.end(world)
                self.struck = world.stream.held = False  # type: ignore[union-attr]
                world.sampler.most_open = 0
                self.timeline.say("fault", f"{fault.id} is over")
        assert world.stream
        if self.blocked:
            world.stream.write_again()
        self._tell(world.stream.settle)
        # Another file ends the pause after an error, of half a minute and more; where there was none, what was on its way has to come.
        if world.documents and (fault.hits or self.rng.random() < 0.4):
            self.timeline.say("change", world.documents.put(self.rng.random() < 0.7))

    def _may_go_back(self) -> bool:
        """A reload that fails brings back what a Data Plane API loaded last. Where HAProxy's own socket answers nobody time and again, the
        daemon itself rolls back to the last version that held out, which no document of these few seconds did."""
        if self.world.kind == "local":
            return self.fault.part == "socket"
        return "haproxy" in self.fault.may_die

    def _until(self, when: float) -> None:
        while True:
            self.world.supervise()
            left = when - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.1))

    def _change(self) -> None:
        """Mostly one that makes a difference to HAProxy."""
        stream = self.world.stream
        assert stream
        desired = stream.desired()
        tries = self.rng.choice((1, 4, 8))
        if self.world.documents and self.rng.random() < 0.6:
            self.timeline.say("change", self.world.documents.put(self.rng.random() < 0.65))
            return
        if self.struck and self.fault.part in ("dataplane", "network", "configuration") and not self.added:
            # A server that was never there takes a transaction, without which nothing of one could be struck.
            self.added = True
            self._tell(lambda: stream.step("node_new"))
        for _ in range(tries):
            self._tell(stream.step)
            if stream.desired() != desired:
                return

    def _tell(self, change: Callable[[], str]) -> None:
        stream, sampler = self.world.stream, self.world.sampler
        assert stream
        held, stream.held = stream.held, True
        said = change()
        # What is unwanted from here on is known before the cluster hears of it.
        sampler.unwanted(set(stream.desired()), stream.announced())
        stream.held = held
        if not stream.flush() and self.struck and self.world.real and not held:
            self.blocked = stream.held = True
        if said:
            self.timeline.say("change", f"{said}; desired: {' '.join(stream.desired()) or 'nobody'}")

    # --- after

    def _wait_in_step(self) -> tuple[float, bool]:
        world = self.world
        began = time.monotonic()
        bound = self.fault.bound + DRAIN_S + world.sampler.hold_s
        wrong = "?"
        while time.monotonic() - began < FAR_BEYOND * bound:
            world.supervise()
            wrong = world.out_of_sync()
            if not wrong:
                break
            world.set_ready_what_death_left()
            time.sleep(0.1)
        took = time.monotonic() - began
        world.may_die = set()
        if wrong:
            self.timeline.violate("in sync", f"not even after {took:.0f} s: {wrong}\n{world.daemon.tail(12)}", "end")
        else:
            self._agree()
        return took, took > bound

    def _agree(self) -> None:
        """What others did to HAProxy amid a change the daemon may find with its next resync alone."""
        world = self.world
        resync_s = world.sampler.hold_s or RESYNC_S
        wrong = world.disagrees(FAR_BEYOND * AGREE_S + (resync_s if self.struck_by_others else 0))
        # A daemon that was killed knows no more what its files were before a document that is rejected then, nor that HAProxy
        # was not sent what it had stored.
        killed = "daemon" in self.fault.may_die
        if wrong and killed and world.documents and not world.documents.last.good:
            self.timeline.say("agree", f"files of a rejected document stayed: {wrong}")
            self.timeline.say("change", world.documents.put(True))
            try:
                world.wait_in_step(100)
            except AssertionError as e:
                self.timeline.violate("in sync", f"after one more document: {e}", "agree")
            wrong = world.disagrees()
        if wrong:
            self.timeline.violate("agree", f"{wrong}\n{world.daemon.tail(20)}", "agree")

    def _leaks(self) -> int:
        """Of transactions, files, threads, children, bytes."""
        world, line = self.world, self.timeline
        world.search_log()
        world.at_rest()
        if self.cpu > 0.5 and world.kind != "fast":
            line.violate("no spin", f"the daemon used {self.cpu:.0%} of a core while it was struck", "cpu")
        try:
            left = world.open_transactions()
            if left and not self.fault.may_leave_transactions:
                # One that could not be deleted goes with the next commit, or within a RESYNC_PERIOD.
                with contextlib.suppress(AssertionError):
                    wait_until(lambda: not world.open_transactions(), RESYNC_S + 60, "no open transaction", interval=0.2)
                if left := world.open_transactions():
                    line.violate("no leak", f"transactions are open, though we were told of each: {left}", "transactions")
            elif left:
                self._make_it_commit()
                if still := world.open_transactions():
                    line.violate("no leak", f"transactions are open: {still}", "transactions")
        except (OSError, AssertionError) as e:
            line.violate("no leak", f"transactions cannot be listed: {e}", "transactions")
            return -1
        return len(left)

    def _make_it_commit(self) -> None:
        """A node that was never there needs a transaction of the daemon's."""
        world = self.world
        probe = f"{_PROBE}-{self.round}-{int(time.monotonic() * 1000)}"
        trees = [objects.node(probe, "127.39.0.1"),
                 objects.slice_("probe", SERVICE, [objects.endpoint("10.245.0.1", probe)], namespace=NAMESPACE,
                                ports=[objects.port(8443, "https")])]
        version = world.dataplane.version()
        world.cluster.put(*trees)
        deadline = time.monotonic() + 60
        while world.dataplane.version() == version and time.monotonic() < deadline:
            time.sleep(0.2)
        for tree in reversed(trees):
            world.cluster.delete(tree)
        try:
            world.wait_in_step(100)
        except AssertionError as e:
            self.timeline.violate("in sync", f"after one more node: {e}", "probe")


def _cpu(world: World) -> float:
    try:
        return world.daemon.cpu_seconds()
    except (OSError, AssertionError, IndexError):
        return 0.0

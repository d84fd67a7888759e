"""Samples all along, twenty times a second: at HAProxy by its own socket, at its file, and with connections through it."""

from __future__ import annotations

import os
import pathlib
import threading
import time
from collections.abc import Collection

from tests.harness.backends import ask
from tests.harness.haproxy import HAProxy

from . import invariants
from .documents import Documents
from .invariants import Ours, Running
from .served import ask as ask_socket
from .timeline import Timeline

EVERY = 0.05
TRAFFIC_EVERY = 0.1
# The map and the certificate: with each so manieth sample.
FILES_EVERY = 4
# The daemon works at one at a time; one more is there while the next begins before an answer to its end was heard.
MOST_OPEN = 2


class Unreadable(Exception):
    """HAProxy is dead, stopped, or between two workers."""


def read_running(path: pathlib.Path, timeout: float = 1.0) -> Running:
    try:
        return invariants.parse_state(ask_socket(path, "show servers state", timeout))
    except OSError as e:
        raise Unreadable(str(e)) from e


class Sampler:
    def __init__(self, haproxy: HAProxy, transactions: pathlib.Path, ours: Ours, timeline: Timeline):
        self.haproxy, self.transactions, self.ours, self.timeline = haproxy, transactions, ours, timeline
        self.looks = 0
        self.blind = 0
        self.connections = 0
        self.judging = False
        """False until all is in sync for the first time."""
        self.traffic_counts = False
        """False while HAProxy is struck itself."""
        self.most_open = 0
        """How many transactions may be open at once; 0: any number."""
        self.hold_s = 0.0
        """How long a server that is lost is held; 0: there is no loss limit."""
        self._steady: set[str] = set()
        self._held: dict[str, float] = {}
        """Lost, and nobody had said so -> the time before which it may not leave."""
        self._announced: set[str] = set()
        self._file_baseline = ""
        self.documents: Documents | None = None
        """The user's files, where the daemon has the rest of HAProxy's file, too."""
        self._running_baseline: dict[invariants.Key, tuple[str, str, int]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._file_seen: tuple[int, int, int] | None = None
        self._document_seen = 0
        self._live_seen: dict[str, str] = {}
        self._threads = [threading.Thread(target=self._look_on, name="sampler", daemon=True),
                         threading.Thread(target=self._connect_on, name="traffic", daemon=True)]

    def start(self) -> "Sampler":
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(10)

    # --- what is judged by

    def take_baseline(self) -> None:
        self._file_baseline = invariants.foreign_text(self.haproxy.config.read_text(), self.ours)
        self._running_baseline = invariants.foreign_servers(read_running(self.haproxy.socket), self.ours)

    def checkpoint(self, desired: set[str], announced: Collection[str] = ()) -> None:
        """All is in sync: from here on these are to stay, until unwanted(). announced: of these it was announced that they may go."""
        with self._lock:
            self._steady = set(desired)
            self._announced = set(announced)
            self._held = {}

    def unwanted(self, desired: set[str], announced: Collection[str] = ()) -> None:
        """To be called before the cluster is changed. What was announced once counts as announced from then on, and a second loss as the
        first: the daemon may not see what is between them."""
        with self._lock:
            self._announced |= set(announced)
            if self.hold_s:
                until = time.monotonic() + self.hold_s
                self._held.update(dict.fromkeys(self._steady - desired, until))
            self._held = {name: until for name, until in self._held.items() if name not in self._announced}
            self._steady &= desired

    def held(self) -> set[str]:
        """By our own clock, after what is judged by it was seen."""
        now = time.monotonic()
        return {name for name, until in self._held.items() if now < until}

    # --- sampling

    def _look_on(self) -> None:
        while not self._over.wait(EVERY):
            if not self.judging:
                continue
            self._look_at_transactions()
            # Nothing stops being desired between a sample and its judgement.
            with self._lock:
                self._look_at_running()
                self._look_at_file()

    def _look_at_running(self) -> None:
        since = self.documents.since if self.documents else 0
        try:
            running = read_running(self.haproxy.socket)
        except Unreadable:
            self.blind += 1
            return
        self.looks += 1
        live = invariants.in_rotation(running, self.ours)
        if live != self._live_seen:
            self.timeline.say("haproxy", f"in rotation: {' '.join(sorted(live)) or 'nobody'}")
            self._live_seen = live
        baseline = None if self.documents else self._running_baseline
        for invariant, what in invariants.breaches_of_running(running, self.ours, self._steady, self.held(), baseline):
            self.timeline.violate(invariant, what, "running")
        if self.documents:
            self._look_for_strangers(self.documents, since, running)

    def _look_for_strangers(self, documents: Documents, since: int, running: Running) -> None:
        """since: as it was before HAProxy was asked. Documents come by another thread, and are known before they can be seen."""
        if what := invariants.mixed(running, self.ours, documents.of_servers(since)):
            self.timeline.violate("accepted", what, "servers")
        if self.looks % FILES_EVERY:
            return
        try:
            has = documents.served.running(self.haproxy.socket)
        except OSError:
            return
        if what := invariants.mixed_files(has, documents.of_files(since)):
            self.timeline.violate("accepted", what, "files")

    def _look_at_file(self) -> None:
        since = self.documents.since if self.documents else 0
        try:
            at = os.stat(self.haproxy.config)
            seen = (at.st_ino, at.st_mtime_ns, at.st_size)
            if seen == self._file_seen:
                return
            text = self.haproxy.config.read_text()
        except OSError as e:
            self.timeline.violate("foreign", f"the file cannot be read: {e}", "file")
            return
        self._file_seen = seen
        baseline = None if self.documents else self._file_baseline
        for invariant, what in invariants.breaches_of_file(text, self.ours, self._steady, self.held(), baseline):
            self.timeline.violate(invariant, what, "file")
        if self.documents:
            self._look_at_document(text, since)

    def _look_at_document(self, text: str, since: int) -> None:
        assert self.documents
        document = self.documents.of(text)
        number = document.number if document else 0
        if number != self._document_seen:
            self.timeline.say("file", f"it is document {number}")
            self._document_seen = number
        if document is None:
            self.timeline.violate("accepted", f"the file is none of the user's good ones:\n{text}", "document")
        elif number < since:
            self.timeline.violate("accepted", f"the file is document {number} again, and {since} ran already", "document")

    def _look_at_transactions(self) -> None:
        """Files of the Data Plane API: asking it would go through what it is struck by."""
        if not self.most_open:
            return
        try:
            found = [entry.name for entry in os.scandir(self.transactions) if entry.is_file() and not entry.name.startswith(".")]
        except OSError:
            return
        if len(found) > self.most_open:
            self.timeline.violate("no leak", f"{len(found)} transactions are open at once: {found}", "open at once")

    def _connect_on(self) -> None:
        while not self._over.wait(TRAFFIC_EVERY):
            if not (self.judging and self.traffic_counts):
                continue
            began = time.monotonic()
            answer = ask(self.haproxy.port, timeout=15.0)
            # Struck meanwhile: it may have been the fault.
            if not self.traffic_counts:
                continue
            self.connections += 1
            if not answer.startswith("127.") or answer == "127.0.0.1":
                self.timeline.violate("traffic", f"a connection through HAProxy was answered by {answer or 'nobody'} "
                                                 f"after {time.monotonic() - began:.1f} s", "traffic")

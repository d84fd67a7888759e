"""One managed configuration: what the API believes, the file, its transactions, reloads and the runtime."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import runtime_update
from .cfgfile import VERSION, Config, managed, too_long
from .errors import ApiError
from .haproxy import Checker
from .reading import read
from .reloaders import Reloader
from .reloads import Reloads
from .runtime import DeafRuntime, MuteRuntime, Runtime
from .storage import Storage
from .transactions import LIMIT, Transactions, write_atomically

T = TypeVar("T")


class Service:
    def __init__(self, config_file: str, play: str, state_dir: str, checker: Checker, reloader: Reloader,
                 delay_s: float, storage_dir: str, deaf: bool = False):
        self.file = pathlib.Path(config_file)
        self.play = play
        self.deaf = deaf
        self.checker = checker
        self.writes_from = checker.writes_from()
        self.lock = threading.RLock()  # what is known; never held while HAProxy is asked something
        self.writing = threading.RLock()  # the file: one writer at a time, through the whole of `haproxy -c`
        self.config = self._read()
        self.seen = self._stat()
        self.transactions = Transactions(state_dir, config_file, play)
        self.storage = Storage(pathlib.Path(storage_dir))
        self.reloads = Reloads(config_file, reloader, delay_s)
        self.stopping = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="file watcher").start()

    def stop(self) -> None:
        self.stopping.set()
        self.reloads.stop()

    def _watch(self) -> None:
        while not self.stopping.wait(0.1):
            self.look_at_file()

    def _read(self) -> Config:
        return read(self.file.read_text(), self.play, self.writes_from)

    # the file behind our back

    def _stat(self) -> tuple[int, int, int]:
        st = os.stat(self.file)
        return st.st_ino, st.st_mtime_ns, st.st_size

    def look_at_file(self) -> None:
        """Takes in an edit by hand: a file whose checksum does not fit it is read anew and its version goes up."""
        with self.lock:
            try:
                now = self._stat()
                if now == self.seen:
                    return
                self.seen = now
                if managed(self.file.read_text()):
                    return
                self.config = self._read()
            except OSError:
                return
            self.config.version += 1
            self._save()

    def _save(self) -> None:
        write_atomically(self.file, self.config.render())
        self.seen = self._stat()

    # reading

    def version(self, tid: str = "") -> int:
        """For the header of every answer: 0 for a transaction that is not open."""
        with self.lock:
            if not tid:
                return self.config.version
            return self.transactions.open[tid].version if tid in self.transactions.open else 0

    def view(self, tid: str = "") -> Config:
        return self.transactions.get(tid) if tid else self.config

    # changing

    def writer(self, tid: str) -> threading.RLock:  # type: ignore[valid-type]
        """For `with`, around a change: in a transaction it waits for nobody's commit, without one it is a commit itself."""
        return self.lock if tid else self.writing

    def change(self, tid: str, version: int, edit: Callable[[Config], T]) -> T:
        """Makes an edit inside a transaction, or inside one of its own that is committed at once."""
        if tid and version:
            raise ApiError(400, "version and transaction specified, specify only one")
        if tid:
            result = edit(self.transactions.get(tid))
            self.transactions.save(tid)
            return result
        with self.lock:
            own = self.transactions.begin(self.config, self._need(version))
            try:
                result = edit(self.transactions.open[own])
            except ApiError:
                self.transactions.delete(own)
                raise
        self._commit(own)
        return result

    @staticmethod
    def _need(version: int) -> int:
        if not version:
            raise ApiError(400, "version or transaction not specified: version or transaction not specified, "
                                "specify only one")
        return version

    def begin(self, version: int) -> dict[str, Any]:
        if len(self.transactions.open) >= LIMIT:
            raise ApiError(429, "cannot start a new transaction, reached the maximum amount of "
                                f"{LIMIT} active transactions available")
        return self.transactions.json(self.transactions.begin(self.config, version))

    def commit(self, tid: str) -> dict[str, Any]:
        with self.lock:
            status = self.transactions.json(tid)["status"]
        if status != "in_progress":
            raise ApiError(406, f"transaction {tid} is {status} and cannot be committed")
        version = self._commit(tid)
        with self.lock:
            self.transactions.outdate(version)
        return {"_version": version, "id": tid, "status": "success"}

    def _commit(self, tid: str) -> int:
        with self.lock:
            config = self.transactions.open[tid]
            version = config.version
            if version != self.config.version:
                self.transactions.end(tid, "outdated")
                raise ApiError(409, "version mismatch: version mismatch, transaction version: "
                                    f"{version}, configured version: {self.config.version}")
            self.transactions.save(tid)
            config.version += 1
        self._adopt(tid)
        return version

    def _adopt(self, tid: str) -> None:
        """The configuration of a transaction becomes the current one if HAProxy takes it."""
        try:
            self.checker.check_file(str(self.transactions.path(tid)), tid)
        except ApiError:
            with self.lock:
                self.transactions.end(tid, "failed")
            raise
        with self.lock:
            adopted = self.transactions.open[tid].copy()
            try:
                write_atomically(self.file, adopted.render())
            except OSError:
                # A full disk: the API goes on believing what the file still says.
                self.transactions.end(tid, "failed")
                raise
            self.config = adopted
            self.seen = self._stat()
            self.transactions.delete(tid)

    def replace_raw(self, text: str, version: int, skip_version: bool, only_validate: bool) -> None:
        if only_validate:
            self.checker.check_text(text)
            return
        with self.lock:
            own = self.transactions.begin(self.config, self.config.version if skip_version else self._need(version))
            if not skip_version:  # its own alone stays, wherever another one stands
                text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(VERSION))
            given = read(text, self.play, imply_from=False, posted=True)
            if not skip_version:
                given.version = self.config.version
            self.transactions.open[own] = given
            self.transactions.save(own)
        if skip_version:
            self._adopt(own)
        else:
            self._commit(own)

    def raw(self, tid: str = "") -> str:
        """The file itself, not what the API believes: after a failed reload the two are not the same. Of a transaction the file
        that its commit would leave, apart from the two lines at its head."""
        text = (self.transactions.file(tid) if tid else self.file).read_text()
        if any(map(too_long, text.split("\n"))):
            raise ApiError(500, "failed to read configuration: bufio.Scanner: token too long")
        return text

    # the running HAProxy

    def runtime(self, lie: float = 0.0) -> Runtime | None:
        """By the first unix socket of the global section. lie: one that is sent nothing for so many seconds."""
        found = self._by_socket()
        if found and self.deaf:
            found = DeafRuntime(found)
        return MuteRuntime(found, lie) if found and lie else found

    def _by_socket(self) -> Runtime | None:
        section = self.config.section("global")
        for line in section.lines if section else []:
            if line.words[:2] == ["stats", "socket"] and len(line.words) > 2 and ":" not in line.words[2]:
                return Runtime(line.words[2])
        return None

    def apply_live(self, backend: str, wanted: dict[str, Any], had: dict[str, Any], lie: float = 0.0) -> bool:
        """The update without a reload; False where only a reload brings the change about."""
        runtime = self.runtime(lie)
        return runtime is not None and runtime_update.apply(runtime, backend, wanted, had)

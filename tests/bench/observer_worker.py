"""python3 -m tests.bench.observer_worker CONFIG STATS_SOCKET PID_FILE BACKEND FILE: the eyes of observer.py, as a process.

It writes what changes: the version in the file, HAProxy's worker processes, and the state of each server in the running HAProxy.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import select
import socket
import sys
import time
from typing import TextIO

CALM_S = 0.01
CLOSE_S = 0.001
# Longer, it would be a load of its own.
CLOSE_FOR_S = 0.3


class Observer:
    def __init__(self, config: str, stats: str, pid_file: str, backend: str, out: TextIO):
        self.config, self.stats, self.backend, self.out = config, stats, backend, out
        master = pathlib.Path(pid_file).read_text().split()[0]
        self.children = f"/proc/{master}/task/{master}/children"
        self.stamp: tuple[int, int] | None = None
        self.version = 0
        self.workers: list[int] = []
        self.states: dict[str, str] = {}
        self.looked = 0.0
        self.widest = 0.0

    def look(self, closely: bool) -> bool:
        """True where a server's state has changed. Closely: at the servers alone."""
        if not closely:
            self._file()
            self._workers()
        before = self.states
        self._servers()
        now = time.monotonic()
        if closely:
            self.widest = max(self.widest, now - self.looked)
        self.looked = now
        return self.states != before

    def finish(self) -> None:
        self._say("widest", self.widest)

    def _say(self, kind: str, *what: object) -> None:
        self.out.write(json.dumps([kind, time.monotonic(), *what]) + "\n")

    def _file(self) -> None:
        now = os.stat(self.config)
        if (now.st_mtime_ns, now.st_ino) == self.stamp:
            return
        with open(self.config) as config:
            found = re.search(r"^# _version=(\d+)", config.read(1000), re.M)
        self.stamp = (now.st_mtime_ns, now.st_ino)
        version = int(found[1]) if found else 1
        if version != self.version:
            self.version = version
            self._say("version", version)

    def _workers(self) -> None:
        with open(self.children) as children:
            workers = [int(pid) for pid in children.read().split()]
        if workers != self.workers:
            self.workers = workers
            self._say("workers", workers)

    def _servers(self) -> None:
        try:
            states = self._states()
        except (ConnectionError, TimeoutError):
            return  # between two workers
        if not states and self.states:
            return  # cut off amid a reload: the backend itself does not go
        for name in self.states.keys() | states.keys():
            state = states.get(name, "absent")
            if self.states.get(name, "absent") != state:
                self._say("server", name, state)
        self.states = states

    def _states(self) -> dict[str, str]:
        answer = b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(2)
            s.connect(self.stats)
            s.sendall(f"show servers state {self.backend}\n".encode())
            while chunk := s.recv(65536):
                answer += chunk
        rows = [line.split() for line in answer.decode().splitlines() if re.match(r"\d+ ", line)]
        return {row[3]: state_of(int(row[5]), int(row[6])) for row in rows if len(row) > 6}


def state_of(operational: int, administrative: int) -> str:
    """From the columns srv_op_state and srv_admin_state."""
    if administrative & 0x63:
        return "maint"
    if administrative & 0x18:
        return "drain"
    return "live" if operational else "down"


def run(observer: Observer) -> None:
    """Until the end of standard input; a line on it: poll often, until a server's state has changed or for some time."""
    print("looking", flush=True)
    close_until = 0.0
    while True:
        closely = time.monotonic() < close_until
        if observer.look(closely):
            close_until = 0.0
        if not closely:
            observer.out.flush()
        if select.select([0], [], [], CLOSE_S if closely else CALM_S)[0]:
            if not os.read(0, 1000):
                return
            observer.look(False)
            close_until = time.monotonic() + CLOSE_FOR_S
            print("ok", flush=True)


if __name__ == "__main__":
    with open(sys.argv[5], "w") as records:
        made = Observer(*sys.argv[1:5], records)
        run(made)
        made.finish()

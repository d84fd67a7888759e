"""A HAProxy that the daemon reaches by its own file and sockets: what is asked of a Data Plane API elsewhere."""

from __future__ import annotations

import ctypes
import os
import struct

from .haproxy import DataPlane, HAProxy

_LIBC = ctypes.CDLL(None, use_errno=True)
_MOVED_FROM, _MOVED_TO = 0x40, 0x80
_EVENT = struct.Struct("iIII")


class Renames:
    """How often a file of the daemon's, whose name begins with a dot, has taken the place of that file. The kernel counts: nothing
    is missed between two questions. A user may have some hundred of these: each is closed."""

    def __init__(self, folder: str, name: str):
        self._folder, self._name, self._temporary, self._count, self._fd = folder, name, set[int](), 0, -1

    def open(self) -> None:
        if self._fd >= 0:
            return
        self._fd = _LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0 or _LIBC.inotify_add_watch(self._fd, os.fsencode(self._folder), _MOVED_FROM | _MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), f"no watch on {self._folder}")

    def count(self) -> int:
        while self._fd >= 0:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                _, mask, cookie, length = _EVENT.unpack_from(data, at)
                name = data[at + _EVENT.size:at + _EVENT.size + length].rstrip(b"\0").decode()
                at += _EVENT.size + length
                if mask & _MOVED_FROM and name.startswith("."):
                    self._temporary.add(cookie)
                elif mask & _MOVED_TO and name == self._name and cookie in self._temporary:
                    self._count += 1
        return self._count

    def close(self) -> None:
        if self._fd >= 0:
            self.count()
            os.close(self._fd)
        self._fd = -1


class LocalFiles(DataPlane):
    """Has no requests; the rest is as with an API. version: goes up by one with every write of the daemon's."""

    kind = "local"
    haproxy: HAProxy

    def __init__(self, haproxy: HAProxy, directory: os.PathLike[str] | str, counts_checks: bool = True):
        super().__init__(haproxy, haproxy.config, directory)
        self.url = str(haproxy.config)
        self.renames = Renames(str(haproxy.dir), haproxy.config.name)
        self._counts_checks = counts_checks
        self._masters: dict[str, int] = {}
        self._checks, self._program = self.dir / "checks", self.dir / "haproxy"
        self._program.write_text(f'#!/bin/sh\necho "$*" >> {self._checks}\nexec {haproxy.binary} "$@"\n')
        self._program.chmod(0o755)

    def settings(self) -> dict[str, str]:
        return {"HAPROXY_CONFIG_FILE": str(self.config), "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket),
                "HAPROXY_STATS_SOCKET": str(self.haproxy.socket), "HAPROXY_BIN": str(self._program) if self._counts_checks else self.haproxy.binary}

    def start(self) -> "LocalFiles":
        self.renames.open()
        return self

    def stop(self) -> None:
        self.renames.close()

    def version(self) -> int:
        return self.renames.count()

    def reloads(self) -> int:
        """By the own counts of the masters that were asked."""
        pid, count = self.haproxy.master()
        self._masters[pid] = count
        return sum(self._masters.values())

    def checks(self) -> int:
        """How often `haproxy -c` was run."""
        return self._checks.read_text().count("\n") if self._checks.exists() else 0

    def access_log(self) -> str:
        return ""

    def raw(self) -> str:
        return self.file()

    def worker(self) -> int:
        return self.haproxy.worker()

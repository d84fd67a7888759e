"""The running HAProxy where there is none (`--haproxy none`): every server as the file had it at the last reload."""

from __future__ import annotations

import ipaddress
import time
from typing import Any

from .cfgfile import Config, Section
from .runtime import Runtime, RuntimeRefused
from .servers import split_address

# Bits of srv_admin_state: set by a command, by the word `disabled` on the line, to drain.
MAINT, CONFIGURED, DRAIN = 0x01, 0x04, 0x08
FIRST_PID = 4000


class NoRuntime(Runtime):
    """What is changed is kept in memory until the next reload; the pid goes up by one with each."""

    def __init__(self) -> None:
        super().__init__("none")
        self.frontends: list[str] = []
        self.rows: dict[str, dict[str, dict[str, str]]] = {}
        self.pid = FIRST_PID - 1
        self.started = 0.0

    def load(self, config: Config) -> None:
        self.rows = {section.name: _rows(section) for section in config.kind("backend")}
        self.frontends = [section.name for kind in ("frontend", "listen") for section in config.kind(kind)]
        self.pid += 1
        self.started = time.monotonic()

    def info(self) -> dict[str, str]:
        return {"Name": "HAProxy", "Version": "none", "Release_date": "none", "Nbthread": "1", "Processes": "1",
                "Process_num": "1", "Pid": str(self.pid), "Uptime_sec": str(int(time.monotonic() - self.started)),
                "node": "double", "Stopping": "0"}

    def servers(self, backend: str) -> list[dict[str, str]]:
        return [dict(row) for row in self.rows.get(backend, {}).values()]

    def statistics(self) -> list[dict[str, str]]:
        up = {name: sum(row["srv_op_state"] == "2" for row in rows.values()) for name, rows in self.rows.items()}
        return [{"pxname": name, "svname": "FRONTEND", "status": "OPEN"} for name in self.frontends] + [
            {"pxname": name, "svname": "BACKEND", "status": "UP" if n else "DOWN", "act": str(n), "bck": "0"} for name, n in up.items()]

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        row = self._row(backend, server)
        if what == "state":
            admin = int(row["srv_admin_state"]) & ~(MAINT | DRAIN) | {"ready": 0, "maint": MAINT, "drain": DRAIN}[value]
            row["srv_admin_state"] = str(admin)
            row["srv_op_state"] = "0" if admin & MAINT else "2"
        elif what == "addr":
            address, _, port = value.partition(" port ")
            if _literal(address):  # a name is refused with a mere warning
                row.update(srv_addr=address, srv_port=port)
        elif what == "weight":
            row["srv_uweight"] = str(value)
        elif what == "check-port" and row["checked"]:
            row["srv_check_port"] = str(value)

    def agent(self, backend: str, server: str, on: bool) -> None:
        self._row(backend, server)

    def set_certificate(self, path: str, pem: str, new: bool) -> None:
        pass

    def maps(self) -> list[str]:
        return []

    def add_server(self, backend: str, server: str, words: list[str]) -> None:
        raise RuntimeRefused("no HAProxy")

    def _row(self, backend: str, server: str) -> dict[str, str]:
        row = self.rows.get(backend, {}).get(server)
        if row is None:
            raise RuntimeRefused("No such server.")
        return row


def _literal(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _rows(section: Section) -> dict[str, dict[str, str]]:
    out = {}
    for number, (name, address, words) in enumerate(_members(section), 1):
        host, port = split_address(address)
        out[name] = {"srv_id": str(number), "srv_name": name, "srv_addr": host, "srv_port": str(port or 0),
                     "srv_op_state": "0" if "disabled" in words else "2",
                     "srv_admin_state": str(MAINT | CONFIGURED) if "disabled" in words else "0",
                     "srv_uweight": _after(words, "weight", "1"), "srv_iweight": _after(words, "weight", "1"),
                     "srv_check_port": _after(words, "port", "0"), "checked": "yes" if "check" in words else "",
                     "be_name": section.name, "be_id": "1"}
    return out


def _after(words: list[str], word: str, otherwise: str) -> str:
    return words[words.index(word) + 1] if word in words[:-1] else otherwise


def _members(section: Section) -> list[tuple[str, str, list[str]]]:
    out = [(line.words[1], line.words[2], line.words[3:]) for line in section.find("server")]
    for line in section.find("server-template"):
        low, _, high = line.words[2].rpartition("-")
        out += [(f"{line.words[1]}{i}", line.words[3], line.words[4:]) for i in range(int(low or 1), int(high) + 1)]
    return out

"""The running HAProxy through its stats socket, as the API uses it."""

from __future__ import annotations

import csv
import math
import re
import socket
import threading
from typing import Any

from .errors import ApiError

# Bits of srv_admin_state, which HAProxy prints in decimal and the API reads in hexadecimal: 12 (drain, on a line that was
# `disabled` at the last reload) is shown as maint.
ADMIN_MAINT = 0x01 | 0x02 | 0x20
ADMIN_DRAIN = 0x08 | 0x10
# What `show info` says -> what the API calls it; it shows many more counters.
INFO = {"Version": "version", "Release_date": "release_date", "Pid": "pid", "Uptime_sec": "uptime", "node": "node",
        "Nbthread": "nbthread", "Processes": "processes", "Process_num": "process_num", "Stopping": "stopping",
        "Jobs": "jobs", "Listeners": "listeners", "CurrConns": "curr_conns", "CumConns": "cum_conns",
        "CumReq": "cum_req", "Maxconn": "max_conn", "Tasks": "tasks", "Run_queue": "run_queue",
        "Idle_pct": "idle_pct", "Ulimit-n": "ulimit_n"}


class RuntimeRefused(Exception):
    """HAProxy refused a command, and the API has seen that."""


class Runtime:
    def __init__(self, path: str):
        self.path = path

    def ask(self, command: str) -> str:
        answer = b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(self.path)
            s.sendall(command.encode() + b"\n")
            while chunk := s.recv(65536):
                answer += chunk
        return answer.decode(errors="replace").strip()

    def do(self, command: str) -> None:
        """The API takes words of severity 0 to 3 for a refusal. HAProxy's mere warnings escape it: that an address is a
        name, that a server whose check port is set has no check."""
        answer = self.ask(f"set severity-output number;{command}")
        if re.match(r"\[[0-3]\]:", answer):
            raise RuntimeRefused(answer[4:].strip())

    def info(self) -> dict[str, str]:
        pairs = (line.partition(": ") for line in self.ask("show info").splitlines())
        return {name: value for name, _, value in pairs}

    def servers(self, backend: str) -> list[dict[str, str]]:
        """The rows of `show servers state`; none for a backend that HAProxy does not know."""
        lines = self.ask(f"show servers state {backend}").splitlines()
        head = next((line[2:].split() for line in lines if line.startswith("# ")), [])
        return [dict(zip(head, line.split())) for line in lines if line and line[0].isdigit() and " " in line]

    def statistics(self) -> list[dict[str, str]] | None:
        """The rows of `show stat`. None: they cannot be read."""
        head, *lines = self.ask("show stat").splitlines()
        names = head.removeprefix("# ").split(",")
        return [dict(zip(names, row)) for row in csv.reader(lines) if row]

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        self.do(f"set server {backend}/{server} {what} {value}")

    def set_state(self, backend: str, server: str, state: str) -> None:
        self.set(backend, server, "state", state)

    def set_address(self, backend: str, server: str, address: str, port: int) -> None:
        self.set(backend, server, "addr", f"{address} port {port}")

    def set_weight(self, backend: str, server: str, weight: int) -> None:
        self.set(backend, server, "weight", weight)

    def agent(self, backend: str, server: str, on: bool) -> None:
        self.do(f"{'enable' if on else 'disable'} agent {backend}/{server}")

    def add_server(self, backend: str, server: str, words: list[str]) -> None:
        answer = self.ask(f"experimental-mode on; add server {backend}/{server} {' '.join(words)}")
        if "New server registered" not in answer:
            raise RuntimeRefused(answer)

    def delete_server(self, backend: str, server: str) -> None:
        answer = self.ask(f"del server {backend}/{server}")
        if "deleted" not in answer:
            raise RuntimeRefused(answer)

    def set_certificate(self, path: str, pem: str, new: bool) -> None:
        """Blank lines would end it."""
        if new:
            self.do(f"new ssl cert {path}")
        body = "\n".join(line for line in pem.splitlines() if line.strip())
        self.do(f"set ssl cert {path} <<\n{body}\n")
        self.do(f"commit ssl cert {path}")

    def maps(self) -> list[str]:
        return self.ask("show map").splitlines()

    def map_entries(self, file: str) -> list[str]:
        return [line for line in self.ask(f"show map {file}").splitlines() if line.strip()]

    def prepare_map(self, file: str) -> int:
        answer = self.ask(f"prepare map {file}")
        if not (found := re.search(r"version created: (\d+)", answer)):
            raise RuntimeRefused(answer)
        return int(found[1])

    def add_map_entries(self, file: str, lines: str) -> None:
        self.do(f"add map {file} <<\n{lines}\n")

    def commit_map(self, file: str, version: int) -> None:
        self.do(f"commit map @{version} {file}")

    def certificates(self) -> list[str]:
        return [line for line in self.ask("show ssl cert").splitlines() if line.strip() and not line.startswith("#")]

    def certificate(self, name: str) -> dict[str, str]:
        """What HAProxy says of one that it has; nothing else."""
        pairs = (line.partition(": ") for line in self.ask(f"show ssl cert {name}").splitlines())
        return {key: value for key, colon, value in pairs if colon}

    def add_map_entry(self, file: str, key: str, value: str) -> None:
        self.do(f"add map {file} {key} {value}")

    def delete_map_entry(self, file: str, key: str) -> None:
        self.do(f"del map {file} {key}")


class _Behind(Runtime):
    """Another one, seen through something that goes wrong."""

    def __init__(self, inner: Runtime):
        super().__init__(inner.path)
        self.inner = inner

    def info(self) -> dict[str, str]:
        return self.inner.info()

    def servers(self, backend: str) -> list[dict[str, str]]:
        return self.inner.servers(backend)

    def statistics(self) -> list[dict[str, str]] | None:
        return self.inner.statistics()

    def add_server(self, backend: str, server: str, words: list[str]) -> None:
        self.inner.add_server(backend, server, words)


class DeafRuntime(_Behind):
    """HAProxy 2.6 reached through its master socket: what a fast write sets takes effect, a refusal goes unseen, and of
    the servers nothing can be read (of the process it can). So no runtime state can be set, either: that reads first."""

    def servers(self, backend: str) -> list[dict[str, str]]:
        return []

    def statistics(self) -> list[dict[str, str]] | None:
        return None

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        try:
            self.inner.set(backend, server, what, value)
        except RuntimeRefused:
            pass

    def agent(self, backend: str, server: str, on: bool) -> None:
        try:
            self.inner.agent(backend, server, on)
        except RuntimeRefused:
            pass


class MuteRuntime(_Behind):
    """Sends HAProxy nothing, or only after a while, and says that it did (the fault `lie`)."""

    def __init__(self, inner: Runtime, seconds: float):
        super().__init__(inner)
        self.seconds = seconds

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        if self.seconds < math.inf:
            threading.Timer(self.seconds, self.inner.set, (backend, server, what, value)).start()

    def agent(self, backend: str, server: str, on: bool) -> None:
        pass


def server_json(row: dict[str, str], play: str) -> dict[str, Any]:
    """A row of `show servers state` as the API shows it; 3.0 shows six fields, 3.4 all."""
    admin = int(row["srv_admin_state"], 16)
    state = "maint" if admin & ADMIN_MAINT else "drain" if admin & ADMIN_DRAIN else "ready"
    operational = {"0": "down", "1": "up", "2": "up", "3": "stopping"}.get(row["srv_op_state"], "up")
    out: dict[str, Any] = {"id": row["srv_id"], "name": row["srv_name"], "address": row["srv_addr"],
                           "port": int(row.get("srv_port", "0")), "admin_state": state,
                           "operational_state": operational}
    if play == "3.0":
        return out
    for field, column in (("agent_state", "srv_agent_state"), ("backend_forced_id", "bk_f_forced_id"),
                          ("backend_id", "be_id"), ("check_health", "srv_check_health"),
                          ("check_port", "srv_check_port"), ("check_result", "srv_check_result"),
                          ("check_state", "srv_check_state"), ("check_status", "srv_check_status"),
                          ("forced_id", "srv_f_forced_id"), ("iweight", "srv_iweight"),
                          ("last_time_change", "srv_time_since_last_change"), ("uweight", "srv_uweight"),
                          ("weight", "srv_uweight"), ("agent_port", "srv_agent_port")):
        out[field] = int(row.get(column, "0") or 0)
    for field, column in (("agent_addr", "srv_agent_addr"), ("check_addr", "srv_check_addr"), ("fqdn", "srv_fqdn"),
                          ("srvrecord", "srvrecord"), ("backend_name", "be_name")):
        out[field] = row.get(column, "-") or "-"
    out["use_ssl"] = row.get("srv_use_ssl", "0") == "1"
    return out


def info_json(info: dict[str, str]) -> dict[str, Any]:
    """Numbers where they are some."""
    return {field: int(info[name]) if info[name].isdigit() else info[name]
            for name, field in INFO.items() if name in info}


# What `show stat` says of a proxy -> the same as a number; the API shows all columns that are not empty.
COUNTS = ("act", "bck", "scur", "stot", "iid", "sid", "pid", "weight", "chkdown", "lastchg", "downtime")


def statistics_json(row: dict[str, str]) -> dict[str, Any]:
    kind = {"FRONTEND": "frontend", "BACKEND": "backend"}.get(row["svname"], "server")
    stats: dict[str, Any] = {name: int(row[name]) for name in COUNTS if row.get(name)}
    stats |= {name: row[name] for name in ("status", "mode", "algo", "check_status", "last_chk") if row.get(name)}
    if kind == "server":
        return {"type": kind, "name": row["svname"], "backend_name": row["pxname"], "stats": stats}
    return {"type": kind, "name": row["pxname"], "stats": stats}


def missing(what: str, status: int) -> ApiError:
    return ApiError(status, f"no data for {what}: not found")

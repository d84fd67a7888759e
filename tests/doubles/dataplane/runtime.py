"""The stats socket of a running HAProxy, as far as servers go; without one, a state of our own."""

from __future__ import annotations

import socket
from typing import Any

from .cfgfile import Config
from .errors import ApiError
from .servers import split_address

ADMIN_MAINT = 0x01 | 0x02 | 0x04 | 0x20
ADMIN_DRAIN = 0x08 | 0x10


class RuntimeRefused(Exception):
    """HAProxy answered a command with words: with those it means no."""


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
        answer = self.ask(command)
        if answer and "changed from" not in answer and "no need to change" not in answer:
            raise RuntimeRefused(answer)

    def servers(self, backend: str) -> list[dict[str, str]]:
        """The rows of `show servers state`; none for a backend that HAProxy does not know."""
        lines = self.ask(f"show servers state {backend}").splitlines()
        head = next((line[2:].split() for line in lines if line.startswith("# ")), [])
        return [dict(zip(head, line.split())) for line in lines if line and line[0].isdigit() and " " in line]

    def set_state(self, backend: str, server: str, state: str) -> None:
        self.do(f"set server {backend}/{server} state {state}")

    def set_address(self, backend: str, server: str, address: str, port: int) -> None:
        self.do(f"set server {backend}/{server} addr {address} port {port}")

    def set_weight(self, backend: str, server: str, weight: int) -> None:
        self.do(f"set server {backend}/{server} weight {weight}")

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        self.do(f"set server {backend}/{server} {what} {value}")

    def agent(self, backend: str, server: str, on: bool) -> None:
        self.do(f"{'enable' if on else 'disable'} agent {backend}/{server}")

    def add_server(self, backend: str, server: str, words: list[str]) -> None:
        answer = self.ask(f"experimental-mode on; add server {backend}/{server} {' '.join(words)}")
        if "New server registered" not in answer:
            raise RuntimeRefused(answer)


class DeafRuntime(Runtime):
    """HAProxy 2.6 reached through its master socket by the API: what is set takes effect, nothing can be read."""

    def servers(self, backend: str) -> list[dict[str, str]]:
        return []


class NoRuntime(Runtime):
    """For `--haproxy none`: every server as the file has it, changes kept in memory until the next reload."""

    def __init__(self) -> None:
        super().__init__("")
        self.config: Config | None = None
        self.changed: dict[tuple[str, str], dict[str, str]] = {}

    def load(self, config: Config) -> None:
        self.config = config.copy()
        self.changed.clear()

    def servers(self, backend: str) -> list[dict[str, str]]:
        section = self.config.section("backend", backend) if self.config else None
        rows = []
        for number, (name, address, words) in enumerate(_members(section) if section else [], 1):
            host, port = split_address(address)
            weight = words[words.index("weight") + 1] if "weight" in words else "1"
            row = {"srv_id": str(number), "srv_name": name, "srv_addr": host, "srv_port": str(port or 0),
                   "srv_op_state": "2", "srv_admin_state": "1" if "disabled" in words else "0",
                   "srv_uweight": weight, "srv_iweight": weight,
                   "be_name": backend, "be_id": "1"}
            rows.append({**row, **self.changed.get((backend, name), {})})
        return rows

    def _change(self, backend: str, server: str, **values: str) -> None:
        if not any(row["srv_name"] == server for row in self.servers(backend)):
            raise RuntimeRefused("No such server.")
        self.changed.setdefault((backend, server), {}).update(values)

    def set_state(self, backend: str, server: str, state: str) -> None:
        admin = {"ready": "0", "maint": "1", "drain": "8"}[state]
        self._change(backend, server, srv_admin_state=admin, srv_op_state="0" if state == "maint" else "2")

    def set_address(self, backend: str, server: str, address: str, port: int) -> None:
        self._change(backend, server, srv_addr=address, srv_port=str(port))

    def set_weight(self, backend: str, server: str, weight: int) -> None:
        self._change(backend, server, srv_uweight=str(weight))

    def set(self, backend: str, server: str, what: str, value: Any) -> None:
        self._change(backend, server)

    def agent(self, backend: str, server: str, on: bool) -> None:
        self._change(backend, server)

    def add_server(self, backend: str, server: str, words: list[str]) -> None:
        raise RuntimeRefused("no HAProxy")


def _members(section: Any) -> list[tuple[str, str, list[str]]]:
    out = [(line.words[1], line.words[2], line.words) for line in section.find("server")]
    for line in section.find("server-template"):
        low, _, high = line.words[2].rpartition("-")
        out += [(f"{line.words[1]}{i}", line.words[3], line.words) for i in range(int(low or 1), int(high) + 1)]
    return out


def server_json(row: dict[str, str], play: str) -> dict[str, Any]:
    """A row of `show servers state` as the API shows it; 3.0 shows six fields, 3.4 all."""
    admin = int(row["srv_admin_state"])
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


def missing(what: str, status: int) -> ApiError:
    return ApiError(status, f"no data for {what}: not found")

"""One HAProxy with the double of its Data Plane API, and what came of the daemon's work there.

Servers are those in rotation, unless it says otherwise: one that is out may be parked, its line kept and `disabled`."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from tests.harness.haproxy import DoubleDataPlane, HAProxy
from tests.harness.lines import in_rotation, is_parked, parked, server_lines
from tests.harness.process import wait_until
from tests.harness.writes import Request, looked_at, writes_among

BACKEND = "be"
# The backup of the template's first backend, which is not ours.
SORRY = "sorry"


class Pair:
    def __init__(self, home: pathlib.Path, template: str, play: str = "3.4", deaf: bool = False):
        self.haproxy = HAProxy(home / "haproxy", template)
        self.dataplane = DoubleDataPlane(self.haproxy, self.haproxy.config, home / "dataplane", play, reload_delay=0.2, deaf=deaf)

    def start(self) -> None:
        self.haproxy.start()
        self.dataplane.start()

    def stop(self) -> None:
        self.dataplane.stop()
        self.haproxy.stop()

    # --- the file

    def all_lines(self, backend: str = BACKEND) -> dict[str, str]:
        """Server lines of a backend, the parked ones, too: name -> what follows it."""
        return server_lines(self.dataplane.file(), backend)

    def lines(self, backend: str = BACKEND) -> dict[str, str]:
        """Those in rotation."""
        return in_rotation(self.all_lines(backend))

    def parked(self, backend: str = BACKEND) -> set[str]:
        """Names of the lines that are `disabled`."""
        return parked(self.all_lines(backend))

    def servers(self, backend: str = BACKEND) -> set[str]:
        """Names of the servers in rotation in the file."""
        return set(self.lines(backend))

    def addresses(self, backend: str = BACKEND) -> dict[str, str]:
        """Name -> address:port in the file, without the backup that is not ours."""
        return {name: line.split()[0] for name, line in self.lines(backend).items() if name != SORRY}

    # --- the running HAProxy

    def runtime_states(self, backend: str = BACKEND) -> dict[str, str]:
        """Server -> "ready", "drain" or "maint", as HAProxy itself has it."""
        return self.haproxy.states(backend)

    def running(self, backend: str = BACKEND) -> set[str]:
        """Servers that are not in maintenance; those that drain are among them."""
        return {name for name, state in self.runtime_states(backend).items() if state != "maint"}

    def draining(self, backend: str = BACKEND) -> set[str]:
        """Those that drain in the running HAProxy; their lines may well be live."""
        return {name for name, state in self.runtime_states(backend).items() if state == "drain"}

    def resting(self, backend: str = BACKEND) -> set[str]:
        """Those that get no new connections, by whichever way: they drain or are in maintenance."""
        return {name for name, state in self.runtime_states(backend).items() if state != "ready"}

    def differences(self, backend: str = BACKEND) -> list[str]:
        """Where the running HAProxy is not what the file says: names, addresses, weights, maintenance."""
        lines, rows, states = self.all_lines(backend), self.haproxy.servers(backend), self.runtime_states(backend)
        found = [f"{name}: {'in the file alone' if name in lines else 'in HAProxy alone'}" for name in lines.keys() ^ rows.keys()]
        for name in lines.keys() & rows.keys():
            line, row = lines[name], rows[name]
            said = re.search(r"\bweight (\d+)", line)
            pairs = {"place": (line.split()[0].replace("[", "").replace("]", ""), f"{row['srv_addr']}:{row['srv_port']}"),
                     "weight": (said[1] if said else "1", row["srv_uweight"]),
                     "maintenance": (is_parked(line), states[name] == "maint")}
            found += [f"{name}: {what} {file!r} in the file, {runs!r} in HAProxy" for what, (file, runs) in pairs.items() if file != runs]
        return found

    # --- waiting

    def wait_servers(self, *nodes: int, timeout: float = 20, backend: str = BACKEND) -> None:
        """Until the file has exactly these nodes (and the backup that is not ours) in rotation, and HAProxy runs them."""
        wanted = {f"n{i}" for i in nodes} | ({SORRY} if backend == BACKEND else set())
        wait_until(lambda: self.servers(backend) == wanted, timeout, f"servers {sorted(wanted)} in the file")
        wait_until(lambda: self.running(backend) == wanted, timeout, f"servers {sorted(wanted)} in HAProxy")

    def wait_addresses(self, wanted: dict[str, str], timeout: float = 20, backend: str = BACKEND) -> None:
        """Until our servers in the file are these: name -> address:port."""
        def are() -> bool:
            found = self.addresses(backend)
            assert found == wanted, found
            return True

        wait_until(are, timeout, f"servers {wanted} in the file")

    def wait_parked(self, *nodes: int, timeout: float = 20, backend: str = BACKEND) -> None:
        """Until exactly these are out in the file and in HAProxy, with their lines kept."""
        wanted = {f"n{i}" for i in nodes}
        wait_until(lambda: self.parked(backend) == wanted, timeout, f"{sorted(wanted)} parked in the file")
        wait_until(lambda: {n for n, s in self.runtime_states(backend).items() if s == "maint"} == wanted, timeout,
                   f"{sorted(wanted)} in maintenance in HAProxy")

    def wait_draining(self, *nodes: int, timeout: float = 20, backend: str = BACKEND) -> None:
        """Until exactly these drain in the running HAProxy."""
        wanted = {f"n{i}" for i in nodes}
        wait_until(lambda: self.draining(backend) == wanted, timeout, f"{sorted(wanted)} draining in HAProxy")

    # --- the API

    def hand_edit(self, text: str) -> None:
        """haproxy.cfg as an editor saves it: beside it, and renamed over it. In place the API could read it half written."""
        beside = self.dataplane.config.with_suffix(".edited")
        beside.write_text(text)
        os.replace(beside, self.dataplane.config)

    def transactions(self) -> list[dict[str, Any]]:
        return list(self.dataplane.get("/transactions").json() or [])

    def wait_closed(self, *states: str, timeout: float = 20) -> None:
        """Until no transaction is open, or, where states are given, none in one of those: a reading may be under way while all is well."""
        def closed() -> bool:
            found = [t for t in self.transactions() if not states or t["status"] in states]
            assert not found, f"left open: {found}"
            return True

        wait_until(closed, timeout, "no transaction to be open")

    def _told(self) -> tuple[list[dict[str, Any]], list[Request]]:
        requests = self.dataplane.requests()
        return requests, [(r["method"], r["path"]) for r in requests]

    def writes(self) -> list[tuple[str, str, int]]:
        """(method, path, status) of everything but GETs that the Data Plane API saw, without the empty transactions that were only
        read."""
        requests, told = self._told()
        out = [(*told[i], requests[i]["status"]) for i in writes_among(told)]
        if out and out[-1][0] == "POST" and "/transactions?" in out[-1][1] and out[-1][2] in (201, None):
            del out[-1]  # under way: so far it may be a reading as well
        return out

    def looks(self) -> int:
        """How often it was read what a write would make of the file."""
        return len(looked_at(self._told()[1]))

    def commits(self) -> int:
        """How many transactions the Data Plane API took over (200, 202)."""
        return len([w for w in self.writes() if w[0] == "PUT" and "/transactions/" in w[1] and w[2] in (200, 202)])

    def fast_writes(self) -> int:
        """How many servers were written without a reload."""
        return len([w for w in self.writes()
                    if w[0] == "PUT" and "/configuration/" in w[1] and "?version=" in w[1] and w[2] == 200])

    def calls(self) -> int:
        """How often the running HAProxy alone was sent something."""
        return len([w for w in self.writes() if w[0] == "PUT" and "/runtime/" in w[1] and w[2] == 200])

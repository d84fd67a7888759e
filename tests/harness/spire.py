"""A real SPIRE: a server and an agent of a trust domain of their own, where a machine has both. An entry is for all processes of
the user who runs the tests."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from .certificates import Authority, Pair
from .process import Process, free_port, port_open, wait_until

_SERVER = """\
server {{
  bind_address = "127.0.0.1"
  bind_port = "{port}"
  socket_path = "{d}/server.sock"
  trust_domain = "{domain}"
  data_dir = "{d}"
  experimental {{ cache_reload_interval = "500ms" }}
}}
plugins {{
  DataStore "sql" {{ plugin_data {{ database_type = "sqlite3" connection_string = "{d}/server.sqlite3" }} }}
  NodeAttestor "join_token" {{ plugin_data {{}} }}
  KeyManager "memory" {{ plugin_data {{}} }}
{more}}}
"""
_UPSTREAM = """\
  UpstreamAuthority "disk" {{ plugin_data {{ cert_file_path = "{certificate}" key_file_path = "{key}" }} }}
"""
_AGENT = """\
agent {{
  data_dir = "{d}"
  server_address = "127.0.0.1"
  server_port = "{port}"
  socket_path = "{socket}"
  trust_bundle_path = "{d}/bundle.pem"
  trust_domain = "{domain}"
  experimental {{ sync_interval = "1s" }}
}}
plugins {{
  NodeAttestor "join_token" {{ plugin_data {{}} }}
  KeyManager "disk" {{ plugin_data {{ directory = "{d}" }} }}
  WorkloadAttestor "unix" {{ plugin_data {{}} }}
}}
"""


def binaries() -> tuple[str, str] | None:
    """Server and agent: $SPIRE_SERVER and $SPIRE_AGENT, else those on PATH."""
    server, agent = (os.environ.get(name.upper().replace("-", "_")) or shutil.which(name) for name in ("spire-server", "spire-agent"))
    return (server, agent) if server and agent else None


def why_not() -> str:
    return "" if binaries() else "no real SPIRE on this machine ($SPIRE_SERVER and $SPIRE_AGENT, or spire-server and spire-agent on PATH)"


class Spire:
    """upstream: the CA above its own, which is then the one that is trusted."""

    def __init__(self, directory: os.PathLike[str] | str, domain: str = "spiffe://example.test", upstream: Authority | None = None):
        self.dir, self.domain = pathlib.Path(directory), domain
        self._above = _UPSTREAM.format(certificate=upstream.certificate, key=upstream.certificate.with_suffix(".key")) if upstream else ""
        self.dir.mkdir(parents=True, exist_ok=True)
        self.socket = self.dir / "agent.sock"
        self.port = free_port()
        self._server_binary, self._agent_binary = binaries() or ("", "")
        self._server: Process | None = None
        self._agent: Process | None = None

    def start(self) -> "Spire":
        name = self.domain.partition("//")[2]
        for part, text in (("server", _SERVER), ("agent", _AGENT)):
            (self.dir / f"{part}.conf").write_text(text.format(d=self.dir, port=self.port, domain=name, socket=self.socket, more=self._above))
        self._server = Process([self._server_binary, "run", "-config", str(self.dir / "server.conf")], self.dir / "server.log")
        wait_until(lambda: port_open(self.port) and self.say("healthcheck"), 60, f"the SPIRE server; its log: {self.dir}/server.log")
        (self.dir / "bundle.pem").write_text(self.say("bundle", "show"))
        self.start_agent("-joinToken", self.ask("token", "generate", "-spiffeID", f"{self.domain}/node")["value"])
        return self

    def stop(self) -> None:
        self.stop_agent()
        if self._server is not None:
            self._server.stop()

    # --- the agent

    def start_agent(self, *more: str) -> None:
        """What it had is in its folder: a token is for the first time alone."""
        self._agent = Process([self._agent_binary, "run", "-config", str(self.dir / "agent.conf"), *more], self.dir / "agent.log")
        wait_until(self._agent_is_well, 60, f"the SPIRE agent; its log: {self.dir}/agent.log")

    def _agent_is_well(self) -> bool:
        return subprocess.run([self._agent_binary, "healthcheck", "-socketPath", str(self.socket)], capture_output=True, check=False).returncode == 0

    def stop_agent(self) -> None:
        if self._agent is not None:
            self._agent.stop()

    def kill_agent(self) -> None:
        """Its socket stays."""
        assert self._agent is not None
        self._agent.kill()

    def signal_agent(self, signum: int) -> None:
        assert self._agent is not None
        self._agent.signal(signum)

    # --- the server

    def say(self, *command: str) -> str:
        words = 2 if len(command) > 1 and not command[1].startswith("-") else 1
        if command[:2] == ("localauthority", "x509"):
            words = 3
        argv = [self._server_binary, *command[:words], "-socketPath", str(self.dir / "server.sock"), *command[words:]]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, *command: str) -> Any:
        return json.loads(self.say(*command, "-output", "json"))

    def register(self, spiffe_id: str, seconds: int = 3600, *more: str) -> None:
        """Until the agent, which hears of entries every second, has it."""
        self.say("entry", "create", *self._entry(spiffe_id, seconds), *more)
        wait_until(lambda: spiffe_id in self.given(), 60, f"an SVID of {spiffe_id}; the agent's log: {self.dir}/agent.log", 0.1)

    def given(self) -> list[str]:
        """The SPIFFE IDs that the agent gives us."""
        argv = [self._agent_binary, "api", "fetch", "x509", "-socketPath", str(self.socket), "-output", "json"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return [svid["spiffe_id"] for svid in json.loads(done.stdout)["svids"]] if done.returncode == 0 else []

    def lengthen(self, spiffe_id: str, seconds: int = 3600) -> None:
        """Its next SVID is good for so long."""
        (entry,) = self.ask("entry", "show", "-spiffeID", spiffe_id)["entries"]
        self.say("entry", "update", "-entryID", entry["id"], *self._entry(spiffe_id, seconds))

    def _entry(self, spiffe_id: str, seconds: int) -> list[str]:
        return ["-parentID", f"{self.domain}/node", "-spiffeID", spiffe_id, "-selector", f"unix:uid:{os.getuid()}", "-x509SVIDTTL", str(seconds)]

    def forget(self) -> None:
        """All that register() made."""
        for entry in self.ask("entry", "show", "-parentID", f"{self.domain}/node")["entries"]:
            self.say("entry", "delete", "-entryID", entry["id"])

    def trust(self, domain: str, bundle: os.PathLike[str] | str) -> None:
        """The bundle of another trust domain, for entries with -federatesWith."""
        self.say("bundle", "set", "-id", domain, "-path", str(bundle))

    def mint(self, name: str, spiffe_id: str, seconds: int = 3600) -> Pair:
        """An SVID from the server itself, of this common name; its files are in a folder of that name."""
        target = self.dir / name
        target.mkdir(exist_ok=True)
        self.say("x509", "mint", "-spiffeID", spiffe_id, "-dns", name, "-ttl", f"{seconds}s", "-write", str(target))
        return Pair(target / "svid.pem", target / "key.pem")

    def bundle(self) -> pathlib.Path:
        """The certificates that are trusted now."""
        path = self.dir / "now.pem"
        path.write_text(self.say("bundle", "show"))
        return path

    # --- its CA

    def prepare(self) -> str:
        """A CA that is trusted and does not sign yet: its ID."""
        return str(self.ask("localauthority", "x509", "prepare")["prepared_authority"]["authority_id"])

    def activate(self, authority: str) -> str:
        """From now on that one signs: the ID of the one that did."""
        before = str(self.ask("localauthority", "x509", "show")["active"]["authority_id"])
        self.say("localauthority", "x509", "activate", "-authorityID", authority)
        return before

    def revoke(self, authority: str) -> None:
        """It signs no more, and is no longer trusted."""
        self.say("localauthority", "x509", "taint", "-authorityID", authority)
        self.say("localauthority", "x509", "revoke", "-authorityID", authority)

"""Every part x every fault: how it is done, or why it makes no sense. Nothing is left out silently."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import resource
import shutil
import signal
import socket
from collections.abc import Callable

from . import disk, dns, parts
from .command_proxy import TOLD
from .documents import BY_RUNTIME
from .proxy import STEPS, Mode, Proxy
from .world import RESYNC_S, World

Begin = Callable[[World, random.Random], str]
End = Callable[[World], object]


@dataclasses.dataclass(frozen=True)
class Fault:
    part: str
    name: str
    kinds: tuple[str, ...]
    begin: Begin
    end: End
    seconds: tuple[float, float] = (1.5, 3.0)
    may_die: tuple[str, ...] = ()
    strikes_haproxy: bool = False
    bound: float = 10.0
    """Seconds from the last fault or change until all is in sync, where nothing else keeps the machine busy."""
    hits: Callable[[World], int] | None = None
    """How often it has struck so far; None: it strikes by being done."""
    needs: Callable[[], str] = lambda: ""
    """"" or why this machine cannot do it."""

    @property
    def may_leave_transactions(self) -> bool:
        """Who begins one and dies, or never hears its id, leaves it to the next commit of any writer; else it has to be ended by us."""
        if self.part in ("daemon", "local") or self.id == "configuration:kill":
            return self.name in ("kill", "memory", "dns", "fds")
        # A 410 to a commit says that the transaction is gone; that is believed. A begin has no body: what is cut "amid" that has arrived.
        told = {*STATUSES, "reset-connect", "reset-request", "dns"} - {"410"}
        return self.part in ("dataplane", "network", "configuration") and self.name not in {*told, "restart"}

    @property
    def id(self) -> str:
        return f"{self.part}:{self.name}"


PARTS = ("daemon", "dataplane", "haproxy", "kube-apiserver", "etcd", "network", "configuration", "runtime", "local", "helper", "socket")
"""configuration: the daemon and its way to the Data Plane API while the user's haproxy.cfg changes, too; runtime: of that what HAProxy is
told without a reload; local: the daemon and its HAProxy where there is no Data Plane API; helper: one of the two processes that reach that
HAProxy for the daemon; socket: the stats socket by which one of them tells it what takes no reload."""
RESETS = tuple(f"reset-{step}" for step in STEPS)
STATUSES = ("401", "403", "409", "410", "429", "5xx")
NAMES = ("kill", "stop", "stop-long", "restart", "disk-full", "slow", "half-open", "half-open-mute", *RESETS, "garbage", *STATUSES,
         "clock-forward", "clock-back", "dns", "fds", "memory", "reload", "lie")

# Requests to the Data Plane API.
WRITES = "^(PUT|POST|DELETE) "
# All but the DELETE that ends one.
IN_TRANSACTION = "^(PUT|POST|GET) [^ ]*(transaction_id=|/transactions/)"
# Validations and writes of a whole configuration.
WHOLE = "^POST [^ ]*/configuration/raw"
# A kind of world for what any of the quick ones can do.
ANY = ("double", "real", "clock")


# --- processes


def _kill(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        if part == "kube-apiserver":
            world.keep_kube()
        world.parts[part].away = True
        world.parts[part].kill()
        return f"SIGKILL to {part}"
    return begin


def _back(part: str) -> End:
    def end(world: World) -> None:
        world.parts[part].away = False
        world.parts[part].start()
    return end


def _stop(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        world.parts[part].freeze()
        if part in ("kube-apiserver", "etcd") and world.stream:
            world.stream.held = True
        return f"SIGSTOP to {part}"
    return begin


def _cont(part: str) -> End:
    def end(world: World) -> None:
        world.parts[part].thaw()
        if world.stream:
            world.stream.held = False
    return end


def _restart(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        if part == "kube-apiserver":
            world.keep_kube()
        world.parts[part].away = True
        if part == "daemon":
            world.end_daemon()
            world.daemon.start()
        else:
            world.parts[part].restart()
        world.parts[part].away = False
        return f"{part} is restarted in good order"
    return begin


def _nothing(world: World) -> None:
    pass


def _helper(number: signal.Signals) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        """The helpers are the first children of the daemon; what they run comes behind."""
        at = rng.randrange(world.helpers)
        world.struck = parts.children(world.daemon.pid)[:world.helpers][at]  # type: ignore[attr-defined]
        os.kill(world.struck, number)  # type: ignore[attr-defined]
        return f"{number.name} to helper {at + 1} of the daemon"
    return begin


def _helper_cont(world: World) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(world.struck, signal.SIGCONT)  # type: ignore[attr-defined]


# --- ways


def _ways(world: World, part: str) -> list[Proxy]:
    if part == "network":
        return [world.to_kube, world.to_dataplane]
    found = {"kube-apiserver": world.to_kube, "dataplane": world.to_dataplane, "etcd": world.to_etcd, "socket": world.to_socket}[part]
    assert found
    return [found]


def _way(part: str, mode: Callable[[random.Random], Mode], cut: bool = True) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        chosen = mode(rng)
        for proxy in _ways(world, part):
            proxy.set(chosen, cut=cut)
        return f"{chosen} on the way to {part if part != 'network' else 'both APIs'}"
    return begin


def _calm(part: str, forget: bool = True) -> End:
    def end(world: World) -> None:
        for proxy in _ways(world, part):
            proxy.calm()
            if forget:
                proxy.forget()
    return end


def _hits(part: str) -> Callable[[World], int]:
    return lambda world: sum(sum(proxy.hits.values()) for proxy in _ways(world, part))


def _on_way(part: str, name: str, kinds: tuple[str, ...], mode: Callable[[random.Random], Mode], **more: object) -> Fault:
    cut = bool(more.pop("cut", True))
    forget = bool(more.pop("forget", True))
    return Fault(part, name, kinds, _way(part, mode, cut), _calm(part, forget), hits=_hits(part), **more)  # type: ignore[arg-type]


def _ways_of(part: str, readable: tuple[str, ...], kinds: tuple[str, ...]) -> list[Fault]:
    """readable: kinds of world whose bytes on this way are plain HTTP."""
    found = [_on_way(part, "slow", kinds, lambda rng: Mode("slow"), cut=False),
             _on_way(part, "half-open", kinds, lambda rng: Mode("half-open"), cut=False)]
    found += [_on_way(part, name, kinds, lambda rng, step=step: _some(rng, Mode("reset", step), part))
              for name, step in zip(RESETS, STEPS)]
    if readable:
        found.append(_on_way(part, "garbage", readable, lambda rng: _some(rng, Mode("garbage"), part)))
        found += [_on_way(part, name, readable, lambda rng, name=name: _some(rng, _status(name, rng), part)) for name in STATUSES]
    return found


def _status(name: str, rng: random.Random) -> Mode:
    status = rng.choice((500, 502, 503, 504)) if name == "5xx" else int(name)
    after = rng.choice((0, 1, 2)) if status in (429, 503) else 0
    return Mode("status", status=status, retry_after=after)


def _some(rng: random.Random, mode: Mode, part: str) -> Mode:
    """Hits all requests or some; of the Data Plane API's, often nothing but writes."""
    only = rng.choice(("", WRITES, IN_TRANSACTION)) if part == "dataplane" and mode.step != "connect" else ""
    return dataclasses.replace(mode, chance=rng.choice((0.2, 0.4, 0.7, 1.0)), only=only)


# --- the daemon's own pages: clients that misbehave

_CLIENTS = 24


def _clients(what: str) -> tuple[Begin, End]:
    def begin(world: World, rng: random.Random) -> str:
        held = []
        for i in range(_CLIENTS):
            sock = socket.socket()
            sock.settimeout(0.5)
            try:
                sock.connect(("127.0.0.1", world.daemon.port))
                if what == "garbage":
                    sock.sendall(rng.randbytes(rng.randint(1, 20_000)))
                elif what == "slow":
                    sock.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: "[:rng.randint(0, 30)])
                elif what.startswith("reset"):
                    sock.sendall({"reset-request": b"GET /met", "reset-body": b"POST /metrics HTTP/1.1\r\nContent-Length: 90\r\n\r\nabc",
                                  "reset-connect": b""}.get(what, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"))
                    if what == "reset-mid-answer":
                        sock.recv(100)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    sock.close()
            except OSError:
                pass
            held.append(sock)
        world.held = held  # type: ignore[attr-defined]
        return f"{_CLIENTS} clients of the daemon's pages: {what}"

    def end(world: World) -> None:
        for sock in world.held:  # type: ignore[attr-defined]
            sock.close()
    return begin, end


# --- limits


def _few_fds(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        said = world.parts[part].limit(resource.RLIMIT_NOFILE, parts.open_files)
        if part == "kube-apiserver" and world.stream:
            world.stream.held = True  # it takes nobody's changes either
        # So that it needs new ones.
        world.to_kube.cut()
        world.to_dataplane.cut()
        if part == "daemon":
            world.held = [socket.create_connection(("127.0.0.1", world.daemon.port), 2) for _ in range(3)]  # type: ignore[attr-defined]
        return f"{part} may open no further files ({said})"
    return begin


def _limits_end(part: str) -> End:
    def end(world: World) -> None:
        world.parts[part].unlimited()
        for sock in getattr(world, "held", []):
            sock.close()
    return end


def _little_memory(part: str, more: int) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        if part == "kube-apiserver":
            world.keep_kube()
        said = world.parts[part].limit(resource.RLIMIT_AS, lambda pid: parts.address_space(pid) + more)
        return f"{part} may have {more >> 10} KiB more of memory ({said})"
    return begin


# --- disks, clocks, names


def _fill(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        return f"the disk of {part} is full after {world.disks[part].fill()} bytes more"
    return begin


def _free(part: str) -> End:
    return lambda world: world.disks[part].free()


def _clock(part: str, sign: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        jump = rng.choice(("90", "3600", "86400", "31536000"))
        (world.home / f"{part}.clock").write_text(f"{sign}{jump}\n")
        return f"the wall clock of {part} jumps by {sign}{jump} s"
    return begin


def _clock_back(part: str) -> End:
    def end(world: World) -> None:
        (world.home / f"{part}.clock").write_text("+0\n")
    return end


def _no_names(part: str) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        assert world.names
        mode = rng.choice(("silent", "fails", "knows nothing", "gone"))
        world.names.set(mode, {"kube-apiserver": b"\4kube", "dataplane": b"\11dataplane"}.get(part, b""))
        if part == "daemon":
            world.parts["daemon"].kill()
        else:
            for proxy in (world.to_kube, world.to_dataplane):
                proxy.cut()
        return f"the name server {mode} ({part}{', which is killed meanwhile' if part == 'daemon' else ''})"
    return begin


def _names_back(world: World) -> None:
    assert world.names
    world.names.set("answers")


# --- the table


def _all() -> list[Fault]:
    found: list[Fault] = []
    for part in ("daemon", "dataplane", "haproxy", "kube-apiserver", "etcd"):
        kinds = {"etcd": ("real",), "kube-apiserver": ("double", "real"), "haproxy": (*ANY, "whole", "local")}.get(part, ANY)
        struck = part == "haproxy"
        found += [Fault(part, "kill", kinds, _kill(part), _back(part), (0.2, 3.0), (part, *_follow(part)), struck),
                  Fault(part, "stop", kinds, _stop(part), _cont(part), strikes_haproxy=struck),
                  # A HAProxy that restarts may take a question of the API's and not answer it for 10 s, twice in a commit.
                  Fault(part, "restart", kinds, _restart(part), _nothing, (0.5, 2.0), _follow(part), struck, bound=30 if struck else 10),
                  Fault(part, "fds", kinds, _few_fds(part), _limits_end(part), may_die=() if part == "daemon" else (part, *_follow(part)),
                        strikes_haproxy=struck)]
    found += [Fault(part, "stop-long", ("fast",), _stop(part), _cont(part), (5.0, 6.0), bound=20, strikes_haproxy=part == "haproxy")
              for part in ("dataplane", "haproxy", "kube-apiserver")]
    found += [Fault("daemon", "memory", ("clock",), _little_memory("daemon", 64 << 10), _limits_end("daemon"), may_die=("daemon",)),
              Fault("dataplane", "memory", ("double", "clock", "real"), _little_memory("dataplane", 1 << 20), _limits_end("dataplane"),
                    may_die=("dataplane",)),
              Fault("haproxy", "memory", ("double", "clock"), _little_memory("haproxy", 1 << 20), _limits_end("haproxy"),
                    may_die=("haproxy",), strikes_haproxy=True),
              *(Fault(part, "memory", ("real",), _little_memory(part, 8 << 20), _limits_end(part), may_die=(part, "kube-apiserver"))
                for part in ("kube-apiserver", "etcd"))]
    # An API server whose etcd comes back lets some requests of the stream itself run into their time limit, one after the other.
    found += [Fault(part, "disk-full", kinds, _fill(part), _free(part), needs=disk.possible, may_die=may_die, bound=30 if part == "etcd" else 10)
              for part, kinds, may_die in (("daemon", ("double", "clock"), ()), ("dataplane", ("double", "real"), ()),
                                           ("haproxy", ("double", "real"), ()), ("etcd", ("real",), ("etcd", "kube-apiserver")))]
    found += _ways_of("dataplane", ("double", "clock"), ("double", "real", "clock"))
    found += _ways_of("kube-apiserver", ("double", "clock"), ("double", "real", "clock"))
    found += _ways_of("etcd", (), ("real",))
    found += _ways_of("network", ("double",), ("double",))
    found += [_on_way(part, "half-open-mute", ("fast",), lambda rng: Mode("half-open"), cut=False, forget=False, bound=30)
              for part in ("dataplane", "kube-apiserver", "network")]
    found.append(_on_way("network", "restart", ("double", "real", "clock"), lambda rng: Mode("refuse")))
    found += [Fault("daemon", name, ("double", "clock"), *_clients(name)) for name in ("slow", "half-open", *RESETS, "garbage")]
    for part in ("daemon", "haproxy"):
        found += [Fault(part, name, ("clock",), _clock(part, sign), _clock_back(part), strikes_haproxy=part == "haproxy")
                  for name, sign in (("clock-forward", "+"), ("clock-back", "-"))]
    found += _of_configuration()
    found += _of_runtime() + _local() + _of_socket()
    found += [Fault(part, "dns", ("double",), _no_names(part), _names_back, may_die=("daemon",) if part == "daemon" else (),
                    needs=dns.possible) for part in ("daemon", "dataplane", "kube-apiserver", "network")]
    return [dataclasses.replace(f, hits=None) if f.id == "network:restart" else f for f in found]


# What the daemon sends for one document: a change, and the first line of a request.
DOCUMENT_STEPS = (("", "^POST [^ ]*only_validate"), ("", "^POST [^ ]*skip_reload"), ("", "^POST [^ ]*/transactions[?]"),
                  ("", "^PUT [^ ]*/transactions/"), ("", "^GET [^ ]*/reloads/"))
# Of a document that takes no reload.
RUNTIME_STEPS = (("server", "^POST [^ ]*skip_reload"), ("server", "^GET [^ ]*/runtime/backends/by-document/"),
                 ("map", "^PUT [^ ]*/storage/maps/"), ("map", "^PUT [^ ]*/runtime/maps/"), ("map", "^GET [^ ]*/runtime/maps/"),
                 ("certificate", "^PUT [^ ]*/storage/ssl_certificates/"), ("certificate", "^GET [^ ]*/runtime/ssl_certs/"))
API_CHANGES = ("server", "map", "certificate")
RUNTIME = "^(PUT [^ ]*/(runtime/maps|storage/ssl_certificates)/|POST [^ ]*skip_reload|GET [^ ]*/runtime/)"
# The same by the stats socket.
COMMANDS = (("server", "set server by-document/"), ("server", "^show servers state by-document"), ("come", "add server by-document/"),
            ("come", "enable server by-document/"), ("go", "del server by-document/"), ("map", "^prepare map"), ("map", "^add map"),
            ("map", "^commit map"), ("map", "^set map"), ("map", "^show map /"), ("certificate", "^set ssl cert"), ("certificate", "^commit ssl cert"),
            ("certificate", "^show ssl cert /"))


def _amid(world: World, rng: random.Random, proxy: Proxy, steps: tuple[tuple[str, str], ...], do: Callable[[], object]) -> str:
    """In the middle of a document's way; at the moment itself where none of the user's is on its way."""
    change, step = rng.choice(steps)
    heard = rng.choice(("request", "answer"))
    done = proxy.stop_at(step, heard, do)
    said = world.documents.put(True, change) if world.documents else "no document"
    if not done.wait(4 if world.documents else 0):
        proxy.stop_nowhere()
        do()
    return f"{said}; at the {heard} of {step}{'' if done.is_set() else ', which did not come'}"


def _kill_amid(part: str, steps: tuple[tuple[str, str], ...]) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        struck = world.parts[part]
        struck.away = True
        return f"{_amid(world, rng, _told_by(world), steps, struck.kill)}: SIGKILL to {part}"
    return begin


def _with_change(begin: Begin, changes: tuple[str, ...]) -> Begin:
    """And a document that reaches HAProxy by runtime commands, for it to strike."""
    def both(world: World, rng: random.Random) -> str:
        said = begin(world, rng)
        return f"{said}; {world.documents.put(True, rng.choice(changes)) if world.documents else 'no document'}"
    return both


def _reload_amid(steps: tuple[tuple[str, str], ...]) -> Begin:
    def begin(world: World, rng: random.Random) -> str:
        def reload() -> None:
            with contextlib.suppress(AssertionError, OSError, RuntimeError):
                world.haproxy.reload()
        return f"{_amid(world, rng, _told_by(world), steps, reload)}: HAProxy is reloaded by an operator"
    return begin


def _told_by(world: World) -> Proxy:
    return world.to_socket or world.to_dataplane


def _of_configuration() -> list[Fault]:
    part, kinds, bound = "configuration", ("whole",), 20.0

    def way(name: str, mode: Mode) -> Fault:
        def chosen(rng: random.Random) -> Mode:
            return dataclasses.replace(mode, chance=rng.choice((0.4, 0.7, 1.0)), only=rng.choice(("", WRITES, WHOLE)),
                                       status=rng.choice((500, 502, 503, 504)) if name == "5xx" else mode.status)

        return Fault(part, name, kinds, _way("dataplane", chosen), _calm("dataplane"), hits=_hits("dataplane"), bound=bound)

    return [Fault(part, "kill", kinds, _kill_amid("daemon", DOCUMENT_STEPS + RUNTIME_STEPS), _back("daemon"), (0.2, 3.0), ("daemon",), bound=bound),
            Fault(part, "restart", kinds, _restart("daemon"), _nothing, (0.5, 2.0), bound=bound),
            Fault(part, "stop", kinds, _stop("dataplane"), _cont("dataplane"), bound=bound),
            Fault(part, "half-open", kinds, _way("dataplane", lambda rng: Mode("half-open"), False), _calm("dataplane"),
                  hits=_hits("dataplane"), bound=bound),
            *(way(name, Mode("reset", step)) for name, step in zip(RESETS, STEPS) if step in ("body", "before-answer", "mid-answer")),
            way("409", Mode("status", status=409)), way("5xx", Mode("status", status=500))]


def _of_runtime() -> list[Fault]:
    part, kinds, bound = "runtime", ("whole",), 20.0

    def way(name: str, kind: str, step: str = "") -> Fault:
        def chosen(rng: random.Random) -> Mode:
            status = rng.choice((500, 502, 503, 504)) if kind == "status" else 0
            return Mode(kind, step, status, chance=rng.choice((0.4, 0.7, 1.0)), only=RUNTIME)
        return Fault(part, name, kinds, _with_change(_way("dataplane", chosen), API_CHANGES), _calm("dataplane"), hits=_hits("dataplane"), bound=bound)

    return [Fault(part, "kill", kinds, _kill_amid("haproxy", RUNTIME_STEPS), _back("haproxy"), (0.2, 2.0), ("haproxy",), True, bound=30),
            Fault(part, "reload", kinds, _reload_amid(RUNTIME_STEPS), _nothing, (0.5, 2.0), strikes_haproxy=True, bound=RESYNC_S + bound),
            Fault(part, "lie", kinds, _with_change(_api_lies, API_CHANGES), _api_is_honest, bound=bound, needs=_no_double),
            way("reset-before-answer", "reset", "before-answer"), way("5xx", "status")]


def _no_double() -> str:
    return "a real Data Plane API does not lie" if shutil.which(os.environ.get("DATAPLANEAPI") or "dataplaneapi") else ""


def _api_lies(world: World, rng: random.Random) -> str:
    """Of most that it is to tell HAProxy."""
    found = [(method, path) for method, path in (("POST", "configuration/raw.*skip_reload"), ("PUT", "runtime/maps/"),
                                                 ("PUT", "storage/ssl_certificates/")) if rng.random() < 0.7]
    for method, path in found:
        world.dataplane.fault({"action": "lie", "method": method, "path": path})  # type: ignore[attr-defined]
    return f"the API lies about {found}"


def _api_is_honest(world: World) -> None:
    world.dataplane.clear_faults()  # type: ignore[attr-defined]


def _of_socket() -> list[Fault]:
    part, kinds, bound = "socket", ("local",), 20.0

    def way(name: str, kind: str, step: str = "", only: tuple[str, ...] = ("", TOLD, "^show ")) -> Fault:
        def chosen(rng: random.Random) -> Mode:
            return Mode(kind, step, chance=rng.choice((0.4, 0.7, 1.0)), only=rng.choice(only))
        return Fault(part, name, kinds, _with_change(_way("socket", chosen, cut=False), BY_RUNTIME), _calm("socket"), hits=_hits("socket"),
                     bound=bound)

    return [Fault(part, "kill", kinds, _kill_amid("haproxy", COMMANDS), _back("haproxy"), (0.2, 2.0), ("haproxy",), True, bound=30),
            Fault(part, "reload", kinds, _reload_amid(COMMANDS), _nothing, (0.5, 2.0), strikes_haproxy=True, bound=RESYNC_S + bound),
            Fault(part, "disk-full", kinds, _fill_amid, _free("haproxy"), needs=disk.possible, bound=40),
            way("lie", "lie", only=(TOLD,)), way("slow", "slow"), way("half-open", "half-open"), way("garbage", "garbage"),
            *(way(name, "reset", step) for name, step in zip(RESETS, STEPS))]


def _fill_amid(world: World, rng: random.Random) -> str:
    """HAProxy has a server, and its file cannot have it."""
    return f"{_amid(world, rng, _told_by(world), COMMANDS[2:3], world.disks['haproxy'].fill)}: the disk of haproxy is full"


def _local() -> list[Fault]:
    """What of it differs from the rows of the daemon and of HAProxy: who writes the file is one with who is struck."""
    part, kinds, bound = "local", ("local",), 20.0
    return [Fault(part, "kill", kinds, _kill_amid("daemon", COMMANDS), _back("daemon"), (0.2, 3.0), ("daemon",), bound=bound),
            Fault(part, "restart", kinds, _restart("daemon"), _nothing, (0.5, 2.0), bound=bound),
            Fault(part, "stop", kinds, _stop("haproxy"), _cont("haproxy"), strikes_haproxy=True, bound=bound),
            # A document that could not be opened is read again with RESYNC_PERIOD.
            Fault(part, "fds", kinds, _few_fds("daemon"), _limits_end("daemon"), bound=RESYNC_S + bound),
            Fault(part, "disk-full", kinds, _fill("haproxy"), _free("haproxy"), needs=disk.possible, bound=40),
            # Without it the daemon ends, to be started again with two new ones.
            Fault("helper", "kill", kinds, _helper(signal.SIGKILL), _nothing, (0.2, 3.0), ("daemon",), bound=bound),
            Fault("helper", "stop", kinds, _helper(signal.SIGSTOP), _helper_cont, bound=bound)]


def _follow(part: str) -> tuple[str, ...]:
    """Who may die with it: a kube-apiserver that has no etcd for long ends itself."""
    return ("kube-apiserver",) if part == "etcd" else ()


FAULTS: dict[str, Fault] = {fault.id: fault for fault in _all()}

# Strikes that take the same way through the daemon as another case does: the fixed list has that one alone.
ALIKE = {
    "daemon": ("half-open", "reset-connect", "reset-request", "reset-body", "reset-before-answer"),
    "dataplane": ("memory", "fds", "reset-request"),
    "haproxy": ("memory", "clock-back"),
    "kube-apiserver": ("memory", "fds", "reset-request", "reset-body", "403", "409"),
    "etcd": ("memory", "fds", "slow", "reset-request", "reset-body", "reset-before-answer"),
    "network": ("half-open", "reset-connect", "reset-request", "reset-body", "reset-before-answer", "garbage", *STATUSES),
    "configuration": ("reset-body",),
    "socket": ("half-open", "reset-connect", "reset-body"),
}

_GO = "a static Go binary: libfaketime does not reach it, and nothing of its wall clock reaches the daemon but timestamps it never reads"
_CLIENT = "nobody sends it requests that are answered by an API: it is the client"
_UNIX = "is reached by the Data Plane API alone, through a unix socket beside it; that API's own faults are in its row"
_GRPC = "it is spoken gRPC to: bytes that mean nothing are resets there; what clients see of etcd's errors is kube-apiserver x 5xx"
_WIRE = "the network is no process and has no disk, clock or memory"

_SAME = "strikes the daemon's files, clocks and clients, or every request alike: what it does about that is the same with and without"

_SOCKETS = "there is nobody in between: HAProxy's own sockets are on this machine, and clocks and memory are in the rows of daemon and haproxy"

_OTHERS = "whoever reloads HAProxy does so to any change alike: it is in the rows of runtime and socket, amid one"

_LIES = "who answers that HAProxy was told a thing, and did not tell it, is the Data Plane API, or HAProxy's socket: runtime and socket"

_TOLD = "strikes more than what HAProxy is told: it is in the rows of dataplane, configuration and haproxy, while that is under way, too"

_SAID = "is no matter of what is said there: it is in the rows of haproxy, local and helper"

_CHILD = "a child of the daemon's, which is spoken to by nobody else: what strikes its disk, memory and HAProxy is in the rows of local"

# (part, fault) -> why not.
NOT_APPLICABLE: dict[tuple[str, str], str] = {
    **{("network", name): _WIRE for name in ("kill", "stop", "stop-long", "disk-full", "clock-forward", "clock-back", "fds", "memory")},
    **{("daemon", name): _CLIENT for name in STATUSES},
    ("daemon", "half-open-mute"): "its pages are asked by short-lived clients; what it does about silent ones is half-open",
    ("daemon", "stop-long"): "its own timers run on while it is stopped: stop covers it",
    **{("haproxy", name): _UNIX for name in ("slow", "half-open", "half-open-mute", *RESETS, "garbage", *STATUSES, "dns")},
    ("kube-apiserver", "disk-full"): "it keeps nothing on a disk; etcd does",
    **{(part, name): _GO for part in ("kube-apiserver", "etcd") for name in ("clock-forward", "clock-back")},
    **{("etcd", name): _GRPC for name in ("garbage", *STATUSES)},
    ("etcd", "half-open-mute"): "gRPC's keepalive between the API server and etcd is Kubernetes' own; half-open shows what we see of it",
    ("etcd", "stop-long"): "the daemon has no timer towards etcd; the API server's own would need its clock",
    **{("dataplane", name): "of its wall clock the daemon sees the date in a reload's id, an opaque string; the real one is a static Go "
       "binary, and under libfaketime the double's reload does not end" for name in ("clock-forward", "clock-back")},
    **{("configuration", name): _SAME for name in NAMES if name not in
       ("kill", "restart", "stop", "half-open", "reset-body", "reset-before-answer", "reset-mid-answer", "409", "5xx", "reload", "lie")},
    **{("runtime", name): _TOLD for name in NAMES if name not in ("kill", "reload", "lie", "reset-before-answer", "5xx")},
    **{("socket", name): _SAID for name in NAMES if name not in
       ("kill", "reload", "lie", "disk-full", "slow", "half-open", "garbage", *RESETS)},
    **{(part, "reload"): _OTHERS for part in PARTS if part not in ("runtime", "socket", "helper")},
    **{(part, "lie"): _LIES for part in PARTS if part not in ("runtime", "socket", "helper")},
    **{("local", name): _SOCKETS for name in ("slow", "half-open", "half-open-mute", *RESETS, "garbage", *STATUSES, "dns", "stop-long",
                                              "clock-forward", "clock-back", "memory")},
    **{("helper", name): _CHILD for name in NAMES if name not in ("kill", "stop")},
    ("etcd", "dns"): "is reached by address, and by the API server alone",
}

"""A TCP proxy between the daemon and a peer that does what networks do: everything goes through it until it is given a Mode.

    proxy = Proxy("127.0.0.1", api.port, seed=1).start()
    proxy.set(Mode("reset", step="before-answer", chance=0.5))
    proxy.calm()

    pass        all goes through
    slow        answers come one byte a second; what is left over flows when the mode ends
    half-open   whatever either side sends is swallowed; connections of this time stay mute afterwards, until forget()
    reset       RST at a step: connect, request (part of its first line has been sent on), body (half of it), before-answer (the
                peer has carried it out), mid-answer (half of what came has been sent on)
    garbage     answers that are none; random bytes within streams that are running
    status      HTTP answers of this status, the peer hears nothing
    refuse      nobody listens

Modes other than slow, half-open and refuse hit the first request, and each further one with the chance given. http=False: bytes that
cannot be read (TLS, gRPC); then a chunk stands for a request, and there are no statuses. The order of hits depends on the timing of real processes.

At one request, something is done while it waits:

    proxy.stop_at("POST .*only_validate", "answer", api.kill)     # the peer has carried it out; "request": has not heard of it
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import json
import random
import re
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from tests.harness.process import free_port

STEPS = ("connect", "request", "body", "before-answer", "mid-answer")
GARBAGE = ("noise", "body", "header", "cut")
_LINGER = struct.pack("ii", 1, 0)
_HEAD_MAX = 1 << 20


@dataclasses.dataclass(frozen=True)
class Mode:
    kind: str = "pass"
    step: str = ""
    status: int = 0
    chance: float = 1.0
    retry_after: int = 0
    only: str = ""
    """A pattern that the request's first line has to have: what is begun goes wrong only where reading goes well."""

    def __str__(self) -> str:
        words = [self.kind, self.step, str(self.status or ""), f"chance {self.chance:g}" if self.chance < 1 else "",
                 f"of {self.only}" if self.only else ""]
        return " ".join(word for word in words if word)


PASS = Mode()


@dataclasses.dataclass(frozen=True)
class _Stop:
    pattern: bytes
    step: str
    do: Callable[[], object]


@dataclasses.dataclass(eq=False)
class _Link:
    """One connection and the one that stands for it at the peer."""
    client: asyncio.StreamWriter
    peer: asyncio.StreamWriter | None = None
    mute: bool = False
    at_answer: str = ""
    stop: _Stop | None = None
    """At the answer to come."""

    def reset(self) -> None:
        for side in (self.client, self.peer):
            if side is None:
                continue
            with contextlib.suppress(OSError, AttributeError):
                side.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
            side.transport.abort()


class Proxy:
    def __init__(self, host: str, port: int, seed: int | str = 0, http: bool = True):
        self.peer = (host, port)
        self.http = http
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.random = random.Random(seed)
        self.mode = PASS
        self.hits: collections.Counter[str] = collections.Counter()
        """How often each kind of mode has hit."""
        self._has_hit = False
        self._stop: _Stop | None = None
        self._stopped = threading.Event()
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.base_events.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy to {port}", daemon=True)

    # --- from outside

    def start(self) -> "Proxy":
        self._thread.start()
        self._on_loop(self._listen())
        return self

    def stop(self) -> None:
        self._on_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def set(self, mode: Mode, cut: bool = False) -> None:
        """cut: connections that are there are reset, so that new ones meet the mode."""
        async def change() -> None:
            self.mode, self._has_hit = mode, False
            if mode.kind == "refuse":
                await self._refuse()
            else:
                await self._listen()
            if cut or mode.kind == "refuse":
                self._reset_all()

        self._on_loop(change())

    def calm(self) -> None:
        self.set(PASS)

    def stop_at(self, pattern: str, step: str, do: Callable[[], object]) -> threading.Event:
        """The next request whose first line has the pattern waits until `do` has returned, which is called once; then the event is set."""
        self._stopped = threading.Event()
        self._stop = _Stop(pattern.encode(), step, do)
        return self._stopped

    def stop_nowhere(self) -> None:
        self._stop = None

    def forget(self) -> None:
        """Mute connections are reset: the box that had lost them answers for them again."""
        async def drop() -> None:
            for link in [link for link in self._links if link.mute]:
                link.reset()

        self._on_loop(drop())

    def cut(self, politely: bool = False) -> None:
        """politely: each end gets the end of the stream, instead of a reset."""
        async def drop() -> None:
            for link in list(self._links) if politely else []:
                for side in (link.client, link.peer):
                    if side:
                        side.close()
            if not politely:
                self._reset_all()

        self._on_loop(drop())

    @property
    def connections(self) -> int:
        return len(self._links)

    def _on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    # --- listening

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=_HEAD_MAX)

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _end(self) -> None:
        await self._refuse()
        self._reset_all()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _reset_all(self) -> None:
        for link in list(self._links):
            link.reset()

    def _hit(self, kind: str, step: str = "", head: bytes = b"") -> bool:
        """Whether this mode is on and takes this one."""
        mode = self.mode
        if mode.kind != kind or mode.step != step or (mode.only and not re.search(mode.only.encode(), head[:200])):
            return False
        if self._has_hit and self.random.random() >= mode.chance:
            return False
        self._has_hit = True
        self.hits[kind] += 1
        return True

    # --- one connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(writer)
        task = asyncio.current_task()
        assert task
        self._links.add(link)
        self._tasks.add(task)
        try:
            await self._carry(link, reader)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            link.reset()
            self._links.discard(link)
            self._tasks.discard(task)

    async def _carry(self, link: _Link, reader: asyncio.StreamReader) -> None:
        if self._hit("reset", "connect"):
            return
        if self.mode.kind == "half-open":
            link.mute = True
        from_peer, link.peer = await asyncio.open_connection(*self.peer)
        up = asyncio.create_task((self._requests if self.http else self._chunks)(link, reader))
        down = asyncio.create_task(self._answers(link, from_peer))
        try:
            # A peer that has ended ends both; a client that has only finished sending may still be read to.
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if up.done() and not up.exception() and not down.done():
                await asyncio.wait({down}, timeout=5)
            for task in (up, down):
                if task.done() and task.exception():
                    raise task.exception() or OSError()
            await self._polite_end(link)
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    @staticmethod
    async def _polite_end(link: _Link) -> None:
        if not link.mute:
            with contextlib.suppress(OSError):
                link.client.close()
                await asyncio.wait_for(link.client.wait_closed(), 1)

    def _muted(self, link: _Link) -> bool:
        if self.mode.kind == "half-open" and not link.mute:
            link.mute = True
        if link.mute:
            self.hits["half-open"] += 1
        return link.mute

    # --- what the client sends

    async def _requests(self, link: _Link, reader: asyncio.StreamReader) -> None:
        """One HTTP request after another: none is read in parts, they are small."""
        assert link.peer
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as e:
                if e.partial and not self._muted(link):
                    link.peer.write(e.partial)
                return
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            if self._muted(link):
                continue
            stop = self._stop
            if stop and re.search(stop.pattern, head.partition(b"\r\n")[0]):
                self._stop = None
                if stop.step == "request":
                    await self._do(stop)
                else:
                    link.stop = stop
            if not await self._answered_here(link, head):
                await self._send_on(link, head, body)

    async def _do(self, stop: _Stop) -> None:
        """Not on the loop, which others wait for meanwhile."""
        def work() -> None:
            stop.do()
            stopped.set()  # whatever has become of the connection meanwhile

        stopped = self._stopped
        await self._loop.run_in_executor(None, work)

    async def _chunks(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(65536):
            if not self._muted(link):
                await self._send_on(link, chunk[:len(chunk) // 2], chunk[len(chunk) // 2:])

    async def _send_on(self, link: _Link, first: bytes, second: bytes) -> None:
        assert link.peer
        for step, part in (("request", first[:20]), ("body", first + second[:len(second) // 2])):
            if self._hit("reset", step, first):
                link.peer.write(part)
                await link.peer.drain()
                raise ConnectionResetError(step)
        for step in ("before-answer", "mid-answer"):
            if self._hit("reset", step, first):
                link.at_answer = step
        link.peer.write(first + second)
        await link.peer.drain()

    async def _answered_here(self, link: _Link, head: bytes) -> bool:
        if self._hit("status", head=head):
            link.client.write(_status_answer(self.mode))
            await link.client.drain()
            return True
        if self._hit("garbage", head=head):
            link.client.write(_garbage(self.random))
            await link.client.drain()
            raise ConnectionResetError("garbage")
        return False

    # --- what the peer sends

    async def _answers(self, link: _Link, reader: asyncio.StreamReader) -> None:
        while chunk := await reader.read(65536):
            if self._muted(link):
                continue
            if link.stop:
                stop, link.stop = link.stop, None
                await self._do(stop)
            if link.at_answer == "before-answer":
                raise ConnectionResetError(link.at_answer)
            # Streams that were running when the mode began have no request left that it could hit.
            if link.at_answer == "mid-answer" or self._hit("reset", "mid-answer"):
                link.client.write(chunk[:len(chunk) // 2])
                await link.client.drain()
                raise ConnectionResetError("mid-answer")
            if self._hit("garbage"):
                link.client.write(self.random.randbytes(self.random.randint(1, 200)))
            await self._deliver(link, chunk)

    async def _deliver(self, link: _Link, chunk: bytes) -> None:
        at = 0
        while self.mode.kind == "slow" and at < len(chunk):
            self.hits["slow"] += 1
            link.client.write(chunk[at:at + 1])
            await link.client.drain()
            at += 1
            await self._pause(lambda: self.mode.kind == "slow", 1.0)
        link.client.write(chunk[at:])
        await link.client.drain()

    @staticmethod
    async def _pause(still: Callable[[], bool], seconds: float) -> None:
        """The seconds, or until it is over."""
        for _ in range(int(seconds / 0.05)):
            if not still():
                return
            await asyncio.sleep(0.05)


def _status_answer(mode: Mode) -> bytes:
    """Which both APIs' clients understand: a Status of Kubernetes with the Data Plane API's `code` and `message`."""
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Chaos", "code": mode.status,
                       "message": "made up by the chaos proxy"}).encode()
    more = f"Retry-After: {mode.retry_after}\r\n" if mode.retry_after else ""
    more += 'WWW-Authenticate: Basic realm="chaos"\r\n' if mode.status == 401 else ""
    return (f"HTTP/1.1 {mode.status} Chaos\r\nContent-Type: application/json\r\n{more}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def _garbage(rng: random.Random) -> bytes:
    kind = rng.choice(GARBAGE)
    noise = rng.randbytes(rng.randint(1, 2000))
    if kind == "noise":
        return noise
    if kind == "header":
        return b"HTTP/1.1 200 OK\r\n" + b"X-Chaos: " + b"x" * rng.choice((10, 5000, 400_000)) + b"\r\n" + noise
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConfiguration-Version: 18446744073709551615\r\n"
    if kind == "cut":
        return head + b"Content-Length: 5000\r\n\r\n" + b'{"kind":"List","items":[{"metadata":{"name":'
    return head + b"Content-Length: " + str(len(noise)).encode() + b"\r\n\r\n" + noise

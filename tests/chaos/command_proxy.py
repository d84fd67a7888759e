"""A Proxy on the way to HAProxy's stats socket: each connection has one line of commands, with what goes with it, and one answer.

The modes are those of Proxy, here of commands; `refuse`, `status` and `garbage` of what is under way are not among them. One more:

    lie         HAProxy hears of nothing, and the answer is what it says when all went well
"""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import re

from .proxy import Proxy, _Link

# What the daemon asks of HAProxy as against the commands that change it.
TOLD = "(?m)^(set|add|del|commit|prepare|clear|abort|enable|disable) |; (set|add|del|enable|disable) "
_LIES = {"set ssl cert": "Transaction created for certificate!\n", "commit ssl cert": "Committing\nSuccess!\n"}


class CommandProxy(Proxy):
    """path: where it listens; peer: the socket of HAProxy's."""

    def __init__(self, path: pathlib.Path, peer: pathlib.Path, seed: int | str = 0):
        super().__init__("", 0, seed, http=False)
        self.path, self.socket = path, peer

    async def _listen(self) -> None:
        if self._server is None:
            self.path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, self.path, limit=1 << 20)

    async def _carry(self, link: _Link, reader: asyncio.StreamReader) -> None:
        if self._hit("reset", "connect"):
            return
        command = await reader.read(-1)  # to its end, which the daemon shows
        if self._muted(link):
            while link.mute:
                await asyncio.sleep(0.05)
            return
        stop = self._stop
        if stop and re.search(stop.pattern, command):
            self._stop = None
        else:
            stop = None
        if stop and stop.step == "request":
            await self._do(stop)
        if self._hit("reset", "request", command):
            return
        if self._hit("lie", head=command):
            link.client.write(await self._lie(command.decode()))
        elif self._hit("garbage", head=command):
            link.client.write(self.random.randbytes(self.random.randint(1, 500)))
        else:
            await self._ask(link, command)
            answer = await self._answer(link)
            if stop and stop.step == "answer":
                await self._do(stop)
            if self._hit("reset", "before-answer", command):
                return
            if self._hit("reset", "mid-answer", command):
                answer = answer[:len(answer) // 2]
            await self._deliver(link, answer)
        with contextlib.suppress(OSError):
            await link.client.drain()
        await self._polite_end(link)

    async def _ask(self, link: _Link, command: bytes) -> None:
        _, link.peer = streams = await asyncio.open_unix_connection(self.socket)
        link.answers = streams[0]  # type: ignore[attr-defined]
        if self._hit("reset", "body", command):
            link.peer.write(command[:len(command) // 2])
            await link.peer.drain()
            raise ConnectionResetError("body")
        link.peer.write(command)
        link.peer.write_eof()
        await link.peer.drain()

    @staticmethod
    async def _answer(link: _Link) -> bytes:
        return await link.answers.read(-1)  # type: ignore[attr-defined,no-any-return]

    async def _lie(self, command: str) -> bytes:
        """As long as the daemon reads no more than how it went."""
        version = b""
        if "show version" in command:
            reader, writer = await asyncio.open_unix_connection(self.socket)
            writer.write(b"show version\n")
            version = (await reader.read(-1)).strip()
            writer.close()
        said = [version if part.strip() == "show version" else next((lie for words, lie in _LIES.items() if part.startswith(words)), "").encode()
                for part in command.partition("\n")[0].split("; ")]
        return b"\n".join(said) + b"\n\n"

    def forget(self) -> None:
        async def drop() -> None:
            for link in self._links:
                link.mute = False

        self._on_loop(drop())

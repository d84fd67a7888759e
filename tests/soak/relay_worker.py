"""python3 -m tests.soak.relay_worker NAME=PORT:TARGET...: the relays of relay.py, all in one asyncio process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys

from tests.harness import commands

# Linger on, for no time: close() sends a reset.
_RESET = struct.pack("ii", 1, 0)


class Relay:
    def __init__(self, port: int, target: int):
        self.port, self.target = port, target
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()

    async def start(self) -> None:
        await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            self._end(writer, "reset")  # as near to a refused connection as a relay comes
            return
        pair = (writer, back)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
        finally:
            self._pairs.discard(pair)
            for one in pair:
                one.close()

    @staticmethod
    async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                to.write(data)
                await to.drain()
        with contextlib.suppress(OSError):
            # One end's last word: the other may still have something to say.
            to.write_eof()

    def cut(self, how: str) -> int:
        cut = list(self._pairs)
        for pair in cut:
            for writer in pair:
                self._end(writer, how)
        return len(cut)

    @staticmethod
    def _end(writer: asyncio.StreamWriter, how: str) -> None:
        if how == "reset":
            sock = writer.get_extra_info("socket")
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
        else:
            writer.close()

    @property
    def open(self) -> int:
        return len(self._pairs)


async def main(words: list[str]) -> None:
    relays: dict[str, Relay] = {}
    for word in words:
        name, _, ports = word.partition("=")
        port, _, target = ports.partition(":")
        relays[name] = Relay(int(port), int(target))
        await relays[name].start()

    def handle(line: str) -> str:
        command, name, how = line.split()
        return str(relays[name].cut(how) if command == "cut" else relays[name].open)

    ended = commands.listen(handle)
    commands.say("ready")
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

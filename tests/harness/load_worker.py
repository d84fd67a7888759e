"""python3 -m tests.harness.load_worker HOST PORT RATE VISITS SECONDS FILE [SITE]: the load generator of load.py, one asyncio process; with
SITE it asks in HTTP."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TextIO

from . import commands
from .backends import QUESTION, STAY
from .load_records import Connection, Visit, line_of

# Longer than HAProxy's own three retries, so that its verdict is seen.
ANSWER_WITHIN = 15.0
TALK_EVERY = 0.1
TALK_WITHIN = 5.0
VISIT_AGAIN_AFTER = 0.2
FLUSH_EVERY = 0.1
STILL_THERE = b"still there\n"


class Load:
    def __init__(self, host: str, port: int, out: TextIO, site: str = ""):
        self.host, self.port, self.out = host, port, out
        self.question = f"GET / HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\n\r\n".encode() if site else QUESTION
        self.ending = False
        self.tasks: set[asyncio.Task[None]] = set()

    def _write(self, record: Connection | Visit) -> None:
        self.out.write(line_of(record) + "\n")

    # --- new connections

    async def begin_at(self, rate: float, ended: asyncio.Event) -> None:
        """Open loop: each begins when it is due, whatever became of those before; those that are overdue begin at once."""
        due = time.monotonic()
        flushed = due
        while not ended.is_set():
            now = time.monotonic()
            while due <= now:
                task = asyncio.create_task(self._ask(due))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
                due += 1 / rate
            if now - flushed >= FLUSH_EVERY:
                self.out.flush()
                flushed = now
            await asyncio.sleep(min(due - now, FLUSH_EVERY))

    async def _ask(self, due: float) -> None:
        start = time.monotonic()
        answer, error = b"", ""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                reader, writer = await asyncio.open_connection(self.host, self.port)
                try:
                    writer.write(self.question)
                    answer = await reader.read()  # until the other end closes
                finally:
                    writer.close()
            if self.question != QUESTION:
                head, _, answer = answer.partition(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200 "):
                    raise ConnectionError(head.partition(b"\r\n")[0].decode(errors="replace") or "no answer")
            error = "" if answer else "an empty answer"
        except TimeoutError:
            error = f"no answer within {ANSWER_WITHIN:g} s"
        except OSError as e:
            error = repr(e)
        self._write(Connection(due, start, time.monotonic(), "" if error else answer.decode(errors="replace").strip(), error))

    # --- those that stay

    async def stay(self, number: int) -> None:
        """One visit after the other: a broken one is begun anew."""
        await asyncio.sleep(number * TALK_EVERY / 10)
        while not self.ending:
            await self._visit(number)
            if not self.ending:
                await asyncio.sleep(VISIT_AGAIN_AFTER)

    async def _visit(self, number: int) -> None:
        start, node, talks, slowest, error = time.monotonic(), "", 0, 0.0, ""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                reader, writer = await asyncio.open_connection(self.host, self.port)
            try:
                writer.write(STAY)
                async with asyncio.timeout(ANSWER_WITHIN):
                    node = (await reader.readline()).decode(errors="replace").strip()
                if not node:
                    raise ConnectionError("nobody answered")
                while not self.ending:
                    took = await self._talk(reader, writer)
                    talks, slowest = talks + 1, max(slowest, took)
                    await asyncio.sleep(TALK_EVERY)
            finally:
                writer.close()
        except TimeoutError:
            error = "no answer in time"
        except OSError as e:
            error = str(e) or repr(e)
        self._write(Visit(number, node, start, time.monotonic(), talks, slowest, error))

    @staticmethod
    async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
        began = time.monotonic()
        writer.write(STILL_THERE)
        async with asyncio.timeout(TALK_WITHIN):
            said = await reader.readline()
        if said != STILL_THERE:
            raise ConnectionError("the other end hung up" if not said else f"the other end said {said!r}")
        return time.monotonic() - began


async def run(host: str, port: int, rate: float, visits: int, seconds: float, path: str, site: str = "") -> None:
    with open(path, "w") as out:
        load = Load(host, port, out, site)
        ended = commands.listen(lambda line: "ok")
        stays = [asyncio.create_task(load.stay(number)) for number in range(visits)]
        asyncio.get_running_loop().call_later(seconds, ended.set)
        commands.say("begun")
        await load.begin_at(rate, ended)
        # What has begun is brought to its end.
        load.ending = True
        await asyncio.gather(*load.tasks, *stays)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), *sys.argv[6:]))

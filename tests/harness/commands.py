"""The other end of worker.py: commands from standard input in an asyncio program."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable


def listen(handle: Callable[[str], str]) -> asyncio.Event:
    """Each line goes to handle, what that returns (or the error it raises) is the answer; the event: the input has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    waiting = b""

    def readable() -> None:
        nonlocal waiting
        more = os.read(0, 65536)
        if not more:
            loop.remove_reader(0)
            ended.set()
            return
        *lines, waiting = (waiting + more).split(b"\n")
        for line in lines:
            say(_answer(handle, line.decode()))

    loop.add_reader(0, readable)
    return ended


def _answer(handle: Callable[[str], str], line: str) -> str:
    try:
        return handle(line)
    except (OSError, ValueError, KeyError, IndexError) as e:
        return f"error: {e!r}"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

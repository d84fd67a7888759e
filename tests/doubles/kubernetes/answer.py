"""Sends a list or a watch, with at most one fault in it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import gzip
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from . import protobuf
from .encoding import encode
from .faults import Fault
from .http import Response, abort
from .journal import Entry
from .resources import Resource
from .status import REASONS, status
from .watches import Line, error_line

JSON = {"Content-Type": "application/json"}
FLUSH_BYTES = 64 * 1024
GZIP_FROM_BYTES = 128 * 1024
"""Smaller answers are never compressed, as on the real server."""
CHUNKED_FROM_BYTES = 2048
"""From here on the real server does not know the length when the headers leave."""


class Cut(Exception):
    """The connection was ended on purpose."""


async def forever() -> None:
    """Until the peer goes away: the connection's task is cancelled then."""
    await asyncio.Event().wait()


async def refusal(response: Response, fault: Fault) -> bool:
    """Faults that replace the whole answer; False where the fault is of another kind."""
    spec = fault.spec
    if spec.get("hang"):
        await forever()
    if "redirect" in spec:
        await response.whole(302, {"Location": spec["redirect"]}, b"")
        return True
    if "status" not in spec:
        return False
    headers = dict(JSON)
    if "retryAfter" in spec:
        headers["Retry-After"] = str(spec["retryAfter"])
    if "contentType" in spec:
        headers["Content-Type"] = spec["contentType"]
    headers.update(spec.get("headers", {}))
    body = spec["body"].encode() if "body" in spec else encode(_status_of(spec["status"], spec)) + b"\n"
    await response.whole(spec["status"], headers, body)
    return True


def _status_of(code: int, spec: dict[str, Any]) -> dict[str, Any]:
    details = {"retryAfterSeconds": spec["retryAfter"]} if "retryAfter" in spec else None
    return status(code, spec.get("message", REASONS.get(code, "a fault that was asked for")), spec.get("reason"), details)


def splitter(sizes: int | list[int]) -> Callable[[bytes], Iterable[bytes]]:
    turn = itertools.cycle([sizes] if isinstance(sizes, int) else sizes)

    def pieces(data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = max(1, next(turn))
            yield data[at:at + size]
            at += size
    return pieces


def padded(text: bytes, size: int) -> bytes:
    """The first object in this line or list with an annotation of that many bytes."""
    tree = json.loads(text)
    bare = tree["object"] if "object" in tree else (tree.get("items") or [{"metadata": {}}])[0]
    bare["metadata"].setdefault("annotations", {})["example.com/pad"] = "x" * size
    return encode(tree) + b"\n"


async def _strike(response: Response, spec: dict[str, Any]) -> bool:
    """What happens at a fault's position; True when the body is over."""
    if "insert" in spec:
        await response.write(spec["insert"].encode())
    if "insertBase64" in spec:
        await response.write(base64.b64decode(spec["insertBase64"]))
    if "error" in spec:
        error = dict(spec["error"])
        details = {"retryAfterSeconds": error["retryAfter"]} if "retryAfter" in error else None
        await response.write(error_line(error.get("code", 500), error.get("message", "asked for"), error.get("reason"),
                                        details).data)
        return True
    if spec.get("stall"):
        await forever()
    if spec.get("cut") in ("fin", "reset"):
        abort(response.writer, spec["cut"])
        raise Cut
    return spec.get("cut") == "clean"


_JSON_FAULTS = {"insert", "insertBase64", "pad", "error", "afterBytes"}
"""They say what bytes leave, or are written in JSON: such an answer is JSON unless the fault asks for protobuf."""


def prefers_protobuf(accept: str) -> bool:
    """The first that the real server has decides."""
    offered = [part.partition(";")[0].strip() for part in accept.split(",")]
    return next((part for part in offered if part in (protobuf.MEDIA_TYPE, "application/json", "*/*")), "") == protobuf.MEDIA_TYPE


def chosen(accept: str, resource: Resource, fault: Fault | None) -> str:
    """What the answer is written in, "json" or "protobuf"."""
    spec = fault.spec if fault else {}
    if spec.get("encoding"):
        return spec["encoding"]
    return "protobuf" if prefers_protobuf(accept) and protobuf.has(resource) and not spec.keys() & _JSON_FAULTS else "json"


async def in_protobuf(batches: AsyncIterator[list[Line]], refused: Callable[[str], None]) -> AsyncIterator[list[Line]]:
    """Ends before what no API server could hold."""
    async for batch in batches:
        written = []
        for line in batch:
            try:
                written.append(dataclasses.replace(line, data=line.in_protobuf()))
            except protobuf.CannotWrite as e:
                refused(str(e))
                yield written
                return
        yield written


async def send_list(response: Response, body: Iterator[bytes], headers: dict[str, str], want_gzip: bool,
                    fault: Fault | None) -> None:
    spec = fault.spec if fault else {}
    if not spec and not want_gzip:
        await _send_parts(response, body, headers)
        return
    text = b"".join(body)
    if "pad" in spec:
        text = padded(text, spec["pad"])
    if want_gzip and len(text) >= GZIP_FROM_BYTES:
        headers = {**headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        text = gzip.compress(text, 1)
    if "split" in spec:
        response.split = splitter(spec["split"])
    position = min(spec.get("afterBytes", len(text)), len(text))
    await response.start(200, headers, None if spec else _length(text))
    await response.write(text[:position])
    if not await _strike(response, spec):
        await response.write(text[position:])
    await response.end()


def _length(text: bytes | bytearray) -> int | None:
    """What the headers say: nothing where the real server does not know it yet."""
    return len(text) if len(text) < CHUNKED_FROM_BYTES else None


async def _send_parts(response: Response, body: Iterator[bytes], headers: dict[str, str]) -> None:
    buffer = bytearray()
    for part in body:
        buffer += part
        if len(buffer) >= FLUSH_BYTES:
            if not response.started:
                await response.start(200, headers)
            await response.write(bytes(buffer))
            buffer.clear()
    if not response.started:
        await response.start(200, headers, _length(buffer))
    await response.write(bytes(buffer))
    await response.end()


async def send_watch(response: Response, batches: AsyncIterator[list[Line]], headers: dict[str, str], entry: Entry,
                     fault: Fault | None) -> None:
    spec = dict(fault.spec) if fault else {}
    if "split" in spec:
        response.split = splitter(spec["split"])
    await response.start(200, headers)
    if _due(spec, entry.events, None) and await _strike(response, spec):
        await response.end()
        return
    async for batch in batches:
        buffer = bytearray()
        for line in batch:
            data = line.data
            if "pad" in spec and b'"metadata":{"name"' in data:
                data = padded(data, spec.pop("pad"))
            over = await _around(response, buffer, line, data, entry, spec)
            if over:
                await response.end()
                return
            if len(buffer) >= FLUSH_BYTES:
                await _flush(response, buffer)
        await _flush(response, buffer)
    await response.end()


async def _around(response: Response, buffer: bytearray, line: Line, data: bytes, entry: Entry,
                  spec: dict[str, Any]) -> bool:
    """One line with the fault that is due before, within or after it; True when the stream is over."""
    sent = response.tally.bytes + len(buffer)
    if line.ends_initial and spec.get("initialEnd") == "before":
        await _flush(response, buffer)
        if await _strike(response, spec):
            return True
        spec.clear()
    if "afterBytes" in spec and sent + len(data) > spec["afterBytes"]:
        buffer += data[:spec["afterBytes"] - sent]
        data = data[max(0, spec["afterBytes"] - sent):]
        await _flush(response, buffer)
        if await _strike(response, spec):
            return True
        spec.clear()
    buffer += data
    entry.events += 1
    if _due(spec, entry.events, line):
        await _flush(response, buffer)
        if await _strike(response, spec):
            return True
        spec.clear()
    return False


def _due(spec: dict[str, Any], events: int, line: Line | None) -> bool:
    if not spec.keys() & {"insert", "insertBase64", "error", "stall", "cut"} or "afterBytes" in spec:
        return False
    if "initialEnd" in spec:
        return spec["initialEnd"] == "after" and line is not None and line.ends_initial
    return events == spec.get("afterEvents", 0)


async def _flush(response: Response, buffer: bytearray) -> None:
    if buffer:
        data = bytes(buffer)
        buffer.clear()
        await response.write(data)

"""Makes a browser's screenshot small enough for a repository: 256 colours, and zlib's best."""

from __future__ import annotations

import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
EXACT = 40  # the most frequent ones, which are surfaces
COARSE = 0b11100000  # of the others, edges of letters, what is nearly the same colour counts as one


def _chunks(data: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        found[kind] = found.get(kind, b"") + data[at + 8:at + 8 + size]
        at += 12 + size
    return found


def _unfilter(raw: bytes, width: int, height: int, channels: int) -> list[bytearray]:
    """PNG (third edition), 9.2."""
    stride, rows = width * channels, []
    before = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        if kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, before))
        elif kind:
            for x in range(stride):
                a, b = row[x - channels] if x >= channels else 0, before[x]
                c = before[x - channels] if x >= channels else 0
                p = a + b - c
                nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                row[x] = (row[x] + (a if kind == 1 else (a + b) // 2 if kind == 3 else nearest)) & 255
        rows.append(row)
        before = row
    return rows


def shrink(data: bytes) -> bytes:
    chunks = _chunks(data)
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    channels = {2: 3, 6: 4}[kind]
    assert data.startswith(SIGNATURE) and depth == 8 and chunks[b"IHDR"][12] == 0, "not as Chromium writes it"
    rows = _unfilter(zlib.decompress(chunks[b"IDAT"]), width, height, channels)
    pixels = [list(zip(row[0::channels], row[1::channels], row[2::channels])) for row in rows]
    seen = collections.Counter(p for row in pixels for p in row)
    palette: list[tuple[int, int, int]] = []
    taken: set[tuple[int, int, int]] = set()
    for rank, (colour, _) in enumerate(seen.most_common()):
        coarse = (colour[0] & COARSE, colour[1] & COARSE, colour[2] & COARSE)
        if len(palette) < COLOURS and (rank < EXACT or coarse not in taken):
            palette.append(colour)
            taken.add(coarse)
    index = {c: min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(palette[i], c))) for c in seen}
    packed = zlib.compress(b"".join(b"\0" + bytes(index[p] for p in row) for row in pixels), 9)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)), (b"PLTE", b"".join(bytes(c) for c in palette)),
             (b"IDAT", packed), (b"IEND", b"")]
    return SIGNATURE + b"".join(struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
                                for name, body in parts)

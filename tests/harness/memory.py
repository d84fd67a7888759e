"""What a process has in memory (Linux; root, where it is closed to others)."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping

# More than any mapping of the daemon has; address space that a sanitizer only reserves is left out by it.
_MAX_BYTES = 1 << 30


def writable(pid: int) -> Iterator[tuple[str, bytes]]:
    """Each mapping that can be written: what it is, and its content."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
            assert found, line
            start, end = int(found[1], 16), int(found[2], 16)
            if "rw" not in found[3] or found[4] in ("[vvar]", "[vsyscall]") or end - start > _MAX_BYTES:
                continue
            memory.seek(start)
            content = bytearray()
            try:
                while len(content) < end - start and (chunk := memory.read(end - start - len(content))):
                    content += chunk
            except OSError:
                pass  # a page that is not there
            yield f"{found[4] or 'anonymous'} at {found[1]}", bytes(content)


def places(pid: int, needles: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Where each of them is: needle -> "mapping+offset: what is around it". Those that are nowhere are left out."""
    found: dict[str, list[str]] = {}
    for mapping, content in writable(pid):
        for name, needle in needles.items():
            at = content.find(needle)
            while at >= 0:
                around = content[max(0, at - 48):at + len(needle) + 16]
                found.setdefault(name, []).append(f"{mapping}+{at:x}: {around!r}")
                at = content.find(needle, at + 1)
    return found

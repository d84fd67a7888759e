"""Server lines of haproxy.cfg: those in rotation, and those that are parked (`disabled`: in maintenance, kept for later)."""

from __future__ import annotations

import re


def section(text: str, head: str) -> list[str]:
    """The lines below `head` up to the next section, e.g. section(cfg, "backend other")."""
    lines = text.splitlines()
    # The Data Plane API appends " from unnamed_defaults_1" to a section's first line.
    found = [i for i, line in enumerate(lines) if re.match(r"\S", line) and line.split()[:2] == head.split()]
    assert found, f"no section {head!r} in:\n{text}"
    body = []
    for line in lines[found[0] + 1:]:
        if re.match(r"\S", line) and not line.startswith("#"):
            break
        body.append(line)
    return [line for line in body if line.strip()]


def server_lines(text: str, backend: str) -> dict[str, str]:
    """Name -> the rest of its line, of all servers."""
    found = (re.match(r"\s+server (\S+) (.*)", line) for line in section(text, f"backend {backend}"))
    return {m[1]: m[2].strip() for m in found if m}


def is_parked(line: str) -> bool:
    return "disabled" in line.split()


def in_rotation(lines: dict[str, str]) -> dict[str, str]:
    return {name: line for name, line in lines.items() if not is_parked(line)}


def parked(lines: dict[str, str]) -> set[str]:
    return {name for name, line in lines.items() if is_parked(line)}

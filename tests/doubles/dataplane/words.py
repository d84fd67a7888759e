"""A line of haproxy.cfg <-> words, and the time and size notations."""

from __future__ import annotations

_UNITS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZES = {"k": 1024, "m": 1024 ** 2, "g": 1024 ** 3}


def split_line(line: str) -> tuple[list[str], str | None]:
    """Words (quotes and backslashes left as written) and the text of a trailing comment."""
    words: list[str] = []
    word = ""
    quote = ""
    i = 0
    while i < len(line):
        c = line[i]
        if c == "\\" and quote != "'" and i + 1 < len(line):
            word += line[i:i + 2]
            i += 2
            continue
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "#":
            if word:
                words.append(word)
            return words, line[i + 1:].strip()
        elif c in " \t":
            if word:
                words.append(word)
            word = ""
            i += 1
            continue
        word += c
        i += 1
    if word:
        words.append(word)
    return words, None


def parse_time(text: str) -> int | None:
    """Milliseconds; a bare number already is. None for what is no time."""
    for unit in ("us", "ms", "s", "m", "h", "d"):
        if text.endswith(unit) and text[:-len(unit)].isdigit():
            return int(int(text[:-len(unit)]) * _UNITS[unit])
    return int(text) if text.isdigit() else None


def format_time(ms: int) -> str:
    for unit in ("d", "h", "m", "s"):
        size = int(_UNITS[unit])
        if ms >= size and ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms"


def parse_size(text: str) -> int | None:
    factor = _SIZES.get(text[-1:].lower(), 0)
    digits = text[:-1] if factor else text
    return int(digits) * (factor or 1) if digits.isdigit() else None


def format_size(n: int) -> str:
    for unit in ("g", "m", "k"):
        if n >= _SIZES[unit] and n % _SIZES[unit] == 0:
            return f"{n // _SIZES[unit]}{unit}"
    return str(n)

"""What is lost or moved already by reading a file: the marks that the API's reader leaves on what it writes later."""

from __future__ import annotations

from .backends import cookie_json, cookie_words
from .cfgfile import Config, Section, parse
from .servers import WORDS, UnknownWord, params_json, word_count

OPTIONS_START = {"server": 3, "server-template": 4, "default-server": 1}


def read(text: str, play: str, imply_from: bool = True, posted: bool = False) -> Config:
    config = parse(text, imply_from, posted)
    for section in config.sections:
        if play == "3.0":  # words beside a section's name are lost
            section.comment = None
        if section.kind in ("backend", "defaults", "frontend"):
            _read_lines(section, play)
    return config


def _read_lines(section: Section, play: str) -> None:
    for line in section.lines:
        start = OPTIONS_START.get(line.keyword)
        if line.keyword == "default_backend":  # what stands behind it is lost
            line.words = line.words[:2]
        elif line.keyword == "cookie":
            line.words = ["cookie", *cookie_words(cookie_json(line.words[1:]))]
        elif start and play == "3.0":
            line.words = line.words[:start] + _known_words(line.words[start:])
        elif start:
            line.unread = _unknown(line.words[start:], play)


def _unknown(words: list[str], play: str) -> bool:
    try:
        params_json(words, play)
    except UnknownWord:
        return True
    return False


def _known_words(words: list[str]) -> list[str]:
    out: list[str] = []
    i = 0
    while i < len(words):
        found = WORDS["3.0"].get(words[i])
        size = word_count(words, i, *found[1:]) if found else 1
        out += words[i:i + size] if found else []
        i += size
    return out

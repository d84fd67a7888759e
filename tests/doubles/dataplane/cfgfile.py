"""haproxy.cfg as sections of lines, read and written the way the Data Plane API does.

Any write sorts the sections, names an unnamed defaults, writes each proxy's `from`, indents by two spaces and drops
blank lines inside a section. Inside a section the lines stand in a fixed order of keywords (order.py); of a keyword that
stands there once only the last counts, and words that the API does not know, `.if` among them, go to the end. A line that
is too long ends the file. Apart from that the lines that nobody changes stay as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .order import LAST, RANKED, SEVERAL, rank
from .words import split_line

KINDS = ("global", "defaults", "userlist", "peers", "mailers", "resolvers", "cache", "ring", "traces", "log-forward",
         "log-profile", "http-errors", "acme", "crt-store", "fcgi-app", "frontend", "backend", "listen")
PROXIES = ("frontend", "backend", "listen")
LONGEST = 65535  # bytes of a line; a longer one is the end of what is read
VERSION = "# _version="
DISCLAIMER = ["Dataplaneapi managed File", "changing file directly can cause a conflict if dataplaneapi is running"]


class Line:
    """One line of a section, with the comment lines that stand above it."""

    def __init__(self, words: Iterable[str], comment: str | None = None, above: Iterable[str] = ()):
        self.words = list(words)
        self.comment = comment
        self.above = list(above)
        self.unread = False  # the API cannot read it: it is kept, at the end, and not shown

    @property
    def keyword(self) -> str:
        """`option tcp-check`, `timeout server`, else the first word; `no option x` counts as `option x`."""
        words = self.words[1:] if self.words[:1] == ["no"] else self.words
        if words[:1] in (["option"], ["timeout"]):
            return " ".join(words[:2])
        return words[0] if words else ""

    def render(self) -> str:
        text = "  " + " ".join(self.words)
        return text if self.comment is None else f"{text} # {self.comment}"

    def copy(self) -> "Line":
        twin = Line(self.words, self.comment, self.above)
        twin.unread = self.unread
        return twin


class Section:
    def __init__(self, kind: str, name: str = "", from_: str = "", comment: str | None = None,
                 above: Iterable[str] = ()):
        self.kind = kind
        self.name = name
        self.from_ = from_
        self.comment = comment
        self.above = list(above)
        self.lines: list[Line] = []
        self.below: list[str] = []

    def copy(self) -> "Section":
        twin = Section(self.kind, self.name, self.from_, self.comment, self.above)
        twin.lines = [line.copy() for line in self.lines]
        twin.below = list(self.below)
        return twin

    def find(self, keyword: str) -> list[Line]:
        return [line for line in self.lines if line.keyword == keyword and not line.unread]

    def settle(self) -> None:
        """Of a keyword that can stand there once, the last line stays, under all the comments."""
        kept: dict[str, Line] = {}
        for line in [line for line in self.lines if not line.unread]:
            if line.keyword in SEVERAL or rank(self.kind, line.keyword) == LAST:
                continue
            before = kept.get(line.keyword)
            if before is not None:
                self.lines.remove(before)
                line.above = before.above + line.above
            kept[line.keyword] = line

    def put(self, line: Line) -> None:
        """Adds a line; its place is found on writing."""
        self.lines.append(line)

    def _groups(self) -> list[list[Line]]:
        """The lines of one keyword stand together, under all the comments that stood above any of them."""
        groups: dict[int, dict[str, list[Line]]] = {}
        for line in self.lines:
            place = LAST if line.unread else rank(self.kind, line.keyword)
            if line.keyword.startswith("."):  # behind all others, also where those keep their order
                place = LAST + (self.kind not in RANKED)
            groups.setdefault(place, {}).setdefault(line.keyword if place < LAST else "", []).append(line)
        return [group for place in sorted(groups) for group in groups[place].values()]

    def drop(self, line: Line) -> None:
        """Removes a line; the comments above it belong to all lines of its keyword and stay as long as there is one."""
        self.lines.remove(line)
        heir = next((other for other in self.lines if other.keyword == line.keyword), None)
        if heir is not None:
            heir.above = line.above + heir.above

    def render(self) -> list[str]:
        head = " ".join(filter(None, [self.kind, self.name]))
        if self.from_:
            head += f" from {self.from_}"
        if self.comment:
            head += f" # {self.comment}"
        out = ["", *(f"# {c}" for c in self.above), head]
        for group in self._groups():
            out += [f"  # {c}" for line in group for c in line.above]
            out += [line.render() for line in group]
        return out + [f"  # {c}" for c in self.below]


class Config:
    def __init__(self) -> None:
        self.version = 1
        self.comments: list[str] = []
        self.first: list[Line] = []  # before any section
        self.sections: list[Section] = []

    def copy(self) -> "Config":
        twin = Config()
        twin.version = self.version
        twin.comments = list(self.comments)
        twin.first = [line.copy() for line in self.first]
        twin.sections = [section.copy() for section in self.sections]
        return twin

    def section(self, kind: str, name: str = "") -> Section | None:
        return next((s for s in self.sections if s.kind == kind and s.name == name), None)

    def kind(self, kind: str) -> list[Section]:
        return [s for s in self.sections if s.kind == kind]

    def render(self) -> str:
        """The text as it is written to the file, checksum included."""
        out = [f"# _version={self.version}", *(f"# {c}" for c in self.comments), *(line.render()[2:] for line in self.first)]
        for section in self._sorted():
            if section.kind == "global" and not section.lines:
                continue
            out += section.render()
        text = "\n".join(out) + "\n"
        return f"# _md5hash={checksum(text)}\n{text}"

    def _sorted(self) -> list[Section]:
        def key(section: Section) -> tuple[int, str]:
            return KINDS.index(section.kind), section.name
        ordered = sorted(self.sections, key=key)
        defaults = [s for s in ordered if s.kind == "defaults"]
        by_need: list[Section] = []
        while defaults:  # one that another is derived from comes before it
            needed = {s.name for s in defaults}
            ready = next((s for s in defaults if s.from_ not in needed - {s.name}), defaults[0])
            defaults.remove(ready)
            by_need.append(ready)
        return ([s for s in ordered if s.kind == "global"] + by_need
                + [s for s in ordered if s.kind not in ("global", "defaults")])


def checksum(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def managed(text: str) -> bool:
    """Whether the text is one that the API itself wrote: its first line is the checksum of the rest."""
    first, _, rest = text.partition("\n")
    return first == f"# _md5hash={checksum(rest)}"


def too_long(line: str) -> bool:
    return len(line) > LONGEST or len(line.encode(errors="replace")) > LONGEST


def parse(text: str, imply_from: bool = True, posted: bool = False) -> Config:
    """imply_from: a proxy without `from` gets the name of the defaults above it, as when the API reads its file; posted: a text
    that is posted, to which the API adds no comments of its own."""
    config = Config()
    section: Section | None = None
    above: list[str] = []
    above_section: list[str] = []
    last_defaults = ""
    has_version = False
    for raw in text.split("\n"):
        if too_long(raw):
            break
        words, comment = split_line(raw.rstrip("\r"))
        if not words:
            if comment is None:
                continue
            if section is None:
                has_version = _header(config, raw, comment, has_version)
            else:  # by its first character: after a tab it is not seen as part of the section and moves to the next
                (above if raw[:1] == " " else above_section).append(comment)
            continue
        if words[0] in KINDS:
            if section is not None:
                section.below += above
            above = []
            section = _open(config, words, comment, above_section, last_defaults if imply_from else "")
            above_section = []
            if section.kind == "defaults":
                last_defaults = section.name
            if section not in config.sections:
                config.sections.append(section)
        else:
            (config.first if section is None else section.lines).append(Line(words, comment, above))
            above = []
    if section is not None:
        section.below += above + above_section
    for section in config.sections:
        section.settle()
    if not posted and config.comments[:1] != DISCLAIMER[:1]:
        config.comments[:0] = DISCLAIMER
    return config


def _header(config: Config, raw: str, comment: str, has_version: bool) -> bool:
    """A comment at the head: the first version counts, a further one is but a comment."""
    if raw.startswith(VERSION) and not has_version:
        value = raw[len(VERSION):].strip()
        config.version = int(value) if value.isdigit() else 1
        return True
    if not raw.startswith("# _md5hash="):
        config.comments.append(comment)
    return has_version


def _open(config: Config, words: list[str], comment: str | None, above: list[str], last_defaults: str) -> Section:
    from_ = words[words.index("from") + 1] if "from" in words[1:-1] else ""
    name = words[1] if len(words) > 1 and words[1] != "from" else ""
    if words[0] == "defaults" and not name:
        taken = {s.name for s in config.kind("defaults")}
        name = next(f"unnamed_defaults_{i}" for i in range(1, len(taken) + 2) if f"unnamed_defaults_{i}" not in taken)
    if words[0] in PROXIES and not from_:
        from_ = last_defaults
    if words[0] == "global" and config.kind("global"):
        return config.kind("global")[0]
    return Section(words[0], name, from_, comment, above)

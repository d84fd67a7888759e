"""haproxy.cfg as sections of lines, read and written the way the Data Plane API does.

Any write sorts the sections, names an unnamed defaults, writes each proxy's `from`, indents by two spaces and drops
blank lines inside a section. Inside a backend the lines stand in a fixed order of keywords (ORDER); the double keeps the
order of the other sections as found. Lines of other words than these two operations touch stay as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .words import split_line

KINDS = ("global", "defaults", "userlist", "peers", "mailers", "resolvers", "cache", "ring", "traces", "log-forward",
         "log-profile", "http-errors", "acme", "crt-store", "fcgi-app", "frontend", "backend", "listen")
PROXIES = ("frontend", "backend", "listen")
DISCLAIMER = ["Dataplaneapi managed File", "changing file directly can cause a conflict if dataplaneapi is running"]

# The order of a backend's lines on writing; an entry of two words is looked for first. What is not here goes last.
ORDER = ["id", "description", "enabled", "disabled", "mode", "hash-type", "balance", "acl", "force-persist", "ignore-persist",
         "option httpclose", "option http-buffer-request", "option http-server-close", "option http-keep-alive",
         "option http-pretend-keepalive", "option http-no-delay", "option forwardfor", "option ssl-hello-chk",
         "option smtpchk", "option ldap-check", "option mysql-check", "option abortonclose", "option pgsql-check",
         "option redis-check", "option redispatch", "option external-check", "option splice-auto",
         "option splice-request", "option splice-response", "option log-health-checks", "log-tag", "option tcpka",
         "option srvtcpka", "option allbackups", "option tcp-check", "option checkcache", "option independent-streams",
         "option nolinger", "option persist", "option prefer-last-server", "option tcp-smart-connect",
         "option transparent", "tcp-check", "option httpchk", "http-check", "external-check", "log", "email-alert",
         "timeout http-request", "timeout queue", "timeout http-keep-alive", "timeout check", "timeout tunnel",
         "timeout server", "timeout server-fin", "timeout connect", "timeout tarpit", "default-server", "stick", "filter",
         "compression", "tcp-request", "stats", "http-reuse", "http-request", "redirect", "cookie", "dynamic-cookie-key",
         "use-server", "stick-table", "errorfile", "server", "retries", "tcp-response", "http-response",
         "http-after-response", "http-error", "server-template", "load-server-state-from-file", "use-fcgi-app",
         "server-state-file-name", "fullconn", "max-keep-alive-queue", "retry-on", "source", "persist",
         "hash-balance-factor", "guid"]
_RANK = {key: i for i, key in enumerate(ORDER)}


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
    def __init__(self, kind: str, name: str = "", from_: str = "", comment: str | None = None, above: Iterable[str] = ()):
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

    def put(self, line: Line) -> None:
        """Adds a line; a backend's place for it is found on writing."""
        self.lines.append(line)

    def _groups(self) -> list[list[Line]]:
        """In a backend the lines of one keyword stand together, under all the comments that stood above any of them."""
        if self.kind != "backend":
            return [[line] for line in self.lines]
        groups: dict[int, dict[str, list[Line]]] = {}
        for line in self.lines:
            rank = len(_RANK) if line.unread else _RANK.get(line.keyword, len(_RANK))
            groups.setdefault(rank, {}).setdefault(line.keyword if rank < len(_RANK) else "", []).append(line)
        return [group for rank in sorted(groups) for group in groups[rank].values()]

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
        self.sections: list[Section] = []

    def copy(self) -> "Config":
        twin = Config()
        twin.version = self.version
        twin.comments = list(self.comments)
        twin.sections = [section.copy() for section in self.sections]
        return twin

    def section(self, kind: str, name: str = "") -> Section | None:
        return next((s for s in self.sections if s.kind == kind and s.name == name), None)

    def kind(self, kind: str) -> list[Section]:
        return [s for s in self.sections if s.kind == kind]

    def render(self) -> str:
        """The text as it is written to the file, checksum included."""
        out = [f"# _version={self.version}", *(f"# {c}" for c in self.comments)]
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
            ready = next((s for s in defaults if not any(o.name == s.from_ for o in defaults if o is not s)), defaults[0])
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


def parse(text: str, imply_from: bool = True) -> Config:
    """imply_from: a proxy without `from` gets the name of the defaults above it; so it is when the API reads its file."""
    config = Config()
    section: Section | None = None
    above: list[str] = []
    above_section: list[str] = []
    last_defaults = ""
    for raw in text.splitlines():
        words, comment = split_line(raw)
        if not words:
            if comment is None:
                continue
            if section is None and not raw[:1].isspace():
                _header(config, comment, above_section)
            else:
                (above if raw[:1].isspace() else above_section).append(comment)
            continue
        if words[0] in KINDS:
            if section is not None:
                section.below += above
            above = []
            section = _open(config, words, comment, above_section, last_defaults if imply_from else "")
            above_section = []
            if section.kind == "defaults":
                last_defaults = section.name
            config.sections.append(section)
        elif section is not None:
            section.lines.append(Line(words, comment, above))
            above = []
    if section is not None:
        section.below += above + above_section
    if config.comments[:1] != DISCLAIMER[:1]:
        config.comments[:0] = DISCLAIMER
    return config


def _header(config: Config, comment: str, above_section: list[str]) -> None:
    if comment.startswith("_version"):
        value = comment.partition("=")[2].strip()
        config.version = int(value) if value.isdigit() else 1
    elif not comment.startswith("_md5hash"):
        config.comments.append(comment)


def _open(config: Config, words: list[str], comment: str | None, above: list[str], last_defaults: str) -> Section:
    from_ = words[words.index("from") + 1] if "from" in words[1:-1] else ""
    name = words[1] if len(words) > 1 and words[1] != "from" else ""
    if words[0] == "defaults" and not name:
        taken = {s.name for s in config.kind("defaults")}
        name = next(f"unnamed_defaults_{i}" for i in range(1, len(taken) + 2) if f"unnamed_defaults_{i}" not in taken)
    if words[0] in PROXIES and not from_:
        from_ = last_defaults
    return Section(words[0], name, from_, comment, above)

"""Random haproxy.cfg files, mutated from real ones: HAProxy's examples and regression files where $HAPROXY_SOURCE names a folder that
has them (they are read where they lie), and files of our own."""

from __future__ import annotations

import os
import pathlib
import random
import re
from collections.abc import Iterator

Section = list[str]  # its header first

KINDS = ("acme|backend|cache|crt-store|defaults|fcgi-app|frontend|global|healthcheck|http-errors|listen|log-forward|log-profile|mailers|"
         "namespace_list|peers|program|resolvers|ring|traces|userlist")
# Of the process, not of the file: what would fight over sockets, or be refused for want of a file; and conditionals, which a
# regression file has around all of its global section, and which are never sent.
ALONE = re.compile(r"\s*(\.(if|elif|else|endif)\b|stats\s+socket|chroot|user\s+\w+$|group\s+\w+$|daemon|pidfile|lua-load|.*\.lua|crt-store|.*\b(crt|ca-file|crl-file|key)\s)")


def vtc_files(text: str) -> Iterator[str]:
    """The configurations in a regression file, with ports and folders in place of its variables."""
    for found in re.finditer(r"^haproxy \w+ .*?-conf(?:-OK|-BAD)? \{\n(.*?)^\} ?", text, re.S | re.M):
        text = re.sub(r"fd@\$\{\w+\}", "127.0.0.1:8001", found[1])
        text = re.sub(r"\$\{\w+_addr\}:\$\{\w+_port\}", "127.0.0.1:8", text)
        text = re.sub(r"\$\{\w+_(addr)\}", "127.0.0.1", text)
        text = re.sub(r"\$\{\w+_(port)\}", "8", text)
        yield re.sub(r"\$\{\w+_sock\}", "127.0.0.1:8", text)


def seeds(own: list[str]) -> list[list[Section]]:
    texts = list(own)
    folder = os.environ.get("HAPROXY_SOURCE")
    for path in sorted(pathlib.Path(folder).rglob("*")) if folder else ():
        if path.suffix == ".cfg":
            texts.append(path.read_text(errors="replace"))
        elif path.suffix == ".vtc":
            texts.extend(vtc_files(path.read_text(errors="replace")))
    return [found for found in map(sections, texts) if found]


def sections(text: str) -> list[Section]:
    made: list[Section] = []
    for line in text.splitlines():
        line = line.strip()
        if re.match(rf"({KINDS})(\s|$)", line):
            made.append([line])
        elif made and line and not ALONE.match(line):
            made[-1].append(line)
    return [one for one in made if one[0].split()[0] not in ("program", "crt-store")]


def name_of(section: Section) -> str:
    return " ".join(section[0].split()[:2])


class Maker:
    def __init__(self, seed: int, own: list[str]):
        self.dice = random.Random(seed)
        self.seeds = seeds(own)
        self.by_kind: dict[str, list[str]] = {}
        for file in self.seeds:
            for section in file:
                self.by_kind.setdefault(section[0].split()[0], []).extend(section[1:])

    def line(self, text: str) -> str:
        """Said otherwise."""
        dice = self.dice.randrange(24)
        if dice == 0:
            return f"\t{text}  "
        if dice == 1 and " #" not in text:
            return f"  {text} # {self.dice.randrange(100)}"
        if dice == 2 and not re.search(r"[\"'\\#{}$]", text):
            words = re.split(r"\s", text)
            at = self.dice.randrange(len(words))
            words[at] = f'"{words[at]}"' if words[at] else ""
            return " ".join(words)
        if dice == 3 and not re.search(r"[\"'\\#]", text):
            return text.replace(" ", "   ", 1)
        return f"  {text}"

    def mutate(self, file: list[Section]) -> list[Section]:
        for _ in range(self.dice.randrange(6)):
            section = self.dice.choice(file)
            more = self.by_kind.get(section[0].split()[0], [])
            at = self.dice.randrange(1, len(section) + 1)
            what = self.dice.randrange(6)
            if what == 0 and len(section) > 2:
                section.insert(at, section.pop(self.dice.randrange(1, len(section))))
            elif what == 1 and more:
                section.insert(at, self.dice.choice(more))
            elif what == 2 and len(section) > 1:
                section.pop(self.dice.randrange(1, len(section)))
            elif what == 3:
                file.insert(self.dice.randrange(len(file) + 1), file.pop(self.dice.randrange(len(file))))
            elif what == 4:
                other = [list(one) for one in self.dice.choice(self.seeds)]
                there = {name_of(one) for one in file}
                file += [one for one in other if name_of(one) not in there][:2]
            elif what == 5 and len(section) > 1:
                section.insert(at, section[self.dice.randrange(1, len(section))])
        return file

    def text(self) -> str:
        file = self.mutate([list(section) for section in self.dice.choice(self.seeds)])
        parts = []
        for section in file:
            parts.append("\n".join([section[0], *map(self.line, section[1:])]))
        return ("\n\n" if self.dice.randrange(2) else "\n").join(parts) + "\n"


def split(line: str) -> list[str]:
    """Its words, as HAProxy has them but for variables."""
    words: list[str] = []
    for quoted, single, escaped, plain, end in re.findall(r"""\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|\\(.)|([^\s\"'\\#]+|(?<=\S)#)|(\s+|#.*)""", line):
        if end:
            words.append("")
            if end[0] == "#":
                break
        else:
            if not words:
                words.append("")
            words[-1] += re.sub(r"\\(.)", r"\1", quoted) + single + escaped + plain
    return [word for word in words if word]


SYNONYMS = {"deny_status": "status"}


def words_of(text: str) -> dict[str, list[str]]:
    """The words of each section, ordered: a judgement of what was lost or added that knows next to nothing of keywords. Of some the
    last counts, and is all that an API writes."""
    found: dict[str, list[str]] = {}
    last: dict[tuple[str, str], list[str]] = {}
    at = ""
    for words in filter(None, map(split, text.splitlines())):
        if re.match(rf"({KINDS})$", words[0]):
            at = " ".join(words[:2]).removesuffix(" unnamed_defaults_1")
            found.setdefault(at, []).extend(words[2:])
            continue
        words = [SYNONYMS.get(word, word) for word in words]
        bare = [word for word in words if word != "no"] or words
        if bare[0] in ("timeout", "option"):
            last[at, " ".join(bare[:2])] = words
        elif bare[0] in ("balance", "default_backend", "fullconn", "mode", "retries", "thread-groups"):
            last[at, bare[0]] = words
        else:
            found[at].extend(words)
    for (at, _), words in last.items():
        found[at].extend(words)
    return {name: sorted(words) for name, words in found.items() if words}

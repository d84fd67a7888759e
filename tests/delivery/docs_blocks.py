"""What the pages consist of: fenced blocks, links, headings; and blocks that show a file, written anew by

    python3 -m tests.delivery.docs_blocks

A fence is ```LANGUAGE key=value ...; file=PATH shows docs/PATH, part=KEY only its part below that top-level key of YAML.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    language: str
    attributes: dict[str, str]
    text: str

    @property
    def kind(self) -> str:
        """What the rules go by: the kind that is named, else the language."""
        return self.attributes.get("kind") or self.language

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def split(text: str) -> Iterator[tuple[int, str | None, list[str]]]:
    """Runs of lines: (number of the first, the fence's words or None outside of fences, lines without the fences)."""
    fence: str | None = None
    run: list[str] = []
    begin = 1
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            yield begin, fence, run
            fence = None if fence is not None else line.strip()[3:]
            run, begin = [], number + 1
        else:
            run.append(line)
    if fence is not None:
        raise ValueError(f"the fence before line {begin} is never closed")
    yield begin, fence, run


def blocks(page: pathlib.Path) -> list[Block]:
    found = []
    for line, fence, run in split(page.read_text()):
        if fence is None:
            continue
        language, *words = fence.split() or [""]
        found.append(Block(page, line, language, dict(word.split("=", 1) for word in words), "\n".join(run) + "\n"))
    return found


def prose(page: pathlib.Path) -> list[tuple[int, str]]:
    """(number, line) of all that is in no fence."""
    return [(begin + i, line) for begin, fence, run in split(page.read_text()) if fence is None for i, line in enumerate(run)]


def part_of(text: str, key: str) -> str:
    found = re.search(rf"^{re.escape(key)}:.*\n(?:[ \t#].*\n|\n)*", text, re.M)
    if not found:
        raise ValueError(f"no top-level key {key!r}")
    return found[0].rstrip("\n") + "\n"


def shown(block: Block) -> str:
    """What a block with file= has to show."""
    text = (DOCS / block.attributes["file"]).read_text()
    return part_of(text, block.attributes["part"]) if "part" in block.attributes else text


def anchor(heading: str) -> str:
    """As GitHub makes one of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: pathlib.Path) -> set[str]:
    return {anchor(found[1]) for _, line in prose(page) if (found := re.match(r"#{1,6} (.+)", line))}


def renew(page: pathlib.Path) -> None:
    lines = page.read_text().splitlines()
    for block in reversed([b for b in blocks(page) if "file" in b.attributes]):
        lines[block.line - 1:block.line - 1 + block.text.rstrip("\n").count("\n") + (block.text.strip() != "")] = shown(block).splitlines()
    page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for each in pages():
        renew(each)

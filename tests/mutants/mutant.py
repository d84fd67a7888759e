"""One way to break the sources: in `file` (below src/), `old` becomes `new`. The name says what goes wrong by it."""

from __future__ import annotations

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Unfit(Exception):
    """The edit itself is of no use: it does not apply any longer, or what it makes does not compile."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str

    def source(self) -> pathlib.Path:
        return ROOT / "src" / self.file

    def text(self) -> str:
        """The whole file, broken."""
        text = self.source().read_text()
        found = text.count(self.old)
        if found != 1:
            raise Unfit(f"src/{self.file} has the text {found} times, not once: {self.old!r}; write the edit anew in tests/mutants")
        return text.replace(self.old, self.new)


@dataclasses.dataclass(frozen=True)
class Room:
    """Files that are broken, and the unit tests that have to notice: those of the room itself, the quick ones first."""

    name: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


ROOMS: list[Room] = []


def room(name: str, tests: tuple[str, ...], mutants: tuple[Mutant, ...]) -> None:
    ROOMS.append(Room(name, tests, mutants))

"""What the demo prints: plain text, readable in a log; colours only on a terminal, and never against NO_COLOR."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

BOLD, DIM, RED, GREEN, CYAN = "1", "2", "31", "32", "36"
_POLL_S = 0.05


class Screen:
    """Lines from several threads, one at a time."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._colours = self._terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()
        self.before_heading: list[Callable[[], None]] = []
        """What belongs to the part that ends."""

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text

    def line(self, text: str = "") -> None:
        with self._lock:
            print(text, flush=True)

    def heading(self, text: str) -> None:
        for show in self.before_heading:
            show()
        self.line()
        self.line(self.paint(f"== {text}", BOLD))

    def say(self, text: str) -> None:
        self.line(f"   {text}")

    def good(self, text: str) -> None:
        self.say(self.paint(text, GREEN))

    def bad(self, text: str) -> None:
        self.say(self.paint(text, RED))

    def quote(self, text: str) -> None:
        """What another program printed, not indented: it may be 100 columns wide already."""
        self.line("\n" + text)

    def log(self, who: str, text: str) -> None:
        """A line of another program's log: folded on a terminal, whole in a file."""
        prefix = f"   {who} | "
        room = shutil.get_terminal_size().columns - len(prefix)
        fold = self._terminal and room > 20
        folded = textwrap.wrap(text, room, subsequent_indent="  ", break_on_hyphens=False) if fold else [text]
        self.line("\n".join(self.paint(prefix, CYAN) + self.paint(part, DIM) for part in folded))

    def distribution(self, counts: Mapping[str, int], addresses: Mapping[str, str]) -> None:
        """One bar for each node, the longest 40 characters."""
        most = max([*counts.values(), 1])
        for name in sorted({*counts, *addresses}):
            count = counts.get(name, 0)
            self.say(f"{name:<8} {addresses.get(name, ''):<13} {count:>5}  {'#' * round(40 * count / most)}")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = True) -> None:
        """Numbers: every column but the first is set to the right."""
        cells = [list(head), *(list(row) for row in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        for i, row in enumerate(cells):
            text = "  ".join(cell.rjust(width) if numbers and j else cell.ljust(width)
                             for j, (cell, width) in enumerate(zip(row, widths))).rstrip()
            self.say(self.paint(text, BOLD) if i == 0 else text)
            if i == 0:
                self.say("-" * (sum(widths) + 2 * (len(widths) - 1)))


class LogTail:
    """Shows a log file's lines as they are written."""

    def __init__(self, screen: Screen, who: str, path: pathlib.Path):
        self.screen, self.who, self.path = screen, who, path
        self._at, self._rest = 0, ""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "LogTail":
        self.screen.before_heading.append(self.show)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)

    def show(self) -> None:
        """What has been written since."""
        with self._lock:
            if self.path.exists():
                with open(self.path, errors="replace") as f:
                    f.seek(self._at)
                    self._rest += f.read()
                    self._at = f.tell()
            *lines, self._rest = self._rest.split("\n")
            for line in lines:
                self.screen.log(self.who, line)

    def _run(self) -> None:
        while not self._stop.wait(_POLL_S):
            self.show()
        self.show()

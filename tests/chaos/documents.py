"""The user's haproxy.cfg, rewritten again and again: some files are good, some HAProxy rejects, some are refused before they are sent.

Each has a backend of its own, by-document-N, which shows in HAProxy and in its file which one that is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import random

from .invariants import Ours, meaning

MARK = "by-document-"


@dataclasses.dataclass(frozen=True)
class Document:
    number: int
    text: str
    good: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Documents:
    """first: a file as the Data Plane API writes it, without a server line that is the daemon's. The choices follow from `random` alone."""

    def __init__(self, first: str, path: pathlib.Path, ours: Ours, rng: random.Random):
        self.path, self.ours, self.random = path, ours, rng
        self.first = "\n".join(line for line in first.splitlines() if not line.startswith("#")) + "\n"
        self.list: list[Document] = []
        self.meanings: dict[object, Document] = {}
        """Of the good ones: what a file of HAProxy's may mean."""
        self.since = 0
        """The number of the one that ran when all was in sync last: none from before it comes back."""

    @property
    def last(self) -> Document:
        return self.list[-1]

    def put(self, good: bool) -> str:
        """The next one; what it is. Known as possible before the daemon can see it."""
        document = self._make(good)
        self.list.append(document)
        if good:
            self.meanings[meaning(document.text, self.ours)] = document
        fresh = self.path.with_name("next")
        fresh.write_text(document.text)
        fresh.replace(self.path)
        return f"document {document.number}, {'good' if good else 'to be rejected'}"

    def of(self, text: str) -> Document | None:
        """Whose a file of HAProxy's is; None: nobody gave it, or it was to be rejected."""
        return self.meanings.get(meaning(text, self.ours))

    def _make(self, good: bool) -> Document:
        number = len(self.list) + 1
        rng = self.random
        text = self.first.replace("timeout server 77s", f"timeout server {rng.randint(60, 90)}s")
        text = text.replace("balance roundrobin", f"balance {rng.choice(('roundrobin', 'leastconn', 'random'))}")
        parts = [f"backend {MARK}{number}\n  mode tcp\n  timeout server {rng.randint(1, 50)}s\n"]
        parts += [f"backend more-{i}\n  mode {rng.choice(('tcp', 'http'))}\n  retries {rng.randint(1, 9)}\n" for i in range(rng.randint(0, 3))]
        bad = rng.choice(("  bogus on\n", "  balance nobody\n", "  server mine 127.0.0.1:9\n"))
        if not good and "server" in bad:  # a line that is the daemon's: no HAProxy is asked
            text = text.replace("  server keep-1", bad + "  server keep-1", 1)
        elif not good:
            parts.append(f"backend bad\n  mode tcp\n{bad}")
        rng.shuffle(parts)
        return Document(number, text + "\n" + "\n".join(parts), good)

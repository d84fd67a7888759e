"""Which requests to a Data Plane API write. One that begins a transaction does; but where that was only read (what would its
commit make of the file?), neither changed nor committed, its begin and its end are no writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

Request = tuple[str, str]
"""Method and path, with its query."""


def of_access_log(log: str) -> list[Request]:
    """Of the real one's, or of the double's."""
    return [(method, path) for method, path in re.findall(r"\b(GET|POST|PUT|DELETE|PATCH) (/v3/\S*)", log)]


def _look(method: str, path: str) -> str:
    """The transaction that this request reads, or ""."""
    found = re.search(r"/configuration/raw\?transaction_id=([\w-]+)", path)
    return found[1] if found and method == "GET" else ""


def _use(method: str, path: str) -> str:
    """The transaction that this request changes or commits, or ""."""
    found = re.search(r"[?&]transaction_id=([\w-]+)", path) or (method == "PUT" and re.search(r"/transactions/([\w-]+)", path))
    return found[1] if found and method != "GET" else ""


def looked_at(requests: Sequence[Request]) -> set[str]:
    """Transactions that were read, and neither changed nor committed."""
    return {_look(*r) for r in requests} - {_use(*r) for r in requests} - {""}


def writes_among(requests: Sequence[Request]) -> list[int]:
    """Which of these, in their order, are writes, whatever their answer."""
    looks, seen = looked_at(requests), set()
    found: list[int] = []
    begins: list[int] = []
    for i, (method, path) in enumerate(requests):
        if (tid := _look(method, path)) in looks - seen:
            seen.add(tid)
            found.remove(begins.pop())  # the latest: its id is in no request before this one
        elif method != "GET" and "only_validate=true" not in path and path.rpartition("/")[2] not in looks:
            found.append(i)
            begins += [i] if method == "POST" and "/transactions?" in path else []
    return found

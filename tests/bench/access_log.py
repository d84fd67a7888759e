"""Writes by kind, out of the access log of a Data Plane API, the real one's or the double's."""

from __future__ import annotations

import collections
import re

# INFO ... "PUT /v3/... HTTP/1.1" 202 ...   and   PUT /v3/... -> 202 in 3 ms
_REQUEST = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH) (/v3/\S*) (?:HTTP/1\.[01]\\?\"|->) (\d{3})\b")
TRANSACTION, FAST, WHOLE, RUNTIME = "transactions", "fast writes", "writes of the file", "runtime calls"
RELOADING, OTHER, REFUSED = "writes that reload", "other writes", "refused writes"


def kind_of(method: str, path: str, status: int) -> str | None:
    """None: a read, or a step inside a transaction."""
    if method == "GET" or "only_validate=" in path:
        return None
    inside = "transaction_id=" in path or (method in ("POST", "DELETE") and "/transactions" in path)
    if status >= 300:
        return None if method == "DELETE" and "/transactions/" in path else REFUSED
    if inside:
        return None
    if "/transactions/" in path:
        return TRANSACTION
    if "/runtime/" in path:
        return RUNTIME
    if method == "PUT" and re.search(r"/backends/[^/]+/servers/[^/?]+\?", path):
        return FAST if status == 200 else RELOADING
    if method == "POST" and "/configuration/raw?" in path and "skip_reload=true" in path:
        return WHOLE
    return OTHER


def count(log: str) -> collections.Counter[str]:
    kinds = (kind_of(method, path, int(status)) for method, path, status in _REQUEST.findall(log))
    return collections.Counter(kind for kind in kinds if kind)

"""JSON as the real server writes it: compact, in order, with Go's HTML-safe escapes."""

from __future__ import annotations

import json
from typing import Any

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def encode(value: Any) -> bytes:
    """These characters occur inside strings only, so that escaping the text as a whole is right."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES).encode()

"""Lines of figures, printed as they come in."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)


def figure(name: str, value: str, aim: str = "") -> None:
    print(f"  {name:<44} {value:<34} {'aim: ' + aim if aim else ''}".rstrip(), flush=True)


def note(text: str) -> None:
    print(f"  ({text})", flush=True)


def spread(values: Sequence[float], unit: str, digits: int = 2) -> str:
    """Median, and the range where there is more than one."""
    if not values:
        return "no figure"
    middle = f"{statistics.median(values):.{digits}f} {unit}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.{digits}f}..{max(values):.{digits}f}, n={len(values)})"

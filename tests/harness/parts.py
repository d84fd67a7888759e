"""What a newcomer cannot have, by the name under which the closing lines of a run count the cases that were not collected for want of
it (tests/conftest.py)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from . import spire
from .haproxy import haproxy_binary, haproxy_version, real_dataplane_binary
from .realparts import Missing


def needs(part: str, here: object) -> pytest.MarkDecorator:
    return pytest.mark.needs(part, bool(here))


def needs_haproxy(what: str, fits: Callable[[tuple[int, int]], bool]) -> pytest.MarkDecorator:
    return needs(f"HAProxy {what} ($HAPROXY)", (binary := haproxy_binary()) and fits(haproxy_version(binary)))


@contextlib.contextmanager
def or_skip(what: str = "") -> Iterator[None]:
    """A part that cannot be had herein skips the test, with the reason."""
    try:
        yield
    except Missing as e:
        pytest.skip(f"{what}: {e}" if what else str(e))


real_dataplane = needs("a real Data Plane API ($DATAPLANEAPI)", real_dataplane_binary())
real_spire = needs("SPIRE", spire.binaries())

"""What a newcomer cannot have, by the name under which the closing lines of a run count the cases that were not collected for want of
it (tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from . import spire
from .haproxy import haproxy_binary, haproxy_version, real_dataplane_binary


def needs(part: str, here: object) -> pytest.MarkDecorator:
    return pytest.mark.needs(part, bool(here))


def needs_haproxy(what: str, fits: Callable[[tuple[int, int]], bool]) -> pytest.MarkDecorator:
    return needs(f"HAProxy {what} ($HAPROXY)", (binary := haproxy_binary()) and fits(haproxy_version(binary)))


real_dataplane = needs("a real Data Plane API ($DATAPLANEAPI)", real_dataplane_binary())
real_spire = needs("SPIRE", spire.binaries())

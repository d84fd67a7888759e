from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from .rig import Rig, program


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    if not program().exists():
        pytest.fail(f"{program()} is not there: make test builds it", pytrace=False)


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path) as made:
        yield made

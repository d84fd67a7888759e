from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator

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


@pytest.fixture
def rig_of(tmp_path: pathlib.Path) -> Iterator[Callable[..., Rig]]:
    """Starts one that is made otherwise: rig_of(template, ...)."""
    with contextlib.ExitStack() as stack:
        yield lambda *how, **more: stack.enter_context(Rig(tmp_path, *how, **more))

"""Shared by everything that is delivered; what one thing alone needs stands beside its tests."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness import realparts

from .chart import cases
from .once import once


@pytest.fixture(scope="session")
def helm() -> pathlib.Path:
    try:
        return realparts.helm()
    except realparts.Missing as e:
        pytest.skip(f"helm: {e}")


@pytest.fixture(scope="session")
def rendered(helm: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> cases.Renderings:
    return cases.Renderings(once(tmp_path_factory, "chart", lambda home: cases.render_all(helm, home)))

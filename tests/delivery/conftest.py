"""Shared by everything that is delivered; what one thing alone needs stands beside its tests."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness import realparts


@pytest.fixture(scope="session")
def helm() -> pathlib.Path:
    try:
        return realparts.helm()
    except realparts.Missing as e:
        pytest.skip(f"helm: {e}")

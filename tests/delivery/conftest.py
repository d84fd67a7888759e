"""Shared by everything that is delivered; what one thing alone needs stands beside its tests."""

from __future__ import annotations

import pathlib

import pytest

from tests.harness import parts, realparts

from . import docs_files
from .chart import cases
from .once import once


@pytest.fixture(scope="session")
def helm() -> pathlib.Path:
    with parts.or_skip("helm"):
        return realparts.helm()


@pytest.fixture(scope="session")
def rendered(helm: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> cases.Renderings:
    return cases.Renderings(once(tmp_path_factory, "chart", lambda home: cases.render_all(helm, home)))


@pytest.fixture(scope="session")
def kubectl() -> pathlib.Path:
    with parts.or_skip("kubectl"):
        return realparts.kubectl()


@pytest.fixture(scope="session")
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> docs_files.Settings:
    return docs_files.Settings(tmp_path_factory.mktemp("settings"))


@pytest.fixture
def docs_tools(tmp_path: pathlib.Path, helm: pathlib.Path, kubectl: pathlib.Path, own_settings: docs_files.Settings) -> docs_files.Tools:
    return docs_files.Tools(tmp_path, helm, kubectl, own_settings)

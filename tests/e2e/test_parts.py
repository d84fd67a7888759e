"""Each combination of real parts by name: what this machine lacks shows as one skip with the reason."""

from __future__ import annotations

import os

import pytest

from .combinations import COMBINATIONS, Combination
from .conftest import lacking


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_part_of_the_combination_is_a_program(combination: Combination) -> None:
    reason = lacking(combination)
    if reason:
        pytest.skip(f"{combination}: {reason}")
    for name, path in combination.parts().items():
        assert os.access(path, os.X_OK), f"{name}: {path} is not a program"

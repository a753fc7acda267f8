"""Two tiers of tests: `make test` shows whether a change is right; `make test-all` adds those marked `long`.

Long tests are statistics over many seeds, large sizes and repeated labs. Each has a short companion that
finds the same fault in a cheaper case.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

LABS = "labs"
"""The group of tests that measure rates of labs; they run one after another."""


def long(*values: object) -> ParameterSet:
    """Returns a case of `parametrize` for the long tier."""
    return pytest.param(*values, marks=pytest.mark.long)


def seeds(values: Iterable[object], short: Iterable[object]) -> list[object]:
    """Returns `values` as cases of `parametrize`; those not in `short` are in the long tier."""
    kept = set(short)
    return [value if value in kept else long(value) for value in values]

"""Two tiers of tests: `make test` tells whether a change is right; `make test-all` adds those marked `long`.

Long are statistics over many seeds, large sizes and repeated labs. Each long test has a short one beside it
that finds the same fault in a cheaper case.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

LABS = "labs"
"""The group of tests that look at rates of labs; they run one after another."""


def long(*values: object) -> ParameterSet:
    """A case of `parametrize` for the long tier."""
    return pytest.param(*values, marks=pytest.mark.long)


def seeds(values: Iterable[object], short: Iterable[object]) -> list[object]:
    """Cases of `parametrize`: all `values`, of which only those of `short` are in the short tier."""
    kept = set(short)
    return [value if value in kept else long(value) for value in values]

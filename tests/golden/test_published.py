"""Compares simulated figures with published ones: agreement must last, and disagreement is recorded."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "published.md"
# The aim, for pairwise rows with the knee.
MEAN_ERROR, WORST_ERROR = 0.03, 0.08


def test_pairwise_rows_are_within_the_aim(compare: ModuleType) -> None:
    rows = [row for row in compare.kurmann_pairwise() if row.in_aim]
    assert len(rows) == 15
    errors = [row.knee_error for row in rows]
    assert np.mean(errors) <= MEAN_ERROR
    assert max(errors) <= WORST_ERROR
    # The knee may only lower rates.
    assert all(row.simulated >= row.knee for row in rows)


def test_the_knee_in_use_is_the_one_that_fits_table_3(compare: ModuleType) -> None:
    assert compare.best_knee() == pytest.approx(compare.KNEE, abs=0.51)


def test_salmon_s_formulas_hold_exactly(compare: ModuleType) -> None:
    rows = list(compare.salmon())
    assert len(rows) == 22
    for row in rows:
        assert row.simulated == pytest.approx(row.published, rel=1e-12), row.what


def test_all_to_all_falls_over_distance_as_published(compare: ModuleType) -> None:
    """Kurmann, figures 2 and 10: the drop in the middle distances, and where it begins."""
    run = compare.simulate("xibalba-e7-config1", ["aapc"], ranks=64, message=40 << 20)
    slowest = run.rank_seconds(0).max("rank").values[0]
    rate = slowest[0] / slowest
    np.testing.assert_allclose(rate[:8], 1)  # up to 8 flows fit between two modules
    np.testing.assert_allclose(rate[8:32], 8 / np.arange(9, 33))
    np.testing.assert_allclose(rate, rate[::-1])


def test_the_page_in_the_documentation_has_the_computed_figures(compare: ModuleType) -> None:
    assert compare.table(compare.all_rows()) in PAGE.read_text(encoding="utf-8"), "run `make published`"

"""Figures that the machine limited, according to a run's record of its lab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from crosscut.reproduce import trusting
from crosscut.reproduce.quantities import QUANTITIES
from crosscut.run.run import Run

LIMITED = [{"size": 500, "phases": [[2, 2], [7, 8]]}, {"size": 900, "phases": [[1, 8]]}]


def run(place: str = "lab", **trust: Any) -> Run:
    attributes: dict[str, Any] = {"place": place, "trust": [{"cpu_busy_share": 0.9, **trust}]}
    dataset = xr.Dataset(coords={"phase": [1, 2, 3, 8], "size": [500]})
    dataset.attrs = attributes
    return Run(Path("run.zarr"), dataset)


def test_phases_are_those_of_the_same_size_by_their_own_numbers() -> None:
    assert trusting.phases(run(limited=LIMITED), 0) == [False, True, False, True]


def test_simulations_and_runs_without_a_record_are_not_limited() -> None:
    assert not any(trusting.phases(run("sim", limited=LIMITED), 0))
    assert not any(trusting.phases(run(), 0))
    assert not any(trusting.phases(run(limited="all"), 0))


@pytest.mark.parametrize(("share", "expected"), [(0.85, False), (0.95, True)])
def test_a_switch_without_room_on_its_core_limits_every_phase(share: float, expected: bool) -> None:
    assert trusting.phases(run(limited=[], switch={"cpu_share": share}), 0) == [expected] * 4


def test_a_figure_of_a_phase_is_as_good_as_its_phase() -> None:
    assert trusting.figures(QUANTITIES["median rate"], [False, True]) == [False, True]


def test_a_figure_of_many_phases_counts_if_the_machine_limited_few_of_them() -> None:
    few, many = [True] + [False] * 9, [True] * 2 + [False] * 9
    assert trusting.figures(QUANTITIES["total seconds"], few) == [False]
    assert trusting.figures(QUANTITIES["total seconds"], many) == [True]
    assert trusting.figures(QUANTITIES["worst phase"], few) == [True]
    assert trusting.figures(QUANTITIES["worst phase"], [False] * 10) == [False]

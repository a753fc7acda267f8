"""The shape of a pattern's results: recorded in the run, or known for runs from before it was recorded."""

from __future__ import annotations

import pytest
from made_runs import aapc_view

from crosscut.base import core
from crosscut.reports.words.sentences import figures_of
from crosscut.run.shape import Reading, Shape, reading


def test_a_run_is_read_by_the_shape_that_it_recorded() -> None:
    pattern = {"name": "aapc", "shape": "loaded", "findings": False, "latency": True}
    assert reading({"pattern": pattern}) == Reading(Shape.LOADED, findings=False, latency=True)
    assert "under load" in figures_of(aapc_view(attributes={"pattern": pattern}))[0]


@pytest.mark.parametrize("shape", ["spiral", "", None, 7, ["dense"]])
def test_an_unknown_shape_is_drawn_by_phase_without_findings(shape: object) -> None:
    pattern = {"name": "aapc", "shape": shape, "findings": True, "latency": True}
    assert reading({"pattern": pattern}) == Reading(Shape.DENSE, findings=False, latency=False)


def test_an_old_run_is_read_like_a_new_one_of_the_same_pattern() -> None:
    newer = ("collective", "message-rate")  # its runs always record a shape
    for pattern in core.load().patterns:
        if pattern.name in newer:
            continue
        before = reading({"pattern": {"name": pattern.name}})
        assert before.shape.value == pattern.shape, pattern.name


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ({"job": {"pattern": "pingpong"}}, Shape.SWEEP),
        ({"pattern": {"name": "congestor"}}, Shape.VICTIMS),
        ({"pattern": {"name": "unheard-of"}}, Shape.DENSE),
        ({"pattern": {"name": ["pingpong"]}}, Shape.DENSE),
        ({"pattern": 3, "job": 4}, Shape.DENSE),
        ({}, Shape.DENSE),
    ],
)
def test_a_run_without_a_shape_is_read_by_its_name(attributes: dict[str, object], shape: Shape) -> None:
    assert reading(attributes).shape is shape


def test_halves_are_recorded_and_known_of_runs_before():
    assert reading({"pattern": {"name": "own", "shape": "dense", "halves": True}}).halves
    assert reading({"pattern": {"name": "bisection"}}).halves
    assert not reading({"pattern": {"name": "bisection", "shape": "dense"}}).halves

"""Rows, errors and aims; figures of dilated and scaled runs; the picture's axes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from test_reproduce_experiment import WHOLE, written

from crosscut.reproduce import chart, comparing, experiment, picture
from crosscut.reproduce.comparing import Curve
from crosscut.reproduce.quantities import Kind, fits, scaled


@pytest.fixture
def read(tmp_path: Path) -> experiment.Experiment:
    text = WHOLE.replace("[lab]", "[aim]\nmean = 0.05\nworst = 0.1\n[lab]")
    return experiment.read(written(tmp_path, text.replace("published", "outside_the_aim = [4]\npublished")))


def lab(*values: float) -> Curve:
    return Curve("one", "lab", (1.0, 2.0, 4.0), values)


def test_rates_times_become_those_of_the_network_that_was_meant() -> None:
    one = np.asarray([2.0])
    assert scaled(one, Kind.RATE, 10, 100) == 20  # ten times faster, whatever the message
    assert scaled(one, Kind.TRANSFER, 10, 100) == 20  # a hundred times the bytes in a tenth of the time
    assert scaled(one, Kind.LATENCY, 10, 100) == 2


def test_units_go_with_what_they_measure() -> None:
    assert fits("MB/s", Kind.RATE)
    assert fits("us", Kind.LATENCY)
    assert not fits("s", Kind.RATE)
    assert not fits("MB/s", Kind.TRANSFER)
    assert not fits("s", Kind.SHARE)


def test_a_row_has_the_figures_of_its_phase_and_no_other(read: experiment.Experiment) -> None:
    shuffled = Curve("one", "lab", (4.0, 1.0, 3.0, 2.0), (11.1, 11.3, 99.0, 10.0))
    rows = list(comparing.rows(read, [shuffled]))
    assert [(row.x, row.emulated, row.simulated) for row in rows] == [
        (1.0, 11.3, None),
        (2.0, 10.0, None),
        (4.0, 11.1, None),
    ]


def test_rows_outside_the_aim_do_not_count(read: experiment.Experiment) -> None:
    rows = list(comparing.rows(read, [lab(11.3, 11.2 * 1.02, 50.0)]))
    (summary,) = comparing.summaries(read, rows)
    assert summary.rows == 2
    assert summary.worst == pytest.approx(0.02)
    assert summary.met is True


def test_an_aim_is_missed_by_the_mean_or_by_the_worst(read: experiment.Experiment) -> None:
    def met(first: float, second: float, aims: experiment.Experiment = read) -> bool | None:
        rows = list(comparing.rows(aims, [lab(11.3 * first, 11.2 * second, 11.1)]))
        return next(comparing.summaries(aims, rows)).met

    assert met(0.96, 1.04)
    assert met(0.92, 1.09) is False  # the mean
    assert met(1.0, 0.89) is False  # the worst
    assert met(0.5, 2.0, replace(read, mean_aim=None, worst_aim=None)) is None


def test_what_was_not_measured_has_no_error(read: experiment.Experiment) -> None:
    rows = list(comparing.rows(read, [lab(11.3, float("nan"), 11.1)]))
    assert rows[1].emulated is None
    assert rows[1].error(rows[1].emulated) is None


@pytest.mark.parametrize(
    ("low", "high", "is_log", "expected"),
    [
        (0.0, 12.0, False, [0, 2, 4, 6, 8, 10, 12]),
        (1.0, 1000.0, True, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
        (1.0, 1e6, True, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
    ],
)
def test_axes_have_round_numbers(low: float, high: float, is_log: bool, expected: list[float]) -> None:
    assert chart.ticks(low, high, is_log) == pytest.approx(expected)


@pytest.mark.parametrize("form", experiment.FORMS)
def test_every_form_is_a_picture_also_of_nearly_nothing(
    form: str, read: experiment.Experiment, tmp_path: Path
) -> None:
    asked = replace(read, source="A & B <c>", picture=experiment.Picture(form, "<title>", "x", "y"))
    full = replace(lab(1.0, 2.0, 3.0), routes=(1.0, 2.0), route_bytes=(10, 1000), phase_x=(1.0,),
                   phase_rates=(2.0,))  # fmt: skip
    for curves in ([full], []):
        picture.write(asked, list(comparing.rows(asked, curves)), curves, tmp_path)
        root = ElementTree.parse(tmp_path / "picture.svg").getroot()
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert "<title>" in texts
        assert "nan" not in (tmp_path / "picture.svg").read_text()

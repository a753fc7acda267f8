"""Processor time for moving bytes: by rank and in sum, outliers, and hostile attributes."""

import math

import numpy as np
import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.cautions import CautionKind
from crosscut.analysis.figures.effort import efforts
from crosscut.reports.html import tables
from crosscut.reports.words import about, costs


def entry(processor, *, size=1_000_000, elapsed=4.0, moved=2e9):
    ranks = len(processor)
    return {
        "size": size, "processor_seconds": list(processor), "elapsed_seconds": [elapsed] * ranks,
        "sent_bytes": [int(moved)] * ranks, "received_bytes": [int(moved)] * ranks,
    }  # fmt: skip


def view_of(*entries, wait="block"):
    return aapc_view(attributes={"effort": list(entries), "wait": wait})


def test_a_gigabyte_costs_the_sum_of_both_ends():
    (found,) = efforts({"effort": [entry([2.0, 4.0])]}, 2)
    assert found.per_gigabyte() == pytest.approx([0.5, 1.0])
    assert found.total_per_gigabyte() == pytest.approx(1.5)
    assert found.per_message() == pytest.approx([0.5e-3, 1e-3])
    assert found.busy() == pytest.approx(0.75)


def test_a_rank_that_moved_nothing_has_no_figure_and_spoils_none():
    one = entry([2.0, 0.0, 2.0])
    one["sent_bytes"][1] = one["received_bytes"][1] = 0
    (found,) = efforts({"effort": [one]}, 3)
    assert np.isnan(found.per_gigabyte()[1])
    assert found.total_per_gigabyte() == pytest.approx(1.0)


def test_a_host_whose_bytes_cost_twice_as_much_is_named_in_a_caution():
    view = view_of(entry([1.0, 1.1, 2.2, 0.9]))
    found = [one for one in about.beware(view, []) if one.kind is CautionKind.PROCESSOR_TIME]
    assert [one.text for one in found] == [
        "bytes cost some ranks far more processor time than the middle rank: n003 2.1 times"
    ]
    assert found[0].advice
    alike = view_of(entry([1.0, 1.1, 1.2, 0.9]))
    assert CautionKind.PROCESSOR_TIME not in [one.kind for one in about.beware(alike, [])]


def test_nothing_is_claimed_about_ranks_that_poll():
    view = view_of(entry([1.0, 1.1, 4.4, 0.9]), wait="poll")
    assert costs.polls(view)
    assert CautionKind.PROCESSOR_TIME not in [one.kind for one in about.beware(view, [])]
    assert tables.effort(view) == ""


@pytest.mark.parametrize(
    "hostile",
    [
        None, 3, "x", {}, [None], [[]], [{"size": "1"}],
        [entry([1.0, 2.0])],
        [entry([1.0, 2.0, -1.0, 4.0])],
        [entry([1.0, 2.0, math.nan, 4.0])],
        [entry([1.0, 2.0, "3", 4.0])],
        [entry([True, 2.0, 3.0, 4.0])],
        [entry([1.0] * 4, size=-1)],
        [{**entry([1.0] * 4), "sent_bytes": {"0": 1}}],
    ],
)  # fmt: skip
def test_invalid_figures_are_left_out(hostile):
    assert efforts({"effort": hostile}, 4) == []


def test_the_report_lists_the_ranks_with_the_most_processor_time():
    text = tables.effort(view_of(entry([1.0, 1.1, 2.2, 0.9])))
    assert text.index("n003") < text.index("n002") < text.index("n001")
    assert "0.550" in text


def test_json_has_each_rank_and_the_sum():
    (found,) = costs.effort_json(view_of(entry([1.0, 1.0, 2.0, 1.0])))
    assert found["processor_seconds_per_gigabyte"] == pytest.approx(0.625)
    assert found["ranks"][2] == {"rank": 2, "processor_seconds_per_gigabyte": pytest.approx(0.5)}

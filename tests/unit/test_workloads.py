"""Names, numbers of ranks and results of workloads, without running any."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from typing import Any

import pytest
from rich.console import Console

from crosscut import workloads
from crosscut.errors import UsageError
from crosscut.reports import workload_figures
from crosscut.reports.glyphs import ASCII
from crosscut.reports.screen import Screen
from crosscut.workloads import WORKLOADS, Figure, Result, Row, WorkloadError

SAID: dict[str, Any] = {
    "name": "cg",
    "class": "S",
    "ranks": 4,
    "size": "1400 rows",
    "layout": "2 x 2 blocks of the matrix",
    "iterations": 15,
    "seconds": 0.25,
    "mops": 266.5,
    "verified": True,
    "communication_seconds": {"minimum": 0.1, "median": 0.125, "maximum": 0.2},
    "checks": [],
}


def result(ranks: int, seconds: float, *, verified: bool = True) -> Result:
    return Result("cg", "S", ranks, "", "", 15, seconds, 100 / seconds, verified, (0, seconds / 2, seconds))


def test_workloads_are_found_by_name_once_each_and_all_at_once():
    assert [one.name for one in workloads.find(["mg", "is", "mg"])] == ["mg", "is"]
    assert workloads.find(["all"]) == list(WORKLOADS)
    assert "".join(one.name for one in workloads.find(["npb"])) == "btcgepftislumgsp"


def test_an_unknown_workload_is_named_with_those_that_there_are():
    names = ", ".join(one.name for one in WORKLOADS)
    with pytest.raises(UsageError, match=f"no workload 'xx'; there is {names}"):
        workloads.find(["is", "xx"])


def test_every_workload_has_a_folder_of_sources_and_a_line_in_the_build():
    build = (workloads.source_folder() / "CMakeLists.txt").read_text(encoding="utf-8")
    for suite, variable in (("npb", "npb_benchmarks"), ("", "standalone_workloads")):
        listed = build.split(f"set({variable} ")[1].split(")")[0].split()
        assert listed == [one.name for one in WORKLOADS if one.suite == suite]
    for one in WORKLOADS:
        files, headers = workloads.sources(one)
        assert {file.parent.name for file in files} == {"common", one.name, *one.shares}
        assert [file.name for file in files].count("main.cpp") == 1
        assert all(folder.is_dir() for folder in headers)


def test_numbers_of_ranks_are_taken_one_by_one_or_as_a_range():
    assert workloads.parse_rank_counts("4") == ((4,), False)
    assert workloads.parse_rank_counts("8,1,2,2") == ((1, 2, 8), False)
    assert workloads.parse_rank_counts("1,3-5") == ((1, 3, 4, 5), True)


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1-", "-", "4-2", "a", "1,", "1.5", "１", "99999999999", "1-999999999999", "1--2"]
)
def test_what_is_no_number_of_ranks_is_refused(text):
    with pytest.raises(UsageError):
        workloads.parse_rank_counts(text)


def test_of_a_range_a_workload_runs_with_what_it_can_use():
    by_name = {one.name: one for one in WORKLOADS}
    counts = tuple(range(1, 17))
    assert workloads.fitting(by_name["mg"], counts, ranged=True) == (1, 2, 4, 8, 16)
    assert workloads.fitting(by_name["sp"], counts, ranged=True) == (1, 4, 9, 16)
    assert workloads.fitting(by_name["ep"], counts, ranged=True) == counts
    assert workloads.fitting(by_name["data-server"], counts, ranged=True) == (2, 4, 6, 8, 10, 12, 14, 16)
    assert workloads.fitting(by_name["overlap"], counts, ranged=True) == counts[1:]
    assert workloads.fitting(by_name["mg"], (3,), ranged=False) == (3,)


@pytest.mark.parametrize("text", ["", "s", "D", "S,", "S W"])
def test_an_unknown_class_is_refused(text):
    with pytest.raises(UsageError, match="there is S, W, A, B, C"):
        workloads.parse_classes(text)


def test_the_last_line_that_a_workload_printed_is_its_result():
    found = workloads.parse_result("a library's greeting\n" + json.dumps(SAID) + "\n")
    assert (found.name, found.problem_class, found.ranks, found.verified) == ("cg", "S", 4, True)
    assert found.communication_seconds == (0.1, 0.125, 0.2)


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": None},
        {"seconds": -1},
        {"seconds": "1"},
        {"ranks": True},
        {"mops": math.nan},
        {"verified": "yes"},
        {"communication_seconds": 3},
        {"communication_seconds": {"minimum": 0, "median": 0}},
        {"figures": {}},
        {"figures": [1]},
        {"figures": [{"name": "gets", "unit": "1/s", "at": ""}]},
        {"figures": [{"name": "gets", "value": math.inf, "unit": "1/s", "at": ""}]},
    ],
)
def test_a_result_that_makes_no_sense_is_refused(change):
    with pytest.raises(WorkloadError, match="did not end with its result"):
        workloads.parse_result(json.dumps(SAID | change))


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "[]", "3", '{"name": "cg"', "[" * 100_000])
def test_what_is_no_result_is_refused(text):
    with pytest.raises(WorkloadError):
        workloads.parse_result(text)


def test_a_speed_up_is_against_the_fewest_ranks_and_of_medians():
    base = Row((result(2, 9), result(2, 8), result(2, 1)))
    assert base.seconds == 8
    assert workloads.speed_up(Row((result(8, 4),)), base) == 4
    assert workloads.speed_up(base, base) == 2


def test_the_deviation_is_that_of_a_sample_and_none_of_one_run():
    assert Row((result(2, 1),)).deviation_seconds is None
    assert Row((result(2, 1), result(2, 2), result(2, 3))).deviation_seconds == 1


def figures(*values: tuple[str, str, float]) -> tuple[Figure, ...]:
    return tuple(Figure(name, value, "share", at) for name, at, value in values)


def test_figures_of_a_row_are_medians_of_its_runs_by_name_and_place():
    runs = [
        dataclasses.replace(
            result(2, 1), figures=figures(("free", "1 KiB", one), ("free", "1 MiB", -one), ("a", "", one))
        )
        for one in (1, 9, 2)
    ]
    assert Row(tuple(runs)).figures == figures(("free", "1 KiB", 2), ("free", "1 MiB", -2), ("a", "", 2))


def test_figures_are_shown_in_their_units_with_a_column_for_each_number_of_ranks():
    def row(ranks: int, *found: Figure) -> Row:
        return Row((dataclasses.replace(result(ranks, 1), figures=found),))

    printed = io.StringIO()
    screen = Screen(Console(file=printed, width=100), ASCII)
    rows = [
        row(
            2, Figure("gets", 1234, "1/s"), Figure("a get", 0.002, "s"), Figure("free", 0.5, "share", "1 KiB")
        ),
        row(4, Figure("gets", 2.5, "1/s"), Figure("fetched", 2e6, "B/s")),
    ]
    workload_figures.show(screen, rows)
    lines = [" ".join(line.replace("|", " ").split()) for line in printed.getvalue().splitlines()]
    assert [line for line in lines if line.strip("-+")] == [
        "2 ranks 4 ranks",
        "gets 1,234 /s 2.5 /s",
        "a get 2.00 ms",
        "fetched 2.00 MB/s",
        "2 ranks",
        "free",
        "1 KiB 50 %",
    ]


def test_a_row_is_verified_where_all_its_runs_are():
    assert Row((result(2, 1), result(2, 1))).verified
    assert not Row((result(2, 1), result(2, 1, verified=False))).verified

"""Names, numbers of ranks and results of workloads, without running them."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from pathlib import Path
from typing import IO, Any

import pytest
from rich.console import Console

from crosscut.base.errors import UsageError
from crosscut.places import smpi
from crosscut.reports.terminal.glyphs import ASCII
from crosscut.reports.terminal.screen import Screen
from crosscut.workloads import applications, launch, tables
from crosscut.workloads.applications import (
    WORKLOADS,
    Result,
    ScalingCurve,
    ScalingRow,
    WorkloadError,
    WorkloadFigure,
)

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
    assert [one.name for one in applications.find(["mg", "is", "mg"])] == ["mg", "is"]
    assert applications.find(["all"]) == list(WORKLOADS)
    assert "".join(one.name for one in applications.find(["npb"])) == "btcgepftislumgsp"


def test_an_unknown_workload_is_named_with_the_known_ones():
    names = ", ".join(one.name for one in WORKLOADS)
    with pytest.raises(UsageError, match=f"no workload 'xx'; there is {names}"):
        applications.find(["is", "xx"])


def test_every_workload_has_a_folder_of_sources_and_a_line_in_the_build():
    build = (applications.source_folder() / "CMakeLists.txt").read_text(encoding="utf-8")
    for suite, variable in (("npb", "npb_benchmarks"), ("", "standalone_workloads")):
        listed = build.split(f"set({variable} ")[1].split(")")[0].split()
        assert listed == [one.name for one in WORKLOADS if one.suite == suite]
    for one in WORKLOADS:
        files, folders = applications.sources(one)
        assert {file.parent.name for file in files} == {"common", "program", one.name}
        assert {"common", "program", one.name, *one.shares} == {folder.name for folder in folders}
        assert [file.name for file in files].count("main.cpp") == 1
        assert all(folder.is_dir() for folder in folders)


def test_numbers_of_ranks_are_taken_one_by_one_or_as_a_range():
    assert applications.parse_rank_counts("4") == (4,)
    assert applications.parse_rank_counts("8,1,2,2") == (1, 2, 8)
    assert applications.parse_rank_counts("1,3-5") == (1, 3, 4, 5)


@pytest.mark.parametrize(
    "text",
    ["", "0", "-1", "1-", "-", "4-2", "a", "1,", "1.5", "１", "99999999999", "1-999999999999", "1--2",
     "0000000011111111", "1-0000000199999", "1" * 5000],
)  # fmt: skip
def test_an_invalid_number_of_ranks_is_refused(text):
    with pytest.raises(UsageError):
        applications.parse_rank_counts(text)


def test_a_workload_takes_the_numbers_of_ranks_that_its_grid_has():
    taken = {one.name: tuple(filter(one.takes, range(1, 17))) for one in WORKLOADS}
    assert taken["mg"] == (1, 2, 4, 8, 16)
    assert taken["sp"] == (1, 4, 9, 16)
    assert taken["ep"] == tuple(range(1, 17))
    assert taken["data-server"] == (2, 4, 6, 8, 10, 12, 14, 16)
    assert taken["overlap"] == tuple(range(2, 17))
    assert taken["lu"] == (1, 2, 4, 6, 8, 9, 12, 15, 16)


@pytest.mark.parametrize("text", ["", "s", "D", "S,", "S W"])
def test_an_unknown_class_is_refused(text):
    with pytest.raises(UsageError, match="there is S, W, A, B, C"):
        applications.parse_classes(text)


def test_the_last_line_that_a_workload_printed_is_its_result():
    found = applications.parse_result("a library's greeting\n" + json.dumps(SAID) + "\n")
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
def test_a_senseless_result_is_refused(change):
    with pytest.raises(WorkloadError, match="did not end with its result"):
        applications.parse_result(json.dumps(SAID | change))


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "[]", "3", '{"name": "cg"', "[" * 100_000])
def test_text_that_is_not_a_result_is_refused(text):
    with pytest.raises(WorkloadError):
        applications.parse_result(text)


def test_a_speed_up_is_against_the_fewest_ranks_and_of_medians():
    base = ScalingRow((result(2, 9), result(2, 8), result(2, 1)))
    assert base.seconds == 8
    assert applications.speed_up(ScalingRow((result(8, 4),)), base) == 4
    assert applications.speed_up(base, base) == 2


def test_the_deviation_is_the_sample_s_and_one_run_has_none():
    assert ScalingRow((result(2, 1),)).deviation_seconds is None
    assert ScalingRow((result(2, 1), result(2, 2), result(2, 3))).deviation_seconds == 1


def figures(*values: tuple[str, str, float]) -> tuple[WorkloadFigure, ...]:
    return tuple(WorkloadFigure(name, value, "share", at) for name, at, value in values)


def test_figures_of_a_row_are_medians_of_its_runs_by_name_and_place():
    runs = [
        dataclasses.replace(
            result(2, 1), figures=figures(("free", "1 KiB", one), ("free", "1 MiB", -one), ("a", "", one))
        )
        for one in (1, 9, 2)
    ]
    assert ScalingRow(tuple(runs)).figures == figures(
        ("free", "1 KiB", 2), ("free", "1 MiB", -2), ("a", "", 2)
    )


def test_figures_are_shown_in_their_units_with_a_column_for_each_number_of_ranks():
    def row(ranks: int, *found: WorkloadFigure) -> ScalingRow:
        return ScalingRow((dataclasses.replace(result(ranks, 1), figures=found),))

    printed = io.StringIO()
    screen = Screen(Console(file=printed, width=100), ASCII)
    rows = [
        row(
            2,
            WorkloadFigure("gets", 1234, "1/s"),
            WorkloadFigure("a get", 0.002, "s"),
            WorkloadFigure("free", 0.5, "share", "1 KiB"),
        ),
        row(4, WorkloadFigure("gets", 2.5, "1/s"), WorkloadFigure("fetched", 2e6, "B/s")),
    ]
    tables.show_figures(screen, rows)
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


def test_more_numbers_of_ranks_than_fit_get_further_tables_and_no_figure_is_truncated():
    printed = io.StringIO()
    rows = [
        ScalingRow(
            (dataclasses.replace(result(n, 1), figures=(WorkloadFigure("bytes a step", 10_000 + n, ""),)),)
        )
        for n in range(1, 17)
    ]
    tables.show_figures(Screen(Console(file=printed, width=80), ASCII), rows)
    shown = printed.getvalue()
    assert all(f"{10_000 + n:,}" in shown and f"{n} rank" in shown for n in range(1, 17))
    assert max(map(len, shown.splitlines())) <= 80
    assert 2 < shown.count("bytes a step") < 8


def test_a_row_is_verified_if_all_its_runs_are():
    assert ScalingRow((result(2, 1), result(2, 1))).verified
    assert not ScalingRow((result(2, 1), result(2, 1, verified=False))).verified


def curve(name: str, problem_class: str, *rows: ScalingRow, failed: tuple[int, ...] = ()) -> ScalingCurve:
    (workload,) = applications.find([name])
    return ScalingCurve(workload, problem_class, rows, failed)


def test_a_curve_is_verified_if_something_ran_and_all_runs_were_right():
    right, wrong = (
        ScalingRow((result(2, 1), result(2, 1))),
        ScalingRow((result(4, 1), result(4, 1, verified=False))),
    )
    assert curve("cg", "S", right).verified
    assert not curve("cg", "S", right, wrong).verified
    assert not curve("cg", "S", right, failed=(8,)).verified
    assert not curve("cg", "S").verified
    both = curve("cg", "S", right, wrong, failed=(8,))
    assert (both.runs, both.verified_runs, both.rank_counts) == (5, 3, (2, 4, 8))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((), ""), ((4,), "4"), ((1, 2), "1, 2"), ((1, 2, 4), "1, 2, 4"), ((1, 2, 3), "1 to 3"),
        ((1, 4, 5, 6, 9), "1, 4 to 6, 9"),
    ],
)  # fmt: skip
def test_consecutive_numbers_are_written_as_a_range(counts, said):
    assert tables.spans(counts) == said


def test_the_summary_has_the_runs_and_which_of_them_are_right():
    printed = io.StringIO()
    screen = Screen(Console(file=printed, width=100), ASCII)
    many = [ScalingRow((result(ranks, 1),)) for ranks in range(1, 17)]
    curves = [curve("ep", "S", *many), curve("cg", "W", ScalingRow((result(2, 1),)), failed=(4,))]
    tables.summary(screen, curves, 125.0)
    lines = [" ".join(line.replace("|", " ").split()) for line in printed.getvalue().splitlines()]
    assert [line for line in lines if line.strip("-+")] == [
        "What ran",
        "workload class ranks runs verified",
        "ep S 1 to 16 16 yes",
        "cg W 2, 4 2 NO: 1 of 2",
        "17 of 18 runs verified, of 2 workloads, in 2 min 05 s",
    ]


def test_several_runs_on_several_numbers_of_ranks_are_drawn_as_a_curve():
    printed = io.StringIO()
    screen = Screen(Console(file=printed, width=100), ASCII)
    (workload,) = applications.find(["cg"])
    rows = [ScalingRow((result(n, 7.9 / n), result(n, 8 / n), result(n, 8.1 / n))) for n in (1, 2, 4)]
    tables.curve(screen, workload, "S", rows)
    shown = printed.getvalue()
    assert "speed-up; shaded" in shown
    filled = [line.count("#####") for line in shown.splitlines() if "#####" in line]
    assert filled[0] == 1, "of four ranks alone the column is that high"
    assert filled[-1] == 3
    once = io.StringIO()
    tables.curve(Screen(Console(file=once), ASCII), workload, "S", [ScalingRow((result(1, 1),))])
    assert "shaded" not in once.getvalue()


def test_every_workload_is_listed_with_what_it_computes():
    printed = io.StringIO()
    tables.listing(Screen(Console(file=printed, width=110), ASCII), WORKLOADS)
    shown = printed.getvalue()
    assert all(f"{one.name} " in shown and one.summary in shown for one in WORKLOADS)
    assert shown.index("NAS Parallel") < shown.index("bt ") < shown.index("data-server")


def test_an_unsuccessful_mpi_test_costs_a_simulated_workload_no_more_than_a_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SimGrid's 0.1 ms per MPI_Test would be most of the time of workloads that poll."""
    asked: list[smpi.SimulationSettings] = []

    def simulate(
        program: smpi.SimulatedProgram, settings: smpi.SimulationSettings, folder: Path, output: IO[bytes]
    ) -> smpi.Simulated:
        asked.append(settings)
        output.write(json.dumps(SAID).encode())
        output.flush()
        return smpi.Simulated(4, 0, 1.0, 1.0, ())

    monkeypatch.setattr(smpi, "unavailable", lambda: None)
    monkeypatch.setattr(smpi, "simulate", simulate)
    monkeypatch.setattr(launch, "_compiled", lambda _: tmp_path)
    with launch.opened(launch.Where(on="sim:net.toml", compute="none")) as run:
        assert run(WORKLOADS[0], "S", 4).verified
    options = dict(text.split(":") for text in smpi.all_options(asked[0], ()))
    assert float(options["smpi/test"]) <= 1e-6
    assert options["smpi/grow-injected-times"] == "no"
    assert options["smpi/simulate-computation"] == "no"

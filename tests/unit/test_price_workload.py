"""Times of a workload in a mix, only from the output of `crosscut workload run --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscut.base.errors import UsageError
from crosscut.cli import workload as command
from crosscut.pricing import mix, performing
from crosscut.pricing.amounts import Interval
from crosscut.workloads.applications import Result


def line(taken: float, **other: Any) -> str:
    """Returns a line of the command's output."""
    what = Result("cg", "A", 4, "14,000 rows", "2 x 2", 15, taken, 1000.0, True, (0.1, 0.2, 0.3))
    return json.dumps(command.as_json(what, "lab:a.toml") | other)


class Site:
    """The only two fields of a site that measured times use."""

    def __init__(self, name: str, ranks: int = 4) -> None:
        self.name, self.ranks = name, ranks


def work(folder: Path, **files: list[str]) -> mix.Work:
    for name, lines in files.items():
        (folder / f"{name}.json").write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")
    named = ", ".join(f'{name} = "{name}.json"' for name in files)
    text = folder / "mix.toml"
    text.write_text(f'[[work]]\nname = "CG"\nworkload = {{ {named} }}\n', encoding="utf-8")
    return mix.load(text).works[0]


def time(one: mix.Work, name: str, ranks: int = 4) -> Interval:
    return performing.worked()(one, Site(name, ranks))  # type: ignore[arg-type]


def test_the_time_is_from_the_shortest_run_to_the_longest(tmp_path: Path) -> None:
    one = work(tmp_path, a=[line(2.5), line(2.0), line(3.0)])
    assert time(one, "a") == Interval(2.0, 3.0)


def test_the_time_of_many_runs_is_the_interval_of_their_median(tmp_path: Path) -> None:
    """The second smallest and second largest of nine runs enclose the median with 96 %."""
    one = work(tmp_path, a=[line(float(seconds)) for seconds in (1, 2, 3, 4, 5, 6, 7, 8, 90)])
    assert time(one, "a") == Interval(2.0, 8.0)


def test_only_runs_of_a_speed_up_curve_on_as_many_ranks_count(tmp_path: Path) -> None:
    one = work(tmp_path, a=[line(8.0, ranks=1), line(2.0), line(1.0, ranks=8)])
    assert time(one, "a") == Interval(2.0, 2.0)
    with pytest.raises(UsageError, match=r"a\.json has results for 1, 4, 8 ranks, but the mix has 16"):
        time(one, "a", ranks=16)


def test_results_of_another_class_are_refused(tmp_path: Path) -> None:
    one = work(tmp_path, a=[line(2.0)], b=[line(1.0, **{"class": "W"})])
    source = performing.worked()
    source(one, Site("a"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"mix\.toml:1: .*class W.*class A.*like with like"):
        source(one, Site("b"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has nothing for c, only for a, b"):
        source(one, Site("c"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], r"a\.json: is empty"),
        (["{}"], r"a\.json:1: is not a result"),
        (["[" * 10_000], r"a\.json:1: is not a result"),
        ([line(1.0), "{"], r"a\.json:2: is not a result"),
        ([line(1.0, verified=False)], r"a\.json:1: .*failed verification"),
        ([line(1.0, seconds=-1)], r"a\.json:1: is not a result"),
        ([line(1.0, ranks="4")], r"a\.json:1: is not a result"),
        ([line(1.0), line(1.0, name="mg")], r"a\.json has cg, class A .* and mg, class A"),
    ],
)
def test_an_invalid_result_is_refused(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        time(work(tmp_path, a=lines), "a")


def test_a_missing_file_is_reported_with_the_command_that_writes_one(tmp_path: Path) -> None:
    one = work(tmp_path, a=[line(1.0)])
    (tmp_path / "a.json").unlink()
    with pytest.raises(UsageError, match=r"a\.json: .*crosscut workload run"):
        time(one, "a")

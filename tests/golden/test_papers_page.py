"""docs/reference/papers.md: what it says follows from the lists, the experiments and the kept figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.papers import kept, page
from tiers import long

from crosscut.reproduce import comparing, experiment, papers, repeating
from crosscut.reproduce.running import ReproduceOptions
from crosscut.run.realm import Realm
from crosscut.session.progress import reporter

SLOW = frozenset({"bode-table-1", "salmon-nas"})  # run programs under SMPI
NAMES = sorted({name for paper in experiment.paper_names() for name in papers.read(paper).experiments} - SLOW)


def test_the_page_in_the_documentation_is_up_to_date() -> None:
    made = page.text(kept.load())
    assert made == page.PAGE.read_text(encoding="utf-8"), "run `python -m benchmarks.papers --again`"


def test_every_simulated_figure_beside_a_printed_one_is_kept() -> None:
    figures = kept.load()
    for name in NAMES:
        read = experiment.read(experiment.find(name))
        there = {(one.series, one.place) for one in kept.curves(figures, read)}
        wanted = {one.name for one in read.series if one.published and Realm.SIMULATED in one.on}
        assert {(one, Realm.SIMULATED) for one in wanted} <= there, (
            f"{name}: python -m benchmarks.papers --on sim"
        )


@long
@pytest.mark.parametrize("name", NAMES)
def test_simulated_figures_are_those_that_are_kept(name: str, tmp_path: Path) -> None:
    read = experiment.read(experiment.find(name))
    if Realm.SIMULATED not in read.places:
        pytest.skip("nothing to simulate")
    with reporter(quiet=True) as listener:
        how = ReproduceOptions(("pytest",), tmp_path, listener, lambda _: None)
        done = repeating.repeat(read, (Realm.SIMULATED,), how)
    before = {row.series: row for row in comparing.rows(read, list(kept.curves(kept.load(), read)))}
    for row in done.rows:
        if row.published is not None and row.x is None:
            assert row.simulated == pytest.approx(before[row.series].simulated, rel=1e-9), row.series

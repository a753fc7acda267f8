"""Series that are more than a run of a pattern on a network: their file, and their figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_reproduce_experiment import written

from crosscut.base.errors import SessionError, UsageError
from crosscut.reproduce import comparing, computing, experiment
from crosscut.reproduce.comparing import SeriesCurve
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.running import MeasuredSeries
from crosscut.run.realm import Realm

WALK = """
[[series]]
name = "routes"
network = "beowulf-routed-4x9"
quantity = "routes"
unit = "routes"
x = [0, 1, 2]
calculated = [324, 504, 432]
"""
WORKER = """
[[series]]
name = "computing"
network = "beowulf-routed-4x9"
pattern = "routes"
message = "5MB"
phases = [1, 2]
quantity = "computing left"
unit = "share"
worker = "n0003"
on = "lab"
"""
WAITS = """
[[series]]
name = "waits"
pattern = "aapc"
wait = "poll"
ranks = [2, 8, 4]
message = "1KB"
quantity = "mean phase time"
unit = "us"
on = "local"
"""
WHOLE = f'title = "A title"\nsource = "A paper"\n{WALK}{WORKER}{WAITS}'


@pytest.fixture
def read(tmp_path: Path) -> Experiment:
    return experiment.read(written(tmp_path, WHOLE))


def test_a_walk_needs_no_pattern_and_runs_both_in_a_lab_and_by_the_tables(read: Experiment) -> None:
    walk = read.series[0]
    assert (walk.pattern, walk.quantity.step, walk.on) == ("", "walk", ("lab", "sim"))


def test_ranks_of_this_machine_need_no_network_and_are_not_emulated(read: Experiment) -> None:
    waits = read.series[2]
    assert (waits.network, waits.on, waits.rank_counts, waits.ranks) == ("", ("local",), (2, 8, 4), 0)
    assert waits.settings.options() == {"wait": "poll"}


def test_figures_of_a_step_are_rows_like_those_of_runs(read: Experiment) -> None:
    walked = MeasuredSeries(read.series[0], Realm.EMULATED, (), 1.0, 0.0, (324.0, 503.0, 432.0))
    rows = list(comparing.rows(read, [comparing.curve(walked)]))
    assert [(row.x, row.emulated) for row in rows[:3]] == [(0, 324), (1, 503), (2, 432)]
    assert rows[1].error(rows[1].emulated) == pytest.approx(-1 / 504)


def test_a_figure_of_a_step_that_the_machine_limited_is_marked(read: Experiment) -> None:
    computed = MeasuredSeries(read.series[1], Realm.EMULATED, (), 1.0, 0.0, (0.5, 0.9), (True, False))
    rows = [row for row in comparing.rows(read, [comparing.curve(computed)]) if row.series == "computing"]
    assert [(row.x, row.emulated, row.limited(Realm.EMULATED)) for row in rows] == [
        (1, 0.5, True),
        (2, 0.9, False),
    ]


def test_figures_by_ranks_have_a_column_for_this_machine(read: Experiment) -> None:
    here = SeriesCurve("waits", Realm.HERE, (2.0, 4.0, 8.0), (5.0, 6.0, 7.0))
    rows = [row for row in comparing.rows(read, [here]) if row.series == "waits"]
    assert [(row.x, row.at(Realm.HERE), row.at(Realm.EMULATED), row.at(Realm.SIMULATED)) for row in rows] == [
        (2.0, 5.0, None, None),
        (8.0, 7.0, None, None),
        (4.0, 6.0, None, None),
    ]


def test_work_is_counted_from_the_first_sign_of_progress_to_the_last() -> None:
    assert computing.per_second([(10.0, 100), (11.0, 160), (14.0, 300)]) == 50
    for seen in ([], [(1.0, 5)], [(1.0, 5), (1.0, 9)]):
        with pytest.raises(SessionError, match="longer lab_message"):
            computing.per_second(seen)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('quantity = "routes"', 'quantity = "routes"\npattern = "aapc"', "'pattern': there is no such key"),
        ("x = [0, 1, 2]\n", "", "key 'x': is missing"),
        ('unit = "routes"', 'unit = "share"', "'share' does not go with 'routes'"),
        ('unit = "share"', 'unit = "MB/s"', "'MB/s' does not go with 'computing left'"),
        ('worker = "n0003"\n', "", "key 'worker': names a node"),
        ('worker = "n0003"\non = "lab"', 'worker = "n0003"\non = "both"', "a worker computes on a node"),
        ("phases = [1, 2]\n", "", "key 'phases': is missing"),
        ('wait = "poll"', 'wait = "pol"', "did you mean 'poll'"),
        ('wait = "poll"', 'backend = "udp"', "'udp' is unknown"),
        ('wait = "poll"', 'switch = "user"', "only a lab has one"),
        ('wait = "poll"', 'switch = "soft"', "'soft' is not a switch"),
        ('wait = "poll"', 'worker = "n0"', "key 'worker': names a node"),
        ('wait = "poll"', 'network = "xibalba-er16"', "does not go with on = 'local'"),
        ("[2, 8, 4]", "[2, 8, 2]", "each number once"),
        ("[2, 8, 4]", "[2, 1]", "1: several numbers of ranks must each be at least 2"),
        ('"mean phase time"', '"median time"', "figures by ranks need whole runs"),
        ('pattern = "aapc"\nwait = "poll"\nranks = [2, 8, 4]\n',
         'network = "xibalba-er16"\npattern = "aapc"\nwait = "poll"\n', "does not go with on = 'local'"),
        ('on = "local"', 'on = "sim"\nnetwork = "xibalba-er16"', "goes with the simulator"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in WHOLE
    with pytest.raises(UsageError) as refused:
        experiment.read(written(tmp_path, WHOLE.replace(before, after, 1)))
    assert said in str(refused.value)
    assert "it.toml" in str(refused.value)

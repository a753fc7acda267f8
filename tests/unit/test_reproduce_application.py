"""Series that run a workload: their file, and the shares of a base computed from the runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_reproduce_experiment import written

from crosscut.base import core
from crosscut.base.errors import SessionError, UsageError
from crosscut.reproduce import applying, comparing, experiment, known, running
from crosscut.reproduce.experiment import Experiment
from crosscut.run.realm import Realm
from crosscut.workloads import launch
from crosscut.workloads.applications import Result, Workload, WorkloadError

SERIES = """
[[series]]
name = "one"
network = "bode-gige-broadcom-64"
workload = "data-server"
class = "W"
options = "--waiting 'sleep'"
base = { ranks = 2, options = "" }
ranks = [4, 8]
ranks_per_host = 2
x = [2, 4]
quantity = "time left"
unit = "share"
published = [0.5, 0.3]
repetitions = 3
on = "sim"
"""
WHOLE = f'title = "A title"\nsource = "A paper"\n{SERIES}'


@pytest.fixture
def read(tmp_path: Path) -> Experiment:
    return experiment.read(written(tmp_path, WHOLE))


def test_the_file_is_read(read: Experiment) -> None:
    (series,) = read.series
    found = series.settings.application
    assert found is not None
    assert (found.workload.name, found.problem_class, found.options) == (
        "data-server",
        "W",
        ("--waiting", "sleep"),
    )
    assert (found.base.ranks, found.base_options) == (2, ())
    assert (series.pattern, series.rank_counts, series.x) == ("", (4, 8), (2.0, 4.0))


def test_a_base_without_options_has_those_of_the_series(tmp_path: Path) -> None:
    (series,) = experiment.read(written(tmp_path, WHOLE.replace(', options = ""', ""))).series
    assert series.settings.application is not None
    assert series.settings.application.base_options == ("--waiting", "sleep")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"data-server"', '"data-serve"', "did you mean 'data-server'?"),
        ('class = "W"', 'class = "Z"', "key 'class': 'Z' is unknown"),
        ("""'sleep'""", """'sleep""", "key 'options': No closing quotation"),
        ("ranks = 2, ", "", "[base], key 'ranks': is missing"),
        ("base = {", "base = { rank = 3,", "[base], key 'rank': there is no such key; did you mean 'ranks'?"),
        ("ranks = 2,", "ranks = 3,", "data-server cannot run on 3 ranks; it takes an even number"),
        ("[4, 8]", "[4, 7]", "data-server cannot run on 7 ranks; it takes an even number"),
        ('"time left"', '"drop"\nmessage = "1B"\npattern = "aapc"', "'workload': names an app"),
        ('on = "sim"', 'on = "both"', "a workload cannot run on a lab"),
        ('on = "sim"', 'compute = "none"\non = "both"', "'on': 'compute' and a base's 'network'"),
        ('class = "W"', 'compute = "much"', "key 'compute': --compute much: give host"),
        ('workload = "data-server"\n', "", "'workload': is missing"),
        ('workload = "data-server"', 'pattern = "aapc"\nworkload = "ft"', "'pattern': there is no such key"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in WHOLE
    with pytest.raises(UsageError) as refused:
        experiment.read(written(tmp_path, WHOLE.replace(before, after, 1)))
    assert said in str(refused.value)
    assert "it.toml:" in str(refused.value)


def test_more_ranks_than_a_network_has_room_for_are_reported_with_their_line(tmp_path: Path) -> None:
    file = written(tmp_path, WHOLE.replace("[4, 8]", "[4, 8000]"))
    with pytest.raises(UsageError, match=r"it\.toml:11: .*8000 do not fit: bode-gige-.*-64 has room for 128"):
        known.check(file, experiment.read(file), (Realm.SIMULATED,), core.load())


def test_the_base_may_run_on_another_network_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_base = WHOLE.replace("ranks = 2,", 'ranks = 2, network = "bode-sci-64",')
    file = written(tmp_path, with_base.replace("bode-sci-64", "bode-sc-64"))
    with pytest.raises(UsageError, match=r"\[base\], key 'network': .*did you mean 'bode-sci-64'"):
        known.check(file, experiment.read(file), (Realm.SIMULATED,), core.load())
    (series,) = experiment.read(written(tmp_path, with_base)).series
    asked = told_times(monkeypatch, {n: iter([said(n, 2.0)] * 3) for n in (2, 4, 8)})
    applying.measure(series, "sim:bode-gige-broadcom-64", tmp_path / "kept.json", 1)
    assert [on for on, *_ in asked] == ["sim:bode-sci-64", "sim:bode-gige-broadcom-64"]


def said(ranks: int, seconds: float, *, verified: bool = True) -> Result:
    return Result("data-server", "W", ranks, "", "", 1, seconds, 1.0, verified, (0.0, 0.0, 0.0))


def told_times(monkeypatch: pytest.MonkeyPatch, times: dict[int, Iterator[Result]]) -> list[tuple[str, ...]]:
    """Replaces runs by given times, to test the figures made from them."""
    asked = []

    @contextmanager
    def opened(where: launch.Where) -> Iterator[launch.Runner]:
        asked.append((where.on, *where.options))

        def run(_workload: Workload, _class: str, ranks: int) -> Result:
            return next(times[ranks])

        yield run

    monkeypatch.setattr(launch, "opened", opened)
    return asked


def test_each_share_is_of_the_base_of_its_turn(
    monkeypatch: pytest.MonkeyPatch, read: Experiment, tmp_path: Path
) -> None:
    times = {2: (10.0, 20.0, 10.0), 4: (5.0, 10.0, 9.0), 8: (3.0, 6.0, 2.0)}
    asked = told_times(monkeypatch, {n: iter([said(n, s) for s in of]) for n, of in times.items()})
    results = tmp_path / "kept.json"
    shares, seconds = applying.measure(read.series[0], "sim:x", results, 3)
    assert shares == pytest.approx((0.5, 0.3))
    assert seconds == 75.0
    assert asked == [("sim:x",), ("sim:x", "--waiting", "sleep")]
    kept = json.loads(results.read_text())
    assert [[one["seconds"] for one in turn] for turn in kept["turns"]] == [
        [10, 5, 3],
        [20, 10, 6],
        [10, 9, 2],
    ]
    measured = running.MeasuredSeries(read.series[0], Realm.SIMULATED, (results,), 1.0, 0.0, shares)
    rows = list(comparing.rows(read, [comparing.curve(measured)]))
    assert [(row.x, row.published, row.simulated) for row in rows] == [
        (2, 0.5, 0.5),
        (4, 0.3, pytest.approx(0.3)),
    ]


def test_a_single_figure_stands_at_its_x(tmp_path: Path) -> None:
    text = WHOLE.replace("[4, 8]", "4").replace("[2, 4]", "[2]").replace("[0.5, 0.3]", "[0.5]")
    read = experiment.read(written(tmp_path, text))
    measured = running.MeasuredSeries(read.series[0], Realm.SIMULATED, (), 1.0, 0.0, (0.6,))
    (row,) = comparing.rows(read, [comparing.curve(measured)])
    assert (row.x, row.simulated) == (2, 0.6)


def test_a_run_with_a_wrong_result_has_no_time(
    monkeypatch: pytest.MonkeyPatch, read: Experiment, tmp_path: Path
) -> None:
    told_times(monkeypatch, {2: iter([said(2, 1.0, verified=False)])})
    with pytest.raises(SessionError, match="data-server on 2 ranks failed its verification"):
        applying.measure(read.series[0], "local", tmp_path / "kept.json", 1)


def test_series_that_this_machine_cannot_run_are_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, read: Experiment, tmp_path: Path
) -> None:
    def nowhere(_where: launch.Where) -> None:
        raise WorkloadError("crosscut-data-server is not here")

    monkeypatch.setattr(launch, "opened", nowhere)
    told: list[str] = []
    how = running.ReproduceOptions((), tmp_path, lambda event: None, told.append)
    assert running.measure(read, Realm.SIMULATED, how) == []
    assert told[-1] == "left out: one: crosscut-data-server is not here"


def test_waits_that_poll_keep_the_library_s_default_and_the_user_s_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = WHOLE.replace('network = "bode-gige-broadcom-64"\n', 'wait = "poll"\n').replace('"sim"', '"local"')
    (series,) = experiment.read(written(tmp_path, text)).series
    throttle, heavy = applying.AS_IT_COMES
    monkeypatch.delenv(throttle, raising=False)
    monkeypatch.setenv(heavy, "1")
    seen = []

    @contextmanager
    def opened(_where: launch.Where) -> Iterator[launch.Runner]:
        seen.append((os.environ.get(throttle), os.environ.get(heavy)))
        yield lambda _workload, _class, ranks: said(ranks, 1.0)

    monkeypatch.setattr(launch, "opened", opened)
    applying.measure(series, "local", tmp_path / "kept.json", 1)
    assert seen == [("0", "1")] * 2
    assert (os.environ.get(throttle), os.environ.get(heavy)) == (None, "1")

"""Launches: their manifest, how they are merged into one run, and how far they differ."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from changed_runs import aapc
from made_runs import aapc_view, pingpong_view
from stored_run import make_run
from test_cli_run import Jobs, jobs, usage_error

from crosscut.analysis.compare import conditions
from crosscut.analysis.compare.comparing import ComparisonSettings, compare
from crosscut.analysis.compare.promises import Verdict, judge
from crosscut.analysis.compare.spec import Promise, PromiseKind
from crosscut.analysis.figures import samples
from crosscut.analysis.figures.launches import components, joined, spreads
from crosscut.analysis.figures.route_class import NO_GROUPS
from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.reports.json import compare as json_compare
from crosscut.reports.words import launches as words
from crosscut.run import launches
from crosscut.run.format import SKEW
from crosscut.run.launches import Manifest
from crosscut.run.run import Run

__all__ = ["jobs"]
JOB = {"pattern": "aapc", "backend": "tcp"}


def drawn(seed: int, count: int, *, between: float, within: float = 0.02, factor: float = 1.0) -> list[Run]:
    """Launches of one measurement, each with a random factor."""
    factors = factor * np.exp(between * np.random.default_rng(seed).standard_normal(count))
    return [
        aapc(1000 * seed + at, ranks=4, repetitions=20, noise=within, factor=each)
        for at, each in enumerate(factors)
    ]


def together(runs: list[Run]) -> Run:
    return joined(Path("launches"), runs)


def test_a_manifest_reads_back_unchanged(tmp_path: Path) -> None:
    written = Manifest(tmp_path, JOB, launches.planned(3, seed=7))
    launches.save(written)
    assert launches.load(tmp_path) == written
    assert launches.is_launches(tmp_path)


def test_orders_of_more_launches_begin_with_those_of_fewer_and_no_two_seeds_share_one() -> None:
    assert launches.planned(5, 3)[:2] == launches.planned(2, 3)
    seeds = [one.order_seed for seed in (0, 1, 2) for one in launches.planned(1000, seed)]
    assert len(set(seeds)) == len(seeds)
    assert 0 not in seeds  # the pattern's own order
    assert all(one.order_seed < 2**63 for one in launches.planned(1000, 2**63 - 1))


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"schema": {"name": "other"}}, "its schema is"),
        ({"job": []}, "records no job"),
        ({"launches": []}, "between 1 and 1000"),
        ({"launches": [{"name": "../x", "order_seed": 1}]}, "not a valid launch"),
        ({"launches": [{"name": "", "order_seed": 1}]}, "not a valid launch"),
        ({"launches": [{"name": "..", "order_seed": 1}]}, "not a valid launch"),
        ({"launches": [{"name": "a", "order_seed": -1}]}, "not a valid launch"),
        ({"launches": [{"name": "a", "order_seed": 1}] * 2}, "each once"),
        ({"launches": {"a": 1}}, "launches.json"),
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path: Path, members: dict[str, Any], says: str) -> None:
    launches.save(Manifest(tmp_path, JOB, launches.planned(2, 1)))
    file = tmp_path / launches.MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | members))
    with pytest.raises(UsageError, match=says):
        launches.load(tmp_path)


def test_a_launch_is_one_repetition_and_holds_medians_of_what_was_measured() -> None:
    first, second = (aapc_view(repetitions=5, sizes=(1000,), seconds=seconds) for seconds in (0.01, 0.02))
    status = second.dataset["status"].copy()
    status[:, 3:] = 0
    status[:, :, 1] = 0
    second = replace(second, dataset=second.dataset.assign(status=status))
    found = samples.load(together([first, second]).dataset, 0)
    assert found.rank_seconds.shape == (2, 3, 4)
    assert found.rank_seconds[0] == pytest.approx(0.01 * 1.002)  # five repetitions, each 0.1 % longer
    assert found.rank_seconds[1, [0, 2]] == pytest.approx(0.02 * 1.001)  # only three are measured
    assert np.isnan(found.rank_seconds[1, 1]).all()
    assert found.message_seconds[0] == pytest.approx(0.01 * 1.002)


def test_the_skew_of_a_launch_is_the_median_over_its_measured_repetitions() -> None:
    runs = [aapc_view(repetitions=5, sizes=(1000,)) for _ in range(2)]
    runs[1].dataset["status"][:, 3:] = 0
    for run in runs:
        skew = np.broadcast_to(1e-6 * np.arange(5)[None, :, None], (1, 5, 3))
        run.dataset[SKEW] = ("size", "repetition", "phase"), skew
    found = samples.load(together(list(runs)).dataset, 0).skew_seconds
    assert found.tolist() == [[pytest.approx(2e-6)] * 3, [pytest.approx(1e-6)] * 3]


def test_a_phase_that_the_machine_limited_in_any_launch_is_limited_in_the_merged_run() -> None:
    sessions = [{"limited": [{"size": 1000, "phases": [[phase, phase]]}]} for phase in (1, 3)]
    runs = [aapc_view(attributes={"trust": [session], "realm": "emulated"}) for session in sessions]
    assert together([*runs]).attributes["trust"] == sessions


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (aapc_view(ranks=5), "ranks"),
        (aapc_view(sizes=(1000,)), "sizes"),
        (aapc_view(attributes={"nodes": [{"name": "x"}] * 4}), "nodes"),
    ],
)
def test_runs_that_are_not_launches_of_one_measurement_are_refused(other: Run, what: str) -> None:
    with pytest.raises(UsageError, match=rf"the {what} of .* differ, .*; name a single run"):
        together([aapc_view(), other])


@pytest.mark.parametrize(("between", "within"), [(0.1, 0.02), (0.0, 0.1), (0.05, 0.05)])
def test_the_variance_between_launches_is_told_apart_from_that_within(between: float, within: float) -> None:
    found = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        effects = between * random.standard_normal(8)
        found.append(components([e + within * random.standard_normal(20) for e in effects]))
    rms = np.sqrt((np.array(found) ** 2).mean(axis=0))
    assert rms[1] == pytest.approx(within, rel=0.05)
    assert rms[0] == pytest.approx(between, rel=0.15, abs=0.02)


def test_one_launch_has_no_variance_between_and_one_repetition_none_within() -> None:
    between, within = components([np.array([1.0, 2.0, 3.0])])
    assert np.isnan(between)
    assert within == pytest.approx(1)
    between, within = components([np.array([1.0]), np.array([3.0])])
    assert between == pytest.approx(np.sqrt(2))
    assert np.isnan(within)


def test_launches_that_differ_by_more_than_repetitions_are_reported() -> None:
    (one,) = spreads(drawn(1, 6, between=0.1))
    assert "measure more launches rather than more repetitions" in str(words.sentence(one))
    assert np.isfinite(one.middle.low[0])
    (calm,) = spreads(drawn(1, 6, between=0.0))
    assert words.sentence(calm) is None
    (few,) = spreads(drawn(1, 2, between=0.1))
    assert words.sentence(few) is None
    assert np.isnan(few.middle.low[0])


def test_launches_of_a_sweep_are_compared_by_the_time_of_a_message() -> None:
    found = spreads([pingpong_view(), pingpong_view()])
    assert [one.timed for one in found] == [True] * 3
    assert found[1].launches == pytest.approx([11e-6, 11e-6])


def test_the_usual_spread_of_launches_is_no_change_but_a_larger_change_is_reported() -> None:
    asked = ComparisonSettings(error_rate=0.05)
    told = 0
    for seed in range(20):
        first, second = (drawn(2 * seed + at + 1, 6, between=0.1) for at in (0, 1))
        found = compare(together(first), together(second), NO_GROUPS, asked)
        told += bool(found.changes)
        assert found.of_launches
        assert found.repetitions == (6, 6)
    assert told <= 3  # at 5 % four and more of 20 have a probability of 1.6 %
    halved = drawn(99, 6, between=0.1, factor=0.5)
    slower = compare(together(drawn(98, 6, between=0.1)), together(halved), NO_GROUPS, asked)
    assert slower.worse
    document = json_compare.document(slower, asked, "abcd")
    assert (document["repetitions"], document["of_launches"]) == ([6, 6], True)


def test_few_launches_leave_a_comparison_undecided() -> None:
    first, second = (together(drawn(seed, 3, between=0.0, factor=1 / seed)) for seed in (1, 2))
    with pytest.raises(conditions.UndecidedError, match=r"3 complete launches .* measure 5 of each"):
        compare(first, second, NO_GROUPS, ComparisonSettings())


def test_launches_are_not_compared_with_repetitions_of_one() -> None:
    runs = drawn(1, 5, between=0.0)
    with pytest.raises(UsageError, match="name a run inside"):
        compare(together(runs), runs[0], NO_GROUPS, ComparisonSettings())


def test_a_promise_is_judged_by_launches_and_few_leave_it_open() -> None:
    promise = Promise(name="enough", kind=PromiseKind.ROUTE, pattern="aapc", size_bytes=1_000_000, bound=5e7)
    verdicts = {
        count: judge(promise, [together(drawn(1, count, between=0.05))], {"": NO_GROUPS}, 0.01)
        for count in (3, 40)
    }
    assert {count: one.verdict for count, one in verdicts.items()} == {
        3: Verdict.UNDECIDED, 40: Verdict.PASS
    }  # fmt: skip
    assert verdicts[3].repetitions == 3
    mixed = judge(promise, [together(drawn(1, 3, between=0)), aapc(1, ranks=4)], {"": NO_GROUPS}, 0.01)
    assert "judge them apart" in mixed.reason


def typed(words: str) -> int:
    return main(words.split())


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    return usage_error(words.split(), capsys)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run that the fake core leaves for each job."""
    run = tmp_path / "stored.zarr"
    make_run(run)
    monkeypatch.setenv("CROSSCUT_FAKE_RUN", str(run))
    return run


def test_each_launch_is_a_separate_job_with_its_own_order(jobs: Jobs, stored: Path) -> None:
    words_ = "run aapc -n 4 --size 1KB --seed 3 --time-limit 60s --launches 2 --out here --quiet"
    assert typed(words_) == 0
    first, second = jobs()
    assert [Path(job["out"]).name for job in (first, second)] == ["launch-1.zarr", "launch-2.zarr"]
    assert [job["order_seed"] for job in (first, second)] == [3 * 2**20 + 1, 3 * 2**20 + 2]
    assert {job["seed"] for job in (first, second)} == {3}
    assert first["time_limit_seconds"] <= 30 < second["time_limit_seconds"] <= 60


def test_resuming_measures_missing_and_added_launches(
    jobs: Jobs, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("run aapc -n 4 --size 1KB --launches 2 --out here --quiet") == 0
    before = jobs()
    shutil.rmtree("here/launch-2.zarr")
    assert typed("run --resume here --quiet") == 0
    (again,) = jobs()[2:]
    assert {**again, "metadata": None} == {**before[1], "metadata": None}
    assert typed("run --resume here --launches 3 --quiet") == 0
    (more,) = jobs()[3:]
    assert (Path(more["out"]).name, more["order_seed"]) == ("launch-3.zarr", 2**20 + 3)
    assert typed("run --resume here --quiet") == 0
    assert len(jobs()) == 4
    assert "ask for at least as many" in refused("run --resume here --launches 2", capsys)
    assert "here" in refused("run aapc -n 4 --launches 2 --out here", capsys)
    one = refused("run --resume here/launch-1.zarr --launches 2", capsys)
    assert "leave out --launches" in one or "not a run" in one


def test_a_launch_that_fails_keeps_those_before_it_and_says_how_to_go_on(
    jobs: Jobs, stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("run aapc -n 4 --size 1KB --launches 1 --out here --quiet") == 0
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    assert typed("run --resume here --launches 3 --quiet") == 1
    said = capsys.readouterr().err
    assert "this was launch 2 of 3; continue with: crosscut run --resume here" in said
    assert (Path("here") / "launch-1.zarr" / "zarr.json").exists()
    assert len(launches.load(Path("here")).launches) == 3


def test_a_launch_that_ends_early_is_resumed_with_its_folder_alone(
    jobs: Jobs, stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("run aapc -n 4 --size 1KB --launches 2 --out here --quiet") == 0
    metadata = Path("here/launch-2.zarr/zarr.json")
    metadata.write_text(metadata.read_text().replace('"complete"', '"stopped"'))
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    assert typed("run --resume here --quiet") == 1
    said = capsys.readouterr().err
    assert said.count("--resume") == 1
    assert "crosscut run --resume here\n" in said
    assert typed("run aapc -n 4 --resume here/launch-2.zarr --quiet") == 1
    said = capsys.readouterr().err
    assert said.count("--resume") == 1
    assert "continue with: crosscut run --resume here/launch-2.zarr\n" in said


def test_refused_options_leave_no_folder(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "refuse")
    refused("run pingpong -n 3 --launches 2 --out here", capsys)
    refused("run aapc -n 4 --launches 1001 --out here", capsys)
    assert not Path("here").exists()


def test_commands_take_a_folder_of_launches_or_name_a_run_in_it(
    jobs: Jobs, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("run aapc -n 4 --size 1KB --launches 2 --out here --quiet") == 0
    capsys.readouterr()
    assert main(["show", "here", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in shown["launches"]] == ["complete"] * 2
    assert [one["size_bytes"] for one in shown["sizes"]] == [1000, 2000]
    assert main(["show", "here"]) == 0
    assert "between launches" in capsys.readouterr().out
    assert main(["fsck", "here"]) == 0
    assert capsys.readouterr().out.count("intact") == 2
    assert main(["report", "here", "-o", "page.html"]) == 0
    assert "launch-1.zarr" in usage_error(["export", "here"], capsys)
    assert "name one of them" in usage_error(["show", "here", "--findings"], capsys)
    assert "name one of them" in usage_error(["show", "here", "--size", "1KB"], capsys)
    Path("here/launches.json").write_text("{")
    assert main(["fsck", "here"]) == 1
    said = capsys.readouterr().out
    assert "it is not valid JSON" in said
    assert said.count("intact") == 2

"""Several measurements in one session, into one directory."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_run import make_run

from crosscut import cli
from crosscut.base import core
from crosscut.base.errors import SessionError, UsageError
from crosscut.base.job import Event
from crosscut.campaigns import campaign
from crosscut.campaigns.campaign import (
    CampaignStep,
    StepResult,
    load_plan,
    measure_steps,
    save_plan,
    state_of,
)
from crosscut.cli import evaluate
from crosscut.session.client import Session
from crosscut.session.measure import Decided, Launch, decide

FAKE = Path(__file__).parent / "fake_core.py"
STEPS = [
    CampaignStep("first", "aapc", {"stride": "2"}, (1000,), {"repetitions": 6}),
    CampaignStep("second", "pingpong"),
]


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Iterator[Decided]:
    core.load.cache_clear()
    monkeypatch.setenv("CROSSCUT_CORE", str(FAKE))
    yield decide(core.load(), Launch(ranks=2))
    core.load.cache_clear()


def set_state(run: Path, state: str) -> None:
    run.mkdir(exist_ok=True)
    (run / "zarr.json").write_text(json.dumps({"attributes": {"state": state}}))


def measured(decided: Decided, directory: Path, heard: list[Event]) -> list[StepResult]:
    with Session(decided.place.start(decided.options)) as session:
        session.wait_ready()
        return list(
            measure_steps(
                session, STEPS, directory, decided, listener=heard.append, words=["crosscut", "evaluate"]
            )
        )


def test_steps_are_measured_in_order_and_counted(decided: Decided, tmp_path: Path) -> None:
    heard: list[Event] = []
    results = measured(decided, tmp_path, heard)
    assert [(result.step.name, result.state) for result in results] == [
        ("first", "complete"),
        ("second", "complete"),
    ]
    assert [(event["index"], event["count"]) for event in heard] == [(1, 2), (2, 2)]


def test_only_missing_steps_are_measured(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_state(tmp_path / "first.zarr", "complete")
    set_state(tmp_path / "second.zarr", "stopped")
    monkeypatch.setenv("CROSSCUT_FAKE_JOBS", str(tmp_path / "jobs"))
    results = measured(decided, tmp_path, [])
    assert [result.state for result in results] == ["complete", "complete"]
    (job,) = [json.loads(line) for line in (tmp_path / "jobs").read_text().splitlines()]
    assert (job["pattern"], job["resume"]) == ("pingpong", True)


def test_a_refused_step_does_not_keep_the_others_from_being_measured(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "refuse")
    results = measured(decided, tmp_path, [])
    assert [result.state for result in results] == ["refused", "refused"]
    assert "even number" in results[0].reason
    assert not results[0].measured


def test_steps_that_will_be_refused_are_named_before_anything_starts(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "refuse")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["evaluate", "-n", "3", "--out", "all"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"crosscut: 2 steps with 3 ranks into {tmp_path / 'all'}"
    assert said[1] == "crosscut: pingpong will be left out: an even number of ranks is needed"


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    """Two complete runs, one that was refused, one never reached."""
    directory = tmp_path / "all"
    directory.mkdir()
    steps = [CampaignStep(name, "sample") for name in ("first", "second", "third", "fourth")]
    save_plan(directory, {"ranks": 4, "on": "local"}, steps)
    for step in steps[:2]:
        make_run(step.out(directory))
    refused = {"name": "third", "state": "refused", "reason": "needs more ranks"}
    (directory / "summary.json").write_text(json.dumps({"steps": [refused]}))
    return directory


def test_show_lists_the_runs_of_an_evaluation_with_their_figures(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["show", str(evaluated)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 of 4 runs complete, 1 refused, 1 missing" in shown
    assert "first complete" in shown
    assert "third refused needs more ranks" in shown
    assert "fourth missing there is no run" in shown
    assert cli.main(["show", "--json", str(evaluated)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [step["state"] for step in answer["steps"]] == ["complete", "complete", "refused", "missing"]


def test_launches_of_an_evaluation_are_evaluations_and_their_spread_is_shown(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (2, 3):
        folder = campaign.launch_folder(evaluated, number)
        folder.mkdir()
        steps = campaign.load_plan(evaluated)[1]
        save_plan(folder, {"ranks": 4, "on": "local"}, steps)
        make_run(steps[0].out(folder))
    assert cli.main(["show", "--json", str(evaluated)]) == 0
    told = json.loads(capsys.readouterr().out)["launches"]
    assert list(told) == ["first"]
    assert told["first"]["over_launches"]["count"] == 3
    assert cli.main(["show", str(evaluated)]) == 0
    assert "between launches" in capsys.readouterr().out
    assert cli.main(["fsck", str(evaluated)]) == 0
    assert capsys.readouterr().out.count("intact") == 4
    (evaluated / "launch-2/first.zarr/zarr.json").write_text("{")
    assert cli.main(["show", str(evaluated / "launch-3")]) == 0
    assert cli.main(["show", str(evaluated)]) == 0
    assert cli.main(["fsck", str(evaluated)]) == 1


def test_an_evaluation_is_launched_three_times_each_in_its_own_order(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "stored.zarr")
    monkeypatch.setenv("CROSSCUT_FAKE_RUN", str(tmp_path / "stored.zarr"))
    jobs = tmp_path / "jobs"
    monkeypatch.setenv("CROSSCUT_FAKE_JOBS", str(jobs))
    assert cli.main(["evaluate", "-n", "4", "--only", "aapc", "--out", "all", "--quiet"]) == 0
    asked = [json.loads(line) for line in jobs.read_text().splitlines()]
    assert [str(Path(job["out"]).relative_to(tmp_path)) for job in asked] == [
        "all/aapc.zarr", "all/launch-2/aapc.zarr", "all/launch-3/aapc.zarr"
    ]  # fmt: skip
    assert len({job["order_seed"] for job in asked}) == 3
    shutil.rmtree("all/launch-2/aapc.zarr")
    assert cli.main(["evaluate", "--resume", "all", "--quiet"]) == 0
    again = [json.loads(line) for line in jobs.read_text().splitlines()][3:]
    assert [job["order_seed"] for job in again] == [asked[1]["order_seed"]]


def test_a_damaged_run_of_an_evaluation_hides_no_other(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(evaluated / "first.zarr/status/c")
    (evaluated / "second.zarr/zarr.json").write_text("{")
    make_run(evaluated / "fourth.zarr")
    assert cli.main(["show", str(evaluated)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 of 4 runs complete, 2 damaged, 1 refused" in shown
    assert "fourth complete" in shown
    assert cli.main(["fsck", str(evaluated)]) == 1
    checked = capsys.readouterr().out
    for line in ("first.zarr: 2 problems", "second.zarr: 1 problem", "fourth.zarr: intact"):
        assert f"{evaluated}/{line}" in checked


def test_fsck_checks_runs_even_if_the_plan_is_damaged(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fsck", str(evaluated)]) == 0
    (evaluated / "campaign.json").write_text("{")
    capsys.readouterr()
    assert cli.main(["fsck", "--json", str(evaluated)]) == 1
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(Path(report["path"]).name, report["ok"]) for report in reports] == [
        ("all", False), ("first.zarr", True), ("second.zarr", True),
    ]  # fmt: skip


def test_an_evaluation_cannot_be_exported_or_resumed_as_a_run(
    evaluated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(evaluated)]) == 2
    assert f"{evaluated}/first.zarr, {evaluated}/second.zarr" in capsys.readouterr().err
    assert cli.main(["run", "--resume", str(evaluated)]) == 2
    assert "crosscut evaluate --resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    "launch", [{"ranks": "four"}, {"ranks": True}, {"secret": "x"}, {"on": None}, {"timeout_seconds": 1.0}]
)
def test_a_launch_that_was_tampered_with_is_refused(
    decided: Decided, tmp_path: Path, capsys: pytest.CaptureFixture[str], launch: dict[str, object]
) -> None:
    save_plan(tmp_path, launch, STEPS)
    assert cli.main(["evaluate", "--resume", str(tmp_path)]) == 2
    assert f"damaged at '{next(iter(launch))}'" in capsys.readouterr().err


def test_ranks_that_die_end_the_campaign(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    with pytest.raises(SessionError, match="segmentation fault"):
        measured(decided, tmp_path, [])


def test_a_saved_plan_can_be_loaded(tmp_path: Path) -> None:
    save_plan(tmp_path, {"ranks": 4, "on": "local"}, STEPS)
    assert load_plan(tmp_path) == ({"ranks": 4, "on": "local"}, STEPS)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, "\x00",
     '{"schema": {"name": "crosscut-campaign", "version": 1}, "launch": {}, "steps": '
     '[{"name": "x", "pattern": "aapc", "parameters": {}, "sizes": [Infinity], "options": {}}]}',
     '{"schema": {"name": "crosscut-campaign", "version": 1}, "launch": {}, "steps": [7]}',
     '{"schema": {"name": "crosscut-campaign", "version": 99}}', '{"schema": 1}',
     '{"schema": {"name": "crosscut-campaign", "version": 1}, "launch": {}, "steps": '
     '[{"name": "../away", "pattern": "aapc", "parameters": {}, "sizes": [], "options": {}}]}'],
    ids=itertools.count(),
)  # fmt: skip
def test_an_invalid_plan_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(
        UsageError,
        match=r"campaign\.json: (it is not|it holds|it is nested|cannot be read as)",
    ):
        load_plan(tmp_path)


def test_broken_metadata_of_a_run_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert state_of(tmp_path / "none.zarr") is None
    (tmp_path / "zarr.json").write_text("{")
    with pytest.raises(UsageError, match="fsck"):
        state_of(tmp_path)


def test_an_evaluation_takes_the_papers_sizes_and_only_existing_patterns(decided: Decided) -> None:
    steps = {step.name: step for step in evaluate.plan(core.load(), {})}
    assert list(steps) == ["aapc", "pingpong"]  # in the order of the core
    assert steps["aapc"].sizes == (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    assert steps["pingpong"].sizes == ()
    assert [step.name for step in evaluate.plan(core.load(), {"only": "aapc", "quick": True})] == ["aapc"]
    with pytest.raises(UsageError, match="chain"):
        evaluate.plan(core.load(), {"only": "chain"})

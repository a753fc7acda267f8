"""Several measurements by one session into one directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscut import core
from crosscut.campaign import Step, StepResult, load_plan, measure_steps, save_plan, state_of
from crosscut.cli import evaluate
from crosscut.errors import SessionError, UsageError
from crosscut.measure import Decided, Launch, decide
from crosscut.places.base import Event
from crosscut.session import Session

FAKE = Path(__file__).parent / "fake_core.py"
STEPS = [Step("first", "aapc", {"stride": "2"}, (1000,), {"repetitions": 6}), Step("second", "pingpong")]


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


def test_only_what_is_missing_is_measured(
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


def test_ranks_that_die_end_the_campaign(
    decided: Decided, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "crash")
    with pytest.raises(SessionError, match="segmentation fault"):
        measured(decided, tmp_path, [])


def test_a_plan_that_is_saved_is_loaded_again(tmp_path: Path) -> None:
    save_plan(tmp_path, {"ranks": 4, "on": "local"}, STEPS)
    assert load_plan(tmp_path) == ({"ranks": 4, "on": "local"}, STEPS)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": {"name": "crosscut-campaign", "version": 99}}', '{"schema": 1}',
     '{"schema": {"name": "crosscut-campaign", "version": 1}, "launch": {}, "steps": '
     '[{"name": "../away", "pattern": "aapc", "parameters": {}, "sizes": [], "options": {}}]}'],
)  # fmt: skip
def test_a_plan_that_is_none_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(UsageError, match="no campaign"):
        load_plan(tmp_path)


def test_broken_metadata_of_a_run_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert state_of(tmp_path / "none.zarr") is None
    (tmp_path / "zarr.json").write_text("{")
    with pytest.raises(UsageError, match="fsck"):
        state_of(tmp_path)


def test_an_evaluation_takes_the_papers_sizes_and_only_patterns_that_are_there(decided: Decided) -> None:
    steps = {step.name: step for step in evaluate.plan(core.load(), {})}
    assert list(steps) == ["pingpong", "aapc"]
    assert steps["aapc"].sizes == (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    assert steps["pingpong"].sizes == ()
    assert [step.name for step in evaluate.plan(core.load(), {"only": "aapc", "quick": True})] == ["aapc"]
    with pytest.raises(UsageError, match="chain"):
        evaluate.plan(core.load(), {"only": "chain"})

"""Campaigns: several measurements by one session into one directory, resumable step by step.

The directory holds one run for each step (`NAME.zarr`) and the plan, `campaign.json`. The plan is written
before anything is measured, so a resumed campaign follows the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import crosscut
from crosscut.base import records
from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.base.job import Job
from crosscut.run.format import DamagedRun, load_json, store_json
from crosscut.session.client import Listener, Session
from crosscut.session.measure import Decided

PLAN = "campaign.json"
SUMMARY = "summary.json"
SCHEMA = {"name": "crosscut-campaign", "version": 1}


@dataclass(frozen=True)
class CampaignStep:
    """One measurement of a campaign."""

    name: str
    pattern: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)

    def out(self, directory: Path) -> Path:
        return directory / f"{self.name}.zarr"


@dataclass(frozen=True)
class StepResult:
    step: CampaignStep
    out: Path
    state: str
    """The run's state, or `refused` (the session would not measure it), `missing` (no run) or `damaged`."""
    reason: str = ""

    @property
    def measured(self) -> bool:
        return self.state not in ("refused", "missing", "damaged")


def state_of(run: Path) -> str | None:
    """A run's state according to its metadata; None if there is no run. Raises UsageError if damaged."""
    if not (run / "zarr.json").exists():
        return None
    try:
        attributes = load_json(run / "zarr.json").get("attributes")
    except DamagedRun as error:
        raise UsageError(f"{error}; see 'crosscut fsck {run}'") from error
    if not isinstance(attributes, dict) or not isinstance(attributes.get("state"), str):
        raise UsageError(f"{run}/zarr.json records no state; see 'crosscut fsck {run}'")
    return str(attributes["state"])


def is_campaign(directory: Path) -> bool:
    """True if the directory holds a campaign (several runs with a plan) rather than a single run."""
    return (directory / PLAN).is_file()


def review(directory: Path) -> list[StepResult]:
    """Returns the state of each step of a campaign, without measuring anything."""
    _, steps = load_plan(directory)
    reasons = _recorded_reasons(directory)

    def found(step: CampaignStep) -> tuple[str, str]:
        try:
            state = state_of(step.out(directory))
        except UsageError as error:
            return "damaged", str(error)
        without = ("refused", reasons[step.name]) if step.name in reasons else ("missing", "there is no run")
        return without if state is None else (state, "")

    return [StepResult(step, step.out(directory), *found(step)) for step in steps]


def launch_folder(directory: Path, number: int) -> Path:
    """The folder of launch `number`, itself a campaign; the first launch is the directory itself."""
    return directory / f"launch-{number}" if number > 1 else directory


def launch_folders(directory: Path) -> list[Path]:
    """The folders of all launches planned so far, the directory itself first."""
    more = takewhile(is_campaign, (launch_folder(directory, number) for number in count(2)))
    return [directory, *more]


def _recorded_reasons(directory: Path) -> dict[str, str]:
    """Returns reasons for refused steps, by name, from the recorded summary; empty if there is none."""
    try:
        steps = load_json(directory / SUMMARY).get("steps")
    except DamagedRun:
        return {}
    return {
        str(step["name"]): str(step.get("reason", ""))
        for step in (steps if isinstance(steps, list) else [])
        if isinstance(step, dict) and step.get("state") == "refused" and "name" in step
    }


def save_plan(directory: Path, launch: Mapping[str, object], steps: Sequence[CampaignStep]) -> None:
    """Writes the plan atomically."""
    plan = {
        "schema": SCHEMA,
        "crosscut": crosscut.__version__,
        "launch": dict(launch),
        "steps": [asdict(step) for step in steps],
    }
    store_json(directory / PLAN, plan)


def load_plan(directory: Path) -> tuple[dict[str, Any], list[CampaignStep]]:
    """Reads a campaign's plan; returns (launch, steps). Raises UsageError."""
    try:
        plan: dict[str, Any] = dict(load_json(directory / PLAN))
        if plan["schema"] != SCHEMA:
            raise ValueError(f"schema {plan['schema']}, this crosscut reads {SCHEMA}")
        steps = records.parse(plan["steps"], list[CampaignStep])
        for step in steps:  # names become folders, so they must not lead elsewhere
            if not step.name or Path(step.name).name != step.name:
                raise ValueError(f"'{step.name}' is not a name for a step")
        return dict(plan["launch"]), steps
    except DamagedRun as error:
        raise UsageError(str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        why = "it holds something else" if isinstance(error, TypeError) else plainly(error)
        raise UsageError(f"{directory / PLAN}: cannot be read as a campaign: {why}") from error


def measure_steps(
    session: Session, steps: Sequence[CampaignStep], directory: Path, decided: Decided, *,
    listener: Listener, words: Sequence[str],
) -> Iterator[StepResult]:  # fmt: skip
    """Measures the missing steps in order; ends early on a signal.

    Steps that are refused, or whose job fails while the session lives on, do not stop the others.
    """
    for index, step in enumerate(steps, start=1):
        out = step.out(directory)
        state = state_of(out)
        if state == "complete":
            yield StepResult(step, out, state)
            continue
        listener({"event": "step", "index": index, "count": len(steps)})
        job = Job(
            pattern=step.pattern, out=out, pattern_parameters=step.parameters,
            backend=decided.options.backend, sizes=step.sizes,
            options=dict(step.options) | ({"resume": True} if state is not None else {}),
            metadata={"command_line": list(words), "on": decided.on, "ranks": decided.options.ranks},
        )  # fmt: skip
        yield _measured(session, step, job)
        if session.interrupted:
            return


def _measured(session: Session, step: CampaignStep, job: Job) -> StepResult:
    try:
        outcome = session.run(job)
    except UsageError as error:
        return StepResult(step, job.out, "refused", str(error))
    except CrosscutError as error:
        if not session.alive or session.interrupted:
            raise
        return StepResult(step, job.out, state_of(job.out) or "refused", str(error))
    return StepResult(step, job.out, outcome.state, "; ".join(outcome.failures))

"""`crosscut evaluate`: the whole methodology in one go."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosscut.base import core, units, whole_file
from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, CrosscutError, UsageError
from crosscut.base.job import Job
from crosscut.campaigns import campaign
from crosscut.campaigns.campaign import CampaignStep, StepResult
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import checked_words
from crosscut.cli.parsing.parser import flag, option, whole
from crosscut.reports.terminal.screen import screen_for
from crosscut.run.launches import order_seed
from crosscut.session.measure import (
    Decided,
    Launch,
    checked_out,
    decide,
    default_out,
    ready_session,
    refuse_bytes,
)
from crosscut.session.progress import reporter
from crosscut.session.refusal import refusal

EPILOG = """
examples:
  crosscut evaluate --quick                  a few minutes, on this machine alone
  crosscut evaluate --on hosts:hosts.txt --out evaluation
  crosscut evaluate --resume evaluation      measure only what is missing

The directory holds a run for each step, the plan (campaign.json) and the summary (summary.txt,
summary.json). Further launches are in subdirectories (launch-2, …), each an evaluation of its own. Ctrl-C
stops at the end of the current block of measurements; the first launch alone is a complete evaluation.
"""

# Message sizes of Fatoohi et al. 2005 ("1K .. 1000K").
PAPER_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LAUNCHES = 3  # the fewest that show a spread between launches
QUICK_SIZES = (1_000, 30_000, 1_000_000)
QUICK_REPETITIONS = 6  # the fewest that give a 95 % interval
SHARED_SIZES = "shared sizes"  # the core's word for patterns measured at all these sizes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = core.load()
    group = parser.add_argument_group("what to measure")
    flag(group, "--quick",
         f"Measure {len(QUICK_SIZES)} sizes with {QUICK_REPETITIONS} repetitions, instead of "
         f"{len(PAPER_SIZES)} with 20.")  # fmt: skip
    option(group, "--size SIZE[,…]", units.parse_sizes,
           "Message sizes of the dense patterns. Default: those of Fatoohi et al., 1KB to 1MB.",
           dest="sizes")  # fmt: skip
    option(group, "--repetitions N", whole(1), "Repetitions in each step. Default 20; with --quick 6.")
    option(group, "--launches K", whole(1),
           f"Measure all steps K times, each time with new processes and connections, and with sizes and "
           f"phases in a new random order. Default {LAUNCHES}; with --quick 1.")  # fmt: skip
    option(group, "--only PATTERN[,…]", str, "Measure only these patterns.")
    option(group, "--step-time-limit TIME", units.parse_seconds,
           "Approximate time limit of each step; an unfinished step can be resumed.")  # fmt: skip
    options.add_where(parser, options.backend_names(known))
    group = parser.add_argument_group("output")
    option(group, "--out DIR", options.folder,
           "Directory to write all runs to. Default: evaluate-BACKEND-DATE-TIME in this "
           "directory.")  # fmt: skip
    option(group, "--resume DIR", options.folder, "Continue this evaluation: measure only what is missing.")
    flag(group, "--json", "Print one JSON object on standard output at the end.")
    flag(group, "--quiet", "Show no progress.")


def plan(known: core.Core, given: Mapping[str, Any]) -> list[CampaignStep]:
    """Returns the chosen steps among those that this core supports."""
    quick = given.get("quick", False)
    sizes = given.get("sizes") or (QUICK_SIZES if quick else PAPER_SIZES)
    shared: dict[str, object] = {}
    if repetitions := given.get("repetitions") or (QUICK_REPETITIONS if quick else None):
        shared["repetitions"] = repetitions
    if limit := given.get("step_time_limit"):
        shared["time_limit_seconds"] = limit
    evaluated = {one.name: one.evaluation for one in known.patterns if one.evaluation}
    chosen = given["only"].split(",") if given.get("only") else [*evaluated]
    if unknown := [name for name in chosen if name not in evaluated]:
        raise UsageError(f"--only {unknown[0]}: not a step of an evaluation; known: {', '.join(evaluated)}")
    return [
        CampaignStep(name, name, sizes=tuple(sizes) if sized == SHARED_SIZES else (), options=shared)
        for name, sized in evaluated.items()
        if name in chosen
    ]


def execute(args: argparse.Namespace) -> int:
    given = {key: value for key, value in vars(args).items() if value is not None}
    known = core.load()
    checked_words(args.words)
    directory, decided, steps = _begin(known, given)
    _announce(steps, directory, decided, quiet=args.quiet)
    launches = campaign.launch_folders(directory)
    results: list[list[StepResult]] = [[] for _ in launches]
    interrupted = False
    try:
        for number, folder in enumerate(launches):
            if not args.quiet and len(launches) > 1:
                print(f"crosscut: launch {number + 1} of {len(launches)}", file=sys.stderr)
            planned = campaign.load_plan(folder)[1]
            with reporter(args.quiet) as listener, ready_session(decided, listener) as session:
                # Extended step by step, so that an error leaves the earlier results in the list.
                results[number].extend(
                    campaign.measure_steps(
                        session, planned, folder, decided, listener=listener, words=args.words
                    )
                )
                interrupted = session.interrupted
            if interrupted:
                break
    except CrosscutError:
        if results[1:] and results[0]:  # the first launch alone is an evaluation
            _conclude(directory, results, interrupted=False, as_json=args.json)
        raise
    return _conclude(directory, results, interrupted, as_json=args.json)


def _announce(steps: Sequence[CampaignStep], directory: Path, decided: Decided, *, quiet: bool) -> None:
    """Prints what will be measured or left out, long before the summary shows it."""
    if quiet:
        return
    ranks, refused = decided.options.ranks, {}
    for step in steps:
        job = Job(pattern=step.pattern, out=step.out(directory), pattern_parameters=step.parameters,
                  sizes=step.sizes)  # fmt: skip
        if why := refusal(decided.options.executable, job, ranks):
            refused[step.name] = why
    there = f"{units.count(len(steps), 'step')} with {units.count(ranks, 'rank')}"
    print(f"crosscut: {there} into {directory}", file=sys.stderr)
    for name, why in refused.items():
        print(f"crosscut: {name} will be left out: {why}", file=sys.stderr)


def _begin(known: core.Core, given: Mapping[str, Any]) -> tuple[Path, Decided, list[CampaignStep]]:
    """Returns directory, launch and steps of a resumed evaluation, or of a new one, whose plan it writes."""
    typed = options.launch(given)
    if "resume" in given:
        if "out" in given:
            raise UsageError("--out and --resume cannot be combined: a resumed evaluation stays where it is")
        directory = given["resume"].absolute()
        refuse_bytes("--resume", directory)
        before, steps = campaign.load_plan(directory)
        recorded = _recorded_launch(before, directory)
        launch = replace(recorded, **{k: v for k, v in vars(typed).items() if v != getattr(Launch(), k)})
        return directory, decide(known, launch), steps
    decided = decide(known, typed)
    backend, ranks = decided.options.backend, decided.options.ranks
    directory = checked_out(given.get("out") or default_out("evaluate", backend, Path.cwd()).with_suffix(""))
    steps = plan(known, given)
    directory.mkdir(exist_ok=True)
    launched = replace(typed, on=decided.on, backend=backend, ranks=ranks)
    saved = {name: getattr(launched, name) for name in _RECORDED}
    launches = given.get("launches") or (1 if given.get("quick") else LAUNCHES)
    for number in range(1, launches + 1):
        folder = campaign.launch_folder(directory, number)
        folder.mkdir(exist_ok=True)
        order = {"order_seed": order_seed(_SEED, number)} if launches > 1 else {}
        planned = [replace(step, options={**step.options, **order}) for step in steps]
        campaign.save_plan(folder, saved, planned)
    return directory, decided, steps


_SEED = 1  # of the random orders; evaluate has no --seed
_RECORDED: Mapping[str, type] = {
    "on": str, "backend": str, "ranks": int, "interface": str, "control_interface": str, "pin": bool,
}  # fmt: skip


def _recorded_launch(plan_launch: Mapping[str, Any], directory: Path) -> Launch:
    """Returns the launch recorded in campaign.json; raises UsageError if an entry is unknown or mistyped."""
    for name, value in plan_launch.items():
        if name not in _RECORDED or type(value) is not _RECORDED[name]:
            raise UsageError(f"{directory / campaign.PLAN}: 'launch' is damaged at '{name}'")
    return Launch(**plan_launch)


def _conclude(directory: Path, launches: list[list[StepResult]], interrupted: bool, as_json: bool) -> int:
    from crosscut.campaigns import summary  # imports numpy and xarray

    everything = [summary.checked(result) for results in launches for result in results]
    results = everything[: len(launches[0])]
    document = summary.as_json(directory, results)
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    whole_file.write_output(directory / campaign.SUMMARY, text.encode())
    with (directory / "summary.txt").open("w", encoding="utf-8") as file:
        screens = [screen_for(file)] if as_json else [screen_for(file), screen_for()]
        summary.render(directory, results, screens)
    if as_json:
        print(json.dumps(document, allow_nan=False))
    states = {result.state for result in everything}
    if interrupted or states - {"complete", "refused", "damaged"}:
        print(
            f"crosscut: not everything was measured; continue with: crosscut evaluate --resume {directory}",
            file=sys.stderr,
        )
    if "damaged" in states:
        print(f"crosscut: some runs are damaged; see: crosscut fsck {directory}", file=sys.stderr)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if states & {"failed", "damaged"} else EXIT_OK

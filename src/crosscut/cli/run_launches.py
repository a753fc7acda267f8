"""`crosscut run --launches`: measures one pattern in several launches."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError
from crosscut.base.job import Job
from crosscut.campaigns.campaign import state_of
from crosscut.cli.parsing.measuring import resume_command
from crosscut.run.launches import MOST_LAUNCHES, Manifest, is_launches, load, planned, save
from crosscut.session.client import JobOutcome
from crosscut.session.measure import Decided
from crosscut.session.refusal import refusal


class Measure(Protocol):
    def __call__(self, job: Job, decided: Decided, quiet: bool) -> tuple[JobOutcome, bool]:
        """Measures one job; returns its outcome, and whether a signal interrupted."""


def execute(job: Job, decided: Decided, given: Mapping[str, Any], measure: Measure) -> int:
    """Measures the launches that a folder lacks; returns the exit status."""
    from crosscut.campaigns import launches

    manifest = _manifest(job, decided, given)
    quiet = given.get("quiet", False)

    def told(line: str) -> None:
        if not quiet:
            print(f"crosscut: {line}", file=sys.stderr)

    outcomes: list[JobOutcome] = []
    interrupted = False
    for outcome, stopped in launches.measure(
        manifest, job, lambda one: measure(one, decided, quiet=quiet), told
    ):
        outcomes.append(outcome)
        interrupted |= stopped
        for failure in outcome.failures:
            print(f"crosscut: {outcome.out.name}: {failure}", file=sys.stderr)
    _report(manifest, resume_command(manifest.path, decided), as_json=given.get("json", False), quiet=quiet)
    if interrupted:
        return EXIT_INTERRUPTED
    failed = any(outcome.failures or outcome.state == "failed" for outcome in outcomes)
    return EXIT_FAILED if failed else EXIT_OK


def _manifest(job: Job, decided: Decided, given: Mapping[str, Any]) -> Manifest:
    """Returns the manifest of an existing folder, with launches added if more are requested, or a new one."""
    count = given.get("launches", 0)
    if count > MOST_LAUNCHES:
        raise UsageError(f"--launches {count}: at most {MOST_LAUNCHES}")
    begun = load(job.out) if is_launches(job.out) else None
    if begun is None and "resume" in given:
        raise UsageError(f"--resume {job.out} is a single run, which has no launches; leave out --launches")
    if begun is not None and 0 < count < len(begun.launches):
        raise UsageError(
            f"--launches {count}: {job.out} already has {len(begun.launches)}; ask for at least as many"
        )
    if begun is not None and count in (0, len(begun.launches)):
        return begun
    if begun is None and (why := refusal(decided.options.executable, job, decided.options.ranks)):
        raise UsageError(why)
    seed = job.options.get("seed")
    orders = planned(count, seed if isinstance(seed, int) else 1)
    if begun is not None:
        names = {launch.name for launch in begun.launches}
        more = (launch for launch in orders if launch.name not in names)
        manifest = replace(begun, launches=(*begun.launches, *more)[:count])
    else:
        job.out.mkdir(exist_ok=True)
        asked = {name: value for name, value in job.as_json().items() if name != "out"}
        manifest = Manifest(job.out, asked, orders)
    save(manifest)
    return manifest


def _report(manifest: Manifest, again: str, *, as_json: bool, quiet: bool) -> None:
    """Prints the results and, if launches are missing or incomplete, the command that continues."""
    from crosscut.reports.json import launches as json_launches
    from crosscut.reports.terminal import launches as terminal_launches
    from crosscut.reports.terminal.screen import screen_for

    if as_json:
        print(json.dumps(json_launches.document(manifest), allow_nan=False))
    elif not quiet:
        terminal_launches.render(screen_for(), manifest)
    if any(state_of(manifest.out(launch)) != "complete" for launch in manifest.launches):
        print(f"crosscut: not everything was measured; continue with: {again}", file=sys.stderr)

"""What `crosscut run` prints once a measurement has ended: its result, and how to continue."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from crosscut.base.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, CrosscutError, Interrupted
from crosscut.base.spelling import as_typed
from crosscut.session.client import JobOutcome


def kept(run: Path, again: str, why: str = "", *, replaces: bool = False) -> str:
    """Returns a sentence on what a run that ended early contains, and how to continue. `replaces`: an
    empty run gives its place back to an earlier one."""
    from crosscut.run.agreement import holds_samples

    if "crosscut fsck" in why:
        return f"first: crosscut fsck --repair {as_typed(run)}; then: {again}"
    if holds_samples(run):
        return f"what was measured is in {as_typed(run)}; continue with: {again}"
    if replaces:
        return f"nothing was measured; {as_typed(run)} is still the earlier run"
    return f"nothing was measured; start again: {again}"


def refuse_empty(run: Path, interrupted: bool) -> None:
    """Raises if a run that should replace an earlier one holds no samples."""
    from crosscut.run.agreement import holds_samples

    if not holds_samples(run):
        raise (Interrupted if interrupted else CrosscutError)(kept(run, "", replaces=True))


def report(outcome: JobOutcome, interrupted: bool, again: str, *, as_json: bool, quiet: bool) -> int:
    """Prints the result and, if it is incomplete, the command that continues it; returns the exit status."""
    from crosscut.reports.terminal import findings, headline  # these import numpy and xarray
    from crosscut.reports.terminal.screen import screen_for
    from crosscut.run.run import Run

    shown = as_typed(outcome.out)
    if as_json:
        about = asdict(outcome) | {"out": str(outcome.out)}
        print(json.dumps(headline.as_json(outcome.out) | about, allow_nan=False))
    elif not quiet:
        headline.print_summary(outcome.out)
        if outcome.state == "complete":
            findings.first(screen_for(), Run.open(outcome.out), shown)
        print(f"show it:  crosscut show {shown}")
    for failure in outcome.failures:
        print(f"crosscut: {failure}", file=sys.stderr)
    if outcome.state != "complete":
        print(f"crosscut: the run is {outcome.state}; continue with: {again}", file=sys.stderr)
    if interrupted:
        return EXIT_INTERRUPTED
    # A tolerated loss or a wrong byte is a failure too: a script must notice.
    return EXIT_FAILED if outcome.failures or outcome.state == "failed" else EXIT_OK

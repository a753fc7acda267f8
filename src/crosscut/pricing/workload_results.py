"""The time of a workload on a candidate, from what `crosscut workload run --json` measured there."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crosscut.base.errors import UsageError, plainly
from crosscut.pricing.amounts import Interval
from crosscut.pricing.mix import Work
from crosscut.pricing.performing import SizedCandidate, TimeSource, between, given
from crosscut.workloads import applications
from crosscut.workloads.applications import Result

LARGEST_FILE_BYTES = 16 << 20


def measured() -> TimeSource:
    """One for all candidates: what they are compared by must be the same program and class on each."""
    known: dict[str, tuple[str, Path]] = {}

    def source(work: Work, site: SizedCandidate) -> Interval:
        file = given(work, work.workload, site)
        results = of_ranks(load(file), file, site.ranks, work.where)
        what = problem(results[0])
        first, its_file = known.setdefault(work.name, (what, file))
        if what != first:
            raise UsageError(
                f"{work.where}: {file} is of {what}, {its_file} of {first}: compare like with like"
            )
        return between(np.array([one.seconds for one in results]))

    return source


def load(file: Path) -> list[Result]:
    """A line for each run. UsageError where one is none, or did not verify."""
    try:
        with file.open("rb") as stream:
            lines = stream.read(LARGEST_FILE_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file}: {plainly(error)}; `crosscut workload run … --json` writes such a file"
        ) from error
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(applications.parse_result(line))
        except applications.WorkloadError as error:
            raise UsageError(
                f"{file}:{number}: is no result of `crosscut workload run … --json`: {str(error)[:200]}"
            ) from error
        if not found[-1].verified:
            raise UsageError(f"{file}:{number}: what it computed did not verify, and has no time")
    if not found:
        raise UsageError(f"{file}: is empty; `crosscut workload run … --json` writes such a file")
    return found


def of_ranks(results: list[Result], file: Path, ranks: int, where: str) -> list[Result]:
    """Those on as many ranks, of one problem."""
    fitting = [one for one in results if one.ranks == ranks]
    if not fitting:
        there = ", ".join(str(count) for count in sorted({one.ranks for one in results}))
        raise UsageError(f"{where}: {file} is of {there} ranks, and the mix of {ranks:,}")
    if len(problems := {problem(one) for one in fitting}) > 1:
        raise UsageError(f"{where}: {file} has {' and '.join(sorted(problems))}: a file for each")
    return fitting


def problem(result: Result) -> str:
    """For people, and the same where it is the same to compute; of what another process wrote."""
    named = f"{result.name}, class {result.problem_class} ({result.size})"
    return "".join(one if one.isprintable() else "?" for one in named)[:100]

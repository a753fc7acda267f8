"""Workloads as steps of an experiment: their run time as a share of a base run's.

Workload and base alternate, so that other load on the machine affects both.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from crosscut.base import whole_file
from crosscut.base.errors import SessionError
from crosscut.reproduce.experiment import Series
from crosscut.reproduce.settings import Application
from crosscut.run.realm import Realm
from crosscut.workloads import launch
from crosscut.workloads.applications import Result

TIME_LIMIT_SECONDS = 1800.0
"""For a single run."""
# MPICH's defaults, whose waits poll, in place of our settings for more ranks than cores (places/mpi.py).
AS_IT_COMES = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"}


def measure(series: Series, on: str, out: Path, repetitions: int) -> tuple[tuple[float, ...], float]:
    """Returns the median share over repetitions for each number of ranks, and the sum of the runs' seconds.

    `on` is as in `crosscut workload run`. All results are kept in the file `out`.
    """
    application = series.settings.application
    assert application is not None
    counts = series.rank_counts or (series.ranks,)
    with ExitStack() as stack:
        if series.settings.wait == "poll":
            stack.enter_context(_environment(AS_IT_COMES))
        where = launch.Where(
            on=on, ranks_per_host=series.ranks_per_host, time_limit_seconds=TIME_LIMIT_SECONDS,
            compute=application.compute,
        )  # fmt: skip
        network = application.base.network
        base_on = f"{Realm.SIMULATED}:{network}" if network else on
        base, own = (
            stack.enter_context(launch.opened(replace(where, on=there, options=options)))
            for there, options in ((base_on, application.base_options), (on, application.options))
        )
        asked = [(base, application.base.ranks), *((own, ranks) for ranks in counts)]
        turns = [[_verified(run, application, ranks) for run, ranks in asked] for _ in range(repetitions)]
    _keep(out, application, turns)
    shares = ([one.seconds / base.seconds for one in others] for base, *others in turns)
    medians = tuple(statistics.median(of_count) for of_count in zip(*shares, strict=True))
    return medians, sum(result.seconds for turn in turns for result in turn)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Sets environment variables, except those that the user has set; removes them afterwards."""
    added = [name for name in variables if name not in os.environ]
    os.environ.update({name: variables[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _verified(run: launch.Runner, application: Application, ranks: int) -> Result:
    result = run(application.workload, application.problem_class, ranks)
    if not result.verified or result.seconds <= 0:
        raise SessionError(f"{result.name} on {ranks} ranks failed its verification")
    return result


def _keep(out: Path, application: Application, turns: list[list[Result]]) -> None:
    """Writes all results in the order of measurement; the base comes first in each turn."""
    document = {
        "workload": application.workload.name,
        "options": list(application.options),
        "base_options": list(application.base_options),
        "base_network": application.base.network,
        "turns": [[asdict(result) for result in turn] for turn in turns],
    }
    whole_file.write_output(out, (json.dumps(document, indent=1) + "\n").encode())

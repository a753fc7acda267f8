"""Repeats an experiment at its places, and keeps runs, figures and pictures in its folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base import whole_file
from crosscut.base.errors import UsageError
from crosscut.reproduce import comparing, picture, running
from crosscut.reproduce import report as telling
from crosscut.reproduce.comparing import ComparisonRow, Summary
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.running import MeasuredSeries, ReproduceOptions
from crosscut.run.realm import Realm

RESULT = "result.json"


@dataclass(frozen=True)
class RepeatedExperiment:
    experiment: Experiment
    rows: tuple[ComparisonRow, ...]
    summaries: tuple[Summary, ...]
    measured: tuple[MeasuredSeries, ...]
    pictures: tuple[Path, ...]
    document: dict[str, Any]
    """The content of its result.json."""


def repeat(read: Experiment, places: Sequence[Realm], how: ReproduceOptions) -> RepeatedExperiment:
    """Measures at each of the places into `how.out`, and writes the results there."""
    measured = [one for place in places for one in running.measure(read, place, how)]
    curves = [comparing.curve(one) for one in measured]
    rows = tuple(comparing.rows(read, curves))
    summaries = tuple(comparing.summaries(read, rows))
    document = telling.as_json(read, rows, summaries, curves, measured)
    whole_file.write_output(how.out / RESULT, (json.dumps(document, indent=1) + "\n").encode())
    drawn: list[Path] = []
    try:
        drawn = picture.write(read, rows, curves, how.out)
    except UsageError as error:  # all other results are written
        how.told(f"no picture: {error}")
    return RepeatedExperiment(read, rows, summaries, tuple(measured), tuple(drawn), document)

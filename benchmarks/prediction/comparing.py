"""Predicted communication beside measured."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.prediction import truth
from benchmarks.prediction.labs import Lab
from crosscut import smpi
from crosscut.prediction import predicting
from crosscut.prediction import trace as traces


@dataclass(frozen=True)
class Row:
    """One workload on one network."""

    workload: str
    lab: Lab
    traced_here: bool
    predicted_seconds: float
    """Communication: run time less computing, mean of the ranks."""
    measured_seconds: float
    """Communication, median of the runs."""
    spread: float
    """Standard deviation over median of what was measured."""
    runs: int
    parts: dict[str, float]
    """Seconds, of the prediction."""

    @property
    def error(self) -> float:
        return self.predicted_seconds / self.measured_seconds - 1


def predicted(
    home: truth.Run, labs: Sequence[Lab], overhead_seconds: float, options: Sequence[str]
) -> list[predicting.Prediction]:
    """For each lab, from the one trace."""
    trace = traces.read(home.folder)
    with tempfile.TemporaryDirectory(prefix="crosscut-prediction-") as name:
        folder = Path(name)
        files = [str(lab.write(folder, overhead_seconds)) for lab in labs]
        asked = predicting.Asked(tuple(files), smpi.HOST_FLOPS, options=tuple(options))
        return list(predicting.predict(trace, asked, folder).networks)


def row(
    workload: str, lab: Lab, home: Lab, prediction: predicting.Prediction, runs: Sequence[truth.Run]
) -> Row:
    parts = dict(prediction.parts)
    return Row(
        workload=workload,
        lab=lab,
        traced_here=lab is home,
        predicted_seconds=prediction.seconds - parts["computing"],
        measured_seconds=truth.median(list(runs)).communication_seconds,
        spread=truth.spread(list(runs)),
        runs=len(runs),
        parts=parts,
    )


def summary(rows: Sequence[Row]) -> tuple[float, float]:
    """Mean and largest size of the errors where the program was not traced."""
    errors = [abs(one.error) for one in rows if not one.traced_here]
    return statistics.fmean(errors), max(errors)

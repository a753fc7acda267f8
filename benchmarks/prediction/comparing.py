"""Predicted communication beside measured."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.prediction import truth
from benchmarks.prediction.labs import Lab
from crosscut.places import smpi
from crosscut.prediction import calibrating, predicting
from crosscut.prediction import trace as traces
from crosscut.prediction.stream_replay import Transport


@dataclass(frozen=True)
class Assumed:
    """What predictions take for granted, for all labs alike."""

    engine: str
    transport: Transport
    options: tuple[str, ...]
    """SimGrid's."""


@dataclass(frozen=True)
class Noisy:
    """A prediction with the noise that was fitted at home."""

    prediction: predicting.Prediction
    noise_seconds: float

    @property
    def communication_seconds(self) -> float:
        one = self.prediction
        ended = statistics.fmean(one.ended) if one.ended else one.seconds
        return ended - one.parts["computing"]


@dataclass(frozen=True)
class Row:
    """One workload on one network."""

    workload: str
    lab: Lab
    traced_here: bool
    predicted_seconds: float
    """Communication: until a rank's end, less computing; mean of the ranks."""
    measured_seconds: float
    """Communication, median of the runs."""
    spread: float
    """Standard deviation over median of what was measured."""
    runs: int
    noise_seconds: float
    """For each message received, mean; fitted at home."""
    parts: dict[str, float]
    """Seconds, of the prediction."""

    @property
    def waited_seconds(self) -> float:
        """What the parts without computing add up to."""
        return sum(seconds for name, seconds in self.parts.items() if name != "computing")

    @property
    def error(self) -> float:
        return self.predicted_seconds / self.measured_seconds - 1


def predicted(
    home: truth.Run, labs: Sequence[Lab], overhead_seconds: float, delay_seconds: float, assumed: Assumed
) -> tuple[Noisy, ...]:
    """For each lab, the first of which is the home, from the one trace."""
    trace = traces.read(home.folder)
    with tempfile.TemporaryDirectory(prefix="crosscut-prediction-") as name:
        folder = Path(name)
        files = [str(lab.write(folder, overhead_seconds, delay_seconds)) for lab in labs]
        asked = predicting.PredictionRequest(
            tuple(files), smpi.HOST_FLOPS,
            engine=assumed.engine, transport=assumed.transport, options=assumed.options,
        )  # fmt: skip
        noise = 0.0
        if assumed.engine == predicting.OWN:
            took = home.communication_seconds + home.computing_seconds
            found = calibrating.fit(trace, asked, files[0], took, folder)
            asked, noise = calibrating.fitted(asked, found), found.noise_seconds
        return tuple(Noisy(one, noise) for one in predicting.predict(trace, asked, folder).networks)


def row(
    workload: str,
    lab: Lab,
    home: Lab,
    predictions: Sequence[Noisy],
    runs: Sequence[truth.Run],
) -> Row:
    """`predictions`: from the trace of each run at home; the one in the middle counts, as of the runs."""
    middle = sorted(predictions, key=lambda one: one.communication_seconds)[len(predictions) // 2]
    return Row(
        workload=workload,
        lab=lab,
        traced_here=lab is home,
        predicted_seconds=middle.communication_seconds,
        measured_seconds=truth.median(list(runs)).communication_seconds,
        spread=truth.spread(list(runs)),
        runs=len(runs),
        noise_seconds=middle.noise_seconds,
        parts=dict(middle.prediction.parts),
    )


def summary(rows: Sequence[Row]) -> tuple[float, float]:
    """Mean and largest size of the errors where the program was not traced."""
    errors = [abs(one.error) for one in rows if not one.traced_here]
    return statistics.fmean(errors), max(errors)

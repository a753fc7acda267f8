"""Compares predicted with measured communication times."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.prediction import truth
from benchmarks.prediction.labs import Hosts, Lab
from crosscut.places import smpi
from crosscut.prediction import calibrating, predicting
from crosscut.prediction import trace as traces
from crosscut.prediction.stream_replay import Transport


@dataclass(frozen=True)
class Assumed:
    """Assumptions of the predictions, the same for all labs."""

    engine: str
    transport: Transport
    hosts: Hosts
    options: tuple[str, ...]
    """SimGrid's, such as `network/model:CM02`."""


@dataclass(frozen=True)
class Noisy:
    """A prediction and the noise fitted at home."""

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
    """Communication: time until a rank's end, less computing; mean over ranks."""
    measured_seconds: float
    """Communication, median over runs."""
    spread: float
    """Standard deviation over median of the measured times."""
    runs: int
    noise_seconds: float
    """Mean per message received; fitted at home."""
    parts: dict[str, float]
    """Seconds of the prediction, by cause."""

    @property
    def waited_seconds(self) -> float:
        """The sum of all parts but computing."""
        return sum(seconds for name, seconds in self.parts.items() if name != "computing")

    @property
    def error(self) -> float:
        return self.predicted_seconds / self.measured_seconds - 1


def predicted(home: truth.Run, labs: Sequence[Lab], assumed: Assumed) -> tuple[Noisy, ...]:
    """Predicts a run for each lab from its trace at home, which is the first lab."""
    trace = traces.read(home.folder)
    with tempfile.TemporaryDirectory(prefix="crosscut-prediction-") as name:
        folder = Path(name)
        files = [str(lab.write(folder, assumed.hosts)) for lab in labs]
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
    """`predictions`: from the trace of each run at home. The median one counts, as for the runs."""
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
    """Returns the mean and maximum of the absolute errors in labs where the program was not traced."""
    errors = [abs(one.error) for one in rows if not one.traced_here]
    return statistics.fmean(errors), max(errors)

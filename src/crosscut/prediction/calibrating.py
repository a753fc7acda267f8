"""Fits the time that a cluster's processors add to each message, from one traced run.

The program takes longer than its replay on the described cluster, because ranks also wait for a processor.
This noise moves ranks out of step (Hoefler, Schneider and Lumsdaine, "Characterizing the influence of system
noise on large-scale applications by simulation", SC 2010). A single figure, the mean noise for each message,
is fitted so that the replay takes as long as the run.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.prediction import lowering, predicting, variants
from crosscut.prediction.predicting import PredictionRequest
from crosscut.prediction.trace import Trace

LEAST_SECONDS, MOST_SECONDS = 1e-6, 50e-3
# Bisections of the logarithm; they leave an error below 1 %.
_STEPS = 10


class NoNoiseExplains(UsageError):
    """The program took longer than with the most noise."""


@dataclasses.dataclass(frozen=True)
class Fitted:
    network: str
    measured_seconds: float
    """The program's time on this network, from the end of MPI_Init to MPI_Finalize; mean over ranks."""
    without_seconds: float
    """Replayed time without noise."""
    noise_seconds: float
    """Mean for each message received."""


def fit(
    trace: Trace, asked: PredictionRequest, network: str, measured_seconds: float, folder: Path
) -> Fitted:
    """Fits the noise on `network`, where the program was traced.

    `asked` must describe the run as traced (`compute_scale` 1). Raises CrosscutError, UsageError; of these
    NoNoiseExplains if something else slowed the run.
    """
    if asked.engine != predicting.OWN:
        raise UsageError(f"--traced-on: only --engine {predicting.OWN} can fit noise")
    predicting.check_room(trace, asked, network)
    own = folder / "home"
    own.mkdir()
    index = lowering.write(trace, own)

    def replayed(noise: float) -> float:
        noisy = predicting.own_replays(trace, _with_noise(asked, noise), network, index)
        return statistics.fmean(noisy(variants.AS_IT_IS).ended)

    without = replayed(0.0)
    noise = 0.0
    if without < measured_seconds:
        if (most := replayed(MOST_SECONDS)) < measured_seconds:
            raise NoNoiseExplains(
                f"--traced-on {network}: the program took {units.seconds(measured_seconds)} there, but noise "
                f"of {units.seconds(MOST_SECONDS)} for each message explains only {units.seconds(most)}: "
                "something else slowed it; trace it again on a quiet machine, or fit none (--traced-on none)"
            )
        low, high = math.log(LEAST_SECONDS), math.log(MOST_SECONDS)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if replayed(math.exp(middle)) < measured_seconds else (low, middle)
        noise = math.exp((low + high) / 2)
    return Fitted(network, measured_seconds, without, noise)


def fitted(asked: PredictionRequest, found: Fitted) -> PredictionRequest:
    return _with_noise(asked, found.noise_seconds)


def _with_noise(asked: PredictionRequest, seconds: float) -> PredictionRequest:
    transport = dataclasses.replace(asked.transport, noise_seconds=seconds)
    return dataclasses.replace(asked, transport=transport)

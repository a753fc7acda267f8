"""Fits what the processors of a traced program's cluster add to each message, from that run alone.

A replay on the described cluster takes a certain time; the program took longer, because ranks also wait for a
processor, or for a thread that reads a socket. This is noise (Hoefler, Schneider and Lumsdaine,
"Characterizing the influence of system noise on large-scale applications by simulation", SC 2010), and it
moves ranks out of step. A single figure is fitted, the mean noise for each message, so that the replay takes
as long as the run.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.prediction import lowering, predicting, variants
from crosscut.prediction.predicting import PredictionRequest
from crosscut.prediction.trace import Trace

LEAST_SECONDS, MOST_SECONDS = 1e-6, 50e-3
# Bisections of the logarithm, which leave an error below 1 %.
_STEPS = 10


@dataclasses.dataclass(frozen=True)
class Fitted:
    network: str
    measured_seconds: float
    """The program's time there, from the end of MPI_Init to MPI_Finalize; mean over ranks."""
    without_seconds: float
    """Replayed time without noise."""
    noise_seconds: float
    """Mean for each message received."""


def fit(
    trace: Trace, asked: PredictionRequest, network: str, measured_seconds: float, folder: Path
) -> Fitted:
    """Fits the noise on `network`, where the program was traced.

    `asked` must describe the run as traced (`compute_scale` 1). Raises CrosscutError, UsageError.
    """
    if asked.engine != predicting.OWN:
        raise UsageError(f"--traced-on: noise is fitted with --engine {predicting.OWN} alone")
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

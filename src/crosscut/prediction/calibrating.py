"""What the processors of the cluster where a program was traced add to each message, from that run alone.

A replay there with everything that is described takes a certain time, and the program took longer: ranks that
wait for a processor, or for a thread that reads a socket. That is noise (Hoefler, Schneider and Lumsdaine,
"Characterizing the influence of system noise on large-scale applications by simulation", SC 2010), and moves
ranks out of step. One figure is fitted, its mean for each message: the replay is to take as long as the run.
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
# Halvings of the logarithm: within 2 % of the figure.
_STEPS = 10


@dataclasses.dataclass(frozen=True)
class Fitted:
    network: str
    measured_seconds: float
    """The program's time there, from the end of MPI_Init to MPI_Finalize: mean of the ranks."""
    without_seconds: float
    """Replayed without noise."""
    noise_seconds: float
    """For each message received, mean."""


def fit(
    trace: Trace, asked: PredictionRequest, network: str, measured_seconds: float, folder: Path
) -> Fitted:
    """`network`: where it was traced, and computed as the trace has it (`compute_scale` 1). Raises
    CrosscutError, UsageError."""
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

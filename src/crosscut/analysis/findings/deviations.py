"""How much faster or slower than usual each message was, repetition by repetition: what looking for changes
in time looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.series import median as of_rows
from crosscut.analysis.stats.intervals import FEWEST_FOR_INTERVAL, Floats, medians
from crosscut.analysis.structure.observed import Integers


@dataclass(frozen=True)
class Deviations:
    """R repetitions, M messages, each measured in six repetitions at least."""

    logs: Floats
    """[R, M] logarithm of the rate over the message's own median; NaN where nothing was measured."""
    phase: Integers
    """[M] index of its phase, rising."""
    source: Integers
    destination: Integers

    @property
    def repetitions(self) -> int:
        return len(self.logs)

    def common(self) -> Floats:
        """[R] of the message in the middle: what all have in common."""
        return of_rows(self.logs)

    def of_ends(self, ends: Integers, ranks: int, kept: NDArray[np.bool_] | None = None) -> Floats:
        """[R, rank] of the message in the middle among those with that end; NaN: none."""
        found = np.full((len(self.logs), ranks), np.nan)
        chosen = np.arange(len(ends)) if kept is None else np.nonzero(kept)[0]
        order = chosen[np.argsort(ends[chosen], kind="stable")]
        there, start = np.unique(ends[order], return_index=True)
        for rank, mine in zip(there.tolist(), np.split(order, start[1:]), strict=True):
            found[:, rank] = of_rows(self.logs[:, mine])
        return found


def deviations(samples: Samples) -> Deviations | None:
    """None: single repetitions are not kept, or no message has enough of them."""
    if samples.of_phases or samples.summarised or len(samples.message_seconds) < FEWEST_FOR_INTERVAL:
        return None
    phase, rank, slot = np.nonzero(samples.peer >= 0)
    seconds = samples.message_seconds[:, phase, rank, slot]
    usable = np.isfinite(seconds) & (seconds > 0)
    enough = usable.sum(axis=0) >= FEWEST_FOR_INTERVAL
    if not enough.any():
        return None
    logs = -np.log(np.where(usable, seconds, np.nan)[:, enough])
    source = samples.peer[phase, rank, slot].astype(np.int64)
    return Deviations(logs - medians(logs).median, phase[enough], source[enough], rank[enough])

"""Reads how a trace was made from the profile beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crosscut.base.errors import UsageError
from crosscut.prediction.trace import Trace
from crosscut.profile import program, tit

ENDS = frozenset({"MPI_Init", "MPI_Init_thread", "MPI_Finalize"})


@dataclass(frozen=True)
class ComputeSource:
    operations_per_second: float
    """Number of operations in the trace that stand for a second of computing."""
    seconds: float | None
    """The program's time where it was traced; None if unknown."""
    inside_seconds: float | None = None
    """From the end of MPI_Init to MPI_Finalize, mean over ranks."""
    lacks: str = ""
    """The program's operations that the trace lacks, in words; empty if none."""


def _ends(found: program.Profile) -> npt.NDArray[np.float64]:
    """Seconds that each rank spent in ENDS, which depend on the launcher, not on the network."""
    return sum((one.seconds for one in found.calls if one.name in ENDS), start=np.zeros(len(found.found)))


def find(trace: Trace, flops: float | None) -> ComputeSource:
    """`flops`: the rate as typed, or None. Raises UsageError if the rate is unknown."""
    folder = trace.index.parent
    about, seconds, inside, lacks = folder / program.ABOUT, None, None, ""
    if any(folder.glob("rank-*.profile")):
        found = program.load(folder)
        seconds = float(found.seconds.max())
        inside = float(np.mean(found.seconds - _ends(found)))
        lacks = tit.lacks(found)
    if flops is not None:
        return ComputeSource(flops, seconds, inside, lacks)
    made = program.read_about(folder).get("trace")
    if not isinstance(made, dict):
        raise UsageError(
            f"{trace.index}: no profile beside it says how many operations stand for a second of computing; "
            "give --flops RATE (for a trace by smpirun -trace-ti: its smpi/host-speed)"
        )
    rate = made.get("flops_per_second")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 1.0 <= rate <= 1e18:
        raise UsageError(
            f"{about}: trace.flops_per_second is {rate!r}, which is not a rate; give --flops RATE"
        )
    return ComputeSource(float(rate), seconds, inside, lacks)

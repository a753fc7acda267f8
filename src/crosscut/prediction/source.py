"""Reads how a trace was made from the profile beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from crosscut.base.errors import UsageError
from crosscut.prediction.trace import Trace
from crosscut.profile import program, tit

NO_NETWORK = "none"
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
    network: str = ""
    """File that describes the network where it was traced; empty if the profile has none."""

    def home(self, typed: str, index: Path) -> str:
        """Returns the network to which noise is fitted; empty: to none.

        `typed`: the user's, `none` for none; empty: the profile's. Raises UsageError if it is unknown.
        """
        if typed == NO_NETWORK or (not typed and self.inside_seconds is None):
            return ""
        if typed and self.inside_seconds is None:
            raise UsageError(f"no profile beside {index} says how long the program took there")
        if found := typed or self.network:
            return found
        raise UsageError(
            f"{index}: name the network on which it was traced (a description), to which the noise of its "
            f"processors is fitted; or {NO_NETWORK}: then times may be tens of per cent too short"
        )


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
    made = program.read_about(folder).get("trace")
    network = str(folder / tit.NETWORK) if isinstance(made, dict) and (folder / tit.NETWORK).is_file() else ""
    if flops is not None:
        return ComputeSource(flops, seconds, inside, lacks, network)
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
    return ComputeSource(float(rate), seconds, inside, lacks, network)

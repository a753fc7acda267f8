"""Where a trace comes from: what the profile beside it says of how it was made."""

from __future__ import annotations

from dataclasses import dataclass

from crosscut import profile
from crosscut.errors import UsageError
from crosscut.prediction.trace import Trace


@dataclass(frozen=True)
class Source:
    operations_per_second: float
    """That a second of computing counts for in the trace."""
    seconds: float | None
    """The program took where it was traced; None where nothing says so."""


def find(trace: Trace, flops: float | None) -> Source:
    """`flops`: as typed, or None. Raises UsageError where nobody says it."""
    folder = trace.index.parent
    about, seconds = folder / profile.ABOUT, None
    made: object = None
    if any(folder.glob("rank-*.profile")):
        found = profile.load(folder)
        seconds = float(found.seconds.max())
        made = found.about.get("trace")
    if flops is not None:
        return Source(flops, seconds)
    if not isinstance(made, dict):
        raise UsageError(
            f"{trace.index}: no profile beside it says how many operations a second of computing counts for; "
            "say it with --flops RATE (of a trace by smpirun -trace-ti: its smpi/host-speed)"
        )
    rate = made.get("flops_per_second")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 1.0 <= rate <= 1e18:
        raise UsageError(
            f"{about}: trace.flops_per_second is {rate!r}, which is no rate; say it with --flops"
        )
    return Source(float(rate), seconds)

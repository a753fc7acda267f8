"""How to read the run of a pattern: as the core recorded, or by the pattern's name for older runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Shape(Enum):
    """How reports read and draw a run; core/src/program/registry.hpp defines each."""

    DENSE = "dense"
    SWEEP = "sweep"
    LOADED = "loaded"
    VICTIMS = "victims"
    STREAMS = "streams"
    ALGORITHMS = "algorithms"

    @property
    def by_phase(self) -> bool:
        """True if the figures are rates of phases, routes and ranks."""
        return self in (Shape.DENSE, Shape.STREAMS)


@dataclass(frozen=True)
class Reading:
    shape: Shape = Shape.DENSE
    findings: bool = True
    """Messages of a phase run at once and none waits for another, so a slow message points to its route."""
    latency: bool = False
    """A short message meets no other on its way, so its time is a latency."""
    halves: bool = False
    """In every phase, one half of the ranks exchanges with the other."""


# For runs that do not record a shape (crosscut 0.1); any other pattern is read as `Reading()`.
_WITH_LATENCY = ("aapc", "pairwise", "simple-pairwise", "random-pairwise", "pairs", "routes", "all-pairs")
_BEFORE = {
    "pingpong": Reading(Shape.SWEEP, findings=False, latency=True),
    **dict.fromkeys(_WITH_LATENCY, Reading(latency=True)),
    "streams": Reading(Shape.STREAMS),
    "chain": Reading(findings=False),
    "bisection": Reading(halves=True),
    "loaded-pingpong": Reading(Shape.LOADED, findings=False),
    "congestor": Reading(Shape.VICTIMS, findings=False),
}


def reading(attributes: Mapping[str, object]) -> Reading:
    """Returns how to read a run, by its attributes: as dense and without findings if this version does not
    know its shape."""
    pattern, job = attributes.get("pattern"), attributes.get("job")
    recorded = pattern if isinstance(pattern, Mapping) else {}
    if "shape" not in recorded:
        name = recorded.get("name") or (job.get("pattern") if isinstance(job, Mapping) else "")
        return _BEFORE.get(str(name), Reading())
    known = next((shape for shape in Shape if shape.value == recorded["shape"]), None)
    if known is None:
        return Reading(findings=False)
    states = (recorded.get(name) is True for name in ("findings", "latency", "halves"))
    return Reading(known, *states)

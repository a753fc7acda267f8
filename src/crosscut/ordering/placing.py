"""Finds an order of a program's ranks on a network: from the profile to the decision."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import units
from crosscut.network import paths
from crosscut.ordering import candidates, judging, present, terrain
from crosscut.ordering import traffic as amounts
from crosscut.ordering.crossing import Crossing, crossing
from crosscut.ordering.judging import LEAST_GAIN, Judged, Told
from crosscut.ordering.present import RankOrder
from crosscut.ordering.terrain import Terrain
from crosscut.ordering.traffic import RankTraffic
from crosscut.prediction import calibrating, lowering
from crosscut.prediction.calibrating import Fitted
from crosscut.prediction.predicting import PredictionRequest
from crosscut.prediction.source import ComputeSource
from crosscut.prediction.trace import Trace
from crosscut.profile.program import Profile

# Linux lets a process run for some milliseconds before another has its turn (its scheduler's base slice). A
# rank that waits longer than that for every message does not wait for a processor.
_MOST_NOISE_SECONDS = 4e-3


@dataclass(frozen=True)
class Traced:
    """A trace, and what its replay needs."""

    trace: Trace
    made: ComputeSource
    asked: PredictionRequest
    """With one network."""
    home: str
    """The network on which it was traced; empty: fit no noise."""
    folder: Path
    """For files of the replay."""


@dataclass(frozen=True)
class PlacementRequest:
    network: str
    profile: Profile | None
    traced: Traced | None
    """None: time cannot be predicted."""
    present_file: Path | None = None
    ranks_per_host: int = 0
    tries: int = 3
    seed: int = 1

    @property
    def ranks(self) -> int:
        if self.traced is not None:
            return self.traced.trace.ranks
        assert self.profile is not None
        return self.profile.ranks


@dataclass(frozen=True)
class Placement:
    terrain: Terrain
    traffic: RankTraffic
    present: RankOrder
    best: tuple[int, ...]
    """[rank] its place in the best order that was tried; the present order if none differs."""
    made_by: str
    judged: Judged | None
    """None: time was not predicted."""
    before: Crossing
    after: Crossing
    """In the best order."""
    noise: Fitted | None
    """None: replayed without."""
    doubt: str
    """Why the noise was not fitted although the program's time is known; empty if it was."""
    is_traced: bool
    """False: only bytes are known."""

    @property
    def helps(self) -> bool:
        if self.judged is not None:
            return self.judged.helps
        return self.after.bytes < (1 - LEAST_GAIN) * self.before.bytes

    @property
    def hosts(self) -> tuple[str, ...]:
        """[rank] its host, in the order to use: the best one if it helps, else the present one."""
        return self.hosts_in(self.best if self.helps else self.present.places)

    def hosts_in(self, order: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.terrain.hosts[place // self.terrain.per_host] for place in order)


def place(asked: PlacementRequest, told: Told = lambda _: None) -> Placement:
    """Raises CrosscutError, UsageError."""
    network = paths.load(asked.network)
    now = _present(asked, network)
    used = sorted({one // now.per_host for one in now.places})
    there = terrain.survey(network, now.per_host, used)
    known = _prepared(asked, now, told)
    clock, traffic = known.clock, known.traffic
    matters = len(used) > 1 and traffic.messages.any()
    tried = candidates.found(traffic, there, now.places, asked.tries) if matters else []
    before = crossing(traffic, there, now.places)
    judged, chosen = None, _least(tried, lambda order: crossing(traffic, there, order))
    if clock is not None and matters:
        judged = judging.judge(clock, now.places, tried, asked.seed, told)
        chosen = judged.best
    best = chosen.order if chosen is not None else now.places
    made_by = chosen.made_by if chosen is not None else ""
    after = crossing(traffic, there, best)
    return Placement(
        there, traffic, now, best, made_by, judged, before, after, known.noise, known.doubt, clock is not None
    )


def _present(asked: PlacementRequest, network: paths.Ways) -> RankOrder:
    if asked.present_file is not None:
        return present.of_file(network, asked.present_file, asked.ranks, asked.ranks_per_host)
    return _without_file(asked, network)


def _without_file(asked: PlacementRequest, network: paths.Ways) -> RankOrder:
    profiled = present.of_profile(network, asked.profile, asked.ranks, asked.ranks_per_host)
    return profiled or present.in_blocks(network, asked.ranks, asked.ranks_per_host)


@dataclass(frozen=True)
class _Prepared:
    """What is known of the program; `noise` and `doubt` as in Placement."""

    clock: judging.Clock | None
    """None: no trace."""
    traffic: RankTraffic
    noise: Fitted | None = None
    doubt: str = ""


def _prepared(asked: PlacementRequest, now: RankOrder, told: Told) -> _Prepared:
    traced = asked.traced
    if traced is None:
        assert asked.profile is not None
        return _Prepared(None, amounts.of_profile(asked.profile))
    index = lowering.write(traced.trace, traced.folder)
    traffic = amounts.of_trace(index, traced.trace.ranks)
    there = dataclasses.replace(traced.asked, ranks_per_host=now.per_host)
    noise, doubt = None, ""
    if traced.home and traced.made.inside_seconds is not None:
        told(f"on {traced.home}, to fit the noise")
        noise, doubt = _fitted(asked, traced, traced.made.inside_seconds)
    if noise is not None:
        there = calibrating.fitted(there, noise)
    return _Prepared(judging.Clock(traced.trace, there, index), traffic, noise, doubt)


def _fitted(asked: PlacementRequest, traced: Traced, seconds: float) -> tuple[Fitted | None, str]:
    """Fits the noise where the program was traced, in the order in which it ran there. Returns it, or None
    and why it is none."""
    home = paths.load(traced.home)
    order = _without_file(asked, home)
    there = dataclasses.replace(traced.asked, ranks_per_host=order.per_host, order=order.places)
    try:
        noise = calibrating.fit(traced.trace, there, traced.home, seconds, traced.folder)
    except calibrating.NoNoiseExplains as error:
        return None, str(error)
    if noise.noise_seconds > _MOST_NOISE_SECONDS:
        return None, (
            f"the program took {units.seconds(seconds)} where it was traced, and "
            f"{units.seconds(noise.without_seconds)} replayed there; as processors' noise, this would be "
            f"{units.seconds(noise.noise_seconds)} for each message, so it is something else"
        )
    return noise, ""


def _least(
    tried: Sequence[candidates.TriedOrder], crossing_of: Callable[[tuple[int, ...]], Crossing]
) -> candidates.TriedOrder | None:
    """Returns the order that sends least over narrow links; of equal ones the cheapest."""
    return min(tried, key=lambda one: crossing_of(one.order).bytes, default=None)

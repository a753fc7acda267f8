"""The run time of a traced program on networks, taken apart by replays in which less and less takes time.

As Dimemas' ideal network and the efficiencies of POP do (Rosas, Giménez, Labarta, "Scalability prediction for
fundamental performance factors", Supercomputing Frontiers and Innovations 1, 2014): an ideal network leaves
computing, its uneven shares and its dependencies; the rest is transfer. Here the transfer is taken apart too.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crosscut import network as networks
from crosscut import smpi, units
from crosscut.errors import UsageError
from crosscut.prediction import lowering, replay, variants
from crosscut.prediction.replay import NO_LIMITS, Limits
from crosscut.prediction.trace import Trace
from crosscut.prediction.variants import Variant

PARTS = ("computing", "waiting", "latency", "bandwidth", "contention")


@dataclass(frozen=True)
class Asked:
    networks: tuple[str, ...]
    operations_per_second: float
    """Of a processor where the trace was made."""
    compute_scale: float = 1
    """Computing takes so many times as long; 0: none."""
    ranks_per_host: int = 0
    options: tuple[str, ...] = ()
    """Of SimGrid, over those that are set here."""
    limits: Limits = NO_LIMITS
    what_if: tuple[Variant, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """On one network."""

    network: str
    seconds: float
    parts: Mapping[str, float]
    """Seconds, by PARTS: they add up to the whole."""
    what_if: tuple[float, ...]
    """Seconds, as asked."""


@dataclass(frozen=True)
class Predicted:
    trace: Trace
    computing: tuple[float, ...]
    """Seconds, by rank, scaled."""
    ideal_seconds: float
    """On a network where messages take no time."""
    networks: tuple[Prediction, ...]
    wall_seconds: float

    @property
    def imbalance_seconds(self) -> float:
        """Of the waiting: for the rank that computes most."""
        return max(self.computing) - statistics.fmean(self.computing)

    @property
    def dependency_seconds(self) -> float:
        """Of the waiting: for what others have yet to compute, though all in all they compute less."""
        return self.ideal_seconds - max(self.computing)


Told = Callable[[str], None]
"""Progress: what is replayed now."""


def computing_seconds(trace: Trace, asked: Asked, scale: float = 1) -> tuple[float, ...]:
    each = asked.compute_scale * scale / asked.operations_per_second
    return tuple(
        operations * each + asleep
        for operations, asleep in zip(trace.operations, trace.asleep_seconds, strict=True)
    )


def predict(trace: Trace, asked: Asked, folder: Path, told: Told = lambda _: None) -> Predicted:
    """`folder`: for the files of replays, with a name without blanks. Raises CrosscutError, UsageError."""
    platforms = [_platform(trace, asked, network, folder, at) for at, network in enumerate(asked.networks)]
    index = lowering.write(trace, folder)
    computing = computing_seconds(trace, asked)
    wall = 0.0

    def replayed(network: str, platform: smpi.Platform, variant: Variant, what: str) -> float:
        nonlocal wall
        told(f"{network}: {what}")
        done = _replay(trace, asked, platform, variant, index, network)
        wall += done.wall_seconds
        return done.seconds

    ideal = replayed(asked.networks[0], platforms[0], variants.IDEAL, "messages that take no time")
    found = []
    for network, platform in zip(asked.networks, platforms, strict=True):
        seconds = replayed(network, platform, variants.AS_IT_IS, "as it is")
        alone = replayed(network, platform, variants.ALONE, "without contention")
        latency = replayed(network, platform, variants.LATENCY_ALONE, "latency alone")
        mean = statistics.fmean(computing)
        steps = (0.0, mean, ideal, latency, alone, seconds)
        parts = {name: steps[at + 1] - steps[at] for at, name in enumerate(PARTS)}
        others = tuple(replayed(network, platform, one, variants.words(one)) for one in asked.what_if)
        found.append(Prediction(network, seconds, parts, others))
    return Predicted(trace, computing, ideal, tuple(found), wall)


def _platform(trace: Trace, asked: Asked, network: str, folder: Path, at: int) -> smpi.Platform:
    """All are written before any replay: what is wrong with the last is said first."""
    if (room := networks.ranks(network, asked.ranks_per_host)) < trace.ranks:
        raise UsageError(
            f"{network}: has room for {units.count(room, 'rank')}, and the trace is of {trace.ranks}; more "
            "on each host with --ranks-per-host"
        )
    own = folder / f"network-{at}"
    own.mkdir()
    return smpi.write_platform(smpi.Settings(network, trace.ranks, asked.ranks_per_host), trace.ranks, own)


def _replay(
    trace: Trace, asked: Asked, platform: smpi.Platform, variant: Variant, index: Path, network: str
) -> replay.Replayed:
    scale = asked.compute_scale * variant.compute
    # A host that computes infinitely fast is said by leaving computing out.
    speed = asked.operations_per_second / scale if scale > 0 else asked.operations_per_second
    none = ("smpi/simulate-computation:no",) if scale == 0 else ()
    file = platform.file.with_name("variant.xml")
    changed = variants.write(platform, variant, speed, file)
    return replay.run(trace, index, changed, (*none, *asked.options), asked.limits, network)

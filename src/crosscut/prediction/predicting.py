"""Predicts a traced program's time on networks, and breaks it down through replays on idealised networks.

The method is that of Dimemas' ideal network and POP's efficiencies (Rosas, Giménez, Labarta, "Scalability
prediction for fundamental performance factors", Supercomputing Frontiers and Innovations 1, 2014): on an
ideal network only computing, imbalance and dependencies take time; the rest is transfer, which is split
further here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.network import description as networks
from crosscut.places import smpi
from crosscut.prediction import lowering, replay, stream_replay, variants
from crosscut.prediction.replay import NO_LIMITS, Limits, Replayed
from crosscut.prediction.stream_replay import MPICH_TCP, Transport
from crosscut.prediction.trace import Trace
from crosscut.prediction.variants import Variant

OWN, SMPI = "max-min", "smpi"
ENGINES = (OWN, SMPI)
"""The same as for simulated runs (crosscut run --engine)."""
PARTS = ("computing", "waiting", "latency", "bandwidth", "contention")


@dataclass(frozen=True)
class PredictionRequest:
    networks: tuple[str, ...]
    operations_per_second: float
    """Rate of a processor where the program was traced."""
    compute_scale: float = 1
    """Factor on the time of computing; 0: computing takes no time."""
    ranks_per_host: int = 0
    order: tuple[int, ...] = ()
    """[rank] its place, as in `ReplayJob`. Empty: in blocks. For the engine `max-min`."""
    noise_seed: int = 0
    """For the engine `max-min`."""
    engine: str = OWN
    transport: Transport = MPICH_TCP
    """For the engine `max-min`."""
    options: tuple[str, ...] = ()
    """SimGrid's options for the engine `smpi`; they override crosscut's."""
    limits: Limits = NO_LIMITS
    what_if: tuple[Variant, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The prediction for one network."""

    network: str
    seconds: float
    parts: Mapping[str, float]
    """Seconds for each of PARTS; they add up to `seconds`."""
    what_if: tuple[float, ...]
    """Seconds for each variant asked for."""
    ended: tuple[float, ...] = ()
    """End of each rank in seconds; empty if the engine does not report it."""
    gives_latency: bool = True
    """False: the network's file gives no time for a message of no bytes."""


@dataclass(frozen=True)
class Predicted:
    trace: Trace
    computing: tuple[float, ...]
    """Seconds of computing for each rank, after scaling."""
    ideal_seconds: float
    """On a network where messages take no time."""
    networks: tuple[Prediction, ...]
    wall_seconds: float

    @property
    def imbalance_seconds(self) -> float:
        """Mean time spent waiting for the rank that computes most."""
        return max(self.computing) - statistics.fmean(self.computing)

    @property
    def dependency_seconds(self) -> float:
        """Ideal time beyond the longest computation: ranks wait for results of others that still compute."""
        return self.ideal_seconds - max(self.computing)


Told = Callable[[str], None]
"""Receives a description of each replay as it starts."""


def computing_seconds(trace: Trace, asked: PredictionRequest) -> tuple[float, ...]:
    each = asked.compute_scale / asked.operations_per_second
    return tuple(
        operations * each + asleep
        for operations, asleep in zip(trace.operations, trace.asleep_seconds, strict=True)
    )


Replaying = Callable[[Variant], Replayed]
"""Replays the trace on a variant of one network."""


def predict(trace: Trace, asked: PredictionRequest, folder: Path, told: Told = lambda _: None) -> Predicted:
    """Predicts the time on each network, and its parts.

    `folder` takes the files of replays; its name must not contain blanks. Raises CrosscutError, UsageError.
    """
    replaying = _prepared(trace, asked, folder)
    computing = computing_seconds(trace, asked)
    wall = 0.0

    def replayed(at: int, variant: Variant, what: str) -> Replayed:
        nonlocal wall
        told(f"{asked.networks[at]}: {what}")
        done = replaying[at](variant)
        wall += done.wall_seconds
        return done

    ideal = replayed(0, variants.IDEAL, "messages that take no time").seconds
    found = []
    for at, network in enumerate(asked.networks):
        whole = replayed(at, variants.AS_IT_IS, "as it is")
        alone = replayed(at, variants.ALONE, "without contention").seconds
        latency = replayed(at, variants.LATENCY_ALONE, "latency alone").seconds
        mean = statistics.fmean(computing)
        steps = (0.0, mean, ideal, latency, alone, whole.seconds)
        parts = {name: steps[at + 1] - steps[at] for at, name in enumerate(PARTS)}
        others = tuple(replayed(at, one, variants.words(one)).seconds for one in asked.what_if)
        timed = networks.gives_latency(networks.load(network).figures)
        found.append(Prediction(network, whole.seconds, parts, others, whole.ended, timed))
    return Predicted(trace, computing, ideal, tuple(found), wall)


def seconds(trace: Trace, asked: PredictionRequest, folder: Path) -> tuple[float, ...]:
    """Predicts only the time on each network, with a single replay each. Parameters as in `predict`."""
    return tuple(replayed(variants.AS_IT_IS).seconds for replayed in _prepared(trace, asked, folder))


def _prepared(trace: Trace, asked: PredictionRequest, folder: Path) -> list[Replaying]:
    """Prepares all networks before any replay, so that errors show up early."""
    for network in asked.networks:
        check_room(trace, asked, network)
    index = lowering.write(trace, folder)
    if asked.engine == OWN:
        return [own_replays(trace, asked, network, index) for network in asked.networks]
    return [_smpi(trace, asked, network, index, at) for at, network in enumerate(asked.networks)]


def check_room(trace: Trace, asked: PredictionRequest, network: str) -> None:
    if (room := networks.ranks(network, asked.ranks_per_host)) < trace.ranks:
        raise UsageError(
            f"{network}: has room for {units.count(room, 'rank')}, but the trace has {trace.ranks}; "
            "--ranks-per-host puts more on each host"
        )


def own_replays(trace: Trace, asked: PredictionRequest, network: str, index: Path) -> Replaying:
    """`index`: as written by `lowering`."""
    job = stream_replay.ReplayJob(
        trace, index, network, asked.operations_per_second, asked.ranks_per_host,
        asked.transport, asked.limits, asked.order, asked.noise_seed,
    )  # fmt: skip
    scale = asked.compute_scale
    return lambda variant: stream_replay.run(job, replace(variant, compute=variant.compute * scale))


def _smpi(trace: Trace, asked: PredictionRequest, network: str, index: Path, at: int) -> Replaying:
    own = index.parent / f"network-{at}"
    own.mkdir()
    settings = smpi.SimulationSettings(network, trace.ranks, asked.ranks_per_host)
    platform = smpi.write_platform(settings, trace.ranks, own)

    def replayed(variant: Variant) -> Replayed:
        scale = asked.compute_scale * variant.compute
        # SMPI has no infinitely fast host, so computing is left out instead.
        speed = asked.operations_per_second / scale if scale > 0 else asked.operations_per_second
        none = ("smpi/simulate-computation:no",) if scale == 0 else ()
        changed = variants.write(platform, variant, speed, platform.file.with_name("variant.xml"))
        return replay.run(trace, index, changed, (*none, *asked.options), asked.limits, network)

    return replayed

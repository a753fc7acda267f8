"""Reports a prediction: tables for a terminal, or one JSON object."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

from crosscut.base import units
from crosscut.network.description import without_latency
from crosscut.places import smpi
from crosscut.prediction import interval, predicting, variants
from crosscut.prediction.calibrating import Fitted
from crosscut.prediction.predicting import PARTS, Predicted, Prediction, PredictionRequest
from crosscut.prediction.replay import PROTOCOL
from crosscut.prediction.source import ComputeSource
from crosscut.profile import tit
from crosscut.reports.terminal.screen import Rows, Screen, screen_for

_TOO_LONG = 1.1
_WORDS = {
    "computing": "computing, which no network changes",
    "waiting": "waiting for ranks that compute longer, or for their results, which no network changes",
    "latency": "latency and the processors' overhead for each message",
    "bandwidth": "the rate of links, each message alone",
    "contention": "messages that share links",
}


def tell(
    asked: PredictionRequest, predicted: Predicted, made: ComputeSource, noise: Fitted | None = None
) -> None:
    screen = screen_for()
    trace = predicted.trace
    screen.title(f"{trace.index.parent.name or trace.index}: {units.count(trace.ranks, 'rank')}")
    sent = f"{units.count(trace.messages, 'message')} of {units.about_size(trace.message_bytes)} together"
    screen.field("trace", ", ".join(filter(None, (
        units.count(trace.actions, "action"),
        sent if trace.messages else "",
        f"{units.count(trace.collectives, 'collective operation')} of all ranks" if trace.collectives else "",
    ))))  # fmt: skip
    scale = "" if asked.compute_scale == 1 else f", scaled by {asked.compute_scale:g}"
    mean = statistics.fmean(predicted.computing)
    screen.field("computing", f"{units.seconds(mean)} per rank on average, "
                 f"{units.seconds(max(predicted.computing))} at most{scale}")  # fmt: skip
    screen.field("replayed", _engine(asked))
    if made.seconds is not None:
        screen.field("traced", f"took {units.seconds(made.seconds)} where it was traced")
    if made.lacks:
        screen.field("left out", made.lacks)
    if noise is not None:
        tell_noise(screen, noise)
    if timeless := [name_of(one.network) for one in predicted.networks if not one.gives_latency]:
        screen.warn(without_latency(timeless))
    _times(screen, predicted)
    _what_if(screen, asked, predicted)
    screen.line()
    for one in predicted.networks:
        screen.line(_sentence(one, predicted.networks[0]))
    _tell_intervals(screen, asked, predicted, noise)
    screen.line(
        f"If messages took no time, the program would take {units.seconds(predicted.ideal_seconds)} on any "
        "of these networks."
    )


def _interval(
    asked: PredictionRequest, one: Prediction, predicted: Predicted, noise: Fitted | None
) -> tuple[float, float] | None:
    """None unless noise was fitted, by a model that fits the program: no other predictions were tested."""
    if noise is None or _times_too_long(noise) > _TOO_LONG:
        return None
    known = interval.calibration(deep_queues=asked.transport.deep_queues)
    return interval.seconds(one.seconds, one.parts["computing"], predicted.ideal_seconds, known.error)


def _times_too_long(noise: Fitted) -> float:
    return noise.without_seconds / max(noise.measured_seconds, 1e-9)


def _tell_intervals(
    screen: Screen, asked: PredictionRequest, predicted: Predicted, noise: Fitted | None
) -> None:
    found = [(name_of(one.network), _interval(asked, one, predicted, noise)) for one in predicted.networks]
    told = [
        f"{name}, {units.seconds(it[0])} to {units.seconds(it[1])}" for name, it in found if it is not None
    ]
    if told:
        known = interval.calibration(deep_queues=asked.transport.deep_queues)
        screen.line(
            f"{interval.COVERED} predictions on {known.clusters} ({known.cases} cases) were within "
            f"{100 * known.error:.0f} % of the measured communication time. As far as this holds "
            f"elsewhere: {'; '.join(told)}."
        )


def tell_noise(screen: Screen, noise: Fitted) -> None:
    screen.field("noise", _noise(noise))
    if (times := _times_too_long(noise)) > _TOO_LONG:
        screen.warn(
            f"replayed where it was traced, the program takes {times:.2f} times as long as it did: "
            "the model does not fit the program, so its predicted times are too long"
        )


def _noise(noise: Fitted) -> str:
    profiled = Path(noise.network).name == tit.NETWORK
    where = "where it was profiled" if profiled else f"on {name_of(noise.network)}"
    took = f"{units.seconds(noise.measured_seconds)} {where}"
    if noise.noise_seconds <= 0:
        return f"none: the program took {took}, and {units.seconds(noise.without_seconds)} replayed there"
    return (
        f"{units.seconds(noise.noise_seconds)} on average for each message received, fitted to {took} "
        f"(without noise the replay takes {units.seconds(noise.without_seconds)})"
    )


def _engine(asked: PredictionRequest) -> str:
    """Describes how messages were modelled."""
    if asked.engine == predicting.SMPI:
        return "by SimGrid's SMPI: messages above 1 KiB wait for their receive"
    transport = asked.transport
    buffer = transport.send_buffer_bytes
    return "; ".join((
        f"messages of up to {units.about_size(transport.eager_bytes)} travel before their receive",
        f"senders of more than {units.about_size(transport.inject_bytes)} wait until it is taken in",
        "others go on at once" if buffer is None else
        f"others go on when all but {units.about_size(buffer)} has left",
        "links shared as fast as senders send (deep queues)" if transport.deep_queues else
        "links shared evenly",
    ))  # fmt: skip


def _times(screen: Screen, predicted: Predicted) -> None:
    screen.title("Time on each network, and where it goes")
    rows = Rows("<network", "time", "?ratio", *PARTS)
    first = predicted.networks[0].seconds
    for one in predicted.networks:
        whole = one.seconds
        shares = [f"{100 * part / whole:.1f} %" if whole > 0 else "0 %" for part in one.parts.values()]
        ratio = f"{whole / first:.2f}" if first > 0 else "–"
        rows.add(name_of(one.network), units.seconds(whole), ratio, *shares)
    screen.table(rows)


def _what_if(screen: Screen, asked: PredictionRequest, predicted: Predicted) -> None:
    if not asked.what_if:
        return
    screen.title("What if")
    rows = Rows("<network", "<if", "time", "change")
    for one in predicted.networks:
        for variant, seconds in zip(asked.what_if, one.what_if, strict=True):
            change = seconds / one.seconds - 1 if one.seconds > 0 else 0.0
            words = variants.words(variant)
            rows.add(name_of(one.network), words, units.seconds(seconds), f"{100 * change:+.1f} %")
    screen.table(rows)


def name_of(network: str) -> str:
    """Returns a network file's name without its ending, or the name in the catalogue."""
    return Path(network).stem or network


def _sentence(one: Prediction, first: Prediction) -> str:
    name, seconds = max(one.parts.items(), key=lambda item: item[1])
    where = f"On {name_of(one.network)}"
    if one.seconds <= 0:
        return f"{where} nothing takes time."
    if one is not first and first.seconds > 0:
        where += f" it takes {one.seconds / first.seconds:.2f} times as long as on {name_of(first.network)};"
    return f"{where} the largest part is {_WORDS[name]}: {units.seconds(seconds)}."


def as_json(
    asked: PredictionRequest, predicted: Predicted, made: ComputeSource, noise: Fitted | None = None
) -> dict[str, object]:
    trace = predicted.trace
    return {
        "trace": {
            "file": str(trace.index),
            "ranks": trace.ranks,
            "actions": trace.actions,
            "messages": trace.messages,
            "message_bytes": trace.message_bytes,
            "collective_calls": trace.collectives,
            "operations_per_second": asked.operations_per_second,
            "traced_seconds": made.seconds,
            "lacks": made.lacks or None,
        },
        "compute_scale": asked.compute_scale,
        "computing_seconds": list(predicted.computing),
        "ideal_seconds": predicted.ideal_seconds,
        "imbalance_seconds": predicted.imbalance_seconds,
        "dependency_seconds": predicted.dependency_seconds,
        "networks": [
            _network(asked, one, _interval(asked, one, predicted, noise)) for one in predicted.networks
        ],
        "wall_seconds": predicted.wall_seconds,
        **_engine_json(asked),
        "noise": None if noise is None else dataclasses.asdict(noise),
    }


def _engine_json(asked: PredictionRequest) -> dict[str, object]:
    if asked.engine == predicting.SMPI:
        return {"engine": asked.engine, "simgrid": smpi.version(), "options": [*PROTOCOL, *asked.options]}
    return {"engine": asked.engine, "transport": dataclasses.asdict(asked.transport)}


def _network(
    asked: PredictionRequest, one: Prediction, bounds: tuple[float, float] | None
) -> dict[str, object]:
    return {
        "network": one.network,
        "seconds": one.seconds,
        "interval_seconds": bounds,
        "parts_seconds": dict(one.parts),
        "rank_seconds": list(one.ended),
        "gives_latency": one.gives_latency,
        "what_if": [
            {name: getattr(variant, name) for name in variants.CHANGED} | {"seconds": seconds}
            for variant, seconds in zip(asked.what_if, one.what_if, strict=True)
        ],
    }

"""What was predicted: tables for a terminal, one object for programs."""

from __future__ import annotations

import statistics
from pathlib import Path

from crosscut import smpi, units
from crosscut.prediction import variants
from crosscut.prediction.predicting import PARTS, Asked, Predicted, Prediction
from crosscut.prediction.replay import PROTOCOL
from crosscut.prediction.source import Source
from crosscut.reports.screen import Rows, Screen, screen_for

_WORDS = {
    "computing": "computing, which no network changes",
    "waiting": "waiting for ranks that compute longer, or for their results, which no network changes",
    "latency": "latency and the processors' overhead for each message",
    "bandwidth": "the rate of links, each message alone",
    "contention": "messages that share links",
}


def tell(asked: Asked, predicted: Predicted, made: Source) -> None:
    screen = screen_for()
    trace = predicted.trace
    screen.title(f"{trace.index.parent.name or trace.index}: {units.count(trace.ranks, 'rank')}")
    screen.field("trace", ", ".join((
        units.count(trace.actions, "action"),
        f"{units.count(trace.messages, 'message')} of {units.about_size(trace.message_bytes)} together",
        units.count(trace.collectives, "collective call"),
    )))  # fmt: skip
    scale = "" if asked.compute_scale == 1 else f", scaled by {asked.compute_scale:g}"
    mean = statistics.fmean(predicted.computing)
    screen.field("computing", f"{units.seconds(mean)} in the mean of the ranks, "
                 f"{units.seconds(max(predicted.computing))} at most{scale}")  # fmt: skip
    if made.seconds is not None:
        screen.field("traced", f"took {units.seconds(made.seconds)} where it was traced")
    _times(screen, predicted)
    _what_if(screen, asked, predicted)
    screen.line()
    for one in predicted.networks:
        screen.line(_sentence(one, predicted.networks[0]))
    screen.line(
        f"Were messages to take no time, it would be {units.seconds(predicted.ideal_seconds)} on any of them."
    )


def _times(screen: Screen, predicted: Predicted) -> None:
    screen.title("Time on each network, and what it goes into")
    rows = Rows("<network", "time", "?ratio", *PARTS)
    first = predicted.networks[0].seconds
    for one in predicted.networks:
        shares = [_percent(part, one.seconds) for part in one.parts.values()]
        rows.add(name_of(one.network), units.seconds(one.seconds), _ratio(one.seconds, first), *shares)
    screen.table(rows)


def _what_if(screen: Screen, asked: Asked, predicted: Predicted) -> None:
    if not asked.what_if:
        return
    screen.title("What if")
    rows = Rows("<network", "<if", "time", "change")
    for one in predicted.networks:
        for variant, seconds in zip(asked.what_if, one.what_if, strict=True):
            change = seconds / one.seconds - 1 if one.seconds > 0 else 0.0
            rows.add(
                name_of(one.network),
                variants.words(variant),
                units.seconds(seconds),
                f"{100 * change:+.1f} %",
            )
    screen.table(rows)


def name_of(network: str) -> str:
    """Of a network file or of one of the catalogue."""
    return Path(network).stem or network


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else "0 %"


def _ratio(seconds: float, first: float) -> str:
    return f"{seconds / first:.2f}" if first > 0 else "–"


def _sentence(one: Prediction, first: Prediction) -> str:
    name, seconds = max(one.parts.items(), key=lambda item: item[1])
    where = f"On {name_of(one.network)}"
    if one.seconds <= 0:
        return f"{where} nothing takes time."
    if one is not first and first.seconds > 0:
        where += f" it takes {one.seconds / first.seconds:.2f} times as long as on {name_of(first.network)};"
    return f"{where} most goes into {_WORDS[name]}: {units.seconds(seconds)}."


def as_json(asked: Asked, predicted: Predicted, made: Source) -> dict[str, object]:
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
        },
        "compute_scale": asked.compute_scale,
        "computing_seconds": list(predicted.computing),
        "ideal_seconds": predicted.ideal_seconds,
        "imbalance_seconds": predicted.imbalance_seconds,
        "dependency_seconds": predicted.dependency_seconds,
        "networks": [_network(asked, one) for one in predicted.networks],
        "wall_seconds": predicted.wall_seconds,
        "simgrid": smpi.version(),
        "options": [*PROTOCOL, *asked.options],
    }


def _network(asked: Asked, one: Prediction) -> dict[str, object]:
    return {
        "network": one.network,
        "seconds": one.seconds,
        "parts_seconds": dict(one.parts),
        "what_if": [
            {
                "latency": variant.latency,
                "bandwidth": variant.bandwidth,
                "overhead": variant.overhead,
                "compute": variant.compute,
                "seconds": seconds,
            }
            for variant, seconds in zip(asked.what_if, one.what_if, strict=True)
        ],
    }

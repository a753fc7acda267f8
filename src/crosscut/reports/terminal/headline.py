"""The summary printed after a run, and the same figures as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import numpy as np

from crosscut.analysis.figures import summary
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.stats.variation import Variation, variation
from crosscut.base.records import finite
from crosscut.reports.json.check import cautions_json
from crosscut.reports.terminal import dense
from crosscut.reports.terminal.screen import screen_for
from crosscut.reports.view import View, text
from crosscut.reports.words import about, costs, figures, loggp
from crosscut.reports.words.sentences import figures_of

SLOWEST_IN_JSON = 10


def print_summary(path: Path, stream: TextIO | None = None) -> None:
    """Prints what was measured, how, cautions, and the figures in about five lines. A dense pattern with
    several sizes adds one row per size."""
    view, screen = View.open(path), screen_for(stream)
    screen.line(f"{about.what(view)} ({about.where(view)}), {view.state}", "bold")
    screen.line("; ".join(about.how(view)), "dim")
    if faults := about.planted(view):
        screen.line(f"planted: {'; '.join(faults)}", "dim")
    measured = view.measured()
    for caution in about.beware(view, measured):
        screen.warn(caution.text)
    if len(measured) > 1 and (view.shape.by_phase or measured[0].of_phases):
        screen.line()
        dense.by_size(screen, view, measured)
        screen.line()
    for line in figures_of(view):
        screen.line(line)


def as_json(path: Path) -> dict[str, object]:
    """Returns everything that `show` draws: rates in bytes per second, times in seconds."""
    view = View.open(path)
    measured = view.measured()
    return {
        "out": str(path),
        "state": view.state,
        "pattern": view.pattern,
        "backend": text(view.attributes, "backend", "name"),
        "place": text(view.attributes, "place"),
        "ranks": view.ranks,
        "nodes": view.nodes,
        "cadence": text(view.attributes, "cadence"),
        "skew_seconds": finite(about.skew_seconds(view)[0]),
        "faults": about.planted(view),
        "cautions": cautions_json(about.beware(view, measured)),
        "latency_by_hops": costs.hops_json(costs.latency_by_hops(view)),
        "effort": costs.effort_json(view),
        "loggp": loggp.as_json(view, sweep(measured)) if measured else None,
        "sizes": [_size_json(view, samples) for samples in measured],
    }


def _size_json(view: View, samples: Samples) -> dict[str, object]:
    rates, routes = summary.phase_rates(samples), summary.routes(samples)
    formula, found = summary.formula_rates(samples), sweep([samples])
    steady = variation(
        summary.phase_seconds(samples) if not samples.summarised else np.zeros((0, len(rates.median)))
    )
    skew = summary.phase_skew(samples)
    return {
        "size_bytes": samples.size_bytes,
        "message_seconds": figures.at(found.seconds, 0).as_json(),
        # Phase summaries do not record the bytes of single messages.
        "message_bytes_per_second": None if samples.of_phases else figures.at(found.rates, 0).as_json(),
        "phases": [
            {
                "phase": int(samples.phase[index]),
                "label": view.phase_labels.get(int(samples.phase[index]), ""),
                "bytes_per_second": figures.at(rates, index).as_json(),
                "formula_bytes_per_second": figures.at(formula, index).as_json(),
                "skew_seconds": finite(float(skew[index])),
                **_steady(steady, index),
            }
            for index in range(len(samples.phase))
        ],
        "ranks": [] if samples.of_phases else _ranks_json(view, samples),
        "slowest_routes": [
            {
                "source": view.rank_key(int(routes.source[index])),
                "destination": view.rank_key(int(routes.destination[index])),
                "bytes_per_second": figures.at(routes.rates, int(index)).as_json(),
                **_steady(_of_route(samples, int(routes.source[index]), int(routes.destination[index])), 0),
            }
            for index in routes.slowest(SLOWEST_IN_JSON)
        ],
    }


def _ranks_json(view: View, samples: Samples) -> list[dict[str, object]]:
    rates, seconds = summary.rank_rates(samples), summary.rank_spent(samples)[1]
    steady = variation(seconds if not samples.summarised else seconds[:0])
    return [
        {
            "rank": view.rank_key(rank),
            "bytes_per_second": figures.at(rates, rank).as_json(),
            **_steady(steady, rank),
        }
        for rank in range(samples.ranks)
    ]


def _of_route(samples: Samples, source: int, destination: int) -> Variation:
    """Returns the variation over all messages of this route."""
    phase, slot = np.nonzero(samples.peer[:, destination] == source)
    taken = samples.message_seconds[:, phase, destination, slot]
    return variation(taken.reshape(-1, 1) if not samples.summarised else taken[:0, :1])


def _steady(found: Variation, index: int) -> dict[str, float | None]:
    """Returns the interquartile range and the tail as multiples of the median. The tail is the 99th
    percentile, or the longest of fewer than 100 repetitions."""
    return {"spread": finite(float(found.spread[index])), "tail": finite(float(found.tail[index]))}

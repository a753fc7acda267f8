"""Keeps the figures of all experiments by place, so that each can be measured on a day of its own."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from crosscut.network import description
from crosscut.reproduce.comparing import SeriesCurve
from crosscut.reproduce.experiment import Experiment, Series
from crosscut.reproduce.repeating import RepeatedExperiment
from crosscut.run.realm import Realm

FILE = Path(__file__).parent / "figures.json"
_WORDS = ("name", "where", "published", "calculated", "fitted", "outside_the_aim", "note", "on")
"""Keys of a series that do not change what is measured."""

Figures = dict[str, dict[str, dict[str, Any]]]
"""By experiment, series and place: digest of the series, date, x values, figures, and which were limited."""


def load() -> Figures:
    found: Figures = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def store(figures: Figures) -> None:
    """Writes one line for each series, so that a change is easy to read."""
    experiments = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(one)}: {json.dumps(series[one], sort_keys=True)}" for one in sorted(series)
        )
        + "}"
        for name, series in sorted(figures.items())
    ]
    FILE.write_text("{" + ",\n".join(experiments) + "}\n", encoding="utf-8")


def add(figures: Figures, done: RepeatedExperiment, date: str) -> None:
    """Puts an experiment's figures in place of those of the same places, and drops series that are gone."""
    by_name = {one.name: one for one in done.experiment.series}
    kept = {name: places for name, places in figures.get(done.experiment.name, {}).items() if name in by_name}
    for curve in done.document["curves"]:
        series = by_name[curve["series"]]
        if series.published or series.calculated:
            values = [value if math.isfinite(value) else None for value in curve["values"]]
            kept.setdefault(series.name, {})[curve["place"]] = {
                "of": _digest(series), "date": date, "x": curve["x"], "values": values,
                "limited": curve["limited"],
            }  # fmt: skip
    figures[done.experiment.name] = kept


def curves(figures: Figures, experiment: Experiment) -> Iterator[SeriesCurve]:
    """Yields what was measured of the experiment's series as they are now."""
    for series in experiment.series:
        for place, found in figures.get(experiment.name, {}).get(series.name, {}).items():
            if found["of"] == _digest(series):
                values = tuple(math.nan if value is None else value for value in found["values"])
                yield SeriesCurve(
                    series.name, Realm(place), tuple(found["x"]), values, limited=tuple(found["limited"])
                )


def dates(figures: Figures, experiment: Experiment) -> dict[str, str]:
    """By place: the newest date of its figures."""
    found: dict[str, str] = {}
    for places in figures.get(experiment.name, {}).values():
        for place, one in places.items():
            found[place] = max(found.get(place, ""), one["date"])
    return found


@cache
def _description(network: str) -> Mapping[str, Any]:
    return description.load(network).figures


def _digest(series: Series) -> str:
    told = {key: value for key, value in series.at.values.items() if key not in _WORDS}
    if series.network:
        told["network"] = tomllib.loads(Path(str(_description(series.network)["file"])).read_text("utf-8"))
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:12]

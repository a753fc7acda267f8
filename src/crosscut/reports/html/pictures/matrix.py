"""Heat map of all routes, with one compressed byte per route for its rate on a logarithmic scale."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.figures.summary import Routes, parts
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.model import UNKNOWN_GROUP, Structure
from crosscut.base import units
from crosscut.reports.html.pictures.picture import Axis, Picture, RunAtSize
from crosscut.reports.html.pictures.ranks import ALIKE
from crosscut.reports.words import figures

# Rates are levels from 1; 0 is a route that was not measured. Fewer levels let large maps compress better.
LEVELS, LEVELS_OF_MANY, MANY_RANKS = 255, 63, 1500
FEWEST_ROUTES = 2
# Bytes that are compressed both ways, to choose one; a search that saves less is not worth its time.
_TRIED, _WORTH_SEARCHING = 1 << 17, 0.95
LEAST_FILLED = 0.05  # share of all cells; a sparser map is clearer as a table


def picture(one: RunAtSize, name: str, structure: Structure | None = None) -> Picture | None:
    routes = one.digest.routes
    ranks = one.view.ranks
    few = len(routes.source) < max(FEWEST_ROUTES, LEAST_FILLED * ranks**2)
    if few or not (routes.rates.median > 0).any():
        return None
    levels = LEVELS if ranks <= MANY_RANKS else LEVELS_OF_MANY
    values = np.where(routes.rates.median > 0, routes.rates.median, np.nan)
    low, high, middle = float(np.nanmin(values)), float(np.nanmax(values)), routes.rates.middle
    found = quantise(values, low, high, levels)
    rates, error = means(values, found, levels)
    cells = np.zeros((ranks, ranks), np.uint8)
    cells[routes.source, routes.destination] = found
    return Picture(
        kind="matrix",
        name=name,
        title="Every route",
        caption=_caption(one, routes),
        x=Axis("to rank"),
        y=Axis("from rank", units.rate_unit(middle)),
        more={
            "ranks": ranks,
            "levels": levels,
            "low": low,
            "high": high,
            "rates": rates,
            "error": error,
            "gaps": len(routes.source) < ranks * (ranks - 1),
            "middle": middle,
            "cells": packed(cells),
            "nodes": one.view.nodes,
            "node_of": one.view.rank_nodes,
            "orders": orders(one, structure),
        },
    )


def quantise(values: Floats, low: float, high: float, levels: int) -> NDArray[np.uint8]:
    """Maps `low`…`high` to levels 1…`levels` logarithmically, for a uniform relative error, and NaN to 0."""
    if high <= low:
        return np.where(np.isfinite(values), 1, 0).astype(np.uint8)
    place = values / low
    with np.errstate(invalid="ignore", divide="ignore"):
        np.log(place, out=place)
    place *= (levels - 1) / np.log(high / low)
    np.rint(place, out=place)
    place += 1
    place[~np.isfinite(place)] = 0  # NaN has no integer value
    return place.astype(np.uint8)


def means(values: Floats, levels: NDArray[np.uint8], count: int) -> tuple[Floats, float]:
    """Returns ([level] mean rate of its routes, NaN if it has none; largest relative error of any route)."""
    numbers, sums = np.zeros(count + 1), np.zeros(count + 1)
    for part in parts(len(levels)):
        there = levels[part] > 0
        numbers += np.bincount(levels[part][there], minlength=count + 1)
        sums += np.bincount(levels[part][there], weights=values[part][there], minlength=count + 1)
    with np.errstate(invalid="ignore"):
        found = sums / numbers
    worst = 0.0
    for part in parts(len(levels)):
        there = levels[part] > 0
        error = np.abs(found[levels[part][there]] / values[part][there] - 1)
        worst = max(worst, float(error.max(initial=0.0)))
    return found, worst


def packed(cells: NDArray[np.uint8]) -> str:
    """Compresses cells for the page's DecompressionStream("deflate"), in base64."""
    whole = cells.tobytes()
    some = whole[len(whole) // 2 :][:_TRIED]
    # Noise repeats nothing, and the search for repetitions takes ten times as long as Huffman's code alone.
    repeats = len(_deflated(some)) < _WORTH_SEARCHING * len(_deflated(some, zlib.Z_HUFFMAN_ONLY))
    found = _deflated(whole, zlib.Z_DEFAULT_STRATEGY if repeats else zlib.Z_HUFFMAN_ONLY)
    return base64.b64encode(found).decode("ascii")


def _deflated(cells: bytes, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    by = zlib.compressobj(6, strategy=strategy)
    return by.compress(cells) + by.flush()


def rates(picture: Picture) -> Floats:
    """Returns [source, destination] bytes per second, within the picture's error; NaN: not measured.

    A level that was painted is one that a route has, so it has a mean.
    """
    more: Any = picture.more
    cells = np.frombuffer(zlib.decompress(base64.b64decode(more["cells"])), np.uint8)
    return np.asarray(more["rates"], np.float64)[cells].reshape(more["ranks"], more["ranks"])


def orders(one: RunAtSize, structure: Structure | None) -> list[dict[str, object]]:
    """Returns orders of rows and columns, each with the rank at every place and the ends of its groups."""
    ranks = np.arange(one.view.ranks)
    found: list[dict[str, object]] = [{"label": "by rank", "rank_at": None, "ends": [], "names": []}]
    nodes = one.view.rank_nodes
    if 1 < len(np.unique(nodes)) < len(nodes):
        found.append(_order("by node", nodes, [one.view.nodes[node] for node in np.unique(nodes)]))
    if structure is not None and structure.ranks == len(ranks) and len(structure.groups) > 1:
        labels = np.array(structure.labels())
        labels[list(structure.unplaced)] = len(structure.groups)  # after the groups
        called = {-1: "no group", len(structure.groups): UNKNOWN_GROUP}
        named = [called.get(label) or structure.groups[label].name for label in np.unique(labels).tolist()]
        found.append(_order("by inferred group", labels, named))
    return [*found, _by_rate(one)]


def _by_rate(one: RunAtSize) -> dict[str, object]:
    """Orders ranks by the mean rate of their routes, both ways; the slowest comes first."""
    routes = one.digest.routes
    sums, numbers = np.zeros(one.view.ranks), np.zeros(one.view.ranks)
    for part in parts(len(routes.source)):
        rates = routes.rates.median[part]
        there = np.isfinite(rates)
        for ends in (routes.source[part][there], routes.destination[part][there]):
            numbers += np.bincount(ends, minlength=one.view.ranks)
            sums += np.bincount(ends, rates[there], minlength=one.view.ranks)
    means = sums / np.maximum(numbers, 1)
    return {"label": "by rate", "rank_at": np.argsort(means, kind="stable"), "ends": [], "names": []}


def _order(label: str, groups: NDArray[np.int64], names: Sequence[str]) -> dict[str, object]:
    rank_at = np.argsort(groups, kind="stable")
    ends = np.nonzero(np.diff(groups[rank_at]))[0] + 1
    return {"label": label, "rank_at": rank_at, "ends": ends, "names": list(names)}


def _caption(one: RunAtSize, routes: Routes) -> str:
    worst = figures.extreme(routes.rates)
    assert worst is not None  # some route has a rate
    source, destination = int(routes.source[worst]), int(routes.destination[worst])
    middle = routes.rates.middle
    figure = figures.at(routes.rates, worst)
    told = f"{units.count(len(routes.source), 'route')} at {units.size(one.digest.size_bytes)}"
    if figure.median >= ALIKE * float(np.nanmax(routes.rates.median)):
        return f"{told}, all at about {units.rate(middle)}."
    others = figures.others_as_slow(routes.rates, worst)
    # In rates, since a share of the median route differs from the share that a finding states.
    return (
        f"{told}: the slowest, {one.view.rank_name(source)} → {one.view.rank_name(destination)}{others}, "
        f"{'reach' if others else 'reaches'} {figure.rate()}; the median route reaches {units.rate(middle)}."
    )

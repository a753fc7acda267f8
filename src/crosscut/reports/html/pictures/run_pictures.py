"""Chooses the pictures of a run by its shape, as reports/terminal/run.py chooses the terminal's report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crosscut.analysis.figures import pingpong, slowdown
from crosscut.analysis.figures.samples import messages
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Structure
from crosscut.base import units
from crosscut.reports.html.pictures import (  # fmt: skip
    algorithms,
    cloud,
    conditions,
    drawing,
    histograms,
    matrix,
    phases,
    ranks,
    structure,
    sweep,
)
from crosscut.reports.html.pictures.picture import Picture, RunAtSize
from crosscut.reports.words import loggp
from crosscut.run.shape import Shape

Drawer = Callable[[RunAtSize, str, Structure | None], list[Picture]]


def pictures(
    one: RunAtSize, name: str, known: Structure | None = None, found: Sequence[Finding] = ()
) -> list[Picture]:
    """Returns all pictures of a run, with details at the size of `one`. `name` is the prefix of each name."""
    draw = _dense if one.samples.of_phases else _DRAWERS[one.view.shape]
    inferred = structure.picture(known, found, f"{name}-structure")
    described = drawing.picture(one.view, f"{name}-network", found, known)
    return [*draw(one, name, known), *_there(inferred, described)]


def details(one: RunAtSize, name: str, known: Structure | None = None) -> list[Picture]:
    """Returns only the pictures that depend on the chosen size."""
    if one.samples.of_phases:
        return _dense(one, name, known)
    if one.view.shape.by_phase:
        return _DRAWERS[one.view.shape](one, name, known)
    return _there(matrix.picture(one, f"{name}-routes", known)) if one.view.shape is Shape.SWEEP else []


def _there(*found: Picture | None) -> list[Picture]:
    return [picture for picture in found if picture is not None]


def _dense(one: RunAtSize, name: str, known: Structure | None) -> list[Picture]:
    first, *others = _laid_over([one], name)
    return _there(first, matrix.picture(one, f"{name}-routes", known), *others)


def _laid_over(series: Sequence[RunAtSize], name: str) -> list[Picture | None]:
    """Returns the pictures of dense patterns for one or several overlaid runs."""
    return [
        phases.picture(series, f"{name}-phases"),
        histograms.of_routes(series, f"{name}-route-histogram"),
        histograms.of_phases(series, f"{name}-phase-histogram"),
        histograms.curve(series, f"{name}-curve"),
        ranks.picture(series, f"{name}-ranks"),
    ]


def _sweep(one: RunAtSize, name: str, known: Structure | None) -> list[Picture]:
    return [*_sweeps([one], name), *_there(matrix.picture(one, f"{name}-routes", known))]


def _sweeps(series: Sequence[RunAtSize], name: str) -> list[Picture]:
    modes = {loggp.mode(one.view) for one in series}
    return sweep.pictures(
        [(one.name, pingpong.sweep(one.view.measured())) for one in series],
        f"{name}-sweep",
        modes.pop() if len(modes) == 1 else "of several modes",
    )


def _loaded(one: RunAtSize, name: str, _known: Structure | None) -> list[Picture]:
    # No matrix, since message sizes differ from route to route.
    return _there(cloud.picture(*messages(one.view.measured()), f"{name}-cloud"))


def _victims(one: RunAtSize, name: str, _known: Structure | None) -> list[Picture]:
    found = []
    for index in one.view.measured_sizes():
        samples = one.view.samples(index)
        entries = slowdown.slowdowns(slowdown.conditions(samples, one.view.labels(samples)))
        size = units.size(samples.size_bytes)
        found.append(conditions.of_victims(entries, size, f"{name}-victims-{index}"))
    return _there(*found)


def _streams(one: RunAtSize, name: str, known: Structure | None) -> list[Picture]:
    return _there(
        conditions.of_streams(one, f"{name}-streams"),
        matrix.picture(one, f"{name}-routes", known),
        histograms.of_routes([one], f"{name}-route-histogram"),
    )


_DRAWERS: dict[Shape, Drawer] = {
    Shape.DENSE: _dense,
    Shape.SWEEP: _sweep,
    Shape.LOADED: _loaded,
    Shape.VICTIMS: _victims,
    Shape.STREAMS: _streams,
    Shape.ALGORITHMS: lambda one, name, _known: algorithms.pictures(one, f"{name}-algorithms"),
}


def side_by_side(series: Sequence[RunAtSize], name: str, *, sweeps: bool = True) -> list[Picture]:
    """Overlays several runs: each kind of picture shows the runs that have it. `sweeps` includes pictures
    over all sizes, which do not depend on the chosen size."""
    if len(series) < 2:
        return []
    found: list[Picture] = []
    sweeping = [one for one in series if one.view.shape is Shape.SWEEP]
    if sweeps and len(sweeping) > 1:
        found += _sweeps(sweeping, name)
    under_load = [one for one in series if one.view.shape is Shape.LOADED]
    if sweeps and under_load:
        each = [(one.name, *messages(one.view.measured())) for one in under_load]
        found += _there(cloud.several(each, f"{name}-loaded"))
    # An axis means the same only within a pattern, so only runs of one pattern share a picture.
    by_phase = [one for one in series if one.view.shape is Shape.DENSE]
    for pattern in dict.fromkeys(one.view.pattern for one in by_phase):
        dense = [one for one in by_phase if one.view.pattern == pattern]
        if len(dense) > 1:  # a picture that only one of them has compares nothing
            laid = _there(*_laid_over(dense, f"{name}-{pattern}"))
            found += [picture for picture in laid if len(set(picture.columns["run"])) > 1]
    return found

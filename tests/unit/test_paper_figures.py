"""`report --figures`: the page's pictures as files for papers."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.digest import digest
from crosscut.base.errors import UsageError
from crosscut.reports import charts, paper
from crosscut.reports.html.pictures import cloud, conditions, histograms, matrix, run_pictures
from crosscut.reports.html.pictures.picture import Picture, RunAtSize

pytest.importorskip("matplotlib")
SIZES = np.repeat([1e3, 1e6], 50)
SECONDS = np.linspace(1e-4, 2e-4, 100)


def runs() -> list[RunAtSize]:
    views = aapc_view(ranks=8), aapc_view(ranks=8, seconds=0.013, slow_route=(2, 5))
    return [RunAtSize(name, view, digest(view.dataset, 1)) for name, view in zip("ab", views, strict=True)]


def pictures() -> list[Picture]:
    """Pictures of every kind that matplotlib draws."""
    fast, slow = runs()
    many = np.tile(SIZES, 60), np.tile(SECONDS, 60)
    found = [
        *run_pictures.pictures(slow, "run1"), *run_pictures.side_by_side([fast, slow], "together"),
        cloud.picture(SIZES, SECONDS, "points"), cloud.picture(*many, "counts"),
        cloud.several([("a", SIZES, SECONDS), ("b", SIZES, 2 * SECONDS)], "sweep"),
        conditions.of_streams(slow, "streams"),
    ]  # fmt: skip
    return [one for one in found if one is not None]


def matrix_of(one: RunAtSize) -> Picture:
    picture = matrix.picture(one, "m")
    assert picture is not None
    return picture


def test_every_kind_of_picture_is_drawn(tmp_path):
    drawn = pictures()
    assert {one.kind for one in drawn} == {*paper._DRAWERS}
    files = paper.write(drawn, tmp_path, overwrite=False)
    names = {file.name for file in files}
    forms = ("svg", "pdf", "csv")
    assert names == {"captions.md", *(f"{one.name}.{form}" for one in drawn for form in forms)}
    for file in files:
        begin = {".svg": b"<?xml", ".pdf": b"%PDF"}.get(file.suffix, b"")
        assert file.read_bytes().startswith(begin)
        assert file.stat().st_size > 40
    said = (tmp_path / "captions.md").read_text()
    assert all(one.title in said and f"`{one.name}.pdf`" in said for one in drawn)


def test_the_heat_map_s_rates_are_its_csv():
    slow = runs()[1]
    files = dict(paper._files([matrix_of(slow)]))
    rows = list(csv.DictReader(io.StringIO(files["m.csv"].decode())))
    assert len(rows) == 8 * 7
    rates = {(int(row["source"]), int(row["destination"])): float(row["bytes_per_second"]) for row in rows}
    routes = slow.digest.routes
    for at, (source, destination) in enumerate(zip(routes.source, routes.destination, strict=True)):
        assert rates[source, destination] == pytest.approx(routes.rates.median[at], rel=0.01)
    assert rates[2, 5] == min(rates.values())


def test_files_that_exist_are_kept_without_force(tmp_path):
    histogram = histograms.of_routes(runs(), "h")
    assert histogram is not None
    paper.write([histogram], tmp_path, overwrite=False)
    before = (tmp_path / "h.csv").read_bytes()
    with pytest.raises(UsageError, match="exists; --force"):
        paper.write([matrix_of(runs()[0]), histogram], tmp_path, overwrite=False)
    assert (tmp_path / "h.csv").read_bytes() == before
    assert not (tmp_path / "m.csv").exists()
    paper.write([histogram], tmp_path, overwrite=True)


def test_names_cannot_be_formulas():
    histogram = histograms.of_routes([replace(one, name=f"={one.name}") for one in runs()], "h")
    assert histogram is not None
    assert b"'=a" in dict(paper._files([histogram]))["h.csv"]


def test_a_series_that_another_hides_is_drawn_wider_beneath_it():
    figure, axes = charts.new("three series, of which the last hides the first")
    for colour, values in enumerate(([1, 2, 3], [3, 2.5, 1], [1, 2.001, 3])):
        charts.plot(axes, colour, "joined", [1, 2, 3], values)
    charts.legend(axes, [])
    hidden, apart, above = axes.get_lines()
    assert hidden.get_linewidth() > above.get_linewidth() == apart.get_linewidth()
    assert hidden.get_markersize() > above.get_markersize()
    assert charts.drawn(figure, ".svg")

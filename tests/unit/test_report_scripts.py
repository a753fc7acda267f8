"""The page's scripts that need no page, run under Node.js and compared with Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.digest import digest
from crosscut.base import units
from crosscut.reports.html import assets
from crosscut.reports.html.pictures import matrix
from crosscut.reports.html.pictures.matrix import quantise
from crosscut.reports.html.pictures.picture import RunAtSize

ASSETS = Path(assets.__file__).parent / "assets"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js (node) to run the page's scripts")


def run(module: str, body: str, given: object, folder: Path) -> object:
    """Returns the value of `body`, which has the module as `m` and a value as `given`. Modules are copied,
    since Node takes a .js file for a module only next to a package.json that says so."""
    for asset in ASSETS.glob("*.js"):
        shutil.copy(asset, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    script = f"""
import * as m from {json.dumps(str(folder / module))};
import {{ readFileSync }} from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(await (async () => {{ {body} }})()));
"""
    (folder / "test.mjs").write_text(script)
    answer = subprocess.run(
        [str(NODE), str(folder / "test.mjs")],
        input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


VALUES = [0.0, 1.0, 9.996, 99.95, 999.4, 999.6, 1234.5, 99_951.0, 1.5e6, 123_456_789.0, 8e10, 2.5e12]


def test_rates_and_times_read_as_in_python(tmp_path):
    body = "return given.map((value) => [m.rate(value), m.seconds(value * 1e-7)]);"
    found = run("format.js", body, VALUES, tmp_path)
    assert found == [[units.rate(value), units.seconds(value * 1e-7)] for value in VALUES]


def test_a_missing_value_is_a_dash(tmp_path):
    assert run("format.js", "return [m.rate(null), m.digits(NaN)];", None, tmp_path) == ["–", "–"]


def test_ticks_drop_trailing_zeros(tmp_path):
    body = "return [m.size(1000), m.size(2500), m.size(1), m.secondsTick(2e-5), m.secondsTick(0.0105)];"
    assert run("format.js", body, None, tmp_path) == ["1 KB", "2.5 KB", "1 B", "20 µs", "10.5 ms"]


def test_csv_is_quoted_and_names_cannot_be_formulas(tmp_path):
    columns = {"name": ['a,"b"', "=HYPERLINK(1)", "@x", "n1"], "rate": [1.5, -2, None, 0]}
    found = run("columns.js", "return m.csv(given);", columns, tmp_path)
    assert found == 'name,rate\r\n"a,""b""",1.5\r\n\'=HYPERLINK(1),-2\r\n\'@x,\r\nn1,0\r\n'


def test_the_page_reads_the_rates_that_python_packed(tmp_path):
    view = aapc_view(ranks=7, slow_route=(2, 5))
    view.dataset["message_seconds"] *= np.random.default_rng(4).uniform(1, 3, (2, 10, 6, 7, 1))
    picture = matrix.picture(RunAtSize("a", view, digest(view.dataset, 1)), "m")
    body = """const cells = await m.unpack(given.cells);
return Array.from(cells, (level) => m.rateOf(level, given));"""
    picture.more["rates"] = [None if np.isnan(rate) else rate for rate in picture.more["rates"]]
    more = {key: picture.more[key] for key in ("cells", "low", "high", "levels", "rates")}
    found = np.array(run("matrix_model.js", body, more, tmp_path), dtype=float).reshape(7, 7)
    routes = digest(view.dataset, 1).routes
    assert found[routes.source, routes.destination] == pytest.approx(
        routes.rates.median, rel=picture.more["error"] + 1e-9
    )
    assert np.isnan(np.diag(found)).all()


@pytest.mark.parametrize("noisy", [True, False])
def test_the_page_unpacks_what_was_packed_by_either_way(tmp_path, noisy):
    cells = np.random.default_rng(1).integers(1, 60 if noisy else 2, (400, 400)).astype(np.uint8)
    packed = matrix.packed(cells)
    body = "const cells = await m.unpack(given); return [cells.length, ...cells.slice(-50)];"
    assert run("matrix_model.js", body, packed, tmp_path) == [160_000, *cells.ravel()[-50:].tolist()]
    assert len(packed) < (1 if noisy else 0.01) * cells.size


def test_an_order_moves_rows_and_columns_alike(tmp_path):
    cells = np.arange(16).reshape(4, 4)
    body = "return Array.from(m.arranged(Uint8Array.from(given.cells), 4, given.order));"
    found = run("matrix_model.js", body, {"cells": cells.ravel().tolist(), "order": [2, 0, 3, 1]}, tmp_path)
    assert np.array(found).reshape(4, 4).tolist() == cells[np.ix_([2, 0, 3, 1], [2, 0, 3, 1])].tolist()


def test_one_slow_route_among_many_stays_visible_when_zoomed_out(tmp_path):
    side = 300
    cells = np.full((side, side), 200, np.uint8)
    cells[123, 257] = 3
    cells[0, :] = 0  # cells that were not measured hide nothing
    body = """const levels = m.pyramid(Uint8Array.from(given), 300);
return levels.map(({ cells, side, span }) =>
  [side, span, Math.min(...Array.from(cells).filter((x) => x)), cells.indexOf(3)]);"""
    found = run("matrix_model.js", body, cells.ravel().tolist(), tmp_path)
    assert [(level[0], level[1]) for level in found] == [(300, 1), (150, 2), (75, 4), (38, 8)]
    for side_, span, slowest, at in found:
        assert slowest == 3
        assert divmod(at, side_) == (123 // span, 257 // span)


def test_each_cell_is_painted_at_its_ranks(tmp_path):
    body = """const levels = m.pyramid(Uint8Array.from([0, 1, 2, 3]), 2);
const image = new Uint32Array(36);
m.paint(image, 6, levels, 2, { left: -0.5, top: 0, scale: 2 }, [10, 11, 12, 13], 99);
return Array.from(image);"""
    assert np.array(run("matrix_model.js", body, None, tmp_path)).reshape(6, 6).tolist() == [
        [99, 10, 10, 11, 11, 99], [99, 10, 10, 11, 11, 99],
        [99, 12, 12, 13, 13, 99], [99, 12, 12, 13, 13, 99],
        [99] * 6, [99] * 6,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "range", "log", "even"])
def test_colours_rise_with_the_rate_on_every_scale(tmp_path, kind):
    rates = np.random.default_rng(2).lognormal(18, 0.7, 5000)
    levels = quantise(rates, rates.min(), rates.max(), 255)
    given = {
        "low": rates.min(),
        "high": rates.max(),
        "levels": 255,
        "rates": [],
        "cells": levels.tolist(),
        "kind": kind,
    }
    body = "return Array.from(m.colourPlaces(m.counted(given.cells, 255), given.kind, given));"
    places = np.array(run("matrix_model.js", body, given, tmp_path), dtype=float)[1:]
    assert (np.diff(places) >= 0).all()
    assert 0 <= places[0] <= places[-1] <= 1
    assert places[-1] - places[0] > 0.9


@pytest.mark.parametrize("kind", ["linear", "range", "log", "even"])
def test_the_legend_says_the_rates_of_its_colours(tmp_path, kind):
    rates = np.random.default_rng(2).lognormal(18, 0.7, 5000)
    levels = quantise(rates, rates.min(), rates.max(), 255)
    given = {
        "low": rates.min(), "high": rates.max(), "levels": 255, "rates": [], "cells": levels.tolist(),
        "kind": kind,
    }  # fmt: skip
    body = """const histogram = m.counted(given.cells, 255);
const places = m.colourPlaces(histogram, given.kind, given);
return [0.1, 0.25, 0.5, 0.75, 0.9].map((place) => {
  const rate = m.rateAtPlace(place, histogram, given.kind, given);
  const away = (level) => Math.abs(m.rateOf(level, given) / rate - 1);
  const levels = Array.from({ length: 255 }, (_, index) => index + 1);
  return [place, places[levels.reduce((best, one) => (away(one) < away(best) ? one : best))]];
});"""
    for place, coloured in run("matrix_model.js", body, given, tmp_path):
        assert coloured == pytest.approx(place, abs=0.03)


def test_a_healthy_network_has_one_colour(tmp_path):
    rates = np.random.default_rng(3).normal(12e6, 0.05e6, 5000)
    levels = quantise(rates, rates.min(), rates.max(), 255)
    given = {"low": rates.min(), "high": rates.max(), "levels": 255, "rates": [], "cells": levels.tolist()}
    body = "return Array.from(m.colourPlaces(m.counted(given.cells, 255), 'linear', given));"
    places = np.array(run("matrix_model.js", body, given, tmp_path), dtype=float)[1:]
    assert places.min() > 0.95


def test_numbers_of_a_legend_differ_where_their_values_do(tmp_path):
    assert run("format.js", "return m.apart(given);", [0, 3, 6], tmp_path) == ["0", "3.00", "6.00"]
    assert run("format.js", "return m.apart(given);", [11.79, 11.792, 11.8], tmp_path) == [
        "11.790", "11.792", "11.800",
    ]  # fmt: skip
    assert run("format.js", "return m.apart(given);", [5, 5, 5], tmp_path) == ["5.00", "5.00", "5.00"]


def test_an_axis_names_all_hosts_or_ranges_of_as_few_as_fit(tmp_path):
    body = """const name = (place) => `n${String(place).padStart(2, "0")}`;
const width = (text) => 7 * text.length;
const at = (room, from = 0, to = 15) => m.nameRanges(name, from, to, room, width).map(({ label }) => label);
return [at(40), at(14), at(1), at(14, 5, 12)];"""
    every, some, none, part = run("names.js", body, None, tmp_path)
    assert every == [f"n{place:02d}" for place in range(16)]
    assert some == ["n00–03", "n04–07", "n08–11", "n12–15"]
    assert none == ["n00–15"]
    # While zoomed in, ranges begin where they do in the whole; one at the edge may have no room.
    assert part == ["n05–07", "n08–11"]
    body = 'return [m.range("a1", "a1"), m.range("n9", "n16"), m.range("vm:3", "vm:12"), m.range("x", "y")];'
    assert run("names.js", body, None, tmp_path) == ["a1", "n9–16", "vm:3–12", "x–y"]


def test_round_numbers_of_a_scale_have_equally_many_decimals(tmp_path):
    assert run("format.js", "return m.alike([11, 11.2, 11.4]);", None, tmp_path) == ["11.0", "11.2", "11.4"]
    assert run("format.js", "return m.alike([0, 5, 10]);", None, tmp_path) == ["0", "5", "10"]


def test_the_map_of_nights_shows_the_cell_farthest_from_usual_and_leaves_usual_ones_clear(tmp_path):
    body = """
const { image, shown } = m.condensed(Uint8Array.from(given), 2, 4, 2);
return [shown, [0, 1, 2, 3].map((at) => [...image.slice(4 * at, 4 * at + 4)]), m.shadeOf(128)[3]];
"""
    # Four hosts of two nights, two hosts a row: 1 is far slower, 0 not measured, 255 far faster.
    cells = [128, 120, 1, 130, 0, 0, 255, 0]
    shown, pixels, usual = run("nights.js", body, cells, tmp_path)
    assert (shown, usual) == (2, 0)
    assert pixels[0] == [217, 95, 2, 235]
    assert pixels[1][:3] == [217, 95, 2]
    assert pixels[2] == [43, 124, 190, 235]
    assert pixels[3] == [127, 127, 127, 40]

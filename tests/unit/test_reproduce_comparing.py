"""Rows, errors and aims; figures of dilated and scaled runs; the picture's axes."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from test_reproduce_experiment import WHOLE, written

from crosscut.base.errors import UsageError
from crosscut.reports import charts
from crosscut.reports.terminal.screen import screen_for
from crosscut.reproduce import comparing, experiment, picture
from crosscut.reproduce import report as telling
from crosscut.reproduce.comparing import SeriesCurve
from crosscut.reproduce.quantities import Scaling, fits, scaled
from crosscut.reproduce.running import MeasuredSeries
from crosscut.run.realm import Realm


@pytest.fixture
def read(tmp_path: Path) -> experiment.Experiment:
    text = WHOLE.replace("[lab]", "[aim]\nmean = 0.05\nworst = 0.1\n[lab]")
    return experiment.read(written(tmp_path, text.replace("published", "outside_the_aim = [4]\npublished")))


def lab(*values: float) -> SeriesCurve:
    return SeriesCurve("one", Realm.EMULATED, (1.0, 2.0, 4.0), values)


def told(
    read: experiment.Experiment, rows: list[comparing.ComparisonRow], found: list[comparing.Summary]
) -> tuple[str, dict[str, Any]]:
    """Returns the output on a terminal, and as JSON."""
    (series, *_) = read.series
    measured = [MeasuredSeries(series, Realm.EMULATED, (), 1.0, 0.0)]
    stream = io.StringIO()
    telling.render(screen_for(stream), read, rows, found, measured)
    document = json.loads(json.dumps(telling.as_json(read, rows, found, [], measured), allow_nan=False))
    return " ".join(stream.getvalue().split()), document


def test_rates_and_times_are_scaled_to_the_intended_network() -> None:
    one = np.asarray([2.0])
    assert scaled(one, Scaling.RATE, 10, 100) == 20  # ten times faster, whatever the message
    assert scaled(one, Scaling.TRANSFER, 10, 100) == 20  # a hundred times the bytes in a tenth of the time
    assert scaled(one, Scaling.LATENCY, 10, 100) == 2


def test_units_fit_their_quantity() -> None:
    assert fits("MB/s", Scaling.RATE)
    assert fits("us", Scaling.LATENCY)
    assert not fits("s", Scaling.RATE)
    assert not fits("MB/s", Scaling.TRANSFER)
    assert not fits("s", Scaling.SHARE)


def test_a_row_has_the_figures_of_its_phase_and_no_other(read: experiment.Experiment) -> None:
    shuffled = SeriesCurve("one", Realm.EMULATED, (4.0, 1.0, 3.0, 2.0), (11.1, 11.3, 99.0, 10.0))
    rows = list(comparing.rows(read, [shuffled]))
    assert [(row.x, row.emulated, row.simulated) for row in rows] == [
        (1.0, 11.3, None),
        (2.0, 10.0, None),
        (4.0, 11.1, None),
    ]


def test_rows_outside_the_aim_do_not_count(read: experiment.Experiment) -> None:
    rows = list(comparing.rows(read, [lab(11.3, 11.2 * 1.02, 50.0)]))
    (summary,) = comparing.summaries(read, rows)
    assert summary.rows == 2
    assert summary.worst == pytest.approx(0.02)
    assert summary.met is True


def test_figures_that_the_machine_limited_are_marked_and_do_not_count(read: experiment.Experiment) -> None:
    curve = replace(lab(11.3, 5.0, 11.1), limited=(False, True, False))
    rows = list(comparing.rows(read, [curve]))
    assert [row.emulated_limited for row in rows] == [False, True, False]
    (summary,) = comparing.summaries(read, rows)
    assert (summary.rows, summary.left_out, summary.worst, summary.met) == (1, 1, 0, True)
    said, document = told(read, rows, [summary])
    assert "5 !" in said
    assert "1 of 2 left out: the machine was the limit" in said
    assert [row["emulated_limited"] for row in document["rows"]] == [False, True, False]
    assert document["summary"][0]["left_out"] == 1


def test_if_the_machine_limited_all_figures_there_is_no_error_and_no_verdict(
    read: experiment.Experiment,
) -> None:
    rows = list(comparing.rows(read, [replace(lab(11.3, 5.0, 11.1), limited=(True, True, True))]))
    (summary,) = comparing.summaries(read, rows)
    assert (summary.rows, summary.left_out, summary.met) == (0, 2, None)
    said, document = told(read, rows, [summary])
    assert "2 of 2 left out" in said
    assert "met" not in said
    assert document["summary"][0]["mean_error"] is None


def test_simulated_figures_are_never_limited_by_a_machine(read: experiment.Experiment) -> None:
    curves = [
        replace(lab(1.0, 1.0, 1.0), limited=(True,) * 3),
        replace(lab(11.3, 11.2, 11.1), place=Realm.SIMULATED),
    ]
    emulated, simulated = comparing.summaries(read, list(comparing.rows(read, curves)))
    assert (emulated.left_out, simulated.left_out, simulated.rows) == (2, 0, 2)


def test_reckoned_figures_count_separately_and_have_no_aim(read: experiment.Experiment) -> None:
    (one,) = read.series
    other = replace(one, name="two", published=(), calculated=(10.0, 10.0, 10.0))
    both = replace(read, series=(one, other))
    curves = [lab(11.3, 11.2, 11.1), replace(lab(20.0, 10.0, 10.0), series="two")]
    rows = list(comparing.rows(both, curves))
    published, calculated = comparing.summaries(both, rows)
    assert (published.against, published.worst, published.met) == ("published", 0, True)
    assert (calculated.against, calculated.worst, calculated.met) == ("calculated", 1, None)
    said, _ = told(both, rows, [published, calculated])
    assert "compared with calculated ones, mean error" in said


def test_fits_count_apart_from_predictions(read: experiment.Experiment) -> None:
    (one,) = read.series
    other = replace(one, name="two", fitted="the rate of its links")
    both = replace(read, series=(one, other))
    curves = [lab(11.3, 11.2, 11.1), replace(lab(22.6, 11.2, 11.1), series="two")]
    rows = list(comparing.rows(both, curves))
    predicted, fitted = comparing.summaries(both, rows)
    assert (predicted.against, predicted.worst, predicted.met) == ("published", 0, True)
    assert (fitted.against, fitted.worst, fitted.met) == ("fitted", pytest.approx(1), None)
    said, _ = told(both, rows, [predicted, fitted])
    assert "two: no prediction: the rate of its links" in said
    assert "figures fitted to what is published" in said


def test_a_figure_of_the_whole_run_may_be_of_some_phases(read: experiment.Experiment) -> None:
    (one,) = read.series
    whole = replace(one, quantity_name="mean rate", phases=(1, 2), published=(11.0,), outside_the_aim=())
    curve = replace(lab(11.0), x=(0.0,), values=(11.0,))
    (row,) = comparing.rows(replace(read, series=(whole,)), [curve])
    assert (row.x, row.emulated, row.error(row.emulated)) == (None, 11.0, 0)


def test_an_aim_is_missed_by_the_mean_or_by_the_worst(read: experiment.Experiment) -> None:
    def met(first: float, second: float, aims: experiment.Experiment = read) -> bool | None:
        rows = list(comparing.rows(aims, [lab(11.3 * first, 11.2 * second, 11.1)]))
        return next(comparing.summaries(aims, rows)).met

    assert met(0.96, 1.04)
    assert met(0.92, 1.09) is False  # the mean
    assert met(1.0, 0.89) is False  # the worst
    assert met(0.5, 2.0, replace(read, aim=experiment.Aim())) is None


def test_figures_that_were_not_measured_have_no_error(read: experiment.Experiment) -> None:
    rows = list(comparing.rows(read, [lab(11.3, float("nan"), 11.1)]))
    assert rows[1].emulated is None
    assert rows[1].error(rows[1].emulated) is None


def words(svg: Path) -> list[str | None]:
    return [one.text for one in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_logarithmic_axis_labels_its_few_values() -> None:
    named = []
    for own in ([2, 4, 8], []):
        _, axes = charts.new("t")
        charts.plot(axes, 0, "dots", range(1, 90), [1.0] * 89)
        charts.by_powers(axes, "x", own=own)
        named.append([tick.get_text() for tick in axes.get_xticklabels()])
    assert named[0] == ["2", "4", "8"]
    assert {"1", "2", "5", "10", "20", "50"} <= set(named[1])
    assert not {"4", "8", "11"} & set(named[1])


def test_numbers_of_an_axis_are_short() -> None:
    _, axes = charts.new("t")
    assert axes.yaxis.get_major_formatter().format_ticks([0, 0.25, 9000, 12500, 3e6, 2e9]) == [
        "0", "0.25", "9000", "12.5k", "3M", "2G",
    ]  # fmt: skip


def test_charts_are_reproducible_and_names_with_a_dollar_stay_text(tmp_path: Path) -> None:
    for form in charts.FORMS:
        made = []
        for _ in range(2):
            figure, axes = charts.new("5 $ and x_1 $")
            charts.plot(axes, 0, "rings", [1, 2], [3, 4])
            charts.legend(axes, [("a series", 0, "rings")])
            made.append(charts.drawn(figure, form))
        assert made[0] == made[1]
        (tmp_path / f"x{form}").write_bytes(made[0])
    assert {"5 $ and x_1 $", "a series"} <= set(words(tmp_path / "x.svg"))


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'crosscut\[charts\]'"):
        charts.check(tmp_path / "x.svg")


@pytest.mark.parametrize("form", experiment.FORMS)
def test_every_form_draws_a_picture_even_of_almost_no_data(
    form: str, read: experiment.Experiment, tmp_path: Path
) -> None:
    asked = replace(
        read, source="A & B <c>", pictures=(experiment.ExperimentPicture(form, "<title>", "x", "y"),)
    )
    full = replace(lab(1.0, 2.0, 3.0), routes=(1.0, 2.0), route_bytes=(10, 1000), phase_x=(1.0,),
                   phase_rates=(2.0,))  # fmt: skip
    for curves in ([full], []):
        picture.write(asked, list(comparing.rows(asked, curves)), curves, tmp_path)
        assert {"<title>", "A & B <c>", "x", "y"} <= set(words(tmp_path / "picture.svg"))
        assert "nan" not in (tmp_path / "picture.svg").read_text()


def test_several_pictures_are_separate_files_each_with_its_own_axes(
    read: experiment.Experiment, tmp_path: Path
) -> None:
    forms = ("histogram", "phase histogram")
    asked = replace(
        read, pictures=tuple(experiment.ExperimentPicture(form, f"of {form}", "x", "y") for form in forms)
    )
    curve = replace(lab(1.0, 2.0, 3.0), routes=(2.0,) * 9, phase_x=(1.0, 2.0), phase_rates=(3.0, 3.0))
    drawn = picture.write(asked, [], [curve], tmp_path)
    names = ["picture.svg", "picture.png", "picture-2.svg", "picture-2.png"]
    assert drawn == [tmp_path / name for name in names]
    routes, phases = (words(path) for path in drawn[::2])
    assert "of histogram" in routes
    assert "of phase histogram" in phases
    # The axis of nine routes has an 8; the axis of two phases ends at 2.
    assert "8" in routes
    assert "8" not in phases


def test_figures_that_the_machine_limited_look_different(read: experiment.Experiment, tmp_path: Path) -> None:
    curve = replace(lab(1.0, 2.0, 3.0), limited=(False, True, False), phase_x=(1.0, 2.0),
                    phase_rates=(2.0, 3.0), phase_limited=(True, False))  # fmt: skip
    for form in ("points", "phases"):
        asked = replace(read, pictures=(experiment.ExperimentPicture(form, "t", "x", "y"),))
        picture.write(asked, list(comparing.rows(asked, [curve])), [curve], tmp_path)
        text = (tmp_path / "picture.svg").read_text()
        assert picture.LIMITED in text
        assert text.count("fill-opacity: 0.3") == 2  # the figure, and the legend
        fine = replace(curve, limited=(False,) * 3, phase_limited=(False,) * 2)
        picture.write(asked, list(comparing.rows(asked, [fine])), [fine], tmp_path)
        assert picture.LIMITED not in (tmp_path / "picture.svg").read_text()
    asked = replace(read, pictures=(experiment.ExperimentPicture("histogram", "t", "x", "y"),))
    many = replace(curve, routes=(1.0, 2.0))
    picture.write(asked, [], [many], tmp_path)
    assert "was the limit of 1 of 2 phases of one" in (tmp_path / "picture.svg").read_text()


def test_differences_of_the_lab_are_reported(read: experiment.Experiment) -> None:
    (series,) = read.series
    other = replace(series, lab_parameters=series.parameters | {"cumulative": "false"})
    said = telling.conditions([MeasuredSeries(other, Realm.EMULATED, (), 10.0, 0.0)])
    assert "emulated: messages of 500 KB in place of 10 MiB; times scaled" in said
    assert "emulated: cumulative false in place of true" in said
    assert telling.conditions([MeasuredSeries(other, Realm.SIMULATED, (), 1.0, 0.0)]) == []
    uneven = replace(other, simulator={"share-spread": "0.2"})
    assert telling.conditions([MeasuredSeries(uneven, Realm.SIMULATED, (), 1.0, 0.0)]) == [
        "simulated: share-spread 0.2"
    ]


def test_one_common_dilation_is_reported_once_and_different_ones_by_series(
    read: experiment.Experiment,
) -> None:
    (one,) = read.series
    other = replace(one, name="two", lab_messages=one.messages)
    same = [MeasuredSeries(series, Realm.EMULATED, (), 10.0, 0.0) for series in (one, other)]
    assert telling.conditions(same)[0] == "emulated: all rates divided by 10, rates shown times 10"
    apart = [same[0], replace(same[1], dilation=100.0)]
    assert telling.conditions(apart)[:2] == [
        "emulated: rates of one divided by 10, rates shown times 10",
        "emulated: rates of two divided by 100, rates shown times 100",
    ]


def test_the_switch_of_the_lab_is_always_recorded_and_reported_unless_it_is_the_default(
    read: experiment.Experiment,
) -> None:
    (one,) = read.series
    plain = MeasuredSeries(one, Realm.EMULATED, (), 1.0, 0.0)
    cut = replace(plain, switch="user,forwarding=cut", series=replace(one, name="two"))
    words = "emulated: carried by crosscut-switch (forwarding=cut)"
    assert telling.conditions([cut, cut])[0] == words
    assert telling.conditions([plain, cut])[0] == f"{words}, of two"
    assert not any("carried" in said for said in telling.conditions([plain]))
    simulated = replace(cut, place=Realm.SIMULATED)
    runs = telling.as_json(read, [], [], [], [plain, cut, simulated])["runs"]
    assert [run["switch"] for run in runs] == ["kernel", "user,forwarding=cut", None]


def test_the_mark_after_an_error_is_explained(read: experiment.Experiment) -> None:
    rows = list(comparing.rows(read, [lab(11.3, 11.2, 11.1)]))
    said, _ = told(read, rows, [])
    assert " 0.0 % *" in said
    assert "* outside the experiment's aim" in said
    said, _ = told(read, rows[:2], [])
    assert "*" not in said


def test_each_quantity_is_explained_once(read: experiment.Experiment) -> None:
    (one,) = read.series
    both = replace(
        read, series=(one, replace(one, name="two", quantity_name="joint rate"), replace(one, name="3"))
    )
    text, document = told(both, [], [])
    assert text.count("median rate: median over all routes of a phase") == 1
    assert "joint rate: of all routes together" in text
    assert document["quantities"] == {"one": "median rate", "two": "joint rate", "3": "median rate"}
    assert len(document["compared"]) == 2


def test_axis_labels_name_their_unit(read: experiment.Experiment) -> None:
    (one,) = read.series
    rows = list(comparing.rows(read, [lab(11.3, 11.2, 11.1)]))
    assert telling.places_on_x(read, rows) == "phase"
    labelled = replace(read, pictures=(experiment.ExperimentPicture("points", "t", "pairs at once", "y"),))
    assert "at: pairs at once" in told(labelled, rows, [])[0]
    sizes = replace(one, by_size=True, messages=(300_000, 1_000_000), phases=(), published=())
    by_size = replace(labelled, series=(sizes,))
    curve = SeriesCurve("one", Realm.EMULATED, (300_000.0, 1_000_000.0), (1.0, 2.0))
    said, _ = told(by_size, list(comparing.rows(by_size, [curve])), [])
    assert "300 KB" in said
    assert "1 MB" in said
    assert "at:" not in said


@pytest.mark.parametrize(("x", "said"), [(3.0, "3"), (1e6, "1000000"), (2.5, "2.5"), (1e-7, "0.0000001")])
def test_numbers_of_an_axis_have_no_exponent(x: float, said: str) -> None:
    assert telling.shown_x(x, False) == said


def test_figures_that_agree_with_the_paper_lie_in_its_empty_ring(read: experiment.Experiment) -> None:
    simulated = SeriesCurve("one", Realm.SIMULATED, (1.0, 2.0, 4.0), (1.0, 2.0, 3.0))
    curves = [lab(1.0, 2.0, 3.0), simulated]
    _, axes = charts.new("t")
    entries = picture._points(axes, read, list(comparing.rows(read, curves)), curves)
    ring, dot, cross = axes.get_lines()
    assert [line.get_marker() for line in (ring, dot, cross)] == ["o", "o", "+"]
    assert [line.get_fillstyle() for line in (ring, dot)] == ["none", "full"]
    assert ring.get_markersize() > dot.get_markersize()
    assert [len(line.get_xdata()) for line in (ring, dot, cross)] == [3, 3, 3]
    assert entries == [
        ("one", 0, "colour"),
        ("published", -1, "rings"),
        ("emulated", -1, "dots"),
        ("simulated", -1, "crosses"),
    ]

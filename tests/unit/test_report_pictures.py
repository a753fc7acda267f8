"""Pictures have the figures of the analysis, in columns that a script can draw."""

import base64
import zlib

import numpy as np
import pytest
from made_runs import aapc_view, pingpong_view

from crosscut.analysis.figures.digest import digest
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.host_facts import HostFacts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.structure.model import Group, Structure
from crosscut.reports.html import story
from crosscut.reports.html.pictures import cloud, histograms, matrix, phases, ranks, run_pictures
from crosscut.reports.html.pictures import sweep as sweeps
from crosscut.reports.html.pictures.matrix import LEVELS, quantise
from crosscut.reports.html.pictures.picture import RunAtSize


def series(view, name="a run", size=-1):
    return RunAtSize(name, view, digest(view.dataset, view.measured_sizes()[size]))


def cells_of(picture):
    side = picture.more["ranks"]
    return np.frombuffer(zlib.decompress(base64.b64decode(picture.more["cells"])), np.uint8).reshape(
        side, side
    )


def test_the_slowest_route_is_the_darkest_cell_in_the_row_of_its_sender():
    picture = matrix.picture(series(aapc_view(ranks=6, slow_route=(4, 1))), "m")
    cells = cells_of(picture)
    assert cells[4, 1] == 1
    assert (cells[~np.eye(6, dtype=bool)] == 1).sum() == 1
    assert (np.diag(cells) == 0).all()
    assert picture.more["high"] == pytest.approx(2 * picture.more["low"], rel=0.01)
    assert "n005 → n002" in picture.caption


def test_a_level_is_within_half_a_step_of_its_rate():
    rates = np.geomspace(1e3, 1e9, 10_000)
    levels = quantise(rates, 1e3, 1e9, LEVELS).astype(float)
    back = 1e3 * 1e6 ** ((levels - 1) / (LEVELS - 1))
    assert np.abs(np.log(back / rates)).max() <= np.log(1e6) / (LEVELS - 1) / 2 * 1.0001
    means, error = matrix.means(rates, levels.astype(np.uint8), LEVELS)
    assert error <= 1e6 ** (1 / (LEVELS - 1)) - 1
    assert np.abs(means[levels.astype(int)] / rates - 1).max() == pytest.approx(error)
    assert quantise(np.array([np.nan, 5.0]), 5.0, 5.0, LEVELS).tolist() == [0, 1]


def test_the_matrix_can_be_ordered_by_inferred_group():
    groups = (Group("left", (0, 3)), Group("right", (1, 2)))
    structure = Structure(groups, (), (1.0,) * 4, (1.0,) * 4)
    orders = matrix.orders(series(aapc_view(ranks=4)), structure)
    assert [order["label"] for order in orders] == ["by rank", "by inferred group", "by rate"]
    assert orders[1]["rank_at"].tolist() == [0, 3, 1, 2]
    assert orders[1]["ends"].tolist() == [2]
    assert orders[1]["names"] == ["left", "right"]


def test_a_structure_of_another_number_of_ranks_is_ignored():
    structure = Structure((Group("a", (0,)), Group("b", (1,))), (), (1.0,) * 2, (1.0,) * 2)
    labels = [order["label"] for order in matrix.orders(series(aapc_view(ranks=4)), structure)]
    assert labels == ["by rank", "by rate"]


def test_a_histogram_counts_every_value_once_over_bins_that_runs_share():
    alone, slow = series(aapc_view(ranks=8)), series(aapc_view(ranks=8, seconds=0.013), "slow")
    picture = histograms.of_routes([alone, slow], "h")
    counts = np.array(picture.columns["count"])
    runs = np.array(picture.columns["run"])
    assert counts[runs == "a run"].sum() == counts[runs == "slow"].sum() == 56
    widths = np.array(picture.columns["to"]) - np.array(picture.columns["from"])
    assert widths == pytest.approx(np.full(len(widths), widths[0]))


def test_the_few_slow_routes_of_one_host_are_drawn_and_the_width_of_bars_is_said():
    view = aapc_view(ranks=40, repetitions=1)
    view.dataset["message_seconds"][:, :, :, 6] /= 0.58
    picture = histograms.of_routes([series(view)], "h")
    assert sum(picture.columns["count"]) == 40 * 39
    assert "not drawn" not in picture.caption
    width = picture.columns["to"][0] - picture.columns["from"][0]
    assert f"Each bar is {width / picture.x.unit[0]:.4g} MB/s wide." in picture.caption


@pytest.mark.parametrize("draw", [histograms.of_routes, histograms.of_phases])
def test_no_bar_is_narrower_than_a_step_of_the_clock(draw):
    def width(step_seconds, **more):
        # Routes take 10.00 to 10.45 ms in steps of 50 µs.
        clock = {"clock": {"resolution_seconds": step_seconds}} | more
        view = aapc_view(ranks=10, repetitions=1, attributes=clock)
        view.dataset["message_seconds"][1] += 5e-5 * np.arange(9)[:, None, None]  # and rank_seconds with it
        picture = draw([series(view)], "h")
        assert sum(picture.columns["count"]) in (9, 90)
        return picture.columns["to"][0] - picture.columns["from"][0]

    # 100 MB/s by a step of 500 µs in 10 ms is 5 MB/s.
    assert width(5e-4) >= 5e6
    assert width(1e-9) <= 2.5e6
    assert width(5e-4, backend={"name": "sim"}) == width(1e-9)


def test_a_value_too_far_out_to_draw_is_reported():
    view = aapc_view(ranks=8, repetitions=1)
    view.dataset["message_seconds"][1, 0] *= 1 + 0.01 * np.arange(7)[:, None, None]
    view.dataset["message_seconds"][1, 0, 0, 0] *= 1000
    picture = histograms.of_routes([series(view)], "h")
    assert sum(picture.columns["count"]) == 55
    assert "1 route below" in picture.caption


def test_the_curve_ends_at_all_routes_and_shares_only_rise():
    picture = histograms.curve([series(aapc_view(ranks=40, slow_route=(0, 1)))], "c")
    shares = np.array(picture.columns["share"])
    assert shares[-1] == 1
    assert (np.diff(shares) > 0).all()
    assert shares[0] == pytest.approx(1 / (40 * 39))


def test_phases_are_drawn_at_the_distance_in_their_label():
    labels = {"phase_labels": ["distance 3", "distance 1", "distance 2"]}
    picture = phases.picture([series(aapc_view(ranks=4, attributes=labels))], "p")
    assert picture.columns["at"] == [3, 1, 2]
    assert picture.x.label == "communication distance"


def test_a_label_with_an_absurd_number_does_not_name_an_axis():
    view = aapc_view(ranks=4, attributes={"phase_labels": [f"distance {10**30}", "distance 1", "distance 2"]})
    picture = phases.picture([series(view)], "p")
    assert picture is not None
    assert picture.x.label == "phase"


def test_phases_without_numeric_labels_keep_their_numbers():
    picture = phases.picture(
        [series(aapc_view(ranks=4, attributes={"phase_labels": ["idle", "storm", "x"]}))], "p"
    )
    assert picture.columns["at"] == [1, 2, 3]
    assert picture.x.label == "phase"


def test_the_slowest_rank_is_named():
    view = aapc_view(ranks=5)
    view.dataset["rank_seconds"][..., 3] *= 4
    picture = ranks.picture([series(view)], "r")
    assert "The slowest rank, n004," in picture.caption
    assert int(np.argmin(picture.columns["rate"])) == 3


def test_sweeps_of_several_runs_share_one_picture():
    found = sweep([pingpong_view().samples(index) for index in range(3)])
    rate, time = sweeps.pictures([("one", found), ("two", found)], "s")
    assert rate.columns["run"] == ["one"] * 3 + ["two"] * 3
    assert rate.columns["rate"][2] == pytest.approx(1e6 / (10e-6 + 1e-3))
    assert "one: latency 10.00 µs" in time.caption


def test_a_cloud_of_very_many_messages_is_counted_and_loses_none():
    random = np.random.default_rng(3)
    sizes, seconds = random.integers(1, 10**6, 50_000).astype(float), random.lognormal(-9, 1, 50_000)
    picture = cloud.picture(sizes, seconds, "c")
    assert sum(picture.columns["count"]) == 50_000
    assert len(picture.columns["count"]) <= cloud.CELLS[0] * cloud.CELLS[1]


def test_a_run_of_one_phase_and_two_ranks_has_nothing_to_draw_by_phase():
    view = pingpong_view(sizes=(1000,))
    assert phases.picture([series(view)], "p") is None
    assert histograms.of_routes([series(view)], "h") is None
    assert run_pictures.pictures(series(view), "run1") == []


def test_only_runs_of_the_same_pattern_are_overlaid():
    other = {"pattern": {"name": "pairwise"}}
    mixed = [series(aapc_view()), series(aapc_view(attributes=other), "b")]
    assert run_pictures.side_by_side(mixed, "together") == []
    alike = [series(aapc_view()), series(aapc_view(), "b")]
    names = [picture.name for picture in run_pictures.side_by_side(alike, "together")]
    assert "together-aapc-phases" in names
    assert "together-aapc-route-histogram" in names


def test_runs_under_load_are_overlaid_by_size():
    rng = np.random.default_rng(1)
    sizes = np.repeat([100.0, 10_000.0], 500)
    quick = rng.lognormal(-9, 0.1, 1000)
    found = cloud.several([("idle", sizes, quick), ("busy", sizes, 3 * quick)], "m")
    assert found is not None
    assert found.columns["run"] == ["idle", "idle", "busy", "busy"]
    assert found.columns["size_bytes"] == pytest.approx([100, 10_000] * 2)
    seconds, high = (np.array(found.columns[key]) for key in ("seconds", "seconds_high"))
    assert seconds[2:] == pytest.approx(3 * seconds[:2])
    assert (high > seconds).all()
    assert "busy: 1,000 messages, half of them within" in found.caption
    assert cloud.several([("idle", sizes, quick), ("none", sizes, np.full(1000, np.nan))], "m") is None


def test_very_different_networks_get_a_logarithmic_axis_and_bins():
    near, far = series(aapc_view(ranks=9), "slow"), series(aapc_view(ranks=9, seconds=0.0005), "fast")
    pictures = [
        phases.picture([near, far], "p"), ranks.picture([near, far], "r"),
        histograms.of_routes([near, far], "h"), histograms.curve([near, far], "c"),
    ]  # fmt: skip
    assert [(one.y if one.kind in ("phases", "ranks") else one.x).log for one in pictures] == [True] * 4
    assert all("logarithmic" in one.caption for one in pictures)
    bars = pictures[2]
    assert sum(bars.columns["count"]) == 2 * 9 * 8
    assert len(set(np.round(np.array(bars.columns["to"]) / np.array(bars.columns["from"]), 6))) == 1
    alike = [near, series(aapc_view(ranks=9, seconds=0.005), "other")]
    assert not phases.picture(alike, "p").y.log


def test_no_conclusion_comes_before_alarms():
    slow = Finding(FindingKind.SLOW_HOST, "n1 is slow")
    none = of_run.machine_only("this machine's CPU was the bottleneck", HostFacts(), ("n1", "n2"))
    found = story.told([slow, *none], series(aapc_view()), [])
    assert [one.text for one in found[:2]] == [
        "No conclusion about the network: this machine's CPU was the bottleneck.",
        "n1 is slow.",
    ]

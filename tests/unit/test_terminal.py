"""What `show` draws of runs with known figures."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import SAMPLE, aapc_view, pingpong_view
from rich.console import Console

from crosscut.analysis.figures.cautions import CautionKind
from crosscut.analysis.figures.pingpong import sweep
from crosscut.analysis.findings.model import Effect
from crosscut.analysis.stats import binning
from crosscut.analysis.structure.model import Limit, Reach
from crosscut.base.errors import UsageError
from crosscut.reports.terminal import findings, headline
from crosscut.reports.terminal import run as terminal
from crosscut.reports.terminal.glyphs import ASCII, UNICODE, Glyphs
from crosscut.reports.terminal.plot import PlotColumns, bar, column_plot, histogram_plot, scatter_plot
from crosscut.reports.terminal.screen import Rows, Screen, screen_for
from crosscut.reports.view import View
from crosscut.reports.words import about, change, figures, sentences
from crosscut.reports.words.sentences import figures_of
from crosscut.run.format import SKEW


def drawn(view: View, *, width: int = 100, glyphs: Glyphs = UNICODE, size: int | None = None) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, color_system=None)
    terminal.render(Screen(console, glyphs), view, size)
    return stream.getvalue()


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_header_has_pattern_place_time_and_settings() -> None:
    text = one_line(drawn(aapc_view(ranks=4)))
    assert "aapc over tcp: 4 ranks, 3 phases" in text
    assert "hosts: 4 nodes (n001 … n004), 1 rank on each" in text
    assert "2025-01-31 14:25:01 UTC, took 8.0 s" in text
    assert (
        "start skew: median 2.0 µs, at most 5.0 µs; 10 repetitions; polling waits; clock resolution 1.0 ns"
        in text
    )


def test_figures_end_with_the_most_important_finding() -> None:
    last = one_line(drawn(aapc_view(ranks=4)).split("\n\n")[-1])
    assert last.startswith(
        "– nothing stands out: every host reaches the same rate under this load; details: "
    )
    assert last.endswith("crosscut show --findings made.zarr")
    assert "details: " not in drawn(aapc_view(ranks=4, attributes={"state": "stopped"}))


def test_unequal_numbers_of_ranks_per_node_are_a_caution() -> None:
    view = aapc_view(ranks=4)
    view.dataset["node"] = (("rank",), np.array([0, 1, 2, 0], np.int32))
    assert "nodes carry 1 to 2 ranks (2: n001)" in one_line(drawn(view))
    assert "nodes carry" not in drawn(aapc_view(ranks=4))


def test_few_routes_are_all_listed_and_of_many_those_slower_than_the_median() -> None:
    def listed(ranks: int) -> int:
        return sum(" → " in line for line in drawn(aapc_view(ranks=ranks, slow_route=(0, 1))).splitlines())

    few, many = listed(3), listed(4)
    assert few >= 6
    assert many < 6


def test_the_slowest_route_is_named_with_rate_and_interval() -> None:
    text = drawn(aapc_view(ranks=4, slow_route=(1, 3)))
    row = next(line for line in text.splitlines() if line.startswith("n002 "))
    assert row.split() == ["n002", "→", "n004", "49.78", "49.60", "–", "49.95", "50", "%", "10"]


def test_among_equals_none_is_called_the_slowest() -> None:
    text = one_line(drawn(aapc_view()))
    assert "rate 99.55 MB/s [99.21 – 99.90], in each of 3 phases" in text
    assert "No route is more than 5 % slower than the median, 99.6 MB/s." in text
    assert "all at 99.6 MB/s" in text
    assert "median 99.6 MB/s over all phases; no rank is more than 5 % slower than the median" in text
    assert "Slowest routes" not in text
    assert "slowest" in one_line(drawn(aapc_view(slow_route=(1, 3))))


def test_without_a_latency_none_is_named() -> None:
    view = pingpong_view()
    view.dataset["message_seconds"][:] = (
        np.asarray(view.dataset["size"].values).reshape(-1, 1, 1, 1, 1) * 1e-9
    )
    text = one_line(drawn(view))
    assert "latency unknown" in text
    assert re.search(r"peak rate 1[.0]* GB/s.* at every size", text)
    assert "LogGP" not in text


def test_messages_without_bytes_have_times_and_no_rates() -> None:
    text = drawn(aapc_view(sizes=(0,)))
    assert "0 B: the median message takes" in text
    assert "B/s" not in text


def test_details_are_of_the_requested_size() -> None:
    view = aapc_view()
    assert "1 KB messages" in drawn(view, size=1000)
    assert "1 MB messages" in drawn(view)
    with pytest.raises(UsageError, match="it has 1 KB, 1 MB"):
        drawn(view, size=12)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("made", [aapc_view(ranks=12), aapc_view(ranks=200, repetitions=2), pingpong_view()])
def test_nothing_is_wider_than_the_terminal_and_ascii_is_ascii(
    width: int, glyphs: Glyphs, made: View
) -> None:
    text = drawn(made, width=width, glyphs=glyphs)
    assert max(map(len, text.splitlines())) <= width
    if glyphs is ASCII and width >= 60:
        assert text.isascii()


def test_a_decrease_keeps_its_sign_in_ascii() -> None:
    assert ASCII.plain(change.signed(-0.48)) == "-48 %"
    assert ASCII.plain("t = α + m/β") == "t = alpha + m/beta"


def test_a_field_is_named_in_characters_that_the_stream_has() -> None:
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding="ascii") as stream:
        screen_for(stream).field("t = α + m/β", "[µs]")
        stream.flush()
        assert written.getvalue().decode().split() == ["t", "=", "alpha", "+", "m/beta", "[us]"]


def test_a_dash_in_a_table_has_a_reason_and_a_column_of_dashes_is_left_out() -> None:
    rows = Rows("<what", "some", "none", "?more", dash="not measured")
    rows.add("one", "1", "–", "")
    rows.add("two", "–", "–", "–")
    screen = Screen(Console(file=(stream := io.StringIO()), width=80), UNICODE)
    screen.table(rows)
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["what", "some"], ["─" * 11], ["one", "1"], ["two", "–"], ["–:", "not", "measured"]
    ]  # fmt: skip


def test_a_table_that_is_too_wide_is_split_and_no_number_is_cut() -> None:
    names = ["ring", "recursive doubling", "Rabenseifner", "binomial trees", "library"]
    rows = Rows("size", *names)
    rows.add("256 KB", *("65.26 ms *" for _ in names))
    screen = Screen(Console(file=(stream := io.StringIO()), width=60), UNICODE)
    screen.table(rows)
    text = stream.getvalue()
    assert text.count("65.26 ms *") == len(names)
    assert text.count("256 KB") == 2
    assert "…" not in text


def test_a_field_never_breaks_within_a_figure() -> None:
    screen = Screen(Console(file=(stream := io.StringIO()), width=40), UNICODE)
    screen.field("slowest", "with 2.6 MB/s [2.1 – 3.1] or 90 % of it")
    assert "[2.1 – 3.1]" in stream.getvalue()


def test_a_ping_pong_shows_latency_and_peak() -> None:
    text = one_line(drawn(pingpong_view()))
    assert "latency 10.00 µs" in text
    assert "half round trip" in text
    assert "peak rate 990.1 MB/s" in text


def test_a_ping_pong_of_one_size_has_a_time_but_no_latency() -> None:
    text = drawn(pingpong_view(sizes=(1_000_000,)))
    assert "time          1.010 ms" in text
    assert "latency" not in text
    assert "half peak" not in text


def test_figures_over_several_pairs_say_so() -> None:
    one = pingpong_view().samples(0)
    assert figures.latency(sweep([one])).endswith("at 1 B")
    back = np.full_like(one.message_seconds, np.nan)
    back[:, 0, 1, 0] = 2e-5
    both = replace(
        one,
        peer=np.concatenate([one.peer, np.array([[[-1], [0]]], np.int32)]),
        message_seconds=np.concatenate([one.message_seconds, back], axis=1),
        bytes=np.concatenate([one.bytes] * 2),
    )
    assert figures.latency(sweep([both])).endswith("at 1 B, median of 2 pairs")


def cautions(view: View) -> list[str]:
    return [caution.kind.value for caution in about.beware(view, [view.samples(1)])]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, []),
        ({"state": "running"}, ["unfinished"]),
        ({"sync": {"skew_median_seconds": 6e-4}}, ["skew"]),  # of 10 ms: 6 %
        ({"clock": {"resolution_seconds": 1e-9, "cost_seconds": 6e-4}}, ["clock too coarse"]),
        ({"clock": {"resolution_seconds": 4e-4}}, []),
        ({"failed_ranks": [{"rank": 3, "node": "n004", "reason": "silent"}]}, ["failed ranks"]),
        ({"backend": {"name": "null"}}, ["null backend"]),
    ],
)
def test_a_run_is_shown_with_its_cautions(attributes: dict[str, Any], expected: list[str]) -> None:
    assert cautions(aapc_view(attributes=attributes, seconds=10e-3, repetitions=20)) == expected


def test_each_phase_is_compared_with_its_own_skew() -> None:
    view = aapc_view(seconds=10e-3, repetitions=20)
    skew = np.full((2, 20, 3), 1e-6)
    skew[1, :, 2] = 6e-4
    skew[1, 0, 0] = 1.0  # one accident
    view.dataset[SKEW] = ("size", "repetition", "phase"), skew
    (caution,) = about.beware(view, [view.samples(1)])
    assert (
        caution.text
        == "ranks start up to 600 µs apart (median of repetitions), more than 5 % of the duration "
        "of 1 of 3 phases at 1 MB"
    )
    assert "start skew: median 1.0 µs, at most 1.0 s" in one_line(drawn(view))


def test_a_run_took_its_time_without_the_pauses_before_it_was_resumed() -> None:
    stopped, start = "2025-01-31T14:25:04+00:00", "2025-01-31T14:25:06+00:00"
    known = aapc_view(attributes={"resumed": [{"stopped": stopped, "start": start}]})
    assert "2025-01-31 14:25:01 UTC, took 6.0 s" in one_line(drawn(known))
    killed = aapc_view(attributes={"resumed": [{"stopped": None, "start": start}]})
    assert ", took" not in one_line(drawn(killed))


def test_few_repetitions_and_crowded_nodes_are_cautions() -> None:
    assert cautions(aapc_view(repetitions=5)) == ["few repetitions"]
    assert cautions(aapc_view(repetitions=6)) == ["too few repetitions to estimate their correlation"]
    view = aapc_view(ranks=4, repetitions=20)
    view.dataset["node"][:] = 0
    assert cautions(view) == ["oversubscribed"]
    assert "4 ranks, 2 cores" in one_line(drawn(view))


@given(
    st.dictionaries(
        st.sampled_from(["state", "start", "end", "job", "pattern", "backend", "sync", "wait", "clock",
                         "nodes", "failed_ranks", "resumed", "phase_labels", "cadence", "place"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["name", "cores", "interval", "skew_median_seconds", "mode"]), inner
            ),
            max_leaves=6,
        ),
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_attributes_of_any_shape_do_not_crash(attributes: dict[str, Any]) -> None:
    view = aapc_view(ranks=3, repetitions=2, sizes=(1000,), attributes=attributes)
    assert "made.zarr" in drawn(view)
    assert sentences.figures_of(view)


@pytest.mark.parametrize("network", [{}, {"hosts": "many"}, {"hosts": float("inf")}, [], None])
@pytest.mark.parametrize("parameters", [{}, {"share-spread": "wide"}, {"share-spread": []}, None])
def test_a_simulated_run_with_senseless_network_attributes_is_shown(
    network: object, parameters: object
) -> None:
    attributes = {"backend": {"name": "sim", "parameters": parameters}, "network": network}
    assert "of its ? hosts" in one_line(drawn(aapc_view(sizes=(1000,), attributes=attributes)))


def test_a_spread_of_shares_says_which_messages_it_concerns() -> None:
    attributes = {"backend": {"name": "sim", "parameters": {"share-spread": "0.1"}}}
    text = one_line(drawn(aapc_view(sizes=(1000,), attributes=attributes)))
    assert "uneven shares of it (standard deviation 10 %), others are unaffected" in text


def test_computed_values_that_never_vary_have_no_interval() -> None:
    assert figures.Figure(47.5e6, 47.5e6, 47.5e6 * (1 + 1e-9), 5).rate() == "47.50 MB/s"
    assert figures.Figure(47.5e6, 47.3e6, 47.7e6, 5).rate().endswith("]")
    limit = Limit(Reach.LEAVING, ("group0",), 47.5e6, 47.5e6, 47.5e6)
    assert findings.capacity(limit) == "47.5 MB/s"
    assert Effect(0.5, 0.5, 0.5).text() == "50 %"
    assert Effect(0.5, 0.48, 0.52).text() == "50 % [48 – 52 %]"


def test_a_run_without_measurements_says_so() -> None:
    view = aapc_view()
    view.dataset["status"][:] = 0
    assert "Nothing is measured yet" in drawn(view)


def test_a_loaded_ping_pong_shows_the_tail() -> None:
    view = aapc_view(sizes=(1000,), repetitions=50, attributes={"pattern": {"name": "loaded-pingpong"}})
    view.dataset["message_seconds"][0, 0, 0, 0, 0] = 3.0
    text = one_line(drawn(view))
    assert "600 messages" in text
    assert "3.00 s" in text


def test_congestors_are_compared_with_idle_by_raw_values() -> None:
    view = aapc_view(
        sizes=(1000,),
        attributes={"pattern": {"name": "congestor"}, "phase_labels": ["idle", "incast", "idle"]},
    )
    view.dataset["message_seconds"][:, :, 1] *= 3
    rows = [line.split() for line in drawn(view).splitlines() if line.startswith(("idle", "incast"))]
    assert [row[0] for row in rows] == ["idle", "incast"]
    assert rows[0][-2:] == ["1.00", "1.00"], "too few for a 99th percentile"
    assert rows[1][-2:] == ["3.00", "3.00"]


def message_rates(senders: list[list[int]]) -> list[list[str]]:
    """Figures of the table of message-rate for phases whose ranks 2 and 3 receive from these; -1: nobody."""
    pattern = {"name": "message-rate", "shape": "streams", "formula": "m / t", "formula_per": "phase"}
    labels = [f"{number} pairs" for number in range(1, 4)]
    view = aapc_view(sizes=(8,), attributes={"pattern": pattern, "phase_labels": labels})
    view.dataset["peer"][:] = -1
    view.dataset["peer"][:, 2:] = np.array(senders)[:, :, None]
    text = drawn(view).partition("Messages per second")[2].partition("\n\n")[0]
    return [line.rpartition(")")[2].split() for line in text.splitlines() if line.startswith("phase ")]


def test_messages_per_second_are_those_of_a_phase_of_each_sender_and_of_each_node() -> None:
    _, one, two, _ = message_rates([[0, -1], [0, 1], [0, -1]])  # the first is the heading
    assert len(set(one)) == 1
    assert float(two[0]) == pytest.approx(2 * float(two[1]), rel=0.02)


def test_a_phase_without_a_known_sender_has_no_messages_per_second() -> None:
    assert len(message_rates([[-1, -1], [0, 1], [-1, -1]])) == 2


def test_outliers_share_a_row_that_names_the_furthest() -> None:
    values = np.concatenate([np.linspace(95.0, 105.0, 100), [12.0]])
    lines = histogram_plot(binning.histogram(values), unit=(1.0, "B/s"), width=60, glyphs=UNICODE)
    assert lines[1].split()[:2] == ["<", "95"]
    assert lines[1].endswith(" 1  least 12")
    assert max(map(len, lines)) <= 60


def test_a_wide_interval_is_a_caution() -> None:
    view = aapc_view(repetitions=20)
    assert cautions(view) == []
    view.dataset["rank_seconds"][1, 10:, 0] *= 1.5  # a second peak: the median lies between the two
    (caution,) = about.beware(view, [view.samples(1)])
    assert caution.kind is CautionKind.WIDE_INTERVALS
    assert "1 of 3 phases at 1 MB" in caution.text


def congested(sent_seconds: float) -> View:
    """Ranks 0 and 1 are victims for 10 ms per phase; 2 and 3 congest in all phases but the first."""
    view = aapc_view(
        sizes=(1000,),
        repetitions=20,
        attributes={"pattern": {"name": "congestor"}, "phase_labels": ["idle", "incast", "storm"]},
    )
    view.dataset["peer"][:] = np.array([1, 0, 3, 2])[None, :, None]
    view.dataset["peer"][0, 2:] = -1
    view.dataset["message_seconds"][:, :, :, 2:] = sent_seconds
    return view


def test_samples_shorter_than_the_noise_are_a_caution() -> None:
    view = aapc_view(attributes={"noise": "1ms/10ms"}, sizes=(1000, 1_000_000), seconds=0.1)
    found = [one for one in about.beware(view, view.measured()) if one.kind is CautionKind.LITTLE_NOISE]
    assert [one.text for one in found] == [
        "samples of every phase at 1 KB last less than 3 periods of the noise: their medians may not "
        "contain it"
    ]
    for noise in ("", "1ms", "1ms/fast"):
        view = aapc_view(attributes={"noise": noise}, seconds=1e-6)
        assert not [
            one for one in about.beware(view, view.measured()) if one.kind is CautionKind.LITTLE_NOISE
        ]


def test_congestors_that_end_before_the_victims_are_a_caution() -> None:
    (early,) = about.beware(congested(0.0025), [congested(0.0025).samples(0)])
    assert early.kind is CautionKind.CONGESTION_ENDED
    assert "incast (after 25 % of their time), storm (after 25 %" in early.text
    assert about.beware(congested(0.5), [congested(0.5).samples(0)]) == []


def test_summaries_say_that_an_interval_was_not_applied() -> None:
    view = aapc_view(ranks=3, attributes={"job": {"pattern": "aapc", "backend": "tcp", "interval": 0.05}})
    assert "aiming at 95 % intervals" in one_line(drawn(view))
    raw = view.dataset
    dims = ("size", "phase", "rank", "slot", "statistic")
    cells = np.repeat(raw["message_seconds"].median("repetition").values[..., None], 5, axis=-1)
    dataset = raw.drop_vars(["message_seconds", "rank_seconds"]).assign(
        message_summary=(dims, cells),
        rank_summary=(("size", "phase", "rank", "statistic"), cells[:, :, :, 0]),
    )
    summarised = View(view.path, dataset)
    text = one_line(drawn(summarised))
    assert "--interval 5% was not applied" in text
    assert "aiming at 95 % intervals" not in text
    assert cautions(summarised) == ["summaries only", "interval not applied"]


def test_the_lines_after_a_run_have_a_row_per_size_and_no_trailing_blanks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = aapc_view(ranks=4, sizes=(1000, 30_000, 1_000_000), slow_route=(1, 3))
    monkeypatch.setattr(View, "open", lambda path: view)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    headline.print_summary(view.path, stream)
    stream.seek(0)
    lines = stream.read().splitlines()
    rows = [line.split() for line in lines if re.match(" *(1 KB|30 KB|1 MB) ", line)]
    assert [row[:2] for row in rows] == [["1", "KB"], ["30", "KB"], ["1", "MB"]]
    # Three phases at 100, 50 and 100 MB/s / 1.0045: the one in the middle, and the slowest.
    assert rows[2][2:8] == ["99.55", "MB/s", "99.21", "–", "99.90", "49.78"]
    assert any(line.startswith("1 MB: median phase 99.55 MB/s [99.21 – 99.90]") for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []


def test_columns_stand_on_zero_and_end_at_a_round_number() -> None:
    columns = PlotColumns([1, 2, 3], np.array([10.0, 20.0, np.nan]), np.array([10.0, 20.0, np.nan]))
    lines = column_plot(columns, unit=(1.0, "B/s"), width=40, height=4, glyphs=UNICODE, x_label="phase")
    assert lines[0].endswith("20 ┤ B/s")
    assert [line.count("█") for line in lines[1:5]] == [5, 5, 10, 10]
    assert lines[-2].lstrip().startswith("0 └")
    assert lines[-1].split() == ["1", "2", "3", "phase"]


def test_many_values_share_a_column_from_the_least_to_the_greatest() -> None:
    low = np.full(1000, 5.0)
    low[500] = 1.0
    columns = PlotColumns(list(range(1, 1001)), low, np.full(1000, 5.0))
    lines = column_plot(columns, unit=(1.0, "B/s"), width=60, height=5, glyphs=UNICODE, x_label="phase")
    assert any(UNICODE.shade in line for line in lines)
    assert max(map(len, lines)) <= 60


@given(st.floats(min_value=0, max_value=1), st.integers(min_value=1, max_value=80))
def test_a_bar_is_never_longer_than_its_room_and_never_hides_something(share: float, width: int) -> None:
    drawn_bar = bar(share, width, UNICODE)
    assert len(drawn_bar) <= width
    assert bool(drawn_bar) == (share > 0)


def test_one_message_in_the_tail_is_visible_next_to_ten_thousand() -> None:
    x, y = np.full(10_001, 1000.0), np.full(10_001, 1e-4)
    x[-1], y[-1] = 2000.0, 1.0
    lines = scatter_plot(x, y, width=50, height=8, glyphs=UNICODE, x_text=str, y_text=str, x_label="x")
    assert UNICODE.density[1] in lines[0]
    assert UNICODE.density[-1] in "".join(lines)


def test_json_has_the_figures_that_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    view = aapc_view(ranks=4, slow_route=(1, 3))
    monkeypatch.setattr(View, "open", lambda path: view)
    answer: Any = headline.as_json(view.path)
    assert [size["size_bytes"] for size in answer["sizes"]] == [1000, 1_000_000]
    slowest = answer["sizes"][1]["slowest_routes"][0]
    assert (slowest["source"], slowest["destination"]) == ("n002:1", "n004:3")
    assert slowest["bytes_per_second"]["median"] == pytest.approx(49.776e6, rel=1e-4)
    assert SAMPLE[0] in view.dataset.dims


@pytest.mark.parametrize(("half", "words"), [("", ", random halves"), ("0-2", ", the given half")])
def test_the_rate_across_a_cut_says_that_it_counts_both_directions(half, words):
    pattern = {"name": "cut", "shape": "dense", "halves": True, "formula_per": "phase",
               "parameters": {"half": half}}  # fmt: skip
    said = figures_of(aapc_view(ranks=6, attributes={"pattern": pattern}))[0]
    assert f"across the cut, both directions together{words}; no phase" in said


def test_a_slow_pair_among_several_is_named_before_the_median_of_all() -> None:
    view = aapc_view(ranks=4, repetitions=10, attributes={"pattern": {"name": "pingpong", "shape": "sweep"}})
    assert not any("median pair" in said for said in figures_of(view))
    view.dataset["message_seconds"][:, :, 1, 2] *= 2
    first = figures_of(view)[0]
    assert re.match(r"\S+ → \S+ reaches 50 % of the median pair's rate at \d+ MB: ", first), first


def test_a_host_with_which_all_pairs_are_slow_is_named() -> None:
    view = aapc_view(ranks=8, repetitions=10, attributes={"pattern": {"name": "pingpong", "shape": "sweep"}})
    peer = view.dataset["peer"].values
    slow = (peer == 5) | (np.arange(8)[None, :, None] == 5)
    view.dataset["message_seconds"].values[:, :, slow] *= 2
    first = figures_of(view)[0]
    assert first.startswith("all pairs with n006 are slow: 50 % of the median pair's rate at "), first

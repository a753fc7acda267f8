"""Comparing runs: changes are found and named, nothing else is, and incomparable runs are refused."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.truth import oracle
from benchmarks.truth.parts import HOST_RATE, Builder, uplinks
from changed_runs import aapc, halves

from crosscut.analysis.compare import causes
from crosscut.analysis.compare.comparing import ComparisonSettings, Difference, by_other_changes, compare
from crosscut.analysis.figures.route_class import BETWEEN_GROUPS, NO_GROUPS
from crosscut.analysis.figures.series import Family, Subject
from crosscut.analysis.findings.model import Direction
from crosscut.analysis.stats import permutation
from crosscut.analysis.stats.shift import Shift, shift
from crosscut.base.errors import UsageError
from crosscut.reports.json import compare as compare_json
from crosscut.reports.terminal import compare as terminal
from crosscut.reports.terminal.screen import screen_for
from crosscut.reports.words import comparison
from crosscut.run.run import Run

ASKED = ComparisonSettings()


def noisy(seed):
    return aapc(seed, noise=0.1, ranks=4, repetitions=6)


def news(found):
    return {(c.subject.family, c.subject.ranks) for c in found.changes if c.explained_by is None}


def test_a_halved_sender_is_named_and_its_partners_are_not():
    found = compare(aapc(1), aapc(2, out={3: 0.5}), halves(), ASKED)
    assert news(found) == {(Family.OUT, (3,))}
    change = next(c for c in found.changes if c.subject.family is Family.OUT)
    assert change.shift.low < math.log(0.5) < change.shift.high
    assert found.worse


def test_the_terminal_counts_the_rows_that_it_leaves_out():
    found = compare(aapc(1), aapc(2), halves(), ASKED)
    stream = io.StringIO()
    terminal.render(screen_for(stream), replace(found, classes=found.classes[:1] * 30), ASKED, ["n"] * 8)
    assert "and 6 more; --json lists all" in stream.getvalue()


def test_a_change_that_the_two_medians_contradict_is_explained():
    """If times lie in two clusters, a few more in one move the median far, but hardly any difference."""
    found = compare(aapc(1), aapc(2), halves(), ASKED)

    def rendered(second):
        stream = io.StringIO()
        apart = replace(found, classes=(replace(found.classes[0], first=100e6, second=second),))
        terminal.render(screen_for(stream), apart, ASKED, ["n"] * 8)
        return stream.getvalue()

    assert "two clusters" in rendered(115e6)
    assert "two clusters" not in rendered(100e6)


def test_a_halved_receiver_is_reported_as_a_receiver():
    assert news(compare(aapc(1), aapc(2, into={5: 0.5}), halves(), ASKED)) == {(Family.IN, (5,))}


def test_a_single_slow_route_is_named():
    assert news(compare(aapc(1), aapc(2, route={(2, 6): 0.6}), halves(), ASKED)) == {(Family.ROUTE, (2, 6))}


def test_a_single_route_that_is_slower_in_one_of_two_single_runs_is_undecided():
    found = compare(aapc(1), aapc(2, route={(2, 6): 0.6}), halves(), ASKED)
    assert found.worse is None
    assert replace(found, single="").worse is True
    fault = causes.Cause((2,), "n2 sends slowly to some", Direction.OUT, -0.5, worse=True, trunk=False)
    assert (causes.worse(found, [fault]), causes.worse(found, [])) == (True, None)
    said = comparison.told(found, ASKED, [f"n{rank}" for rank in range(8)])
    assert said.headline is not None
    assert said.headline.text.startswith(
        "Undecided: only single routes or phases changed, 1 slower and 0 faster"
    )
    assert compare(aapc(1), aapc(2, into={5: 0.5}), halves(), ASKED).worse is True


def test_a_class_that_changed_stands_for_its_nodes_and_routes():
    between = {(a, b): 0.7 for a in range(8) for b in range(8) if a // 4 != b // 4}
    found = compare(aapc(1), aapc(2, route=between), halves(), ASKED)
    classes = [c.subject.name for c in found.changes if c.subject.family is Family.CLASS]
    assert classes == [BETWEEN_GROUPS]
    assert {family for family, _ in news(found)} == {Family.CLASS}


def test_a_speed_up_is_reported_and_is_not_worse():
    found = compare(aapc(1, factor=0.8), aapc(2), halves(), ASKED)
    assert found.changes
    assert not found.worse


def test_a_clear_but_small_change_is_not_reported():
    assert not compare(aapc(1, noise=0.001), aapc(2, noise=0.001, factor=0.98), halves(), ASKED).changes


def test_equal_networks_give_no_more_false_alarms_than_the_error_rate():
    alarms = sum(
        bool(
            compare(
                *(noisy(seed) for seed in (2 * s, 2 * s + 1)), NO_GROUPS, ComparisonSettings(0.05)
            ).changes
        )
        for s in range(120)
    )
    assert alarms <= 13  # 5 % of 120 are 6; more than 13 has a probability of 0.4 %


def test_repetitions_that_depend_on_their_neighbours_count_as_fewer():
    asked = ComparisonSettings(matters=0.01)
    alarms = 0
    for seed in range(40):
        one, other = (aapc(s, repetitions=40, drift=0.05, ranks=4) for s in (2 * seed, 2 * seed + 1))
        alarms += bool(compare(one, other, NO_GROUPS, asked).changes)
    assert alarms <= 4  # if repetitions counted as independent: 9


def test_ranks_on_other_nodes_are_matched_by_node():
    before = aapc(1, out={3: 0.5})
    after = aapc(2, out={0: 0.5})
    order = [3, 1, 2, 0, 4, 5, 6, 7]  # rank 0 of the second run is on the node of rank 3
    after.dataset.attrs["nodes"] = [before.dataset.attrs["nodes"][rank] for rank in order]
    found = compare(before, after, NO_GROUPS, ASKED)
    assert not found.changes
    assert any("matched by node" in note for note in found.notes)


@pytest.mark.parametrize(
    ("attributes", "word"),
    [
        ({"cadence": "streaming"}, "order of phases: phases behind a barrier and streaming"),
        ({"pattern": {"name": "pairwise"}}, "the first measured aapc, the second pairwise"),
        ({"sync": {"policy": "none"}}, "sync policy: barrier and none"),
    ],
)
def test_runs_of_different_measurements_are_refused_with_the_reason(attributes, word):
    with pytest.raises(UsageError, match=word):
        compare(aapc(1), aapc(2, attributes=attributes), NO_GROUPS, ASKED)


def test_runs_with_different_ranks_and_sizes_are_refused_with_both_reasons():
    with pytest.raises(UsageError, match=r"(?s)ranks: 8 and 4.*sizes: 1 MB and 1 KB"):
        compare(aapc(1), aapc(2, ranks=4, sizes=(1000,)), NO_GROUPS, ASKED)


def test_too_few_repetitions_are_refused_with_how_many_it_takes():
    with pytest.raises(UsageError, match="at least 5 of each"):
        compare(aapc(1, repetitions=3), aapc(2, repetitions=3), NO_GROUPS, ASKED)


@pytest.mark.parametrize(("rate", "refused"), [(2.5e-4, False), (2.4e-4, True)])
def test_an_error_rate_that_no_number_of_repetitions_reaches_is_refused(rate, refused):
    runs = [aapc(seed, ranks=4, repetitions=20) for seed in (1, 2)]
    if not refused:
        compare(*runs, NO_GROUPS, ComparisonSettings(rate))
        return
    with pytest.raises(UsageError, match=r"--error-rate 0.024 %: .* at least 0.025 %"):
        compare(*runs, NO_GROUPS, ComparisonSettings(rate))


def test_every_difference_of_computed_runs_is_a_change():
    clock = {"clock": {"name": "virtual"}}
    one, other = (aapc(1, noise=0, repetitions=1, factor=f, attributes=clock) for f in (1, 0.9))
    found = compare(one, other, NO_GROUPS, ASKED)
    assert found.computed
    assert found.worse
    stream = io.StringIO()
    terminal.render(screen_for(stream), found, ASKED, [f"n{rank}" for rank in range(8)])
    assert "by chance" not in stream.getvalue()
    assert "[" not in stream.getvalue()


def test_runs_that_were_simulated_with_noise_are_compared_as_measured_ones_are():
    about = {"clock": {"name": "virtual"}}
    exact, noisy_ = (
        about | {"backend": {"name": "sim", "parameters": {"share-spread": spread}}}
        for spread in ("0", "0.05")
    )
    runs = [aapc(seed, attributes=noisy_) for seed in (1, 2)]
    assert not compare(*runs, NO_GROUPS, ASKED).computed
    assert compare(*(aapc(seed, attributes=exact) for seed in (1, 2)), NO_GROUPS, ASKED).computed


def test_a_shift_of_six_against_six_has_the_interval_of_mann_and_whitney():
    # From the test's tables: at 6 and 6, two-sided 5 %, the critical value is 5, which is the 6th difference
    # from each end.
    first, second = np.arange(6.0), np.arange(6.0) + 10.5
    differences = np.sort((second[None] - first[:, None]).ravel())
    found = shift(first, second)
    assert (found.low, found.high) == (differences[5], differences[-6])


def test_many_values_against_one_have_no_bounded_shift():
    found = shift(np.arange(60.0), np.array([30.0]))
    assert np.isnan([found.low, found.high]).all()


def test_the_smallest_p_value_of_six_against_six_is_two_of_all_arrangements():
    assert permutation.smallest_doubt(6, 6) == 2 / 924
    first = np.zeros((6, 1)) + np.arange(6)[:, None] * 1e-3
    assert permutation.doubts(first, first + 1)[0] == pytest.approx(2 / 924)


def phases(run, first, last):
    return Run(run.path, run.dataset.sel(phase=slice(first, last)))


def test_only_phases_that_both_have_are_compared():
    # As with a slow trunk: routes of the later phases run at half the rate of the first ones.
    far = {(a, b): 0.5 for a in range(8) for b in range(8) if (b - a) % 8 > 3}
    whole, again = aapc(1, route=far), aapc(2, route=far)
    found = compare(whole, phases(again, 1, 3), halves(), ASKED)
    assert not found.changes
    assert any(
        "only the 3 phases that both runs have are compared (1 to 3); 4 more" in note for note in found.notes
    )
    assert {c.subject.phase for c in compare(whole, phases(aapc(2), 1, 5), halves(), ASKED).changes} >= {4, 5}


def test_runs_without_common_phases_are_refused():
    with pytest.raises(UsageError, match="phases: 1 to 3 and 4 to 7, none in common"):
        compare(phases(aapc(1), 1, 3), phases(aapc(2), 4, 7), halves(), ASKED)


def tree(seed: int, slow: float) -> Run:
    """An AAPC of 18 hosts on three leaves. `slow`: share that the last leaf's uplink keeps."""
    builder = Builder.of(np.repeat(np.arange(3), 6))
    uplinks(builder, 3 * HOST_RATE, {})
    capacities = np.array(builder.capacities)
    capacities[[-4, -1]] *= slow
    phases = [[(rank, (rank + far) % 18) for rank in range(18)] for far in range(1, 18)]
    rates = oracle.measure(builder.padded(), capacities, phases, 0.0, np.random.default_rng(1))
    routes = dict(
        zip((route for phase in phases for route in phase), (rates / HOST_RATE).tolist(), strict=True)
    )
    return aapc(seed, ranks=18, route=routes, noise=0.002)


def test_a_slow_trunk_comes_before_the_hosts_that_it_slows():
    before, after = tree(1, 1.0), tree(2, 0.5)
    found = compare(before, after, NO_GROUPS, ASKED)
    faults = causes.of_changes(found, before, after)
    behind = tuple(range(12, 18))
    assert {(one.ranks, one.direction, one.worse) for one in faults} == {
        (behind, Direction.OUT, True), (behind, Direction.IN, True)
    }  # fmt: skip
    assert all(any(one.touches(c) for one in faults) for c in found.changes if c.worse and c.subject.ranks)
    stream = io.StringIO()
    terminal.render(screen_for(stream), found, ASKED, [f"n{rank}" for rank in range(18)], faults)
    assert stream.getvalue().startswith("Only in the later run: traffic ")
    assert all(f"n[12-17] {way} (6 hosts)" in stream.getvalue() for way in ("out", "in"))
    repaired = causes.of_changes(compare(after, before, NO_GROUPS, ASKED), after, before)
    assert {one.worse for one in repaired} == {False}


def test_hosts_are_not_blamed_for_a_trunk_that_half_of_their_routes_take():
    """The median of their routes may lie among those that changed, and did so for four of sixteen hosts."""
    across = {
        (a, b): min(1.0, 3.3 / min(abs(a - b), 16 - abs(a - b)))
        for a in range(16) for b in range(16) if (a < 8) != (b < 8)
    }  # fmt: skip
    clock = {"clock": {"name": "virtual"}}
    before, after = (
        aapc(1, ranks=16, route=route, noise=0, repetitions=1, attributes=clock) for route in ({}, across)
    )
    found = compare(before, after, NO_GROUPS, ASKED)
    families = {family for family, _ in news(found)}
    assert Family.ROUTE in families
    assert not families & {Family.OUT, Family.IN}
    (limit,) = causes.of_changes(found, before, after)
    assert limit.worse
    assert limit.group_of in ((0,) * 8 + (1,) * 8, (1,) * 8 + (0,) * 8)
    stream = io.StringIO()
    terminal.render(screen_for(stream), found, ASKED, [f"n{rank}" for rank in range(16)], [limit])
    assert stream.getvalue().startswith("Only in the later run: shared limit: traffic ")
    assert "route n" not in stream.getvalue()
    document = compare_json.document(found, ASKED, [f"n{rank}" for rank in range(16)], None, [limit])
    assert document["faults"] == []
    assert document["limits"] == [{"what": limit.what, "worse": True}]
    found = compare(after, before, NO_GROUPS, ASKED)
    assert [one.worse for one in causes.of_changes(found, after, before)] == [False]


@pytest.mark.parametrize(("changed", "excused"), [(3, False), (8, True)])
def test_a_host_is_excused_only_by_about_half_of_its_routes(changed, excused):
    """Its routes to three slower hosts changed more than it did, and those to others not significantly."""

    def change(family, *ranks, to):
        return Difference(Subject(family, 1, ranks=ranks), 1.0, to, Shift(*(math.log(to),) * 3), 0.0)

    told = [
        change(Family.OUT, 5, to=0.7),
        *(change(Family.ROUTE, 5, b, to=0.4) for b in range(6, 6 + changed)),
    ]
    routes = {(1, Family.OUT, 5): [Subject(Family.ROUTE, 1, ranks=(5, b)) for b in range(16) if b != 5]}
    host = by_other_changes(told, routes, 0.03)[0]
    assert (host.explained_by is not None) == excused


def test_a_slow_host_comes_before_the_routes_that_it_slows():
    """Half of its routes were slow already, so its own median does not tell."""
    far = {(a, b): 0.5 for a in range(12) for b in range(12) if (a < 6) != (b < 6)}
    before = aapc(1, ranks=12, route=far)
    after = aapc(2, ranks=12, route={**far, **{(3, other): 0.5 for other in range(12)}})
    found = compare(before, after, halves(12), ASKED)
    faults = causes.of_changes(found, before, after)
    assert [(one.ranks, one.direction, one.worse) for one in faults] == [((3,), Direction.OUT, True)]
    found = causes.explained(found, faults, ASKED.matters)
    assert all(Family.ROUTE is not family for family, _ in news(found))
    stream = io.StringIO()
    names = [f"n{rank}" for rank in range(12)]
    terminal.render(screen_for(stream), found, ASKED, names, faults)
    assert stream.getvalue().startswith("Only in the later run: n003 sends at 50 %")
    repaired = compare(after, before, halves(12), ASKED)
    assert [one.worse for one in causes.of_changes(repaired, after, before)] == [False]

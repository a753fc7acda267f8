"""Different conditions are reported before changes; phases that the machine limited give no conclusion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from changed_runs import aapc, halves
from made_runs import aapc_view

from crosscut.analysis.compare.comparing import ComparisonSettings, compare
from crosscut.analysis.compare.conditions import UntoldError
from crosscut.analysis.compare.matching import match
from crosscut.analysis.compare.trend import trends
from crosscut.analysis.figures.route_class import NO_GROUPS
from crosscut.analysis.figures.series import Family
from crosscut.base.errors import UsageError
from crosscut.reports.words import comparison

ASKED = ComparisonSettings()
MB = 1_000_000
PHASES = 7  # of an AAPC of eight ranks
DEAD = {"id": "f1", "says": "nothing gets to n1 or away from it"}


def on_lab(seed, *, limited=(), sizes=(MB,), switch="kernel", dilation=1.0, faults=(), start="", **more):
    """A run in a lab. `limited`: (size, first phase, last phase) of each span."""
    trust = [{"cpu_busy_share": 1.0, "limited": [{"size": s, "phases": [[a, b]]} for s, a, b in limited]}]
    lab = {"switch": switch, "dilation": dilation}
    attributes = {"place": "lab", "lab": lab, "faults": list(faults), "trust": trust}
    attributes |= {"start": start} if start else {}
    return aapc(seed, attributes=attributes, sizes=sizes, **more)


def conditions(one, other):
    return compare(one, other, NO_GROUPS, ASKED).conditions


def test_runs_under_like_conditions_have_no_caution():
    same = {"switch": "user,forwarding=cut", "dilation": 10.0, "faults": [DEAD]}
    assert conditions(on_lab(1, **same), on_lab(2, **same)) == ()
    assert conditions(aapc(1), aapc(2)) == ()


def test_different_switches_are_reported_with_their_runs():
    (said,) = conditions(on_lab(1), on_lab(2, switch="user,forwarding=cut"))
    assert said == (
        "measured on different switches (run1.zarr: the kernel's; run2.zarr: crosscut-switch "
        "(forwarding=cut)): the switch alone may explain the change"
    )


def test_different_faults_are_reported():
    (said,) = conditions(on_lab(1), on_lab(2, faults=[DEAD]))
    assert said.startswith(
        "measured with different planted faults (run1.zarr: none; run2.zarr: nothing gets to n1"
    )


def test_the_same_fault_planted_again_is_not_a_difference():
    assert conditions(on_lab(1, faults=[DEAD]), on_lab(2, faults=[{**DEAD, "id": "f9"}])) == ()


def test_different_dilation_is_reported():
    (said,) = conditions(on_lab(1, dilation=10.0), on_lab(2))
    assert "run1.zarr: all rates divided by 10; run2.zarr: none" in said


@pytest.mark.parametrize("broken", [None, 7, "x", [3], {"says": 3}])
def test_senseless_attributes_are_ignored(broken):
    other = aapc(2, attributes={"place": "lab", "lab": broken, "faults": broken, "trust": broken})
    assert conditions(on_lab(1), other) == ()


def test_a_switch_whose_core_was_full_is_reported():
    def carried(seed, share):
        lab = {"switch": "user", "dilation": 1.0}
        trust = [{"limited": [], "switch": {"cpu_share": share}}]
        return aapc(seed, attributes={"place": "lab", "lab": lab, "trust": trust})

    (said,) = conditions(carried(1, 0.5), carried(2, 0.97))
    assert said.startswith("crosscut-switch used 97 % of its core during run2.zarr")
    assert conditions(carried(1, 0.5), carried(2, None)) == ()


def test_nothing_is_reported_about_phases_that_the_machine_limited():
    slow = on_lab(2, factor=0.5, limited=[(MB, 1, 3)])
    found = compare(on_lab(1), slow, halves(), ASKED)
    told = {c.subject.phase for c in found.changes if c.subject.family is Family.PHASE}
    assert told == {4, 5, 6, 7}
    (said,) = found.conditions
    assert said.startswith("this machine, not the network, limited 3 of 7 phases at 1 MB of run2.zarr")


def test_a_size_that_the_machine_limited_is_left_out_and_others_are_not():
    sizes = (1000, MB)
    limited = on_lab(2, factor=0.5, sizes=sizes, limited=[(1000, 1, PHASES)])
    found = compare(on_lab(1, sizes=sizes), limited, halves(), ASKED)
    assert {change.subject.size_bytes for change in found.changes} == {MB}
    assert "limited every phase at 1 KB of run2.zarr" in found.conditions[0]


def test_a_run_that_the_machine_limited_throughout_is_not_compared():
    limited = on_lab(2, factor=0.5, limited=[(MB, 1, PHASES)], switch="user")
    with pytest.raises(
        UntoldError, match=r"bottleneck in every phase of run2\.zarr; measure again"
    ) as refused:
        compare(on_lab(1), limited, NO_GROUPS, ASKED)
    assert refused.value.conditions[0].startswith("measured on different switches")


def test_runs_that_the_machine_limited_in_turn_are_not_compared():
    one, other = on_lab(1, limited=[(MB, 1, 4)]), on_lab(2, limited=[(MB, 5, PHASES)])
    with pytest.raises(UntoldError, match="every phase of one run or the other"):
        compare(one, other, NO_GROUPS, ASKED)


def days(count, **of_day):
    """`of_day`: d3={...} has the differences of the fourth day."""
    return [
        on_lab(
            day,
            start=f"2025-01-{day + 1:02}T00:00:00Z",
            repetitions=6,
            **of_day.get(f"d{day}", {}),
        )
        for day in range(count)
    ]


def test_a_trend_leaves_out_the_run_that_the_machine_limited_and_says_so():
    slowed = {"factor": 0.3, "limited": [(MB, 1, PHASES)]}
    found, ordered = trends(days(4, d3=slowed), halves(), ASKED)
    assert [run.path.name for run in ordered] == ["run0.zarr", "run1.zarr", "run2.zarr"]
    assert all(min(trend.rates) > 0.9 * max(trend.rates) for trend in found.series)
    assert any("limited every phase at 1 MB of run3.zarr" in said for said in found.conditions)


def test_a_trend_names_the_runs_of_each_switch():
    found, _ = trends(days(3, d1={"switch": "user"}), halves(), ASKED)
    (said,) = found.conditions
    assert "(run0.zarr, run2.zarr: the kernel's; run1.zarr: crosscut-switch)" in said


def test_no_trend_is_reported_if_the_machine_limited_all_runs_but_one():
    limited = {"limited": [(MB, 1, PHASES)]}
    with pytest.raises(UntoldError, match=r"every phase of all runs but run1\.zarr"):
        trends(days(3, d0=limited, d2=limited), halves(), ASKED)


def test_very_different_iterations_are_told_with_what_to_do():
    few, many = aapc_view(), aapc_view()
    many = replace(many, dataset=many.dataset.assign(iterations=("size", [3, 4])))
    (note,) = match(few, many).notes
    assert note.startswith("iterations at 1 MB: 1, then 4; iterations overlap")
    assert "measure both with the same --iterations" in note
    assert match(few, replace(few, dataset=few.dataset.assign(iterations=("size", [3, 3])))).notes == ()


def test_parameters_that_older_runs_lack_have_the_value_that_was_the_only_one():
    def of(**parameters):
        pattern = {"name": "collective", "parameters": {"operation": "barrier", **parameters}}
        return aapc_view(attributes={"pattern": pattern})

    assert match(of(), of(every="1")).notes == ()
    with pytest.raises(UsageError, match="parameters of the pattern"):
        match(of(), of(every="2,1"))


def test_few_changed_phases_are_named_by_their_labels():
    labels = {"phase_labels": ["ring", "tree"]}
    found = compare(aapc(1, attributes=labels), aapc(2, factor=0.5), NO_GROUPS, ASKED)
    assert found.phase_labels == {1: "ring", 2: "tree"}
    changed = [each for each in found.changes if each.subject.family is Family.PHASE]

    def said(*phases):
        those = tuple(each for each in changed if each.subject.phase in phases)
        return comparison.told(replace(found, changes=those), ASKED, [f"n{n}" for n in range(8)]).further

    assert any(line.endswith(": 1 (ring), 2 (tree)") for line in said(1, 2))
    assert any(line.endswith(": 1 to 3") for line in said(1, 2, 3))

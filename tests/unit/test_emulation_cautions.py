"""Cautions about a run in a lab whose machine was not up to it."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.cautions import CautionKind
from crosscut.reports.view import View
from crosscut.reports.words import about, trust

QUIET: dict[str, Any] = {
    "cpu_busy_share": 0.3,
    "timer_lateness_seconds": {"median": 5e-5, "p90": 1e-4, "p99": 1e-3, "max": 5e-3},
    "limited": [],
    "reference_before": {"bytes_per_second": 11.8e6},
    "reference_after": {"bytes_per_second": 11.7e6},
}
OF_THE_MACHINE = (
    CautionKind.MACHINE_LIMITED,
    CautionKind.MACHINE_LATE,
    CautionKind.MACHINE_CHANGED,
    CautionKind.NOT_WATCHED,
)


def on_lab(*entries: object) -> View:
    """Two sizes with three phases each, of 10 ms at the larger."""
    return aapc_view(ranks=4, sizes=(1_000_000,), attributes={"place": "lab", "trust": list(entries)})


def told(view: View) -> list[tuple[CautionKind, str]]:
    shown = [view.samples(index) for index in view.measured_sizes()]
    found = about.beware(view, shown)
    return [(each.kind, each.text) for each in found if each.kind in OF_THE_MACHINE]


def test_a_quiet_machine_is_not_mentioned() -> None:
    assert told(on_lab(QUIET)) == []


def test_phases_with_busy_cores_are_limited_by_the_machine() -> None:
    limited = [{"size": 1_000_000, "phases": [[1, 1], [3, 3]]}]
    ((kind, text),) = told(on_lab(QUIET | {"limited": limited}))
    assert kind is CautionKind.MACHINE_LIMITED
    assert "2 of 3 phases at 1 MB" in text
    assert "not the network's" in text


def test_limited_phases_of_another_size_do_not_matter() -> None:
    assert told(on_lab(QUIET | {"limited": [{"size": 5, "phases": [[1, 3]]}]})) == []


def test_every_session_of_a_resumed_run_counts() -> None:
    limited = [{"size": 1_000_000, "phases": [[1, 3]]}]
    assert [kind for kind, _ in told(on_lab(QUIET, QUIET | {"limited": limited}))] == [
        CautionKind.MACHINE_LIMITED
    ]


def test_sessions_of_a_resumed_run_are_reported_together() -> None:
    """Separate cautions would repeat each other, or name only part of the phases."""
    every = QUIET | {"limited": [{"size": 1_000_000, "phases": [[1, 3]]}]}
    assert len(told(on_lab(every, every))) == 1
    first = QUIET | {"limited": [{"size": 1_000_000, "phases": [[1, 1]]}]}
    second = QUIET | {"limited": [{"size": 1_000_000, "phases": [[2, 2]]}]}
    ((_, text),) = told(on_lab(first, second))
    assert "2 of 3 phases at 1 MB" in text
    switches = [QUIET | {"switch": {"cpu_share": share}} for share in (0.93, 0.97)]
    ((_, text),) = told(on_lab(*switches))
    assert "97 % of its core" in text
    changed = QUIET | {"reference_after": {"bytes_per_second": 9e6}}
    assert [kind for kind, _ in told(on_lab(changed, changed))] == [CautionKind.MACHINE_CHANGED]
    unseen = {"error": "the machine was not watched"}
    assert [kind for kind, _ in told(on_lab(unseen, unseen))] == [CautionKind.NOT_WATCHED]
    assert [kind for kind, _ in told(on_lab(unseen, every))] == [
        CautionKind.NOT_WATCHED,
        CautionKind.MACHINE_LIMITED,
    ]


def test_late_timers_are_compared_with_the_time_of_a_phase() -> None:
    late = QUIET | {"timer_lateness_seconds": {"p90": 1e-3}}
    ((kind, text),) = told(on_lab(late))
    assert kind is CautionKind.MACHINE_LATE
    assert "late by 1.0 ms, more than 5 % of the duration of every phase" in text


def test_a_late_switch_is_a_late_machine() -> None:
    late = QUIET | {"switch": {"cpu_share": 0.5, "lateness_seconds": {"p99": 2e-3}}}
    assert [kind for kind, _ in told(on_lab(late))] == [CautionKind.MACHINE_LATE]


def test_a_switch_without_room_on_its_core_is_the_limit() -> None:
    ((kind, text),) = told(on_lab(QUIET | {"switch": {"cpu_share": 0.97}}))
    assert kind is CautionKind.MACHINE_LIMITED
    assert "97 % of its core" in text


@pytest.mark.parametrize("after", [10.0e6, 14e6])
def test_an_unloaded_pair_that_changed_means_another_machine(after: float) -> None:
    ((kind, text),) = told(on_lab(QUIET | {"reference_after": {"bytes_per_second": after}}))
    assert kind is CautionKind.MACHINE_CHANGED
    assert "11.8 MB/s before the run" in text


def test_a_machine_that_was_not_watched_is_reported_as_unknown() -> None:
    assert [kind for kind, _ in told(on_lab({"error": "the machine was not watched"}))] == [
        CautionKind.NOT_WATCHED
    ]


@pytest.mark.parametrize(
    "entry",
    [None, 7, [], {"limited": 3}, {"limited": [{"size": "x", "phases": [[1]]}]},
     {"limited": [{"size": 1, "phases": [[0, 10**12], ["a", "b"], 4]}]}, {"cpu_busy_share": "much"}],
)  # fmt: skip
def test_damaged_records_are_ignored(entry: object) -> None:
    assert len(trust.emulations(on_lab(entry))) == 1
    told(on_lab(entry))


def test_runs_elsewhere_have_no_emulation() -> None:
    assert trust.emulations(aapc_view(attributes={"trust": [QUIET]})) == []


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ({"dilation": 10}, "; in slow motion: multiply rates by 10 for the network's"),
        ({"dilation": 1.0}, ""),
        ({"dilation": "ten"}, ""),
        (None, ""),
    ],
)
def test_the_place_of_a_run_says_that_rates_were_divided(recorded: object, said: str) -> None:
    view = aapc_view(ranks=4, attributes={"place": "lab", "lab": recorded})
    assert about.where(view) == f"lab: 4 nodes (n001 … n004), 1 rank on each{said}"

"""Conclusions from observations of the machine during measurements in a lab."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time

import pytest

from crosscut.base import spelling
from crosscut.base.errors import UsageError
from crosscut.lab.watching import observer, trust, watch
from crosscut.lab.watching.trust import ProgressMark, Seen
from crosscut.network import switch_choice
from crosscut.network.switch_choice import Queues

STAT = "cpu  {user} {nice} 10 {idle} 5 1 1 {steal} 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


def seen(*shares: float) -> Seen:
    """Windows of a tenth of a second, one for each share of busy time, from time 0 on."""
    windows = [[0.1 * (i + 1), 0.1, share, 0.0, share, 0.0, 0.0] for i, share in enumerate(shares)]
    return Seen(2, tuple(windows), {10: 90, 5000: 10})


def test_stolen_time_is_busy_and_that_of_idle_waiting_or_yielding_processes_is_not() -> None:
    text = STAT.format(user=100, nice=50, idle=200, steal=7)
    assert watch.ticks(text, niceness=0) == (374, 119, 7, 169)


def test_time_of_nice_processes_is_busy_if_the_ranks_are_nice_too() -> None:
    text = STAT.format(user=100, nice=50, idle=200, steal=7)
    assert watch.ticks(text, niceness=10)[1] == 119 + 50


def test_merged_windows_keep_time_and_mean_and_the_latest_wake_up() -> None:
    windows = [
        [0.1, 0.1, 1.0, 0.0, 1.0, 0.001, 1.0],
        [0.3, 0.2, 0.4, 0.3, 0.7, 0.005, 0.25],
        [0.4, 0.1, 0.5, 0.0, 0.5, 0.0, 0.0],
    ]
    first, last = watch.merged(windows)
    assert first == pytest.approx([0.3, 0.3, 0.6, 0.2, 0.8, 0.005, 0.5])
    assert last == windows[2]


def test_the_watch_covers_a_run_to_its_end() -> None:
    words = [sys.executable, watch.__file__]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "watching\n"
        time.sleep(1.6 * watch.WINDOW_SECONDS)
        end = time.monotonic()
        said, _ = watcher.communicate(timeout=60)
    windows = json.loads(said)["windows"]
    assert windows[-1][0] >= end
    assert all(length >= watch.WINDOW_SECONDS for _, length, *_ in windows)


def test_busy_counts_windows_by_the_time_they_overlap() -> None:
    assert trust.busy(seen(0.0, 1.0).windows, 0.05, 0.2) == pytest.approx(2 / 3)
    assert math.isnan(trust.busy(seen(1.0).windows, 5, 6))


def test_quantiles_of_lateness_are_those_of_the_wake_ups() -> None:
    assert trust.quantile(seen().late_microseconds, 0.5) == 10e-6
    assert trust.quantile(seen().late_microseconds, 0.99) == 5e-3
    assert math.isnan(trust.quantile({}, 0.5))


@pytest.mark.parametrize(
    ("before", "after", "phases"),
    [
        (None, (3, 1), {1, 2, 3}),
        ((1, 1), (3, 1), {2, 3}),
        ((5, 1), (2, 2), {6, 1, 2}),
        ((5, 1), (2, 4), {1, 2, 3, 4, 5, 6}),
        ((2, 9), (3, 4), {2, 3}),  # all repetitions of one phase, then of the next
    ],
)
def test_phases_between_two_marks_follow_from_the_order_of_measuring(
    before: tuple[int, int] | None, after: tuple[int, int], phases: set[int]
) -> None:
    earlier = ProgressMark(0, 1000, *before) if before else None
    assert trust.passed(earlier, ProgressMark(1, 1000, *after), 1, 6) == phases


def test_only_phases_measured_while_all_cores_were_busy_are_limited() -> None:
    marks = [ProgressMark(0.1, 1000, 1, 1), ProgressMark(0.2, 1000, 2, 1), ProgressMark(0.3, 1000, 3, 1)]
    assert trust.limited_phases(seen(0.3, 0.99, 0.5), 0.0, marks, 1, 3) == {1000: {2}}


def test_a_phase_is_limited_by_most_of_its_repetitions() -> None:
    marks = [ProgressMark(0.1 * (i + 1), 1000, 1 + i % 2, 1 + i // 2) for i in range(6)]
    # Phase 1 in windows 0, 2, 4; phase 2 in windows 1, 3, 5.
    assert trust.limited_phases(seen(1, 0, 1, 1, 0, 0), 0.0, marks, 1, 2) == {1000: {1}}


@pytest.mark.parametrize(("latest", "limited"), [(0.001, {}), (0.005, {1000: {1}})])
def test_nice_processes_limit_a_phase_only_if_others_wake_late(
    latest: float, limited: dict[int, set[int]]
) -> None:
    watched = Seen(2, ([0.1, 0.1, 0.6, 0.0, 1.0, latest, 0.0],), {})
    assert trust.limited_phases(watched, 0.0, [ProgressMark(0.1, 1000, 1, 1)], 1, 1) == limited


@pytest.mark.parametrize(("frames", "limited"), [(0.9, {}), (1.0, {1000: {1}})])
def test_a_core_full_of_frames_limits_a_phase_while_others_are_idle(
    frames: float, limited: dict[int, set[int]]
) -> None:
    watched = Seen(2, ([0.1, 0.1, 0.6, 0.0, 0.6, 0.0, frames],), {})
    assert trust.limited_phases(watched, 0.0, [ProgressMark(0.1, 1000, 1, 1)], 1, 1) == limited


def test_the_fullest_core_is_distinguished_from_the_others() -> None:
    before = watch.carrying("cpu  9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0\ncpu1 5 0 0 5 0 0 10 0 0 0\nintr 1\n")
    after = watch.carrying("cpu  9 9 9 9 9 9 9\ncpu0 0 0 0 90 0 0 10 0\ncpu1 5 0 0 6 0 0 19 0 0 0\nintr 2\n")
    assert before == [(0, 0), (20, 10)]
    assert watch.fullest(before, after) == pytest.approx(0.9)
    assert watch.fullest(before, before) == 0


def test_neighbouring_phases_are_named_as_ranges() -> None:
    assert spelling.spans({1, 2, 3, 7, 9, 10}) == [(1, 3), (7, 7), (9, 10)]


def test_figures_without_windows_are_unknown() -> None:
    found = trust.figures(Seen(2, (), {}), 0.0, 1.0)
    assert (found["cpu_busy_share"], found["cpu_busy_share_max"]) == (None, None)
    assert found["timer_lateness_seconds"]["p99"] is None


@pytest.mark.parametrize("share", [k / 60 for k in range(1, 60)])
def test_the_mean_of_equal_windows_is_not_rounded_to_more_than_the_busiest(share: float) -> None:
    found = trust.figures(seen(*[share] * 7), 0.03, 1.0)
    assert found["cpu_busy_share"] <= found["cpu_busy_share_max"] == share


def statistics(seconds: float, cpu_share: float, dropped: int) -> dict[str, object]:
    return {
        "seconds": seconds,
        "cpu_share": cpu_share,
        "lateness_lately_seconds": {"count": 1, "median": 1e-5, "p99": 1e-4, "max": 1e-3},
        "frames": {"delivered": 10 * seconds, "dropped": dropped, "lost_in_hosts": 0},
        "stations": [{"name": "a -> b", "dropped_frames": dropped}, {"name": "b -> a", "dropped_frames": 0}],
    }


def test_the_switch_s_figures_of_a_run_are_differences_of_its_statistics() -> None:
    found = trust.of_switch(statistics(100, 0.1, 5), statistics(110, 0.15, 9))
    assert found["cpu_share"] == pytest.approx((16.5 - 10) / 10)
    assert found["frames"] == {"delivered": 100, "dropped": 4, "lost_in_hosts": 0}
    assert found["dropped_at"] == {"a -> b": 4}


def test_settings_of_the_user_switch_become_its_options() -> None:
    found = switch_choice.parse("user,forwarding=cut,buffer=64KiB")
    assert found.options == ("--forwarding", "cut", "--buffer", "65536")
    assert not found.in_kernel
    assert switch_choice.parse("kernel").in_kernel
    assert switch_choice.parse("kernel").queues is Queues.ROUTERS
    assert switch_choice.parse("kernel,queues=fair") == switch_choice.SwitchChoice(queues=Queues.FAIR)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cisco", "is not a switch"),
        ("kernel,buffer=1", "takes only queues=; write user,buffer=1"),
        ("kernel,queues", "takes only queues="),
        ("kernel,queues=input", "one of fifo, routers, fair"),
        ("user,taps=x", "is not a setting"),
        ("user,buffer", "is not a setting"),
        ("user,buffer=", "is not a setting"),
        ("user,buffer=1,buffer=2", "twice"),
        ("user,buffer=banana", "'buffer=banana': 'banana' is not a size"),
        ("user,buffer=0", "from 1 to"),
        ("user,forwarding=warp", "either store or cut"),
        ("user,queues=both", "either output or input"),
        ("user,bundle=0", "'bundle=0': from 1 to 64"),
        ("user,bundle=65", "from 1 to 64"),
        ("user,host-queue=1e3", "a whole number"),
    ],
)
def test_an_invalid_switch_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        switch_choice.parse(text)


def test_the_reference_pair_are_nodes_without_faults() -> None:
    from test_lab_plan import planned

    assert observer.pair(planned(), ()) == (0, 1)
    assert observer.pair(planned(), ({"nodes": ["n0"]}, {"nodes": ["n2"]})) == (1, 3)
    assert observer.pair(planned(), ({"nodes": ["n0", "n1"]}, {"nodes": ["n2"]})) == (0, 1)


def test_a_buffer_without_room_for_a_frame_is_refused() -> None:
    for text in ("user,buffer=1514", "user,buffer=64KiB", "user", "kernel"):
        switch_choice.refuse_small_buffer(switch_choice.parse(text), 1514)
    with pytest.raises(UsageError, match=r"buffer=1513: too small for one frame .* \(1,514 bytes\)"):
        switch_choice.refuse_small_buffer(switch_choice.parse("user,buffer=1513"), 1514)

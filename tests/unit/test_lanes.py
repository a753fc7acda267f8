"""What the kernel tells of TCP's lanes, and the caution that buffers limited them."""

from __future__ import annotations

import pytest
from made_runs import aapc_view

from crosscut.analysis.figures.cautions import Caution, CautionKind
from crosscut.analysis.figures.lanes import lanes
from crosscut.reports.words import about

FIELDS = ["rank", "peer", "segments", "again", "busy_us", "receiver_limited_us", "buffer_limited_us"]


def told(rows: object) -> dict[str, object]:
    return {"lanes": {"fields": FIELDS, "rows": rows}}


def cautions(rows: object) -> list[Caution]:
    view = aapc_view(sizes=(1000,), attributes=told(rows))
    return [one for one in about.beware(view, []) if one.kind is CautionKind.BUFFER_LIMITED]


def test_shares_are_of_the_time_in_which_a_lane_had_data_to_send() -> None:
    (one,) = lanes(told([[0, 1, 90, 0, 2_000_000, 500_000, 0]]), ranks=2)
    assert (one.busy_seconds, one.receiver_share, one.buffer_share) == (2, 0.25, 0)


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [3],
        [[]],
        [[0, 1, 90, 0, 9_999, 9_999, 0]],  # hardly busy
        [[0, 1, 90, 0, -1, 5, 0]],
        [[0, 7, 90, 0, 2_000_000, 500_000, 0]],  # no such rank
        [[0, 1, 90, 0, True, 500_000, 0]],
        [[0, 1, 90, 0, "2", 500_000, 0]],
        [[0, 1, 90, 0, 10**400, 500_000, 0]],
        [[0, 1, 90, 0, 2_000_000, 10**400, 0]],
    ],
)
def test_damage_and_idle_lanes_are_skipped(rows: object) -> None:
    assert lanes(told(rows), ranks=2) == []


def test_a_lane_that_waited_for_its_receiver_is_a_caution() -> None:
    quiet, slow = [0, 1, 9, 0, 1_000_000, 50_000, 0], [1, 2, 9, 0, 1_000_000, 640_000, 0]
    assert cautions([quiet]) == []
    (one,) = cautions([quiet, slow])
    assert "TCP waited for its receiver's window, not for the network, for 64 % of the time" in one.text
    assert "1 of 2 routes" in one.text
    assert "net.ipv4.tcp_rmem" in one.advice


def test_a_buffer_that_the_run_set_is_the_one_to_change() -> None:
    backend = {"name": "tcp", "parameters": {"receive-buffer": "16KB", "send-buffer": "0"}}
    slow = [1, 2, 9, 0, 1_000_000, 640_000, 0]
    view = aapc_view(sizes=(1000,), attributes=told([slow]) | {"backend": backend})
    (one,) = (one for one in about.beware(view, []) if one.kind is CautionKind.BUFFER_LIMITED)
    assert "--tcp-receive-buffer" in one.advice
    assert "net.ipv4" not in one.advice


def test_a_lane_that_waited_for_the_send_buffer_is_told_so() -> None:
    (one,) = cautions([[1, 2, 9, 0, 1_000_000, 0, 900_000]])
    assert "waited for the send buffer" in one.text
    assert "tcp_wmem" in one.advice

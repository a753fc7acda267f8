"""Copies: which node has the source, progress output, and invalid events of a session."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator

import pytest
from rich.console import Console

from crosscut.base.errors import SessionError, UsageError
from crosscut.base.job import Event
from crosscut.clone.clone import Order, clone
from crosscut.clone.progress import CloneProgressBar, CloneProgressLines, position, share
from crosscut.places.hosts import source_first

HERE = socket.gethostname()


class Said:
    """A session with the given events."""

    def __init__(self, *events: Event) -> None:
        self.events = events

    def ask(self, request: dict[str, object]) -> Iterator[Event]:
        assert request["do"] == "clone"
        yield from self.events


NODE: dict[str, object] = {
    "rank": 1, "node": "n1", "target": "/t", "state": "verified", "held_bytes": 30, "received_bytes": 20,
    "kept_bytes": 10, "seconds": 2.0, "sha256": "ab", "reason": "",
}  # fmt: skip
CLONED: dict[str, object] = {
    "event": "cloned", "state": "complete", "bytes": 30, "seconds": 2.5, "sha256": "ab", "nodes": [NODE],
}  # fmt: skip


def test_this_machine_has_the_source_and_gets_no_copy():
    assert source_first(["a", "b"]) == ["localhost", "a", "b"]
    assert source_first(["a", HERE, "b"]) == [HERE, "a", "b"]
    assert source_first(["a", HERE, "localhost"]) == ["localhost", "a"]
    with pytest.raises(UsageError, match="names only this machine"):
        source_first([HERE, "localhost"])


def test_the_rate_counts_the_bytes_received():
    outcome = clone(Said({"event": "warning", "message": "slow"}, CLONED), Order("s", "t"))  # type: ignore[arg-type]
    assert outcome.warnings == ("slow",)
    assert outcome.copies[0].bytes_per_second == 10
    assert outcome.verified == outcome.copies


@pytest.mark.parametrize(
    "wrong",
    [
        CLONED | {"nodes": 5},
        CLONED | {"bytes": "30"},
        CLONED | {"nodes": [NODE | {"rank": True}]},
        CLONED | {"nodes": [{"rank": 1}]},
        {"event": "cloned"},
    ],
)
def test_invalid_events_are_a_clear_error(wrong: Event):
    with pytest.raises(SessionError, match="cannot be understood"):
        clone(Said(wrong), Order("s", "t"))  # type: ignore[arg-type]


def test_progress_is_that_of_the_slowest_copy():
    event: Event = {"event": "progress", "bytes": 10**9, "held_bytes": 25 * 10**7, "rate": 5e7,
                    "checked_bytes": 0, "node": "n7", "rank": 7}  # fmt: skip
    assert share(event) == 0.25
    assert position(event) == "furthest behind: n7 (rank 7) with 250 MB  50.0 MB/s  ETA 15 s"
    done = {**event, "held_bytes": 10**9, "checked_bytes": 10**9 // 2}
    assert position(done) == "n7 (rank 7) is checking: 50 %"
    assert share({**event, "bytes": 0}) == 1.0


def test_a_log_gets_losses_at_once_and_progress_occasionally():
    stream, now = io.StringIO(), [0.0]
    lines = CloneProgressLines(stream, quiet=False, clock=lambda: now[0])
    progress: Event = {"event": "progress", "bytes": 100, "held_bytes": 10, "node": "n1", "rank": 1}
    lines(progress)
    lines({"event": "failed-rank", "rank": 2, "node": "n2", "reason": "was killed"})
    now[0] = 11
    lines(progress)
    lines(progress)
    printed = stream.getvalue().splitlines()
    assert printed[0] == "crosscut: lost n2 (rank 2): was killed"
    assert printed[1].startswith("crosscut: 10 %")
    assert len(printed) == 2


def test_a_node_cannot_set_the_title_of_the_window_that_shows_the_bar():
    stream = io.StringIO()
    with CloneProgressBar(Console(file=stream, force_terminal=True, width=120, color_system=None)) as bar:
        bar({"event": "cloning"})
        bar({"event": "progress", "bytes": 1000, "held_bytes": 1, "node": "n\x1b]0;x\x07[odd]", "rank": 3})
    assert "\x1b]" not in stream.getvalue()
    assert r"n\x1b]0;x\x07[odd] (rank 3)" in stream.getvalue()

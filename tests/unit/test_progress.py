"""Progress output of a measurement."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from crosscut.session.progress import Plain, ProgressBar, Quiet, reporter

STARTED: dict[str, object] = {"event": "started", "pattern": "aapc"}


def progress(done: float, size: int = 1000) -> dict[str, object]:
    return {
        "event": "progress", "size": size, "phase": 12, "phases": 63, "repetition": 3, "repetitions": 20,
        "done": done, "rate": 81.27e6, "eta": 200.0,
    }  # fmt: skip


def test_a_line_says_size_phase_share_rate_and_time_left() -> None:
    stream = io.StringIO()
    plain = Plain(stream)
    plain({"event": "step", "index": 3, "count": 9})
    plain(STARTED)
    plain(progress(0.41))
    assert stream.getvalue() == (
        "crosscut: 3/9 aapc  1 KB  phase 12/63  repetition 3/20  41 %  81.3 MB/s  ETA 3 min 20 s\n"
    )


def test_lines_come_at_intervals_and_when_a_size_begins() -> None:
    stream, now = io.StringIO(), [0.0]
    plain = Plain(stream, clock=lambda: now[0])
    plain(STARTED)
    for second in range(25):
        now[0] = float(second)
        plain(progress(second / 100, size=1000 if second < 15 else 2000))
    assert len(stream.getvalue().splitlines()) == 3  # at 0, 10 and 15 seconds


def test_every_size_has_a_line_even_if_it_was_too_quick_to_report() -> None:
    stream = io.StringIO()
    plain = Plain(stream, clock=lambda: 0.0)
    plain(STARTED | {"sizes": [1000, 2000, 3000, 4000, 5000]})
    plain(progress(0.1, size=1000))
    plain(progress(0.5, size=4000))
    plain(progress(0.6, size=4000))
    plain({"event": "finished", "state": "complete"})
    said = [line.removeprefix("crosscut: aapc  ").split("  ")[0] for line in stream.getvalue().splitlines()]
    assert said == ["1 KB", "2 KB, 3 KB", "4 KB", "5 KB"]


@pytest.mark.parametrize(("state", "last"), [("complete", "aapc  done"), ("interrupted", "ETA 3 min 20 s")])
def test_the_last_line_says_whether_the_job_is_done(state: str, last: str) -> None:
    stream = io.StringIO()
    with Plain(stream) as plain:
        plain(STARTED)
        plain(progress(0.8))
        plain({"event": "finished", "state": state})
    assert stream.getvalue().splitlines()[-1].endswith(last)


def test_a_sweep_of_many_sizes_has_lines_only_at_intervals() -> None:
    stream, now = io.StringIO(), [0.0]
    plain = Plain(stream, clock=lambda: now[0])
    plain(STARTED | {"sizes": list(range(1, 101))})
    for size in range(1, 101):
        now[0] += 0.5
        plain(progress(size / 100, size=size))
    assert 5 <= len(stream.getvalue().splitlines()) <= 12


def test_a_stopped_run_does_not_claim_the_sizes_it_lacks() -> None:
    stream = io.StringIO()
    plain = Plain(stream)
    plain(STARTED | {"sizes": [1000, 2000]})
    plain({"event": "finished", "state": "stopped"})
    assert stream.getvalue() == ""


def test_missing_or_wrong_members_do_not_crash() -> None:
    stream = io.StringIO()
    plain = Plain(stream)
    plain({"event": "progress", "size": "big", "done": None, "rate": "fast"})
    plain({"event": "something new"})
    assert "phase ?/?" in stream.getvalue()


def test_quiet_still_reports_errors() -> None:
    stream = io.StringIO()
    quiet = Quiet(stream)
    quiet(progress(0.5))
    quiet({"event": "failed-rank", "rank": 5, "node": "n003", "reason": "silent"})
    quiet({"event": "note", "message": "planted in lab x: f1"})
    assert stream.getvalue() == "crosscut: lost rank 5 on n003: silent\n"


def test_a_note_is_a_line() -> None:
    stream = io.StringIO()
    Plain(stream)({"event": "note", "message": "planted in lab x: f1"})
    assert stream.getvalue() == "crosscut: planted in lab x: f1\n"


def test_a_bar_shows_phase_and_rate_and_takes_no_markup_from_events() -> None:
    stream = io.StringIO()
    with ProgressBar(Console(file=stream, force_terminal=True, width=120, color_system=None)) as bar:
        bar(STARTED)
        bar(progress(0.41))
        bar({"event": "warning", "message": "an [odd] name"})
    shown = stream.getvalue()
    assert "warning: an [odd] name" in shown
    assert "phase 12/63" in shown
    assert "81.3 MB/s" in shown


def test_without_a_terminal_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(reporter(quiet=False, stream=io.StringIO()), Plain)
    assert isinstance(reporter(quiet=True, stream=io.StringIO()), Quiet)

"""Copies down a chain of real processes: whole, resumed, and around nodes that die or fall silent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloning import (
    TooLate,
    again_if_too_late,
    copied,
    copies,
    copying,
    image,
    order,
    stop,
    unfinished,
    wait_for_bytes,
)
from processes import await_none
from strangers import Strangers
from under_way import PATIENCE_SECONDS, private_core, rank_processes, signal_all, wait_until

from crosscut.base import core
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.clone.clone import VERIFIED, CloneOutcome
from crosscut.session.measure import Launch

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

PROCESSES = 5
RANKS = list(range(1, PROCESSES))
LAUNCH = Launch(on=f"local:{PROCESSES}", pin=False)
MEGABYTES = 40
WHOLE = MEGABYTES << 20


@pytest.fixture
def folder(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for images and copies; fails if any process is left."""
    binaries = private_core(quick_path, monkeypatch.setenv)
    images = quick_path / "images"
    images.mkdir()
    yield images
    core.load.cache_clear()
    await_none(binaries / core.CORE)


def processes(folder: Path) -> tuple[int, list[int]]:
    return rank_processes(folder.parent / "bin" / core.CORE, PROCESSES)


def started(folder: Path) -> list[int]:
    """Waits until a command has started its ranks; returns their processes."""
    ranks: list[int] = []

    def all_run() -> bool:
        with contextlib.suppress(AssertionError, ValueError):
            ranks.extend(processes(folder)[1])
        return bool(ranks)

    wait_until(all_run, "ranks are started")
    return ranks


def states(outcome: CloneOutcome) -> list[str]:
    return [copy.state for copy in outcome.copies]


@pytest.mark.parametrize("size", [0, 1, 16 << 10, (16 << 10) + 1, 3_000_001])
@pytest.mark.parametrize("interface", ["127.0.0.1", "127.0.0.1,127.0.0.2,127.0.0.3"])
def test_every_copy_is_the_source(folder: Path, size: int, interface: str) -> None:
    source = image(folder / "source", size)
    source.chmod(0o640)
    outcome = copied(order(source), Launch(on=LAUNCH.on, pin=False, interface=interface))
    assert outcome.state == "complete"
    assert states(outcome) == [VERIFIED] * len(RANKS)
    for copy, made in zip(outcome.copies, copies(folder, PROCESSES), strict=True):
        assert made.read_bytes() == source.read_bytes()
        assert made.stat().st_mode & 0o777 == 0o640
        assert copy.received_bytes == size
        assert copy.sha256 == outcome.sha256
    digest = subprocess.run(["sha256sum", source], capture_output=True, text=True, check=True).stdout
    assert digest.split()[0] == outcome.sha256
    assert len(list(folder.iterdir())) == PROCESSES, "nothing else is left"


@pytest.mark.parametrize("victim", RANKS)
@again_if_too_late
def test_a_node_that_dies_is_skipped_and_a_second_attempt_sends_only_what_is_missing(
    folder: Path, victim: int
) -> None:
    source = image(folder / "source", WHOLE)
    made = copies(folder, PROCESSES)
    with copying(order(source), LAUNCH) as under_way:
        partial = unfinished(made[victim - 1])
        _, ranks = processes(folder)
        under_way.begin()
        wait_for_bytes(partial)
        stop(ranks[victim])
        if not partial.exists():
            raise TooLate(partial)
        os.kill(ranks[victim], signal.SIGKILL)
        outcome = under_way.end()
    assert outcome.state == "failed"
    assert under_way.lost() == [victim]
    lost = outcome.copies[victim - 1]
    assert lost.state == "lost"
    assert "signal 9" in lost.reason
    assert lost.held_bytes < WHOLE
    assert not made[victim - 1].exists(), "half a copy is not put into its place"
    for copy in outcome.copies:
        if copy.rank != victim:
            assert copy.state == VERIFIED
            assert made[copy.rank - 1].read_bytes() == source.read_bytes()

    again = copied(order(source, resume=True), LAUNCH)
    assert states(again) == [VERIFIED] * len(RANKS)
    for copy in again.copies:
        assert made[copy.rank - 1].read_bytes() == source.read_bytes()
        if copy.rank != victim:
            assert copy.received_bytes == 0, "it was there already"
    assert 0 < again.copies[victim - 1].kept_bytes < WHOLE
    assert again.copies[victim - 1].received_bytes == WHOLE - again.copies[victim - 1].kept_bytes


@again_if_too_late
def test_two_neighbours_that_die_at_once_are_skipped(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    with copying(order(source), LAUNCH) as under_way:
        _, ranks = processes(folder)
        under_way.begin()
        wait_for_bytes(unfinished(copies(folder, PROCESSES)[0]))
        stop(ranks[4])  # so that copies do not end before their nodes
        wait_for_bytes(unfinished(copies(folder, PROCESSES)[2]))
        signal_all([ranks[2], ranks[3]], signal.SIGKILL)
        os.kill(ranks[4], signal.SIGCONT)
        outcome = under_way.end()
    assert states(outcome) == [VERIFIED, "lost", "lost", VERIFIED]
    assert copies(folder, PROCESSES)[3].read_bytes() == source.read_bytes()


@again_if_too_late
def test_a_node_that_dies_after_its_copy_is_in_place_has_one(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    made = copies(folder, PROCESSES)
    with copying(order(source), LAUNCH) as under_way:
        _, ranks = processes(folder)
        under_way.begin()
        wait_for_bytes(unfinished(made[1]))
        stop(ranks[2])
        wait_until(lambda: "verified" in under_way.said(), "the first copy is made without the second")
        os.kill(ranks[1], signal.SIGKILL)
        os.kill(ranks[2], signal.SIGCONT)
        outcome = under_way.end()
    assert states(outcome) == [VERIFIED] * len(RANKS)
    assert all(copy.read_bytes() == source.read_bytes() for copy in made)
    assert under_way.lost() == [1]


@again_if_too_late
def test_a_node_that_falls_silent_is_skipped(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    with copying(order(source), Launch(on=LAUNCH.on, pin=False, timeout_seconds=2)) as under_way:
        _, ranks = processes(folder)
        under_way.begin()
        wait_for_bytes(unfinished(copies(folder, PROCESSES)[1]))
        stop(ranks[2])
        try:
            outcome = under_way.end()
        finally:
            os.kill(ranks[2], signal.SIGKILL)
    assert states(outcome) == [VERIFIED, "lost", VERIFIED, VERIFIED]
    assert "silent" in outcome.copies[1].reason


@again_if_too_late
def test_after_all_were_killed_good_chunks_are_kept_and_damaged_ones_sent_again(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    made = copies(folder, PROCESSES)
    with copying(order(source), LAUNCH) as under_way:
        node, ranks = processes(folder)
        under_way.begin()
        wait_for_bytes(unfinished(made[-1]), 1 << 20)
        signal_all([node, *ranks], signal.SIGKILL)
        with contextlib.suppress(CrosscutError):
            under_way.end()
    if any(copy.exists() for copy in made):
        raise TooLate
    with unfinished(made[0]).open("r+b") as damaged:  # as a crash of the machine may leave it
        damaged.write(bytes(100_000))
    outcome = copied(order(source, resume=True), LAUNCH)
    assert states(outcome) == [VERIFIED] * len(RANKS)
    for copy in outcome.copies:
        assert copy.kept_bytes > 0
        assert copy.kept_bytes + copy.received_bytes == WHOLE
        assert made[copy.rank - 1].read_bytes() == source.read_bytes()


def test_without_resume_an_unfinished_copy_is_begun_anew(folder: Path) -> None:
    source = image(folder / "source", 100_000)
    unfinished(copies(folder, PROCESSES)[0]).write_bytes(source.read_bytes() + b"and more")
    outcome = copied(order(source), LAUNCH)
    assert states(outcome) == [VERIFIED] * len(RANKS)
    assert outcome.copies[0].kept_bytes == 0
    assert copies(folder, PROCESSES)[0].read_bytes() == source.read_bytes()


def test_a_source_that_changed_between_two_attempts_is_copied_in_its_new_state(folder: Path) -> None:
    source = image(folder / "source", 200_000)
    unfinished(copies(folder, PROCESSES)[1]).write_bytes(source.read_bytes())
    image(source, 200_000)
    outcome = copied(order(source, resume=True), LAUNCH)
    assert states(outcome) == [VERIFIED] * len(RANKS)
    assert outcome.copies[1].received_bytes == 200_000


def test_resuming_leaves_a_whole_file_that_is_not_a_copy_untouched(folder: Path) -> None:
    source = image(folder / "source", 200_000)
    other = image(copies(folder, PROCESSES)[1], 200_000)
    before = other.read_bytes()
    outcome = copied(order(source, resume=True), LAUNCH)
    assert states(outcome) == [VERIFIED, "lost", VERIFIED, VERIFIED]
    assert "is no copy of the source" in outcome.copies[1].reason
    assert other.read_bytes() == before


def test_strangers_neither_write_nor_disturb(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    strangers = Strangers(folder.parent / "bin" / core.CORE)
    try:
        outcome = copied(order(source), LAUNCH)
        wait_until(lambda: strangers.rounds > 0, "the strangers never came round")
    finally:
        strangers.end()
    assert states(outcome) == [VERIFIED] * len(RANKS)
    assert all(made.read_bytes() == source.read_bytes() for made in copies(folder, PROCESSES))
    assert strangers.learnt == []


def test_a_job_with_unknown_or_hostile_members_is_refused(folder: Path) -> None:
    source = image(folder / "source", 10)
    for chunk, word in ((1, "chunk_bytes"), (2**62, "chunk_bytes")):
        wrong = order(source)
        with pytest.raises(UsageError, match=word):
            copied(type(wrong)(wrong.source, wrong.target, chunk_bytes=chunk), LAUNCH)


def clone_command(*words: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "crosscut", "clone", *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@again_if_too_late
def test_an_interrupted_copy_reports_its_progress_and_can_be_resumed(folder: Path) -> None:
    source = image(folder / "source", WHOLE)
    words = ("source", "copy-{rank}", "--on", LAUNCH.on, "--chunk", "4KiB")
    with clone_command(*words, folder=folder) as process:
        ranks = started(folder)
        wait_for_bytes(unfinished(copies(folder, PROCESSES)[-1]))
        stop(ranks[-1])  # so that it cannot end before the signal
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        os.kill(ranks[-1], signal.SIGCONT)
        printed, complained = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, complained
    assert "unfinished at" in printed
    assert "--resume" in complained
    again = clone_command(*words, "--resume", folder=folder)
    printed, complained = again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 0, complained
    assert f"{len(RANKS)} verified" in printed
    assert all(made.read_bytes() == source.read_bytes() for made in copies(folder, PROCESSES))

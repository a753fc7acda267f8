"""Programs under a time limit: their output, and that none of their processes is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from crosscut.base import process_group, shared_memory
from crosscut.base.errors import PlaceError


def test_output_errors_and_exit_status_are_returned(tmp_path: Path) -> None:
    words = ["sh", "-c", 'pwd; echo "$WORD" >&2; cat; exit 7']
    done = process_group.run(words, {**os.environ, "WORD": "so"}, 60, tmp_path)
    assert (done.status, done.printed, done.complained) == (7, f"{tmp_path.resolve()}\n", "so\n")


def test_output_may_have_bytes_that_are_not_text() -> None:
    done = process_group.run(["printf", r"a\377b"], os.environ, 60)
    assert done.printed == "a\N{REPLACEMENT CHARACTER}b"


def test_a_program_over_its_time_limit_is_ended_with_its_children(tmp_path: Path) -> None:
    told = tmp_path / "child"
    words = ["sh", "-c", 'sleep 600 & echo $! > "$0"; wait', told]
    with pytest.raises(process_group.Overran, match=r"^sh was ended after 0.5 s"):
        process_group.run(words, os.environ, 0.5)
    while Path(f"/proc/{told.read_text().strip()}/exe").exists():  # no other process reaps it
        time.sleep(0.001)


def test_shared_memory_of_an_mpi_program_that_is_ended_is_removed() -> None:
    name = shared_memory.FOLDER / f"mpich_shm_crosscut_{os.getpid()}"
    with pytest.raises(process_group.Overran):
        process_group.run(["sh", "-c", f"echo > {name}; sleep 600"], os.environ, 0.5)
    assert not name.exists()


@pytest.mark.parametrize("then", ["wait", "exit 0"])
def test_children_that_ignore_sigterm_are_ended(
    then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even children of a program that has already ended."""
    monkeypatch.setattr(process_group, "END_SECONDS", 0.2)
    told = tmp_path / "child"
    words = ["sh", "-c", "trap '' TERM; sleep 600 > /dev/null 2>&1 & echo $! > \"$0\"; trap - TERM; " + then]
    with contextlib.suppress(process_group.Overran):
        process_group.run([*words, told], os.environ, 1)
    assert not Path(f"/proc/{told.read_text().strip()}/exe").exists()


def test_a_missing_program_is_named() -> None:
    with pytest.raises(PlaceError, match="cannot start /nowhere/program: there is no such file"):
        process_group.run([Path("/nowhere/program")], os.environ, 1)


@pytest.mark.parametrize("alone", [True, False])
def test_an_interrupt_while_the_program_starts_ends_it(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: object, **options: object) -> None:
            super().__init__(*words, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        process_group.start(["sleep", "600"], start_new_session=alone)
    assert started[0].returncode == -signal.SIGTERM


def test_a_signal_whose_handler_returns_does_not_end_a_starting_program() -> None:
    noted = []
    before = signal.signal(signal.SIGHUP, lambda number, _: noted.append(number))
    try:
        with process_group._signals_held() as held:
            signal.raise_signal(signal.SIGHUP)
        assert (held, noted) == ([signal.SIGHUP], [])
        process_group.start(["true"]).wait()
        signal.raise_signal(signal.SIGHUP)
        assert noted == [signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)


def test_ignored_signals_are_ignored_by_the_program_too() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = process_group.start(["sh", "-c", "kill -HUP $$; exit 5"])
        assert process.wait() == 5
    finally:
        signal.signal(signal.SIGHUP, before)

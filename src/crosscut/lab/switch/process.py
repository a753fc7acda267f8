"""The user-space switch of a lab: a process that outlives the command that started it.

It runs in the namespace `fabric`, where `down` finds it even when the record of it was lost. What it says
goes into a file: a pipe that nobody reads would stop it, and the network with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError
from crosscut.lab import enter, removal, state
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import LabPlan
from crosscut.lab.switch.program import (
    ANSWER_SECONDS,
    READY_SECONDS,
    Tap,
    UserSwitchError,
    find_switch,
    taps_list,
)
from crosscut.network import switch_choice

_SAID, _ERRORS, _TAPS, _FAULTS = "switch.said", "switch.errors", "taps.json", "faults.json"
_POLL_SECONDS = 0.005
_WORDS_KEPT_BYTES = 4096


def start(record: state.Record, folder: Path, made: LabPlan, network: Path) -> state.Process:
    """Waits until all adapters are there; UserSwitchError has the program's own words."""
    (folder / _TAPS).write_text(taps_list(_taps(made, folder)), encoding="ascii")
    (folder / _FAULTS).write_text("", encoding="utf-8")
    words = [str(find_switch()), str(network.absolute()), "--taps", str(folder / _TAPS)]
    words += ["--faults", str(folder / _FAULTS)]
    words += ["--dilate", repr(record.dilation), *switch_choice.parse(record.switch).options]
    command = enter.command(record, folder, enter.FABRIC, words)
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawnp(
        command[0], command, os.environ, setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(folder / _SAID), append, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, str(folder / _ERRORS), append, 0o644),
        ],
    )  # fmt: skip
    process = state.Process(pid, state.start_ticks(pid) or 0)
    try:
        _answer(folder, process, "ready", READY_SECONDS)
    except BaseException:
        process.end()
        raise
    return process


def _taps(made: LabPlan, folder: Path) -> list[Tap]:
    return [
        Tap(
            host,
            folder / "net" / name,
            addresses.interface(adapter),
            adapter,
            mac=addresses.mac(host, adapter),
        )
        for host, name in enumerate(made.hosts)
        for adapter in range(made.adapters[host])
    ]


def statistics(record: state.Record) -> Mapping[str, Any]:
    """What has passed since the lab was built, and how late it was. One asks at a time."""
    if record.switch_process is None:
        raise UserSwitchError(f"lab {record.name} is carried by the kernel, which keeps no such statistics")
    return _ask(record, state.folder(record.name), signal.SIGUSR1, "statistics")


def runs(record: state.Record) -> bool:
    """True where the process that the record names runs and is in the lab: a signal would end any other."""
    process = record.switch_process
    return process is not None and removal.contains(state.folder(record.name), record.holder, process)


def set_faults(record: state.Record, folder: Path, lines: str) -> None:
    """All that are planted (faults/catalogue.py). Where the switch refuses them it has those of before."""
    file = folder / _FAULTS
    before = file.read_text(encoding="utf-8")
    try:
        _tell_faults(record, folder, lines)
    except UserSwitchError:
        if runs(record):
            _tell_faults(record, folder, before)
        raise


def _tell_faults(record: state.Record, folder: Path, lines: str) -> None:
    unfinished = folder / f"{_FAULTS}.unfinished"
    unfinished.write_text(lines, encoding="utf-8")
    unfinished.replace(folder / _FAULTS)
    answer = _ask(record, folder, signal.SIGUSR2, "faults")
    if "refused" in answer:
        raise UserSwitchError(f"the lab's switch cannot: {answer['refused']}")


def _ask(record: state.Record, folder: Path, number: signal.Signals, event: str) -> Mapping[str, Any]:
    process = record.switch_process
    if process is None or not runs(record):
        raise UserSwitchError(f"the lab's switch has ended{_last_words(folder)}")
    with (folder / _SAID).open("r+b") as said:
        fcntl.flock(said, fcntl.LOCK_EX)
        said.truncate(0)  # it appends: what it says next stands at the beginning
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        return _answer(folder, process, event, ANSWER_SECONDS)


def failure(record: state.Record) -> str | None:
    """Why nothing is carried any more; None while it is, and where the kernel does it."""
    if record.switch_process is None:
        in_kernel = switch_choice.parse(record.switch).in_kernel
        return None if in_kernel else "its switch was never started"
    return None if runs(record) else f"its switch has ended{_last_words(state.folder(record.name))}"


def _answer(folder: Path, process: state.Process, event: str, seconds: float) -> Mapping[str, Any]:
    deadline = time.monotonic() + seconds
    while True:
        alive = process.alive()  # before looking: what it said last counts
        for line in _lines(folder / _SAID):
            with contextlib.suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict) and value.get("event") == event:
                    return value
        if not alive:
            raise UserSwitchError(f"the lab's switch has ended{_last_words(folder)}")
        if time.monotonic() > deadline:
            raise UserSwitchError("the lab's switch did not answer in time; is the machine overloaded?")
        time.sleep(_POLL_SECONDS)


def _lines(path: Path) -> list[bytes]:
    """Whole ones."""
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _last_words(folder: Path) -> str:
    try:
        said = (folder / _ERRORS).read_bytes()[-_WORDS_KEPT_BYTES:].decode("utf-8", "replace").strip()
    except OSError as error:
        raise CrosscutError(f"{error.filename}: {error.strerror}") from error
    return f": {said.splitlines()[-1]}" if said else ", and does not say why"

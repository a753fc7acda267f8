"""Runs programs in process groups of their own and leaves no process behind, whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base import shared_memory
from crosscut.base.errors import CrosscutError, PlaceError, plainly

END_SECONDS = 5
_LOOK_SECONDS = 0.01
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Overran(CrosscutError):
    """A program was ended after its time limit."""


@dataclass(frozen=True)
class Ended:
    status: int
    printed: str
    complained: str
    """What it wrote to standard error."""


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    limit_seconds: float,
    folder: Path | None = None,
) -> Ended:
    """Runs a command without input. Raises PlaceError if it does not start, Overran if it takes too long.

    Removes shared memory that MPI programs leave if they are ended.
    """
    began = time.time()
    try:
        process = start(
            [os.fspath(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        raise PlaceError(f"cannot start {command[0]}: {plainly(error)}") from error
    with process:
        try:
            printed, complained = process.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired as error:
            raise Overran(f"{command[0]} was ended after {limit_seconds:g} s") from error
        finally:
            end(process)
            shared_memory.remove_orphans(began)
    texts = (stream.decode("utf-8", "replace") for stream in (printed, complained))
    return Ended(process.returncode, *texts)


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Has the kernel signal this process when the thread that started it ends: also for `preexec_fn`."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a process as subprocess.Popen does, with its options. An interrupt that arrives before the
    caller has the handle ends the process."""
    process = None
    try:
        with _signals_held() as held:
            process = subprocess.Popen(command, **options)
        for number in held:
            signal.raise_signal(number)
    except BaseException:
        if process is not None:
            end(process)
        raise
    return process


@contextlib.contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Holds back the signals that this program handles, and yields the list of those that arrived.

    Ignored signals and those with the kernel's default action stay so, because the process inherits that.
    """
    held: list[int] = []
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # other threads are never interrupted
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if callable(handler := signal.getsignal(number)):
                    before[number] = handler
                    signal.signal(number, lambda came, _frame: held.append(came))
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(process: subprocess.Popen[Any]) -> None:
    """Ends a process and the rest of its group, even if the process itself has already ended.

    Sends SIGTERM first, because launchers and scripts pass it on, also to other nodes; then SIGKILL.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _is_left(process):
            return
        _signal(process, number)
        deadline = time.monotonic() + END_SECONDS
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
        while _is_left(process) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)


def _signal(process: subprocess.Popen[Any], number: int) -> None:
    """Signals the process's group, or only the process if it leads none."""
    with contextlib.suppress(PermissionError):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            process.send_signal(number)


def stopped(pid: int, *, leaves: bool = False) -> int | None:
    """Returns the process that waits to be continued (SIGSTOP, ctrl-Z): this one, or the first below it.

    Below it, a process without children counts only with `leaves`.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if stat.rpartition(")")[2].split()[0] in "Tt":
        return pid
    below = (stopped(child, leaves=leaves) for child in _children(pid))
    return next((found for found in below if found is not None and (leaves or _children(found))), None)


def _children(pid: int) -> list[int]:
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(word) for word in words]


def name(pid: int) -> str:
    """Returns the name of the process's program; `?` if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "?"


def _is_left(process: subprocess.Popen[Any]) -> bool:
    if process.poll() is None:
        return True
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return any(_group_of_living(stat) == process.pid for stat in Path("/proc").glob("[0-9]*/stat"))


def _group_of_living(stat: Path) -> int | None:
    """Returns the process's group; None if it is gone, or a zombie, which may wait long to be reaped."""
    try:
        state, _parent, group, *_ = (
            stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else int(group)

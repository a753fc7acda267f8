"""Programs in a process group of their own, of which nothing is left, whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError, PlaceError, plainly

END_SECONDS = 5


class Overran(CrosscutError):
    """It was ended after its time limit."""


@dataclass(frozen=True)
class Ended:
    status: int
    printed: str
    complained: str
    """On standard error."""


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    limit_seconds: float,
    folder: Path | None = None,
) -> Ended:
    """Without input. Raises PlaceError where it cannot be started, Overran where it takes longer."""
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
    texts = (stream.decode("utf-8", "replace") for stream in (printed, complained))
    return Ended(process.returncode, *texts)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """As subprocess.Popen, with its options. An interrupt that comes before the caller has the handle ends
    the process."""
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
    """Signals that this program handles come to the list; who handles them is back at the block's end.

    What is ignored or left to the kernel stays so, for the process inherits it.
    """
    held: list[int] = []
    before = {}
    try:
        if threading.current_thread() is threading.main_thread():  # others are not interrupted
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if callable(handler := signal.getsignal(number)):
                    before[number] = handler
                    signal.signal(number, lambda came, _frame: held.append(came))
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(process: subprocess.Popen[Any]) -> None:
    """SIGTERM first: launchers and scripts hand it on, also to other nodes. Then what is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)

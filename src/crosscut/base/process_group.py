"""Programs in a process group of their own, of which nothing is left, whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
        process = subprocess.Popen(
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


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM first: launchers and scripts hand it on, also to other nodes. Then what is left of it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)

"""Who measures on a lab: a file for each session in its folder, which names the process.

One whose process is gone (killed) counts no more.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable

from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.lab import state

FOLDER = "users"


def enlist(name: str) -> Callable[[], None]:
    """This process measures on the lab until it calls what is returned. UsageError where the lab is gone."""
    process = state.this_process()
    folder = state.folder(name) / FOLDER
    mine = folder / f"{process.pid}.{process.start_ticks}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(exist_ok=True)
        mine.touch()
    except FileNotFoundError as error:
        raise UsageError(f"there is no lab {name} any more") from error
    except OSError as error:
        raise CrosscutError(f"{mine}: {plainly(error)}; only who built lab {name} measures on it") from error

    def leave() -> None:
        with contextlib.suppress(OSError):  # the lab was taken down
            mine.unlink(missing_ok=True)

    return leave


def measuring(name: str) -> list[state.Process]:
    """Processes that do so now."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in (state.folder(name) / FOLDER).iterdir():
            process = _named(entry.name)
            if process is not None and process.alive():
                found.add(process)
    return sorted(found, key=lambda process: process.pid)


def _named(entry: str) -> state.Process | None:
    numbers = entry.split(".")[:2]
    if len(numbers) < 2 or not all(one.isascii() and one.isdecimal() and len(one) < 20 for one in numbers):
        return None
    return state.Process(int(numbers[0]), int(numbers[1])) if int(numbers[0]) else None

"""Shared by commands that measure into a folder of runs: `--keep`, the session, metadata that runs record."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.base.spelling import as_typed
from crosscut.base.whole_file import need_folder
from crosscut.session.client import Session
from crosscut.session.measure import Decided, ready_session, refuse_bytes
from crosscut.session.progress import reporter


def resume_command(run: Path, decided: Decided) -> str:
    """Returns the command that continues a run. A run does not record which program starts its ranks, or with
    what arguments, because a stranger's run could then start any program; so these have to be typed again."""
    options = decided.options
    typed = {
        "--launcher": options.launcher,
        "--launcher-args": shlex.join(options.launcher_arguments),
        "--core-path": options.core_path,
    }
    words = [as_typed(run), *(f"{name}={value}" for name, value in typed.items() if value)]
    return f"crosscut run --resume {shlex.join(words)}"


@contextmanager
def measuring(
    args: argparse.Namespace, decided: Decided, *, progress: bool = False
) -> Iterator[tuple[Path, Session]]:
    """Yields the folder of runs and a session."""
    with launching(args, decided, progress=progress) as (folder, launch), launch() as session:
        yield folder, session


@contextmanager
def launching(
    args: argparse.Namespace, decided: Decided, *, progress: bool = False
) -> Iterator[tuple[Path, Callable[[], AbstractContextManager[Session]]]]:
    """Yields the folder of runs and a function that starts a session. Unless `--quiet` is given, prints on
    standard error each remark of the place (planted faults) once and, with `progress`, the progress."""
    told: set[str] = set()

    def remarked(remark: str) -> None:
        if not args.quiet and remark not in told:
            print(f"crosscut: {remark}", file=sys.stderr)
        told.add(remark)

    with _folder_of_runs(args.keep) as folder, reporter(args.quiet or not progress) as listener:
        yield folder, lambda: ready_session(decided, listener, remarked)


@contextmanager
def _folder_of_runs(keep: Path | None) -> Iterator[Path]:
    """Yields the new folder that `--keep` names, or else a temporary one."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="crosscut-") as temporary:
            yield Path(temporary)
        return
    kept = keep.absolute()
    if kept.exists() and any(kept.iterdir()):
        raise UsageError(f"--keep {keep} already exists and is not empty; name another folder")
    need_folder("--keep", keep)
    refuse_bytes("--keep", kept)
    kept.mkdir(exist_ok=True)
    yield kept


def recorded(args: argparse.Namespace, decided: Decided) -> dict[str, object]:
    """Returns the metadata that runs record about the command."""
    return {"command_line": checked_words(args.words), "on": decided.on, "ranks": decided.options.ranks}


def checked_words(words: Sequence[str]) -> list[str]:
    """Returns the words of the command line, for runs to record. Raises UsageError if one is not UTF-8."""
    for before, word in zip(["", *words], words, strict=False):
        refuse_bytes(before if before.startswith("-") and not word.startswith("-") else "", word)
    return [*words]

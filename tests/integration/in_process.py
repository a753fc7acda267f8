"""Runs the command line in the tests' process: starting Python takes longer than most commands."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from unittest import mock

from crosscut import cli
from crosscut.cli import lab

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def crosscut(
    *words: object, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `crosscut WORDS` in `folder` and returns its output, that of programs it starts included, and its
    exit status.

    Raises exceptions for which a person would see a traceback.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as said,
        tempfile.TemporaryFile("w+", encoding="utf-8") as complained,
    ):
        with (
            mock.patch.dict(os.environ, environment or {}),
            contextlib.chdir(folder or Path.cwd()),
            _handlers_kept(),
            mock.patch.object(lab, "become", _in_a_child),
            _into(1, said),
            _into(2, complained),
        ):
            _forget()
            try:
                status = cli.main([str(word) for word in words])
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
        _forget()
        for stream in (said, complained):
            stream.seek(0)
        return subprocess.CompletedProcess(words, status, said.read(), complained.read())


def _forget() -> None:
    """Empties crosscut's caches, as in a new process: their keys are paths relative to a folder."""
    for name, module in sys.modules.copy().items():  # copied: other threads import
        if name.partition(".")[0] == "crosscut":
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def _in_a_child(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Stands in for exec, which would replace the tests' process."""
    raise SystemExit(subprocess.run(words, check=False, env=dict(environment)).returncode)


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    handlers = [signal.getsignal(number) for number in _ENDING]
    try:
        yield
    finally:
        for number, handler in zip(_ENDING, handlers, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def _into(descriptor: int, file: IO[str]) -> Iterator[None]:
    """Redirects the descriptor to the file, for child processes too."""
    stream, redirected = (
        (sys.stdout, contextlib.redirect_stdout)
        if descriptor == 1
        else (sys.stderr, contextlib.redirect_stderr)
    )
    stream.flush()
    kept = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        with open(descriptor, "w", encoding="utf-8", closefd=False) as mine, redirected(mine):
            yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)

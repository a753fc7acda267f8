"""Helpers of the tests of imports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crosscut.analysis.figures.pingpong import sweep
from crosscut.imports import output
from crosscut.imports.formats import guessed
from crosscut.imports.measured import Measured
from crosscut.reports.view import View
from crosscut.run.run import Run

FILES = Path(__file__).parent / "imports"
MIB = 1 << 20


def parsed(path: Path) -> Measured:
    read = output.read(path)
    return guessed(read).parse(read)


def changed(tmp_path: Path, name: str, *edits: tuple[str, str]) -> Path:
    """Writes a copy of a fixture with words replaced."""
    text = (FILES / name).read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def rates(run: Run) -> dict[int, float]:
    """Median bytes per second by size, of a sweep."""
    found = sweep(View.of(run).measured())
    return dict(zip(found.size_bytes, found.rates.median.tolist(), strict=True))


def times(measured: Measured, at: int) -> list[float]:
    """One time a repetition, of the size at this index of a sweep."""
    return list(np.nanmax(measured.message_seconds[at], axis=(1, 2, 3)))

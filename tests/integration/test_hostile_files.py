"""Mutated files of every kind that crosscut reads are read or refused: no traceback, no hang, no signal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tiers import long

TOOL = Path(__file__).parents[2] / "tools" / "hostile_files.py"


@pytest.mark.parametrize("files", [2, long(100)])
def test_mutated_files_are_read_or_refused_with_a_message(files: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, TOOL, str(files), "--seed", "7000", "--keep", tmp_path / "kept"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "none went wrong" in done.stdout

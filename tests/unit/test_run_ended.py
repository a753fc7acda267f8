"""What is said of a run that ended early."""

from __future__ import annotations

import shutil
from pathlib import Path

from stored_run import make_run

from crosscut.cli import run_ended


def test_an_empty_run_is_not_said_to_hold_measurements(tmp_path: Path) -> None:
    """For example after a full disk."""
    path = make_run(tmp_path / "run.zarr")
    assert run_ended.kept(path, "again").startswith("what was measured is in ")
    shutil.rmtree(path / "status" / "c")
    assert run_ended.kept(path, "again") == "nothing was measured; start again: again"
    (path / "zarr.json").write_text("")
    assert run_ended.kept(path, "again").startswith("nothing was measured")

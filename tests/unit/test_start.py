"""What starting the command costs."""

from __future__ import annotations

import subprocess
import sys


def test_the_command_starts_without_the_libraries_that_only_runs_need() -> None:
    """Their import takes longer than most commands."""
    asked = "import sys; from crosscut.cli import build_parser; build_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "crosscut.cli" in loaded
    assert not loaded & {"xarray", "pandas", "zarr", "scipy"}

"""Parts of measurements and copies killed at random moments: what tools/kill_campaign.py checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "kill_campaign.py"


@pytest.mark.long
def test_whatever_is_killed_ends_is_named_and_can_be_continued() -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "70", "--seed", "7200"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "70 cases, none went wrong" in done.stdout

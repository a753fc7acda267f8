"""Tests that do not always pass are listed, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "flaky_tests.py"
TESTS = """
from pathlib import Path
import pytest

def test_steady(): pass

@pytest.mark.skip
def test_skipped(): pass

def test_every_other_time():
    mark = Path(__file__).with_name("mark")
    there = mark.exists()
    mark.unlink() if there else mark.touch()
    assert there
"""


def test_only_a_test_that_fails_every_other_time_is_listed(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    words = [sys.executable, str(TOOL), "2", sys.executable, "-m", "pytest", "-c", "/dev/null", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 1
    *_, listed, total = done.stdout.splitlines()
    assert listed.endswith("test_every_other_time: failed 1, passed 1")
    assert total == "1 of 3 tests do not always pass, in 2 runs"

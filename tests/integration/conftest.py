"""Makes the helpers of this folder importable: pytest's import mode `importlib` leaves sys.path alone."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 256 << 20


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """An empty folder in memory where there is some: a run waits for the disk at each of its steps, which
    takes most of the time of a small one. What a killed process has written stays in memory as on a disk."""
    try:
        roomy = shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
        folder = tempfile.TemporaryDirectory(prefix="crosscut-test-", dir=MEMORY if roomy else tmp_path)
    except OSError:
        folder = tempfile.TemporaryDirectory(dir=tmp_path)
    with folder as name:
        yield Path(name)

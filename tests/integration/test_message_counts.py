"""Runs and counts workloads like `make messages`, but in a small class."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError
from crosscut.profile import profiler
from crosscut.workloads import applications

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.messages import counting  # noqa: E402

BY_NAME = {one.name: one for one in applications.WORKLOADS}
RANKS = 4


def lacking() -> str | None:
    try:
        applications.find_executable(BY_NAME["is"])
        profiler.find_library()
    except CrosscutError as error:
        return str(error)
    return None if counting.BESIDE.exists() else "no mpiexec: pip install 'mpich>=5'"


pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def test_is_is_run_verified_and_counted(tmp_path: Path) -> None:
    """NPB, IS, class S: 2^16 keys from all to all in each of 10 timed iterations."""
    found = counting.count(BY_NAME["is"], "S", RANKS, tmp_path)
    assert found.collective_calls["MPI_Alltoallv"] == 10 * RANKS
    assert sum(found.point.messages) == 0
    kept = sum(found.collective.bytes) - 10 * 2**16 * 4
    sums = 10 * 2 * (RANKS - 1) * (2**9 + 5) * 4  # a reduction and a broadcast of 512 buckets and 5 keys
    counts = 10 * RANKS**2 * 4
    assert kept == sums + counts
    assert found.busiest_sent_bytes < sum(found.all.bytes) / RANKS


def test_counts_survive_a_file(tmp_path: Path) -> None:
    found = counting.count(BY_NAME["ep"], "S", RANKS, tmp_path)
    counting.save(tmp_path / "counts.json", [found])
    assert counting.load(tmp_path / "counts.json") == [found]
    assert counting.count(BY_NAME["ep"], "S", RANKS, tmp_path) == found  # from the existing profile


def test_the_command_prints_a_page_of_another_class(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.messages", "--class", "S", "--ranks", "4",
         "--profiles", str(tmp_path / "p")],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "# Messages of the NAS benchmarks, class S on 4 ranks" in done.stdout
    assert "table 5" not in done.stdout  # only for class B on 16 nodes
    assert all(f"| **{name}** |" in done.stdout for name in ("IS", "MG", "CG", "SP", "EP", "LU"))


def test_a_number_of_ranks_that_not_all_workloads_take_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.messages", "--ranks", "8"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "4 or 16" in done.stderr

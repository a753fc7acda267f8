"""BT and SP send the same messages as NPB's MPI versions, by the profiler's count."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.base.errors import CrosscutError
from crosscut.profile import profiler
from crosscut.workloads import applications

MPIEXEC = Path(sys.executable).parent / "mpiexec"
BY_NAME = {one.name: one for one in applications.WORKLOADS}
# Class S.
SIDE = 12
STEPS = {"bt": 60, "sp": 100}
NUMBER_BYTES, COMPONENTS = 8, 5


def lacking() -> str | None:
    try:
        for name in STEPS:
            applications.find_executable(BY_NAME[name])
        profiler.find_library()
    except CrosscutError as error:
        return str(error)
    return None if MPIEXEC.exists() else "no mpiexec: pip install 'mpich>=5'"


pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def sent(name: str, ranks: int, folder: Path) -> tuple[int, int]:
    """Returns the point-to-point messages and bytes of all ranks."""
    program = [applications.find_executable(BY_NAME[name]), "--class", "S"]
    done = crosscut("profile", "--json", "--out", folder, "--", MPIEXEC, "-n", ranks, *program)
    assert done.returncode == 0, done.stderr
    calls = {call["name"]: call["as_called"] for call in json.loads(done.stdout)["calls"]}
    assert "MPI_Send" not in calls
    return sum(calls["MPI_Isend"]["messages"]), sum(calls["MPI_Isend"]["bytes"])


@pytest.mark.parametrize("ranks", [4, 9])
@pytest.mark.parametrize("name", STEPS)
def test_messages_and_bytes_are_as_many_as_npb_s(tmp_path: Path, name: str, ranks: int) -> None:
    """NPB 3.3, copy_faces and x_solve, y_solve, z_solve. One step is untimed; the final residual needs faces
    once more."""
    cells = math.isqrt(ranks)
    interfaces = 3 * (cells - 1)
    steps = STEPS[name] + 1
    # Two layers of points, in both directions.
    faces = (steps + 1) * 6 * ranks
    numbers = (steps + 1) * interfaces * SIDE**2 * 2 * 2 * COMPONENTS
    # From cell to cell and back: in SP two rows of 11 and 5 numbers for each line within the cube; in BT one
    # row of 30 and 5, for as many lines as the largest cell may have.
    pipelines = steps * interfaces * ranks * 2
    if name == "sp":
        numbers += steps * interfaces * (SIDE - 2) ** 2 * (22 + 10)
    else:
        numbers += steps * interfaces * ranks * (SIDE // cells + 1) ** 2 * (30 + 5)
    assert sent(name, ranks, tmp_path / "profile") == (faces + pipelines, numbers * NUMBER_BYTES)

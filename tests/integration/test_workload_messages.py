"""Workloads send the same messages as NPB's MPI versions, by the profiler's count."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut

from crosscut.base.errors import CrosscutError
from crosscut.profile import profiler
from crosscut.workloads import applications

MPIEXEC = Path(sys.executable).parent / "mpiexec"
LU = next(one for one in applications.WORKLOADS if one.name == "lu")
SIDE, ITERATIONS = 12, 50
NUMBER_BYTES, COMPONENTS = 8, 5


def lacking() -> str | None:
    try:
        applications.find_executable(LU)
        profiler.find_library()
    except CrosscutError as error:
        return str(error)
    return None if MPIEXEC.exists() else "no mpiexec: pip install 'mpich>=5'"


pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def profiled(ranks: int, folder: Path) -> dict[str, dict[str, Any]]:
    program = [str(applications.find_executable(LU)), "--class", "S"]
    done = crosscut("profile", "--json", "--out", folder, "--", MPIEXEC, "-n", ranks, *program)
    assert done.returncode == 0, done.stderr
    return {call["name"]: call for call in json.loads(done.stdout)["calls"]}


def total(call: dict[str, Any]) -> tuple[int, int]:
    """Returns (messages, bytes) over all sizes."""
    amounts = call["as_called"]
    return sum(amounts["messages"]), sum(amounts["bytes"])


def inner_points(ranks: int) -> list[int]:
    """Returns, for each rank along a dimension, its points that are not on a face of the cube."""
    sizes = [SIDE // ranks + (index < SIDE % ranks) for index in range(ranks)]
    return [size - (index == 0) - (index == ranks - 1) for index, size in enumerate(sizes)]


@pytest.mark.parametrize(("columns", "rows"), [(2, 1), (2, 2), (4, 2)])
def test_lu_sends_as_many_messages_and_bytes_as_npb(tmp_path: Path, columns: int, rows: int) -> None:
    """NPB 3.4, LU: exchange_1 in ssor, exchange_3 in erhs and rhs, exchange_4, 5 and 6 in pintgr."""
    send_bytes = COMPONENTS * NUMBER_BYTES
    pairs_x, pairs_y = (columns - 1) * rows, columns * (rows - 1)
    # Two sweeps over the inner planes, where an edge along x has a rank's points along y; one iteration is
    # untimed.
    sweeps = 2 * (ITERATIONS + 1) * (SIDE - 2)
    count = sweeps * (pairs_x + pairs_y)
    edges = (columns - 1) * sum(inner_points(rows)) + (rows - 1) * sum(inner_points(columns))
    amount = sweeps * edges * send_bytes
    # Two layers in both directions: for the forcing, at each of two starts, and after each iteration.
    right_sides = 1 + 2 + (ITERATIONS + 1)
    count += right_sides * 2 * (pairs_x + pairs_y)
    amount += right_sides * 2 * 2 * SIDE * SIDE * (columns - 1 + rows - 1) * send_bytes
    # The pressure integral, over faces across z, two across y, and two across x.
    count += pairs_x + pairs_y + 2 * (columns - 1) + 2 * (rows - 1)
    across_z = 2 * (rows - 1) * SIDE + 2 * (columns - 1) * (SIDE + 2 * rows)
    amount += (across_z + 2 * SIDE * (columns - 1 + rows - 1)) * NUMBER_BYTES
    calls = profiled(columns * rows, tmp_path / "profile")
    assert total(calls["MPI_Send"]) == (count, amount)
    assert calls["MPI_Recv"]["count"] == sweeps * (pairs_x + pairs_y)
    # Norms of the residual at both starts and at the end, and of the last correction; error; three integrals.
    assert calls["MPI_Allreduce"]["count"] == columns * rows * (2 + 2 + 1 + 3)

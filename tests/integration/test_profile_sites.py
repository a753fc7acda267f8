"""`crosscut profile` with another MPI, an MPI that is loaded later, or MPI calls from Fortran."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from profiling import MPIEXEC, SOURCES, built_by, called, crosscut, lacking, messages, profiled

from crosscut.profile import program as profile

ROOT = Path(__file__).resolve().parents[2]
RANKS = 4
OPEN_MPI = {name: shutil.which(f"{name}.openmpi") for name in ("mpicc", "mpif90", "mpirun")}
# The wrappers come with the launcher, but not the compilers and headers that they need.
SMALLEST = {"mpicc": ("c", "#include <mpi.h>\n"), "mpif90": ("f90", "use mpi\nend\n")}


def compiles(name: str) -> bool:
    kind, text = SMALLEST[name]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"smallest.{kind}"
        source.write_text(text)
        words = [str(OPEN_MPI[name]), "-fsyntax-only", str(source)]
        return subprocess.run(words, capture_output=True, check=False, cwd=folder).returncode == 0


NOT_HERE = ", ".join(
    name for name, path in OPEN_MPI.items() if path is None or (name in SMALLEST and not compiles(name))
)
needs_open_mpi = pytest.mark.skipif(
    bool(NOT_HERE), reason=f"no Open MPI: {NOT_HERE} (apt install libopenmpi-dev gfortran)"
)
needs_mpich = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profiler, built for Open MPI."""
    target = tmp_path_factory.mktemp("open-mpi") / "libcrosscut-profile.so"
    done = crosscut("build-profiler", "--mpicc", str(OPEN_MPI["mpicc"]), "--out", target, "--source", ROOT)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def open_mpi(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_PROFILER", str(library))
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader")


def under_open_mpi(
    folder: Path, program: Path, *options: str, ranks: int = RANKS, passing: Sequence[str] = ()
) -> dict[str, Any]:
    launch = ("--", str(OPEN_MPI["mpirun"]), *passing, "-n", str(ranks), program)
    done = crosscut("profile", "--json", "--out", folder, *options, *launch)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["complete"], found["ended"]
    return found


@needs_open_mpi
@pytest.mark.usefixtures("open_mpi")
@pytest.mark.parametrize("passing", [(), ("-x", "HOME")])
def test_open_mpi_s_programs_are_counted_by_a_profiler_built_for_it(
    passing: Sequence[str], tmp_path: Path
) -> None:
    """Even from several threads at once: four in each of two ranks exchange a thousand messages."""
    target = tmp_path / "threads"
    subprocess.run([str(OPEN_MPI["mpicc"]), SOURCES / "threads.c", "-pthread", "-o", target], check=True)
    found = under_open_mpi(tmp_path / "p", target, ranks=2, passing=passing)
    assert called(found, "MPI_Sendrecv")["count"] == 8000
    assert messages(found, "MPI_Sendrecv") == (8000, 32_000)


@needs_open_mpi
@pytest.mark.usefixtures("open_mpi")
@pytest.mark.parametrize(
    "flags", [pytest.param((), id="mpi"), pytest.param(("-DF08",), id="mpi_f08", marks=pytest.mark.long)]
)
def test_calls_from_fortran_are_counted_once(tmp_path: Path, flags: tuple[str, ...]) -> None:
    target = tmp_path / "fortran"
    source = SOURCES / "fortran.f90"
    subprocess.run([str(OPEN_MPI["mpif90"]), "-cpp", *flags, source, "-o", target], check=True, cwd=tmp_path)
    found = under_open_mpi(tmp_path / "p", target)
    for name in ("MPI_Init", "MPI_Isend", "MPI_Irecv", "MPI_Comm_split", "MPI_Allreduce", "MPI_Finalize"):
        assert called(found, name)["count"] == RANKS, name
    assert messages(found, "MPI_Sendrecv") == (RANKS, RANKS * 800)
    assert messages(found, "MPI_Isend") == (RANKS, RANKS * 40)
    assert messages(found, "MPI_Send_init") == (3 * RANKS, 3 * RANKS * 40)
    assert messages(found, "MPI_Allreduce", "decomposed") == (2 * (RANKS - 1), 2 * (RANKS - 1) * 8)
    matrix = profile.load(tmp_path / "p").matrix("point")
    forward = np.roll(np.eye(RANKS, dtype=bool), 1, axis=1)
    assert (matrix[forward] == (2, 840)).all()
    assert (matrix[forward.T] == (3, 120)).all()


@needs_open_mpi
@pytest.mark.usefixtures("open_mpi")
def test_a_fortran_program_is_traced_with_every_message(tmp_path: Path) -> None:
    target = tmp_path / "fortran"
    command = [str(OPEN_MPI["mpif90"]), "-cpp", SOURCES / "fortran.f90", "-o", target]
    subprocess.run(command, check=True, cwd=tmp_path)
    under_open_mpi(tmp_path / "p", target, "--trace")
    words = [line.split()[1:] for line in (tmp_path / "p" / "rank-000001.tit").read_text().splitlines()]
    sent = [(int(one[1]), int(one[3])) for one in words if one[0] in ("send", "isend")]
    assert sent == [(2, 800), (2, 40), (0, 40), (0, 40), (0, 40)]
    assert [one for one in words if one[0] == "allreduce"]


@needs_mpich
def test_an_mpi_that_an_interpreter_loads_later_is_profiled(tmp_path: Path) -> None:
    compiler = Path(sys.executable).parent / "mpicc_abi"
    extension = built_by(compiler, SOURCES / "point.c", tmp_path, "-shared", "-fPIC")
    interpreter = tmp_path / "interpreter"
    subprocess.run(["cc", SOURCES / "interpreter.c", "-o", interpreter, "-ldl"], check=True)
    found = profiled(tmp_path / "p", RANKS, interpreter, extension)
    assert messages(found, "MPI_Send") == (RANKS, RANKS * 800)
    assert messages(found, "MPI_Send_init") == (9 * RANKS, 9 * RANKS * 1500)


@needs_mpich
def test_if_a_later_mpi_cannot_be_found_the_program_runs_on_and_the_reason_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_BIND_NOW", "1")
    compiler = Path(sys.executable).parent / "mpicc_abi"
    extension = built_by(compiler, SOURCES / "point.c", tmp_path, "-shared", "-fPIC")
    interpreter = tmp_path / "interpreter"
    subprocess.run(["cc", SOURCES / "interpreter.c", "-o", interpreter, "-ldl"], check=True)
    done = crosscut("profile", "--out", tmp_path / "p", "--", MPIEXEC, "-n", "2", interpreter, extension)
    assert done.returncode == 1
    assert "unset LD_BIND_NOW" in done.stderr
    assert "no rank left a profile" in done.stderr

"""Programs of either MPI in a lab, several ranks per node: where they run, and what crosses the links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import crosscut
from labs import crossbar, lab, needs_lab, on_node, without_rates

from crosscut.base import core, process_group
from crosscut.base.host_list import Share
from crosscut.lab import state
from crosscut.places import lab as lab_place
from crosscut.places.lab import open_site
from crosscut.places.launchers import MPICH, OPEN_MPI, linked_with, mpi_of

pytestmark = [needs_lab, without_rates, pytest.mark.usefixtures("own_labs")]
LIMIT_SECONDS = 120
MESSAGE_BYTES = 2_000_000
# Every rank sends to another at a given distance, and prints its host.
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, further = atoi(argv[1]), bytes = atoi(argv[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char host[256], *out = calloc(1, bytes), *in = malloc(bytes);
  gethostname(host, sizeof host);
  printf("%d %s\\n", rank, host);
  MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + further) % ranks, 0, in, bytes, MPI_CHAR,
               (rank + ranks - further) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
"""


# crosscut's MPICH. Debian's has UCX, which takes all nodes of a lab for one host.
WITH_CROSSCUT = str(Path(sys.executable).parent / "mpicc")


@pytest.fixture(params=[(MPICH, WITH_CROSSCUT, "mpich"), (OPEN_MPI, "mpicc.openmpi", "libopenmpi-dev")],
                ids=["mpich", "openmpi"])  # fmt: skip
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The program, compiled with an MPI of the system."""
    mpi, compiler, package = request.param
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}: apt-get install {package}")
    source, made = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    words = [compiler, str(source), "-o", str(made)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "mpi.h: No such file" in done.stderr:
        pytest.skip(f"{compiler} has no headers: apt-get install {package}")
    assert done.returncode == 0, done.stderr
    assert linked_with(made) == mpi
    return made


def received_bytes(record: state.Record, node: str) -> int:
    return int(on_node(record, node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


@pytest.mark.parametrize(("further", "crosses"), [(1, False), (2, True)])
def test_two_ranks_of_a_node_share_memory_and_others_the_links(
    further: int, crosses: bool, program: Path, tmp_path: Path
) -> None:
    """Four ranks on two nodes: half of the messages to the next rank stay on their node."""
    with lab(crossbar(tmp_path, 2)) as record:
        launcher = lab_place.launcher_of("", program)
        assert mpi_of(launcher) == linked_with(program)
        words = [launcher.program, "-n", "4"]
        shares = [Share("n0000", 0, 2), Share("n0001", 2, 2)]
        started = [str(program), str(further), str(MESSAGE_BYTES)]
        command, environment = lab_place.mpi_command(
            open_site("test").enter, launcher, words, shares, started, tmp_path
        )
        before = received_bytes(record, "n0001")
        done = process_group.run(command, environment, LIMIT_SECONDS)
        assert done.status == 0, done.complained
        received = received_bytes(record, "n0001") - before
    said = sorted(line.split() for line in done.printed.splitlines())
    assert said == [["0", "n0000"], ["1", "n0000"], ["2", "n0001"], ["3", "n0001"]]
    over_the_link = MESSAGE_BYTES * (2 if crosses else 1)
    assert over_the_link < received < over_the_link + MESSAGE_BYTES / 2


def test_three_ranks_on_each_node_measure_over_mpi(tmp_path: Path) -> None:
    if core.load().mpi_executable is None:
        pytest.skip("no MPI here")
    with lab(crossbar(tmp_path, 3)) as record:
        before = received_bytes(record, "n0002")
        words = ["run", "aapc", "--on", "lab:test", "--backend", "mpi", "--ranks-per-host", "3"]
        words += ["--size", "100KB", "--repetitions", "5", "--out", "run.zarr"]
        done = crosscut(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        # Each of six ranks elsewhere sends a message to each of the three here, five times.
        assert received_bytes(record, "n0002") - before > 6 * 3 * 5 * 100_000
    said = " ".join(done.stdout.split())
    assert "9 ranks, 8 phases (lab: 3 nodes (n0000 … n0002), 3 ranks on each)" in said


def test_the_adapters_tell_which_algorithm_the_library_uses(tmp_path: Path) -> None:
    """All-reduces of MPICH: recursive doubling if short, else Rabenseifner (its src/mpi/coll)."""
    executable = core.load().mpi_executable
    if executable is None or linked_with(executable) != MPICH:
        pytest.skip("no MPICH here")
    with lab(crossbar(tmp_path, 8)):
        words = ["run", "collective", "--on", "lab:test", "--backend", "mpi", "--library", "also"]
        words += ["--size", "8,100KB", "--repetitions", "3", "--iterations", "20", "--out", "run.zarr"]
        done = crosscut(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert (
        "the library's all-reduce sends like recursive doubling up to 8 B; Rabenseifner from 100 KB on"
        in said
    )


# Each rank receives a message from every other, in whichever order they come.
FROM_ANY = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, ranks, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Request requests[16];
  int from[16];
  for (int i = 0; i < ranks - 1; i++)
    MPI_Irecv(&from[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
  for (int i = 1; i < ranks; i++)
    MPI_Send(&rank, 1, MPI_INT, (rank + i) % ranks, 1, MPI_COMM_WORLD);
  MPI_Waitall(ranks - 1, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < ranks - 1; i++) sum += from[i];
  printf("%d heard %d\\n", rank, sum);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("launch", ["mpiexec -hosts", "mpiexec.openmpi --allow-run-as-root --host"])
def test_a_launcher_called_on_a_node_needs_no_options_and_messages_may_come_from_any_source(
    launch: str, tmp_path: Path
) -> None:
    """MPICH over UCX would wait for such messages without end if each rank is on a node of its own."""
    program, *options = launch.split()
    beside = Path(sys.executable).parent
    launcher = shutil.which(program) if "openmpi" in program else str(beside / program)
    compiler = launcher and launcher.replace("mpiexec", "mpicc")
    if compiler is None or not Path(compiler).exists():
        pytest.skip(f"no {program} with its compiler")
    (tmp_path / "any.c").write_text(FROM_ANY)
    done = subprocess.run([compiler, "any.c", "-o", "any"], cwd=tmp_path, capture_output=True, check=False)
    if b"mpi.h: No such file" in done.stderr:
        pytest.skip(f"{compiler} has no headers")
    assert done.returncode == 0, done.stderr
    with lab(crossbar(tmp_path, 3)):
        words = [launcher, *options, "n0000,n0001,n0002", str(tmp_path / "any")]
        command = [sys.executable, "-m", "crosscut", "lab", "exec", "test", "n0000", "--", *words]
        said = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
    assert said.returncode == 0, said.stderr
    assert sorted(said.stdout.split("\n")) == ["", "0 heard 3", "1 heard 2", "2 heard 1"]


def test_open_mpi_leaves_no_files_on_the_machine(program: Path, tmp_path: Path) -> None:
    if linked_with(program) != OPEN_MPI:
        pytest.skip("only for Open MPI")
    before = {path.name for path in Path("/tmp").glob(f"ompi.*.{os.geteuid()}")}
    with lab(crossbar(tmp_path, 2)):
        launcher = lab_place.launcher_of("", program)
        command, environment = lab_place.mpi_command(
            open_site("test").enter, launcher, [launcher.program, "-n", "2"],
            [Share("n0000", 0, 1), Share("n0001", 1, 1)],
            [str(program), "1", "1000"],
        )  # fmt: skip
        assert process_group.run(command, environment, LIMIT_SECONDS).status == 0
    assert {path.name for path in Path("/tmp").glob(f"ompi.*.{os.geteuid()}")} <= before

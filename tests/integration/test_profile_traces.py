"""Traces of `crosscut profile --trace`, replayed by SimGrid."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from profiling import (
    MPICC,
    MPIEXEC,
    SECONDS,
    built_by,
    crosscut,
    lacking,
    profiled,
)

from crosscut.places import smpi
from crosscut.profile import program as profile

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))

needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="no SimGrid: apt install libsimgrid-dev"
)
NETWORK = '[generator]\nkind = "crossbar"\nhosts = 6\nrate = "100 Mbit/s"\n'
RING = """
#include <mpi.h>
static char out[1000000], in[1000000];
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Request requests[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 10; i++) {
    MPI_Irecv(in, 1000000, MPI_CHAR, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1000000, MPI_CHAR, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
"""


def replayed(trace: Path, ranks: int, tmp_path: Path) -> float:
    """Returns the simulated seconds on a described network."""
    net = tmp_path / "net.toml"
    net.write_text(NETWORK)
    platform = smpi.write_platform(smpi.SimulationSettings(str(net)), ranks, tmp_path)
    timing = tmp_path / "timing.log"
    options = (*platform.options, "smpi/host-speed:1e9f", "smpi/display-timing:yes")
    command = [
        "smpirun", "-quiet", "-np", str(ranks), "-platform", platform.file, "-hostfile", platform.hosts,
        f"--log=smpi_utils.app:file:{timing}", "--log=smpi_utils.fmt:%.15r|%m%n",
        *(f"--cfg={option}" for option in options), "-replay", trace.name,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=trace.parent, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Deadlock" not in done.stdout + done.stderr
    seconds = smpi.simulated_seconds(timing)
    assert seconds is not None, done.stdout + done.stderr
    return seconds


@needs_simgrid
def test_a_replayed_ring_takes_as_long_as_its_bytes_on_the_links(tmp_path):
    source = tmp_path / "ring.c"
    source.write_text(RING)
    target = built_by(MPICC, source, tmp_path)
    # With one operation per second this machine's computing takes no time in the replay.
    profiled(tmp_path / "p", 4, target, options=("--trace", "--flops", "1"))
    seconds = replayed(tmp_path / "p" / "trace.txt", 4, tmp_path)
    assert seconds == pytest.approx(10 * (1_000_000 + 16) / 12.5e6, rel=1e-4)


@needs_simgrid
@pytest.mark.parametrize("where", ["world", "part"])
@pytest.mark.parametrize("how", ["blocking", "started", "persistent"])
def test_a_replay_of_collective_calls_completes(tmp_path, compiled, how, where):
    profiled(tmp_path / "p", 5, compiled("together"), how, where, options=("--trace", "--flops", "1"))
    assert 0 < replayed(tmp_path / "p" / "trace.txt", 5, tmp_path) < 1


@needs_simgrid
@pytest.mark.parametrize("name", ["point", "others"])
def test_a_replay_of_every_kind_of_message_completes(tmp_path, compiled, name):
    profiled(tmp_path / "p", 4, compiled(name), options=("--trace", "--flops", "1"))
    assert 0 < replayed(tmp_path / "p" / "trace.txt", 4, tmp_path) < 1


def test_a_trace_has_a_persistent_collective_operation_as_often_as_it_was_started(tmp_path, compiled):
    profiled(tmp_path / "p", 2, compiled("together"), "persistent", "world", options=("--trace",))
    for rank in range(2):
        lines = (tmp_path / "p" / f"rank-00000{rank}.tit").read_text().splitlines()
        actions = [line.split()[1] for line in lines]
        assert (actions.count("alltoall"), actions.count("reduce"), actions.count("barrier")) == (3, 3, 0)


def test_messages_that_a_trace_cannot_express_are_reported(tmp_path, compiled):
    """4 ranks put, get, accumulate, and fetch; a prediction from the trace lacks these messages."""
    launch = ("--", MPIEXEC, "-n", "4", compiled("others"))
    done = crosscut("profile", "--trace", "--out", tmp_path / "p", *launch)
    assert done.returncode == 0, done.stderr
    said = "16 one-sided operations (512 B in total)"
    assert f"trace: without {said}" in done.stderr
    (tmp_path / "net.toml").write_text(NETWORK)
    predicted = crosscut(
        "predict", tmp_path / "p", "--on", tmp_path / "net.toml", "--json", "--traced-on", "none"
    )
    assert predicted.returncode == 0, predicted.stderr
    assert json.loads(predicted.stdout)["trace"]["lacks"].startswith(said)


def test_computing_counts_at_the_stated_rate(tmp_path, compiled):
    profiled(tmp_path / "p", 2, compiled("endings"), "busy", options=("--trace", "--flops", "3e9"))
    actions = (tmp_path / "p" / "rank-000000.tit").read_text().splitlines()
    flops = sum(float(line.split()[2]) for line in actions if line.split()[1] == "compute")
    found = profile.load(tmp_path / "p")
    computed = float(found.seconds[0] - found.mpi_seconds[0])
    assert computed > 0.09  # the program polls its clock for 0.1 s
    assert flops == pytest.approx(3e9 * computed, rel=0.02)
    trace = found.about["trace"]
    assert isinstance(trace, dict)
    assert (trace["file"], trace["flops_per_second"]) == ("trace.txt", 3e9)


def test_a_trace_of_a_program_that_died_is_refused_by_name(tmp_path, compiled):
    words = ("profile", "--trace", "--out", tmp_path / "p", "--", MPIEXEC, "-n", "2")
    done = crosscut(*words, compiled("endings"), "exit")
    assert done.returncode == 1
    assert (tmp_path / "p" / "rank-000000.events").exists()
    assert not (tmp_path / "p" / "trace.txt").exists()
    assert "ended with status" in done.stderr

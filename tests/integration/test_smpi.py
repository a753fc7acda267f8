"""SimGrid's SMPI on crosscut's networks: MPI programs, and patterns as MPI programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from in_process import crosscut

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.run.run import Run

MESSAGE_BYTES = 1_000_000
ROUNDS = 10
LINK_BYTES_PER_SECOND = 12.5e6
# SMPI adds an envelope to each message.
ENVELOPE_BYTES = 16

RING = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static char out[BYTES], in[BYTES];
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; i++)
    MPI_Sendrecv(out, BYTES, MPI_CHAR, (rank + 1) % ranks, 0, in, BYTES, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) printf("a ring of %d\\n", ranks);
  MPI_Finalize();
  return 0;
}
""".replace("BYTES", str(MESSAGE_BYTES))
DEADLOCK = """
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, got;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""
COMPUTING = """
#include <mpi.h>
#include <time.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  volatile double sum = 0;
  for (long i = 0; i < 60000000; i++) sum += (double)i;
  MPI_Finalize();
  return sum < 0;
}
"""

pytestmark = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="SimGrid is not installed: apt install libsimgrid-dev"
)


@pytest.fixture
def crossbar(tmp_path: Path) -> Path:
    file = tmp_path / "crossbar.toml"
    file.write_text('[generator]\nkind = "crossbar"\nhosts = 8\nrate = "100 Mbit/s"\n')
    return file


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return source_file(tmp_path, "ring.c", RING)


def source_file(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def simulated(*words: str | Path) -> dict[str, object]:
    done = crosscut("simulate", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_ring_takes_as_long_as_its_bytes_on_the_links(crossbar, ring):
    found = simulated(crossbar, "--compute", "none", "--", ring, ROUNDS)
    assert found["ranks"] == 8
    expected = ROUNDS * (MESSAGE_BYTES + ENVELOPE_BYTES) / LINK_BYTES_PER_SECOND
    assert found["simulated_seconds"] == pytest.approx(expected, rel=1e-6)


def test_a_thinner_uplink_makes_the_ring_slower_by_its_share(tmp_path, ring):
    """Placed by blocks, one message in four leaves its leaf, over an uplink half as fast as a host's link."""
    file = tmp_path / "tree.toml"
    file.write_text(
        '[generator]\nkind = "stacked-tree"\nleaves = 2\nhosts_per_leaf = 4\n'
        'rate = "100 Mbit/s"\nuplinks = 1\nuplink_rate = "50 Mbit/s"\n'
    )
    found = simulated(file, "--compute", "none", "--", ring, "1")
    expected = (MESSAGE_BYTES + ENVELOPE_BYTES) / (LINK_BYTES_PER_SECOND / 2)
    assert found["simulated_seconds"] == pytest.approx(expected, rel=1e-6)


def test_a_program_compiled_by_smpicc_prints_and_its_time_is_reported(crossbar, ring, tmp_path):
    program = tmp_path / "ring"
    subprocess.run(["smpicc", ring, "-o", program], check=True, capture_output=True)
    done = crosscut("simulate", crossbar, "-n", 4, "--compute", "none", "--", program)
    assert done.returncode == 0, done.stderr
    assert "a ring of 4" in done.stdout
    assert "simulated 80.0" in done.stdout


def test_computing_takes_time_unless_disabled(crossbar, tmp_path):
    source = source_file(tmp_path, "computing.c", COMPUTING)
    here = simulated(crossbar, "-n", "2", "--compute", "100", "--", source)["simulated_seconds"]
    none = simulated(crossbar, "-n", "2", "--compute", "none", "--", source)["simulated_seconds"]
    assert isinstance(here, float)
    assert here > 0.1  # no machine does 60 million additions in a millisecond
    assert none == pytest.approx(0, abs=1e-4)


def test_a_deadlock_is_a_failure_that_names_the_waiting_ranks(crossbar, tmp_path):
    source = source_file(tmp_path, "deadlock.c", DEADLOCK)
    done = crosscut("simulate", crossbar, "-n", 2, "--", source)
    assert done.returncode == 1
    assert "deadlock" in done.stderr
    assert "rank 1 waits" in done.stderr


def test_a_program_that_crashes_is_a_failure(crossbar, tmp_path):
    source = source_file(tmp_path, "crash.c", "#include <stdlib.h>\nint main(void) { abort(); }\n")
    done = crosscut("simulate", crossbar, "-n", 2, "--", source)
    assert done.returncode == 1
    assert "the simulation ended early" in done.stderr


def test_a_source_that_does_not_compile_shows_the_compiler_s_output(crossbar, tmp_path):
    source = source_file(tmp_path, "wrong.c", "int main(void) { return nonsense; }\n")
    done = crosscut("simulate", crossbar, "-n", 2, "--", source)
    assert done.returncode == 2
    assert "nonsense" in done.stderr


def test_an_ordinary_program_is_refused_with_instructions_to_compile_it(crossbar):
    done = crosscut("simulate", crossbar, "-n", 2, "--", sys.executable)
    assert done.returncode == 2
    assert "smpicc" in done.stderr


# Large enough that SMPI's envelope is a millionth.
LARGE = "10MB"
ENGINES_AGREE = 0.01
NETWORKS = {
    "e7": ('kind = "module-chassis"\nmodules = 4\nasics_per_module = 2\nhosts_per_asic = 2\n'
           'rate = "100 Mbit/s"\nasic_capacity = "160 Mbit/s"\nmodule_rate = "100 Mbit/s"', 16),
    "tree": ('kind = "stacked-tree"\nleaves = 4\nhosts_per_leaf = 4\nrate = "100 Mbit/s"\nuplinks = 1', 16),
    "fat-tree": ('kind = "fat-tree"\nradix = 4\nlevels = 3\nrate = "100 Gbit/s"', 16),
    "torus": ('kind = "torus"\ndimensions = "3x4"\nrate = "100 Gbit/s"', 12),
}  # fmt: skip
PATTERNS = (
    "aapc",
    "aapc-burst",
    "random-pairwise",
    "simple-pairwise",
    "cumulative-pairwise",
    "streams",
    "bisection",
    "chain",
    "pingpong",
    "all-pairs",
)


def player() -> str | None:
    """Returns why patterns cannot be played here; None if they can."""
    try:
        beside = core.load().executable.parent / "crosscut-smpi-player"
    except CrosscutError as error:
        return str(error)
    if beside.exists() or os.environ.get("CROSSCUT_SMPI_PLAYER"):
        return None
    return "crosscut-smpi-player was not built: crosscut build-smpi"


needs_player = pytest.mark.skipif(player() is not None, reason=str(player()))


def run_both(file: Path, pattern: str, folder: Path, *words: str) -> tuple[Run, Run]:
    """Runs the same job with both engines. Returns SMPI's run, then max-min's."""
    runs = []
    for engine in ("smpi", "max-min"):
        out = folder / f"{pattern}-{engine}.zarr"
        done = crosscut(
            "run", pattern, "--on", f"sim:{file}", "--engine", engine, "--out", out, "--quiet", *words
        )
        assert done.returncode == 0, done.stderr
        runs.append(Run.open(out))
    return runs[0], runs[1]


def _last_of_each_sender(seconds: np.ndarray, peers: np.ndarray) -> np.ndarray:
    """Replaces each time [.., phase, rank, slot] by that of the sender's last message: on crosscut's
    connections messages follow one another, while SMPI lets them share."""
    found = seconds.copy()
    for slot in range(peers.shape[-1]):
        same = (peers == peers[..., slot : slot + 1]) & (peers >= 0)
        found[..., slot] = np.where(same, seconds, -np.inf).max(axis=-1)
    return np.where(np.isnan(seconds), np.nan, found)


def assert_engines_agree(smpi: Run, max_min: Run, tolerance: float) -> None:
    for name in ("message_seconds", "rank_seconds"):
        theirs, ours = smpi.dataset[name].values, max_min.dataset[name].values
        assert np.isfinite(ours).any()
        if name == "message_seconds":
            peers = max_min.dataset["peer"].values
            theirs, ours = (_last_of_each_sender(seconds, peers) for seconds in (theirs, ours))
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, err_msg=name)


@needs_player
@pytest.mark.parametrize("net", NETWORKS)
def test_the_engines_agree_on_large_messages(net: str, tmp_path: Path) -> None:
    generator, ranks = NETWORKS[net]
    file = tmp_path / f"{net}.toml"
    file.write_text(f"[generator]\n{generator}\n")
    for pattern in PATTERNS:
        # In one piece: a chain's pieces would share a connection in SMPI.
        words = ["--segment", LARGE] if pattern == "chain" else []
        runs = run_both(file, pattern, tmp_path, "-n", str(ranks), "--size", LARGE, *words)
        assert_engines_agree(*runs, ENGINES_AGREE)


@needs_player
def test_without_contention_the_engines_differ_only_by_the_envelope(crossbar, tmp_path):
    smpi, max_min = run_both(crossbar, "aapc", tmp_path, "--size", "1KB")
    envelope = ENVELOPE_BYTES / LINK_BYTES_PER_SECOND
    np.testing.assert_allclose(
        smpi.dataset["message_seconds"].values,
        max_min.dataset["message_seconds"].values + envelope,
        rtol=1e-6,
    )


OVERHEADS = """
[generator]
kind = "crossbar"
hosts = 4
rate = "100 Mbit/s"
[host]
send_overhead = "30 us"
receive_overhead = "50 us"
[switch]
latency = "10 us"
"""


@needs_player
@pytest.mark.parametrize("pattern", ["pingpong", "aapc", "chain"])
def test_overheads_and_latency_equal_those_of_the_other_engine(pattern, tmp_path):
    file = source_file(tmp_path, "slow.toml", OVERHEADS)
    smpi, max_min = run_both(file, pattern, tmp_path, "--size", "1KB")
    # A message takes 80 us on the link, 10 us in the switch and 80 us at its ends; the envelope 1.28 us.
    ours = max_min.dataset["message_seconds"].values
    assert np.nanmin(ours) == pytest.approx(170e-6)
    assert_engines_agree(smpi, max_min, 0.01)


def test_a_blocking_program_has_the_overheads_too(tmp_path, ring):
    file = source_file(tmp_path, "slow.toml", OVERHEADS)
    plain = source_file(tmp_path, "plain.toml", OVERHEADS.replace("30 us", "0 us").replace("50 us", "0 us"))
    seconds = [
        simulated(one, "--compute", "none", "--", ring, "10")["simulated_seconds"] for one in (plain, file)
    ]
    assert isinstance(seconds[0], float)
    assert isinstance(seconds[1], float)
    assert 10 * 30e-6 <= seconds[1] - seconds[0] <= 10 * 80e-6 + 1e-9


@needs_player
def test_requested_repetitions_and_phases_are_stored_in_their_places(crossbar, tmp_path):
    smpi, max_min = run_both(
        crossbar, "random-pairwise", tmp_path, "--size", LARGE, "--repetitions", "3", "--phases", "4-6"
    )
    assert smpi.dataset["rank_seconds"].sizes["repetition"] == 3
    assert_engines_agree(smpi, max_min, ENGINES_AGREE)


@needs_player
def test_a_run_records_its_engine_and_options(crossbar, tmp_path):
    smpi, _ = run_both(crossbar, "pingpong", tmp_path, "-n", "2")
    assert smpi.dataset.attrs["backend"]["parameters"]["engine"] == "smpi"
    facts = smpi.dataset.attrs["backend_facts"]
    assert "network/model:CM02" in facts["options"]
    shown = crosscut("show", tmp_path / "pingpong-smpi.zarr")
    assert shown.returncode == 0, shown.stderr
    assert "SMPI" in shown.stdout


@needs_player
def test_large_buffers_of_many_ranks_take_no_memory(tmp_path):
    """64 ranks with 63 receives of 100 MB each would take 400 GB."""
    file = tmp_path / "wide.toml"
    file.write_text('[generator]\nkind = "crossbar"\nhosts = 64\nrate = "100 Mbit/s"\n')
    out = tmp_path / "burst.zarr"
    words = ("--on", f"sim:{file}", "--engine", "smpi", "--size", "100MB", "--out", out, "--quiet")
    done = crosscut("run", "aapc-burst", *words)
    assert done.returncode == 0, done.stderr
    assert np.nanmax(Run.open(out).dataset["rank_seconds"].values) == pytest.approx(63 * 8, rel=0.01)


@needs_player
def test_a_knee_is_refused_because_only_the_other_engine_has_it(crossbar, tmp_path):
    done = crosscut(
        "run",
        "aapc",
        "--on",
        f"sim:{crossbar}",
        "--engine",
        "smpi",
        "--sim-knee",
        "6",
        "--out",
        tmp_path / "r",
    )
    assert done.returncode == 2
    assert "knee" in done.stderr


def test_an_invalid_player_is_named(crossbar, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSCUT_SMPI_PLAYER", "/bin/true")
    done = crosscut("run", "aapc", "--on", f"sim:{crossbar}", "--engine", "smpi", "--out", tmp_path / "r")
    assert done.returncode == 1
    assert "smpirun exited" in done.stderr


def test_without_simgrid_the_engine_says_how_to_get_it(crossbar, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSCUT_SMPI_PLAYER", "/bin/true")
    monkeypatch.setenv("CROSSCUT_CORE", str(core.load().executable))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = crosscut("run", "aapc", "--on", f"sim:{crossbar}", "--engine", "smpi", "--out", tmp_path / "r")
    assert done.returncode == 2
    assert "apt install libsimgrid-dev" in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [("network/bogus:3", "Bad config key"), ("smpi/bcast:nonsense", "no algorithm 'nonsense'")],
)
def test_an_option_that_simgrid_does_not_know_is_named_in_one_line(crossbar, ring, option, said):
    done = crosscut("simulate", crossbar, "-n", "2", "--option", option, "--", ring)
    assert done.returncode == 2
    assert option in done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.long  # test_build.py builds a core with the same code
def test_build_smpi_builds_a_player_that_plays(crossbar, tmp_path, monkeypatch):
    player = tmp_path / "player"
    source = Path(__file__).resolve().parents[2]
    done = crosscut("build-smpi", "--out", player, "--source", source)
    assert done.returncode == 0, done.stderr
    assert f"CROSSCUT_SMPI_PLAYER={player}" in done.stdout
    monkeypatch.setenv("CROSSCUT_SMPI_PLAYER", str(player))
    words = ("--on", f"sim:{crossbar}", "--engine", "smpi", "--size", "1MB", "--out", tmp_path / "r.zarr")
    done = crosscut("run", "aapc", *words)
    assert done.returncode == 0, done.stderr
    rates = Run.open(tmp_path / "r.zarr").message_rates(0).values
    assert np.nanmedian(rates) == pytest.approx(LINK_BYTES_PER_SECOND, rel=0.01)

"""`crosscut profile` on real MPI programs: counts, and profiles of programs that die."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from profiling import (
    BESIDE,
    MPIEXEC,
    SOURCES,
    built_by,
    called,
    crosscut,
    lacking,
    messages,
    profiled,
)

from crosscut.base.errors import UsageError
from crosscut.profile import profiler
from crosscut.profile import program as profile

pytestmark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def test_each_way_to_send_is_counted_with_its_bytes(tmp_path, compiled):
    found = profiled(tmp_path / "p", 4, compiled("point"))
    for name in ("MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend"):
        assert messages(found, name) == (4, 4 * 800), name
    assert called(found, "MPI_Send")["count"] == 8  # half of them to MPI_PROC_NULL
    assert messages(found, "MPI_Sendrecv") == (4, 40)
    assert messages(found, "MPI_Sendrecv_replace") == (4, 4000)
    assert messages(found, "MPI_Isend") == (8, 4 * 12)  # half of them empty, the others by MPI_Isend_c
    assert called(found, "MPI_Isend")["as_called"]["messages"][:3] == [4, 0, 4]
    assert messages(found, "MPI_Issend") == (4, 0)
    assert messages(found, "MPI_Isendrecv") == (4, 4 * 8)
    assert called(found, "MPI_Recv")["count"] == 4


def test_persistent_operations_count_when_they_are_started(tmp_path, compiled):
    found = profiled(tmp_path / "p", 4, compiled("point"))
    assert called(found, "MPI_Send_init")["count"] == 3 * 4
    assert messages(found, "MPI_Send_init") == (9 * 4, 9 * 4 * 1500)
    assert messages(found, "MPI_Bcast_init", "decomposed") == (9 * 3, 9 * 3 * 4)


def test_ranks_of_communicators_are_translated_to_the_world(tmp_path, compiled):
    profiled(tmp_path / "p", 4, compiled("point"))
    matrix = profile.load(tmp_path / "p").matrix("point")
    forward = np.roll(np.eye(4, dtype=bool), 1, axis=1)
    # 10 kinds of message to the next rank; in the reversed communicator 9 to the previous one.
    assert (matrix[forward][:, 0] == 11).all()
    assert (matrix[forward.T] == (9, 9 * 1500)).all()
    assert not matrix[~(forward | forward.T)].any()


def within(ranks: int) -> int:
    """Returns the largest power of two within `ranks`."""
    return 1 << ranks.bit_length() - 1


EXPECTED: dict[str, Callable[[int], int]] = {
    "MPI_Bcast": lambda p: p - 1,
    "MPI_Gather": lambda p: p,
    "MPI_Gatherv": lambda p: p,
    "MPI_Scatter": lambda p: p,
    "MPI_Scatterv": lambda p: p,
    "MPI_Allgather": lambda p: 2 * p * p,
    "MPI_Allgatherv": lambda p: p * p,
    "MPI_Alltoall": lambda p: 2 * p * p,
    "MPI_Alltoallv": lambda p: p * p,
    "MPI_Alltoallw": lambda p: p * p,
    "MPI_Reduce": lambda p: p - 1,
    "MPI_Allreduce": lambda p: 2 * (p - 1),
    "MPI_Reduce_scatter": lambda p: p - 1 + p,
    "MPI_Reduce_scatter_block": lambda p: p - 1 + p,
    "MPI_Barrier": lambda p: (1 << p.bit_length() - 1) * (p.bit_length() - 1)
    + 2 * (p - (1 << p.bit_length() - 1)),
}


@pytest.mark.parametrize("where", ["world", "part"])
@pytest.mark.parametrize("ranks", [4, 6])
def test_collective_calls_are_the_messages_of_mpich_1_2(tmp_path, compiled, ranks, where):
    found = profiled(tmp_path / "p", ranks, compiled("together"), "blocking", where)
    size = ranks if where == "world" else ranks - 1
    for name, expected in EXPECTED.items():
        assert messages(found, name, "decomposed")[0] == expected(size), name
    assert messages(found, "MPI_Alltoall", "decomposed")[1] == 2 * size * size * 8
    assert messages(found, "MPI_Bcast") == (
        2 * size,
        8 * size,
    )  # half of them are empty


def test_non_blocking_and_persistent_collectives_count_like_blocking_ones(tmp_path, compiled):
    started = profiled(tmp_path / "s", 4, compiled("together"), "started", "world")
    assert messages(started, "MPI_Iallreduce", "decomposed") == (6, 48)
    assert messages(started, "MPI_Ialltoallv", "decomposed") == (16, 128)
    persistent = profiled(tmp_path / "q", 4, compiled("together"), "persistent", "world")
    assert messages(persistent, "MPI_Alltoall_init", "decomposed") == (3 * 16, 3 * 128)


def test_one_sided_operations_count_by_target_and_neighbours_by_message(tmp_path, compiled):
    found = profiled(tmp_path / "p", 4, compiled("others"))
    assert messages(found, "MPI_Put") == (4, 4 * 32)
    assert messages(found, "MPI_Get") == (4, 4 * 40)
    assert messages(found, "MPI_Accumulate") == (4, 4 * 48)
    assert messages(found, "MPI_Fetch_and_op") == (4, 4 * 8)
    assert messages(found, "MPI_Neighbor_alltoall", "decomposed") == (6, 6 * 16)  # an open line of four
    assert messages(found, "MPI_Neighbor_allgather", "decomposed") == (4, 4 * 24)
    matrix = profile.load(tmp_path / "p").matrix("one-sided")
    assert (matrix[np.roll(np.eye(4, dtype=bool), 2, axis=1)] == (4, 32 + 40 + 48 + 8)).all()


def test_an_intercommunicators_peers_are_found_in_the_world(tmp_path, compiled):
    found = profiled(tmp_path / "p", 4, compiled("others"))
    assert messages(found, "MPI_Sendrecv") == (4, 4 * 56)
    matrix = profile.load(tmp_path / "p").matrix("point")[:, :, 1]
    assert [(int(a), int(b)) for a, b in np.argwhere(matrix)] == [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_only_marked_sections_are_counted(tmp_path, compiled):
    """With --section, two sections of a tenth of a second; without it, everything."""
    found = profiled(tmp_path / "p", 2, compiled("sections"), options=("--section",))
    assert messages(found, "MPI_Send") == (2, 2000)
    assert messages(found, "MPI_Send_init") == (2, 2)
    assert called(found, "MPI_Wait")["count"] == 4
    assert [one["sections"] for one in found["by_rank"]] == [2, 2]
    assert all(0.2 <= one["seconds"] < 0.4 for one in found["by_rank"])
    whole = profiled(tmp_path / "whole", 2, compiled("sections"))
    assert messages(whole, "MPI_Send") == (6, 2 * (10 + 1000 + 100_000))
    assert [one["sections"] for one in whole["by_rank"]] == [0, 0]
    assert "2 sections that the program marked" in crosscut("profile", "--show", tmp_path / "p").stdout


def test_a_section_that_never_begins_is_an_error(tmp_path, compiled):
    launch = ("--", MPIEXEC, "-n", "2", compiled("endings"), "well")
    done = crosscut("profile", "--section", "--out", tmp_path / "p", *launch)
    assert done.returncode == 1
    assert "never called MPI_Pcontrol(1)" in done.stderr


def test_threads_lose_no_message(tmp_path, compiled):
    found = profiled(tmp_path / "p", 2, compiled("threads"))
    assert messages(found, "MPI_Sendrecv") == (2 * 4 * 1000, 2 * 4 * 1000 * 4)
    assert called(found, "MPI_Sendrecv")["count"] == 8000


# On a busy machine other ranks may end at the same point.
ENDINGS = {
    "killed": r"ranks? ([02], )?1(, 2)? ended before MPI_Finalize, computing",
    "abort": "rank 1 called MPI_Abort with code 7",
    "exit": "ended before MPI_Finalize",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_a_program_that_dies_leaves_a_profile_of_its_calls_so_far(tmp_path, compiled, how):
    done = crosscut("profile", "--out", tmp_path / "p", "--", MPIEXEC, "-n", "3", compiled("endings"), how)
    assert done.returncode == 1
    assert "ended with status" in done.stderr
    found = profile.load(tmp_path / "p")
    assert not found.complete
    assert re.search(ENDINGS[how], " ".join(profile.ended(found)))
    assert found.matrix("point")[1, 2].tolist() == [1, 4]
    assert "partial" in done.stdout


def test_a_deadlocked_program_is_ended_and_each_rank_s_call_reported(tmp_path, compiled):
    words = ("profile", "--json", "--timeout", "3s", "--out", tmp_path / "p", "--", MPIEXEC, "-n", "2")
    done = crosscut(*words, compiled("endings"), "deadlock")
    assert done.returncode == 1
    assert "--timeout" in done.stderr
    found = json.loads(done.stdout)
    assert found["ended"] == ["ranks 0, 1 ended before MPI_Finalize, in MPI_Recv"]
    assert called(found, "MPI_Barrier")["count"] == 2


def test_showing_a_profile_prints_the_same_as_making_it(tmp_path, compiled):
    made = profiled(tmp_path / "p", 2, compiled("endings"), "well")
    shown = crosscut("profile", "--show", tmp_path / "p", "--json")
    assert json.loads(shown.stdout) == made
    report = crosscut("profile", "--show", tmp_path / "p").stdout
    for title in (
        "Time, mean over ranks",
        "MPI calls",
        "Messages and bytes by size",
        "Bandwidth needed",
    ):
        assert title in report


def test_a_damaged_profile_is_refused_by_name_and_never_crashes(tmp_path, compiled):
    profiled(tmp_path / "p", 2, compiled("endings"), "well")
    file = tmp_path / "p" / "rank-000001.profile"
    whole = file.read_bytes()
    for length in (0, 7, 100, 727, 728, 751, 752, 5000, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(UsageError, match=rf"rank-000001.profile: .*byte {length}\b|byte 0"):
            profile.load(tmp_path / "p")
    chance = random.Random(1)
    refused = 0
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(140)] = chance.randrange(256)
        file.write_bytes(damaged)
        try:
            profile.load(tmp_path / "p")
        except UsageError as error:
            refused += "rank-000001.profile" in str(error)
    assert refused > 200


def test_a_program_of_mpichs_own_abi_is_profiled(tmp_path):
    native = built_by(BESIDE / "mpicc", SOURCES / "sections.c", tmp_path)
    found = profiled(tmp_path / "p", 2, native, options=("--section",))
    assert messages(found, "MPI_Send") == (2, 2000)


def test_a_program_of_another_mpi_runs_on_and_the_mismatch_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSCUT_PROFILER", str(profiler.find_library()))
    target = tmp_path / "native"
    source = SOURCES / "point.c"
    subprocess.run(
        [BESIDE / "mpicc", source, "-o", target, f"-Wl,-rpath,{BESIDE.parent / 'lib'}"], check=True
    )
    done = crosscut("profile", "--out", tmp_path / "p", "--", MPIEXEC, "-n", "2", target)
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if "another MPI" in line]
    assert len(told) == 1, done.stderr
    assert "crosscut build-profiler --mpicc mpicc --replace" in told[0]
    assert "libmpi.so.12" in told[0]
    assert "until then" not in done.stderr
    assert not (tmp_path / "p").exists()


@pytest.mark.long  # test_profile_sites.py builds one for Open MPI
def test_a_profiler_built_for_another_mpi_counts_there(tmp_path, monkeypatch):
    library = tmp_path / "native.so"
    root = Path(__file__).resolve().parents[2]
    built = crosscut("build-profiler", "--mpicc", BESIDE / "mpicc", "--out", library, "--source", root)
    assert built.returncode == 0, built.stderr
    monkeypatch.setenv("CROSSCUT_PROFILER", str(library))
    target = tmp_path / "native"
    source = SOURCES / "point.c"
    subprocess.run(
        [BESIDE / "mpicc", source, "-o", target, f"-Wl,-rpath,{BESIDE.parent / 'lib'}"], check=True
    )
    found = profiled(tmp_path / "p", 4, target)
    assert messages(found, "MPI_Send_init") == (36, 36 * 1500)


def test_profiling_a_program_without_mpi_fails_and_says_so(tmp_path):
    done = crosscut("profile", "--out", tmp_path / "p", "--", "/bin/true")
    assert done.returncode == 1
    assert "no rank left a profile" in done.stderr
    done = crosscut("profile", "--", tmp_path / "nothing")
    assert done.returncode == 2
    assert "program not found" in done.stderr


def test_ranks_that_a_launcher_of_another_mpi_starts_one_by_one_are_no_profile(tmp_path, compiled):
    """Each is then a job of one rank."""
    script = tmp_path / "launch"
    script.write_text('#!/bin/sh\n"$@" & "$@" & wait\n')
    script.chmod(0o755)
    done = crosscut("profile", "--out", tmp_path / "p", "--", script, compiled("endings"), "return")
    assert done.returncode == 1, done.stderr
    assert "several jobs of one rank each ran" in done.stderr
    assert "start it with the mpiexec of its own MPI" in done.stderr


def test_the_profiler_leaves_nothing_in_the_environment(tmp_path):
    assert "LD_PRELOAD" not in os.environ
    script = 'case "$LD_PRELOAD" in *profile*) exit 9;; esac'
    done = crosscut("profile", "--out", tmp_path / "p", "--", "sh", "-c", script)
    assert "status 9" in done.stderr

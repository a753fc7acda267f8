"""How the place `slurm` reads Slurm's environment, and its batch scripts."""

from __future__ import annotations

import subprocess

import pytest

from crosscut.base.errors import PlaceError, UsageError
from crosscut.places.slurm import (
    Allocation,
    allocation,
    layout_in,
    layout_outside,
    nodes_asked,
    parse_counts,
    salloc_command,
)
from crosscut.places.slurm_batch import batch_script


def test_counts_by_node_are_read() -> None:
    assert parse_counts("4(x2),3") == (4, 4, 3)
    assert parse_counts("16") == (16,)
    for bad in ("", "4(x", "four", "4;3"):
        with pytest.raises(ValueError, match="not a list of counts"):
            parse_counts(bad)


def test_an_allocation_is_read_from_slurm_s_environment() -> None:
    environment = {
        "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_NODELIST": "n[1-3]",
        "SLURM_JOB_CPUS_PER_NODE": "8(x3)", "SLURM_TASKS_PER_NODE": "4(x2),3",
    }  # fmt: skip
    assert allocation(environment) == Allocation("n[1-3]", (4, 4, 3), (8, 8, 8))
    assert allocation({}) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"SLURM_JOB_NUM_NODES": "many"},
        {},
        {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_CPUS_PER_NODE": "4"},
    ],
)
def test_a_broken_environment_is_an_error(broken: dict[str, str]) -> None:
    with pytest.raises(PlaceError, match="SLURM_JOB"):
        allocation({"SLURM_JOB_ID": "7", **broken})


def test_ranks_follow_tasks_and_then_cores() -> None:
    found = Allocation("n[1-3]", (2, 2, 1), (8, 8, 8))
    assert layout_in(found, 5) == [2, 2, 1]
    assert layout_in(found, 2) == [1, 1]
    assert layout_in(found, 24) == [8, 8, 8]
    with pytest.raises(PlaceError, match="25 ranks do not fit this allocation: 3 nodes with 24 cores"):
        layout_in(found, 25)


def test_outside_an_allocation_the_options_give_the_number_of_nodes() -> None:
    assert layout_outside(5, ["-p", "debug", "--nodes=2"]) == [3, 2]
    assert layout_outside(3, []) == [1, 1, 1]
    assert nodes_asked(["-N", "4"]) == nodes_asked(["-N4"]) == nodes_asked(["--nodes", "4"]) == 4
    assert "--nodes=2" in salloc_command([1, 1], [], "x")
    with pytest.raises(UsageError, match="without a rank"):
        layout_outside(2, ["-N3"])


@pytest.mark.parametrize(
    "words", [["--nodes=2-4"], ["-N2-4"], ["-N", "2-4"], ["--nodes", "2-4"], ["-N"], ["--nodes=0"], ["-N0"]]
)
def test_options_that_do_not_give_one_number_of_nodes_are_refused(words: list[str]) -> None:
    for asked in (nodes_asked, lambda words: layout_outside(8, words)):
        with pytest.raises(UsageError, match=f"{words[0]}.*a single number of nodes"):
            asked(words)


def test_a_batch_script_asks_for_nodes_and_quotes_the_command() -> None:
    script = batch_script(["crosscut", "run", "aapc", "--out", "a b.zarr"], 8, ["-p", "debug", "-N", "2"])
    assert "#SBATCH -p debug\n#SBATCH -N 2\n" in script
    assert "#SBATCH --ntasks-per-node=4\n" in script
    assert "--nodes" not in script
    assert script.endswith("exec crosscut run aapc --out 'a b.zarr'\n")
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_a_line_break_cannot_smuggle_a_line_into_a_batch_script() -> None:
    with pytest.raises(UsageError, match="line break"):
        batch_script(["crosscut", "run", "x\nreboot"], 2)

"""`crosscut place` on a trace written by hand, and its orders as real launchers read them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from profiling import MPIEXEC
from slurm_cluster import NODES, running_slurm, why_not

from crosscut.ordering.forms import FORMS

pytest.importorskip("pymetis", reason="METIS is not installed: pip install 'crosscut[place]'")

TWO_LEAVES = """
[link]
rate = "80 Mbit/s"
[[hosts]]
names = "n[0-7]"
[[switches]]
names = "leaf[0-1]"
[[switches]]
names = "root"
level = 1
[[links]]
between = ["n[0-3]", "leaf0"]
[[links]]
between = ["n[4-7]", "leaf1"]
[[links]]
between = ["leaf[0-1]", "root"]
"""
IN_TURN = "n0\nn4\nn1\nn5\nn2\nn6\nn3\nn7\n"
BYTES = 1_000_000
# A megabyte and MPI's header over a link; pairs of ranks exchange one in each direction.
ALONE = (BYTES + 32) / 10e6
RANKS = 8


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(TWO_LEAVES)
    return file


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    file = tmp_path / "turns"
    file.write_text(IN_TURN)
    return file


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ranks 2 k and 2 k + 1 exchange a megabyte."""
    folder = tmp_path / "pairs"
    folder.mkdir()
    for rank in range(RANKS):
        other = rank ^ 1
        actions = ["init", f"irecv {other} 0 {BYTES}", f"send {other} 0 {BYTES}", f"wait {other} {rank} 0"]
        lines = "".join(f"{rank} {action}\n" for action in [*actions, "finalize"])
        (folder / f"rank-{rank}.tit").write_text(lines)
    (folder / "trace.txt").write_text("".join(f"rank-{rank}.tit\n" for rank in range(RANKS)))
    return folder


def placed(*words: str | Path) -> dict[str, Any]:
    done = crosscut("place", *words, "--json", "--flops", "1e9")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def leaf(host: str) -> int:
    return int(host[1:]) // 4


def test_an_order_that_keeps_pairs_on_their_leaf_is_found_and_its_gain_predicted(trace, network, turns):
    out = trace / "order"
    found = placed(trace, "--on", network, "--present", turns, "-o", out)
    assert found["helps"]
    # Four messages share an uplink of a host's rate.
    assert found["prediction"]["present_seconds"] == pytest.approx(4 * ALONE)
    assert found["prediction"]["ratio"] == pytest.approx(1 / 4)
    assert found["present"]["narrow_bytes"] == RANKS * BYTES
    assert found["best"]["narrow_bytes"] == 0
    hosts = out.read_text().split()
    assert hosts == found["order"]
    assert all(leaf(hosts[rank]) == leaf(hosts[rank + 1]) for rank in range(0, RANKS, 2))


def test_no_order_helps_if_the_present_one_is_as_good(trace, network):
    out = trace / "order"
    found = placed(trace, "--on", network, "-o", out)
    assert not found["helps"]
    assert found["says"].startswith("No order helps: ")
    assert out.read_text().split() == [f"n{at}" for at in range(RANKS)]


def test_a_run_stands_for_its_network(trace, network, turns, tmp_path):
    run = tmp_path / "aapc.zarr"
    measured = crosscut("run", "aapc", "--on", f"sim:{network}", "--size", "1MB", "--out", run, "--quiet")
    assert measured.returncode == 0, measured.stderr
    assert placed(trace, "--on", run, "--present", turns)["helps"]


def test_mistakes_are_named(trace, network, turns, tmp_path):
    def refused(*words: str | Path) -> str:
        done = crosscut("place", *words, "--flops", "1e9")
        assert done.returncode == 2
        return str(done.stderr)

    turns.write_text("n0\nn99\n")
    assert "has places for 2 ranks, but the program has 8" in refused(
        trace, "--on", network, "--present", turns
    )
    turns.write_text(IN_TURN.replace("n7", "m7"))
    assert "host 'm7' is not in the network two" in refused(trace, "--on", network, "--present", turns)
    assert "the folder" in refused(trace, "--on", network, "-o", tmp_path / "none" / "order")
    assert "rank-2.tit:3" in refused_by_damage(trace, network, refused)
    assert "has no profile" in refused(tmp_path, "--on", network)


def refused_by_damage(trace: Path, network: Path, refused: Any) -> str:
    (trace / "rank-2.tit").write_text("2 init\n2 recv 3 0 5\n2 send 9 0 1\n")
    return str(refused(trace, "--on", network))


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no MPICH: pip install 'mpich>=5'")
def test_mpich_starts_the_ranks_in_the_order_of_the_file(tmp_path):
    hosts = ["a3", "a1", "a2", "a2", "a1", "a3"]
    (tmp_path / "order").write_text(FORMS["mpich"].text(hosts))
    remote = tmp_path / "remote"
    remote.write_text('#!/bin/sh\nexport NAMED=$1\nshift\nexec sh -c "$*"\n')
    remote.chmod(0o755)
    words = ["-launcher", "rsh", "-launcher-exec", remote, "-f", tmp_path / "order", "-n", "6"]
    said = subprocess.run(
        [MPIEXEC, *words, "sh", "-c", "echo $PMI_RANK $NAMED"], capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert sorted(said.stdout.splitlines()) == [f"{rank} {host}" for rank, host in enumerate(hosts)]


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_slurm_starts_the_ranks_in_the_order_of_the_file():
    hosts = [NODES[at] for at in (1, 0, 0, 1, 1, 0)]
    with running_slurm() as slurm:
        file = slurm.folder / "order"
        file.write_text(FORMS["slurm"].text(hosts))
        words = [
            "srun",
            "--distribution=arbitrary",
            "-n",
            "6",
            "sh",
            "-c",
            "echo $SLURM_PROCID $SLURMD_NODENAME",
        ]
        environment = {**os.environ, **slurm.environment, "SLURM_HOSTFILE": str(file)}
        said = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=60, check=True
        ).stdout
    assert sorted(said.splitlines()) == [f"{rank} {host}" for rank, host in enumerate(hosts)]

"""Workloads in all places: each on an emulated and on a simulated network, and started by ssh and Slurm."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import crosscut
from labs import crossbar, needs_lab
from slurm_cluster import Slurm, running_slurm
from slurm_cluster import why_not as why_no_slurm
from sshd import Sshd, running_sshd
from sshd import why_not as why_no_sshd

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.places import smpi
from crosscut.places.launchers import find_hydra
from crosscut.workloads import applications, launch
from crosscut.workloads.applications import WORKLOADS, Result, WorkloadError
from crosscut.workloads.launch import Where

HYDRA = find_hydra("", find_executable(CORE_MPI))
RANKS = 4
# A rank of FT has 1 MiB of 64³ complex numbers and sends three quarters of it in each of 6 transpositions: at
# 100 Mbit/s, without headers.
FT_SECONDS = 6 * 0.75 * 2**20 / 12.5e6
# Little to compute and to send: only completion is tested.
OPTIONS = {
    "data-server": ("--tasks", "24", "--operations-per-byte", "10"),
    "overlap": ("--sizes", "8,64KiB", "--exchanges", "2", "--work", "0.1"),
    "traffic": ("--steps", "100"),
}


def built() -> bool:
    try:
        return all(applications.find_executable(one) for one in WORKLOADS)
    except WorkloadError:
        return False


pytestmark = [
    pytest.mark.skipif(not built(), reason="no crosscut-npb-*: pip install 'mpich>=5', then make"),
    pytest.mark.skipif(HYDRA is None, reason="no mpiexec of MPICH: pip install 'mpich>=5'"),
]


def all_on(place: str, compute: str = "host") -> dict[str, Result]:
    found = {}
    for one in WORKLOADS:
        where = Where(on=place, compute=compute, options=OPTIONS.get(one.name, ()), time_limit_seconds=300)
        with launch.opened(where) as runner:
            found[one.name] = runner(one, "S", RANKS)
    return found


@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_every_workload_verifies_on_a_lab_and_none_is_left(tmp_path: Path) -> None:
    from crosscut.lab import state

    found = all_on(f"lab:{crossbar(tmp_path, RANKS)}")
    assert {name: result.verified for name, result in found.items()} == {one.name: True for one in WORKLOADS}
    assert found["ft"].seconds > FT_SECONDS
    assert state.names() == []


@pytest.mark.skipif(smpi.unavailable() is not None, reason=str(smpi.unavailable()))
@pytest.mark.long  # compiles; test_workloads.py does so with the smallest
@pytest.mark.usefixtures("shared_cache")
def test_every_workload_compiled_for_smpi_verifies_on_a_simulated_network(tmp_path: Path) -> None:
    found = all_on(f"sim:{crossbar(tmp_path, RANKS)}", compute="none")
    assert {name: result.verified for name, result in found.items()} == {one.name: True for one in WORKLOADS}
    assert found["ft"].seconds > FT_SECONDS


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    if why_no_sshd() is not None:
        pytest.skip(str(why_no_sshd()))
    with running_sshd(tmp_path / "ssh", ("h1", "h2")) as running:
        yield running


def test_on_hosts_mpiexec_starts_ranks_over_ssh_by_the_file_s_slots(sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("h1 slots=1\nh2 slots=3\n")
    asked = tmp_path / "asked"
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\necho "$@" >>{asked}\nexec ssh -F {sshd.config} "$@"\n')
    agent.chmod(0o755)
    words = f"-launcher ssh -launcher-exec {agent} -iface lo"
    done = crosscut(
        "workload", "run", "is", "-n", str(RANKS), "--on", "hosts:hosts", "--launcher-args", words, "--json",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verified"], result["ranks"], result["on"]) == (True, RANKS, "hosts:hosts")
    called = asked.read_text().splitlines()
    assert len(called) == 2
    assert [sum(host in line.split() for line in called) for host in ("h1", "h2")] == [1, 1]


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    if why_no_slurm() is not None:
        pytest.skip(str(why_no_slurm()))
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    with running_slurm() as running:
        monkeypatch.setenv("SLURM_CONF", running.environment["SLURM_CONF"])
        monkeypatch.setenv("PATH", running.environment["PATH"])
        yield running


def test_on_slurm_srun_starts_ranks_on_several_nodes(slurm: Slurm, tmp_path: Path) -> None:
    words = "--mpi=pmi2 --nodes=2 --quiet"
    done = crosscut(
        "workload", "run", "is", "-n", str(RANKS), "--on", "slurm", "--launcher-args", words, "--json",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verified"], result["ranks"], result["on"]) == (True, RANKS, "slurm")

"""Runs hpcc: Linpack solves, rings are measured, and errors are reported."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process import crosscut
from labs import crossbar, needs_lab
from processes import await_none, running
from sshd import running_sshd
from sshd import why_not as why_no_sshd

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.places.launchers import OPEN_MPI, find_hydra
from crosscut.workloads.hpl import output, program

pytestmark = pytest.mark.skipif(program.unavailable() is not None, reason=str(program.unavailable()))
HYDRA = find_hydra("", find_executable(CORE_MPI))


@pytest.fixture
def hpcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of hpcc, which identifies its processes; fails if a process or a run's folder is left."""
    copy = tmp_path / "hpcc"
    shutil.copy(program.find().path, copy)
    monkeypatch.setenv(program.VARIABLE, str(copy))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    yield copy
    await_none(copy)
    assert list((tmp_path / "t").iterdir()) == []


def test_two_ranks_solve_in_both_rings_and_measure_b_eff(hpcc: Path, tmp_path: Path) -> None:
    kept = tmp_path / "hpccoutf.txt"
    done = crosscut("workload", "hpl", "-N", "500", "-n", "2", "--repeat", "2", "--keep", str(kept), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["order"], found["ranks"], found["hosts"], found["grid"]) == (500, 2, 1, [1, 2])
    assert found["verified"] is True
    assert [one["broadcast"] for one in found["solutions"]] == ["1rg", "1rM"] * 2
    assert all(0 < one["residual"] < 16 for one in found["solutions"])
    rates = found["flops_per_second"]
    assert 0 < rates["minimum"] <= rates["median"] <= rates["maximum"]
    rings = found["rings"]
    assert all(rings[ring][what] > 0 for ring in ("natural", "random") for what in rings[ring])
    assert output.load(kept).ranks == 2
    again = crosscut("workload", "hpl", "--read", str(kept))
    assert again.returncode == 0, again.stderr
    assert "HPL: 500 equations" in again.stdout
    assert again.stdout.count("yes") == 2


@pytest.mark.usefixtures("hpcc")
def test_a_measured_rate_becomes_dollars_per_mflop(tmp_path: Path) -> None:
    done = crosscut("workload", "hpl", "-N", "400", "--grid", "1x3", "--nb", "40,64", "--json")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "hpl.json"
    file.write_text(done.stdout)
    rate = json.loads(done.stdout)["flops_per_second"]["median"]
    network = crossbar(tmp_path, 1)
    book = tmp_path / "book.toml"
    book.write_text(
        'currency = "USD"\nyear = 2026\nsource = "a test"\n'
        '[[part]]\nname = "port"\nkind = "port"\nprice = "100 USD"\n'
        '[[part]]\nname = "node"\nkind = "node"\nprice = "900 USD"\n'
    )
    priced = crosscut("price", str(network), "--book", str(book), "--performance", str(file), "--json")
    assert priced.returncode == 0, priced.stderr
    (one,) = json.loads(priced.stdout)["performance"]
    assert one["cost_per_mflops"] == pytest.approx([1000 / (rate / 1e6)] * 2, rel=1e-4)


@needs_lab
@pytest.mark.long
@pytest.mark.usefixtures("hpcc")
def test_on_a_lab_rings_have_the_rate_of_its_links(tmp_path: Path) -> None:
    """A Gbit/s is 125 MB/s on the wire, and a little more during a burst. Memory is far faster."""
    network = crossbar(tmp_path, 2, "1 Gbit/s")
    done = crosscut("workload", "hpl", "-N", "300", "-n", "2", "--on", f"lab:{network}", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verified"] is True
    assert found["hosts"] == 2
    assert 80e6 < found["rings"]["ping_pong_bytes_per_second"]["maximum"] < 130e6  # plus a shaper's burst


@pytest.mark.skipif(why_no_sshd() is not None, reason=str(why_no_sshd()))
def test_on_hosts_ranks_are_started_over_ssh(hpcc: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("h1 slots=1\nh2 slots=1\n")
    asked, agent = tmp_path / "asked", tmp_path / "agent"
    words = f"-launcher ssh -launcher-exec {agent} -iface lo"
    if program.find().mpi == OPEN_MPI:
        # Both hosts are this machine: bound, both ranks would poll on its first core.
        words = f"--mca plm_rsh_agent {agent} --bind-to none"
        words += " --mca oob_tcp_if_include lo --mca btl_tcp_if_include lo"
    with running_sshd(tmp_path / "ssh", ("h1", "h2")) as sshd:
        agent.write_text(f'#!/bin/sh\necho "$@" >>{asked}\nexec ssh -F {sshd.config} "$@"\n')
        agent.chmod(0o755)
        before = set(tmp_path.iterdir())
        done = crosscut(
            "workload", "hpl", "-N", "200", "-n", "2", "--on", "hosts:hosts", "--launcher-args", words,
            "--json", folder=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["ranks"], found["hosts"], found["verified"]) == (2, 2, True)
    called = asked.read_text().splitlines()
    assert [sum(host in line.split() for line in called) for host in ("h1", "h2")] == [1, 1]
    assert set(tmp_path.iterdir()) == before | {asked}


other_mpi = pytest.mark.skipif(
    HYDRA is None or program.find().mpi != OPEN_MPI,
    reason="needs hpcc of Open MPI, and MPICH's mpiexec: apt install hpcc; pip install 'mpich>=5'",
)


@other_mpi
@pytest.mark.usefixtures("hpcc")
def test_another_mpi_s_launcher_is_refused_before_anything_runs() -> None:
    assert HYDRA is not None
    done = crosscut("workload", "hpl", "-N", "300", "-n", "2", "--launcher", HYDRA.program)
    assert done.returncode == 2
    assert "belongs to MPICH" in done.stderr
    assert "is linked with Open MPI" in done.stderr


@pytest.mark.long  # RandomAccess takes 20 s on one rank; a known wrong launcher is refused above
@other_mpi
@pytest.mark.usefixtures("hpcc")
def test_ranks_that_ran_alone_under_an_unknown_launcher_give_no_result(tmp_path: Path) -> None:
    assert HYDRA is not None
    launcher = tmp_path / "mpirun"
    launcher.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 1\nexec {HYDRA.program} "$@"\n')
    launcher.chmod(0o755)
    done = crosscut("workload", "hpl", "-N", "100", "-n", "2", "--launcher", str(launcher))
    assert done.returncode == 1
    assert "each rank ran alone" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(hpcc: Path, number: int) -> None:
    command = [sys.executable, "-m", "crosscut", "workload", "hpl", "-N", "4000", "-n", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while len(running(hpcc)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(running(hpcc)) == 2
        process.send_signal(number)
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complained == b"crosscut: interrupted\n"


@pytest.mark.usefixtures("hpcc")
def test_a_run_over_its_time_limit_is_ended() -> None:
    done = crosscut("workload", "hpl", "-N", "4000", "-n", "2", "--time-limit", "1s")
    assert done.returncode == 1
    assert "hpcc was ended after 1 s" in done.stderr


def working(executable: Path) -> list[int]:
    """Returns its processes that have used half a second of processor time: MPI_Init takes less."""
    ticks = os.sysconf("SC_CLK_TCK") // 2
    stats = {
        pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in running(executable)
    }
    return [pid for pid, stat in stats.items() if int(stat[11]) + int(stat[12]) >= ticks]


def test_a_rank_that_dies_ends_the_run_with_an_error(hpcc: Path) -> None:
    command = [sys.executable, "-m", "crosscut", "workload", "hpl", "-N", "4000", "-n", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            until = time.monotonic() + 60
            # Open MPI 4's mpiexec may wait for ever if a rank dies while it starts, so the ranks work first.
            while len(working(hpcc)) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            os.kill(working(hpcc)[0], signal.SIGKILL)
            _, complained = process.communicate(timeout=60)
        finally:
            process.terminate()
    assert process.returncode == 1
    assert b"hpcc ended with status" in complained
    assert b"Traceback" not in complained


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grid", "2x2", "-n", "3"], "--grid 2x2: has 4 ranks, but -n says 3"),
        (["-N", "1000000"], "-N 1000000: its matrix takes 8 TB"),
        (["--memory", "4000GB"], "--memory: the matrix takes 4 TB"),
        (["-N", "99"], "a number from 100 to 1,000,000"),
        (["--repeat", "11"], "with 2 of them 10 repetitions each"),
        (["--on", "sim:fat-tree-1024"], "HPL runs on local, hosts:FILE, mpi, slurm, lab:NETWORK"),
        (["--on", "hosts"], "--on hosts needs a FILE: write --on hosts:FILE"),
        (["--on", "hosts:/no/such/file"], "/no/such/file: there is no such file"),
        (["--launcher", "/no/such/mpiexec"], "there is no such program"),
        (["--broadcast", "tree"], "there is no broadcast 'tree'"),
        (["--keep", "/"], "it exists"),
    ],
)
def test_wrong_usage_is_named(words: list[str], said: str) -> None:
    done = crosscut("workload", "hpl", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())

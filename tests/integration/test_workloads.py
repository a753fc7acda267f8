"""Runs the workloads: classes S and W verify, on one rank and on numbers of ranks with each layout."""

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

import in_process
import pytest
from labs import crossbar, needs_lab
from processes import await_none, running
from tiers import long

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.places import smpi
from crosscut.places.launchers import find_launcher
from crosscut.workloads import applications, launch
from crosscut.workloads.applications import WORKLOADS, Result, Workload, WorkloadError
from crosscut.workloads.launch import Where

BESIDE = Path(sys.executable).parent / "mpiexec"
LAUNCHER = BESIDE if BESIDE.exists() else find_launcher("", find_executable(CORE_MPI))
BY_NAME = {one.name: one for one in WORKLOADS}
RANKS_TAKEN = {
    applications.POWER_OF_TWO: "a power of two, such as 2 or 4",
    applications.SQUARE: "a square number, such as 1 or 4",
    applications.GRID: "a power of two, such as 2 or 4",  # as in NPB 3.3
    applications.EVEN: "an even number, with a server for each computing rank",
}


def built() -> bool:
    try:
        return all(applications.find_executable(one) for one in WORKLOADS)
    except WorkloadError:
        return False


pytestmark = [
    pytest.mark.skipif(not built(), reason="no crosscut-npb-*: pip install 'mpich>=5', then make"),
    pytest.mark.skipif(LAUNCHER is None, reason="no mpiexec: pip install 'mpich>=5'"),
]


def run(workload: Workload, problem_class: str, ranks: int, where: Where | None = None) -> Result:
    with launch.opened(where or Where(time_limit_seconds=300)) as runner:
        return runner(workload, problem_class, ranks)


def crosscut(*words: str) -> subprocess.CompletedProcess[str]:
    return in_process.crosscut("workload", *words)


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of EP, which identifies its processes; fails if any is left. It finds its libraries by relative
    path, like the original."""
    original = applications.find_executable(BY_NAME["ep"])
    copy = tmp_path / "bin" / original.name
    copy.parent.mkdir()
    shutil.copy(original, copy)
    (tmp_path / "lib").symlink_to(original.parent.parent / "lib")
    monkeypatch.setenv(applications.VARIABLE, str(copy.parent))
    yield copy
    await_none(copy)


def that_it_takes(*counts: int) -> list[tuple[str, int]]:
    """Returns the workloads with each of these numbers of ranks that they accept."""
    return [(name, ranks) for name, one in BY_NAME.items() for ranks in counts if one.takes(ranks)]


# 1, 2 and 4 ranks: CG's square and oblong grids, MG's copies and messages.
@pytest.mark.parametrize(("name", "ranks"), that_it_takes(1, 2, 4))
def test_class_s_verifies(name: str, ranks: int) -> None:
    result = run(BY_NAME[name], "S", ranks)
    assert result.verified
    assert (result.name, result.problem_class, result.ranks) == (name, "S", ranks)
    least, median, most = result.communication_seconds
    assert 0 <= least <= median <= most <= result.seconds


# 8: CG's oblong grid with sums over halves. 9: in BT and SP, cells that are neither first nor last. 16: in
# MG, ranks without points on the coarsest level; in BT and SP, cells of the smallest size. Others are long.
NEEDED = (("cg", 8), ("bt", 9), ("sp", 9), ("mg", 16), ("bt", 16))


@pytest.mark.parametrize(
    ("name", "ranks"), [case if case in NEEDED else long(*case) for case in that_it_takes(8, 9, 16)]
)
def test_class_s_verifies_on_more_ranks_than_cores(name: str, ranks: int) -> None:
    assert run(BY_NAME[name], "S", ranks).verified


# Workloads that take seconds are in the long tier.
@pytest.mark.parametrize(
    "name", [long(name) if name in {"bt", "cg", "data-server", "lu", "sp"} else name for name in BY_NAME]
)
def test_class_w_verifies(name: str) -> None:
    assert run(BY_NAME[name], "W", 4).verified


def test_ep_shares_work_that_does_not_divide_evenly() -> None:
    assert run(BY_NAME["ep"], "S", 7).verified


# 3 x 2 and 4 x 3, which share 12 points evenly; 3 x 3, which share 33.
@pytest.mark.parametrize(("problem_class", "ranks"), [("S", 6), ("S", 12), long("W", 9)])
def test_lu_verifies_on_grids_that_are_not_a_power_of_two(problem_class: str, ranks: int) -> None:
    assert run(BY_NAME["lu"], problem_class, ranks).verified


@pytest.mark.parametrize("grid", ["1x4", "2x2", "4x1"])
def test_ft_verifies_in_slabs_and_in_pencils(grid: str) -> None:
    program = applications.find_executable(BY_NAME["ft"])
    launcher = str(BESIDE) if BESIDE.exists() else "mpiexec"
    done = subprocess.run(
        [launcher, "-n", "4", program, "--grid", grid, "--json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert applications.parse_result(done.stdout).verified


@pytest.mark.parametrize("name", [name for name, one in BY_NAME.items() if not one.takes(3)])
def test_an_invalid_number_of_ranks_is_refused_with_the_valid_ones(name: str) -> None:
    done = crosscut("run", name, "-n", "3")
    assert done.returncode == 2
    assert done.stderr == f"crosscut: error: {name}: 3 ranks: it takes {RANKS_TAKEN[BY_NAME[name].ranks]}\n"


@pytest.mark.parametrize("name", ["bt", "sp"])
def test_more_ranks_than_a_grid_has_room_for_are_refused_with_the_largest_number(name: str) -> None:
    done = crosscut("run", name, "-n", "25")
    assert done.returncode == 2
    assert done.stderr == f"crosscut: error: {name}: 25 ranks: the grid of class S is for 16 ranks at most\n"


@pytest.mark.parametrize(("ranks", "along_x"), [(15, 5), (32, 8)])
def test_lu_refuses_ranks_that_would_have_too_few_points(ranks: int, along_x: int) -> None:
    done = crosscut("run", "lu", "-n", str(ranks))
    assert done.returncode == 2
    assert done.stderr == (
        f"crosscut: error: lu: {ranks} ranks: class S has enough points for at most 4 ranks along a "
        f"dimension, not {along_x}\n"
    )


def test_the_command_prints_a_curve_with_speed_up_and_deviation() -> None:
    done = crosscut("run", "is", "-n", "1,2", "--repeat", "2")
    assert done.returncode == 0, done.stderr
    assert "IS, class S: 2^16 keys below 2^11" in done.stdout
    head = next(line for line in done.stdout.splitlines() if line.startswith("ranks"))
    assert head.split()[:6] == ["ranks", "time", "deviation", "Mop/s", "speed-up", "communicating"]
    assert done.stdout.count("yes") == 2


def test_a_class_runs_on_the_numbers_of_a_range_for_which_it_is_large_enough() -> None:
    """15 ranks are a grid of 5 x 3, but class S has points for 4 in a row."""
    done = crosscut("run", "lu", "-n", "9-15", "--json")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["ranks"] for line in done.stdout.splitlines()] == [9, 12]
    assert done.stderr == (
        "crosscut: left out: lu: 10, 11, 13, 14 ranks: it takes a grid, at most 2 : 1\n"
        "crosscut: left out: lu: 15 ranks: class S has enough points for at most 4 ranks along a dimension, "
        "not 5\n"
    )
    none = crosscut("run", "bt", "-n", "24-26")
    assert none.returncode == 2
    assert none.stderr.endswith(
        "crosscut: error: bt: 25 ranks: the grid of class S is for 16 ranks at most\n"
    )


def test_each_of_several_workloads_runs_on_the_numbers_of_ranks_that_it_takes() -> None:
    done = crosscut("run", "bt", "is", "-n", "1,2", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["name"], one["ranks"]) for one in lines] == [("bt", 1), ("is", 1), ("is", 2)]
    assert done.stderr == "crosscut: left out: bt: 2 ranks: it takes a square number\n"
    none = crosscut("run", "bt", "sp", "-n", "2")
    assert none.returncode == 2
    assert none.stderr.endswith("crosscut: error: -n: no workload named takes 2 ranks\n")


def test_a_failing_workload_does_not_keep_others_from_running() -> None:
    done = crosscut("run", "ep", "--class", "C,S", "-n", "2", "--time-limit", "2s")
    assert done.returncode == 1
    assert done.stderr.count("ep on 2 ranks was ended after 2 s") == 1
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    at = lines.index("What ran")
    assert lines[at + 3 : at + 5] == ["ep C 2 1 NO: 0 of 1", "ep S 2 1 yes"]
    assert lines[-1].startswith("1 of 2 runs verified, of 1 workload, in ")


def test_json_has_a_line_for_each_run() -> None:
    done = crosscut("run", "is", "ep", "-n", "1,2", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["name"], one["ranks"]) for one in lines] == [("is", 1), ("is", 2), ("ep", 1), ("ep", 2)]
    assert all(one["verified"] and one["on"] == "local" for one in lines)


def test_a_run_over_its_time_limit_is_ended_and_leaves_nothing(workload: Path) -> None:
    with pytest.raises(WorkloadError, match="was ended after 1 s"):
        run(BY_NAME["ep"], "C", 2, Where(time_limit_seconds=1))
    await_none(workload)


# SIGHUP: a closed terminal.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_leaves_nothing(workload: Path, number: int) -> None:
    command = [sys.executable, "-m", "crosscut", "workload", "run", "ep", "--class", "C", "-n", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while len(running(workload)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(running(workload)) == 2
        process.send_signal(number)
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complained == b"crosscut: interrupted\n"


def test_a_rank_that_dies_ends_the_run_with_an_error(workload: Path) -> None:
    command = [sys.executable, "-m", "crosscut", "workload", "run", "ep", "--class", "C", "-n", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while len(running(workload)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(running(workload)[0], signal.SIGKILL)
        _, complained = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"ep on 2 ranks ended with status" in complained
    assert b"Traceback" not in complained


@pytest.mark.skipif(smpi.unavailable() is not None, reason=str(smpi.unavailable()))
def test_a_workload_s_time_follows_a_simulated_network_s_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only messages take time: ten times the rate takes a tenth of the time, but for latency."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    seconds = []
    for rate in ("10 Mbit/s", "100 Mbit/s"):
        file = crossbar(tmp_path, 4, rate, rate.split()[0])
        result = run(BY_NAME["ft"], "S", 4, Where(on=f"sim:{file}", compute="none"))
        assert result.verified
        seconds.append(result.seconds)
    assert 9 < seconds[0] / seconds[1] < 10.5
    kept = list((tmp_path / "cache" / "crosscut").iterdir())
    assert len(kept) == 1, "compiled once, and nothing half made is left"


@needs_lab
def test_in_a_lab_a_workload_runs_over_its_links_and_the_lab_is_removed(tmp_path: Path) -> None:
    from crosscut.lab import state

    before = state.names()
    result = run(BY_NAME["is"], "S", 4, Where(on=f"lab:{crossbar(tmp_path, 4, '20 Mbit/s')}"))
    assert result.verified
    # 10 iterations, in each of which a rank sends three quarters of its 64 KiB of keys: 0.19 s at 2.5 MB/s.
    assert result.seconds > 0.15
    assert state.names() == before

"""Runs the data server, and computing during messages: results do not depend on how they run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from labs import crossbar, needs_lab

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.places import smpi
from crosscut.places.base import cores
from crosscut.places.launchers import environment_for, find_hydra
from crosscut.workloads import applications
from crosscut.workloads import launch as workload_places
from crosscut.workloads.applications import Result, WorkloadError
from crosscut.workloads.launch import Where

LAUNCHER = find_hydra("", find_executable(CORE_MPI))
DATA_SERVER, OVERLAP = applications.find(["data-server", "overlap"])
QUICK = ("--tasks", "24", "--operations-per-byte", "10")


def built() -> bool:
    try:
        return bool(applications.find_executable(DATA_SERVER) and applications.find_executable(OVERLAP))
    except WorkloadError:
        return False


pytestmark = [
    pytest.mark.skipif(not built(), reason="no crosscut-data-server: pip install 'mpich>=5', then make"),
    pytest.mark.skipif(LAUNCHER is None, reason="no mpiexec: pip install 'mpich>=5'"),
]


def launch(
    workload: applications.Workload, ranks: int, *words: str, crowded: bool = True
) -> subprocess.CompletedProcess[str]:
    """`crowded`: MPI yields processors while it waits, as tests beside others need."""
    assert LAUNCHER is not None
    return subprocess.run(
        [LAUNCHER.program, "-n", str(ranks), str(applications.find_executable(workload)), "--json", *words],
        capture_output=True, text=True, timeout=120, check=False, env=environment_for(crowded, os.environ),
    )  # fmt: skip


def said(workload: applications.Workload, ranks: int, *words: str, crowded: bool = True) -> dict[str, Any]:
    done = launch(workload, ranks, *words, crowded=crowded)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["verified"]
    return found


def checksum(ranks: int, *words: str) -> float:
    checks = {one["name"]: one["computed"] for one in said(DATA_SERVER, ranks, *QUICK, *words)["checks"]}
    return float(checks["checksum of the array"])


def run(workload: applications.Workload, ranks: int, where: Where) -> Result:
    with workload_places.opened(where) as runner:
        return runner(workload, "S", ranks)


def figure(result: Result, name: str, at: str = "") -> float:
    return next(one.value for one in result.figures if (one.name, one.at) == (name, at))


# 6 ranks: columns that do not divide evenly, and blocks of three servers.
@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (4, ()),
        (6, ("--balance", "counter")),
        (4, ("--roles", "halves", "--waiting", "yield")),
        (4, ("--waiting", "sleep", "--computing-waiting", "sleep")),
        (2, ("--waiting", "poll", "--computing-waiting", "yield")),
    ],
)
def test_the_array_is_the_same_whoever_computes_serves_and_waits(ranks: int, words: tuple[str, ...]) -> None:
    assert checksum(ranks, "--array", "100", *words) == checksum(2, "--array", "100")


def test_another_seed_or_number_of_gets_is_another_array() -> None:
    found = {checksum(2), checksum(2, "--seed", "2"), checksum(2, "--gets", "3")}
    assert len(found) == 3


def test_messages_that_cross_a_tcp_connection_all_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default MPICH uses shared memory between processes of one machine."""
    for name, value in {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}.items():
        monkeypatch.setenv(name, value)
    assert checksum(4, "--balance", "counter") == checksum(2)


def test_a_pair_shares_a_processor_on_request() -> None:
    assert said(DATA_SERVER, 2, *QUICK, "--processors", "overloaded")["layout"].endswith(", overloaded")


def test_more_processes_than_processors_are_not_matched() -> None:
    ranks = 2 * cores()
    done = launch(DATA_SERVER, ranks, *QUICK, "--processors", "matched")
    assert done.returncode == 2
    assert f"error: --processors matched: {ranks} ranks are on a machine where they may use" in done.stderr
    assert done.stderr.count("error:") == 1


def test_a_server_that_polls_takes_more_of_a_processor_than_one_that_sleeps() -> None:
    """24 tasks of some 50 ms of computing each, so that both servers mostly wait."""
    share = {}
    for waiting in ("poll", "sleep"):
        words = ("--tasks", "24", "--operations-per-byte", "30000", "--waiting", waiting)
        figures = said(DATA_SERVER, 2, *words, "--computing-waiting", "sleep", crowded=False)["figures"]
        share[waiting] = next(one["value"] for one in figures if one["name"] == "processor time of a server")
    assert share["poll"] > 2 * share["sleep"]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--block", "600"), "--block 600: the array has 512 rows"),
        (("--waiting", "spin"), "--waiting spin: choose one of receive, poll, yield, sleep; see --help"),
        (("--tasks", "0"), "--tasks 0: write a whole number from 1 to 100000000; see --help"),
    ],
)
def test_impossible_options_are_named_once(words: tuple[str, ...], wrong: str) -> None:
    done = launch(DATA_SERVER, 2, *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"crosscut-data-server: error: {wrong}"
    assert done.stderr.count("error:") == 1


def test_an_array_larger_than_memory_is_refused_before_any_allocation() -> None:
    kibibytes = int(re.findall(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())[0])
    if kibibytes > 2**27:
        pytest.skip("this machine may hold the largest array")
    done = launch(DATA_SERVER, 4, "--array", "131072")
    assert done.returncode == 2
    wanted = "--array 131072: the servers of a machine would need 262144 MiB, more than it has"
    assert done.stderr.splitlines()[0].startswith(f"crosscut-data-server: error: {wanted}")
    assert done.stderr.count("error:") == 1


@pytest.mark.parametrize(
    ("pattern", "ranks"), [("ring", 2), ("ring", 3), ("pairs", 4), ("forward", 4), ("bystander", 3)]
)
def test_messages_arrive_while_ranks_compute(pattern: str, ranks: int) -> None:
    found = said(OVERLAP, ranks, "--pattern", pattern, "--sizes", "8,64KiB", "--exchanges", "4")
    places = ["8 B", "8 B, testing", "64 KiB", "64 KiB, testing"]
    names = {one["name"] for one in found["figures"]}
    assert names == {"messages", "work", "both", "available"} | (
        {"hidden"} if pattern != "bystander" else set()
    )
    assert list(dict.fromkeys(one["at"] for one in found["figures"])) == places
    receiving = {"ring": ranks, "pairs": ranks, "forward": ranks - 1, "bystander": 2}[pattern]
    counted = next(one["computed"] for one in found["checks"] if one["name"] == "messages")
    # Two sizes, each with two warm-ups, and three series of three kinds of four messages.
    assert counted == receiving * 2 * (2 + 4 * 3 * 3)


def test_the_command_passes_options_on_and_shows_figures() -> None:
    options = "--tasks 24 --operations-per-byte 10 --array 64"
    done = crosscut("workload", "run", "data-server", "-n", "2,4", "--options", options)
    assert done.returncode == 0, done.stderr
    assert "DATA-SERVER, class S: 64 x 64 doubles, blocks of 32 x 32" in done.stdout
    gets = next(line for line in done.stdout.splitlines() if line.startswith("gets "))
    assert gets.split()[2::2] == ["/s", "/s"]


@needs_lab
def test_on_a_lab_both_verify(tmp_path: Path) -> None:
    place = f"lab:{crossbar(tmp_path, 4, '50 Mbit/s')}"
    served = run(DATA_SERVER, 4, Where(on=place, options=QUICK, time_limit_seconds=120))
    assert served.verified
    assert served.layout.startswith("2 computing, 2 serving; 4 on")
    options = ("--sizes", "256KiB", "--exchanges", "3", "--work", "0.1")
    overlapped = run(OVERLAP, 4, Where(on=place, options=options, time_limit_seconds=120))
    assert overlapped.verified
    # 256 KiB at 6.25 MB/s, plus headers.
    assert figure(overlapped, "messages", "256 KiB") > 0.041


@pytest.mark.skipif(smpi.unavailable() is not None, reason=str(smpi.unavailable()))
@pytest.mark.long  # compiles; test_workloads.py does so with the smallest
@pytest.mark.usefixtures("shared_cache")
def test_both_slow_down_with_a_simulated_network_s_rate(tmp_path: Path) -> None:
    seconds: dict[str, list[float]] = {"data-server": [], "overlap": []}
    for rate in ("10 Mbit/s", "100 Mbit/s"):
        place = f"sim:{crossbar(tmp_path, 4, rate, rate.split()[0])}"
        served = run(DATA_SERVER, 4, Where(on=place, compute="none", options=(*QUICK, "--waiting", "poll")))
        options = ("--sizes", "1MiB", "--exchanges", "2")
        overlapped = run(OVERLAP, 4, Where(on=place, compute="none", options=options))
        assert (served.verified, overlapped.verified) == (True, True)
        assert "a processor for each" in served.layout
        seconds["data-server"].append(served.seconds)
        seconds["overlap"].append(figure(overlapped, "messages", "1 MiB"))
    assert 5 < seconds["data-server"][0] / seconds["data-server"][1] < 11
    assert 9 < seconds["overlap"][0] / seconds["overlap"][1] < 10.5

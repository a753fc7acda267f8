"""The traffic workload gives the same result on any number of ranks and in every place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut
from labs import crossbar, needs_lab

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.base.errors import CrosscutError
from crosscut.places import smpi
from crosscut.places.launchers import find_launcher
from crosscut.profile import profiler
from crosscut.workloads import applications, launch
from crosscut.workloads.applications import Result, WorkloadError
from crosscut.workloads.launch import Where

TRAFFIC = next(one for one in applications.WORKLOADS if one.name == "traffic")
BESIDE = Path(sys.executable).parent / "mpiexec"
LAUNCHER = BESIDE if BESIDE.exists() else find_launcher("", find_executable(CORE_MPI))
NUMBER_BYTES = 4


def built() -> bool:
    try:
        applications.find_executable(TRAFFIC)
    except WorkloadError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(not built(), reason="no crosscut-traffic: pip install 'mpich>=5', then make"),
    pytest.mark.skipif(LAUNCHER is None, reason="no mpiexec: pip install 'mpich>=5'"),
]


def run(ranks: int, *options: str, on: str = "local", compute: str = "host") -> Result:
    where = Where(on=on, compute=compute, time_limit_seconds=300, options=options)
    with launch.opened(where) as runner:
        return runner(TRAFFIC, "S", ranks)


def figure(result: Result, name: str) -> float:
    return next(one.value for one in result.figures if one.name == name)


def refused(*options: str, ranks: int = 1) -> str:
    words = ["run", "traffic", "-n", str(ranks), "--options", " ".join(options)]
    done = crosscut("workload", *words)
    assert done.returncode == 2, done.stderr
    return done.stderr.removeprefix("crosscut: error: traffic: ").rstrip()


@pytest.mark.parametrize("scenario", ["everyday", "bottleneck"])
def test_any_number_of_ranks_ends_in_the_same_state(scenario: str) -> None:
    """Class S, whose checksum is recorded, and other roads, trips and seeds."""
    for options in [(), ("--seed", "7", "--columns", "31", "--rows", "19", "--steps", "400")]:
        results = [run(ranks, "--scenario", scenario, *options) for ranks in (1, 2, 3, 4, 7)]
        assert all(result.verified for result in results)
        for name in ("checksum", "agents arrived", "agents driving", "agents waiting", "mean travel time"):
            assert len({figure(result, name) for result in results}) == 1
        assert figure(results[0], "agents arrived") > 100


def test_another_seed_ends_in_another_state() -> None:
    first, second = (run(1, "--seed", seed, "--steps", "300") for seed in ("2", "3"))
    assert figure(first, "checksum") != figure(second, "checksum")


@pytest.mark.parametrize("ranks", [2, 7])
def test_neighbours_send_one_message_in_each_direction_per_step(ranks: int) -> None:
    result = run(ranks, "--steps", "100")
    assert figure(result, "messages a step") == pytest.approx(figure(result, "neighbours, mean") * ranks)
    assert figure(result, "bytes a step") == pytest.approx(
        figure(result, "messages a step") * figure(result, "mean message")
    )


def test_two_ranks_at_the_bottleneck_share_one_road_and_exchange_less() -> None:
    everyday, bottleneck = (run(2, "--scenario", one, "--steps", "300") for one in ("everyday", "bottleneck"))
    assert bottleneck.layout == "2 links between ranks"
    assert figure(bottleneck, "mean message") < figure(everyday, "mean message") / 2


def test_without_agents_messages_have_only_their_two_counts() -> None:
    result = run(2, "--agents", "0", "--steps", "10", "--scenario", "bottleneck")
    # The number of values, and of vehicles that left the only link to the sender.
    assert figure(result, "mean message") == figure(result, "largest message") == 2 * NUMBER_BYTES


def can_profile() -> bool:
    try:
        profiler.find_library()
    except CrosscutError:
        return False
    return BESIDE.exists()


def profiled(folder: Path, ranks: int) -> tuple[dict[str, Any], Result]:
    program = [str(applications.find_executable(TRAFFIC)), "--steps", "200", "--json"]
    command = [sys.executable, "-m", "crosscut", "profile", "--json", "--out", str(folder), "--"]
    done = subprocess.run(
        [*command, str(BESIDE), "-n", str(ranks), *program],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    calls = {call["name"]: call for call in json.loads(done.stdout)["calls"]}
    return calls, applications.parse_result(
        next(line for line in done.stderr.splitlines() if "checksum" in line)
    )


@pytest.mark.skipif(not can_profile(), reason="no profiler, or no mpiexec beside Python")
def test_the_profiler_counts_the_messages_that_it_reports(tmp_path: Path) -> None:
    calls, result = profiled(tmp_path / "profile", 3)
    sends = calls["MPI_Isend"]["as_called"]
    assert sum(sends["messages"]) == 200 * figure(result, "messages a step")
    assert sum(sends["bytes"]) == 200 * figure(result, "bytes a step")
    assert calls["MPI_Irecv"]["count"] == sum(sends["messages"])
    assert calls["MPI_Waitall"]["count"] == 3 * 200


def test_an_invalid_scenario_is_refused_with_the_reason() -> None:
    names = "everyday, bottleneck"
    assert refused("--scenario", "hills") == f"--scenario hills: choose one of {names}; see --help"
    assert refused("--columns", "3") == "--columns 3: write a whole number from 4 to 4096; see --help"
    assert refused("--seed", "1", "--agents") == "--agents needs a value; see --help"
    assert refused("--scenario", "bottleneck", "--zones", "2") == (
        "--zones 2: in the bottleneck all trips end at one place"
    )
    assert refused("--columns", "4096", "--rows", "4096", "--zones", "65536").endswith("lower --zones")
    assert refused("--columns", "4", "--rows", "2", ranks=9) == (
        "9 ranks: there are 8 junctions, and each rank needs one"
    )


@pytest.mark.skipif(smpi.unavailable() is not None, reason=str(smpi.unavailable()))
@pytest.mark.long  # compiles; test_workloads.py does so with the smallest
@pytest.mark.usefixtures("shared_cache")
def test_on_a_simulated_network_latency_limits_its_speed(tmp_path: Path) -> None:
    """Cetin and Nagel 2002: without computing a step takes as long as its messages, at any link rate."""
    rates = {}
    for rate, latency in (("100 Mbit/s", "50 us"), ("1000 Mbit/s", "50 us"), ("100 Mbit/s", "500 us")):
        file = tmp_path / f"{rate} {latency}.toml".replace("/", " per ")
        file.write_text(
            f'[generator]\nkind = "crossbar"\nhosts = 4\nrate = "{rate}"\n[link]\nlatency = "{latency}"\n'
        )
        result = run(4, "--steps", "100", on=f"sim:{file}", compute="none")
        assert result.verified
        rates[rate, latency] = figure(result, "real-time ratio")
    slow, fast, late = rates.values()
    assert fast / slow < 1.5
    assert 7 < slow / late < 11


@needs_lab
def test_in_a_lab_it_ends_in_the_same_state_as_on_one_rank(tmp_path: Path) -> None:
    options = ("--steps", "200")
    here = run(1, *options)
    there = run(4, *options, on=f"lab:{crossbar(tmp_path, 4)}")
    assert there.verified
    assert figure(there, "checksum") == figure(here, "checksum")

"""The benchmarks run with tiny settings. Their figures need a quiet machine and are not tested."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import labs
import numpy as np
import pytest
from numpy.typing import NDArray

from crosscut.base.core import CORE, find_executable
from crosscut.base.errors import UsageError
from crosscut.network import description

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are no part of the installation

from benchmarks.agreement.__main__ import classes  # noqa: E402
from benchmarks.agreement.networks import FAMILIES, random_network  # noqa: E402
from benchmarks.agreement.sharing import carried, fairly_shared, max_min  # noqa: E402
from benchmarks.memory import slope  # noqa: E402
from benchmarks.peers import iperf3, libfabric, netpipe, sockperf  # noqa: E402
from benchmarks.peers.comparisons import over_tcp  # noqa: E402
from benchmarks.processes import BenchmarkError, output_of  # noqa: E402
from benchmarks.ratios import ratio_of  # noqa: E402


def run_benchmark(name: str, *options: str, out: Path) -> dict[str, object]:
    executable = find_executable(CORE)
    if executable is None:
        pytest.skip(f"{CORE} is not installed")
    environment = {**os.environ, "CROSSCUT_CORE": str(executable)}
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options, "--out", str(out)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "this machine's CPU was the bottleneck" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    value = json.loads(out.read_text())
    assert isinstance(value, dict)
    return value


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("netpipe-tcp-latency", "NPtcp"),
        ("iperf3-rate", "iperf3"),
        ("fabric-shm-latency", "fi_pingpong"),
    ],
)
def test_a_peer_is_compared_with_crosscut(name: str, program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: packaging/debian-benchmark-packages.txt")
    options = ("--pairs", "6", "--most-pairs", "6", "--only", name)
    found = run_benchmark("peers", *options, out=tmp_path / "peers.json")
    comparisons = found["comparisons"]
    assert isinstance(comparisons, list)
    one = comparisons[0]
    assert one["name"] == name
    assert len(one["ours"]) == len(one["theirs"]) == 6
    assert 0 < one["low"] <= one["ratio"] <= one["high"]


def test_memory_is_measured_separately_for_rank_0_and_the_others(tmp_path: Path) -> None:
    # Long enough to be polled: a job of few ranks ends at once.
    found = run_benchmark("memory", "--ranks", "64", "128", out=tmp_path / "memory.json")
    usages = found["usages"]
    assert isinstance(usages, list)
    assert [one["ranks"] for one in usages] == [64, 128]
    assert all(0 < one["others_private_bytes"] < one["rank_0_private_bytes"] for one in usages)


def test_the_cost_of_many_ranks_is_measured(tmp_path: Path) -> None:
    options = ("--ranks", "4", "--null-ranks", "8", "--starts", "2")
    found = run_benchmark("scale", *options, out=tmp_path / "scale.json")
    costs = found["costs"]
    assert isinstance(costs, list)
    assert [one["ranks"] for one in costs] == [4, 8, 2]
    assert all(one["wall_seconds"] >= one["job_seconds"] > 0 for one in costs)


def test_the_ratio_is_the_median_of_the_pairs_and_its_interval_contains_it() -> None:
    found = ratio_of([2.0, 4.0, 6.0, 8.0, 10.0, 12.0], [1.0, 2.0, 3.0, 4.0, 5.0, 12.0])
    assert found.ratio == pytest.approx(2)
    assert (found.low, found.high) == (pytest.approx(1), pytest.approx(2))
    assert found.half_width == pytest.approx(0.25)


def test_fi_pingpongs_time_is_that_of_its_column() -> None:
    printed = (
        "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
        "64      2k      =2k      250k        0.02s     14.65       4.37       0.23\n"
    )
    assert libfabric.seconds_each(printed) == pytest.approx(4.37e-6)
    for wrong in ("", "fi_getinfo: No data available\n", printed.splitlines()[0]):
        with pytest.raises(BenchmarkError, match="no table of the expected form"):
            libfabric.seconds_each(wrong)


def test_sizes_are_those_of_netpipe() -> None:
    assert netpipe.Sweep(1, 1, 10).sizes == [1]
    assert netpipe.Sweep(32, 256, 10).sizes == [32, 48, 64, 96, 128, 192, 256]


def test_netpipes_peak_is_that_of_its_fastest_size(tmp_path: Path) -> None:
    table = tmp_path / "np.out"
    table.write_text("100 76.293945 0.00001000\n300 152.587891 0.00001500\n400 76.293945 0.00004000\n")
    seconds = netpipe.read_seconds(table)
    assert netpipe.peak_rate(seconds) == pytest.approx(300 / 15e-6)
    assert netpipe.latency(seconds) == pytest.approx(10e-6)
    table.write_text("netpipe died\n")
    with pytest.raises(UsageError, match="a row has a size"):
        netpipe.read_seconds(table)


def test_the_fastest_third_of_sockperfs_log_counts(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = "".join(f"{i}, 2.1, 2.2, {latency}.000\n" for i, latency in enumerate([9, 9, 3, 5, 8, 8]))
    head = "test was performed using the following parameters: --reply-every=1 --msg-size=14\n"
    log.write_text(head + "packet, txTime(sec), rxTime(sec), latency(usec)\n" + rows + "-----\n")
    assert sockperf.fastest_part(sockperf.half_trip_seconds(log)) == pytest.approx(4e-6)
    with pytest.raises(BenchmarkError, match="too few"):
        sockperf.fastest_part([1.0])


def test_linear_growth_has_exponent_1() -> None:
    assert slope({2: 200, 64: 6400, 512: 51200}) == pytest.approx(1)
    assert slope({2: 4, 64: 4096}) == pytest.approx(2)


def test_a_time_reaches_its_peer_from_below_and_a_rate_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_CORE", sys.executable)  # nothing is started
    by_name = {one.name: one for one in over_tcp((0, 1))}
    time, rate = by_name["netpipe-tcp-latency"], by_name["iperf3-rate"]
    assert time.reached(0.99, 1.05)
    assert not time.reached(1.01, 1.05)
    assert rate.reached(0.9, 1.0)
    assert not rate.reached(0.9, 0.99)
    assert math.log2(iperf3.PIECE_BYTES) == 17


def test_a_program_that_fails_or_hangs_is_named_and_ended() -> None:
    with pytest.raises(BenchmarkError, match="status 3"):
        output_of(["sh", "-c", "exit 3"])
    with pytest.raises(BenchmarkError, match="sleep did not end"):
        output_of(["sleep", "30"], limit_seconds=0.1)


def test_routes_are_compared_with_the_simulator_if_they_share_fairly() -> None:
    # Two routes share one link, and one is alone. In `far` one route passes two full links.
    trunk, second = ("trunk", 10.0), ("second", 10.0)
    routes = {(0, 1): [trunk], (2, 3): [trunk], (4, 5): [("own", 10.0)]}
    far = {(0, 1): [trunk, second], (2, 3): [trunk], (4, 5): [second]}
    sources = np.array([[-1, 0, -1, 2, -1, 4]])
    simulated = np.array([[np.nan, 5.0, np.nan, 5.0, np.nan, 10.0]])
    emulated = np.array([[[np.nan, 4.0, np.nan, 6.0, np.nan, 9.5]]] * 3)
    found = classes(np.array([7]), sources, simulated, emulated, routes)
    assert [(c.phase, c.routes, c.kind) for c in found] == [(7, 2, "shared"), (7, 1, "uncontended")]
    assert [(c.simulated, c.median, c.slowest) for c in found] == [(5.0, 5.0, 4.0), (10.0, 9.5, 9.5)]
    (found_far,) = classes(np.array([7]), sources, simulated, emulated, far)
    assert (found_far.kind, found_far.routes, found_far.simulated, found_far.slowest) == ("open", 3, 5.0, 4.0)


@pytest.mark.parametrize("seed", range(20))
def test_fairly_shared_rates_are_those_of_max_min_and_of_proportional_fairness(
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    passes = random.random((8, 5)) < 0.35
    passes[np.arange(8), random.integers(0, 5, 8)] = True
    capacity = random.choice([4.0, 8.0, 16.0], 5)
    greedy, _ = max_min(passes, capacity)
    proportional = _proportional(passes, capacity)
    fair = fairly_shared(passes, capacity)
    assert (greedy @ passes <= capacity * (1 + 1e-6)).all()
    for tie in fair:
        assert greedy[tie.routes] == pytest.approx(tie.bytes_per_second)
        assert proportional[tie.routes] == pytest.approx(tie.bytes_per_second, rel=0.05)


def test_a_parking_lot_is_not_fairly_shared_and_a_ring_of_equal_routes_is() -> None:
    lot = np.array([[1, 1], [1, 0], [0, 1]], bool)
    ring = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
    assert fairly_shared(lot, np.array([6.0, 6.0])) == []
    (tie,) = fairly_shared(ring, np.array([6.0, 6.0, 6.0]))
    assert (tie.routes.tolist(), tie.bytes_per_second) == ([0, 1, 2], 3.0)


@pytest.mark.parametrize("seed", range(10))
def test_a_full_link_carries_its_capacity_however_unevenly_it_is_shared(seed: int) -> None:
    random = np.random.default_rng(seed)
    capacity, alone, weights = 25.0, 10.0, random.uniform(0.3, 3, 6)
    left, ends, now = np.ones(6), np.zeros(6), 0.0
    while (left > 0).any():
        going = left > 0
        rates = np.zeros(6)
        spare = capacity
        # Weighted max-min with a bound per route: routes at their bound leave the rest to the others.
        for route in sorted(np.nonzero(going)[0], key=lambda one: -weights[one]):
            share = spare * weights[route] / weights[going & (rates == 0)].sum()
            rates[route] = min(alone, share)
            spare -= rates[route]
        step = np.min(left[going] / rates[going])
        now += step
        left[going] -= rates[going] * step
        left[left < 1e-12] = 0
        ends[going & (left == 0)] = now
    assert carried(1 / ends, alone) == pytest.approx(capacity)


def test_a_link_with_too_few_routes_to_fill_it_carries_the_sum_of_their_rates_alone() -> None:
    assert carried(np.array([10.0, 10.0]), 10.0) == 20


def _proportional(passes: NDArray[np.bool_], capacity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Proportionally fair rates, by steps along the prices (Kelly, Maulloo, Tan 1998, section 3)."""
    prices = np.ones(len(capacity))
    for _ in range(20_000):
        rates = 1 / (passes @ prices)
        prices = np.maximum(prices * (1 + 0.05 * (rates @ passes / capacity - 1)), 1e-9)
    return np.asarray(1 / (passes @ prices))


@pytest.mark.parametrize("seed", range(2 * len(FAMILIES)))
def test_a_random_network_can_be_read(seed: int, tmp_path: Path) -> None:
    drawn = random_network(seed)
    file = tmp_path / f"{drawn.name}.toml"
    file.write_text(drawn.text, encoding="ascii")
    assert 4 <= description.ranks(str(file)) <= 16


@labs.needs_lab
@pytest.mark.usefixtures("own_labs")
def test_a_lab_is_compared_with_the_simulator(tmp_path: Path) -> None:
    options = ("--networks", "1", "--seed", "1", "--size", "100KB", "--repetitions", "2")
    found = run_benchmark("agreement", *options, out=tmp_path / "agreement.json")
    (routes,) = found["networks"].values()  # type: ignore[attr-defined]
    assert {one["kind"] for one in routes} == {"uncontended"}
    assert all(0 < one["slowest"] <= one["median"] for one in routes)
    # On a busy machine a message may lie in the kernel before its receiver asks for it: no time passes then.
    assert statistics.median(one["median"] / one["simulated"] for one in routes) < 2

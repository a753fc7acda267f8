"""The stored message counts of class B on 16 ranks, made by the profiler, equal those of NPB's loops, and the
page shows them. `make messages` counts again."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.messages import __main__ as command
from benchmarks.messages import counting, page
from benchmarks.messages.counting import Counted

RANKS = 16
ALL_REDUCE = 2 * (RANKS - 1)  # a reduction and a broadcast, a tree each
ALL_TO_ALL = RANKS**2
COUNTED = {one.name: one for one in counting.load(command.COUNTS)}
PAPER = tomllib.loads(command.PAPER.read_text(encoding="utf-8"))


def point(one: Counted) -> tuple[int, int]:
    return sum(one.point.messages), sum(one.point.bytes)


def test_the_page_shows_the_stored_counts() -> None:
    assert command.PAGE.read_text(encoding="utf-8") == page.page(list(COUNTED.values()), PAPER)


def test_all_six_are_class_b_on_16_ranks() -> None:
    assert tuple(COUNTED) == page.NAMES
    assert {(one.problem_class, one.ranks) for one in COUNTED.values()} == {("B", RANKS)}


def test_collective_calls_are_the_messages_of_their_trees() -> None:
    for one in COUNTED.values():
        each = {
            "MPI_Allreduce": ALL_REDUCE, "MPI_Alltoall": ALL_TO_ALL, "MPI_Alltoallv": ALL_TO_ALL,
            "MPI_Reduce": RANKS - 1, "MPI_Gather": RANKS, "MPI_Barrier": 4 * RANKS,
        }  # fmt: skip
        expected = sum(each[name] * calls // RANKS for name, calls in one.collective_calls.items())
        assert sum(one.collective.messages) == expected, one.name


def test_is_exchanges_all_keys_in_each_of_eleven_iterations() -> None:
    """NPB, IS: 2^25 keys of 4 bytes, random, from all to all; at the end a key to the next rank."""
    calls = COUNTED["is"].collective_calls
    assert calls["MPI_Alltoallv"] == calls["MPI_Alltoall"] == calls["MPI_Allreduce"] == 11 * RANKS
    assert point(COUNTED["is"]) == (RANKS - 1, (RANKS - 1) * 4)
    keys = 11 * 2**25 * 4
    assert COUNTED["is"].collective.bytes[6] == keys


def test_mg_exchanges_faces_after_every_operator() -> None:
    """NPB, MG: 20 cycles and an untimed one over 8 levels, on 2 x 2 x 4 ranks. A cycle projects to levels 7
    to 1, smooths on level 1, takes the residual and smooths on levels 2 to 8. On level 1, with 2 points a
    side, half of the ranks have none: two others send each the points that it needs for level 2. The finest
    level also has two right sides, and residuals before and after the untimed cycle, before the first and
    after each of 20."""
    everybody, half = 6 * RANKS, 6 * RANKS // 2
    cycle = (6 + 2 * 7) * everybody + 2 * half + 2 * RANKS // 2
    finest = 2 + 1 + 1 + 1 + 20
    assert point(COUNTED["mg"])[0] == (20 + 1) * cycle + finest * everybody


def test_cg_sends_vectors_and_sums_along_rows_of_four() -> None:
    """NPB, CG: 75 iterations and an untimed one, of 25 steps each; a product of matrix and vector is two
    exchanges in the row and one with the transposed rank, of a quarter of 75,000 numbers; a sum is two
    exchanges."""
    conjugate, steps, row_exchanges = 76, 25, 2
    products = conjugate * (steps + 1) * (row_exchanges + 1) * RANKS
    sums = conjugate * (1 + 2 * steps + 1) * row_exchanges * RANKS
    norms = conjugate * row_exchanges * RANKS
    amount = products * 75_000 // 4 * 8 + sums * 8 + norms * 16
    assert point(COUNTED["cg"]) == (products + sums + norms, amount)


def test_sp_sends_six_faces_and_eighteen_edges_of_cells_per_step() -> None:
    """NPB, SP: 400 steps and an untimed one; faces once more to check the result. In each of three dimensions
    3 cells forward, and 3 back."""
    steps = 400 + 1
    assert point(COUNTED["sp"])[0] == RANKS * (steps * (6 + 3 * 2 * 3) + 6)


def test_ep_has_three_sums() -> None:
    assert point(COUNTED["ep"]) == (0, 0)
    assert COUNTED["ep"].collective_calls["MPI_Allreduce"] == 3 * RANKS


def test_lu_sends_an_edge_for_each_plane_of_each_sweep() -> None:
    """As for class S in tests/integration/test_workload_messages.py: 250 iterations on 102 planes, of which
    100 are swept, and a grid of 4 x 4 ranks."""
    pairs = 2 * 3 * 4
    sweeps = 2 * (250 + 1) * (102 - 2) * pairs
    right_sides = (1 + 2 + 250 + 1) * 2 * pairs
    integral = pairs + 2 * 3 + 2 * 3
    assert point(COUNTED["lu"])[0] == sweeps + right_sides + integral
    edges = 2 * (250 + 1) * 100 * 2 * 3 * 100 * 5 * 8
    assert edges == COUNTED["lu"].point.bytes[3] + COUNTED["lu"].point.bytes[4] - small_of_integral()


def small_of_integral() -> int:
    """Returns the bytes that LU's surface integral sends in messages below 10 KB."""
    across_z = 2 * 3 * 102 + 2 * 3 * (102 + 2 * 4)
    return (across_z + 2 * 102 * (3 + 3)) * 8


def test_speed_ups_stay_within_the_bound_from_bytes_but_for_caches() -> None:
    """Within 1 %, for rounding in the paper, and for caches, which hold a sixteenth of the data better."""
    for network in page.NETWORKS:
        rate = PAPER["rates_mbyte_s"][network] * page.MEGABYTE
        for name, measured in PAPER["speedup"][network].items():
            one = COUNTED[name]
            most = page.bound(PAPER["sequential_seconds"][name], RANKS, one.busiest_sent_bytes, rate)
            assert measured <= 1.01 * most, (network, name)


def test_bytes_alone_order_the_benchmarks_on_ethernet_as_the_paper_found_them() -> None:
    rate = PAPER["rates_mbyte_s"]["ethernet-tcp"] * page.MEGABYTE
    measured = PAPER["speedup"]["ethernet-tcp"]

    def most(name: str) -> float:
        return page.bound(PAPER["sequential_seconds"][name], RANKS, COUNTED[name].busiest_sent_bytes, rate)

    assert sorted(measured, key=most) == sorted(measured, key=lambda name: measured[name])


def test_the_paper_s_figures_stand_next_to_ours_if_known() -> None:
    paper = PAPER | {"messages": {"is": {"messages": 6000, "bytes": 1_500_000_000}}}
    text = page.page(list(COUNTED.values()), paper)
    row = next(line for line in text.splitlines() if line.startswith("| **IS** | 15 "))
    assert row.endswith("| 6,000 | 1.5\N{NO-BREAK SPACE}GB |")
    assert "paper: messages" in text

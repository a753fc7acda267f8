"""Reads the output of Debian's hpcc 1.5.0 on a lab of four nodes at 100 Mbit/s."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.workloads.hpl import output, report
from crosscut.workloads.hpl.output import Ring, Rings, Spread

FILE = Path(__file__).parent / "hpl" / "hpccoutf.txt"


def test_every_solution_is_read_with_its_broadcast_rate_and_residual():
    found = output.load(FILE)
    assert found.ranks == 4
    assert found.verified
    assert [one.broadcast for one in found.solutions] == ["1rg", "1rM"] * 3
    assert [one.flops_per_second for one in found.solutions] == [
        233.5e6, 199.6e6, 203.1e6, 249.6e6, 264.5e6, 229.8e6,
    ]  # fmt: skip
    assert {(one.order, one.block, one.grid) for one in found.solutions} == {(500, 80, (2, 2))}
    assert {one.residual for one in found.solutions} == {0.0052710}


def test_times_are_computed_from_the_rates_which_have_more_digits():
    """500² (2/3 · 500 + 3/2) operations at 233.5 million a second; the file prints 0.36 s."""
    assert output.load(FILE).solutions[0].seconds == pytest.approx(83_708_333.3 / 233.5e6)


def test_ping_pongs_and_rings_are_in_seconds_and_bytes_per_second():
    found = output.load(FILE)
    assert found.rings == Rings(
        ping_pong_seconds=Spread(*(pytest.approx(value) for value in (14.4184e-6, 15.5365e-6, 16.8971e-6))),
        ping_pong_bytes_per_second=Spread(
            *(pytest.approx(value) for value in (11.2359e6, 11.6829e6, 11.7874e6))
        ),
        natural=Ring(pytest.approx(50.3711e-6), pytest.approx(10.3094e6)),
        random=Ring(pytest.approx(28.6315e-6), pytest.approx(9.66944e6)),
    )
    assert found.product_flops_per_second == pytest.approx(3.05179e9)


def test_the_best_broadcast_has_the_highest_median():
    rows = report.rows(output.load(FILE).solutions)
    assert [(row.first.broadcast, row.flops_per_second) for row in rows] == [
        ("1rg", 233.5e6),
        ("1rM", 229.8e6),
    ]
    best = report.best_of(rows)
    assert (best.first.broadcast, best.least, best.most) == ("1rg", 203.1e6, 264.5e6)

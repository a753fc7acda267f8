"""Names of nodes as ranges."""

from __future__ import annotations

import pytest

from crosscut.base.node_sets import folded


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["n0000", "n0001", "n0002", "n0007"], "n[0000-0002,0007]"),
        (["login", "n1", "n2"], "login, n[1-2]"),
        (["n1"], "n1"),
        ([], ""),
        (["rank 0", "rank 1"], "rank 0, rank 1"),
        (["n[0-99999999999]", "n1"], "n[0-99999999999], n1"),  # as it is, never expanded
        (["@all", "n1"], "@all, n1"),
        (["n" + "1" * 200, "n1"], "n" + "1" * 200 + ", n1"),
        (["n" + "1" * 5000, "n1"], "n" + "1" * 5000 + ", n1"),
    ],
)
def test_names_are_ranges_where_they_can_be(names: list[str], said: str) -> None:
    assert folded(names) == said


def test_a_long_list_is_cut_between_ranges() -> None:
    names = ["alpha", "beta", "gamma", "delta"]
    assert folded(names, most=14) == "alpha, beta, …"
    scattered = folded([f"n{number:05}" for number in range(0, 10_000, 3)], most=24)
    assert scattered == "n[00000,00003,00006,…]"
    assert folded(["a-very-long-name-of-a-host", "b"], most=4) == "a-very-long-name-of-a-host, …"

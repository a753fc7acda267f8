"""Which nodes meet in a search of very many."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crosscut.health import policy, search
from crosscut.health.search import MOST_PHASES, HealthOptions, in_order

HOW = HealthOptions(policy.read(), Path("ledger"), 1000, 10.0, {})
DECIDED: Any = SimpleNamespace(options=SimpleNamespace(backend="tcp"))


@pytest.mark.parametrize("count", [4, MOST_PHASES + 1, MOST_PHASES + 2, 4000])
def test_each_node_meets_all_others_or_so_many_drawn_by_lot(count: int) -> None:
    nodes = [f"n{number}" for number in range(count)]
    ordered = in_order(nodes, random.Random(1))
    assert sorted(ordered) == sorted(nodes)
    assert (ordered == nodes) == (count <= MOST_PHASES + 1)
    first, last = search._job(ordered, Path("run.zarr"), DECIDED, HOW).phases or (1, count - 1)
    assert (first, last) == (1, min(count - 1, MOST_PHASES))

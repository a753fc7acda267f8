"""Which algorithm a library's collective sends like, by the counters of its nodes' adapters."""

from __future__ import annotations

import numpy as np
import pytest
from made_runs import aapc_view
from test_algorithms import medians, times

from crosscut.analysis.figures.algorithms import TakingPart
from crosscut.analysis.figures.sent_like import sent_like
from crosscut.reports.words import algorithms

RING, DOUBLING, LIBRARY = 1, 2, 3
NODES = 8
EVERYWHERE = {f"n{node}" for node in range(NODES)}
Rows = dict[str, list[list[int]]]


def counted(*sizes: tuple[int, int], noise: float = 0.01, seed: int = 0) -> Rows:
    """Each: a size, and the algorithm that the library is; all send as they do on eight nodes."""
    rng, found = np.random.default_rng(seed), {f"n{node}": [] for node in range(NODES)}
    for size, like in sizes:
        for phase in (RING, DOUBLING, LIBRARY):
            is_ring = (like if phase == LIBRARY else phase) == RING
            bytes_each, messages = (1.75 * size, 14) if is_ring else (3 * size, 3)
            frames, calls = messages + bytes_each // 1448, 5 + phase
            for rows in found.values():
                each = np.array((bytes_each + 66 * frames, frames)) * rng.normal(1, noise, 2)
                rows.append([size, phase, calls, *np.rint(calls * each).astype(int).tolist()])
    return found


def test_the_algorithm_is_told_at_every_size() -> None:
    value = counted((8, DOUBLING), (1000, RING), (100_000, RING), (8_000, DOUBLING))
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {
        8: (DOUBLING,), 1000: (RING,), 8_000: (DOUBLING,), 100_000: (RING,),
    }  # fmt: skip


def test_a_library_with_an_algorithm_of_its_own_is_like_none() -> None:
    value = counted((100_000, RING))
    for rows in value.values():
        for row in rows:
            row[3] = row[3] * 6 // 5 if row[1] == LIBRARY else row[3]
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {100_000: ()}


def test_trees_whose_leaves_send_alike_are_told_apart() -> None:
    """Leaves, half of the nodes, only acknowledge."""
    value = counted((100_000, RING))
    for node, rows in enumerate(value.values()):
        for row in rows:
            children = {RING: (3, 0, 1, 0, 2, 0, 1, 0), LIBRARY: (7, 0, 0, 0, 0, 0, 0, 0)}.get(
                row[1], (1,) * 8
            )[node]
            row[2:] = [1, 500 + 100_000 * children, 8 + 70 * children]
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {100_000: ()}


def test_a_size_of_which_a_phase_was_not_counted_is_unknown() -> None:
    value = counted((1000, RING), (100_000, RING))
    for rows in value.values():
        rows[:] = [row for row in rows if row[:2] != [1000, DOUBLING]]
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {100_000: (RING,)}


def test_algorithms_that_send_the_same_are_not_told_apart() -> None:
    value = counted((100_000, RING))
    for rows in value.values():
        rows.append([100_000, 9, *rows[0][2:]])
    assert sent_like(value, LIBRARY, [RING, DOUBLING, 9], EVERYWHERE) == {100_000: (RING, 9)}


def test_nodes_without_ranks_that_take_part_have_no_say() -> None:
    value = counted((100_000, RING))
    for node, rows in enumerate(value.values()):
        for row in rows if node > 1 else []:
            row[3:] = [400, 6]  # barriers alone, whatever the algorithm
    assert sent_like(value, LIBRARY, [RING, DOUBLING], {"n0", "n1"}) == {100_000: (RING,)}


def test_one_node_with_other_traffic_does_not_hide_it() -> None:
    value = counted((100_000, RING))
    value["n3"][LIBRARY - 1][3:] = [10**9, 10**6]
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {100_000: (RING,)}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1],
        {"n0": counted((100_000, RING))["n0"]},  # one node: shared memory
        counted((8, RING), (1000, RING)),  # barriers alone may send as much
        {node: [[size, phase, calls, 400, 6] for size, phase, calls, *_ in rows]
         for node, rows in counted((100_000, RING)).items()},  # adapters that count none of its messages
        {"n0": [[1, 2], "x", [100_000, LIBRARY, 0, 5, 5]], "n1": 7},
    ],
)  # fmt: skip
def test_nothing_is_told_where_nothing_was_seen(value: object) -> None:
    assert sent_like(value, LIBRARY, [RING, DOUBLING], EVERYWHERE) == {}


def test_the_words_say_where_the_library_changes_and_where_it_would_be_faster_to() -> None:
    names = ("ring", "doubling", "library", "library, in place")
    attributes = {
        "pattern": {"name": "collective", "parameters": {"operation": "all-reduce"}},
        "phase_labels": list(names),
        "nodes": [{"name": f"n{node}"} for node in range(NODES)],
        "sent_by_adapters": counted((8, DOUBLING), (1000, RING), (100_000, RING)),
    }
    view = aapc_view(attributes=attributes, ranks=5)
    ring, doubling, fastest = (2.0, 0.1), (1.0, 0.1), (0.5, 0.1)
    found = times(
        (8, medians(ring, doubling, fastest, fastest)),
        (1000, medians(ring, doubling, fastest, fastest)),
        (100_000, medians(doubling, ring, fastest, fastest)),
    )
    group = TakingPart("", 1, names, names, found)
    assert algorithms.library_sends_like(group, view) == [
        "by bytes and frames at adapters, the library's all-reduce sends like doubling up to 8 B; ring from "
        "1 KB on",
        "fastest without the library: doubling up to 1 KB; ring from 100 KB on",
    ]
    del attributes["sent_by_adapters"]
    assert algorithms.library_sends_like(group, aapc_view(attributes=attributes, ranks=5)) == []

"""Which algorithm of a collective operation is called the fastest, and over which sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from made_runs import aapc_view

from crosscut.analysis.figures.algorithms import AlgorithmTimes, TakingPart, groups
from crosscut.analysis.figures.samples import without
from crosscut.analysis.stats.intervals import Medians
from crosscut.reports.html.pictures import algorithms as pictures
from crosscut.reports.words import algorithms


def medians(*seconds: tuple[float, float]) -> Medians:
    """Each: a median and half the width of its interval; NaN: no interval."""
    middle, half = np.array(seconds).T
    return Medians(middle, middle - half, middle + half, np.full(len(seconds), 9))


def times(*sizes: tuple[int, Medians]) -> AlgorithmTimes:
    return AlgorithmTimes(
        tuple(size for size, _ in sizes), tuple(each for _, each in sizes), tuple(each for _, each in sizes)
    )


def alone(found: AlgorithmTimes, *names: str) -> TakingPart:
    return TakingPart("", 1, names, names, found)


def test_the_least_median_is_the_fastest_and_those_that_overlap_it_are_too() -> None:
    found = times((1000, medians((5.0, 0.1), (4.0, 0.5), (4.2, 0.4))))
    assert found.fastest(0) == (1, 2)
    assert algorithms.rows(found, 0) == ("1 KB", "5.00 s", "4.0 s *", "4.20 s *")


def test_without_intervals_only_the_least_is_the_fastest() -> None:
    assert times((1, medians((5.0, np.nan), (4.0, np.nan), (4.0001, np.nan)))).fastest(0) == (1,)
    assert times((1, medians((np.nan, np.nan)))).fastest(0) == ()


def test_a_range_goes_on_while_one_algorithm_may_be_the_fastest() -> None:
    found = times(
        (1, medians((9.0, 0.1), (4.0, 0.1), (6.0, 0.1))),
        (10, medians((5.0, 0.5), (5.0, 0.5), (6.0, 0.1))),
        (100, medians((4.0, 0.1), (9.0, 0.1), (6.0, 0.1))),
        (1000, medians((4.0, 0.1), (9.0, 0.1), (6.0, 0.1))),
    )
    assert [(one.algorithms, one.first_bytes, one.last_bytes) for one in found.ranges()] == [
        ((1,), 1, 10),
        ((0,), 100, 1000),
    ]
    pattern = {"name": "collective", "parameters": {"operation": "all-reduce"}}
    view, names = aapc_view(attributes={"pattern": pattern}), ("ring", "doubling", "tree")
    (fastest, rate) = algorithms.sentences([alone(found, *names)], view)
    assert fastest == "fastest all-reduce: doubling up to 10 B; ring from 100 B on"
    assert rate.startswith("bus bandwidth at 1 KB: 4.0")
    empty = AlgorithmTimes(
        (0, *found.size_bytes), (found.seconds[0], *found.seconds), (found.rates[0], *found.rates)
    )
    for sizes in (found, empty):
        assert pictures.changes(sizes, names) == [
            {"from": 1, "to": 10, "label": "doubling"},
            {"from": 100, "to": 1000, "label": "ring"},
        ]


def library_words(*sizes: tuple[int, Medians]) -> list[str]:
    pattern = {"name": "collective", "parameters": {"operation": "all-reduce"}}
    names = ("ring", "doubling", "library", "library, in place")
    return algorithms.slow_library(alone(times(*sizes), *names), aapc_view(attributes={"pattern": pattern}))


def test_a_library_that_takes_longer_than_an_algorithm_is_said_to_where_the_intervals_are_apart() -> None:
    fast, slow = (1.0, 0.1), (2.0, 0.1)
    behind, overlapping = medians(slow, fast, (1.7, 0.2), fast), medians(slow, fast, (1.3, 0.2), fast)
    assert library_words(
        (1000, overlapping),
        (2000, behind),
        (4000, medians((1.0, 0.1), slow, (4.0, 0.2), slow)),
        (8000, behind),
    ) == [
        "the library's own all-reduce takes longer than an algorithm from 2 KB to 8 KB; at 4 KB 4.00 times "
        "what ring takes, by the 95 % intervals at least 3.45"
    ]
    (words,) = library_words((1000, behind), (2000, overlapping), (4000, behind))
    assert "takes longer than an algorithm at 1 KB and at 4 KB; at 1 KB 1.70 times" in words


def test_nothing_is_said_of_a_library_where_intervals_overlap_or_are_unknown() -> None:
    assert library_words((1000, medians((2.0, 0.1), (1.0, 0.1), (1.3, 0.2), (9.0, 0.1)))) == []
    unknown = np.nan
    assert library_words((1000, medians((2.0, unknown), (1.0, unknown), (9.0, 0.1), (9.0, 0.1)))) == []
    assert library_words((1000, medians((2.0, 0.1), (1.0, 0.1), (9.0, unknown), (9.0, 0.1)))) == []
    assert library_words((1000, medians((0.0, 0.0), (0.0, 0.0), (9.0, 0.1), (9.0, 0.1)))) == []


def test_algorithms_are_compared_by_the_ranks_that_take_part() -> None:
    labels = [
        f"{name}, {who}" for who in ("every 4th rank", "all ranks") for name in ("ring", "library, in place")
    ]
    attributes = {
        "pattern": {"name": "collective", "parameters": {"operation": "barrier"}},
        "nodes": [{"name": "n0"}, {"name": "n1"}],
    }
    view = aapc_view(attributes=attributes, ranks=8)
    view = replace(view, dataset=view.dataset.assign(node=("rank", np.repeat([0, 1], 4))))
    few, many = groups([without(view.measured()[0], frozenset({5, 6, 7}))], lambda phase: labels[phase - 1])
    assert few.names == many.names == ("ring", "library, in place")
    assert (few.who, few.every, few.labels) == ("every 4th rank", 4, tuple(labels[:2]))
    assert (many.who, many.every, many.labels) == ("all ranks", 1, tuple(labels[2:]))
    few = replace(few, times=times((0, medians((2.0, 0.1), (1.0, 0.1)))))
    many = replace(many, times=times((0, medians((3.0, 0.1), (4.0, 0.1)))))
    told = algorithms.sentences([few, many], view)
    assert told[1:] == [
        "every 4th rank (1 a node): 0 B: fastest barrier: library, in place",
        "all ranks (4 a node): 0 B: fastest barrier: ring",
    ]
    assert told[0].startswith("by the fastest algorithms, the barrier takes 3.00 s")
    assert "3.00 times as long as with every 4th rank (1 a node), which takes 1.0 s" in told[0]
    (uneven,) = groups(view.measured(), lambda _: "ring, every 3rd rank")
    assert algorithms.who(uneven, view) == "every 3rd rank"


def test_sizes_of_a_run_that_ended_early_may_lack_phases() -> None:
    view = aapc_view(ranks=4, sizes=(1000, 2000, 4000))
    last, first = view.measured()[1:]
    measured = [view.measured()[0], without(last, frozenset({3})), without(first, frozenset({1}))]
    (group,) = groups(measured, lambda phase: f"number {phase}")
    assert group.names == ("number 1", "number 2", "number 3")
    known = [np.isfinite(each.median).tolist() for each in group.times.seconds]
    assert known == [[True, True, True], [True, True, False], [False, True, True]]
    assert [group.times.fastest(at)[0] for at in range(3)] == [0, 0, 1]


def test_groups_with_other_algorithms_are_not_compared() -> None:
    view = aapc_view(attributes={"pattern": {"name": "collective", "parameters": {"operation": "barrier"}}})
    one = times((0, medians((2.0, 0.1))))
    few = TakingPart("every 2nd rank", 2, ("ring",), ("ring, every 2nd rank",), one)
    assert algorithms.more_ranks([few, replace(few, who="all ranks", every=1)], view)
    assert not algorithms.more_ranks([few, replace(few, every=1, names=("tree",))], view)
    assert not algorithms.more_ranks([few, replace(few, who="all ranks")], view)
    unknown = replace(few, every=1, times=times((0, medians((np.nan, np.nan)))))
    assert not algorithms.more_ranks([few, unknown], view)


def test_the_only_algorithm_of_an_operation_is_named() -> None:
    pattern = {"name": "collective", "parameters": {"operation": "barrier"}}
    view = aapc_view(attributes={"pattern": pattern})
    (fastest,) = algorithms.comparison(alone(times((0, medians((5.0, 0.1)))), "dissemination"), view)
    assert fastest == "0 B: fastest barrier: dissemination"

"""What would be reported is measured once more, after a while: other traffic and daemons come and go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, oracle, score
from benchmarks.truth.parts import Truth

from crosscut.analysis.findings import of_run, slow_parts
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search import thresholds
from crosscut.analysis.search.retest import LastLook
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure.infer import infer
from crosscut.analysis.structure.observed import joined, of_phases

RANKS, SLOW = 32, 7
NAMES = tuple(f"n{rank}" for rank in range(RANKS))

Slowed = Callable[[int, int], bool]


def found(slowed: Slowed, *, passes: bool) -> tuple[list[Finding], Search]:
    """Searches a crossbar on which some routes have half the rate; `passes`: until the last look."""
    truth, random = networks.crossbar(RANKS, np.random.default_rng(1)), np.random.default_rng(2)
    search = Search(RANKS, seed=3)
    while phases := search.propose():
        if search.asks_latency:
            search.learn(1 / oracle.latencies(truth.idle_seconds, phases, 0.01, random))
            continue
        rates = oracle.measure(truth.ways, truth.capacities, phases, 0.01, random)
        slow = np.array([slowed(*route) for phase in phases for route in phase])
        search.learn(np.where(slow & (not passes or not search.waits), rates / 2, rates))
    return of_run.of_located(search.located(NAMES), NAMES), search


def a_host(source: int, destination: int) -> bool:
    return SLOW in (source, destination)


def a_route(source: int, destination: int) -> bool:
    return (source, destination) == Search(RANKS, seed=3).propose()[0][0]


@pytest.mark.parametrize(
    ("slowed", "kind"), [(a_host, FindingKind.SLOW_HOST), (a_route, FindingKind.SLOW_ROUTE)]
)
def test_what_passes_is_no_fault_and_what_stays_is_one(slowed: Slowed, kind: FindingKind) -> None:
    stays, search = found(slowed, passes=False)
    assert [one.kind for one in stays] == [kind]
    assert isinstance(search.stage, LastLook)
    assert search.stage.times == thresholds.LAST_LOOKS
    passed, _ = found(slowed, passes=True)
    assert not any(one.kind.fault for one in passed)


def test_a_host_that_is_much_faster_by_itself_was_slowed_by_another() -> None:
    """Two hosts share a cable when measured at once; by itself, one is slowed by a daemon alone."""
    full = [[(rank, (rank + distance) % RANKS) for rank in range(RANKS)] for distance in range(1, 6)]
    alone = [[(SLOW, 20), (20, SLOW), (9, 21), (21, 9)]] * 4 + [[(SLOW, 22), (22, SLOW)]]
    rates = [1e8 * np.ones(RANKS * 5), 1e8 * np.array([0.5] * 16), 1e8 * np.array([0.82] * 2)]
    seen = of_phases(RANKS, [*full, *alone], np.concatenate(rates))
    inferred = infer(seen.where(seen.phase < 5))
    assert slow_parts.unconfirmed(seen.where(seen.phase >= 5), inferred).get(SLOW) is True
    slower = of_phases(RANKS, [[(SLOW, 23), (23, SLOW)]], np.array([0.5e8, 0.5e8]), 10)
    again = joined(seen.where(seen.phase >= 5), slower)
    assert SLOW not in slow_parts.unconfirmed(again, inferred)


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        (networks.chassis, 30073),  # daemons make a trunk's capacity, not its totals, seem small
        (fabrics.dragonfly, 30142),  # daemons slow the same few routes
        (fabrics.dragonfly, 30213),  # two suspects share a cable
        (fabrics.two_classes, 30235),  # a neighbour stays for several phases
    ],
)
def test_healthy_networks_that_once_had_an_alarm(family: Callable[..., Truth], seed: int) -> None:
    assert score.of_family(family, seed, healthy=True).alarms == 0


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        (networks.uneven_tree, 30028),  # a slow trunk keeps another one from being filled
        (fabrics.two_classes, 30004),  # daemons slow hosts of both kinds
    ],
)
def test_a_fault_is_found_and_nothing_else_is_called_one(family: Callable[..., Truth], seed: int) -> None:
    scored = score.of_family(family, seed, healthy=False)
    assert (scored.found, scored.alarms) == (1, 1)

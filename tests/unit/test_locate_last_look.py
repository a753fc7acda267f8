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


def test_a_host_is_judged_by_its_fastest_message_while_it_was_measured_seldom() -> None:
    full = [[(rank, (rank + distance) % RANKS) for rank in range(RANKS)] for distance in range(1, 6)]
    alone = [[(SLOW, 20), (20, SLOW)], [(SLOW, 22), (22, SLOW)]]
    for fastest, lacking in ((0.8, True), (0.97, False)):
        rates = 1e8 * np.array([1.0] * RANKS * 5 + [0.487, 1, fastest, 1])  # the first was a stall
        seen = of_phases(RANKS, [*full, *alone], rates)
        inferred = infer(seen.where(seen.phase < 5))
        assert (SLOW in slow_parts.unconfirmed(seen.where(seen.phase >= 5), inferred)) is lacking


def test_messages_apart_show_the_rate_of_a_host_where_hardly_any_other_does() -> None:
    random = np.random.default_rng(5)
    full = [[(rank, (rank + distance) % RANKS) for rank in range(RANKS)] for distance in range(1, 9)]
    rates = 1e8 * random.uniform(0.2, 0.6, RANKS * 8)
    rates[:3] = 1.07e8, 1.072e8, 1.075e8  # noise: the fastest of a few
    pairs = [[(rank, rank + 1) for rank in range(0, RANKS, 2)]] * 4
    apart = of_phases(RANKS, pairs, 1e8 * np.exp(random.normal(0, 0.05, RANKS * 2)), 8)
    alone = infer(of_phases(RANKS, full, rates), apart=apart).alone
    assert alone.nominal == pytest.approx(1e8, rel=0.03)
    assert alone.noise > 0.03


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        (networks.chassis, 30073),  # daemons make a trunk's capacity, not its totals, seem small
        (fabrics.dragonfly, 30142),  # daemons slow the same few routes
        (fabrics.dragonfly, 30213),  # two suspects share a cable
        (fabrics.two_classes, 30235),  # a neighbour stays for several phases
        (networks.meta_nodes, 600155),  # slow cables left no phase to look at a host again
        (networks.meta_nodes, 600219),  # nor at routes that daemons slow
    ],
)
def test_healthy_networks_that_once_had_an_alarm(family: Callable[..., Truth], seed: int) -> None:
    assert score.of_family(family, seed, healthy=True).alarms == 0


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        (networks.uneven_tree, 30028),  # a slow trunk keeps another one from being filled
        (networks.uneven_tree, 600036),  # where nearly all is slow, few messages show a host's own rate
        (fabrics.two_classes, 30004),  # daemons slow hosts of both kinds
        (fabrics.dragonfly, 800014),  # most messages are slow, but with few others only the host's
        (fabrics.three_levels, 800017),  # the first of two measurements alone was a stall
        (fabrics.two_classes, 900012),  # within its kind it met only slower hosts
        (fabrics.two_classes, 900024),  # it was slow each time, but so are single messages by chance
    ],
)
def test_a_fault_is_found_and_nothing_else_is_called_one(family: Callable[..., Truth], seed: int) -> None:
    scored = score.of_family(family, seed, healthy=False)
    assert (scored.found, scored.alarms) == (1, 1)

"""A search that is ended early reports what seemed slow as suspects, and calls no network sound."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.truth import oracle
from benchmarks.truth.parts import HOST_RATE, Builder, uplinks

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.search.search import Search
from crosscut.analysis.structure.observed import Route

RANKS, RATE = 24, 1e8
NAMES = tuple(f"n{rank}" for rank in range(RANKS))


def ended(slow: set[Route], phases: int) -> tuple[list[Finding], tuple[str, ...]]:
    """The findings and notes of a search that is ended after so many phases."""
    random, search = np.random.default_rng(1), Search(RANKS, seed=1)
    measured = 0
    while measured < phases and (asked := search.propose()):
        routes = [route for phase in asked for route in phase]
        share = np.array([0.4 if route in slow else 1 for route in routes])
        search.learn(RATE * share * (1 + 0.003 * random.standard_normal(len(routes))))
        measured += len(asked)
    located = search.located(NAMES)
    return of_run.of_located(located, NAMES), located.structure.notes


def trunks(found: list[Finding], kind: FindingKind) -> list[Finding]:
    return [one for one in found if one.kind is kind and "is limited to" in one.what]


@pytest.mark.parametrize("slow", [(2,), (0, 3)], ids=["one trunk", "two trunks"])
def test_a_slow_trunk_is_a_suspect_until_it_was_filled_again(slow: tuple[int, ...]) -> None:
    labels = np.repeat(np.arange(6), 8).astype(np.int64)
    builder, limits = Builder.of(labels), {}
    uplinks(builder, [HOST_RATE * (1 if group in slow else 3) for group in range(6)], limits)
    ways, capacities = builder.padded(), np.array(builder.capacities)
    idle = 1e-4 + 1e-5 * (labels[:, None] != labels[None, :])
    searching, random = Search(48, seed=1), np.random.default_rng(1)
    names = tuple(f"n{rank}" for rank in range(48))
    filled: dict[int, int] = dict.fromkeys(slow, 0)
    suspected = 0
    while phases := searching.propose():
        if searching.asks_latency:
            searching.learn(1 / oracle.latencies(idle, phases, 0.0, random))
            continue
        searching.learn(oracle.measure(ways, capacities, phases, 0.01, random))
        for phase in phases:
            crossed = {frozenset((int(labels[a]), int(labels[b]))) for a, b in phase}
            for group in slow:  # all messages of the phase pass this group's trunk
                filled[group] += all(group in pair and len(pair) == 2 for pair in crossed)
        so_far = of_run.of_located(searching.located(names), names)
        faults = {labels[one.ranks[0]] for one in trunks(so_far, FindingKind.SLOW_TRUNK)}
        assert all(filled[int(group)] for group in faults)
        suspected += bool(trunks(so_far, FindingKind.SUSPECT))
    assert suspected
    found = of_run.of_located(searching.located(names), names)
    assert {labels[one.ranks[0]] for one in trunks(found, FindingKind.SLOW_TRUNK)} == {*slow}
    assert not trunks(found, FindingKind.SUSPECT)


def first_route() -> Route:
    """A route of the first phase."""
    return Search(RANKS, seed=1).propose()[0][0]


def test_a_slow_host_that_was_not_measured_again_is_a_suspect() -> None:
    found, notes = ended({(5, other) for other in range(RANKS)}, 2)
    assert [(one.kind, one.hosts) for one in found] == [(FindingKind.SUSPECT, ("n5",))]
    assert "this search did not finish" in found[0].advice
    assert any("the search did not finish" in note for note in notes)


def test_a_slow_route_that_was_not_measured_again_is_a_suspect() -> None:
    source, destination = first_route()
    found, _ = ended({(source, destination)}, 2)
    assert [one.kind for one in found] == [FindingKind.SUSPECT]
    assert found[0].what.startswith(
        f"n{source} to n{destination} ran at 40 % of what both ends reach, each time"
    )


def test_a_sound_network_is_not_called_so_before_the_search_has_ended() -> None:
    (found,), _ = ended(set(), 2)
    assert found.kind is FindingKind.NOTHING
    assert found.what.startswith("the search did not finish; so far, nothing stands out: every host reaches")


@pytest.mark.parametrize("slow", [set(), {(5, other) for other in range(RANKS)}], ids=["sound", "slow host"])
def test_a_search_that_ends_by_itself_says_nothing_of_that(slow: set[Route]) -> None:
    found, notes = ended(slow, 1000)
    assert [one.kind for one in found] == [FindingKind.SLOW_HOST if slow else FindingKind.NOTHING]
    assert not any("did not finish" in text for text in (*notes, *(one.what for one in found)))


def test_a_route_that_was_fast_when_measured_again_is_no_suspect() -> None:
    """Its first message alone was slow; the search is ended once it has measured the route again."""
    random, search, route = np.random.default_rng(1), Search(RANKS, seed=1), first_route()
    once = True
    while not len(search.state.again):
        asked = search.propose()
        routes = [one for phase in asked for one in phase]
        share = np.array([0.4 if once and one == route else 1 for one in routes])
        once = once and route not in routes
        search.learn(RATE * share * (1 + 0.003 * random.standard_normal(len(routes))))
    found = of_run.of_located(search.located(NAMES), NAMES)
    assert [one.kind for one in found] == [FindingKind.NOTHING]
    assert found[0].what.startswith("the search did not finish")

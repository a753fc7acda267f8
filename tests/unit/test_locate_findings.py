"""Findings of runs with a known fault: the right subject, nothing else, and a doubt that can be checked."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.findings import of_run, slow_parts, stability
from crosscut.analysis.findings.changes import Deviations, deviations
from crosscut.analysis.findings.evidence import Evidence
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding, as_json, from_json
from crosscut.analysis.stats.doubt import FALSE_ALARMS, holm, outliers_below
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.model import Group, Limit, Reach, Structure
from crosscut.analysis.structure.observed import Observed, of_phases
from crosscut.base.errors import UsageError

RANKS = 24
NAMES = tuple(f"n{rank}" for rank in range(RANKS))


def crossbar(
    seed: int, *, out: dict[int, float] | None = None, into: dict[int, float] | None = None,
    route: tuple[int, int] | None = None,
) -> Observed:  # fmt: skip
    """An AAPC on a switch without limits, with 2 % noise. `out`, `into`: shares left of a host's link."""
    random = np.random.default_rng(seed)
    phases = [[(rank, (rank + d) % RANKS) for rank in range(RANKS)] for d in range(1, RANKS)]
    rates = [
        1e8 * min((out or {}).get(s, 1.0), (into or {}).get(d, 1.0)) * (0.5 if (s, d) == route else 1.0)
        for routes in phases
        for s, d in routes
    ]
    return of_phases(RANKS, phases, np.array(rates) * np.exp(0.02 * random.standard_normal(len(rates))))


def found_in(observed: Observed) -> list[Finding]:
    return of_run.of_evidence(Evidence(observed, infer.infer(observed), NAMES))


@pytest.mark.parametrize(
    ("faults", "direction"),
    [
        ({"out": {7: 0.5}}, Direction.OUT),
        ({"into": {7: 0.5}}, Direction.IN),
        ({"out": {7: 0.45}, "into": {7: 0.43}}, Direction.BOTH),
    ],
)
def test_a_slow_host_is_named_with_its_direction_and_nothing_else_is(faults, direction):
    (finding,) = found_in(crossbar(1, **faults))
    assert (finding.kind, finding.ranks, finding.direction) == (FindingKind.SLOW_HOST, (7,), direction)
    assert finding.false_alarm <= FALSE_ALARMS
    assert finding.effect is not None
    share = min([*faults.get("out", {}).values(), *faults.get("into", {}).values()])
    assert finding.effect.low < share < finding.effect.high


def test_two_slow_hosts_are_both_named():
    found = found_in(crossbar(2, out={3: 0.5}, into={9: 0.3}))
    assert [(f.ranks, f.direction) for f in found] == [((3,), Direction.OUT), ((9,), Direction.IN)]


def test_one_slow_route_is_suspected_and_its_hosts_are_not():
    (finding,) = found_in(crossbar(3, route=(4, 11)))
    assert (finding.kind, finding.routes) == (FindingKind.SUSPECT, ((4, 11),))
    assert "n4 to n11 ran at " in finding.what


def test_a_slow_host_is_reported_with_the_rates_of_its_neighbours():
    """Two groups of twelve behind a trunk that carries a quarter of their rates."""
    random = np.random.default_rng(4)
    phases = [[(rank, (rank + d) % RANKS) for rank in range(RANKS)] for d in range(1, RANKS)]
    rates = []
    for routes in phases:
        crossing = {side: sum(s // 12 == side != d // 12 for s, d in routes) for side in (0, 1)}
        for s, d in routes:
            share = min(1.0, 3 / max(crossing[s // 12], 1)) if s // 12 != d // 12 else 1.0
            rates.append(1e8 * min(share, 0.4 if 7 in (s, d) else 1.0))
    observed = of_phases(RANKS, phases, np.array(rates) * np.exp(0.01 * random.standard_normal(len(rates))))
    slow = [one for one in found_in(observed) if one.kind is FindingKind.SLOW_HOST]
    assert [one.ranks for one in slow] == [(7,)]
    assert "the other 11 hosts of group0 are sound" in slow[0].what


def test_noise_that_hides_faults_is_reported_if_nothing_stands_out():
    steady, noisy = (of_run.ordered([], infer.infer(crossbar_with(noise))) for noise in (0.01, 0.1))
    assert "would hide" not in steady[0].what
    assert "would hide a route that loses less than" in noisy[0].what
    assert "--repetitions" in noisy[0].advice


def crossbar_with(noise: float) -> Observed:
    even = crossbar(5)
    random = np.random.default_rng(6)
    rates = 1e8 * np.exp(noise * random.standard_normal(len(even)))
    return Observed(even.ranks, even.phase, even.source, even.destination, rates)


def test_healthy_networks_raise_no_alarm():
    alarms = [finding for seed in range(40) for finding in found_in(crossbar(100 + seed))]
    assert alarms == []


def test_holm_multiplies_the_smallest_by_all_tests_and_stays_in_order():
    assert holm(np.array([0.04, 0.001, 0.03])).tolist() == pytest.approx([0.06, 0.003, 0.06])


def test_outliers_above_do_not_make_outliers_below_and_widen_the_doubt():
    random = np.random.default_rng(5)
    values = random.standard_normal(200) * 0.02
    values[0] = -0.12
    sharp = outliers_below(values, 0.02)[0]
    values[1] = 0.3  # noise itself reaches that far
    assert sharp < 0.01 < outliers_below(values, 0.02)[0]


def flapping(repetitions: int, slow_rank: int | None, trend: float = 0.0) -> Samples:
    random = np.random.default_rng(1)
    peer = np.array([[[(r - d) % 8] for r in range(8)] for d in range(1, 8)], np.int32)
    seconds = 0.01 * np.exp(0.02 * random.standard_normal((repetitions, 7, 8, 1)))
    seconds *= (1 + trend * np.arange(repetitions))[:, None, None, None]
    if slow_rank is not None:
        seconds[::3, :, slow_rank] *= 2
    return Samples(
        size_bytes=1_000_000, phase=np.arange(1, 8), peer=peer, bytes=np.full(peer.shape, 1e6),
        message_seconds=seconds, rank_seconds=seconds[..., 0], credited_bytes=np.full(7, 2e6),
        node=np.arange(8, dtype=np.int32), iterations=1, summarised=False,
    )  # fmt: skip


def watched(samples: Samples) -> tuple[Samples, Deviations]:
    found = deviations(samples)
    assert found is not None
    return samples, found


def test_a_host_that_is_slow_in_some_repetitions_is_unstable():
    found = stability.unstable(*watched(flapping(12, 5)), lambda rank: f"n{rank}")
    assert [(f.kind, f.ranks) for f in found] == [(FindingKind.UNSTABLE, (5,))]
    assert "in 4 of 12 repetitions" in found[0].what


@pytest.mark.parametrize(("factor", "unstable"), [(1.2, False), (1.6, True)])
def test_a_slow_host_is_unstable_only_if_it_is_much_slower_at_times(factor, unstable):
    samples = flapping(12, None)
    samples.message_seconds[::3, :, 5] *= factor
    found = stability.unstable(*watched(samples), str)
    assert [one.ranks for one in found] == [(5,)]
    assert bool(stability.unstable(*watched(samples), str, slow_hosts={5})) == unstable


def test_steady_hosts_are_not_unstable_and_nothing_drifts():
    samples, steady = watched(flapping(12, None))
    assert stability.unstable(samples, steady, str) == []
    assert stability.drift(steady) == []


def test_messages_that_slow_down_from_repetition_to_repetition_drift():
    (finding,) = stability.drift(watched(flapping(12, None, trend=0.02))[1])
    assert "slower" in finding.what
    assert finding.effect is not None
    assert finding.effect.share < 0.9


def example() -> tuple[Finding, Structure]:
    finding = Finding(
        FindingKind.SLOW_ROUTE, "a to b", ranks=(0, 1), routes=((0, 1),), direction=Direction.OUT,
        effect=Effect(0.5), false_alarm=0.001, phases=(3,),
    )  # fmt: skip
    part = Group("group0.0", (0,))
    structure_ = Structure(
        (Group("group0", (0, 1), (part,), 0.99),),
        (Limit(Reach.BETWEEN, ("group0", "group0.0"), 1e8, 9e7, 1.1e8),),
        (1e8, 1e8), (1e8, 1e8), ("x", "y"), 5, ("a note",),
    )  # fmt: skip
    return finding, structure_


def test_findings_and_structure_come_back_from_json_as_they_were():
    finding, structure_ = example()
    found, back = from_json(json.loads(json.dumps(as_json([finding], structure_), allow_nan=False)))
    assert back == structure_
    assert math.isnan(found[0].effect.low)
    assert found[0].as_json() == finding.as_json()


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("schema"),
        lambda d: d.update(findings=7),
        lambda d: d["findings"][0].update(kind="no such kind"),
        lambda d: d["findings"][0].update(false_alarm="often"),
        lambda d: d["findings"][0].update(routes=[[1, 2, 3]]),
        lambda d: d["structure"].update(groups=[{"name": "x"}]),
        lambda d: d["structure"]["limits"][0].update(reach="far"),
        lambda d: d["structure"]["limits"][0].update(groups=["group0", "elsewhere"]),
        lambda d: d["structure"]["limits"][0].update(groups=["group0"]),
        lambda d: d["structure"]["groups"][0].update(ranks=[0, 2**31]),
        lambda d: d["structure"]["groups"][0].update(ranks=[0, 0]),
        lambda d: d["structure"]["groups"][0]["parts"][0].update(ranks=[-1]),
        lambda d: d["structure"]["groups"][0]["parts"][0].update(name="group0"),
        lambda d: d["structure"]["host_in_bytes_per_second"].pop(),
        lambda d: d["structure"]["hosts"].pop(),
    ],
)
def test_json_without_findings_is_refused_with_a_message(damage):
    document = json.loads(json.dumps(as_json([example()[0]], example()[1])))
    damage(document)
    with pytest.raises(UsageError):
        from_json(document)


def test_findings_of_a_run_with_other_ranks_are_refused():
    document = json.loads(json.dumps(as_json([example()[0]], example()[1])))
    with pytest.raises(UsageError, match="of another run: it has 2 ranks, this one 3"):
        from_json(document, 3)
    document["structure"] = None
    document["findings"][0]["ranks"] = [7]
    with pytest.raises(UsageError, match="of another run: they name rank 7, this one has 3"):
        from_json(document, 3)


def alone(*phases: dict[int, float]) -> Observed:
    """Suspects' exchanges, each with another sound host, at these shares of a sound host's rate."""
    partners = iter(range(2, RANKS))
    exchanges = [{rank: next(partners) for rank in shares} for shares in phases]
    routes = [[route for s, d in pairs.items() for route in ((s, d), (d, s))] for pairs in exchanges]
    return of_phases(
        RANKS, routes, np.array([1e8 * share for shares in phases for share in shares.values() for _ in "ab"])
    )


@pytest.mark.parametrize(
    ("by_themselves", "told"),
    [
        ([], [FindingKind.SUSPECT] * 2),
        ([{0: 1.0}, {1: 1.0}], [FindingKind.SUSPECT] * 2),
        ([{0: 1.0}, {1: 1.0}, {0: 1.0}, {1: 1.0}], []),
        ([{0: 0.5}, {1: 0.5}], [FindingKind.SLOW_HOST] * 2),
        ([{0: 0.5}], [FindingKind.SLOW_HOST, FindingKind.SUSPECT]),
    ],
)
def test_of_two_hosts_that_may_slow_each_other_each_slow_by_itself_is_named(by_themselves, told):
    together = [{0: 0.5, 1: 0.5}] * slow_parts.FEWEST_ALONE
    found = slow_parts.hosts_alone(
        alone(*together, *by_themselves), infer.infer(crossbar(1)), lambda rank: NAMES[rank]
    )
    assert [one.kind for one in found] == told


def test_a_host_whose_partners_proved_sound_was_not_measured_alone():
    together = [{0: 0.5, 1: 0.5}] * slow_parts.FEWEST_ALONE
    found = slow_parts.hosts_alone(
        alone(*together, {0: 1.0}, {0: 1.0}), infer.infer(crossbar(1)), lambda rank: NAMES[rank]
    )
    assert [(one.kind, one.ranks) for one in found] == [(FindingKind.SUSPECT, (1,))]


def test_where_most_messages_are_slow_without_a_cause_no_host_is_suspected():
    """As in a torus, where even a few messages meet on cables."""
    known = infer.infer(crossbar(1))
    mostly_slow = replace(known, slow_share=0.98, explained=0.0)
    seldom, often = [{0: 0.5}] * 2, [{0: 0.5}] * slow_parts.FEWEST_ALONE
    for inferred, exchanges, told in (
        (known, seldom, [FindingKind.SUSPECT]),
        (mostly_slow, seldom, []),
        (mostly_slow, often, [FindingKind.SLOW_HOST]),
    ):
        found = slow_parts.hosts_alone(alone(*exchanges), inferred, lambda rank: NAMES[rank])
        assert [one.kind for one in found] == told


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_where_most_messages_are_slow_something_stands_out(noise):
    inferred = replace(infer.infer(crossbar_with(noise)), slow_share=0.98, explained=0.0)
    (one,) = of_run.ordered([], inferred, exact=True)
    assert one.what.startswith("no cause found: many messages are slow")


@pytest.mark.parametrize(
    ("shares", "kind", "words"),
    [
        ([0.8] * 5, FindingKind.SLOW_HOST, "measured alone 5 times"),
        ([0.8] * 4 + [0.9], FindingKind.SLOW_HOST, "measured alone 5 times"),
        ([0.8] * 4 + [1.0], FindingKind.SUSPECT, "it reached the ordinary rate meanwhile"),
    ],
)
def test_a_host_that_reached_the_ordinary_rate_once_is_a_suspect(shares, kind, words):
    exchanges = [{0: share} for share in shares]
    (one,) = slow_parts.hosts_alone(alone(*exchanges), infer.infer(crossbar(1)), lambda rank: NAMES[rank])
    assert (one.kind, one.ranks) == (kind, (0,))
    assert words in one.what

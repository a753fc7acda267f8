"""The documentation's page of findings quotes a sentence of every kind as the program prints it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.truth import fabrics, networks, score
from benchmarks.truth.parts import Truth
from timed_samples import all_to_all

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.findings import counters, lossy_hosts, of_run, other_traffic, settings, stability
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Direction, Effect, Finding
from crosscut.analysis.findings.other_traffic import Traffic
from crosscut.analysis.structure import infer
from crosscut.analysis.structure.observed import Observed, of_phases
from crosscut.reports.words import advice

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
NOISE, RANKS = 0.005, 24


def name(rank: int) -> str:
    return f"n{rank:02}"


def located(truth: Truth, slower: dict[int, float], *, exact: bool = False) -> list[Finding]:
    """`slower`: the share left of each capacity, by its number."""
    capacities = truth.capacities.copy()
    for number, share in slower.items():
        capacities[number] *= share
    found = score.search(replace(truth, capacities=capacities), NOISE, 1)
    return of_run.of_located(found, tuple(map(name, range(truth.ranks))), exact=exact)


def tree() -> Truth:
    return networks.tree_of(4, 6, 3 * networks.HOST_RATE, np.random.default_rng(1))


def hashed() -> Truth:
    return fabrics.hashed_cables(np.random.default_rng(22))


def routes() -> Truth:
    return fabrics.slow_routes(np.random.default_rng(1))


def buckets() -> Truth:
    return fabrics.half_buckets(np.random.default_rng(1))


def of_two_kinds() -> dict[int, float]:
    """A third of the hosts at half rate in both directions."""
    slower = np.random.default_rng(3).permutation(RANKS)[: RANKS // 3]
    return dict.fromkeys([*slower.tolist(), *(slower + RANKS).tolist()], 0.5)


def quiet_run() -> Observed:
    phases = [[(s, (s + phase) % RANKS) for s in range(RANKS)] for phase in range(1, 6)]
    return of_phases(RANKS, phases, np.full(5 * RANKS, 1e8))


def one_run(share: float) -> list[Finding]:
    """An all-to-all in which one route runs at this share."""
    phases = [[(s, (s + phase) % RANKS) for s in range(RANKS)] for phase in range(1, RANKS)]
    rates = 1e8 * np.exp(np.random.default_rng(1).normal(0, 0.004, (len(phases), RANKS)))
    rates[5, 3] *= share
    observed = of_phases(RANKS, phases, rates.ravel())
    return of_run.of_evidence(
        of_run.Evidence(observed, infer.infer(observed), tuple(map(name, range(RANKS))))
    )


def timed(**how: object) -> list[Finding]:
    samples: Samples = all_to_all(1, **how)  # type: ignore[arg-type]
    return stability.findings(samples, name)


def counted() -> list[Finding]:
    return counters.tied([], {"n03": counters.Gained(100, 0, wire={"eth0 rx_crc_errors": 12})}, ["n03"])


def losing() -> list[Finding]:
    records = [{"rank": rank, "to": [[3, 2000, 40]]} for rank in (0, 1, 2)]
    nodes = [name(rank) for rank in range(8)]
    return lossy_hosts.tied([], lossy_hosts.Losses.of({"retransmissions": records}, nodes), nodes)


def beside_others() -> list[Finding]:
    slow = Finding(
        FindingKind.SLOW_HOST, "n03 sends at 60 % of the rate of the other hosts", (3,), ("n03",),
        direction=Direction.OUT, effect=Effect(0.6),
    )  # fmt: skip
    own = {Direction.OUT: 10_000_000, Direction.IN: 10_000_000}
    more = own | {Direction.OUT: 35_000_000}
    by_node = {name(rank): Traffic(own, more if rank == 3 else own, 10.0, "eth0") for rank in range(8)}
    return other_traffic.tied([slow], by_node, list(by_node))


def differing() -> list[Finding]:
    """Eight hosts, one with a smaller MTU."""
    by_node = {name(rank): {"MTU": "576" if rank == 3 else "1500"} for rank in range(8)}
    return settings.tied([], by_node, list(by_node))


MADE: dict[FindingKind, Callable[[], list[Finding]]] = {
    FindingKind.INCONCLUSIVE: lambda: of_run.on_one_host(["n0"] * 8),
    FindingKind.SETTINGS: differing,
    FindingKind.SLOW_HOST: lambda: located(tree(), {4: 0.5}),
    FindingKind.LOSSY_HOST: losing,
    FindingKind.PARTLY_SLOW_HOST: lambda: located(buckets(), {buckets().parts[5].capacity: 0.5}),
    FindingKind.SLOW_TRUNK: lambda: located(tree(), {2 * RANKS: 0.4}),
    FindingKind.SLOW_CABLE: lambda: located(hashed(), {hashed().parts[26].capacity: 0.3}),
    FindingKind.SLOW_ROUTE: lambda: located(routes(), {routes().parts[0].capacity: 0.5}),
    FindingKind.OTHER_TRAFFIC: beside_others,
    FindingKind.SUSPECT: lambda: one_run(0.5),
    FindingKind.UNSTABLE: lambda: timed(slower=lambda r, s, d: np.where((s == 5) & (r % 3 == 1), 2.0, 1.0)),
    FindingKind.STEP: lambda: timed(slower=lambda r, s, d: np.where((s == 5) & (r >= 12), 2.0, 1.0)),
    FindingKind.PERIODIC: lambda: timed(
        repetitions=120, at=lambda t: np.where(np.mod(t, 0.7) < 0.03, 2.0, 1.0)
    ),
    FindingKind.COUNTED: counted,
    FindingKind.DRIFT: lambda: timed(slower=lambda r, s, d: np.where(s == 2, 1 + 0.02 * r, 1.0)),
    FindingKind.HOST_KINDS: lambda: located(
        networks.crossbar(RANKS, np.random.default_rng(1)), of_two_kinds()
    ),
    FindingKind.GROUPS: lambda: located(tree(), {}),
    FindingKind.SHARED_LIMIT: lambda: located(tree(), {}),
    FindingKind.HASHED: lambda: located(hashed(), {}),
    FindingKind.NOTHING: lambda: located(networks.crossbar(16, np.random.default_rng(1)), {}),
}


def written() -> dict[str, str]:
    """Returns the page's sentence of each kind."""
    text = PAGE.read_text(encoding="utf-8").split("## What they say")[1]
    return dict(re.findall(r"^- `([a-z ]+)`: (.+)$", text, re.MULTILINE))


def test_the_page_has_a_sentence_of_every_kind() -> None:
    assert list(written()) == [kind.value for kind in FindingKind]
    assert set(MADE) == set(FindingKind)


@pytest.mark.parametrize("kind", FindingKind, ids=lambda kind: kind.value)
def test_the_page_has_the_program_s_words(kind: FindingKind) -> None:
    first = next(one for one in MADE[kind]() if one.kind is kind)
    assert written()[kind.value] == first.what


def test_many_slow_messages_are_not_reported_as_nothing_standing_out() -> None:
    (one,) = of_run.ordered([], replace(infer.infer(quiet_run()), slow_share=0.64))
    assert one.kind is FindingKind.NOTHING
    assert one.what.startswith("no cause found: many messages are slow")


def test_a_slow_trunk_is_not_also_a_limit_by_design() -> None:
    found = MADE[FindingKind.SLOW_TRUNK]()
    slow = {(one.groups, one.direction) for one in found if one.kind is FindingKind.SLOW_TRUNK}
    assert slow == {(("group0",), Direction.OUT)}
    (limit,) = (one for one in found if one.what.startswith("shared limit: traffic leaving"))
    assert "group0" not in limit.groups
    assert " to " not in limit.what, "the slow trunk is not among these"


@pytest.mark.parametrize(
    ("on", "advised"),
    [
        ("sim:two racks.toml", "try crosscut locate --on 'sim:two racks.toml' now"),
        ("hosts:nodes.txt", "try crosscut locate --on hosts:nodes.txt now"),
        (None, "try crosscut locate --on PLACE now"),
        ("lab:\x1b[31m", "try crosscut locate --on PLACE now"),
        ("lab:" + "n" * 200, "try crosscut locate --on PLACE now"),
    ],
)
def test_advice_names_the_place_of_the_run_if_that_is_plausible(on: object, advised: str) -> None:
    found = Finding(FindingKind.SUSPECT, "n1 may be slow", advice="try crosscut locate --on PLACE now")
    (told,), _ = advice.placed([found], None, advice.place_of({"on": on}))
    assert told.advice == advised

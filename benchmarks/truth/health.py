"""`python -m benchmarks.truth.health`: whom `crosscut health` would drain in generated networks.

A network of a family, with noise of any model and size, is searched as `health night` does: an all-to-all of
all hosts, 20 repetitions, one search a night. The nights of a healthy network come first: five in which only
the hosts' own history forms, then those that are judged. Then one host loses a share of its link in one
direction, which stays. The default policy decides after every night. A stopped run resumes (record.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from benchmarks.truth import fabrics, networks, oracle, record
from benchmarks.truth.noise import Noise
from benchmarks.truth.parts import Truth
from crosscut.health import policy as policies
from crosscut.health.decide import NodeState, Verb, decide
from crosscut.health.judge import FEWEST_EARLIER, judge, of_history
from crosscut.health.ledger import HealthSearch
from crosscut.health.search import references
from crosscut.run.run import Run

FAMILIES: tuple[Callable[[np.random.Generator], Truth], ...] = (
    networks.any_crossbar, networks.tree, networks.uneven_tree, networks.fat_tree, networks.meta_nodes,
    fabrics.three_levels, fabrics.tapered_twice, fabrics.dragonfly, fabrics.hashed_cables,
    fabrics.two_classes, fabrics.over_tcp,
)  # fmt: skip
FIRST_SEED = 80_000
REPETITIONS = 20
HEALTHY_NIGHTS, SICK_NIGHTS = 6, 4
MOST_RANKS = 64
SIZE_BYTES = 1_000_000
_SHARES = (0.2, 0.85)
"""Left of the link of the host at fault."""
_SAMPLE = ("size", "repetition", "phase", "rank", "slot")


@dataclass(frozen=True)
class Nights:
    family: str
    seed: int
    ranks: int
    share: float
    judged: int
    """Hosts called sound or at fault in the healthy nights that are judged, over all nights."""
    accused: int
    """Those of them that were called at fault."""
    drained: int
    """Sound hosts that were drained, in any night."""
    seen: int
    """Nights with the fault in which the host was called at fault."""
    drained_in: int
    """Night with the fault, from 1, in which its host was drained; 0: in none."""


def _rates(truth: Truth, noise: Noise, random: np.random.Generator) -> NDArray[np.float64]:
    """[repetition, phase, rank] rate at which a rank receives; in phase s it is sent by the rank s before."""
    ranks = np.arange(truth.ranks)
    found = np.empty((REPETITIONS, truth.ranks - 1, truth.ranks))
    for phase in range(1, truth.ranks):
        ends = np.stack([(ranks - phase) % truth.ranks, ranks], axis=1)
        own = truth.ways[ends[:, 0], ends[:, 1]]
        if truth.unevenness:
            rates = oracle.uneven_rates(own, truth.capacities, truth.unevenness, random)
        else:
            rates = oracle.fair_rates(own, truth.capacities)
        found[:, phase - 1] = noise.repeated(rates, ends, REPETITIONS)
    return found


def _run(rates: NDArray[np.float64], start: str) -> Run:
    repetitions, phases, ranks = rates.shape
    numbers = np.arange(1, ranks)
    seconds = SIZE_BYTES / rates[None]
    dataset = xr.Dataset(
        {
            "peer": (("phase", "rank", "slot"), ((np.arange(ranks) - numbers[:, None]) % ranks)[..., None]),
            "node": (("rank",), np.arange(ranks)),
            "message_seconds": (_SAMPLE, seconds[..., None]),
            "rank_seconds": (_SAMPLE[:-1], seconds),
            "status": (_SAMPLE[:-1], np.ones(seconds.shape, np.uint8)),
            "credited_bytes": (("size", "phase"), np.full((1, phases), 2.0 * SIZE_BYTES)),
            "iterations": (("size",), np.ones(1, np.int64)),
            "repetitions_done": (("size", "phase"), np.full((1, phases), repetitions)),
        },
        coords={"size": [SIZE_BYTES], "phase": numbers},
        attrs={
            "state": "complete", "start": start, "end": start, "place": "hosts",
            "job": {"pattern": "aapc", "backend": "tcp", "interval": 0}, "pattern": {"name": "aapc"},
            "backend": {"name": "tcp"}, "nodes": [{"name": name, "id": name} for name in _names(ranks)],
        },
    )  # fmt: skip
    return Run(Path("night.zarr"), dataset)


def _names(ranks: int) -> list[str]:
    return [f"n{rank:03}" for rank in range(ranks)]


def nights(case: tuple[int, int]) -> Nights:
    """Returns what became of one network. `case`: number of the family, seed."""
    number, seed = case
    random = np.random.default_rng(seed)
    truth = FAMILIES[number](random)
    while truth.ranks > MOST_RANKS:
        truth = FAMILIES[number](random)
    noise = Noise.drawn(truth.ranks, np.random.default_rng(seed + 2_000_000))
    victim, share = int(random.integers(truth.ranks)), float(random.uniform(*_SHARES))
    capacities = truth.capacities.copy()
    capacities[victim + (truth.ranks if random.random() < 0.5 else 0)] *= share
    sick, policy, names = replace(truth, capacities=capacities), policies.read(), _names(truth.ranks)
    searches: list[HealthSearch] = []
    drained: dict[str, str] = {}
    judged = accused = seen = wrong = drained_in = 0
    for night in range(FEWEST_EARLIER + HEALTHY_NIGHTS + SICK_NIGHTS):
        ill = night - FEWEST_EARLIER - HEALTHY_NIGHTS + 1
        run = _run(_rates(sick if ill > 0 else truth, noise, random), f"2026-01-{night + 1:02}T22:00:00Z")
        rates = references(searches, names, SIZE_BYTES)
        one = judge(run, of_history(rates, policy.least_share, SIZE_BYTES), [], 0.01).search
        searches.append(one)
        blamed = {fault.node for fault in one.faults}
        if ill <= 0 and night >= FEWEST_EARLIER:
            judged += len(one.sound) + len(blamed)
            accused += len(blamed)
        seen += ill > 0 and names[victim] in blamed
        states = [NodeState(name, "drained" if name in drained else "idle", drained.get(name, ""))
                  for name in names]  # fmt: skip
        for choice in decide(policy, searches, states, at_most=truth.ranks):
            if choice.verb is Verb.DRAIN:
                drained[choice.node] = f"crosscut: {choice.says}"
                wrong += ill <= 0 or choice.node != names[victim]
                drained_in = drained_in or (ill if ill > 0 and choice.node == names[victim] else 0)
            elif choice.verb is Verb.RESUME:
                del drained[choice.node]
    return Nights(truth.family, seed, truth.ranks, share, judged, accused, wrong, seen, drained_in)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.truth.health", description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--networks", type=int, default=20, help="of each family")
    parser.add_argument(
        "--record", type=Path, default=Path("build/health.jsonl"), help="results so far (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    cases = [
        (number, options.first + at) for at in range(options.networks) for number in range(len(FAMILIES))
    ]
    source = record.digest("analysis", "health")
    known = record.completed(
        options.record, source, cases, nights, options.jobs, plain=asdict, parse=lambda made: Nights(**made)
    )
    print(f"\nseeds from {options.first} on; sources {source}")
    print("\n| family | networks | judged | called at fault | sound ones drained | faulty ones drained |")
    print("| --- | --- | --- | --- | --- | --- |")
    found = [*known.values()]
    for family in [*dict.fromkeys(one.family for one in found), "all"]:
        print(_row(family, [one for one in found if family in (one.family, "all")]))
    return 0


def _row(family: str, found: Sequence[Nights]) -> str:
    judged, accused = (sum(getattr(one, name) for one in found) for name in ("judged", "accused"))
    drained = sum(one.drained_in > 0 for one in found)
    cells = (family, len(found), judged, accused, sum(one.drained for one in found),
             f"{drained} of {len(found)}")  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    sys.exit(main())

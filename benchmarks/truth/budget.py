"""Tests whether one fault is found within its budget of phases: python -m benchmarks.truth.budget.

One bad access link among N hosts in at most 4 phases, one bad trunk in at most 4 log2 N. All phases count,
those of one byte included, except those that repeat measurements of findings (eight at most). A trunk has
several cables; one of them is down, in one direction or both.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.truth import networks
from benchmarks.truth.parts import HOST_RATE, Fault, Truth
from benchmarks.truth.score import named_faults, search
from crosscut.analysis.findings import of_run
from crosscut.analysis.search.thresholds import MOST_AGAIN

LINK_PHASES, TRUNK_PHASES_PER_DOUBLING = 4, 4
# The middle of noise.py's sizes.
NOISE = 0.02


@dataclass(frozen=True)
class Case:
    truth: Truth
    most_phases: int
    about: str


@dataclass(frozen=True)
class Outcome:
    case: Case
    phases: int
    missed: int
    false_alarms: int

    @property
    def success(self) -> bool:
        return not self.missed and not self.false_alarms and self.phases <= self.case.most_phases + MOST_AGAIN


def bad_link(seed: int) -> Case:
    """Draws a crossbar with a host that sends or receives at half its rate or less."""
    random = np.random.default_rng(seed)
    ranks = int(random.integers(16, 257))
    truth = networks.crossbar(ranks, random)
    rank, share, inwards = int(random.integers(ranks)), float(random.uniform(0.2, 0.5)), random.random() < 0.5
    capacities = truth.capacities.copy()
    capacities[rank + ranks * inwards] *= share
    fault = Fault("host", rank, "in" if inwards else "out", share)
    return Case(
        replace(truth, capacities=capacities, faults=(fault,)), LINK_PHASES, f"{ranks} hosts, {share:.2f}"
    )


def bad_trunk(seed: int) -> Case:
    """Draws leaves under a root, each on a trunk of 2 to 4 cables that carries its hosts' traffic or less."""
    random = np.random.default_rng(seed)
    groups, each = int(random.integers(3, 13)), int(random.choice([6, 8, 12, 16, 24]))
    while not 16 <= groups * each <= 256:
        groups, each = int(random.integers(3, 13)), int(random.choice([6, 8, 12, 16, 24]))
    cables, taper = int(random.integers(2, 5)), float(random.choice([1.0, 1.5, 2.0, 3.0]))
    truth = networks.tree_of(groups, each, each * HOST_RATE / taper, random)
    group, share = int(random.integers(groups)), 1 - 1 / cables
    ways = (("out",), ("in",), ("out", "in"))[int(random.integers(3))]
    capacities = truth.capacities.copy()
    for way in ways:
        capacities[2 * truth.ranks + group + (groups if way == "in" else 0)] *= share
    faults = tuple(Fault("trunk", group, way, share) for way in ways)
    most = int(TRUNK_PHASES_PER_DOUBLING * math.log2(truth.ranks))
    about = f"{groups} leaves of {each} hosts, taper {taper:g}, {share:.2f} left {'and '.join(ways)}"
    return Case(replace(truth, capacities=capacities, faults=faults), most, about)


def outcome(case: Case, seed: int, noise: float = NOISE) -> Outcome:
    located = search(case.truth, noise, seed + 1_000_000)
    found = of_run.of_located(located, tuple(f"n{rank}" for rank in range(case.truth.ranks)))
    named = named_faults(found, case.truth)
    planted = {(fault.kind, fault.subject, fault.direction) for fault in case.truth.faults}
    return Outcome(case, located.phases_used, len(planted - named), len(named - planted))


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.truth.budget", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=100, help="networks of each kind of fault")
    parser.add_argument("--noise", type=float, default=NOISE, help="standard deviation of log rates")
    parser.add_argument("--each", action="store_true", help="also print a line for each failure")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    for name, make in (("access link", bad_link), ("trunk cable", bad_trunk)):
        found = [_told(outcome(make(seed), seed, options.noise), seed, options) for seed in seeds]
        _line(name, found)
    return 0


def _told(one: Outcome, seed: int, options: argparse.Namespace) -> Outcome:
    if options.each and not one.success:
        print(f"{seed}: {one.case.about}: {one.phases} phases of {one.case.most_phases}, "
              f"{one.missed} missed, {one.false_alarms} false alarms", flush=True)  # fmt: skip
    return one


def _line(name: str, found: Sequence[Outcome]) -> None:
    success = 100 * sum(one.success for one in found) / len(found)
    phases = [one.phases for one in found]
    print(
        f"one bad {name}: {len(found)} networks, found within the budget {success:.0f} %, named at all "
        f"{100 * sum(not one.missed for one in found) / len(found):.0f} %; phases {np.median(phases):.0f} "
        f"(median) to {max(phases)}; false alarms in {sum(one.false_alarms > 0 for one in found)}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

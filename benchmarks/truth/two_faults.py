"""Two faults at once: python -m benchmarks.truth.two_faults. Prints a table in Markdown.

Trees of 3 to 6 leaves, whose latencies do not show the leaves. One host keeps 0.3 to 0.7 of its rate in both
directions; in half of the trees, one leaf's uplink keeps as little. A slow host hides which leaf is its own,
and then what two leaves share (crosscut.analysis.structure.placing).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.truth.parts import HOST_RATE, Builder, Fault, Truth, idle_of, labels_of, uplinks
from benchmarks.truth.score import Score, scored

NOISES = (0.0, 0.02)


def tree(seed: int) -> Truth:
    random = np.random.default_rng(seed)
    leaves, each = int(random.choice([3, 4, 6])), int(random.choice([6, 8, 12]))
    b = Builder.of(labels_of(leaves, each, random))
    limits: dict[tuple[str, int, int], float] = {}
    uplinks(b, each * HOST_RATE * float(random.choice([0.4, 0.5, 0.7])), limits)
    capacities = np.array(b.capacities)
    host, leaf = int(random.integers(b.ranks)), int(random.integers(leaves))
    slow, narrow = random.uniform(0.3, 0.7, 2).tolist()
    faults = [Fault("host", host, way, slow) for way in ("out", "in")]
    capacities[[host, b.ranks + host]] *= slow
    if random.random() < 0.5:
        at = 2 * b.ranks + leaf + np.array([0, leaves])
        capacities[at] *= narrow
        limits |= {(reach, leaf, -1): float(capacities[at[0]]) for reach in ("leaving", "entering")}
        faults += [Fault("trunk", leaf, way, narrow) for way in ("out", "in")]
    idle = idle_of(b.labels, 0, random)
    return Truth("two faults", b.ranks, b.labels, b.padded(), capacities, idle, limits, tuple(faults))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.two_faults", description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="first seed (1)")
    parser.add_argument("--networks", type=int, default=30, help="networks for each noise (30)")
    asked = parser.parse_args(words)
    print("| noise | networks | groups right | limits | hosts | trunks | others named |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for noise in NOISES:
        scores = [scored(tree(asked.first + at), noise, asked.first + at) for at in range(asked.networks)]
        print(f"| {100 * noise:.0f} % | {' | '.join(_row(scores))} |", flush=True)
    return 0


def _row(scores: Sequence[Score]) -> list[str]:
    def found(kind: str) -> str:
        named = [is_found for one in scores for subject, _, is_found in one.faults if subject == kind]
        return f"{sum(named)} of {len(named)}"

    limits, known = sum(one.limits for one in scores), sum(len(one.capacity_errors) for one in scores)
    right = sum(one.rand == 1 for one in scores)
    others = sum(one.alarms - one.found for one in scores)
    return [f"{len(scores)}", f"{right}", f"{known} of {limits}", found("host"), found("trunk"), f"{others}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Scores crosscut locate by family of networks: `make truth`, python -m benchmarks.truth --families torus.

A stopped run resumes (record.py).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.truth import networks, record
from benchmarks.truth.score import Score, of_family

# Seeds below were used for tuning or inspected; see docs/how-it-locates.md.
FIRST_SEED = 1_100_000
_NAMES = {family.__name__: family for family in networks.ALL_FAMILIES}
# Sizes of faults: the share left of a capacity.
_SIZES = ((0.2, 0.4), (0.4, 0.6), (0.6, 0.85))

Case = tuple[str, int, bool]
"""Family, seed, whether the network is healthy."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.truth", description=__doc__)
    parser.add_argument("--families", nargs="*", default=list(_NAMES), choices=list(_NAMES), metavar="NAME")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--healthy", type=int, default=300, help="networks of each family without a fault")
    parser.add_argument("--faulty", type=int, default=150, help="networks of each family with one fault")
    parser.add_argument(
        "--record", type=Path, default=Path("build/truth.jsonl"), help="scores so far (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    cases = [
        (name, options.first + number, healthy)
        for healthy, count in ((True, options.healthy), (False, options.faulty))
        for number in range(count) for name in options.families
    ]  # fmt: skip
    source = record.digest("analysis", "campaigns")
    known = record.completed(
        options.record, source, cases, _scored, options.jobs, plain=asdict, parse=Score.of_json
    )
    print(f"\nseeds from {options.first} on; sources {source}\n")
    for line in _tables(known):
        print(line)
    return 0


def _scored(case: Case) -> Score:
    name, seed, healthy = case
    return of_family(_NAMES[name], seed, healthy=healthy)


def _tables(known: Mapping[Case, Score]) -> Iterator[str]:
    """Markdown."""
    columns = (
        "family", "healthy", "alarms", "at most", "faulty", "Rand", "limits", "found", "precision",
        "phases/(N-1)",
    )  # fmt: skip
    yield _row(*columns)
    yield _row(*["---"] * len(columns))
    names = list(dict.fromkeys(name for name, *_ in known))
    for each in [*([name] for name in names), names]:
        sound = [score for (name, _, healthy), score in known.items() if healthy and name in each]
        faulty = [score for (name, _, healthy), score in known.items() if not healthy and name in each]
        both, wrong = [*sound, *faulty], sum(one.alarms > 0 for one in sound)
        found, named = (sum(getattr(one, part) for one in faulty) for part in ("found", "alarms"))
        yield _row(
            each[0].replace("_", " ") if len(each) == 1 else "all",
            len(sound), wrong, _at_most(wrong, len(sound)), len(faulty),
            f"{np.mean([one.rand for one in both]):.3f}",
            _share(sum(len(one.capacity_errors) for one in faulty), sum(one.limits for one in faulty)),
            _share(found, sum(one.planted for one in faulty)), _share(found, named),
            f"{np.median([one.phases / max(one.ranks - 1, 8) for one in both]):.2f}",
        )  # fmt: skip
    yield ""
    yield _row("share left", *(f"{low:g} to {high:g}" for low, high in _SIZES))
    yield _row(*["---"] * (1 + len(_SIZES)))
    faults = [fault for score in known.values() for fault in score.faults]
    for kind in dict.fromkeys(kind for kind, *_ in faults):
        of_kind = [(share, found) for its, share, found in faults if its == kind]
        cells = [[found for share, found in of_kind if low <= share < high] for low, high in _SIZES]
        yield _row(f"{kind}, found", *(f"{sum(cell)} of {len(cell)}" for cell in cells))


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _at_most(wrong: int, count: int) -> str:
    """Returns the upper end of the exact 95 % interval (Clopper and Pearson, Biometrika 26, 1934)."""
    from scipy.stats import beta

    return f"{100 * float(beta.ppf(0.975, wrong + 1, count - wrong)) if wrong < count else 100:.1f} %"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


if __name__ == "__main__":
    sys.exit(main())

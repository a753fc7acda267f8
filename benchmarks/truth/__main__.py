"""How often the truth is found: `make truth`, or python -m benchmarks.truth --first 1000 --count 300."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.truth.score import Score, score

# Seeds below are for tuning; what is printed of those above is not looked at while tuning.
FIRST_SEED = 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.truth", description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--count", type=int, default=300, help="networks, and as many healthy ones")
    parser.add_argument(
        "--noise", type=float, nargs="*", default=[],
        help="standard deviations of normal noise, a table each; without: any model and size (noise.py), and "
        "faults of all sizes",
    )  # fmt: skip
    parser.add_argument("--each", action="store_true", help="a line a network, to look into")
    options = parser.parse_args()
    for noise in options.noise or [None]:
        mixed = _scores(options, noise, healthy=False)
        healthy = _scores(options, noise, healthy=True)
        print(f"\n{_named(noise)}: seeds {options.first} to {options.first + options.count - 1}")
        print(f"{'family':16}{'networks':>9}{'Rand':>8}{'=1':>7}{'limits':>8}{'error':>8}{'worst':>8}"
              f"{'recall':>8}{'precis.':>9}{'phases/(N-1)':>14}{'seconds':>9}")  # fmt: skip
        for family in sorted({one.family for one in mixed}):
            _line(family, [one for one in mixed if one.family == family])
        _line("all", mixed)
        for family in sorted({one.family for one in healthy}):
            _healthy(family, [one for one in healthy if one.family == family])
        _healthy("all", healthy)
    return 0


def _named(noise: float | None) -> str:
    return "noise of any model" if noise is None else f"{100 * noise:g} % noise"


def _healthy(name: str, scores: Sequence[Score]) -> None:
    """With the upper end of the exact 95 % interval (Clopper and Pearson, Biometrika 26, 1934)."""
    from scipy.stats import beta

    wrong, count = sum(one.alarms > 0 for one in scores), len(scores)
    most = float(beta.ppf(0.975, wrong + 1, count - wrong)) if wrong < count else 1.0
    print(f"healthy {name:16} alarms in {wrong} of {count}; at most {100 * most:.1f} % (95 %)")


def _scores(options: argparse.Namespace, noise: float | None, *, healthy: bool) -> list[Score]:
    found = []
    for seed in range(options.first, options.first + options.count):
        one = score(seed, noise, healthy=healthy)
        found.append(one)
        if options.each and (one.rand < 1 or one.found < one.planted or one.alarms > one.found):
            print(f"{seed} {'healthy ' if healthy else ''}{one}")
        print(f"\r{_named(noise)}, {seed - options.first + 1} networks ", end="", file=sys.stderr)
    print("\r", end="", file=sys.stderr)
    return found


def _line(name: str, scores: Sequence[Score]) -> None:
    errors = [error for one in scores for error in one.capacity_errors]
    planted, found = sum(one.planted for one in scores), sum(one.found for one in scores)
    alarms, limits = sum(one.alarms for one in scores), sum(one.limits for one in scores)
    print(
        f"{name:16}{len(scores):9}{np.mean([one.rand for one in scores]):8.4f}"
        f"{np.mean([one.rand == 1 for one in scores]):7.2f}"
        f"{_share(len(errors), limits):>8}{np.mean(errors) if errors else np.nan:8.4f}"
        f"{max(errors, default=np.nan):8.4f}{_share(found, planted):>8}{_share(found, alarms):>9}"
        f"{np.median([one.phases / max(one.ranks - 1, 8) for one in scores]):14.2f}"
        f"{np.median([one.seconds for one in scores]):9.2f}"
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.peers`: ratios of crosscut's figures to its peers', with 95 % intervals."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.conditions import describe, preferred, print_table, sentence, write_json
from benchmarks.peers.comparisons import (
    Comparison,
    chosen,
    over_libfabric,
    over_mpi,
    over_osu,
    over_tcp,
    two_cores,
)
from benchmarks.peers.mpich import LAUNCHER, core_mpich
from benchmarks.processes import BenchmarkError, missing_programs
from benchmarks.ratios import FEWEST_PAIRS, HALF_WIDTH, Ratio, compare
from crosscut.base.errors import CrosscutError

HEAD = (
    "peer",
    "what",
    "crosscut",
    "peer's",
    "unit",
    "ratio",
    "95 % interval",
    "pairs",
    "half-width",
    "reached",
)


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS, help="fewest pairs (%(default)s)")
    parser.add_argument("--most-pairs", type=int, default=60, help="most pairs (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="comparisons whose names contain TEXT")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything as JSON")
    args = parser.parse_args(words)
    if not 6 <= args.pairs <= args.most_pairs:
        parser.error("a 95 % interval takes 6 pairs; --most-pairs must be at least --pairs")
    return args


def row(one: Comparison, found: Ratio) -> tuple[str, ...]:
    scale = 1e6 if one.less_is_better else 1e-9
    middle = [f"{sorted(values)[len(values) // 2] * scale:.2f}" for values in (found.ours, found.theirs)]
    # A wide interval reaches anything, unless all of it lies beyond the peer: then its width does not matter.
    verdict = "yes" if one.reached(found.low, found.high) else "no"
    beyond = one.reached(found.high, found.low)
    if verdict == "yes" and found.half_width > HALF_WIDTH and not beyond:
        verdict = "undecided"
    return (
        *(
            one.peer,
            one.what,
            *middle,
            one.unit,
            f"{found.ratio:.3f}",
            f"{found.low:.3f} to {found.high:.3f}",
        ),
        *(str(len(found.ours)), f"{found.half_width:.1%}", verdict),
    )


def record(one: Comparison, found: Ratio) -> dict[str, object]:
    return {
        "name": one.name,
        "peer": one.peer,
        "what": one.what,
        "unit": "s" if one.less_is_better else "B/s",
        "ours": found.ours,
        "theirs": found.theirs,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "half_width": found.half_width,
        "reached": one.reached(found.low, found.high),
        "narrow": found.half_width <= HALF_WIDTH,
    }


def skip(what: str, why: str) -> None:
    print(f"skipped: {what}: {why} (packaging/debian-benchmark-packages.txt)", flush=True)


def comparisons(only: str) -> list[Comparison]:
    """Returns the comparisons asked for whose programs are installed; prints why others are skipped."""
    cores = two_cores()
    found = chosen([*over_tcp(cores), *over_libfabric(cores)], only)
    if any(chosen(made(cores, Path()), only) for made in (over_mpi, over_osu)):
        if missing := missing_programs([LAUNCHER]):
            skip("all over MPI", f"{', '.join(missing)} not installed")
        else:
            try:
                core = core_mpich()
                found += chosen([*over_mpi(cores, core), *over_osu(cores, core)], only)
            except BenchmarkError as error:
                skip("all over MPI", str(error))
    if not found:
        raise BenchmarkError(f"no comparison that can be made here has a name with '{only}'")
    for one in found:
        if missing := missing_programs(one.programs):
            skip(one.name, f"{', '.join(missing)} not installed")
    return [one for one in found if not missing_programs(one.programs)]


def main(words: list[str]) -> int:
    args = parse(words)
    machine = describe()
    print(sentence(machine), flush=True)
    rows, records = [], []
    try:
        with preferred():
            for one in comparisons(args.only):
                began = time.monotonic()
                found = compare(one.ours, one.theirs, args.most_pairs, one.limit_seconds, args.pairs)
                rows.append(row(one, found))
                records.append(record(one, found))
                print(f"{one.name}: {found.ratio:.3f} ({time.monotonic() - began:.0f} s)", flush=True)
    except (BenchmarkError, CrosscutError) as error:
        print(f"benchmarks.peers: {error}", file=sys.stderr)
        return 1
    finally:
        if rows:
            print_table(HEAD, rows)
            write_json(args.out, {"machine": machine, "comparisons": records})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m benchmarks.collectives`: an MPI's collectives beside our algorithms, emulated and simulated.

16 hosts on one switch measure each algorithm of an operation, over MPI, and the library's own call. The same
algorithms are then simulated from the same network file. Nothing is fitted: the file has rates and headers
alone, so the simulator knows no cost of a message in the processor, which short messages pay.

The simulator runs with `--sim-eager 0`: messages of one host leave one after the other. By default those of
at most 64 KiB share its link, as if the kernel served their sockets in turn. But a socket hands up to two
segments of 64 KiB to the queue at once (TCP small queues), so that such messages do not mix.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.conditions import describe, preferred, print_table, sentence
from benchmarks.processes import BenchmarkError, crosscut, exit_when_terminated
from crosscut.analysis.figures.algorithms import AlgorithmTimes, algorithm_times, groups
from crosscut.base import units
from crosscut.reports.view import View
from crosscut.reports.words import algorithms

LONG_BYTES = 64_000
LIMIT_SECONDS = 900
NETWORK = """
[[hosts]]
names = "n[00-15]"
[[switches]]
names = "switch0"
[[links]]
between = ["n[00-15]", "switch0"]
rate = "{megabits} Mbit/s"
[protocol]
mtu = 1500
headers = 52
framing = 38
"""


def measured(words: list[str], operation: str, out: Path) -> tuple[View, AlgorithmTimes]:
    words = ["run", "collective", "--operation", operation, "--quiet", *words]
    crosscut([*words, "--out", str(out)], LIMIT_SECONDS)
    view = View.open(out)
    return view, algorithm_times(view.measured())


def rows(lab: AlgorithmTimes, simulated: AlgorithmTimes, names: list[str]) -> Iterator[tuple[str, ...]]:
    """A row for each size: the time of each algorithm in the lab, and the error of the simulated one."""
    for at, size in enumerate(lab.size_bytes):
        times, expected = lab.seconds[at].median, simulated.seconds[at].median
        cells = [f"{1e3 * time:.3g} ms" for time in times]
        for number, computed in enumerate(expected):
            cells[number] += f" ({100 * (computed / times[number] - 1):+.0f} %)"
        yield (units.size(size), *cells[: len(names)])


def compare(operation: str, network: Path, folder: Path, sizes: str, repetitions: int) -> None:
    over_mpi = ["--size", sizes, "--backend", "mpi", "--library", "also", "--repetitions", str(repetitions)]
    view, lab = measured(["--on", f"lab:{network}", *over_mpi], operation, folder / f"{operation}.zarr")
    over_sim = ["--size", sizes, "--on", f"sim:{network}", "--sim-eager", "0"]
    _, simulated = measured(over_sim, operation, folder / f"{operation}-sim.zarr")
    names = view.labels(view.measured()[0])
    (group,) = groups(view.measured(), view.label)
    print(f"\n{operation}\n", flush=True)
    print_table(("size", *names), list(rows(lab, simulated, names)))
    print()
    for line in algorithms.comparison(group, view):
        print(f"- {line}")
    for least in (0, LONG_BYTES):
        errors = [
            abs(expected / time - 1)
            for at, size in enumerate(lab.size_bytes)
            if size >= least
            for expected, time in zip(simulated.seconds[at].median, lab.seconds[at].median, strict=False)
        ]
        which = f"from {units.size(least)} on" if least else "all sizes"
        mean, most = 100 * np.mean(errors), 100 * max(errors)
        print(f"- simulated, {which}: mean error {mean:.0f} %, largest {most:.0f} %", flush=True)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collectives", description=__doc__)
    parser.add_argument("--megabits", type=int, default=5, help="of each host's link (5)")
    parser.add_argument("--sizes", default="4KB,16KB,64KB,256KB", help="of the vector (%(default)s)")
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument(
        "--operations", nargs="+", default=["all-reduce", "all-gather", "all-to-all", "broadcast"]
    )
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    args = parser.parse_args(words)
    exit_when_terminated()
    print(sentence(describe()), flush=True)
    try:
        with tempfile.TemporaryDirectory() as temporary, preferred():
            folder = args.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            network = folder / "sixteen.toml"
            network.write_text(NETWORK.format(megabits=args.megabits), encoding="utf-8")
            for operation in args.operations:
                compare(operation, network, folder, args.sizes, args.repetitions)
    except BenchmarkError as error:
        print(f"benchmarks.collectives: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
